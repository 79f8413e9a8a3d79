"""`opkit explain`: the page of a diagnostic code or of a kind of mutant."""

from __future__ import annotations

import sys

import click


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Print the page of a diagnostic code or of a kind of mutant (`opkit prove --self-test`), or list all."""
    from opkit.prove.mutants.catalogue import KINDS
    from opkit.rules.pages import PAGES, page, title

    if code is None:
        for known in PAGES:
            click.echo(f"{known}  {title(known)}")
        for kind in KINDS.values():
            click.echo(f"{kind.name}  {kind.breaks}")
        return
    if code.strip().lower() in KINDS:
        click.echo(KINDS[code.strip().lower()].page(), nl=False)
        return
    known = code.strip().upper()
    if known.isdigit():
        known = f"OPK{int(known):03}"
    if known not in PAGES:
        import difflib

        # Codes with other digits are about other things, however alike they look; OKP101 is a slip.
        digits = "".join(c for c in known if c.isdigit())
        slip = [c for c in difflib.get_close_matches(known, PAGES, 9) if c[3:] == digits.zfill(3)]
        hint = f"; did you mean {slip[0]}?" if slip else "; `opkit rules` lists all codes"
        click.echo(f"error: no such code: {code}{hint}", err=True)
        sys.exit(2)
    click.echo(page(known), nl=False)

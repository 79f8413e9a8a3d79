"""`opkit prove`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opkit.cli.proof_output import FORMATS, Output, reports

if TYPE_CHECKING:
    from opkit.prove.plan import InvalidDeclaration, Plan
    from opkit.prove.protocol import Proof
    from opkit.prove.runner import Progress
    from opkit.prove.split import Shard

_MODES = ("npugraph_ex", "ge")
# Stages by request only that the gate needs.
_OF_GATE = ("cache",)


def _modes(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = [name for name in names if name not in _MODES]
    if unknown or not names:
        raise click.BadParameter(f"{', '.join(unknown) or 'nothing'}; the modes are {', '.join(_MODES)}")
    return names


_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", value.strip(), re.IGNORECASE)
    if found is None or not float(found[1]):
        raise click.BadParameter(f"{value!r} is no size: write 4G, 500M or the like")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _shard(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Shard | None:
    from opkit.prove.split import Shard

    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", value.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise click.BadParameter(f"{value!r}: write I/N, such as 1/4 for the first of four, I from 1 to N")
    return Shard(int(found[1]), int(found[2]))


def _sample(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Read `5` or `5:17`: how many mutants, and the seed that chooses them."""
    if value is None:
        return None
    count, _, seed = value.partition(":")
    if not count.isdecimal() or not (seed or "0").isdecimal() or int(count) < 1:
        raise click.BadParameter("give a number of mutants, or NUMBER:SEED, such as 5:17")
    return int(count), int(seed or 0)


@click.command(name="prove")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this operator; may be repeated.")
@click.option(
    "--mode",
    "modes",
    default=",".join(_MODES),
    show_default=True,
    callback=_modes,
    metavar="MODES",
    help="Graph modes, separated by commas.",
)
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="NAME",
    help="Only this stage and what it cannot do without; may be repeated.",
)
@click.option(
    "--also", multiple=True, metavar="NAME", help="A stage that is by request only; may be repeated."
)
@click.option(
    "--style",
    type=click.Choice(["library", "custom-op", "both"]),
    default=None,
    help="How opkit registers what it generates.  [default: both; library with --import]",
)
@click.option("--namespace", default="npu", show_default=True, help="For operators whose `func` names none.")
@click.option("--package", metavar="DIR", default=None, help="Prove this generated package as it is on disk.")
@click.option("--import", "imports", multiple=True, metavar="MODULE", help="Import first; may be repeated.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option(
    "--output-file",
    type=click.Path(dir_okay=False),
    default=None,
    help="Write the report there; the screen shows the full one.",
)
@click.option(
    "--report",
    "more",
    multiple=True,
    metavar="FORMAT:FILE",
    callback=reports,
    help="Write another report, e.g. html:proof.html; may be repeated.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Seconds for one stage."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draw other varied cases.")
@click.option(
    "--reproduce",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Write a script for each failure that a short one shows again.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Worker processes at a time.  [default: cores]"
)
@click.option("--memory", metavar="SIZE", callback=_size, help="Most a worker may use, such as 4G or 500M.")
@click.option("--changed-since", metavar="REV", help="Only operators that differ from this git revision.")
@click.option("--no-result-cache", is_flag=True, help="Prove anew what an earlier run has proved.")
@click.option("--shard", metavar="I/N", callback=_shard, help="Only the I-th of N parts of the operators.")
@click.option("--stand-in", is_flag=True, help="Use the stand-in even where CANN is installed.")
@click.option("--gate", is_flag=True, help="Compare with what `enters:` promises: see below.")
@click.option("--self-test", is_flag=True, help="Prove that wrong operators do not enter: see below.")
@click.option(
    "--mutants",
    metavar="N[:SEED]",
    callback=_sample,
    help="With --self-test, only N mutants of each operator and graph; another SEED chooses others.",
)
def command(
    files: tuple[str, ...],
    operators: tuple[str, ...],
    modes: tuple[str, ...],
    stages: tuple[str, ...],
    also: tuple[str, ...],
    style: str | None,
    namespace: str,
    package: str | None,
    imports: tuple[str, ...],
    format_: str,
    output_file: str | None,
    more: tuple[tuple[str, str], ...],
    timeout: float,
    seed: int,
    reproduce: str | None,
    jobs: int | None,
    memory: int | None,
    changed_since: str | None,
    no_result_cache: bool,
    shard: Shard | None,
    stand_in: bool,
    gate: bool,
    self_test: bool,
    mutants: tuple[int, int] | None,
) -> None:
    """Prove that each operator of FILES enters the npugraph_ex and the GE graph.

    \b
    What is judged:
      by default       what `opkit gen` would write for FILES, registered in memory, in the library
                       style and, where torch.library.custom_op can express the operator, in that style
                       too (each mode and style in a process of its own)
      --package DIR    the package on disk, imported as it is with your edits; nothing is generated
      --import MODULE  your own module, .py file or package is imported first. Operators of FILES that
                       it defines are proved as it registered them, and nothing is generated for them:
                       a Meta kernel or converter that it lacks stays missing, and the operator breaks.
                       What it does not define is generated, in the library style unless --style
                       says otherwise.

    The kernel that runs is the YAML's `kernel:`, else the NPU kernel the operator has, else (on the stand-in
    only) the YAML's `reference:` as one task, else a task that computes nothing. Values are compared where
    there is a `reference:`.

    GE converts every case a second time with other host values, for the graph only; an attribute for which no
    other value is accepted is named in the evidence. Sizes of 0 and 1 are tried on their own: torch compiles
    for each of them.

    With --stage only the named stages are run, and those that they cannot do without. Nothing is known to
    enter then: the verdict is `proved` at most. Stages that are the same in both modes (schema, meta, host)
    are run in one of them, unless a stage of the other is asked for as well.

    With --gate what an operator promises with `enters: [npugraph_ex, ge, dynamic, no_recompile, cache]` and
    what the proof shows must be the same, both ways; what is in `known_failures:` is excused until its end.
    The exit status is the gate's, then. Stage cache is part of it.

    With --self-test each operator is proved, and then every mutant of it: what opkit generates with one thing
    wrong (`opkit explain meta-other-dtype`, say, tells what a kind of mutant is, and `opkit explain` lists
    them all). The report is the kill matrix: the stage that found each mutant, or that none did. A Meta
    mutant that gives the same results in every call counts as equivalent, with the calls that were compared.
    The same mutants are put to torch.library.opcheck, where the operator has a `reference:`. One survivor is
    exit status 1, and so is an operator that does not enter unmutated.

    Exit status: 0 every operator enters every mode (or all stages asked for are proved), 1 one does not (or
    the YAML has mistakes), 2 nothing could be judged, e.g. because an imported module or a case's `call:`
    cannot be loaded. With --format json standard output (or the file) holds JSON then, too:
    {"schema_version": 1, "error": {"message", "help", "findings"}}.
    """
    from opkit.errors import OpkitError
    from opkit.prove.plan import InvalidDeclaration, Plan, UnreadableFile

    plan = Plan(
        files=files,
        operators=operators,
        modes=modes,
        stages=tuple(dict.fromkeys(stages)),
        also=tuple(dict.fromkeys((*also, *_OF_GATE) if gate else also)),
        styles=_styles(style),
        namespace=namespace,
        package=package,
        imports=imports,
        timeout=timeout,
        seed=seed,
        jobs=jobs,
        memory=memory,
        changed_since=changed_since or "",
        result_cache=not no_result_cache,
        shard=shard,
        stand_in=True if stand_in else None,
    )
    if self_test and (more or format_ not in ("full", "json")):
        raise click.UsageError("--self-test has the formats full and json, and no --report")
    if gate and (self_test or stages or shard or set(modes) != set(_MODES)):
        raise click.UsageError(
            "--gate needs the whole proof: no --stage, --self-test, --shard or single --mode; shards are "
            "gated by `opkit report merge --gate`"
        )
    output = Output(format_, output_file, more)
    try:
        output.check()
        if self_test:
            sys.exit(_self_test(plan, mutants, format_, output_file))
        proof = _prove(plan)
        if gate:
            from opkit.prove.gate import gated

            proof = gated(proof)
        output.write(proof)
        if reproduce is not None:
            _write_scripts(proof, Path(reproduce))
    except (OpkitError, OSError) as error:
        output.write_error(error)
        if isinstance(error, InvalidDeclaration):
            _show(error)
            sys.exit(2 if isinstance(error, UnreadableFile) else 1)
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    sys.exit(0 if proof.holds else 1)


def _write_scripts(proof: Proof, directory: Path) -> None:
    from opkit.prove.reproduce import write_scripts

    for path in write_scripts(proof, directory):
        click.echo(f"opkit run {path}", err=True)


def _styles(style: str | None) -> tuple[str, ...] | None:
    if style is None:
        return None
    return ("library", "custom-op") if style == "both" else (style,)


def _prove(plan: Plan) -> Proof:
    from opkit.prove.runner import prove

    with _progress() as progress:
        return prove(plan, progress)


def _self_test(plan: Plan, mutants: tuple[int, int] | None, format_: str, output_file: str | None) -> int:
    """Run the self-test, write its report and give the exit status."""
    from opkit.files import write_report
    from opkit.prove.mutants.run import self_test
    from opkit.prove.mutants.sample import Sample
    from opkit.report import kill_matrix

    with _progress() as progress:
        matrix = self_test(plan, progress, Sample(*mutants) if mutants else None)
    text = kill_matrix.render_json(matrix) if format_ == "json" else kill_matrix.render(matrix)
    if output_file is not None:
        write_report(Path(output_file), text)
    # As with a proof, the screen shows the full report when a file takes the other.
    click.echo(text if output_file is None else kill_matrix.render(matrix), nl=False)
    return 0 if matrix.passes else 1


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show a bar on standard error, on a terminal only; CI logs are no place for one."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    # What the rest of the bar leaves; a second line would flicker.
    room = max(20, console.width - 72)
    bar = Progress(
        TextColumn("proving"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=console, transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, total, what: bar.update(
            task,
            completed=done,
            total=total or None,
            description=what if len(what) <= room else f"{what[: room - 1]}…",
        )


def _show(error: InvalidDeclaration) -> None:
    from opkit.report.diagnostics import render

    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    click.echo(render(error.diagnostics, "full", color), err=True)

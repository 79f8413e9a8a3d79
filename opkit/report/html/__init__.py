"""The proof report as one HTML file: no network, no file beside it, English and Chinese."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from opkit import __version__
from opkit.prove.protocol import Proof
from opkit.report.html.view import page
from opkit.report.html.words import CHINESE

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = Path(__file__).parent
# Evidence that is told by argument, attribute or operator: its keys are names.
_BY_ARGUMENT = (
    "inputs", "attributes", "written back", "tasks", "operators left out", "attributes seen with one value",
    "flags not told apart", "optionals never given", "optionals never None",
)  # fmt: skip
# Longer texts are in the JSON report.
_LONGEST = 20_000


def render(proof: Proof, language: str = "") -> str:
    """Print the page; it opens in `language` ("en" or "zh"), or else in the reader's.

    Everything from outside is escaped, and a content security policy lets only the page's own script run.
    """
    from markupsafe import Markup

    style, script = (_read(name) for name in ("proof.css", "proof.js"))
    # A closing tag inside the JSON would end the element that holds it.
    words = json.dumps(dict(CHINESE), ensure_ascii=False).replace("<", "\\u003c")
    return _template().render(
        **page(proof),
        language=language,
        version=__version__,
        style=Markup(style),
        script=Markup(script),
        words=Markup(words),
        style_hash=_digest(style),
        script_hash=_digest(script),
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=False, keep_trailing_newline=True
    )
    environment.filters["css"] = lambda verdict: str(verdict).replace(" ", "-")
    environment.filters["cut"] = _cut
    environment.filters["longest"] = lambda items: max(len(str(item)) for item in items)
    environment.globals["by_argument"] = _BY_ARGUMENT
    return environment.from_string(_read("proof.html.j2"))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _cut(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]} … (+{more})"

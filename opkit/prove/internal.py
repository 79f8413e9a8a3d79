"""Tells opkit's own mistakes from the user's: they say nothing about an operator."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import opkit
from opkit.errors import OpkitError

_PACKAGE = str(Path(opkit.__file__).parent)
# What it imports in vain is the user's.
_LOADER = str(Path(__file__).with_name("entry.py"))
# What stands between an asking line and its failure: imports, and the answer of `opkit.NAME`.
_BETWEEN = ("<frozen importlib", str(Path(importlib.__file__).parent), str(opkit.__file__))


class InternalError(OpkitError):
    """opkit itself went wrong: nothing it would say about the operators could be trusted."""


def refuse_own(error: BaseException) -> None:
    """Raise InternalError if opkit's code, and not what it calls, is what went wrong.

    That is a name, module or attribute that opkit asks for in vain. Other exceptions out of opkit's code mean
    what the caller takes them for, e.g. that a kernel returned something that is no tensor.
    """
    if isinstance(error, InternalError):
        raise error
    for one in _chain(error):
        frame = _innermost(one)
        if frame is None or not frame.filename.startswith(_PACKAGE) or not _is_mistake(one):
            continue
        if frame.filename == _LOADER and isinstance(one, ImportError):
            continue
        where = f"{Path(frame.filename).relative_to(Path(_PACKAGE).parent)}:{frame.lineno}"
        raise InternalError(
            f"opkit itself failed: {type(one).__name__}: {one} ({where})",
            "nothing was judged; reinstall opkit, and if that does not help, please report this",
        ) from error


def unexpected(error: BaseException) -> OpkitError:
    """Describe an exception that kept a worker from judging anything."""
    try:
        refuse_own(error)
    except InternalError as own:
        return own
    frame = _innermost(error)
    where = f" ({frame.filename}:{frame.lineno})" if frame else ""
    text = str(error).strip().split("\n")[0]
    return OpkitError(
        f"nothing could be judged: {type(error).__name__}: {text}{where}",
        "`opkit doctor` tells what this machine lacks; if it finds nothing, please report this",
    )


def _is_mistake(error: BaseException) -> bool:
    if isinstance(error, AttributeError):
        asked = getattr(error, "obj", None)  # Python 3.10 and newer tell
        return isinstance(asked, ModuleType) or type(asked).__module__.split(".")[0] == "opkit"
    return isinstance(error, (NameError, ImportError))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those it was raised from, as Dynamo does with what a backend raises."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__


def _innermost(error: BaseException) -> traceback.FrameSummary | None:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_BETWEEN)]
    return frames[-1] if frames else None

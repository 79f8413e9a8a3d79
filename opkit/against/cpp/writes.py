"""Calls of C++ that write a tensor: `x.copy_(y)`, `x->zero_()`, `at::add_out(x, ...)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opkit.against.cpp.functions import CppFunction

# Methods whose name ends like an in-place one and that write no values.
_HARMLESS = frozenset(["requires_grad_", "retain_grad_", "detach_"])
# Methods that give another name to the same memory, whatever the tensor is like.
_VIEWS = frozenset(
    [
        "view",
        "narrow",
        "select",
        "slice",
        "transpose",
        "t",
        "permute",
        "squeeze",
        "unsqueeze",
        "expand",
        "as_strided",
        "detach",
        "unflatten",
    ]
)
_WRITES = re.compile(r"[a-z]\w*[a-z0-9]_")
_OUT = re.compile(r"\w+_out")


def find_writes(function: CppFunction, stands_for: dict[str, str]) -> Iterator[tuple[range, str]]:
    """Yield the call and the parameter it writes; `stands_for` gives the parameter each name is."""
    source = function.source
    texts = [token.text for token in source.tokens]
    names = {**stands_for, **_views(function, texts, stands_for)}
    for i in function.body:
        if i + 1 not in source.closing or texts[i + 1] != "(":
            continue
        if _OUT.fullmatch(texts[i]) and texts[i - 1] == "::":
            arguments = source.split(i + 2, source.closing[i + 1])
            first = source.texts(arguments[0]) if arguments else []
            if len(first) == 1 and first[0] in names:
                yield range(i, i + 1), names[first[0]]
        elif _WRITES.fullmatch(texts[i]) and texts[i] not in _HARMLESS and texts[i - 1] in (".", "->"):
            start = _receiver(function, texts, i - 1)
            if start is not None and texts[start] in names:
                yield range(start, i + 1), names[texts[start]]


def _receiver(function: CppFunction, texts: list[str], dot: int) -> int | None:
    """Find the name at the front of `x.view({-1}).` ending before `dot`; None if it is no name and views."""
    index = dot - 1
    while texts[index] == ")":
        opening = next((o for o, c in function.source.closing.items() if c == index), 0)
        if opening < 2 or texts[opening - 1] not in _VIEWS or texts[opening - 2] not in (".", "->"):
            return None
        index = opening - 3
    is_name = function.source.tokens[index].kind == "name"
    return index if is_name and texts[index - 1] not in (".", "->", "::") else None


def _views(function: CppFunction, texts: list[str], stands_for: dict[str, str]) -> dict[str, str]:
    """Local names of views: `auto c = cache.view({-1});`."""
    found: dict[str, str] = {}
    for i in function.body:
        if texts[i] != "=" or not texts[i - 2].endswith(("Tensor", "&", "auto")):
            continue
        end = i
        while end < function.body.stop and texts[end] != ";":
            end = function.source.closing.get(end, end) + 1
        start = _receiver(function, texts, end) if texts[end - 1] == ")" else None
        if start == i + 1 and texts[start] in (known := {**stands_for, **found}):
            found[texts[i - 1]] = known[texts[start]]
    return found

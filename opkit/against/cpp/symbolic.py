"""C++ Meta kernels that ask for sizes as numbers, so that each size gets a graph of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from opkit.against.cpp.functions import CppFunction
from opkit.model.diagnostic import Diagnostic, Severity

CODE = "OPK243"

# vllm-ascend's convention for a line that is meant so.
_ALLOWED = "symbolic-meta-ok:"
_METHODS = {"size": "sym_size", "sizes": "sym_sizes", "numel": "sym_numel"}
_MAKERS = ("empty", "zeros", "ones", "full")


def check_symbolic(functions: Iterable[CppFunction], metas: Collection[str]) -> Iterator[Diagnostic]:
    """Report one finding per line of each Meta kernel: one that is registered, or is in `namespace meta`."""
    for function in functions:
        if function.name not in metas and "meta" not in function.namespaces:
            continue
        source, lines = function.source, set()
        for i in function.body:
            found = _problem(function, i)
            line = source.line(source.tokens[i].start)
            allowed = any(_ALLOWED in source.comments.get(n, "") for n in (line, line - 1))
            if found is None or line in lines or allowed:
                continue
            lines.add(line)
            text, help, length = found
            mark = source.mark(source.tokens[i], source.tokens[i + length])
            message = f"the C++ Meta kernel {function.name} {text}"
            yield Diagnostic(CODE, Severity.WARNING, message, mark, help)


def _written(function: CppFunction, index: int) -> str:
    """Give the call as it is written, with what it is called on and the item that is taken of it."""
    source = function.source
    end = source.closing.get(index + 2, index + 2)
    if end + 1 < function.body.stop and source.tokens[end + 1].text == "[":
        end = source.closing.get(end + 1, end)
    start = index - 1 if index > function.body.start and source.tokens[index - 1].kind == "name" else index
    return " ".join(source.text[source.tokens[start].start : source.tokens[end].end].split())


def _problem(function: CppFunction, index: int) -> tuple[str, str, int] | None:
    texts = function.source.texts(range(index, min(index + 6, function.body.stop)))
    if len(texts) < 4:
        return None
    if texts[0] in (".", "->") and texts[1] in _METHODS and texts[2] == "(":
        # `.size()` without an argument is a container's.
        if texts[1] == "size" and texts[3] == ")":
            return None
        written = _written(function, index)
        return f"asks for `{written}` as a number", f"use {_METHODS[texts[1]]}", 1
    if texts[0] in _MAKERS and texts[1:3] == ["(", "{"]:
        return f"gives `{texts[0]}` sizes that are numbers", f"use {texts[0]}_symint and c10::SymInt", 0
    if texts[:4] == ["vector", "<", "int64_t", ">"]:
        return (
            "keeps sizes in a `std::vector<int64_t>`",
            "use c10::SmallVector<c10::SymInt> or SymDimVector",
            3,
        )
    return None

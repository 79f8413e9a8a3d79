"""C++ kernels that wait for the device: what they read is not there while a graph is captured."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from opkit.against.cpp.functions import CppFunction
from opkit.model.diagnostic import Diagnostic, Severity

CODE = "OPK245"

_FUNCTIONS = re.compile(r"aclrtSynchronize\w+|npuSynchronize\w+|SynchronizeStream|_local_scalar_dense")
_METHODS = {"item": "<(", "cpu": "(", "synchronize": "("}


def check_waiting(functions: Iterable[CppFunction], kernels: Collection[str]) -> Iterator[Diagnostic]:
    """Report the first such call of each kernel that is registered for the NPU."""
    for function in functions:
        if function.name not in kernels:
            continue
        index = next((i for i in function.body if _waits(function, i)), None)
        if index is None:
            continue
        source = function.source
        token = source.tokens[index]
        message = f"the C++ kernel {function.name} waits for the device: `{token.text}`"
        help = "take the number as an argument, or leave it on the device"
        yield Diagnostic(CODE, Severity.WARNING, message, source.mark(token), help)


def _waits(function: CppFunction, index: int) -> bool:
    source = function.source
    texts = source.texts(range(index, min(index + 6, function.body.stop)))
    if len(texts) < 2 or source.tokens[index].kind != "name":
        return False
    is_method = source.tokens[index - 1].text in (".", "->")
    if is_method and texts[0] == "to" and texts[1] == "(" and index + 1 in source.closing:
        return "kCPU" in source.texts(range(index + 2, source.closing[index + 1]))
    if is_method and texts[0] in _METHODS:
        return texts[1] in _METHODS[texts[0]]
    return bool(_FUNCTIONS.fullmatch(texts[0])) and texts[1] == "("

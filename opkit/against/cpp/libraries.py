"""What TORCH_LIBRARY, TORCH_LIBRARY_FRAGMENT and TORCH_LIBRARY_IMPL define and register."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opkit.against.cpp.functions import CppFunction
from opkit.against.cpp.source import Branches
from opkit.model.diagnostic import Mark

# Projects wrap the macros to have their arguments expanded first, under names like TORCH_LIBRARY_EXPAND.
_MACRO = re.compile(r"(?:STABLE_)?TORCH_LIBRARY(?:_(FRAGMENT|IMPL))?(?:_EXPAND)?")


@dataclass(frozen=True)
class CppRegistration:
    """One `m.def(...)` or `m.impl(...)`."""

    namespace: str
    # `base` or `base.overload`.
    name: str
    # Empty for `def`, else the dispatch key.
    key: str
    # The text of a `def`: a schema, or a name alone.
    schema: str
    # The last name of the function registered, if there is one.
    function: str
    mark: Mark
    branches: Branches
    # Whether it stands in the block that defines the namespace, which there is one of.
    is_whole: bool
    # The kernel itself where it is a lambda.
    kernel: CppFunction | None = None

    @property
    def is_definition(self) -> bool:
        """Tell `def` from `impl`."""
        return not self.key

    @property
    def returns_nothing(self) -> bool:
        """Tell whether a `def` says so."""
        return bool(re.search(r"->\s*\(\s*\)\s*$", self.schema))


def find_registrations(functions: Iterable[CppFunction]) -> Iterator[CppRegistration]:
    """Find the registrations in all library blocks."""
    for block in functions:
        macro = _MACRO.fullmatch(block.name)
        if macro is None or len(block.arguments) < 2:
            continue
        texts = ["".join(block.source.texts(span)) for span in block.arguments]
        key = texts[1] if macro[1] == "IMPL" else ""
        yield from _in_block(block, texts[0], key, texts[-1], macro[1] is None)


def _in_block(
    block: CppFunction, namespace: str, key: str, variable: str, is_whole: bool
) -> Iterator[CppRegistration]:
    source, tokens = block.source, block.source.tokens
    for index in block.body:
        if index + 3 >= block.body.stop or source.texts(range(index, index + 2)) != [variable, "."]:
            continue
        method, opening = tokens[index + 2].text, index + 3
        if method not in ("def", "impl") or opening not in source.closing:
            continue
        arguments = source.split(opening + 1, source.closing[opening])
        strings = [i for i in arguments[0] if tokens[i].kind == "string"] if arguments else []
        if not strings:
            continue  # the name is a macro's business
        # Adjacent literals are one.
        text = "".join(tokens[i].text for i in strings)
        own_key = key if method == "impl" else ""
        if method == "impl" and not own_key:
            own_key = _key(source.texts(range(arguments[0].stop, source.closing[opening])))
        function = ""
        name = text.partition("(")[0].strip()
        kernel = _lambda(block, arguments[-1], name) if len(arguments) > 1 else None
        if len(arguments) > 1 and tokens[arguments[-1].start].text not in ("{", "["):
            function = next((t for t in reversed(source.texts(arguments[-1])) if t.isidentifier()), "")
        space, _, bare = name.rpartition("::")
        mark = source.mark(tokens[strings[0]])
        yield CppRegistration(
            space or namespace,
            bare,
            own_key,
            text if method == "def" else "",
            function,
            mark,
            tokens[index].branches,
            is_whole,
            kernel,
        )


def _lambda(block: CppFunction, span: range, operator: str) -> CppFunction | None:
    """Read `[](const at::Tensor& x) { ... }` as a function; None if it is something else."""
    source = block.source
    parameters = source.closing.get(span.start, span.stop) + 1
    if source.tokens[span.start].text != "[" or parameters not in source.closing:
        return None
    body = next((i for i in range(source.closing[parameters], span.stop) if i in source.closing), None)
    if body is None or source.tokens[body].text != "{":
        return None
    arguments = tuple(source.split(parameters + 1, source.closing[parameters]))
    inside = range(body + 1, source.closing[body])
    return CppFunction(source, f"lambda of {operator}", source.tokens[span.start], (), arguments, inside)


def _key(texts: list[str]) -> str:
    """Find the dispatch key in `m.impl("f", torch::kMeta, &f)` or `c10::DispatchKey::Meta`."""
    for i, text in enumerate(texts):
        if text == "DispatchKey" and i + 2 < len(texts):
            return texts[i + 2]
        if re.fullmatch(r"k(Meta|CPU|CUDA|PrivateUse1|XPU|NPU|Autograd\w*)", text):
            return text[1:]
    return "CatchAll"

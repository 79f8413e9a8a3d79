"""The function definitions of a C++ file, and the blocks TORCH_LIBRARY and its kin open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opkit.against.cpp.source import CppSource, Token

_KEYWORDS = frozenset(["if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "noexcept"])
_AFTER_PARAMETERS = frozenset(["const", "noexcept", "override", "final", "mutable"])


@dataclass(frozen=True)
class CppParameter:
    """One parameter: its type as tokens without spaces between them, and its name."""

    type: str
    name: str
    token: Token

    @property
    def is_tensor(self) -> bool:
        """Tell whether it is a tensor or holds tensors."""
        return "Tensor" in self.type and "TensorOptions" not in self.type


@dataclass(frozen=True)
class CppFunction:
    """One definition."""

    source: CppSource
    name: str
    token: Token
    # The namespaces it stands in, outermost first.
    namespaces: tuple[str, ...]
    # What is between the parentheses, split at its commas.
    arguments: tuple[range, ...]
    body: range

    @property
    def parameters(self) -> tuple[CppParameter, ...]:
        """Read the arguments as parameters."""
        found = []
        for span in self.arguments:
            texts = self.source.texts(span)
            end = span.start + (texts.index("=") if "=" in texts else len(texts))
            names = [i for i in range(span.start, end) if self.source.tokens[i].kind == "name"]
            if len(names) > 1:
                last = names[-1]
                type_ = "".join(self.source.texts(range(span.start, last)))
                token = self.source.tokens[last]
                found.append(CppParameter(type_, token.text, token))
        return tuple(found)


def find_functions(source: CppSource) -> Iterator[CppFunction]:
    """Find the definitions outside of other functions, in the order of the text."""
    tokens, index = source.tokens, 0
    scopes: list[tuple[int, str]] = []  # (where it closes, name or "")
    while index < len(tokens):
        while scopes and scopes[-1][0] <= index:
            scopes.pop()
        if tokens[index].kind == "op" and tokens[index].text == "{" and index in source.closing:
            end = source.closing[index]
            opening = _parameters_before(source, index)
            if opening is not None:
                namespaces = tuple(name for _, scope in scopes for name in scope.split("::") if name)
                arguments = tuple(source.split(opening + 1, source.closing[opening]))
                name = tokens[opening - 1]
                yield CppFunction(source, name.text, name, namespaces, arguments, range(index + 1, end))
                index = end
            else:
                scopes.append((end, _namespace_before(source, index)))
        index += 1


def _parameters_before(source: CppSource, brace: int) -> int | None:
    """Find the `(` of the parameters of the function whose body a `{` opens; None if it opens no function."""
    tokens, index = source.tokens, brace - 1
    while index >= 0 and tokens[index].text in _AFTER_PARAMETERS:
        index -= 1
    if index < 0 or tokens[index].text != ")" or tokens[index].kind != "op":
        return None
    opening = next((o for o in range(index, -1, -1) if source.closing.get(o) == index), None)
    if opening is None or opening == 0:
        return None
    name = tokens[opening - 1]
    return opening if name.kind == "name" and name.text not in _KEYWORDS else None


def _namespace_before(source: CppSource, brace: int) -> str:
    """Give `a::b` of `namespace a::b {`; empty for other braces."""
    tokens, index = source.tokens, brace - 1
    while index >= 0 and (tokens[index].kind == "name" or tokens[index].text == "::"):
        if tokens[index].text == "namespace":
            return "".join(source.texts(range(index + 1, brace)))
        index -= 1
    return ""

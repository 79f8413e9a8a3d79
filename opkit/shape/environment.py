"""What a rule may ask about the machine: `soc >= "910_93"`, `cann < "8.1"`, `torch_version >= "2.12"`.

The answer is decided when a Meta kernel is made, from the versions that are given; it is never read here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from opkit.model.diagnostic import Mark
from opkit.model.expression import Expression, Literal, Sequence
from opkit.shape.errors import NEEDS_ENVIRONMENT, WRONG_KIND, RuleError
from opkit.shape.scope import Environment

# Name in a rule -> (field of Environment, how the command line gives it).
NAMES = {
    "soc": ("soc_version", "--soc-version Ascend910B2"),
    "cann": ("cann_version", "--cann-version 8.5"),
    "torch_version": ("torch_version", "--torch-version 2.13"),
}
# Product lines in the order of torch_npu's `SocVersion` (torch_npu/csrc/core/npu/NpuVariables.h, 2.13).
SOC_FAMILIES = ("910A", "310P", "910B", "310B", "910_93", "950")
_SOC_PATTERNS = (
    (r"Ascend910(A|B|ProA|ProB|PremiumA)", "910A"),
    (r"(Ascend)?310P\w*", "310P"),
    (r"(Ascend)?910B\w*", "910B"),
    (r"(Ascend)?310B\w*", "310B"),
    (r"(Ascend)?910_93\w*", "910_93"),
    (r"(Ascend)?95\w*", "950"),
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


def soc_family(name: str) -> str | None:
    """Give the product line of a SoC's name; None for an unknown one."""
    if name in SOC_FAMILIES:
        return name
    return next((family for pattern, family in _SOC_PATTERNS if re.fullmatch(pattern, name)), None)


def holds(name: str, comparison: str, other: Expression, environment: Environment, mark: Mark) -> bool:
    """Decide `name comparison other`.

    Raises RuleError when the environment does not say what `name` is, or `other` is nothing to compare with.
    """
    field, option = NAMES[name]
    given = getattr(environment, field)
    if comparison == "in" and isinstance(other, Sequence):
        wanted = [_key(name, item, mark) for item in other.items]
    elif comparison in _COMPARISONS:
        wanted = [_key(name, other, mark)]
    else:
        raise RuleError(WRONG_KIND, f"`{name}` cannot be used with `{comparison}` here", mark, _help(name))
    if given is None:
        what = {"soc": "the SoC", "cann": "the CANN version"}.get(name, "the torch version")
        raise RuleError(NEEDS_ENVIRONMENT, f"this rule depends on {what}", mark,
                        f"say which one the code is for: {option}")  # fmt: skip
    actual = _key(name, Literal(given, mark), mark)
    if comparison == "in":
        return actual in wanted
    length = max(len(actual), len(wanted[0]))
    left, right = (key + (0,) * (length - len(key)) for key in (actual, wanted[0]))
    return _COMPARISONS[comparison](left, right)


def _key(name: str, value: Expression, mark: Mark) -> tuple[int, ...]:
    """Make a version or a product line comparable."""
    text = value.value if isinstance(value, Literal) else None
    if isinstance(text, str) and name == "soc":
        family = soc_family(text)
        if family is not None:
            return (SOC_FAMILIES.index(family),)
    elif isinstance(text, str) and re.match(r"\d+(\.\d+)+", text):
        # "8.1.RC1": a release candidate counts as its release.
        return tuple(int(part) for part in re.findall(r"(?:^|\.)(\d+)", text))
    raise RuleError(WRONG_KIND, f"`{name}` is compared with {text!r}", mark, _help(name))


def _help(name: str) -> str:
    if name == "soc":
        return f"compare it with a product line in quotes: {', '.join(SOC_FAMILIES)}"
    return f'compare it with a version in quotes: {name} >= "8.5"'

"""Calls in a rule: members of a value (`x.size(0)`), and named helpers."""

from __future__ import annotations

import re
from collections.abc import Callable

from opkit.model.diagnostic import Mark
from opkit.shape.errors import NEEDS_ENVIRONMENT, UNKNOWN_NAME, RuleError, nearest
from opkit.shape.helpers import Helper
from opkit.shape.scope import Scope
from opkit.shape.value import AND, ATOM, COMPARE, CONDITIONAL, OR, Printed, definite

# Members without arguments. Kind of the value -> member -> (text, kind of the result).
_TENSOR_MEMBERS = {
    **dict.fromkeys(("shape", "sizes", "sym_sizes"), ("{0}.shape", "shape")),
    **dict.fromkeys(("dtype", "scalar_type"), ("{0}.dtype", "dtype")),
    **dict.fromkeys(("dim", "ndim", "rank"), ("{0}.dim()", "int")),
    **dict.fromkeys(("numel", "sym_numel"), ("{0}.numel()", "int")),
    "is_contiguous": ("{0}.is_contiguous()", "bool"),
    **dict.fromkeys(("element_size", "itemsize"), ("{0}.element_size()", "int")),
}
_LIST_MEMBERS = {"size": ("len({0})", "int"), "empty": ("len({0}) == 0", "bool")}
# Members that C++ needs and Python does not.
_TRANSPARENT = ("value", "data", "c_str", "vec", "toType")
EMPTY_LISTS = ("at::ArrayRef", "at::IntArrayRef", "c10::IntArrayRef", "c10::SmallVector", "std::vector")


def member(value: Printed, name: str, arguments: list[Printed], mark: Mark) -> Printed:
    """Print `value.name` or `value.name(arguments)`."""
    this = value.at(ATOM)
    if name in ("has_value", "defined"):
        return Printed(f"{this} is not None", "bool", COMPARE)
    if name == "value_or" and len(arguments) == 1:
        default = arguments[0]
        text = f"{default.at(OR)} if {value.text} is None else {value.text}"
        return Printed(text, value.base, CONDITIONAL)
    if name in _TRANSPARENT and not arguments:
        return Printed(value.text, value.base, value.level)
    definite(value, mark)
    if name in ("size", "sym_size", "stride") and len(arguments) == 1 and value.base == "tensor":
        index = arguments[0].text
        return Printed(f"{this}.stride({index})" if name == "stride" else f"{this}.shape[{index}]", "int")
    if name == "index" and len(arguments) == 1:
        return Printed(f"{this}.index({arguments[0].text})", "int")
    table = _TENSOR_MEMBERS if value.base == "tensor" else _LIST_MEMBERS
    if name in table and not arguments and value.base in ("tensor", "shape", "list", "tensors"):
        text, kind = table[name]
        level = COMPARE if " == " in text else ATOM
        return Printed(text.format(this), kind, level)
    known = ["size", "has_value", "value_or", *table]
    raise RuleError(
        UNKNOWN_NAME, f"`{value.text}` has no `{name}` that a rule can use", mark, nearest(name, known)
    )


def apply(helper: Helper, arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    """Print a helper applied to its arguments."""
    inline = _INLINE.get(helper.name)
    if inline is not None:
        return inline(arguments, scope, mark)
    if not helper.python:
        return Printed(arguments[0].text, helper.returns, arguments[0].level)
    if helper.python == "probs_shape":
        arguments = arguments[-1:]
    if helper.python == "result_type" and len(arguments) == 2:
        # The two-argument form is torch's own.
        return Printed(f"torch.result_type({arguments[0].text}, {arguments[1].text})", "dtype")
    return Printed(f"{helper.python}({', '.join(a.text for a in arguments)})", helper.returns)


def _present(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"{arguments[0].at(ATOM)} is not None", "bool", COMPARE)


def _floating(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"{arguments[0].at(ATOM)}.is_floating_point", "bool")


def _complex(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"{arguments[0].at(ATOM)}.is_complex", "bool")


def _all_dims(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"list(range(len({arguments[0].text})))", "shape")


def _cann_820(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    """CANN 8.2.RC1 or newer; decided when the code is generated, from the version that is given."""
    version = scope.environment.cann_version
    if version is None:
        raise RuleError(NEEDS_ENVIRONMENT, "this rule depends on the CANN version", mark,
                        "say which one the code is for: --cann-version 8.2")  # fmt: skip
    return Printed(str(_numbers(version) >= (8, 2)), "bool")


def _extreme(name: str) -> Callable[[list[Printed], Scope, Mark], Printed]:
    """`min` and `max`: of one list Python's own, of numbers torch's, which leave no guard on a SymInt."""

    def show(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
        if len(arguments) == 1:
            return Printed(f"{name}({arguments[0].text})", "int")
        text = definite(arguments[0], mark).text
        for argument in arguments[1:]:
            text = f"torch.sym_{name}({text}, {definite(argument, mark).text})"
        return Printed(text, arguments[0].kind)

    return show


def _isclose(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    """From torch 2.12 on always the broadcast shape; before, op-plugin took the first shape for equal_nan."""
    version = scope.environment.torch_version
    if version is None:
        raise RuleError(NEEDS_ENVIRONMENT, "this rule depends on the torch version", mark,
                        "say which one the code is for: --torch-version 2.13")  # fmt: skip
    left, right = (a.at(ATOM) for a in arguments[:2])
    broadcast = f"torch.broadcast_shapes({left}.shape, {right}.shape)"
    if _numbers(version) >= (2, 12):
        return Printed(broadcast, "shape")
    condition = f"{left}.is_floating_point() and {arguments[4].at(AND)}"
    return Printed(f"{left}.shape if {condition} else {broadcast}", "shape", CONDITIONAL)


def _group_norm_silu_dtype(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    """Ascend950 and later promote with the weight or else the bias; before, the input decides."""
    soc = scope.environment.soc_version
    if soc is None:
        raise RuleError(NEEDS_ENVIRONMENT, "this rule depends on the SoC", mark,
                        "say which one the code is for: --soc-version Ascend910B2")  # fmt: skip
    if not soc.startswith("Ascend95"):
        return arguments[0]
    return Printed(f"promote_first_present({', '.join(a.text for a in arguments)})", "dtype")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


def _first_and_second_1(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    first, second = (a.at(ATOM) for a in arguments[:2])
    return Printed(f"[{first}[0], {second}[1]]", "shape")


def _value_and_second_1(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"[{arguments[0].text}, {arguments[1].at(ATOM)}[1]]", "shape")


def _first_two(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    return Printed(f"{arguments[0].at(ATOM)}[:2]", "shape")


def _combine_teardown(arguments: list[Printed], scope: Scope, mark: Mark) -> Printed:
    x, ids = (a.at(ATOM) for a in arguments)
    return Printed(f"[[{ids}[0], {x}[1]]]", "shapes")


_INLINE = {
    "min": _extreme("min"),
    "max": _extreme("max"),
    "present": _present,
    "isFloatingType": _floating,
    "is_floating": _floating,
    "isComplexType": _complex,
    "is_complex": _complex,
    "get_dimlist_for_tensor": _all_dims,
    "is_gte_cann_version_820rc1": _cann_820,
    "isclose_output_size": _isclose,
    "npu_group_norm_silu_dst_type": _group_norm_silu_dtype,
    "npu_moe_token_permute_grad_out_size": _first_and_second_1,
    "npu_moe_token_permute_grad_v2_out_size": _value_and_second_1,
    "npu_moe_token_unpermute_grad_v2_permuted_tokens_out_size": _value_and_second_1,
    "npu_moe_token_unpermute_grad_permuted_tokens_out_size": _first_two,
    "npu_moe_distribute_combine_teardown_out_size": _combine_teardown,
}

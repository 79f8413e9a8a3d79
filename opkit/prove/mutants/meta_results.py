"""Mutants of what a Meta kernel returns and of how it looks at its arguments.

They are put around the generated function by a decorator, so that they fit rules of every form, Python
functions included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from opkit.model.schema import is_tensor_like
from opkit.prove.mutants.kind import META, Break, Kind, NotApplicable, Product

_DECORATOR = '''
import functools as _functools
import inspect as _inspect

import torch as _torch

_remembered = []


def _tensors(function, args, kwargs):
    """The tensors of a call, those of lists included."""
    values = _inspect.signature(function).bind(*args, **kwargs).arguments.values()
    flat = [v for value in values for v in (value if isinstance(value, (list, tuple)) else [value])]
    return [v for v in flat if isinstance(v, _torch.Tensor)]


def _mutant(function):
    @_functools.wraps(function)
    def changed(*args, **kwargs):
        tensors = _tensors(function, args, kwargs)
        {before}
        result = function(*args, **kwargs)
        {after}
        return result

    return changed


def _same_width(tensor):
    """Another dtype of the same width."""
    pairs = {1: "int8 uint8", 2: "bfloat16 float16", 4: "int32 float32", 8: "int64 float64"}
    names = pairs.get(tensor.element_size(), "complex128 float64").split()
    found = [getattr(_torch, name) for name in names]
    return found[1] if tensor.dtype == found[0] else found[0]


def _at(result, index, change):
    """Change one result, or the first tensor of a list."""
    if isinstance(result, list):
        return [change(r) if i == index else r for i, r in enumerate(result)]
    if isinstance(result, tuple):
        return tuple(_at(r, 0, change) if i == index and isinstance(r, list) else
                     change(r) if i == index and r is not None else r for i, r in enumerate(result))
    return change(result)
'''


def function_name(product: Product) -> str:
    """Name the Meta function in the generated module; empty where the rule is a Python function elsewhere."""
    for node in ast.parse(product.meta).body:
        if isinstance(node, ast.FunctionDef) and _registers(node, product):
            return node.name
    return ""


def _registers(node: ast.FunctionDef, product: Product) -> bool:
    for decorator in node.decorator_list:
        text = ast.unparse(decorator)
        if product.style == "custom-op":
            if text.endswith(".register_fake") and node.name == f"{text.split('.')[0]}_fake":
                return _is_of(text.split(".")[0], product)
        elif text.startswith("meta_kernel(") and _names(decorator, product):
            return True
    return False


def _names(decorator: ast.expr, product: Product) -> bool:
    """Tell whether a registration is the operator's own and not that of one it inherits from."""
    strings = [
        n.value for n in ast.walk(decorator) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]
    return any(s.startswith(f"{product.spec.schema.name.qualified}(") for s in strings)


def _is_of(function: str, product: Product) -> bool:
    for node in ast.parse(product.meta).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return any(
                repr(product.spec.schema.name.qualified) in ast.unparse(d) for d in node.decorator_list
            )
    return False


def around(product: Product, before: str = "pass", after: str = "pass") -> Product:
    """Put a decorator around the Meta function. Raises NotApplicable where there is none to put it around."""
    tree = ast.parse(product.meta)
    name = function_name(product)
    found = False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.decorator_list.append(ast.Name("_mutant"))
            found = True
        elif not name and isinstance(node, ast.Call) and _is_registration(node, product):
            node.args = [ast.Call(ast.Name("_mutant"), node.args, [])]
            found = True
    if not found:
        raise NotApplicable("opkit generates no Meta kernel for it")
    text = ast.unparse(ast.fix_missing_locations(tree))
    future, _, rest = text.partition("from __future__ import annotations")
    indented = (code.replace("\n", "\n        ") for code in (before, after))
    decorator = _DECORATOR.replace("{before}", next(indented)).replace("{after}", next(indented))
    return replace(product, meta=f"{future}from __future__ import annotations\n{decorator}\n{rest}")


def _is_registration(node: ast.Call, product: Product) -> bool:
    text = ast.unparse(node.func)
    if product.style == "custom-op":
        return text.endswith(".register_fake") and _is_of(text.split(".")[0], product)
    return text.startswith("meta_kernel(") and _names(node.func, product)


def fresh_results(product: Product) -> list[int]:
    """List the results that are tensors of their own. Raises NotApplicable when there are none."""
    returns = product.spec.schema.returns
    found = [i for i, r in enumerate(returns) if r.alias is None and is_tensor_like(r.type)]
    if not found:
        raise NotApplicable("it returns no tensor of its own")
    return found


def _result(change: str, setup: str = "pass") -> Break:
    """Replace each result in turn by `change`, an expression of the result `r` and the list `tensors`."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        for index in fresh_results(product):
            after = f"result = _at(result, {index}, lambda r: {change})"
            yield f"result {index}", around(product, setup, after)

    return apply


def _whole(after: str, least: int = 1) -> Break:
    """Change the results as a whole, for operators with at least so many."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        if len(fresh_results(product)) < least:
            raise NotApplicable(f"it has fewer than {least} results")
        yield "results", around(product, after=after)

    return apply


def _before(code: str, why_not: str = "") -> Break:
    """Run code before the kernel."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        if not any(is_tensor_like(a.type) for a in product.spec.schema.arguments):
            raise NotApplicable(why_not or "it takes no tensor")
        yield "arguments", around(product, before=code)

    return apply


def _branches(product: Product) -> Iterator[tuple[str, Product]]:
    """Branch at a size that lies between two that a case has."""
    for case in product.spec.cases:
        for name, sizes in case.dims:
            if len(set(sizes)) > 1 and min(sizes) > 1:
                code = f"for t in tensors:\n    for s in t.shape:\n        if s > {min(sizes)}: pass"
                yield f"{case.name}, {name} > {min(sizes)}", around(product, before=code)
                return
    raise NotApplicable("no dim of its cases takes several values")


def _optional(product: Product) -> Iterator[tuple[str, Product]]:
    arguments = product.spec.schema.arguments
    names = [a.name for a in arguments if a.is_optional and is_tensor_like(a.type)]
    if not names:
        raise NotApplicable("it has no optional tensor")
    for name in names:
        position = [a.name for a in product.spec.schema.positional]
        where = f"args[{position.index(name)}]" if name in position else f"kwargs[{name!r}]"
        yield name, around(product, before=f"_ = {where}.shape")


# Sizes are compared as text: comparing symbols would add guards, which is another mutant.
_SAME = "next((t for t in tensors if str(t.shape) == str(r.shape) and t.dtype == r.dtype), None)"


def _kind(name: str, breaks: str, matters: str, apply: Break, shown_on_cpu: bool = True) -> Kind:
    return Kind(f"meta-{name}", META, breaks, matters, apply, shown_on_cpu=shown_on_cpu)


KINDS = (
    _kind("returns-input", "A result is one of the inputs itself.",
          "Torch takes the result for a view: GE drops the node, npugraph_ex reuses the memory.",
          _result(f"r if {_SAME} is None else {_SAME}")),
    _kind("returns-view", "A result is a view of an input.",
          "The graph returns the input's memory; what the kernel wrote is lost.",
          _result(f"r if {_SAME} is None else {_SAME}.detach()")),
    _kind("shares-results", "Two results are one tensor.",
          "The graph takes both for the same memory: one of them is overwritten by the other.",
          _whole("result = type(result)([result[0], result[0], *result[2:]])", 2)),
    _kind("other-dtype", "A result has a dtype of another width.",
          "GE refuses the graph on the device, or the kernel writes past the end of the memory.",
          _result("_torch.empty_like("
                  "r, dtype=_torch.float64 if r.dtype != _torch.float64 else _torch.float32)")),
    _kind("same-width-dtype", "A result has another dtype of the same width.",
          "The bits are read as another type: no error, wrong numbers.",
          _result("_torch.empty_like(r, dtype=_same_width(r))")),
    _kind("default-dtype", "A result always has torch's default dtype.",
          "Right in a test with float32, wrong with any other dtype.",
          _result("_torch.empty(r.shape, device=r.device)")),
    _kind("dim-too-many", "A result has one more dim, of size 1.",
          "What follows in the model broadcasts instead of failing.",
          _result("r.new_empty((1, *r.shape))")),
    _kind("dim-too-few", "A result lacks its last dim.",
          "The memory is too small for what the kernel writes.",
          _result("r.new_empty(r.shape[:-1])")),
    _kind("size-off-by-one", "The last dim of a result is larger by one.",
          "The kernel's rows land in the wrong places.",
          _result("r.new_empty((*r.shape[:-1], r.shape[-1] + 1) if r.dim() else (1,))")),
    _kind("size-of-one", "The first dim of a result is 1.",
          "A size that is right for one element and never else.",
          _result("r.new_empty((1, *r.shape[1:]))")),
    _kind("empty", "A result has no elements.",
          "GE makes a constant of an empty result and leaves the operator out of the graph.",
          _result("r.new_empty((0, *r.shape[1:]))")),
    _kind("dims-reversed", "The dims of a result are in the opposite order.",
          "Right for square inputs, wrong for all others.",
          _result("r.new_empty(tuple(reversed(r.shape)))")),
    _kind("dims-merged", "A result has all its elements in one dim.",
          "The number of elements is right, so the kernel does not notice.",
          _result("r.new_empty((r.numel(),))")),
    _kind("strides", "A result is not contiguous.",
          "The next operator reads the kernel's rows as columns.",
          _result("r.new_empty(tuple(reversed(r.shape))).permute(tuple(reversed(range(r.dim()))))"
                  " if r.dim() > 1 else r.new_empty((2 * r.numel(),))[::2].reshape(r.shape)"
                  " if r.dim() == 0 else r.new_empty((2 * r.shape[0],))[::2]")),
    _kind("device", "A result is on the CPU.",
          "The graph mixes devices: it breaks, or copies through the host at every step.",
          _result('_torch.empty(r.shape, dtype=r.dtype, device="cpu")'), shown_on_cpu=False),
    _kind("result-missing", "The last result is not returned.",
          "Unpacking fails in the middle of the compile, or takes the wrong tensors.",
          _whole("result = (*result[:-1],)", 2)),
    _kind("result-added", "One more result is returned than declared.",
          "Unpacking fails in the middle of the compile, or takes the wrong tensors.",
          _whole("result = (*(result if isinstance(result, (tuple, list)) else [result]),"
                 " _torch.empty_like(tensors[0]) if tensors else _torch.empty(1))")),
    _kind("none", "Nothing is returned.",
          "The caller gets None where it expects a tensor.", _whole("result = None")),
    _kind("results-swapped", "The first two results are exchanged.",
          "With equal shapes nothing fails and every number is in the wrong place.",
          _whole("result = type(result)([result[1], result[0], *result[2:]])", 2)),
    _kind("remembers-sizes", "The sizes are those of the first call, whatever the inputs are.",
          "A hard-coded size: the tested shape works, the next one does not.",
          _result("r.new_empty(_remembered[0]) if _remembered else"
                  " (_remembered.append([int(s) for s in r.shape]), r)[1]")),
    _kind("size-as-number", "The sizes of the inputs are turned into numbers.",
          "Every new size compiles again, and after eight the model stays out of the graph.",
          _before("for t in tensors:\n    for s in t.shape:\n        int(s)")),
    _kind("branches-on-size", "The kernel asks whether a size is larger than a number.",
          "The graph is guarded: sizes on the other side compile again.", _branches),
    _kind("reads-values", "The kernel reads a value of an input.",
          "Fake tensors have no values: Dynamo breaks the graph there.",
          _before("if tensors:\n    tensors[0].sum().item()")),
    _kind("size-from-values", "The size of a result depends on the values of an input.",
          "Neither graph can hold an output whose size is only known afterwards.",
          _result("r.new_empty((_torch.nonzero(tensors[0]).shape[0], *r.shape[1:])) if tensors else r")),
    _kind("changes-input", "The kernel changes the shape of an input.",
          "Later nodes of the graph see an argument of another shape than the caller's.",
          _before("if tensors:\n    tensors[0].unsqueeze_(0)")),
    _kind("raises", "The kernel raises.",
          "The graph breaks at the operator.", _before('raise NotImplementedError("no Meta kernel yet")')),
    _kind("needs-optional", "The kernel takes an optional tensor for given.",
          "The call without it breaks the graph; tests usually pass it.", _optional),
)  # fmt: skip

"""Mutants of the text of a generated Meta kernel: its parameters, its checks, its sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from opkit.model.schema import base_of
from opkit.prove.mutants.kind import META, Break, Kind, NotApplicable, Product
from opkit.prove.mutants.meta_results import function_name

# Changes the function in place and says whether there was something to change.
Edit = Callable[[ast.FunctionDef], bool]


def edited(product: Product, edit: Edit) -> Product | None:
    """Edit the Meta function; None when the edit found nothing. Raises NotApplicable for Python rules."""
    name = function_name(product)
    if not name:
        raise NotApplicable("its rule is a Python function, which opkit does not print")
    tree = ast.parse(product.meta)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    if not edit(function):
        return None
    return replace(product, meta=ast.unparse(ast.fix_missing_locations(tree)))


def _each(edits: Iterator[tuple[str, Edit]], product: Product, nothing: str) -> Iterator[tuple[str, Product]]:
    found = False
    for where, edit in edits:
        mutant = edited(product, edit)
        if mutant is not None:
            found = True
            yield where, mutant
    if not found:
        raise NotApplicable(nothing)


def _rename(function: ast.FunctionDef, old: str, new: str) -> bool:
    """Read `new` wherever the results are made from `old`."""
    done = False
    for statement in function.body:
        if isinstance(statement, ast.Expr):
            continue  # Checks stay as they are.
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == old and isinstance(node.ctx, ast.Load):
                node.id, done = new, True
    return done


def _other_source(product: Product) -> Iterator[tuple[str, Product]]:
    names = [a.name for a in product.spec.schema.arguments if a.is_tensor]
    pairs = [(old, new) for old in names for new in names if old != new]
    edits = ((f"{old} -> {new}", lambda f, o=old, n=new: _rename(f, o, n)) for old, new in pairs)
    yield from _each(edits, product, "no result is made from one of several tensors")


def _drop_parameter(function: ast.FunctionDef) -> bool:
    arguments = function.args
    if arguments.kwonlyargs:
        arguments.kwonlyargs.pop()
        arguments.kw_defaults.pop()
        return True
    if not arguments.args:
        return False
    arguments.args.pop()
    if arguments.defaults:
        arguments.defaults.pop()
    return True


def _add_parameter(function: ast.FunctionDef) -> bool:
    function.args.kwonlyargs.append(ast.arg("one_more"))
    function.args.kw_defaults.append(None)
    return True


def _rename_keyword(function: ast.FunctionDef) -> bool:
    if not function.args.kwonlyargs:
        return False
    parameter = function.args.kwonlyargs[-1]
    _rename(function, parameter.arg, f"{parameter.arg}_")
    parameter.arg += "_"
    return True


def _drop_default(function: ast.FunctionDef) -> bool:
    arguments = function.args
    for index, value in enumerate(arguments.kw_defaults):
        if value is not None:
            arguments.kw_defaults[index] = None
            return True
    if arguments.defaults:
        arguments.defaults.pop(0)
        return True
    return False


class _Other(ast.NodeTransformer):
    """Turns a default into another of the same type."""

    done = False

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        changed: object = node.value
        if isinstance(node.value, bool):
            changed = not node.value
        elif isinstance(node.value, (int, float)):
            changed = node.value + 1
        elif isinstance(node.value, str):
            changed = f"{node.value}_"
        self.done = self.done or changed is not node.value
        return ast.Constant(changed)  # type: ignore[arg-type]


def _change_default(function: ast.FunctionDef) -> bool:
    other = _Other()
    arguments = function.args
    arguments.defaults = [other.visit(d) for d in arguments.defaults]
    arguments.kw_defaults = [None if d is None else other.visit(d) for d in arguments.kw_defaults]
    return other.done


def _drop_checks(function: ast.FunctionDef) -> bool:
    kept = [s for s in function.body if not ast.unparse(s).startswith("torch._check(")]
    done = len(kept) < len(function.body)
    function.body = kept or [ast.Pass()]
    return done


class _Constants(ast.NodeTransformer):
    """Replaces the n-th number of the body by the next larger one."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.count = wanted, 0

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            self.count += 1
            if self.count == self.wanted + 1:
                return ast.Constant(node.value + 1)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # The message of a check.


def _number(wanted: int) -> Edit:
    def edit(function: ast.FunctionDef) -> bool:
        changer = _Constants(wanted)
        function.body = [changer.visit(s) for s in function.body]
        return changer.count > wanted

    return edit


_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip


def _operator(wanted: int) -> Edit:
    def edit(function: ast.FunctionDef) -> bool:
        nodes = [n for s in function.body for n in ast.walk(s) if isinstance(n, ast.BinOp)]
        nodes = [n for n in nodes if type(n.op) in _OPERATORS]
        if wanted >= len(nodes):
            return False
        nodes[wanted].op = _OPERATORS[type(nodes[wanted].op)]()
        return True

    return edit


def _condition(wanted: int) -> Edit:
    def edit(function: ast.FunctionDef) -> bool:
        nodes = [n for s in function.body for n in ast.walk(s) if isinstance(n, (ast.IfExp, ast.If))]
        if wanted >= len(nodes):
            return False
        nodes[wanted].test = ast.UnaryOp(ast.Not(), nodes[wanted].test)
        return True

    return edit


def _one(where: str, edit: Edit, nothing: str) -> Break:
    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        yield from _each(iter([(where, edit)]), product, nothing)

    return apply


def _several(what: str, edit: Callable[[int], Edit], nothing: str, most: int = 6) -> Break:
    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        yield from _each(((f"{what} {i + 1}", edit(i)) for i in range(most)), product, nothing)

    return apply


def _missing(product: Product) -> Iterator[tuple[str, Product]]:
    """Define the operator without its Meta kernel."""
    tree = ast.parse(product.meta)
    name = function_name(product)
    if not product.spec.schema.returns:
        raise NotApplicable("it returns nothing, so functionalization needs no Meta kernel")
    if not name:
        raise NotApplicable("its rule is a Python function, which opkit does not print")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if product.style == "custom-op":
                node.decorator_list = []
            else:
                registration = next(d for d in node.decorator_list if isinstance(d, ast.Call))
                registration.func = ast.Name("_define_alone")
    text = ast.unparse(ast.fix_missing_locations(tree))
    alone = (
        "def _define_alone(schema, tags=(), fake=False):\n"
        "    define(schema, tags)\n    return lambda function: function\n"
    )
    future = "from __future__ import annotations\n"
    yield "registration", replace(product, meta=text.replace(future, f"{future}\n{alone}\n", 1))


def _late(product: Product) -> Iterator[tuple[str, Product]]:
    """Compile a model with the operator before its Meta kernel is there."""
    if not product.spec.schema.returns or product.style == "custom-op" or not function_name(product):
        raise NotApplicable("its operator and its Meta kernel are registered by one statement")
    if any(base_of(a.type).name not in ("Tensor", "int", "float", "bool") for a in _required(product)):
        raise NotApplicable("no call of it can be made up")
    values = [_literal(str(a.type)) for a in _required(product)]
    tree = ast.parse(product.meta)
    name = function_name(product)
    position = next(i for i, n in enumerate(tree.body) if isinstance(n, ast.FunctionDef) and n.name == name)
    function = tree.body[position]
    assert isinstance(function, ast.FunctionDef)
    registration = next(d for d in function.decorator_list if isinstance(d, ast.Call))
    schema = ast.unparse(registration.args[0])
    python = product.spec.schema.name.python
    code = (
        f"define({schema})\n"
        f"try:\n    torch.compile(lambda: torch.ops.{python}({', '.join(values)}), backend='eager')()\n"
        "except Exception:\n    pass\n"
    )
    tree.body[position:position] = ast.parse(code).body
    yield "registration", replace(product, meta=ast.unparse(ast.fix_missing_locations(tree)))


def _required(product: Product) -> list:  # type: ignore[type-arg]
    return [a for a in product.spec.schema.arguments if a.default is None and not a.kwarg_only]


def _literal(type_: str) -> str:
    if type_.endswith("?"):
        return "None"
    value = "torch.ones(2, 3)" if "Tensor" in type_ else "False" if type_.startswith("bool") else "1"
    return f"[{value}]" if "[" in type_ else value


def _kind(name: str, breaks: str, matters: str, apply: Break, by_results: bool = True) -> Kind:
    return Kind(f"meta-{name}", META, breaks, matters, apply, by_results=by_results)


KINDS = (
    _kind("missing", "No Meta kernel is registered.",
          "Fake tensors cannot run the operator: the graph breaks there.", _missing),
    _kind("late", "The Meta kernel is registered after a model with the operator was compiled.",
          "Dynamo keeps the graph break that it compiled before.", _late, by_results=False),
    _kind("other-source", "Sizes and dtypes are taken from another tensor.",
          "Right while both tensors look alike, as they do in most tests.", _other_source),
    _kind("parameter-missing", "The kernel's last parameter is missing.",
          "Calls that pass it fail in the middle of the compile.",
          _one("signature", _drop_parameter, "it has no parameters")),
    _kind("parameter-added", "The kernel wants a parameter that the schema has not.",
          "Every call fails in the middle of the compile.", _one("signature", _add_parameter, "")),
    _kind("keyword-renamed", "A keyword-only parameter has another name.",
          "Calls that pass it fail; those that leave it out work.",
          _one("signature", _rename_keyword, "it has no keyword-only parameter")),
    _kind("default-missing", "A parameter has no default although the schema has one.",
          "The dispatcher drops arguments that equal their default: the call fails.",
          _one("signature", _drop_default, "no argument has a default")),
    _kind("default-changed", "A parameter has another default than the schema.",
          "The graph is traced with another value than the kernel uses.",
          _one("signature", _change_default, "no argument has a default that could be another")),
    _kind("check-missing", "The requirements of the rule are not checked.",
          "Wrong calls enter the graph and fail on the device, far from their cause.",
          _one("body", _drop_checks, "its rule has no requirements")),
    _kind("other-number", "A number in the body is larger by one: a dim, a factor, an index.",
          "The rule describes another operator.",
          _several("number", _number, "there is no number in its rule")),
    _kind("other-operator", "A sum is a difference, a quotient a product.",
          "The rule describes another operator.",
          _several("operation", _operator, "its rule does no arithmetic")),
    _kind("condition-inverted", "A condition in the body is the opposite.",
          "Optional results and sizes appear exactly where they should not.",
          _several("condition", _condition, "its rule has no condition")),
)  # fmt: skip

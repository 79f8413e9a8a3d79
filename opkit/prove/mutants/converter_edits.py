"""Edits of a generated converter: the node it builds, what feeds it, and what it returns."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from opkit.prove.mutants.kind import Break, NotApplicable, Product


@dataclass
class Parts:
    """The pieces of one converter; changing them changes its module."""

    module: ast.Module
    function: ast.FunctionDef
    # The call of ge.custom_op.
    node: ast.Call

    def _keyword(self, name: str) -> ast.expr:
        return next(k.value for k in self.node.keywords if k.arg == name)

    @property
    def inputs(self) -> ast.Dict:
        """`inputs=`: IR input -> what feeds it."""
        found = self._keyword("inputs")
        assert isinstance(found, ast.Dict)
        return found

    @property
    def outputs(self) -> ast.List:
        """`outputs=`: the names of the IR outputs."""
        found = self._keyword("outputs")
        assert isinstance(found, ast.List)
        return found

    @property
    def attributes(self) -> list[tuple[ast.expr, ast.expr]]:
        """The (name, ge.attr call) of every attribute, those set under a condition included."""
        found: list[tuple[ast.expr, ast.expr]] = []
        for n in ast.walk(self.function):
            if isinstance(n, ast.Dict) and n is not self.inputs:
                found += [(k, v) for k, v in zip(n.keys, n.values) if k is not None and _is_attribute(v)]
            elif (
                isinstance(n, ast.Assign)
                and _is_attribute(n.value)
                and isinstance(n.targets[0], ast.Subscript)
            ):
                found.append((n.targets[0].slice, n.value))
        return found

    @property
    def returned(self) -> ast.Return | None:
        """The return statement; None where the operator has no results of its own."""
        return next((n for n in ast.walk(self.function) if isinstance(n, ast.Return)), None)


def _other_name(name: object) -> str:
    return f"{name}_other"


def _is_attribute(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).startswith("ge.attr.")


def _parse(product: Product) -> Parts:
    if not product.converter:
        raise NotApplicable("opkit generates no converter for it")
    module = ast.parse(product.converter)
    for function in module.body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("convert_"):
            for n in ast.walk(function):
                if isinstance(n, ast.Call) and ast.unparse(n.func) == "ge.custom_op":
                    return Parts(module, function, n)
    raise NotApplicable("its converter is written by hand")


# Changes the converter; returns False where there is nothing to change.
Edit = Callable[[Parts], bool]


def _edited(product: Product, edit: Edit) -> Product | None:
    parts = _parse(product)
    if not edit(parts):
        return None
    return replace(product, converter=ast.unparse(ast.fix_missing_locations(parts.module)))


def places_of(places: Callable[[Parts], list[tuple[str, Edit]]], nothing: str) -> Break:
    """Make one mutant per place; an edit counts the same places in a converter parsed anew."""

    def apply(product: Product) -> Iterator[tuple[str, Product]]:
        found = False
        for where, edit in places(_parse(product)):
            mutant = _edited(product, edit)
            if mutant is not None:
                found = True
                yield where, mutant
        if not found:
            raise NotApplicable(nothing)

    return apply


def each_input(change: Callable[[ast.expr], str | None], nothing: str = "its node has no inputs") -> Break:
    """Replace what feeds each input in turn by another expression, or drop the input (None)."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            text = change(parts.inputs.values[index])
            if text is None:
                del parts.inputs.keys[index], parts.inputs.values[index]
            elif text == ast.unparse(parts.inputs.values[index]):
                return False
            else:
                parts.inputs.values[index] = ast.parse(text, mode="eval").body
            return True

        return apply

    def places(parts: Parts) -> list[tuple[str, Edit]]:
        return [(ast.unparse(k or ast.Constant("")), edit(i)) for i, k in enumerate(parts.inputs.keys)]

    return places_of(places, nothing)


def swap_inputs(distance: int) -> Break:
    """Exchange what feeds neighbouring inputs, or repeat it where the distance is 0."""

    def edit(i: int) -> Edit:
        def apply(parts: Parts) -> bool:
            values = parts.inputs.values
            values[i], values[i + 1] = values[i + 1], values[i]
            return True

        def repeat(parts: Parts) -> bool:
            parts.inputs.values[i + 1] = copy.deepcopy(parts.inputs.values[i])
            return True

        return apply if distance else repeat

    def places(parts: Parts) -> list[tuple[str, Edit]]:
        keys = [ast.unparse(k) for k in parts.inputs.keys if k is not None]
        return [(f"{one}, {two}", edit(i)) for i, (one, two) in enumerate(zip(keys, keys[1:]))]

    return places_of(places, "its node has fewer than two inputs")


def rename_input(parts: Parts) -> list[tuple[str, Edit]]:
    """Give each input in turn another name."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            key = parts.inputs.keys[index]
            assert isinstance(key, ast.Constant)
            parts.inputs.keys[index] = ast.Constant(_other_name(key.value))
            return True

        return apply

    return [(ast.unparse(k or ast.Constant("")), edit(i)) for i, k in enumerate(parts.inputs.keys)]


def list_of(change: str) -> Break:
    """Change each list of tensors."""

    def places(parts: Parts) -> list[tuple[str, Edit]]:
        lists = {
            a.arg
            for a in (*parts.function.args.args, *parts.function.args.kwonlyargs)
            if a.annotation is not None and "list[ge.Tensor" in ast.unparse(a.annotation)
        }
        found: list[tuple[str, Edit]] = []
        for index, value in enumerate(parts.inputs.values):
            name = next((n.id for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in lists), None)
            if name is not None:
                found.append((name, _set_input(index, change.replace("LIST", ast.unparse(value)))))
        return found

    return places_of(places, "it takes no list of tensors")


def _set_input(index: int, text: str) -> Edit:
    def apply(parts: Parts) -> bool:
        parts.inputs.values[index] = ast.parse(text, mode="eval").body
        return True

    return apply


def each_attribute(change: Callable[[str, str], str | None]) -> Break:
    """Replace the value (class, expression) of each attribute in turn; None renames the attribute."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            key, call = parts.attributes[index]
            assert isinstance(call, ast.Call)
            assert isinstance(call.func, ast.Attribute)
            text = change(call.func.attr, ast.unparse(call.args[0]))
            if text is None:
                assert isinstance(key, ast.Constant)
                key.value = _other_name(key.value)
                return True
            if text == ast.unparse(call):
                return False
            new = ast.parse(text, mode="eval").body
            assert isinstance(new, ast.Call)
            call.func, call.args = new.func, new.args
            return True

        return apply

    def places(parts: Parts) -> list[tuple[str, Edit]]:
        return [(ast.unparse(key), edit(i)) for i, (key, _) in enumerate(parts.attributes)]

    return places_of(places, "its node has no attribute that can be changed so")


def drop_attribute(parts: Parts) -> list[tuple[str, Edit]]:
    """Leave out each attribute in turn."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            key, call = parts.attributes[index]
            for n in ast.walk(parts.function):
                if isinstance(n, ast.Dict) and key in n.keys:
                    position = n.keys.index(key)
                    del n.keys[position], n.values[position]
                    return True
                if isinstance(n, ast.If) and any(
                    isinstance(s, ast.Assign) and s.value is call for s in n.body
                ):
                    n.body = [ast.Pass()]
                    return True
            return False

        return apply

    return [(ast.unparse(key), edit(i)) for i, (key, _) in enumerate(parts.attributes)]


def swap_attributes(parts: Parts) -> list[tuple[str, Edit]]:
    """Exchange the values of two attributes of one class."""

    def edit(one: int, two: int) -> Edit:
        def apply(parts: Parts) -> bool:
            a, b = parts.attributes[one][1], parts.attributes[two][1]
            assert isinstance(a, ast.Call)
            assert isinstance(b, ast.Call)
            a.args, b.args = b.args, a.args
            return True

        return apply

    classes = [ast.unparse(v.func) for _, v in parts.attributes if isinstance(v, ast.Call)]
    names = [ast.unparse(k) for k, _ in parts.attributes]
    pairs = [(i, j) for j in range(len(classes)) for i in range(j) if classes[i] == classes[j]]
    return [(f"{names[i]}, {names[j]}", edit(i, j)) for i, j in pairs]


def first_value(product: Product) -> Iterator[tuple[str, Product]]:
    """Write the value of the first case, whatever the call gives."""
    found = False
    for case in product.spec.cases[:1]:
        given = dict(case.inputs)
        names = [ast.unparse(key) for key, _ in _parse(product).attributes]
        for name, break_ in zip(names, _constants(given)):
            mutants = list(_quietly(break_, product))
            for where, mutant in mutants:
                if where == name:
                    found = True
                    yield where, mutant
    if not found:
        raise NotApplicable("no case gives a number, flag or text for an attribute")


def _constants(given: dict) -> Iterator[Break]:  # type: ignore[type-arg]
    def change(class_: str, value: str) -> str:
        names = {n.id for n in ast.walk(ast.parse(value, mode="eval")) if isinstance(n, ast.Name)}
        known = [given[n] for n in names if isinstance(given.get(n), (bool, int, float, str))]
        return f"ge.attr.{class_}({known[0]!r})" if known else f"ge.attr.{class_}({value})"

    while True:
        yield each_attribute(change)


def _quietly(break_: Break, product: Product) -> Iterator[tuple[str, Product]]:
    try:
        yield from break_(product)
    except NotApplicable:
        return


def each_output(change: Callable[[list[ast.expr], int], None], nothing: str, least: int = 1) -> Break:
    """Change the list of outputs at each place."""

    def edit(index: int) -> Edit:
        def apply(parts: Parts) -> bool:
            change(parts.outputs.elts, index)
            return True

        return apply

    def places(parts: Parts) -> list[tuple[str, Edit]]:
        names = [ast.unparse(e) for e in parts.outputs.elts]
        return [(name, edit(i)) for i, name in enumerate(names)] if len(names) >= least else []

    return places_of(places, nothing)


def rename_output(elements: list[ast.expr], index: int) -> None:
    """Give an output another name."""
    for n in ast.walk(elements[index]):
        if isinstance(n, ast.Constant):
            n.value = _other_name(n.value)


def drop_output(elements: list[ast.expr], index: int) -> None:
    """Leave out an output."""
    del elements[index]


def exchange_outputs(elements: list[ast.expr], index: int) -> None:
    """Exchange an output with the next one."""
    other = (index + 1) % len(elements)
    elements[index], elements[other] = elements[other], elements[index]


def add_output(elements: list[ast.expr], index: int) -> None:
    """Insert one more output."""
    elements.insert(index, ast.Constant("one_more"))


def returning(text: str, nothing: str = "it has no result of its own") -> Break:
    """Return something else; RESULT stands for what is returned, FIRST for the first parameter."""

    def edit(parts: Parts) -> bool:
        returned = parts.returned
        if returned is None or returned.value is None:
            return False
        arguments = parts.function.args.args
        if not arguments and "FIRST" in text:
            return False
        first = arguments[0].arg if arguments else ""
        source = text.replace("RESULT", f"({ast.unparse(returned.value)})").replace("FIRST", first)
        returned.value = ast.parse(source, mode="eval").body
        return True

    return places_of(lambda parts: [("result", edit)], nothing)


def other_index(parts: Parts) -> list[tuple[str, Edit]]:
    """Return another output of the node where the converter picks one."""

    def edit(index: int, wanted: int) -> Edit:
        def apply(parts: Parts) -> bool:
            picks = _picks(parts)
            picks[index].slice = ast.Constant(wanted)
            return True

        return apply

    def _picks(parts: Parts) -> list[ast.Subscript]:
        value = parts.returned.value if parts.returned else None
        nodes = ast.walk(value) if value is not None else iter(())
        return [n for n in nodes if isinstance(n, ast.Subscript) and ast.unparse(n.value) == "outputs"]

    count = len(parts.outputs.elts)
    found = []
    for i, pick in enumerate(_picks(parts)):
        assert isinstance(pick.slice, ast.Constant)
        others = [n for n in range(count) if n != pick.slice.value]
        found += [(f"outputs[{pick.slice.value!r}] -> outputs[{n}]", edit(i, n)) for n in others]
    return found


def node_twice(parts: Parts) -> bool:
    """Build the node a second time."""
    parts.function.body.insert(-1 if parts.returned in parts.function.body else len(parts.function.body),
                               ast.Expr(copy.deepcopy(parts.node)))  # fmt: skip
    return True

"""opkit's keys `meta:`, `ge:` and the entry points `reference:`, `kernel:`, `python:`, `converter:`."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from pathlib import Path

import yaml

from opkit.model.expression import Expression
from opkit.model.operator import EntryPoint, GeMapping, MetaRule, OutputRule, Requirement
from opkit.model.prototype import IrPrototype
from opkit.model.schema import OperatorSchema, base_of, is_tensor_list
from opkit.read.document import Document, describe, is_null
from opkit.read.expression import parse_expression_source
from opkit.read.gen_opapi import result_key_help
from opkit.read.prototype import read_prototype
from opkit.read.scope import Scope, check_helpers, check_names, check_size_items
from opkit.shape.errors import nearest

ENTRY_POINT = "OPK040"
META = "OPK041"
GE = "OPK042"

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_META_KEYS = ("let", "require", "python")
_RESULT_KEYS = ("size", "dtype", "alias", "when", "value")
_NAME_OR_ATTRIBUTE = re.compile(r"(\w+)(\.[A-Za-z_]\w*)*")
_ITEM = re.compile(r"(\w+)\[\d+\]")


def read_entry_point(document: Document, node: yaml.Node, key: str) -> EntryPoint | None:
    """Read `pkg.module:function` or `path/file.py:function`."""
    text = document.string(node, f"`{key}`")
    if text is None or not isinstance(node, yaml.ScalarNode):
        return None
    module, colon, function = text.strip().rpartition(":")
    mark = document.source(node).mark()
    help = "write pkg.module:function, or file.py:function relative to this file"
    if not colon or not _IDENTIFIER.fullmatch(function):
        document.report(ENTRY_POINT, f"`{key}: {text}` names no function", mark, help)
        return None
    if not module.endswith(".py") and not _MODULE.fullmatch(module):
        document.report(ENTRY_POINT, f"`{module}` is no module and no .py file", mark, help)
        return None
    return EntryPoint(module, function, mark)


def read_meta(
    document: Document, node: yaml.Node, schema: OperatorSchema | None, has_gen_opapi: bool = False
) -> MetaRule | None:
    """Read the `meta` rule; None if it is not a mapping. Beside `gen_opapi` it may hold checks only."""
    items = document.items(node, "`meta`")
    if items is None:
        return None
    scope = Scope(schema)
    mark = document.mark(node)
    _mend_slips(document, items)
    python = read_entry_point(document, items["python"][1], "python") if "python" in items else None
    if "python" in items and len(items) > 1:
        other = next(name for name in items if name != "python")
        help = "keep one: the function makes every result itself"
        document.report(
            META, f"`python` and `{other}` exclude each other", document.mark(items[other][0]), help
        )
    if "let" in items:
        for name, (key, value) in (document.items(items["let"][1], "`let`") or {}).items():
            _check_binding(document, name, key, scope)
            expression = _expression(document, value, f"`{name}`", scope)
            if expression is not None:
                scope.bindings[name] = expression
            else:
                scope.broken.add(name)
    let = tuple(scope.bindings.items())
    require = _requirements(document, items["require"][1], scope) if "require" in items else ()
    results = [name for name in items if name not in _META_KEYS]
    outputs = [
        _output(document, name, *items[name], scope, results[:index]) for index, name in enumerate(results)
    ]
    found = tuple(output for output in outputs if output is not None)
    if schema is not None and "python" not in items and (outputs or not has_gen_opapi):
        _check_count(document, schema, len(outputs), node)
    return MetaRule(let, require, found, python, mark)


def _mend_slips(document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Report `lett: {n: ...}`, which looks like a result's rule, and go on as if it were spelled well."""
    for name, (key, value) in list(items.items()):
        close = "" if name in _META_KEYS or "let" in items else nearest(name, ("let",))
        # Only `let` is a mapping; the other keys that are none of a result are told apart by that.
        if not close or not isinstance(value, yaml.MappingNode):
            continue
        if not any(k.value in _RESULT_KEYS for k, _ in value.value):
            document.report(META, f"`{name}` has neither size nor dtype", document.mark(key), close)
            items["let"] = items.pop(name)


def _check_binding(document: Document, name: str, key: yaml.Node, scope: Scope) -> None:
    if not _IDENTIFIER.fullmatch(name):
        document.report(
            META, f"`{name}` is no name", document.mark(key), "put an expression with commas in quotes"
        )
    elif scope.schema is not None and scope.schema.argument(name) is not None:
        document.report(META, f"`{name}` is an argument already", document.mark(key), "choose another name")


def _check_count(document: Document, schema: OperatorSchema, count: int, node: yaml.Node) -> None:
    if count and len(schema.returns) == 1 and is_tensor_list(schema.returns[0].type):
        # One rule per item of the list.
        return
    fresh = sum(1 for r in schema.returns if r.alias is None)
    if count in (fresh, len(schema.returns)):
        return
    help = "give one {size, dtype} per result, in the schema's order"
    if fresh != len(schema.returns):
        help += "; results that are an argument (Tensor(a!)) need none"
    results = f"{fresh} result{'s' * (fresh != 1)}"
    document.report(META, f"{schema.name} has {results}, `meta` describes {count}", document.mark(node), help)


def _requirements(document: Document, node: yaml.Node, scope: Scope) -> tuple[Requirement, ...]:
    if not isinstance(node, yaml.SequenceNode):
        help = 'write a list of [condition, "message"]'
        document.report(META, f"`require` is a list, found {describe(node)}", document.mark(node), help)
        return ()
    items = node.value
    if len(items) == 2 and all(isinstance(item, yaml.ScalarNode) for item in items):
        # One requirement written without the outer list.
        items = [node]
    requirements = []
    for item in items:
        parts = item.value if isinstance(item, yaml.SequenceNode) else [item]
        if len(parts) > 2:
            help = 'write [condition, "message"], each in quotes if it contains a comma'
            document.report(
                META, f"a requirement has two parts, found {len(parts)}", document.mark(item), help
            )
            continue
        condition = _expression(document, parts[0], "a condition", scope)
        message = document.string(parts[1], "a requirement's message") if len(parts) == 2 else ""
        if condition is None or message is None:
            continue
        if len(parts) == 2:
            _check_message(document, parts[1], message, scope)
        else:
            message = document.raw_source(parts[0]).text + " does not hold"
        requirements.append(Requirement(condition, message, document.mark(item)))
    return tuple(requirements)


def _check_message(document: Document, node: yaml.ScalarNode, message: str, scope: Scope) -> None:
    """Check what stands in braces: names of arguments and bindings, with attributes at most."""
    if scope.schema is None:
        return
    source, escape = document.source(node), "write a literal brace as {{"
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(message) if field is not None]
    except ValueError as error:
        document.report(
            META, f"the message has a bad brace: {error}", source.mark(), "write a literal brace as {{"
        )
        return
    for field in fields:
        start = message.index("{" + field) + 1
        mark = source.mark(start, start + len(field)) if field else source.mark()
        named = _NAME_OR_ATTRIBUTE.fullmatch(field)
        if named is None:
            help = (
                f"name it, let: {{n: {field}}}, and write {{n}}" if field else "write a literal brace as {{"
            )
            document.report(META, f"the message has `{{{field}}}` in it, which is no name", mark, help)
        elif named[1] not in scope.known():
            help = nearest(named[1], scope.known()) or escape
            reason = f"the message names `{named[1]}`, which is no argument or binding"
            document.report(META, reason, mark, help)


def _output(
    document: Document, name: str, key: yaml.Node, value: yaml.Node, scope: Scope, earlier: list[str]
) -> OutputRule | None:
    what = f"`{name}`"
    if not isinstance(value, yaml.MappingNode):
        help = nearest(name, _META_KEYS) or "write {size: ..., dtype: ...}"
        document.report(META, f"{what} is a result's rule, found {describe(value)}", document.mark(key), help)
        return None
    items = document.items(value, what) or {}
    found: dict[str, Expression | None] = dict.fromkeys(_RESULT_KEYS)
    alias = None
    for part, (part_key, part_value) in items.items():
        if part not in _RESULT_KEYS:
            help = result_key_help(part, _RESULT_KEYS) or "put an expression with commas in quotes"
            document.report(META, f"{what} has no key `{part}`", document.mark(part_key), help)
        elif part == "alias":
            alias = _alias(document, part_value, what, scope, earlier)
        else:
            found[part] = expression = _expression(document, part_value, f"`{part}`", scope)
            if part == "size" and expression is not None:
                check_size_items(document, expression, scope.schema)
    if "value" in items:
        for part in [part for part in items if part in _RESULT_KEYS and part != "value"]:
            help = "`value` is for a result that is no tensor, such as an int"
            document.report(META, f"{what} has a value and a {part}", document.mark(items[part][0]), help)
        return OutputRule(name, None, None, document.mark(key), value=found["value"])
    always = "alias" in items and "when" not in items
    # What is missing may be what is misspelled.
    misspelled = any(part not in _RESULT_KEYS for part in items)
    for part in ("size", "dtype"):
        if part not in items and not always and not misspelled:
            document.report(META, f"result {what} has no {part}", document.mark(key), f"add {part}: ...")
        elif part in items and always:
            help = "add `when: condition`; size and dtype are for where it does not hold"
            document.report(
                META, f"{what} is `{alias}`, and has a {part}", document.mark(items[part][0]), help
            )
    if "when" in items and "alias" not in items:
        help = "add the argument that the result is where the condition holds: alias: x"
        document.report(META, f"{what} has a `when` and no `alias`", document.mark(items["when"][0]), help)
    return OutputRule(name, found["size"], found["dtype"], document.mark(key), alias, found["when"])


def _alias(document: Document, node: yaml.Node, what: str, scope: Scope, earlier: list[str]) -> str | None:
    """Read the argument or earlier result that a result is."""
    name = document.string(node, "`alias`")
    if name is None or scope.schema is None:
        return name
    tensors = [a for a in scope.schema.arguments if base_of(a.type).name == "Tensor"]
    lists = [a.name for a in tensors if is_tensor_list(a.type)]
    single = [a.name for a in tensors if a.name not in lists]
    item = _ITEM.fullmatch(name)
    if name not in (*single, *earlier) and not (item and item[1] in lists):
        help = "name a tensor argument, an item of a list such as out[0], or a result above this one"
        help = nearest(name, [*single, *earlier]) or help
        document.report(META, f"{what} cannot be `{name}`", document.mark(node), help)
        return None
    return name


def _expression(document: Document, node: yaml.Node, what: str, scope: Scope) -> Expression | None:
    if isinstance(node, yaml.SequenceNode):
        # `size: [x.size(0), 8]` is a list to YAML and to the rule language alike.
        source = document.raw_source(node)
    elif isinstance(node, yaml.ScalarNode) and not is_null(node):
        source = document.source(node)
    else:
        help = "put it in quotes: YAML reads { } as its own" if isinstance(node, yaml.MappingNode) else ""
        document.report(META, f"{what} is an expression, found {describe(node)}", document.mark(node), help)
        return None
    expression, diagnostics = parse_expression_source(source, "python", document.operator)
    if diagnostics and not diagnostics[0].help:
        diagnostics = (replace(diagnostics[0], help=_dialect_help(source.text)),)
    document.diagnostics += diagnostics
    if expression is not None:
        check_names(document, expression, scope)
        check_helpers(document, expression, scope, is_cpp=False)
    return expression


def _dialect_help(text: str) -> str:
    """Tell what C++ in a rule is in the rule language; empty if it is none."""
    if text.lstrip().startswith("{"):
        return f"write a list: [{text.strip().strip('{}')}]"
    return "write then if condition else otherwise" if "?" in text else ""


def read_ge(document: Document, node: yaml.Node) -> GeMapping | None:
    """Read the `ge` key; None if it is not a mapping."""
    items = document.items(node, "`ge`")
    if items is None:
        return None
    known = ("ir", "prototype", "converter")
    for name, (key, _) in items.items():
        if name not in known:
            document.report(GE, f"`ge` has no key `{name}`", document.mark(key), nearest(name, known))
    ir = document.string(items["ir"][1], "`ir`") if "ir" in items else None
    if ir is not None and not _IDENTIFIER.fullmatch(ir):
        document.report(GE, f"`{ir}` is no Ascend IR type", document.mark(items["ir"][1]), "e.g. MyOp")
    prototype = document.string(items["prototype"][1], "`prototype`") if "prototype" in items else None
    converter = (
        read_entry_point(document, items["converter"][1], "converter") if "converter" in items else None
    )
    prototypes: tuple[IrPrototype, ...] = ()
    if prototype is not None:
        place = document.mark(items["prototype"][1])
        prototypes, diagnostics = read_prototype(Path(document.path).parent / prototype, place)
        document.diagnostics += [replace(d, operator=document.operator) for d in diagnostics]
    return GeMapping(ir, prototype, converter, document.mark(node), prototypes)

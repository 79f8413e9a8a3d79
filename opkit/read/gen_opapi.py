"""op-plugin's `gen_opapi:` key. What its generator (torchnpugen/struct) refuses is refused here."""

from __future__ import annotations

import re
from dataclasses import replace

import yaml

from opkit.model.expression import Expression
from opkit.model.operator import GenOpApi, OutputRule
from opkit.model.schema import OperatorSchema, is_tensor_like
from opkit.read.document import Document, describe, is_null, plain
from opkit.read.expression import parse_expression_source
from opkit.read.scope import Scope, check_bare_size, check_helpers, check_names
from opkit.read.source import SourceText
from opkit.shape.errors import UNKNOWN_NAME, nearest

STRUCTURE = "OPK030"
EXEC = "OPK031"
RESULTS = "OPK032"

_RESULT_KEYS = ("size", "dtype", "name")
_KEYS = (
    "exec",
    "new_params",
    "structured_inherit",
    "cpu_scalar_h2d",
    "cpu_scalar_op",
    "integral_identity_tensor",
)
# Members of a tensor in Python that C++ spells otherwise.
_CPP_MEMBERS = {"shape": ".sizes()", "dtype": ".scalar_type()", "ndim": ".dim()"}
_PYTHON_MEMBER = r"\.(shape|dtype|ndim)\b(?!\s*\()"
_CPP_DTYPES = {
    "float16": "at::kHalf",
    "float32": "at::kFloat",
    "float64": "at::kDouble",
    "bfloat16": "at::kBFloat16",
    "int8": "at::kChar",
    "int16": "at::kShort",
    "int32": "at::kInt",
    "int64": "at::kLong",
    "uint8": "at::kByte",
}
_PYTHON_DTYPE = rf"(?<![\w.:\"'])(?:torch\.)?({'|'.join(_CPP_DTYPES)})(?![\w(])"
# Whether it is worth looking for one of these at all.
_PYTHON = re.compile(r"\.(?:shape|dtype|ndim)|(?:float|int)\d")
_ACLNN = re.compile(r"aclnn[A-Z]\w*")


def read_gen_opapi(
    document: Document,
    node: yaml.Node,
    schema: OperatorSchema | None,
    structured: bool,
    makes_meta: bool,
    has_meta: bool = False,
) -> GenOpApi | None:
    """Read the key; None if it is not a mapping.

    `makes_meta` tells whether the Meta kernel comes from it, `has_meta` whether it comes from `meta`.
    """
    items = document.items(node, "`gen_opapi`")
    if items is None:
        return None
    scope = Scope(schema, helpers_matter=makes_meta, has_meta=has_meta)
    new_params = _new_params(document, items, scope)
    outputs = []
    for name, (key, value) in items.items():
        if name not in _KEYS:
            output = _output(document, name, key, value, scope)
            if output is not None:
                outputs.append(output)
    executed = _exec(document, items, schema, [o.name for o in outputs], [*new_params, *scope.broken])
    inherit = items.get("structured_inherit")
    inherited = document.string(inherit[1], "`structured_inherit`") if inherit else None
    mark = document.mark(node)
    if "exec" not in items and inherited is None:
        document.report(EXEC, "`gen_opapi` names no kernel", mark, "add exec: aclnnName")
    if inherited is not None:
        _check_ignored(document, items)
    if schema is not None:
        _check_scalar_keys(document, items, schema)
        other = next((key for name, (key, _) in items.items() if name not in ("exec", "new_params")), None)
        if structured and other is not None:
            text = "a `structured` operator takes its outputs from torch"
            document.report(STRUCTURE, text, document.mark(other), "keep exec and new_params only")
        elif inherited is None and not structured:
            _check_results(document, schema, outputs, node)
    return GenOpApi(tuple(outputs), executed, tuple(new_params.items()), inherited, mark)


def _new_params(
    document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]], scope: Scope
) -> dict[str, Expression]:
    """Read the local variables; later ones may use earlier ones."""
    if "new_params" not in items:
        return {}
    params = document.items(items["new_params"][1], "`new_params`") or {}
    for name, (_, value) in params.items():
        expression = _expression(document, value, f"`{name}`")
        if expression is not None:
            check_names(document, expression, scope)
            scope.bindings[name] = expression
        else:
            scope.broken.add(name)
    return scope.bindings


def _expression(document: Document, node: yaml.Node, what: str) -> Expression | None:
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        help = ""
        if not isinstance(node, yaml.ScalarNode):
            line = document.raw_source(node).text.splitlines()[0]
            help = f"YAML reads {{ }} and [ ] as its own; put the expression in quotes: '{line}'"
        document.report(
            STRUCTURE, f"{what} is an expression, found {describe(node)}", document.mark(node), help
        )
        return None
    source = document.source(node)
    expression, diagnostics = parse_expression_source(source, "cpp", document.operator)
    if diagnostics and " if " in source.text:
        diagnostics = (replace(diagnostics[0], help="this is C++: write condition ? then : otherwise"),)
    document.diagnostics += diagnostics
    if _PYTHON.search(source.text):
        _check_python(document, source)
    return expression


def _check_python(document: Document, source: SourceText) -> None:
    """Report what only Python calls so."""
    for name in re.finditer(_PYTHON_DTYPE, source.text):
        mark = source.mark(name.start(), name.end())
        help = f"this is C++: write {_CPP_DTYPES[name[1]]}"
        document.report(UNKNOWN_NAME, f"`{name[0]}` is no C++", mark, help)
    for member in re.finditer(_PYTHON_MEMBER, source.text):
        mark = source.mark(member.start(), member.end())
        help = f"this is C++: write {_CPP_MEMBERS[member[1]]}, or the tensor alone"
        document.report(UNKNOWN_NAME, f"a tensor has no member `{member[1]}` in C++", mark, help)


def _output(
    document: Document, name: str, key: yaml.Node, value: yaml.Node, scope: Scope
) -> OutputRule | None:
    what = f"`{name}`"
    if not isinstance(value, yaml.MappingNode):
        help = nearest(name, _KEYS) or "write {size: ..., dtype: ...}"
        document.report(
            STRUCTURE, f"{what} is a result's rule, found {describe(value)}", document.mark(key), help
        )
        return None
    items = document.items(value, what) or {}
    is_rule = any(part in _RESULT_KEYS for part in items)
    if not is_rule and (close := nearest(name, ("new_params",))):
        document.report(STRUCTURE, f"{what} has neither size nor dtype", document.mark(key), close)
        return None
    found: dict[str, Expression | None] = {"size": None, "dtype": None}
    for part, (part_key, part_value) in items.items():
        if part not in _RESULT_KEYS:
            help = (
                result_key_help(part, _RESULT_KEYS)
                or "a result has size, dtype and name; put an expression with commas in quotes"
            )
            document.report(STRUCTURE, f"{what} has no key `{part}`", document.mark(part_key), help)
        elif part != "name":
            expression = _expression(document, part_value, f"`{part}`")
            if expression is None:
                continue
            found[part] = expression
            check_names(document, expression, scope)
            check_helpers(document, expression, scope, is_cpp=True)
            if part == "size":
                check_bare_size(document, expression, scope.schema)
    return OutputRule(name, found["size"], found["dtype"], document.mark(key))


def _exec(
    document: Document,
    items: dict[str, tuple[yaml.Node, yaml.Node]],
    schema: OperatorSchema | None,
    results: list[str],
    new_params: list[str],
) -> tuple[str, ...]:
    if "exec" not in items:
        return ()
    node = items["exec"][1]
    text = document.string(node, "`exec`")
    if text is None or not isinstance(node, yaml.ScalarNode):
        return ()
    source = document.source(node)
    if "(" in text:
        written = text.replace("(", ", ").replace(")", "").strip(", ;")
        document.report(EXEC, "`exec` is a list, not a call", source.mark(), f"write exec: {written}")
        return ()
    parts = [part.strip() for part in text.split(",")]
    if not _ACLNN.fullmatch(parts[0]):
        help = "the first word is the aclnn function, e.g. aclnnMyOp"
        document.report(EXEC, f"`{parts[0]}` is no aclnn name", source.mark(0, len(parts[0])), help)
    if schema is not None:
        known = [*(a.name for a in schema.arguments), *results, *new_params]
        offset = len(text.partition(",")[0]) + 1
        for part, written in zip(parts[1:], text.split(",")[1:]):
            start = offset + len(written) - len(written.lstrip())
            offset += len(written) + 1
            if part not in known:
                mark = source.mark(start, start + max(len(part), 1))
                help = (
                    nearest(part, known)
                    or "only arguments, results and new_params; name a constant in new_params"
                )
                document.report(EXEC, f"`{part}` is no argument, result or new_param", mark, help)
    return tuple(parts)


def result_key_help(key: str, known: tuple[str, ...]) -> str:
    """Make the help for a key that a result's rule does not have; empty if nothing is like it."""
    meant = {"shape": "size", "sizes": "size", "type": "dtype"}.get(key)
    return f"write {meant}" if meant else nearest(key, known)


def _check_ignored(document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Warn about keys beside `structured_inherit`: op-plugin takes all from the other operator."""
    for name, (key, _) in items.items():
        if name != "structured_inherit":
            text = f"`{name}` is ignored beside `structured_inherit`"
            document.warn(STRUCTURE, text, document.mark(key), "remove one of them")
            return


def _check_scalar_keys(
    document: Document, items: dict[str, tuple[yaml.Node, yaml.Node]], schema: OperatorSchema
) -> None:
    """Check that the keys for scalars on the CPU name arguments."""
    for key in ("cpu_scalar_h2d", "integral_identity_tensor"):
        if key not in items:
            continue
        node = items[key][1]
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            name = str(plain(item))
            if schema.argument(name) is None:
                help = nearest(name, [a.name for a in schema.arguments])
                document.report(
                    EXEC, f"`{key}` names `{name}`, which is no argument", document.mark(item), help
                )
    if "cpu_scalar_op" not in items:
        return
    rules = items["cpu_scalar_op"][1]
    for rule in rules.value if isinstance(rules, yaml.SequenceNode) else [rules]:
        parts = document.items(rule, "an item of `cpu_scalar_op`") or {}
        param = parts["param"][1] if "param" in parts else None
        if param is not None and schema.argument(str(plain(param))) is None:
            text = f"`cpu_scalar_op` names `{plain(param)}`, which is no argument"
            help = nearest(str(plain(param)), [a.name for a in schema.arguments])
            document.report(EXEC, text, document.mark(param), help)


def _check_results(
    document: Document, schema: OperatorSchema, outputs: list[OutputRule], node: yaml.Node
) -> None:
    out = [a.name for a in schema.arguments if a.kwarg_only and a.is_mutated]
    if out:
        for output in outputs:
            if output.name not in out:
                help = nearest(output.name, out) or f"out arguments: {', '.join(out)}"
                document.report(
                    RESULTS, f"`{output.name}` is no out argument of {schema.name}", output.mark, help
                )
        return
    if any(r.alias is not None for r in schema.returns) or is_inplace(schema):
        # An in-place operator returns its argument; size and dtype are not used.
        return
    wanted = sum(1 for r in schema.returns if is_tensor_like(r.type))
    _check_order(document, schema, outputs)
    executed = next((value for key, value in node.value if key.value == "exec"), None)
    if (
        not wanted
        and not outputs
        and not schema.mutated
        and executed is not None
        and "," not in str(executed.value)
    ):
        text = f"{schema.name} returns no tensor, so op-plugin does not know what to give {executed.value}"
        document.report(
            EXEC, text, document.mark(executed), f"write exec: {executed.value}, and its arguments"
        )
    _check_written(document, outputs, executed)
    if len(outputs) != wanted:
        mark = outputs[wanted].mark if len(outputs) > wanted else document.mark(node)
        help = "give one {size, dtype} per Tensor result, in the schema's order"
        message = (
            f"{schema.name} returns {wanted} tensor{'s' * (wanted != 1)}, `gen_opapi` has {len(outputs)}"
        )
        document.report(RESULTS, f"{message} result{'s' * (len(outputs) != 1)}", mark, help)
    for output in outputs:
        for part, value in (("size", output.size), ("dtype", output.dtype)):
            # One that is there but could not be read, or is misspelled, has its own finding.
            if value is None and not _is_written(node, output.name, part):
                document.report(
                    RESULTS, f"result `{output.name}` has no {part}", output.mark, f"add {part}: ..."
                )


def _check_written(document: Document, outputs: list[OutputRule], executed: yaml.Node | None) -> None:
    """Warn about results that `exec` lists among no arguments: nothing writes them."""
    if executed is None or "," not in str(executed.value) or "(" in str(executed.value):
        return
    given = [part.strip() for part in str(executed.value).split(",")]
    lacking = [output.name for output in outputs if output.name not in given]
    if lacking:
        text = f"`exec` does not give the kernel `{lacking[0]}`, so nothing writes that result"
        help = f"write exec: {executed.value}, {', '.join(lacking)}"
        document.warn(EXEC, text, document.mark(executed), help)


def _check_order(document: Document, schema: OperatorSchema, outputs: list[OutputRule]) -> None:
    """Warn when results are named like the schema's and stand in another order."""
    names = [r.name for r in schema.returns]
    found = [output.name for output in outputs]
    if found != names and sorted(found) == sorted(name or "" for name in names):
        text = f"results are matched by their order: `{found[0]}` describes `{names[0]}`"
        if found[0] == names[0]:
            text = f"results are matched by their order, and it is not that of {schema.name}"
        document.warn(RESULTS, text, outputs[0].mark, f"write them in the order {', '.join(map(str, names))}")


def is_inplace(schema: OperatorSchema) -> bool:
    """op-plugin's idea of an in-place operator: the name's trailing underscore."""
    return schema.name.base.endswith("_") and not schema.name.base.endswith("__")


def _is_written(node: yaml.Node, result: str, part: str) -> bool:
    for key, value in node.value:
        if key.value == result and isinstance(value, yaml.MappingNode):
            return any(k.value == part or k.value not in _RESULT_KEYS for k, _ in value.value)
    return False

"""msOpGen's operator prototype json to IrPrototype."""

from __future__ import annotations

import json
from pathlib import Path

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.model.prototype import IrAttribute, IrPrototype, IrTensor
from opkit.shape.errors import nearest

CODE = "OPK050"

_KINDS = ("required", "optional", "dynamic")
# msOpGen's spelling of an attribute's type -> GE's.
_ATTRIBUTE_TYPES = {
    "int": "VT_INT",
    "float": "VT_FLOAT",
    "bool": "VT_BOOL",
    "string": "VT_STRING",
    "str": "VT_STRING",
    "type": "VT_DATA_TYPE",
    "data_type": "VT_DATA_TYPE",
    "dtype": "VT_DATA_TYPE",
    "tensor": "VT_TENSOR",
    "list_int": "VT_LIST_INT",
    "list_float": "VT_LIST_FLOAT",
    "list_bool": "VT_LIST_BOOL",
    "list_string": "VT_LIST_STRING",
    "list_str": "VT_LIST_STRING",
    "list_type": "VT_LIST_DATA_TYPE",
    "list_data_type": "VT_LIST_DATA_TYPE",
    "list_list_int": "VT_LIST_LIST_INT",
    "list_list_float": "VT_LIST_LIST_FLOAT",
    "listint": "VT_LIST_INT",
    "listfloat": "VT_LIST_FLOAT",
    "listbool": "VT_LIST_BOOL",
    "liststring": "VT_LIST_STRING",
    "listlistint": "VT_LIST_LIST_INT",
}


def read_prototype(
    path: str | Path, mark: Mark | None
) -> tuple[tuple[IrPrototype, ...], tuple[Diagnostic, ...]]:
    """Read an msOpGen json file, a list of operators or one of them.

    `mark` is the place that names the file: findings about the file as a whole stand there. Never raises for
    a user's mistake.
    """
    reader = _Reader(str(path), mark)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        data = json.loads(text)
    except OSError as error:
        reader.report(f"cannot read the prototype {path}: {error.strerror or error}", help="check the path")
        return (), tuple(reader.diagnostics)
    except json.JSONDecodeError as error:
        place = Mark(str(path), error.lineno, error.colno)
        reader.report(f"not valid JSON: {error.msg}", place)
        return (), tuple(reader.diagnostics)
    except (UnicodeDecodeError, RecursionError):
        reader.report(f"the prototype {path} is not JSON text", help="save the file as UTF-8")
        return (), tuple(reader.diagnostics)
    operators = data if isinstance(data, list) else [data]
    prototypes = [reader.prototype(item, number) for number, item in enumerate(operators, 1)]
    return tuple(p for p in prototypes if p is not None), tuple(reader.diagnostics)


class _Reader:
    def __init__(self, path: str, mark: Mark | None) -> None:
        self.path = path
        self.mark = mark
        self.diagnostics: list[Diagnostic] = []

    def report(self, message: str, mark: Mark | None = None, help: str = "") -> None:
        self.diagnostics.append(Diagnostic(CODE, Severity.ERROR, message, mark or self.mark, help))

    def prototype(self, item: object, number: int) -> IrPrototype | None:
        if not isinstance(item, dict) or not isinstance(item.get("op"), str) or not item["op"]:
            self.report(f"operator {number} of {self.path} has no `op` name", help='add "op": "MyOp"')
            return None
        op = item["op"]
        inputs = tuple(self.tensor(d, op, "input_desc") for d in self.descriptions(item, op, "input_desc"))
        outputs = tuple(self.tensor(d, op, "output_desc") for d in self.descriptions(item, op, "output_desc"))
        attributes = tuple(self.attribute(d, op) for d in self.descriptions(item, op, "attr"))
        for kind, names in (("input", [i.name for i in inputs]), ("output", [o.name for o in outputs])):
            for name in {n for n in names if names.count(n) > 1}:
                self.report(f"{op}: two {kind}s are named `{name}`")
        return IrPrototype(op, inputs, outputs, attributes)

    def descriptions(self, item: dict[str, object], op: str, key: str) -> list[dict[str, object]]:
        value = item.get(key) or []
        if not isinstance(value, list):
            self.report(f"{op}: `{key}` is a list")
            return []
        found = []
        for part in value:
            if isinstance(part, dict) and isinstance(part.get("name"), str) and part["name"]:
                found.append(part)
            else:
                self.report(f"{op}: an item of `{key}` has no `name`")
        return found

    def tensor(self, item: dict[str, object], op: str, key: str) -> IrTensor:
        kind = str(item.get("param_type", "required")).lower()
        if kind not in _KINDS:
            help = nearest(kind, _KINDS) or f"one of {', '.join(_KINDS)}"
            self.report(f"{op}: `{item['name']}` of `{key}` has param_type `{kind}`", help=help)
        types = item.get("type") or []
        dtypes = types if isinstance(types, list) else [types]
        return IrTensor(str(item["name"]), kind, tuple(str(t) for t in dtypes))

    def attribute(self, item: dict[str, object], op: str) -> IrAttribute:
        name, written = str(item["name"]), str(item.get("type", ""))
        type_ = written if written.startswith("VT_") else _ATTRIBUTE_TYPES.get(written.lower(), "")
        if not type_:
            help = nearest(written.lower(), _ATTRIBUTE_TYPES) or "e.g. int, float, bool, string, list_int"
            self.report(f"{op}: attribute `{name}` has type `{written}`", help=help)
        required = str(item.get("param_type", "required")).lower() == "required"
        return IrAttribute(name, type_, required, _default(item.get("default_value"), type_))


def _default(value: object, type_: str) -> object:
    """msOpGen files hold defaults as JSON values or as text."""
    if not isinstance(value, str) or type_ in ("VT_STRING", "VT_DATA_TYPE"):
        return value
    if value.strip() == "":
        return None
    try:
        return json.loads(value.strip().lower() if type_ == "VT_BOOL" else value)
    except json.JSONDecodeError:
        return value

"""opkit's `cases:` key: the inputs a proof uses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from opkit.model.diagnostic import Mark
from opkit.model.operator import Case, CaseValue, TensorSpec
from opkit.model.schema import Argument, ListType, OperatorSchema, OptionalType, Type, base_of
from opkit.read.document import Document, describe, is_null, kind, plain
from opkit.read.meta import read_entry_point
from opkit.read.types import SCALAR_TYPES
from opkit.shape.errors import nearest

CODE = "OPK043"

SHORT_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "c32": "complex32",
    "c64": "complex64",
    "c128": "complex128",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
_TENSOR = re.compile(
    r"\s*(?:(?P<place>cpu|nz)\s+)?(?:torch\.)?(?P<dtype>\w+)\s*\[(?P<dims>[^\[\]]*)\]\s*(?:=(?P<values>.*))?"
)
# What 32 bits hold; a proof makes the tensors, and their sizes are products of several dims.
LARGEST = 2**31 - 1
_VALUE = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?")
_NAME = re.compile(r"[A-Za-z_]\w*")


def dtype_name(text: str) -> str | None:
    """Give torch's name of a dtype in its short or long form; None if there is no such dtype."""
    name = text.replace("torch.", "", 1) if text.startswith("torch.") else text
    name = SHORT_DTYPES.get(name, name)
    return name if name in SCALAR_TYPES else None


@dataclass
class _CaseReader:
    document: Document
    schema: OperatorSchema
    # Dims the tensors of the case name, with the place of the first use.
    used: dict[str, Mark] = field(default_factory=dict)
    # Names in the place of a dtype, likewise.
    used_dtypes: dict[str, Mark] = field(default_factory=dict)

    def report(self, message: str, node: yaml.Node, help: str = "") -> None:
        self.document.report(CODE, message, self.document.mark(node), help)

    def read(self, node: yaml.Node, number: int) -> Case | None:
        items = self.document.items(node, "a case")
        if items is None:
            return None
        inputs: dict[str, CaseValue] = {}
        dims: dict[str, tuple[int, ...]] = {}
        name, call, raises = f"case{number}", None, False
        rest: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, (key_node, value) in items.items():
            argument = self.schema.argument(key)
            if argument is not None:
                inputs[key] = self.value(value, argument.type, argument)
            elif key == "name":
                name = self.document.string(value, "a case's `name`") or name
            elif key == "call":
                call = read_entry_point(self.document, value, "call")
            elif key == "raises":
                raises = self.flag(value)
            else:
                rest[key] = (key_node, value)
        if "inputs" in rest and isinstance(rest["inputs"][1], yaml.MappingNode):
            help = "write the arguments into the case itself: - {x: ..., n: ...}"
            self.report("a case has no key `inputs`", rest["inputs"][0], help)
            return None
        missing = [a for a in self.schema.arguments if a.name not in inputs and a.default is None]
        dtypes: dict[str, tuple[str, ...]] = {}
        hidden = {dim for _, value in rest.values() for dim in _dims_of(value)}
        for key, (key_node, value) in rest.items():
            if key in hidden:
                # A dim of a tensor whose own name is misspelled.
                continue
            if key in self.used_dtypes:
                dtypes[key] = self.dtypes(value)
                continue
            if key not in self.used and missing:
                # What is missing may be what is misspelled.
                self.unknown(key, key_node, [missing.pop(0).name])
                continue
            sizes = self.dim(key, key_node, value)
            if sizes:
                dims[key] = sizes
        self.check(missing if call is None else [], {*dims, *rest}, node)
        ordered = tuple((a.name, inputs[a.name]) for a in self.schema.arguments if a.name in inputs)
        mark = self.document.mark(node)
        return Case(name, ordered, tuple(dims.items()), call, mark, tuple(dtypes.items()), raises)

    def flag(self, node: yaml.Node) -> bool:
        value = plain(node)
        if not isinstance(value, bool):
            self.report(f"`raises` is true or false, found {describe(node)}", node)
        return value is True

    def dtypes(self, node: yaml.Node) -> tuple[str, ...]:
        """Read the dtypes that a named dtype takes."""
        names = []
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            dtype = dtype_name(item.value) if isinstance(item, yaml.ScalarNode) else None
            if dtype is None:
                help = "e.g. f16, bf16, f32, i64, bool"
                self.report(f"a list of dtypes is needed here, found {describe(item)}", item, help)
            else:
                names.append(dtype)
        return tuple(names)

    def check(self, missing: list[Argument], dims: set[str], node: yaml.Node) -> None:
        for argument in missing:
            text = f"the case gives no `{argument.name}`, which has no default"
            self.report(text, node, f"add {argument.name}: {_example(argument)}")
        for dim, mark in self.used.items():
            if dim not in dims:
                help = f"give it sizes in the case: {dim}: [4, 3, 7]"
                self.document.report(CODE, f"dim `{dim}` has no size", mark, help)
        for name, mark in self.used_dtypes.items():
            if name not in dims:
                help = nearest(name, [*SHORT_DTYPES, *SCALAR_TYPES]) or "e.g. f16, bf16, f32, i64, bool"
                self.document.report(CODE, f"unknown dtype `{name}`", mark, help)

    def unknown(self, key: str, node: yaml.Node, missing: list[str]) -> None:
        """Report a key; `missing` is what the case lacks."""
        names = [a.name for a in self.schema.arguments]
        help = nearest(key, [*names, *self.used, "name", "call", "raises"])
        help = help or (f"the case lacks `{missing[0]}`" if missing else f"arguments: {', '.join(names)}")
        text = f"`{key}` is no argument of {self.schema.name}, and no tensor has a dim `{key}`"
        self.report(text, node, help)

    def dim(self, key: str, key_node: yaml.Node, value: yaml.Node) -> tuple[int, ...]:
        if key not in self.used:
            self.unknown(key, key_node, [])
            return ()
        sizes = []
        for item in value.value if isinstance(value, yaml.SequenceNode) else [value]:
            size = plain(item)
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                self.report(f"a dim's size is a number from 0, found {describe(item)}", item)
                return ()
            if size > LARGEST:
                self.report(f"a dim's size is at most {LARGEST}, found {describe(item)}", item)
                return ()
            sizes.append(size)
        if not sizes:
            self.report(f"dim `{key}` has an empty list of sizes", value)
        return tuple(sizes)

    def value(self, node: yaml.Node, type_: Type, argument: Argument) -> CaseValue:
        if isinstance(type_, OptionalType):
            return None if is_null(node) else self.value(node, type_.element, argument)
        if isinstance(type_, ListType):
            if isinstance(node, yaml.SequenceNode):
                return tuple(self.value(item, type_.element, argument) for item in node.value)
            if type_.size is not None and not is_null(node):
                return (self.value(node, type_.element, argument),) * type_.size
            self.report(
                f"`{argument.name}` is of type {type_}: expected a list, found {describe(node)}", node
            )
            return None
        if type_.name == "Tensor":
            return self.tensor(node, argument)
        return self.scalar(node, type_.name, argument)

    def tensor(self, node: yaml.Node, argument: Argument) -> TensorSpec | None:
        match = _TENSOR.fullmatch(node.value) if isinstance(node, yaml.ScalarNode) else None
        if match is None or not isinstance(node, yaml.ScalarNode):
            help = 'write "f16[4, 8]" or, with a named dim, "f16[B, 8]"'
            if is_null(node):
                help += f"; only a {base_of(argument.type)}? can be null"
            elif kind(node) in ("int", "float"):
                help += '; a tensor without dims is "f32[]"'
            self.report(f"`{argument.name}` is a tensor, found {describe(node)}", node, help)
            return None
        mark = self.document.source(node).mark
        dtype = dtype_name(match["dtype"])
        if dtype is None:
            dtype = match["dtype"]
            self.used_dtypes.setdefault(dtype, mark(*match.span("dtype")))
        dims: list[int | str] = []
        offset = match.start("dims")
        for part in match["dims"].split(",") if match["dims"].strip() else []:
            text = part.strip()
            start = offset + len(part) - len(part.lstrip())
            offset += len(part) + 1
            if text.isdigit() and len(text) < 19 and int(text) <= LARGEST:
                dims.append(int(text))
            elif text.isdigit():
                self.document.report(
                    CODE, f"a dim's size is at most {LARGEST}", mark(start, start + len(text))
                )
            elif _NAME.fullmatch(text):
                dims.append(text)
                self.used.setdefault(text, mark(start, start + len(text)))
            else:
                end = start + max(len(text), 1)
                self.document.report(
                    CODE, f"`{text}` is no dim", mark(start, end), "a dim is a number or a name"
                )
        values = self.values(match["values"] or "", mark(*match.span("values")))
        return TensorSpec(dtype, tuple(dims), values, match["place"] == "cpu", match["place"] == "nz")

    def values(self, text: str, mark: Mark) -> tuple[float, ...]:
        """Read the contents of a tensor: numbers with commas."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        for part in parts:
            if not _VALUE.fullmatch(part):
                self.document.report(CODE, f"`{part}` is no number", mark, "write i64[3] = 1, 5, 9")
                return ()
        return tuple(float(part) for part in parts)

    def scalar(self, node: yaml.Node, type_: str, argument: Argument) -> CaseValue:
        value = plain(node)
        what = f"`{argument.name}` is of type {argument.type}"
        if not isinstance(node, yaml.ScalarNode):
            self.report(f"{what}, found {describe(node)}", node)
            return None
        if type_ == "ScalarType" and isinstance(value, str):
            dtype = dtype_name(value)
            if dtype is None:
                self.report(f"unknown dtype `{value}`", node, nearest(value, [*SHORT_DTYPES, *SCALAR_TYPES]))
            return dtype
        converted = _convert(value, type_)
        if converted is None:
            help = "leave it out to take the default" if is_null(node) and argument.default else ""
            self.report(f"{what}, found {describe(node)}", node, help)
        return converted


def _dims_of(node: yaml.Node) -> list[str]:
    """Name the dims of a text that reads like a tensor."""
    match = _TENSOR.fullmatch(node.value) if isinstance(node, yaml.ScalarNode) else None
    return [part.strip() for part in match["dims"].split(",")] if match else []


def _convert(value: object, type_: str) -> bool | int | float | str | None:
    """Make the host value the argument takes; None if it takes no such value."""
    if type_ in ("bool", "SymBool"):
        return value if isinstance(value, bool) else None
    if type_ in ("int", "SymInt", "ScalarType", "Layout", "MemoryFormat", "DeviceIndex"):
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if type_ in ("float", "Scalar", "number"):
        if isinstance(value, str):
            # YAML 1.1 reads 1e-6 as a text: a float needs a dot there.
            try:
                value = float(value)
            except ValueError:
                return None
        if type_ == "float":
            return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        return value if isinstance(value, (bool, int, float)) else None
    if type_ in ("str", "Device"):
        return value if isinstance(value, str) else None
    return None


def _example(argument: Argument) -> str:
    base = base_of(argument.type).name
    example = {"Tensor": '"f16[4, 8]"', "str": '"text"', "float": "1.0", "bool": "true"}.get(base, "1")
    if argument.is_optional:
        return "null"
    return f"[{example}]" if isinstance(argument.type, ListType) else example


def read_cases(document: Document, node: yaml.Node, schema: OperatorSchema) -> tuple[Case, ...]:
    """Read the list of cases; those that cannot be used are reported and left out."""
    if is_null(node):
        return ()
    if not isinstance(node, yaml.SequenceNode):
        help = "begin each case with a dash"
        document.report(CODE, f"`cases` is a list, found {describe(node)}", document.mark(node), help)
        return ()
    cases: list[Case] = []
    for number, item in enumerate(node.value, 1):
        case = _CaseReader(document, schema).read(item, number)
        if case is None:
            continue
        if any(other.name == case.name for other in cases):
            document.report(
                CODE, f"two cases are named `{case.name}`", document.mark(item), "rename one of them"
            )
        cases.append(case)
    return tuple(cases)

"""The stub of a generated package: what type checkers and editors know about the operators."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from opkit.emit.header import call, docstring
from opkit.emit.meta_kernel import Options, is_aten, qualify, unique_operators
from opkit.emit.signature import signature
from opkit.model.operator import OpFile, OpSpec
from opkit.model.schema import OperatorName

# Names of the generated package's own modules.
_MODULES = frozenset({"meta", "converters", "kernels", "torchair_hook"})


def exported(op_file: OpFile, options: Options) -> dict[OperatorName, list[OpSpec]]:
    """The operators a package offers as attributes: `namespace::base` -> its overloads.

    Left out are torch's own operators, names that Python or the package itself needs, and the second of two
    equal names of different namespaces; all of them are reachable through torch.ops.
    """
    found: dict[str, tuple[OperatorName, list[OpSpec]]] = {}
    for spec in unique_operators(op_file):
        name = qualify(spec.schema.name, options.namespace)
        packet = OperatorName(name.base, namespace=name.namespace)
        if is_aten(spec) or name.base in _MODULES or keyword.iskeyword(name.base):
            continue
        first, overloads = found.setdefault(name.base, (packet, []))
        if first == packet:
            overloads.append(spec)
    return dict(found.values())


def emit(op_file: OpFile, options: Options) -> str:
    """Print the stub of the package's `__init__`."""
    body = ""
    for packet, overloads in exported(op_file, options).items():
        for spec in overloads:
            body += "\n" + ("@overload\n" if len(overloads) > 1 else "") + _stub(packet.base, spec)
    imports = "import torch\n" if "torch." in body else ""
    imports += "from torch import Tensor\n" if "Tensor" in body else ""
    standard = "from collections.abc import Sequence\n" if "Sequence[" in body else ""
    standard += "from typing import overload\n" if "@overload" in body else ""
    imports = "\n".join(group for group in (standard, imports) if group)
    return docstring(op_file, "Operators of this package.") + f"\n{imports}{body}"


def _stub(name: str, spec: OpSpec) -> str:
    of = signature(spec.schema)
    # torch.ops takes every argument by its schema name; only a keyword cannot be written here.
    parameters: Sequence[str] = of.parameters
    return call(name, parameters, 0, "def ", f" -> {of.returns}: ...") + "\n"

"""A minimal script that takes one operator into one graph and prints what was captured."""

from __future__ import annotations

from opkit.emit.header import quoted
from opkit.model.operator import Case, CaseValue, EntryPoint, OpSpec, TensorSpec
from opkit.model.schema import Argument, OperatorName, OperatorSchema, base_of

MODES = ("npugraph_ex", "ge")

_SCRIPT = '''"""{name} in the {title} graph.

Run it with `opkit run run_{mode}.py`: on CANN, or on opkit's stand-in where there is none.
"""

{imports}
from opkit.evidence import use_references, watch_{mode}


def make_inputs():
    return {{
{inputs}
    }}


def to(device, values):
    """Copy the tensors among some values to a device."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device, copy=True), values)


def model({parameters}):
    return torch.ops.{python}({arguments})


def main():
    torch.manual_seed(0)
    # On the stand-in the reference computes the operator; on CANN its own kernel does.
    runtime = use_references({arguments_of_use})
    inputs = make_inputs()
    on_npu = to("npu", inputs)
{steps}
    torch.testing.assert_close(to("cpu", results), expected)
{written}    print(f"results equal the reference (runtime: {{runtime}})")


if __name__ == "__main__":
    main()
'''

_NPUGRAPH_EX = """\
    compiled = torch.compile(model, backend="npugraph_ex", fullgraph=True, dynamic=False)
    with watch_npugraph_ex() as seen:
        for step in ("first call", "second call"):
            results = compiled(**on_npu)
            expected = reference(**inputs)
            print(f"{step}: {seen.report()}")
"""

_GE = """\
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    compiled = torch.compile(model, backend=backend, fullgraph=True, dynamic=False)
    with watch_ge() as seen:
        results = compiled(**on_npu)
        print(seen.report())
    expected = reference(**inputs)
"""


def emit(spec: OpSpec, mode: str, namespace: str, package: str) -> str:
    """Print the script for "npugraph_ex" or "ge", to stand beside the generated package.

    The YAML's first case gives the inputs, its `reference:` the values to compare with; both must be there.
    """
    assert mode in MODES
    assert spec.cases
    assert spec.reference is not None
    schema = spec.schema
    qualified = OperatorName(schema.name.base, schema.name.overload, schema.name.namespace or namespace)
    use = ['Path(__file__).with_name("ops.yaml")'] + ([quoted(namespace)] if namespace != "npu" else [])
    case = spec.cases[0]
    return _SCRIPT.format(
        name=qualified.qualified,
        title="GE" if mode == "ge" else mode,
        mode=mode,
        imports=_imports(spec.reference, mode, package),
        inputs="\n".join(f"        {quoted(n)}: {v}," for n, v in case_inputs(schema, case)),
        python=qualified.python,
        parameters=", ".join(call_names(schema)),
        arguments=", ".join(call_arguments(schema)),
        arguments_of_use=", ".join(use),
        steps=(_GE if mode == "ge" else _NPUGRAPH_EX).rstrip("\n"),
        written="".join(
            f'    torch.testing.assert_close(on_npu["{a.name}"].cpu(), inputs["{a.name}"])\n'
            for a in schema.mutated
        ),
    )


def _imports(reference: EntryPoint, mode: str, package: str) -> str:
    module = reference.module.removesuffix(".py").replace("/", ".")
    plain = [
        f"import {package}  # noqa: F401 - registers the operator, its Meta kernel and its GE converter",
        "import torch",
        "import torch_npu  # noqa: F401",
        *(["import torchair"] if mode == "ge" else []),
    ]
    named = [
        f"from {module} import {reference.function} as reference",
        "from torch.utils._pytree import tree_map_only",
    ]
    return "from pathlib import Path\n\n" + "\n".join([*sorted(plain), *sorted(named)]) + "\n"


def case_inputs(schema: OperatorSchema, case: Case) -> list[tuple[str, str]]:
    """Print a value for every argument: the case's, else the schema's default."""
    given = dict(case.inputs)
    sizes = {name: sizes[0] for name, sizes in case.dims}
    return [
        (a.name, _value(given[a.name], sizes) if a.name in given else _default(a)) for a in schema.arguments
    ]


def _default(argument: Argument) -> str:
    if argument.default is None:
        return "None"
    text = argument.default.text
    if base_of(argument.type).name == "ScalarType" and text.isidentifier() and text != "None":
        return f"torch.{text}"
    value = argument.default.value
    return repr(list(value) if isinstance(value, tuple) else value)


def _value(value: CaseValue, sizes: dict[str, int]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_value(item, sizes) for item in value)}]"
    if isinstance(value, TensorSpec):
        return _tensor(value, [sizes[d] if isinstance(d, str) else d for d in value.dims])
    return quoted(value) if isinstance(value, str) else repr(value)


def _tensor(spec: TensorSpec, dims: list[int]) -> str:
    """Print a tensor of positive values, which most operators take."""
    shape = ", ".join(map(str, dims)) or "()"
    if spec.dtype == "bool":
        return f"torch.rand({shape}) > 0.5"
    if "int" in spec.dtype:
        size = f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"
        return f"torch.randint(1, 8, {size}, dtype=torch.{spec.dtype})"
    return f"torch.rand({shape})" + ("" if spec.dtype == "float32" else f".to(torch.{spec.dtype})")


def call_names(schema: OperatorSchema) -> list[str]:
    """List the parameters of a function that takes the operator's arguments."""
    star = ["*"] if schema.keyword_only else []
    return [*(a.name for a in schema.positional), *star, *(a.name for a in schema.keyword_only)]


def call_arguments(schema: OperatorSchema) -> list[str]:
    """List what that function passes on."""
    return [*(a.name for a in schema.positional), *(f"{a.name}={a.name}" for a in schema.keyword_only)]

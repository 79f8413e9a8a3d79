"""The Meta module in the style of `torch.library.custom_op` with `register_fake`."""

from __future__ import annotations

from opkit.emit.header import LINE_LENGTH, call, docstring, long_string, quoted
from opkit.emit.meta_kernel import (
    DEVICE,
    LOAD,
    MetaKernel,
    Options,
    definition,
    entry_text,
    helper_functions,
    imports,
    is_aten,
    own_operators,
    prepare,
    refuse,
    side_effect,
    tags,
)
from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpFile, OpSpec
from opkit.model.schema import is_tensor_like

CANNOT_ALIAS = "OPK210"
NO_OVERLOADS = "OPK211"
NO_KEYWORD_TENSORS = "OPK212"

_CUSTOM_OP = '''

def custom_op(name: str, *, schema: str, **settings: Any) -> Callable[[Callable[..., Any]], Any]:
    """torch.library.custom_op, or the operator it made before if this module is imported again."""
    wanted = torch._C.parse_schema(name + schema)
    for existing in torch._C._jit_get_schemas_for_operator(name):
        made_here = torch._library.custom_ops.OPDEFS.get(name)
        if made_here is None or str(existing) != str(wanted):
            raise RuntimeError(
                f"{name} is already registered{'' if made_here else ' by another library'}\\n"
                f"  registered: {existing}\\n"
                f"  declared:   {wanted}"
            )
        return lambda function: made_here
    return torch.library.custom_op(name, schema=schema, **settings)
'''
_KERNEL = '''

def kernel(name: str) -> Callable[..., Any]:
    """Find an operator's kernel in kernels.py, the file beside this one that is yours to fill."""
    kernels = importlib.import_module(".kernels", __package__) if __package__ else None
    function = getattr(kernels, name, None)
    if function is None:
        raise NotImplementedError(f"write the kernel: a function {name} in kernels.py")
    return function
'''


def check(op_file: OpFile) -> tuple[Diagnostic, ...]:
    """Find operators that `torch.library.custom_op` cannot express."""
    return tuple(problem for spec in own_operators(op_file) for problem in _problems(spec))


def _problems(spec: OpSpec) -> list[Diagnostic]:
    problems = []
    aliased = next((r for r in spec.schema.returns if r.alias is not None), None)
    if aliased is not None:
        message = "an operator made by custom_op must not return one of its arguments"
        help_ = "return `()` and let the caller use the argument, or use the library style"
        problems.append(Diagnostic(CANNOT_ALIAS, Severity.ERROR, message, aliased.mark, help_, spec.name))
    if spec.schema.name.overload:
        message = f"custom_op cannot define the overload `{spec.name}`"
        help_ = "give the operator a name of its own, or use the library style"
        problems.append(Diagnostic(NO_OVERLOADS, Severity.ERROR, message, spec.schema.mark, help_, spec.name))
    tensor = next((a for a in spec.schema.keyword_only if is_tensor_like(a.type)), None)
    if tensor is not None:
        message = f"custom_op takes no keyword-only tensor, and `{tensor.name}` is one"
        help_ = "move it in front of the `*`, or use the library style"
        problems.append(
            Diagnostic(NO_KEYWORD_TENSORS, Severity.ERROR, message, tensor.mark, help_, spec.name)
        )
    return problems


def emit(op_file: OpFile, options: Options) -> str:
    """Print the module; raises OpkitError when an operator has no usable rule or is none for custom_op."""
    kernels, problems = prepare(op_file, options)
    # torch has defined its own operators, and custom_op can do nothing but define.
    kernels = tuple(kernel for kernel in kernels if not is_aten(kernel.spec))
    refuse((*problems, *check(op_file)))
    lines: list[str] = []
    functions = "".join(_operator(kernel, options, lines) for kernel in kernels)
    helpers = helper_functions(kernels)
    load = LOAD if "load(" in functions else ""
    shape = "\nShape = Sequence[Any]\n" if "Shape" in helpers else ""
    body = (
        DEVICE
        + shape
        + _CUSTOM_OP
        + (_KERNEL if " kernel(" in functions else "")
        + load
        + helpers
        + functions
    )
    summary = "1 custom operator and its Meta kernel."
    if len(kernels) != 1:
        summary = f"{len(kernels)} custom operators and their Meta kernels."
    return docstring(op_file, summary) + "\n" + imports(body, lines) + body


def _operator(kernel: MetaKernel, options: Options, import_lines: list[str]) -> str:
    schema = kernel.spec.schema
    mutated = [quoted(a.name) for a in schema.mutated]
    # Without a tensor the dispatcher cannot tell the device: such an operator has one kernel for all of them.
    has_tensor = any(is_tensor_like(a.type) for a in schema.arguments)
    arguments = [
        quoted(kernel.name.qualified),
        f"mutates_args=({', '.join(mutated)}{',' if len(mutated) == 1 else ''})",
        f"device_types={'DEVICE' if has_tensor else 'None'}",
        _schema(schema.signature()),
    ]
    if tags(kernel.spec):
        arguments.append(f"tags={tags(kernel.spec)}")
    # `reference:` is for proofs; a package must never compute on the CPU what its user thinks the NPU does.
    entry = kernel.spec.kernel
    target = f'kernel("{kernel.function}")'
    if entry is not None:
        line, target = entry_text(entry, f"{kernel.function}_kernel", options)
        if line:
            import_lines.append(line)
    prologue = "".join(f"    {line}\n" for line in kernel.signature.prologue)
    passed = call(target, kernel.signature.arguments(schema), 4, "return ")
    head = f"{call('custom_op', arguments, 0, '@')}\n{definition(kernel.function, kernel.signature)}\n"
    text = f"{head}{prologue}{passed}\n"
    return f"\n\n{text}\n\n{_fake(kernel, options, import_lines)}{side_effect(kernel)}"


def _schema(signature: str) -> str:
    line = f"schema={quoted(signature)}"
    if len(f"    {line},") <= LINE_LENGTH:
        return line
    return f"schema=(\n        {long_string(signature, 8)}\n    )"


def _fake(kernel: MetaKernel, options: Options, import_lines: list[str]) -> str:
    entry = kernel.rule.python
    if entry is None:
        return f"@{kernel.function}.register_fake\n{kernel.define('_fake')}\n"
    line, expression = entry_text(entry, f"{kernel.function}_meta", options)
    if line:
        import_lines.append(line)
    return f"{kernel.function}.register_fake({expression})\n"


def kernels_template(op_file: OpFile, options: Options) -> str:
    """The first kernels.py: one function per operator without `kernel:`, each telling what to write."""
    kernels, _ = prepare(op_file, options)
    functions = []
    for kernel in kernels:
        if kernel.spec.kernel is None and not is_aten(kernel.spec):
            message = quoted(f"write the NPU kernel of {kernel.name.qualified} in kernels.py")
            functions.append(f"\n\n{definition(kernel.function, kernel.signature)}\n"
                             f"    raise NotImplementedError({message})\n")  # fmt: skip
    if not functions:
        return ""
    text = "".join(functions)
    summary = (
        '"""Kernels of the operators. This file is yours: `opkit gen` writes it once and never again."""\n\n'
    )
    return summary + imports(text, ()) + text

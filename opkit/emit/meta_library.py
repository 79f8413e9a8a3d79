"""The Meta module in the style of `torch.library.Library`: definitions where they lack, and Meta kernels."""

from __future__ import annotations

from opkit.emit.body import needs_fake
from opkit.emit.header import call, docstring, long_string
from opkit.emit.meta_kernel import (
    DEVICE,
    LOAD,
    MetaKernel,
    Options,
    entry_text,
    helper_functions,
    imports,
    prepared,
    side_effect,
    tags,
)
from opkit.model.operator import OpFile

_LIBRARY = '''
# Kept by importlib.reload as well: a Library that is dropped takes its operators with it.
LIBRARIES: dict[str, torch.library.Library] = globals().get("LIBRARIES", {})


def library(namespace: str) -> torch.library.Library:
    """The library that holds this module's registrations in a namespace."""
    if namespace not in LIBRARIES:
        LIBRARIES[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return LIBRARIES[namespace]


def define(schema: str, tags: tuple[torch.Tag, ...] = ()) -> str:
    """Define an operator and return its name; one that exists must have this schema."""
    name = schema.partition("(")[0]
    base, _, overload = name.partition(".")
    for existing in torch._C._jit_get_schemas_for_operator(base):
        if existing.overload_name != overload:
            continue
        if str(existing) == schema:
            return name
        wanted = torch._C.parse_schema(schema)
        # torch_npu registers an argument `self` as `input`.
        found, declared = (re.sub(r"\\bself\\b(?=[,)])", "input", str(s)) for s in (existing, wanted))
        if found != declared:
            raise RuntimeError(
                f"{name} is already registered with another schema\\n"
                f"  registered: {existing}\\n"
                f"  declared:   {wanted}"
            )
        return name
    namespace, _, rest = schema.partition("::")
    library(namespace).define(rest, tags=tags)
    return name


def meta_kernel(
    schema: str, tags: tuple[torch.Tag, ...] = (), fake: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the operator's Meta kernel, unless the operator has one or is composite.

    `fake` is for operators that may be called without any tensor: no dispatch key leads to their
    Meta kernel.
    """
    name = define(schema, tags)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        if has_kernel(name, "Meta") or has_kernel(name, "CompositeImplicitAutograd"):
            return function
        holder = library(name.split("::")[0])
        if fake:
            torch.library.register_fake(name, function, lib=holder)
        else:
            holder.impl(name, function, "Meta")
        return function

    return register
'''


def emit(op_file: OpFile, options: Options) -> str:
    """Print the module; raises OpkitError when an operator has no usable rule."""
    kernels = prepared(op_file, options)
    lines: list[str] = []
    functions = "".join(_function(kernel, options, lines) for kernel in kernels)
    helpers = helper_functions(kernels)
    load = LOAD if "load(" in functions else ""
    device = DEVICE if "DEVICE" in functions else ""
    shape = "\nShape = Sequence[Any]\n" if "Shape" in helpers else ""
    body = device + shape + _LIBRARY + load + helpers + functions
    summary = f"Meta kernels of {len(kernels)} operator{'s' if len(kernels) != 1 else ''}."
    usage = (
        "Importing this module is all it takes. Where a library defines the operators, load it first: an\n"
        "operator that does not exist yet is defined here, and one that has a Meta kernel keeps it."
    )
    return docstring(op_file, summary, usage) + "\n" + imports(body, lines) + body


def _function(kernel: MetaKernel, options: Options, import_lines: list[str]) -> str:
    arguments = [long_string(kernel.schema)]
    if tags(kernel.spec):
        arguments.append(f"tags={tags(kernel.spec)}")
    if needs_fake(kernel.spec):
        arguments.append("fake=True")
    entry = kernel.rule.python
    if entry is None:
        text = f"{call('meta_kernel', arguments, 0, prefix='@')}\n{kernel.define()}\n"
    else:
        line, expression = entry_text(entry, f"{kernel.function}_meta", options)
        if line:
            import_lines.append(line)
        text = f"{call('meta_kernel', arguments, 0)}({expression})\n"
    return f"\n\n{text}{side_effect(kernel)}"

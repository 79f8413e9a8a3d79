"""The Meta module in the style of `torch.library.Library`: definitions where they lack, and Meta kernels."""

from __future__ import annotations

from opkit.emit.body import needs_fake
from opkit.emit.header import call, docstring, long_string, quoted
from opkit.emit.meta_kernel import (
    DEVICE,
    LOAD,
    MetaKernel,
    Options,
    entry_text,
    helper_functions,
    imports,
    is_aten,
    prepared,
    side_effect,
    tags,
)
from opkit.model.operator import OpFile
from opkit.model.registered import gather_out

_LIBRARY = '''
# Kept by importlib.reload as well: a Library that is dropped takes its operators with it.
LIBRARIES: dict[str, torch.library.Library] = globals().get("LIBRARIES", {})


def library(namespace: str) -> torch.library.Library:
    """The library that holds this module's registrations in a namespace."""
    if namespace not in LIBRARIES:
        LIBRARIES[namespace] = torch.library.Library(namespace, "FRAGMENT")
    return LIBRARIES[namespace]


def existing(name: str) -> torch._C.FunctionSchema | None:
    """The schema of an operator that is defined, in another library perhaps."""
    base, _, overload = name.partition(".")
    try:
        return torch._C._get_schema(base, overload)
    except RuntimeError:
        return None


def is_same(found: torch._C.FunctionSchema, schema: str) -> bool:
    """Compare an existing schema with one as written; `int` there may be `SymInt` here."""
    if str(found) == schema:
        return True
    # torch_npu registers an argument `self` as `input`.
    both = (str(found), str(torch._C.parse_schema(schema)))
    first, second = (re.sub(r"\\bself\\b(?=[,)])", "input", text).split(", ") for text in both)
    return len(first) == len(second) and all(
        one == other or one.replace("SymInt", "int") == other for one, other in zip(first, second)
    )


def define(schema: str, tags: tuple[torch.Tag, ...] = ()) -> str:
    """Define an operator and return its name; one that exists must have this schema."""
    name = schema.partition("(")[0]
    found = existing(name)
    if found is None:
        namespace, _, rest = schema.partition("::")
        library(namespace).define(rest, tags=tags)
    elif not is_same(found, schema):
        raise RuntimeError(
            f"{name} is already registered with another schema\\n"
            f"  registered: {found}\\n"
            f"  declared:   {torch._C.parse_schema(schema)}"
        )
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
_ATEN = '''

RUNS_ON_META = (
    "Meta",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)


def aten_meta_kernel(
    schema: str, tags: tuple[torch.Tag, ...] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the Meta kernel of an operator of torch's own that has none."""
    name = schema.partition("(")[0]
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if existing(name) is None or any(has_kernel(name, key) for key in RUNS_ON_META):
        return lambda function: function
    return meta_kernel(schema, tags)
'''
_OUT_LIST = '''

def out_list_meta_kernel(
    schema: str, registered: str, out: tuple[str, ...], tags: tuple[torch.Tag, ...] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like `meta_kernel`; torch_npu's generator makes one list `out` of the written arguments."""
    found = existing(schema.partition("(")[0])
    if found is None or not is_same(found, registered):
        return meta_kernel(schema, tags)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_list(*arguments: Any, **named: Any) -> Any:
            written = dict(zip(out, named.pop("out")))
            return function(*arguments, **named, **written)

        meta_kernel(registered, tags)(of_list)
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
    decorators = _ATEN if "aten_meta_kernel(" in functions else ""
    decorators += _OUT_LIST if "out_list_meta_kernel(" in functions else ""
    body = device + shape + _LIBRARY + decorators + load + helpers + functions
    summary = f"Meta kernels of {len(kernels)} operator{'s' if len(kernels) != 1 else ''}."
    usage = (
        "Importing this module is all it takes. Where a library defines the operators, load it first: an\n"
        "operator that does not exist yet is defined here, and one that has a Meta kernel keeps it."
    )
    return docstring(op_file, summary, usage) + "\n" + imports(body, lines) + body


def _function(kernel: MetaKernel, options: Options, import_lines: list[str]) -> str:
    arguments = [long_string(kernel.schema)]
    decorator = "aten_meta_kernel" if is_aten(kernel.spec) else "meta_kernel"
    if gathered := _as_registered(kernel):
        names = [quoted(argument.name) for argument in kernel.spec.schema.mutated]
        decorator = "out_list_meta_kernel"
        arguments += [long_string(gathered), f"({', '.join(names)})"]
    if tags(kernel.spec):
        arguments.append(f"tags={tags(kernel.spec)}")
    if needs_fake(kernel.spec) and decorator == "meta_kernel":
        arguments.append("fake=True")
    entry = kernel.rule.python
    if entry is None:
        text = f"{call(decorator, arguments, 0, prefix='@')}\n{kernel.define()}\n"
    else:
        line, expression = entry_text(entry, f"{kernel.function}_meta", options)
        if line:
            import_lines.append(line)
        text = f"{call(decorator, arguments, 0)}({expression})\n"
    return f"\n\n{text}{side_effect(kernel)}"


def _as_registered(kernel: MetaKernel) -> str:
    """The schema that torch_npu's generator makes of one with several `out` arguments; else nothing."""
    spec = kernel.spec
    schema = gather_out(spec.schema)
    if schema is spec.schema or spec.section != "custom" or not (spec.op_api or spec.acl_op):
        return ""
    return f"{kernel.name.qualified}{schema.signature()}"

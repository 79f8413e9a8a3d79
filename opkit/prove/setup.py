"""Brings a request's operators into the worker: the user's imports, a package, or what opkit generates."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import opkit
from opkit.errors import OpkitError
from opkit.model.diagnostic import has_errors
from opkit.model.operator import EntryPoint, GeMapping, OpFile, OpSpec
from opkit.model.schema import is_tensor_like
from opkit.prove.entry import load_function, load_module
from opkit.prove.observe import needs_kernels
from opkit.prove.plan import read
from opkit.prove.protocol import Request
from opkit.prove.subject import Declared, first_line
from opkit.prove.watch import Watch, has_kernel, has_meta, is_defined

# Registrations live as long as their Library objects.
_KEPT: list[object] = []


def qualified(spec: OpSpec, namespace: str) -> str:
    """Name an operator as the dispatcher does; `namespace` is for those whose `func` names none."""
    name = spec.schema.name
    return f"{name.namespace or namespace}::{spec.name}"


class Setup:
    """Registers everything a request needs and says what became of each operator."""

    def __init__(self, request: Request, watch: Watch, runtime: str) -> None:
        self.request, self.watch, self.runtime = request, watch, runtime
        self.files = [read(path) for path in request.files]
        if request.package is not None:
            self.files = [_with_prototypes(op_file, request.package) for op_file in self.files]
        # Why an operator is not there: qualified name -> reason.
        self.problems: dict[str, str] = {}
        # Operators that the user's own modules define, and those that were there before (torch_npu's own).
        self.imported: set[str] = set()
        self.installed: set[str] = set()

    def run(self) -> list[Declared]:
        """Import, register and bind; list every operator that is wanted."""
        for op_file in self.files:
            directory = str(Path(op_file.path).resolve().parent)
            if directory not in sys.path:
                sys.path.append(directory)
        names = {self._name(spec) for op_file in self.files for spec in self._wanted(op_file)}
        self.watch.install(names)
        self.installed = {name for name in names if is_defined(name)}
        if self.request.installed:
            self._shipped_rules(self.request.installed)
        self._imports()
        if self.request.imports:
            self.imported = {name for name in names - self.installed if is_defined(name)}
        declared = []
        for op_file in self.files:
            self._register(op_file)
            declared += [self._declared(op_file, spec) for spec in self._wanted(op_file)]
        if self.request.mode == "ge":
            self._prepare_ge()
        for item in declared:
            self.bind(item)
        return declared

    def _name(self, spec: OpSpec) -> str:
        return qualified(spec, self.request.namespace)

    def _shipped_rules(self, package: str) -> None:
        """Do what `opkit.register` does for the package; what it refuses keeps the reason."""
        for name, reason in opkit.register(package).refused:
            if not has_meta(name):
                self.problems[name] = f"opkit.register gives it no Meta kernel: {reason}"

    def _imports(self) -> None:
        """Import what the user named. Raises OpkitError when that fails: nothing can be judged without it."""
        package = [self.request.package] if self.request.package else []
        for name in [*self.request.imports, *package]:
            try:
                load_module(name)
            except (Exception, SystemExit) as error:
                text = f"importing {Path(name).name} failed: {first_line(error)}"
                if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
                    help = "give a .py file, a package's directory, or a module that is on the Python path"
                    raise OpkitError(text, help) from error
                raise OpkitError(text + _place(error), "mend it: nothing can be judged without it") from error

    def functions(self, declared: list[Declared]) -> dict[EntryPoint, Callable[..., Any]]:
        """Load the functions that cases compile in place of the bare operator.

        Operators are registered before, since the function's module may name them. Raises OpkitError when one
        cannot be loaded.
        """
        found = {}
        for item in declared:
            names = {c for file, name, c in self.request.subjects if (file, name) == item.identity}
            for case in item.spec.cases:
                if case.call is None or case.name not in names or item.problem:
                    continue
                try:
                    found[case.call] = load_function(case.call, item.op_file.path)
                except OpkitError as error:
                    raise OpkitError(f"the case's `call:`: {error.message}", error.help) from error
                except Exception as error:
                    text = f"importing {case.call.module} failed: {first_line(error)}{_place(error)}"
                    raise OpkitError(text, f"{case.call.mark} names it") from error
        return found

    def _declared(self, op_file: OpFile, spec: OpSpec) -> Declared:
        name = self._name(spec)
        style = "import" if name in self.imported else self.request.style
        problem = self.problems.get(name, "")
        reference = None
        if spec.reference is not None:
            try:
                reference = load_function(spec.reference, op_file.path)
            except Exception as error:
                problem = problem or f"the reference {spec.reference} cannot be loaded: {first_line(error)}"
        return Declared(op_file, spec, name, style, reference, problem=problem)

    # ---- definitions and Meta kernels

    def _generated(self, op_file: OpFile) -> list[OpSpec]:
        """List the operators that opkit generates itself."""
        if self.request.package or self.request.installed:
            return []
        # custom_op makes new operators only; one that is installed can at most be given a Meta kernel.
        known = self.imported | (self.installed if self.request.style == "custom-op" else set())
        return [spec for spec in self._wanted(op_file) if self._name(spec) not in known]

    def _wanted(self, op_file: OpFile) -> list[OpSpec]:
        """List the operators of the request, and those whose rule they inherit."""
        wants = [subject[:2] for subject in self.request.subjects]
        names = [name for file, name in (*wants, *self.request.company) if file == op_file.path]
        wanted: dict[str, OpSpec] = {}
        while names:
            spec = op_file.operator(names.pop(0))
            if spec is not None and spec.name not in wanted:
                wanted[spec.name] = spec
                parent = spec.gen_opapi.structured_inherit if spec.gen_opapi else None
                names += [parent] if parent else []
        return [spec for spec in op_file.operators if spec.name in wanted]

    def elsewhere(self, item: Declared) -> str | None:
        """Say why an operator is judged in the first style only; None when it is judged here."""
        if not self.request.optional_style:
            return None
        if item.qualified in self.imported:
            return ""
        if item.qualified in self.installed:
            return "not proved in custom-op style: the operator is installed already"
        if self.request.style != "custom-op":
            return None
        from opkit.emit.meta_custom_op import check

        found = check(replace(item.op_file, operators=(item.spec,)))
        return f"not proved in custom-op style: {found[0].message}" if found else None

    def _register(self, op_file: OpFile) -> None:
        """Register what `opkit gen` would write; an operator that cannot be does not stop the others."""
        from opkit.emit.meta_custom_op import check
        from opkit.registration import register
        from opkit.registration.machine import machine_environment
        from opkit.shape.rule import resolve

        style, namespace, machine = self.request.style, self.request.namespace, machine_environment()
        usable = []
        for spec in self._generated(op_file):
            found = list(resolve(spec, op_file, machine).diagnostics)
            if style == "custom-op":
                found += check(replace(op_file, operators=(spec,)))
            if found and self._name(spec) in self.installed:
                continue  # It may do without what cannot be generated; the stages judge what it has.
            if found:
                whose = "no imported module defines it, and " if self.request.imports else ""
                self.problems[self._name(spec)] = f"{whose}opkit cannot generate it: {found[0].message}"
            else:
                usable.append(spec)
        try:
            register(replace(op_file, operators=tuple(usable)), style, namespace, machine)
        except Exception:
            # One of them: find out which, each on its own. Registering twice is harmless.
            for spec in usable:
                one = replace(op_file, operators=(spec,))
                self._try(spec, partial(register, one, style, namespace, machine))

    def _try(self, spec: OpSpec, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self.problems.setdefault(self._name(spec), first_line(error))

    # ---- kernels

    def bind(self, item: Declared) -> None:
        """Give the operator an NPU kernel: the YAML's, the one it has, the reference, or a bare launch."""
        name, spec = item.qualified, item.spec
        if item.problem or not is_defined(name) or has_kernel(name, "CompositeImplicitAutograd"):
            return
        generated = item.style != "import" and name not in self.installed
        if spec.kernel is not None and item.style in ("library", "package"):
            if not has_kernel(name, "PrivateUse1"):
                self._own_kernel(item)
            return
        has_own = has_kernel(name, "PrivateUse1", "CompositeExplicitAutograd")
        if not needs_kernels() or (has_own and not (generated and self._stands_for_nothing(item))):
            return
        from opkit.cann.reference import bind_reference

        bind_reference(name, item.reference, replace=True)
        if has_own and not any(is_tensor_like(argument.type) for argument in spec.schema.arguments):
            self._without_tensor(name)

    def _without_tensor(self, name: str) -> None:
        """Run the bound kernel in place of a custom_op's own, which without a tensor is for all devices."""
        import torch

        from opkit.cann.operators import find_operator

        operator = find_operator(name)
        npu = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
        meta = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)
        inside: list[bool] = []  # The kernel calls the operator again, for its Meta kernel.

        def select(*args: Any, **kwargs: Any) -> Any:
            keys = meta if inside else npu
            inside.append(True)
            try:
                return operator.redispatch(keys, *args, **kwargs)
            finally:
                inside.pop()

        library = torch.library.Library(name.split("::")[0], "FRAGMENT")
        library.impl(name.split("::")[1], select, "BackendSelect")
        _KEPT.append(library)

    def _stands_for_nothing(self, item: Declared) -> bool:
        """Tell whether a generated custom_op has a kernel only because custom_op wants one.

        That is a request to write it. A body that somebody wrote into a package is a kernel.
        """
        if item.spec.kernel is not None:
            return False
        return item.style == "custom-op" or _is_unwritten(item, self.request.package)

    def _own_kernel(self, item: Declared) -> None:
        import torch

        assert item.spec.kernel is not None
        function = load_function(item.spec.kernel, item.op_file.path)
        library = torch.library.Library(item.qualified.split("::")[0], "FRAGMENT")
        library.impl(item.qualified.split("::")[1], function, "PrivateUse1")
        _KEPT.append(library)

    # ---- GE

    def _prepare_ge(self) -> None:
        """Start torchair, tell the stand-in the prototypes, and register the generated converters."""
        import torch_npu  # noqa: F401 - makes `import torchair` find the one inside torch_npu
        import torchair

        try:
            torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
        except (ImportError, RuntimeError) as error:
            # torchair 2.13 cannot take over a process that npugraph_ex has set up.
            help_ = "does an imported module use npugraph_ex? In one process torchair has to come first"
            raise OpkitError(f"torchair cannot start: {first_line(error)}", help_) from error
        _import_converters()
        for op_file in self.files:
            for spec in self._wanted(op_file):
                # What an installed package's converters name is CANN's own.
                if needs_kernels() and not self.request.installed:
                    self._try(spec, partial(_define_ir, spec))
            for spec in self._generated(op_file):
                if self._name(spec) not in self.problems and not _has_converter(self._name(spec)):
                    self._try(spec, partial(self._converter, op_file, spec))

    def _converter(self, op_file: OpFile, spec: OpSpec) -> None:
        """Register the converter that `opkit gen` would write."""
        from opkit.emit import converter
        from opkit.registration import run_text

        text = converter.emit(replace(op_file, operators=(spec,)), self.request.namespace, "")
        # Entry points in files are relative to the YAML, as beside a generated module.
        file = str(Path(op_file.path).with_name(f"<converter of {spec.name}>"))
        module: dict[str, Any] = {"__name__": f"opkit_converter_{spec.schema.name.base}", "__file__": file}
        run_text(text, file, module)
        _KEPT.append(module)


def _import_converters() -> None:
    """Register torchair's converters for operators of torch_npu.

    torchair 2.13 imports them when it first looks for a converter it does not know
    (`fx2ge_converter._get_converter`); others without that package import all of them on start.
    """
    name = "torchair._ge_concrete_graph.ge_converter.custom"
    if importlib.util.find_spec(name) is not None:
        importlib.import_module(name)


def _place(error: BaseException) -> str:
    """Name the line of the user's code that raised: the last one that is neither opkit's nor torch's."""
    if isinstance(error, (OpkitError, SyntaxError)):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(("<frozen", str(Path(opkit.__file__).parent)))]
    own = [f for f in own if "site-packages" not in f.filename] or own
    return f" ({own[-1].filename}:{own[-1].lineno})" if own else ""


def _has_converter(name: str) -> bool:
    """Tell whether a converter is registered already, such as torchair's own for an operator of torch_npu."""
    from opkit.cann.operators import find_operator

    return is_defined(name) and getattr(find_operator(name), "_ge_converter", None) is not None


def _is_unwritten(item: Declared, package: str | None) -> bool:
    """Tell whether a package's kernel is still to be written: as `opkit gen` left it, or not there."""
    import torch

    made = torch._library.custom_ops.OPDEFS.get(item.qualified)
    if package is None or made is None:
        return False
    if not inspect.getsource(made._init_fn).rpartition("return ")[2].startswith("kernel("):
        return False  # The body in meta.py is somebody's own.
    module = importlib.import_module(f"{Path(package).name}.kernels")
    function = getattr(module, made._init_fn.__name__, None)
    return function is None or "raise NotImplementedError(" in inspect.getsource(function)


def _with_prototypes(op_file: OpFile, package: str) -> OpFile:
    """Put a package's own prototype files in the place of those that the YAML names or implies."""
    from opkit.read import read_prototype

    specs = []
    for spec in op_file.operators:
        path = Path(package) / "prototypes" / f"{spec.name.replace('.', '_')}.json"
        if path.is_file():
            found, diagnostics = read_prototype(path, spec.mark)
            if has_errors(diagnostics):
                raise OpkitError(f"{path}: {diagnostics[0].message}", diagnostics[0].help)
            ge = spec.ge or GeMapping(None, None, None, spec.mark)
            spec = replace(spec, ge=replace(ge, prototype=str(path), prototypes=found))
        specs.append(spec)
    return replace(op_file, operators=tuple(specs))


def _define_ir(spec: OpSpec) -> None:
    """Tell the stand-in the operator's prototype, and the others of the json it names."""
    from opkit.cann.library import standin
    from opkit.emit.ir_json import ir_definition, prototype

    for known in (*(spec.ge.prototypes if spec.ge else ()), prototype(spec)):
        definition: dict[str, Any] = ir_definition(known)
        standin().define_ir(**definition)

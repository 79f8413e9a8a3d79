"""Finding the registrations of Meta kernels, other Python kernels and GE converters in a Python file."""

from __future__ import annotations

import ast
import re

from opkit.against.libraries import bind, imported_library, library_of
from opkit.against.python_source import Function, PythonSource
from opkit.against.registration import Branches, Found, Kind, Mutates, Registration

# The functions of torch.library, and the parameters that matter here in their order (torch 2.6 to 2.13).
_APIS = {
    "impl": ("lib", "name", "key"),
    "register_fake": ("op", "func"),
    "impl_abstract": ("op", "func"),
    "register_kernel": ("op", "device_types", "func"),
    "custom_op": ("name", "fn"),
    "triton_op": ("name", "fn"),
    "define": ("op", "schema"),
}
# Methods of a Library object.
_METHODS = {
    "impl": ("op_name", "fn", "dispatch_key"),
    "_register_fake": ("op_name", "fn"),
    "define": ("schema",),
}
_CONVERTER = "register_fx_node_ge_converter"
# vLLM's helper, used by its plugins: the namespace is that of the library it makes.
_DIRECT = "direct_register_custom_op"
_INTERESTING = {*_APIS, *_METHODS, _CONVERTER, _DIRECT, "Library"}
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_INTERESTING))})\b")


def may_register(text: str) -> bool:
    """Tell whether the text of a file can hold a registration at all, which most files do not."""
    return _WORDS.search(text) is not None


def find_registrations(source: PythonSource) -> Found:
    """Find all registrations of a file, in the order of the text."""
    finder = _Finder(source)
    finder.block(source.tree.body, (), frozenset())
    return finder.found


def _last(source: PythonSource, node: ast.AST) -> str:
    """Give the last name of what is called, under its own name if it is imported under another."""
    return node.attr if isinstance(node, ast.Attribute) else source.dotted(node).rpartition(".")[2]


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


class _Finder:
    def __init__(self, source: PythonSource) -> None:
        self.source = source
        self.found = Found([], set(), [])
        # Expression as written -> (namespace, dispatch key) of the Library it is.
        self.libraries: dict[str, tuple[str, str]] = {}
        # Name -> "ns::op" of what custom_op gave.
        self.custom_ops: dict[str, str] = {}
        self.helpers = {
            name: functions[-1]
            for name, functions in source.functions.items()
            if any(
                _last(source, n.func) in _INTERESTING
                for n in ast.walk(functions[-1])
                if isinstance(n, ast.Call)
            )
        }
        self.branches: Branches = ()
        self.outer: frozenset[str] = frozenset()

    # Walking the text

    def block(self, statements: list[ast.stmt], branches: Branches, outer: frozenset[str]) -> None:
        for statement in statements:
            self.branches, self.outer = branches, outer
            self.statement(statement, branches, outer)

    def statement(self, node: ast.stmt, branches: Branches, outer: frozenset[str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in reversed(node.decorator_list):
                self.registration(decorator, node)
            self.block(node.body, branches, outer | set(_parameters(node)))
        elif isinstance(node, ast.If):
            self.expression(node.test)
            self.block(node.body, (*branches, (id(node), 0)), outer)
            self.block(node.orelse, (*branches, (id(node), 1)), outer)
        elif isinstance(node, ast.Try):
            self.block([*node.body, *node.orelse], (*branches, (id(node), 0)), outer)
            for arm, handler in enumerate(node.handlers, 1):
                self.block(handler.body, (*branches, (id(node), arm)), outer)
            self.block(node.finalbody, branches, outer)
        elif isinstance(node, (ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While, ast.ClassDef)):
            for item in getattr(node, "items", []):
                self.assignment(item.optional_vars, item.context_expr)
            self.block(node.body, branches, outer)
            self.block(getattr(node, "orelse", []), branches, outer)
        else:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assignment(target, node.value)
            elif isinstance(node, ast.AnnAssign):
                self.assignment(node.target, node.value)
            self.expression(node)

    def expression(self, node: ast.AST) -> None:
        applied: set[int] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and id(part) not in applied:
                if isinstance(part.func, ast.Call) and len(part.args) == 1:
                    applied.add(id(part.func))
                    self.registration(part.func, part.args[0])
                elif (
                    _last(self.source, part.func) in _INTERESTING
                    or _last(self.source, part.func) in self.helpers
                ):
                    self.registration(part, None)

    def assignment(self, target: ast.expr | None, value: ast.expr | None) -> None:
        """Remember what is a Library, and what is an operator made by custom_op."""
        if target is None or not isinstance(value, ast.Call):
            return
        name = self.source.dotted(value.func)
        library = library_of(self.source, value)
        if library is not None:
            self.libraries[ast.unparse(target)] = library
        elif isinstance(value.func, ast.Attribute) and value.func.attr == "define":
            # Library.define gives the name back.
            of = self.library(value.func.value, {})
            schema = self.source.text_of(_schema(value))
            if of is not None and schema:
                self.custom_ops[ast.unparse(target)] = f"{of[0]}::{schema.partition('(')[0].strip()}"
        elif name in ("torch.library.custom_op", "torch.library.triton_op"):
            operator = self.source.text_of(bind(value, _APIS["custom_op"]).get("name"))
            if operator:
                self.custom_ops[ast.unparse(target)] = operator

    # One registration

    def registration(
        self, node: ast.expr, target: ast.AST | None, bound: dict[str, ast.expr] | None = None
    ) -> None:
        """Look at a call or decorator; `target` is the function it is applied to, if it is."""
        if isinstance(node, ast.Attribute) and node.attr == "register_fake":
            operator = self.custom_ops.get(ast.unparse(node.value))
            if operator:
                self.add(Kind.FAKE, operator, target, node)
            return
        if not isinstance(node, ast.Call):
            return
        last = _last(self.source, node.func)
        if last in self.helpers and isinstance(node.func, ast.Name) and bound is None:
            self.helper(node, self.helpers[last], target)
        elif self.source.dotted(node.func).startswith("torch.library.") and last in _APIS:
            self.from_function(node, last, target, bound or {})
        elif last == _CONVERTER:
            self.converter(node, target, bound or {})
        elif last == _DIRECT:
            self.direct(node)
        elif isinstance(node.func, ast.Attribute):
            self.from_method(node, node.func, target, bound or {})

    def from_function(
        self, node: ast.Call, api: str, target: ast.AST | None, bound: dict[str, ast.expr]
    ) -> None:
        arguments = bind(node, _APIS[api])
        if api == "impl":
            self.impl(node, arguments, target, bound)
            return
        operator = self.operator(arguments.get("op") or arguments.get("name"), bound)
        if operator is None:
            self.unclear(node, bound)
            return
        if api in ("custom_op", "triton_op", "define"):
            self.found.defined.add(_split(operator))
            self.mutates(operator, node)
        if api == "define":
            return
        kind = Kind.FAKE if api in ("register_fake", "impl_abstract") else Kind.KERNEL
        function = target or self.bound(arguments.get("func") or arguments.get("fn"), bound)
        if api in ("custom_op", "triton_op") and isinstance(target, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.custom_ops[target.name] = operator
        self.add(kind, operator, function, arguments.get("op") or arguments.get("name") or node)

    def impl(
        self,
        node: ast.Call,
        arguments: dict[str, ast.expr],
        target: ast.AST | None,
        bound: dict[str, ast.expr],
    ) -> None:
        """`impl(lib, "name", "Meta")` applied to a function, or `impl("ns::name", "Meta")`."""
        lib = arguments.get("lib") or arguments.get("qualname")
        if self.operator(lib, bound) is not None:
            operator = self.operator(lib, bound)
            types = arguments.get("name") or arguments.get("types")
            function = target or arguments.get("key") or arguments.get("func")
            self.add(_kind(self.keys(types, bound)), operator or "", function, lib or node)
            return
        name = arguments.get("name")
        library = self.library(lib, bound)
        text = self.operator(name, bound) or self.source.text_of(name, bound)
        if library is None or text is None:
            self.unclear(node, bound)
            return
        keys = self.keys(arguments.get("key") or arguments.get("dispatch_key"), bound) or [library[1]]
        operator = text if "::" in text else f"{library[0]}::{text}"
        self.add(_kind(keys), operator, target, name or node)

    def from_method(
        self, node: ast.Call, method: ast.Attribute, target: ast.AST | None, bound: dict[str, ast.expr]
    ) -> None:
        if method.attr in ("register_fake", "register_kernel"):
            operator = self.custom_ops.get(ast.unparse(method.value))
            if operator:
                kind = Kind.FAKE if method.attr == "register_fake" else Kind.KERNEL
                arguments = bind(node, ("fn",) if kind is Kind.FAKE else ("device_types", "fn"))
                self.add(kind, operator, target or arguments.get("fn"), node)
            return
        if method.attr not in _METHODS:
            return
        library = self.library(method.value, bound)
        arguments = bind(node, _METHODS[method.attr])
        if library is None:
            # Plenty of things have a method called `impl` or `define`; only one given a key is surely this.
            if len(arguments) == 3 or method.attr == "_register_fake":
                self.unclear(node, bound)
            return
        if method.attr == "define":
            schema = self.source.text_of(_schema(node), bound)
            if schema:
                self.found.defined.add(_split(f"{library[0]}::{schema.partition('(')[0].strip()}"))
            return
        name = arguments.get("op_name")
        text = self.operator(name, bound) or self.source.text_of(name, bound)
        if text is None:
            self.unclear(node, bound)
            return
        keys = self.keys(arguments.get("dispatch_key"), bound) or [library[1]]
        kind = Kind.FAKE if method.attr == "_register_fake" else _kind(keys)
        operator = text if "::" in text else f"{library[0]}::{text}"
        self.add(kind, operator, target or self.bound(arguments.get("fn"), bound), name or node)

    def converter(self, node: ast.Call, target: ast.AST | None, bound: dict[str, ast.expr]) -> None:
        of = node.args[0] if node.args else None
        operator = self.operator(of, bound)
        if operator is None:
            # torchair has converters of Python functions, too: operator.add, torch.sym_sqrt.
            if of is None or not self.source.dotted(of) or (isinstance(of, ast.Name) and of.id in self.outer):
                self.unclear(node, bound)
        else:
            self.add(Kind.CONVERTER, operator, target, node.args[0])
            if re.fullmatch(r"torch\.ops(\.\w+){2}", self.source.dotted(node.args[0])):
                self.found.packets.append((operator, self.source.mark(node.args[0])))

    def direct(self, node: ast.Call) -> None:
        arguments = bind(node, ("op_name", "op_func", "mutates_args", "fake_impl", "target_lib"))
        name = self.source.text_of(arguments.get("op_name"))
        if name is None:
            self.unclear(node, {})
            return
        library = self.library(arguments.get("target_lib"), {}) or ("vllm", "")
        self.found.defined.add((library[0], name))
        self.mutates(f"{library[0]}::{name}", node)
        for key, kind in (("op_func", Kind.KERNEL), ("fake_impl", Kind.FAKE)):
            if key in arguments:
                self.add(kind, f"{library[0]}::{name}", arguments[key], arguments["op_name"])

    def mutates(self, operator: str, node: ast.Call) -> None:
        """Keep what `mutates_args` lists; "unknown", which is all tensors, and computed ones say nothing."""
        value = next((k.value for k in node.keywords if k.arg == "mutates_args"), None)
        if not isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            return
        names = [item.value if isinstance(item, ast.Constant) else None for item in value.elts]
        written = tuple(name for name in names if isinstance(name, str))
        if len(written) == len(names):
            namespace, name = _split(operator)
            self.found.mutates.append(Mutates(namespace, name, written, self.source.mark(value), self.source))

    def helper(
        self, node: ast.Call, helper: ast.FunctionDef | ast.AsyncFunctionDef, target: ast.AST | None
    ) -> None:
        """A function of the file that registers what it is given: follow the call into it, one level deep."""
        bound = bind(node, _parameters(helper))
        defaults = helper.args.defaults
        positional = [*helper.args.posonlyargs, *helper.args.args]
        for argument, default in zip(positional[len(positional) - len(defaults) :], defaults):
            bound.setdefault(argument.arg, default)
        for part in ast.walk(helper):
            if isinstance(part, ast.Call) and _last(self.source, part.func) in _INTERESTING:
                names = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                if names & bound.keys():
                    before = len(self.found.registrations)
                    self.registration(part, target, bound)
                    # The place to show is the call, not the helper.
                    self.found.registrations[before:] = [
                        Registration(
                            r.kind,
                            r.namespace,
                            r.name,
                            r.function,
                            self.source.mark(node),
                            r.source,
                            r.branches,
                        )
                        for r in self.found.registrations[before:]
                    ]

    # What the parts of a call mean

    def library(self, node: ast.expr | None, bound: dict[str, ast.expr]) -> tuple[str, str] | None:
        if node is None:
            return None
        if isinstance(node, ast.Name) and node.id in bound:
            node = bound[node.id]
        written = ast.unparse(node)
        if written not in self.libraries and isinstance(node, ast.Name):
            imported = imported_library(self.source, node.id)
            if imported:
                self.libraries[written] = imported
        return self.libraries.get(written)

    def operator(self, node: ast.expr | None, bound: dict[str, ast.expr]) -> str | None:
        """`ns::name.overload` of a text or of `torch.ops.ns.name.overload`."""
        if isinstance(node, ast.Name) and node.id in bound:
            node = bound[node.id]
        text = self.source.text_of(node, bound)
        if text is not None:
            return text if "::" in text else None
        if isinstance(node, ast.Call) and self.source.dotted(node.func) == "getattr" and len(node.args) > 1:
            of, name = self.source.dotted(node.args[0]), self.source.text_of(node.args[1], bound)
            dotted = f"{of}.{name}" if of and name else ""
        else:
            dotted = self.source.dotted(node) if node is not None else ""
        # torchair's converters import the name `torch` from one of torchair's own modules.
        parts = dotted[dotted.find("torch.ops.") if "torch.ops." in dotted else 0 :].split(".")
        if parts[:2] == ["torch", "ops"] and len(parts) in (4, 5):
            overload = "" if parts[4:] in ([], ["default"]) else f".{parts[4]}"
            return f"{parts[2]}::{parts[3]}{overload}"
        return self.custom_ops.get(dotted)

    def keys(self, node: ast.expr | None, bound: dict[str, ast.expr]) -> list[str]:
        if isinstance(node, (ast.Tuple, ast.List)):
            return [key for item in node.elts for key in self.keys(item, bound)]
        text = self.source.text_of(node, bound)
        return [] if text is None else [text]

    def bound(self, node: ast.AST | None, bound: dict[str, ast.expr]) -> ast.AST | None:
        return bound[node.id] if isinstance(node, ast.Name) and node.id in bound else node

    def function(self, node: ast.AST | None) -> Function | None:
        """Give the function an expression names: the last one of that name above the registration."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return node
        if isinstance(node, ast.Name):
            return next(iter(self.source.functions.get(node.id, [])[-1:]), None)
        return None

    def unclear(self, node: ast.Call, bound: dict[str, ast.expr]) -> None:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if not bound and not names & self.outer:  # else it is the inside of a helper
            self.found.unclear.append(node)

    def add(self, kind: Kind, operator: str, function: ast.AST | None, at: ast.AST) -> None:
        namespace, name = _split(operator)
        mark = self.source.mark(at)
        registration = Registration(
            kind, namespace, name, self.function(function), mark, self.source, self.branches
        )
        if registration not in self.found.registrations[-4:]:
            self.found.registrations.append(registration)


def _schema(define: ast.Call) -> ast.expr | None:
    return bind(define, _METHODS["define"]).get("schema")


def _split(operator: str) -> tuple[str, str]:
    namespace, _, name = operator.partition("::")
    return namespace, name[: -len(".default")] if name.endswith(".default") else name


def _kind(keys: list[str]) -> Kind:
    return Kind.META if any(key.lower() == "meta" for key in keys) else Kind.KERNEL

"""`opkit.cache_dir`: a directory for `cache_compile` that changes when the operators change.

torchair and npugraph_ex (2.13) name their artifact after `str(module)`, the compile options and whether the
calls are dynamic. What an operator's schema, Meta kernel and converter were when it was made is not in that
name, and a hit runs none of them: the old artifact is taken without a word, and its results are the old ones.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from opkit import __version__
from opkit.errors import OpkitError

# Bumped when the digest takes in something else.
_FORMAT = "1"
_DIGITS = 20
# What a package computes with; compiled Python and the like follow from it.
_SOURCES = (".py", ".json", ".yaml", ".yml", ".so")
# What torch says about the kernels that fake tensors use, best first.
_META = re.compile(r"^(Meta|CompositeExplicitAutograd)(?: \(.*\))?: registered at (.*):\d+ ::", re.MULTILINE)
_CPP = (".cpp", ".cc", ".cxx", ".h")
# How many functions deep torch and torchair may wrap a kernel or a converter.
_WRAPPERS = 4
# Packages whose version is in every digest.
_VERSIONED = ("torch", "torch_npu")

Part = tuple[str, bytes]


def cache_dir(base: str | os.PathLike[str], *what: object) -> str:
    """Give the directory below `base` for what `cache_compile` makes of these operators.

        compiled = torchair.inference.cache_compile(model.forward, cache_dir=opkit.cache_dir("cache", my_ops))

    The name holds a digest of schema, Meta kernel and converter of each operator and of the versions of
    Python, torch, torch_npu, CANN and opkit: change one, and the next run compiles anew in another directory.
    `what` is any of these, and there must be at least one:

    * a module or package, such as one that `opkit gen` wrote: all its sources, prototypes and libraries;
    * an operator, `torch.ops.npu.my_op` or "npu::my_op", as it is registered now: its schemas, and the whole
      package (or the file) that registers the Meta kernel and the converter;
    * a path: an operator YAML with all files it names, a directory, a library that registers operators;
    * a class, such as the model's, or a function: the package or file that it is written in.

    Import what registers the operators first. Nothing is created.

    Raises OpkitError when something cannot be digested, such as an operator that does not exist, or one whose
    Meta kernel is C++ and whose library is not given: a directory that does not change would be no help.
    """
    name = hashlib.sha256()
    for label, content in sorted(set(digest_parts(what))):
        name.update(f"{label}\0{len(content)}\0".encode() + content)
    return str(Path(base) / f"opkit-{name.hexdigest()[:_DIGITS]}")


def digest_parts(what: Iterable[object]) -> Iterator[Part]:
    """List what the digest is made of, as (what it is, its content)."""
    items = tuple(what)
    if not items:
        raise OpkitError("cache_dir: no operator is given", "give the package that registers them")
    yield from _versions()
    # Where a library or a module is given as well, it is taken for what registers a C++ Meta kernel.
    alone = all(_is_operator(item) for item in items)
    for item in items:
        yield from _parts(item, alone)


def _parts(item: object, alone: bool) -> Iterable[Part]:
    if _is_operator(item):
        return _operator(item, alone)
    if isinstance(item, ModuleType):
        file = getattr(item, "__file__", None)
        if file is None:
            raise OpkitError(f"cache_dir: {item.__name__} has no file", "give the module that registers")
        return _source(Path(file))
    if isinstance(item, (str, os.PathLike)):
        return _path(Path(item))
    try:
        return _source(Path(inspect.getsourcefile(inspect.unwrap(item)) or ""))  # type: ignore[arg-type]
    except TypeError:
        text = f"cache_dir: {item!r} is no module, operator, path, class or function"
        raise OpkitError(text, "give the package that registers the operators") from None


def _versions() -> Iterator[Part]:
    import torch
    import torch_npu

    yield (
        "versions",
        repr(
            [
                _FORMAT,
                __version__,
                sys.version,
                torch.__version__,
                torch.version.git_version,
                torch_npu.__version__,
                getattr(torch_npu.version, "git_version", ""),
                torch_npu.npu.utils.get_cann_version(),
                torch_npu.npu.get_device_name(),
            ]
        ).encode(),
    )


# ---- operators


def _is_operator(item: object) -> bool:
    import torch

    if isinstance(item, str):
        return "::" in item and not Path(item).exists()
    return isinstance(item, (torch._ops.OpOverload, torch._ops.OpOverloadPacket))


def _operator(item: Any, alone: bool) -> Iterator[Part]:
    for overload in _overloads(item):
        name = overload._schema.name + (f".{overload._schema.overload_name}".rstrip("."))
        tags = sorted(map(str, overload.tags))
        yield f"schema of {name}", f"{overload._schema} {tags}".encode()
        for file in _meta_files(name, alone):
            yield from _source(file)
        converter = getattr(overload, "_ge_converter", None)
        for file in [] if converter is None else _files_of(converter):
            yield from _source(file)


def _overloads(item: Any) -> list[Any]:
    """List the overloads of a packet, an overload or a name."""
    import torch

    if isinstance(item, torch._ops.OpOverload):
        return [item]
    if isinstance(item, str):
        namespace, _, rest = item.partition("::")
        base, _, overload = rest.partition(".")
        try:
            item = getattr(getattr(torch.ops, namespace), base)
            if overload:
                return [getattr(item, overload)]
        except AttributeError:
            text = f"cache_dir: there is no operator {namespace}::{rest}"
            raise OpkitError(text, "import what registers it first") from None
    return [getattr(item, name) for name in item.overloads()]


def _meta_files(name: str, alone: bool) -> list[Path]:
    """Find what registers the operator's Meta kernel; torch keeps the place, not always the function."""
    import torch
    from torch._library.simple_registry import singleton

    fake = singleton.find(name).fake_impl.kernel
    if fake is not None:
        return [*_files_of(fake.func), Path(fake.source.rpartition(":")[0])]
    kernels = dict(_META.findall(torch._C._dispatch_dump(name)))
    place = kernels.get("Meta") or kernels.get("CompositeExplicitAutograd")
    if place is None:
        return []  # Without a Meta kernel there is no graph, and no artifact either.
    if not place.endswith(_CPP):
        return [Path(place)]
    if alone:
        text = f"cache_dir: the Meta kernel of {name} is C++, of a library that is not given"
        raise OpkitError(text, "give the library as well: its path, or the package it comes with")
    return []


def _files_of(function: Any, depth: int = 0) -> list[Path]:
    """List the files of a function and of those inside its closure: torch wraps what it registers."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    files = [Path(code.co_filename)]
    for inner in inspect.getclosurevars(function).nonlocals.values() if depth < _WRAPPERS else ():
        if inspect.isfunction(inner):
            files += _files_of(inner, depth + 1)
    return files


# ---- files


def _path(path: Path) -> Iterator[Part]:
    if path.suffix in (".yaml", ".yml") and path.is_file():
        for file in [path, *_named_files(path)]:
            yield from _file(file, path.resolve().parent)
    elif path.is_dir():
        yield from _tree(path)
    else:
        yield from _file(path, path.parent)


def _source(file: Path) -> Iterable[Part]:
    """Give the package that a source file belongs to, or the file alone if it belongs to none."""
    root = file.resolve().parent
    if not (root / "__init__.py").is_file() or not file.is_file():
        return _file(file, file.parent)
    while (root.parent / "__init__.py").is_file():
        root = root.parent
    # The version that is in the digest says more than hundreds of files would.
    return () if root.name in _VERSIONED and _is_installed(root) else _tree(root)


def _is_installed(root: Path) -> bool:
    module = sys.modules.get(root.name)
    return module is not None and Path(module.__file__ or "").resolve().parent == root


def _tree(root: Path) -> Iterator[Part]:
    for file in sorted(root.rglob("*")):
        if file.suffix in _SOURCES and file.is_file():
            yield from _file(file, root.parent)


def _file(file: Path, root: Path) -> Iterator[Part]:
    try:
        content = file.read_bytes()
    except OSError as error:
        # What opkit registers in memory has lines and no file.
        content = "".join(linecache.getlines(str(file))).encode()
        if not content:
            raise OpkitError(f"cache_dir: cannot read {file}: {error.strerror}", "check the path") from error
    name = os.path.relpath(file.resolve(), root.resolve())
    yield f"file {name}", content


def _named_files(yaml: Path) -> list[Path]:
    """List the files that a YAML file names: prototypes, references, kernels, Python rules, converters."""
    from opkit.prove.plan import read

    found: list[Path] = []
    for spec in read(str(yaml)).operators:
        entries = [spec.reference, spec.kernel, spec.meta.python if spec.meta else None]
        entries += [spec.ge.converter if spec.ge else None]
        names = [entry.module for entry in entries if entry is not None]
        found += [_module_file(name, yaml) for name in names]
        if spec.ge is not None and spec.ge.prototype is not None:
            found.append(yaml.parent / spec.ge.prototype)
    return list(dict.fromkeys(found))


def _module_file(name: str, yaml: Path) -> Path:
    from importlib.util import find_spec

    if name.endswith(".py"):
        return yaml.parent / name
    found = find_spec(name)
    if found is None or found.origin is None:
        raise OpkitError(f"cache_dir: {yaml} names the module {name}, which is not there", "install it")
    return Path(found.origin)

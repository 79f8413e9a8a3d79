"""Build the stand-in's libraries, once for an installed torch_npu, with the system's C++ compiler."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opkit.cann import cache
from opkit.cann.cache import MANIFEST, cache_root
from opkit.cann.errors import BuildError
from opkit.cann.wheels import Wheels

__all__ = ["CORE", "MANIFEST", "cache_root", "find_build", "find_compiler", "library_directory"]

CORE = "libopkit_standin.so"
NATIVE = Path(__file__).parent / "native"
_COMPILERS = ("c++", "g++", "clang++")
_FLAGS = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-pthread")


def extra_flags() -> list[str]:
    """Give the flags of $OPKIT_CXXFLAGS, such as -fsanitize=address to test the stand-in itself."""
    return shlex.split(os.environ.get("OPKIT_CXXFLAGS", ""))


def find_compiler() -> str | None:
    """Find a C++ compiler: $CXX, else the first of c++, g++ and clang++ on PATH; None if there is none."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else list(_COMPILERS)
    return next((found for found in map(shutil.which, names) if found), None)


def library_directory(wheels: Wheels, own_kernels: Sequence[str] = ()) -> Path:
    """Give the directory of the built libraries, building them on first use.

    `own_kernels` are aclnn kernels that can be launched besides those which the wheel knows.

    Safe among processes: one builds, the others wait for it, and a build that is killed leaves nothing that
    could be taken for one.

    Raises:
        BuildError: there is no compiler, it fails, or the cache directory cannot be written.
    """
    found = find_build(wheels, own_kernels)
    if found is not None:
        cache.touch(found / MANIFEST)
        return found
    compiler = find_compiler()
    if compiler is None:
        raise BuildError("no C++ compiler found to build the stand-in for CANN's libraries", compiler_help())
    target = cache.cache_root() / f"standin-{_wheel_key(wheels, own_kernels)}-{_compiler_key(compiler)}"
    with cache.locked(target):
        if not cache.is_whole(target):
            _build(target, compiler, wheels, own_kernels)
            cache.prune(target)
    return target


def find_build(wheels: Wheels, own_kernels: Sequence[str] = ()) -> Path | None:
    """Find a finished build for the wheels: this compiler's, or any if there is no compiler; else None."""
    compiler = find_compiler()
    key = _wheel_key(wheels, own_kernels)
    name = f"standin-{key}-{_compiler_key(compiler) if compiler else '*'}"
    root = cache.cache_root()
    cache.require_private(root)
    found = [path for path in sorted(root.glob(name)) if cache.is_whole(path)]
    return found[-1] if found else None


def compiler_help() -> str:
    """Say how to get a C++ compiler."""
    asked = os.environ.get("CXX")
    if asked:
        return f"CXX is set to {asked!r}, which is not a program on PATH; unset it or install that compiler"
    return "install one: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora, openEuler)"


def _digest(parts: Sequence[bytes | str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{path.name} {status.st_size} {status.st_mtime_ns}"


def _wheel_key(wheels: Wheels, own_kernels: Sequence[str]) -> str:
    sources = [path.name.encode() + path.read_bytes() for path in sorted(NATIVE.iterdir()) if path.is_file()]
    generator = (Path(__file__).with_name("symbols.py")).read_bytes()
    elf_files = sorted(wheels.torch_npu.directory.glob("lib/*.so"))
    return _digest(
        [
            *sources,
            generator,
            wheels.torch.version,
            wheels.torch_npu.version,
            platform.machine(),
            *map(_stamp, elf_files),
            *own_kernels,
            *extra_flags(),
        ]
    )


def _compiler_key(compiler: str) -> str:
    real = Path(compiler).resolve()
    return _digest([str(real), _stamp(real)])[:8]


def _build(target: Path, compiler: str, wheels: Wheels, own_kernels: Sequence[str]) -> None:
    # Anything of this name is left over from a build that was killed: whoever holds the lock may remove it.
    for stale in target.parent.glob(f"{target.name}.building-*"):
        shutil.rmtree(stale, ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    work: Path | None = None
    try:
        work = Path(tempfile.mkdtemp(prefix=f"{target.name}.building-", dir=target.parent))  # mode 0700
        libraries = _build_in(work, compiler, wheels, own_kernels)
        cache.write_manifest(work, torch_npu=wheels.torch_npu.version, compiler=compiler, libraries=libraries)
        work.rename(target)
    except OSError as error:
        raise BuildError(
            f"cannot build the stand-in in {target.parent}: {error.strerror or error}",
            "free some space there (a build takes 20 MB) and in /tmp, or set OPKIT_CACHE_DIR elsewhere",
        ) from error
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)


def _build_in(work: Path, compiler: str, wheels: Wheels, own_kernels: Sequence[str]) -> tuple[str, ...]:
    from opkit.cann import symbols

    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        names = pool.submit(symbols.discover, wheels.torch_npu.directory, wheels.torch.directory)
        objects = list(
            pool.map(lambda source: _compile(compiler, source, work), sorted(NATIVE.glob("*.cpp")))
        )
        wanted = names.result()
    implemented = frozenset().union(*(symbols.defined_in_object(path) for path in objects))
    stubs = work / "stubs.cpp"
    stubs.write_text(symbols.stub_source(wanted, implemented, own_kernels))
    objects.append(_compile(compiler, stubs, work, optimise="-O0"))
    core = str(work / CORE)
    _run(
        [
            compiler,
            "-shared",
            "-pthread",
            *extra_flags(),
            f"-Wl,-soname,{CORE}",
            "-o",
            core,
            *map(str, objects),
        ]
    )
    empty = work / "empty.cpp"
    empty.write_text("")
    for library in wanted.libraries:
        _link_thin(compiler, work, library, empty)
    for path in [*objects, stubs, empty]:
        path.unlink()
    return wanted.libraries


def _compile(compiler: str, source: Path, work: Path, optimise: str = "-O1") -> Path:
    target = work / f"{source.stem}.o"
    flags = [*_FLAGS, optimise, *extra_flags()]
    _run([compiler, *flags, f"-I{NATIVE}", "-c", str(source), "-o", str(target)])
    return target


def _link_thin(compiler: str, work: Path, library: str, empty: Path) -> None:
    # dlsym on this library's handle finds the core's symbols, because it needs the core.
    _run(
        [
            compiler, "-shared", "-fPIC", f"-Wl,-soname,{library}", "-Wl,--no-as-needed",
            "-Wl,-rpath,$ORIGIN", "-o", str(work / library), str(empty), str(work / CORE),
        ]
    )  # fmt: skip


def _run(command: list[str]) -> None:
    plain = {**os.environ, "LC_ALL": "C"}  # messages that can be recognised
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    if done.returncode:
        full = os.strerror(errno.ENOSPC)
        if full in done.stderr:
            raise OSError(errno.ENOSPC, full)
        said = [
            line for line in done.stderr.splitlines() if "error" in line.lower()
        ] or done.stderr.splitlines()
        raise BuildError(
            "the C++ compiler cannot build the stand-in: " + "\n    ".join(said[:5]),
            f"the command was: {' '.join(command)}",
        )

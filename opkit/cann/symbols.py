"""What an installed torch_npu wants of CANN, read from its ELF files, and stubs for what is missing.

The names differ from wheel to wheel, so nothing here is a list of CANN's functions: the wheel itself says
which libraries it loads, which symbols it leaves undefined and which names it looks up at run time.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

# Opened with dlopen at run time, so that no NEEDED entry names them.
OPENED_LATE = ("libopapi.so", "libatb.so", "libge_runner.so", "libnnopbase.so")

# Names that the wheel looks up and whose absence it reads as "this CANN is too old for that feature"; it then
# takes the path that the stand-in implements. A stub that refuses would take the feature's path and fail
# there.
LEFT_OUT = {
    "GeSessionLoadGraph": "torchair then runs graphs by ge::Session::RunGraphWithStreamAsync",
    "GeSessionExecuteGraphWithStreamAsync": "as above",
    "GEStreamAllocationSummaryGetStringInfos": "torchair then prints no stream report",
    "GeSessionGraphDebugJSONPrint": "torchair then prints no json report",
    "aclnnSetPytorchRandom": "torch_npu then keeps its own random numbers",
}

# In .rodata, a name that is looked up stands alone between two NULs.
_LOOKED_UP = re.compile(
    rb"(?<=\0)(acl[A-Za-z0-9_]*[A-Z][A-Za-z0-9_]*|Hcc[lm][A-Z][A-Za-z0-9_]*|Atb[A-Z][A-Za-z0-9_]*)(?=\0)"
)
_WORKSPACE, _MAX_WORKSPACE = "GetWorkspaceSize", "GetMaxWorkspaceSize"
# Functions that return a pointer (or a count): the refusal must be a null, not an error code.
_RETURNS_POINTER = re.compile(r"acl(prof|tdt|op|Profiling)?Create|acltdtGet|aclGet|aclmdlCreate|aclopCreate")
_HCCL_NOT_SUPPORTED, _ACL_NOT_SUPPORTED = 5, 207000


@dataclass(frozen=True)
class ElfFile:
    """The dynamic symbols of one shared object."""

    needed: tuple[str, ...]
    undefined: frozenset[str]
    defined: frozenset[str]
    looked_up: frozenset[str]


@dataclass(frozen=True)
class CannNames:
    """What the wheel wants of CANN: libraries, linked symbols, and names looked up at run time."""

    libraries: tuple[str, ...]
    linked: tuple[str, ...]
    looked_up: tuple[str, ...]


def read_elf(path: Path, strings: bool = False) -> ElfFile:
    """Read a shared object's NEEDED entries and dynamic symbols; with `strings` the names it may look up."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        needed = (
            ()
            if dynamic is None
            else tuple(tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED")
        )
        undefined, defined = set(), set()
        for name, is_defined, is_weak in _dynamic_symbols(elf):
            if is_defined:
                defined.add(name)
            elif not is_weak:
                undefined.add(name)
        looked_up: set[str] = set()
        if strings:
            # Some linkers leave string constants in sections of their own beside .rodata.
            data = [section.data() for section in elf.iter_sections() if section.name.startswith(".rodata")]
            looked_up = {name.decode() for name in _LOOKED_UP.findall(b"\0" + b"\0".join(data) + b"\0")}
    return ElfFile(needed, frozenset(undefined), frozenset(defined), frozenset(looked_up))


def _dynamic_symbols(elf: ELFFile) -> Iterator[tuple[str, bool, bool]]:
    # Unpacked by hand: pyelftools makes an object of each of libtorch's 100,000 symbols, which takes seconds.
    table = elf.get_section_by_name(".dynsym")
    if table is None:
        return
    names = elf.get_section(table["sh_link"]).data()
    order = "<" if elf.little_endian else ">"
    for offset, info, _, section, _, _ in struct.iter_unpack(order + "IBBHQQ", table.data()):
        end = names.index(b"\0", offset)
        if end > offset:
            yield names[offset:end].decode(), section != 0, info >> 4 == 2


def discover(torch_npu: Path, torch: Path) -> CannNames:
    """Read from the installed wheels what torch_npu wants of CANN.

    A linked symbol is CANN's if neither the wheel itself, nor torch, nor the system's C and C++ libraries,
    nor Python has it; a library is CANN's if it is none of theirs.
    """
    wheel = {path: read_elf(path, strings=True) for path in sorted(torch_npu.rglob("*.so"))}
    own = {name for elf in wheel.values() for name in elf.defined}
    candidates = {name for elf in wheel.values() for name in elf.undefined} - own
    torch_files = [*sorted((torch / "lib").glob("*.so*")), *sorted(torch.glob("_C*.so"))]
    for path in torch_files:
        candidates -= read_elf(path).defined
    known_files = {path.name for path in [*wheel, *torch_files]}
    needed = {name for elf in wheel.values() for name in elf.needed} - known_files
    libraries = {name for name in needed if not _is_system_library(name)} | set(OPENED_LATE)
    looked_up = {name for elf in wheel.values() for name in elf.looked_up}
    return CannNames(
        tuple(sorted(libraries)), tuple(sorted(_not_of_the_system(candidates))), tuple(sorted(looked_up))
    )


def _is_system_library(name: str) -> bool:
    return bool(
        re.match(
            r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp|ld-linux.*|libpython.*)\.so",
            name,
        )
    )


def _not_of_the_system(names: Iterable[str]) -> list[str]:
    system = [ctypes.CDLL(None)]  # Python and the C library
    for name in ("libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "librt.so.1", "libdl.so.2"):
        try:
            system.append(ctypes.CDLL(name))
        except OSError:
            continue  # not on this system, so nothing can come from it
    python = re.compile(r"_?Py[A-Z_]")
    # libpython is a library of its own on some systems and part of the program on others.
    return [n for n in names if not python.match(n) and not n.startswith("__") and not _has_any(system, n)]


def _has_any(libraries: Iterable[ctypes.CDLL], name: str) -> bool:
    return any(hasattr(library, name) for library in libraries)


def kernels(names: Iterable[str]) -> list[str]:
    """Give the kernels among looked-up names: each X that comes with XGetWorkspaceSize, its first step."""
    first_steps = (name for name in names if name.endswith(_WORKSPACE))
    return sorted({name[: -len(_WORKSPACE)] for name in first_steps} - set(LEFT_OUT))


def stub_source(names: CannNames, implemented: frozenset[str], own_kernels: Iterable[str] = ()) -> str:
    """Write C++ source with a stub for every wanted name that is not implemented.

    A C function refuses by name and answers "not supported", a C++ function throws, and a kernel becomes a
    task of its stream that computes nothing and is counted as such. `own_kernels` are the user's
    kernels, which the wheel does not know.
    """
    launched = sorted({*kernels(names.looked_up), *own_kernels} - implemented)
    steps = {name + step for name in launched for step in ("", _WORKSPACE, _MAX_WORKSPACE)}
    # A class of libatb is a name like its kernels', but without a first step: nothing looks it up.
    looked_up = {name for name in names.looked_up if not name.startswith("Atb")}
    wanted = {*names.linked, *looked_up} - implemented - steps - set(LEFT_OUT)
    lines = [_STUB_HEADER]
    for name in sorted(wanted):
        if name.startswith("_Z"):
            lines.append(f"CXX({name})")
        elif name.startswith("Hc"):
            lines.append(f"C({name}, {_HCCL_NOT_SUPPORTED})")
        else:
            lines.append(f"C({name}, {0 if _RETURNS_POINTER.match(name) else _ACL_NOT_SUPPORTED})")
    lines += [f"{'ATB_' if name.startswith('Atb') else ''}KERNEL({name})" for name in launched]
    return "\n".join(lines) + "\n"


_STUB_HEADER = r"""// Generated by opkit: what torch_npu wants of CANN and the stand-in does not have.
#include <cxxabi.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

extern "C" int opkit_unimplemented(const char* function, int code);
extern "C" void opkit_aclnn_prepare(const char* name, uint64_t first, va_list rest);
extern "C" int opkit_aclnn_launch(const char* name, void* stream);
extern "C" int opkit_atb_launch(const char* name, void* context);

[[noreturn]] static void opkit_throw(const char* symbol) {
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = plain ? plain : symbol;
  free(plain);
  opkit_unimplemented(name.c_str(), 207000);
  throw std::runtime_error("opkit stand-in: " + name + " is not implemented");
}

#define EXPORT extern "C" __attribute__((visibility("default")))
#define C(name, code) EXPORT int64_t name() { opkit_unimplemented(#name, 207000); return code; }
#define CXX(name) EXPORT void name() { opkit_throw(#name); }
#define PREPARE(name)                        \
  va_list rest;                              \
  va_start(rest, first);                     \
  opkit_aclnn_prepare(#name, first, rest);   \
  va_end(rest);                              \
  return 0;
// The two steps of an aclnn kernel: this one needs no workspace, and its launch computes nothing.
#define KERNEL(name)                                                       \
  EXPORT int name##GetWorkspaceSize(uint64_t first, ...) { PREPARE(name) } \
  EXPORT int name##GetMaxWorkspaceSize(uint64_t first, ...) { PREPARE(name) } \
  EXPORT int name(void*, uint64_t, void*, void* stream) { return opkit_aclnn_launch(#name, stream); }
// The same of libatb, with a context in place of a stream.
#define ATB_KERNEL(name)                                                   \
  EXPORT int name##GetWorkspaceSize(uint64_t first, ...) { PREPARE(name) } \
  EXPORT int name(void*, uint64_t, void*, void* context) { return opkit_atb_launch(#name, context); }
"""


def defined_in_object(path: Path) -> frozenset[str]:
    """Give the global symbols that a compiled object file defines and exports."""
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return frozenset(
            symbol.name
            for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["bind"] != "STB_LOCAL"
            and symbol["st_other"]["visibility"] == "STV_DEFAULT"
        )

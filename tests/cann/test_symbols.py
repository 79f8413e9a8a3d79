"""What is read from the installed wheel, and the stubs made of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opkit.cann.build import find_compiler
from opkit.cann.symbols import CannNames, discover, kernels, read_elf, stub_source
from opkit.cann.wheels import find_wheel

needs_wheel = pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed")
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def _library(tmp_path: Path, source: str) -> Path:
    (tmp_path / "x.cpp").write_text(source)
    target = tmp_path / "libx.so"
    compiler = find_compiler()
    assert compiler
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", tmp_path / "x.cpp", "-Wl,--no-as-needed", "-lm", "-o", target],
        check=True,
    )
    return target


@needs_compiler
def test_an_elf_file_tells_its_symbols_and_the_names_it_looks_up(tmp_path: Path) -> None:
    elf = read_elf(
        _library(
            tmp_path,
            """
            extern "C" int aclrtMissing(); extern "C" __attribute__((weak)) int aclrtWeak();
            extern "C" const char* look() { return "aclrtLookedUp"; }
            extern "C" const char* text() { return "call aclrtNotAName first"; }
            extern "C" int use() { return aclrtMissing() + (aclrtWeak ? 1 : 0); }
            """,
        ),
        strings=True,
    )
    assert {"look", "text", "use"} <= elf.defined
    assert "aclrtMissing" in elf.undefined
    assert "aclrtWeak" not in elf.undefined
    assert elf.looked_up == {"aclrtLookedUp"}
    assert any(name.startswith("libm.") for name in elf.needed)


def test_a_kernel_is_a_name_that_comes_with_its_first_step() -> None:
    names = ["aclnnAdd", "aclnnAddGetWorkspaceSize", "aclStft", "aclStftGetWorkspaceSize", "aclnnQuery"]
    assert kernels(names) == ["aclStft", "aclnnAdd"]


def test_each_kind_of_name_gets_its_kind_of_stub() -> None:
    names = CannNames(
        (),
        ("aclrtHave", "aclrtMiss", "_ZN2ge5Graph4LostEv"),
        (
            "HcclSend",
            "aclprofCreateConfig",
            "aclnnAdd",
            "aclnnAddGetWorkspaceSize",
            "GeSessionLoadGraph",
            "AtbRing",
            "AtbRingGetWorkspaceSize",
            "AtbParam",
        ),
    )
    source = stub_source(names, frozenset({"aclrtHave"}), ["aclnnMine"])
    stubs = {line for line in source.splitlines() if line.endswith(")") and not line.startswith(("#", " "))}
    assert stubs == {
        "C(aclrtMiss, 207000)", "CXX(_ZN2ge5Graph4LostEv)", "C(HcclSend, 5)", "C(aclprofCreateConfig, 0)",
        "KERNEL(aclnnAdd)", "KERNEL(aclnnMine)",
        "ATB_KERNEL(AtbRing)",
    }  # fmt: skip


def test_an_implemented_kernel_gets_no_stub() -> None:
    names = CannNames((), (), ("aclnnAdd", "aclnnAddGetWorkspaceSize"))
    source = stub_source(names, frozenset({"aclnnAdd", "aclnnAddGetWorkspaceSize"}))
    assert "(aclnnAdd)" not in source


@needs_wheel
def test_the_installed_wheel_wants_cann_and_nothing_else() -> None:
    torch_npu, torch = find_wheel("torch_npu"), find_wheel("torch")
    assert torch_npu
    assert torch
    names = discover(torch_npu.directory, torch.directory)
    assert {"libascendcl.so", "libhccl.so", "libge_runner.so", "libgraph.so", "libopapi.so"} <= set(
        names.libraries
    )
    assert not [
        name for name in names.libraries if name.startswith(("libtorch", "libc10", "libstdc++", "libm."))
    ]
    assert {"aclrtMalloc", "aclrtSynchronizeStream"} <= set(names.linked)
    assert not [name for name in names.linked if name.startswith(("_ZN2at", "_ZN3c10", "_ZSt", "Py"))]
    assert "malloc" not in names.linked
    assert {"aclnnRmsNorm", "aclmdlRICaptureBegin"} <= set(names.looked_up)

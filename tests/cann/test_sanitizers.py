"""The native part under AddressSanitizer and UBSan, by the tests that use it without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from acl_process import FORK
from standin_process import environment

from opkit.cann.build import find_compiler
from opkit.cann.wheels import find_wheel

HERE = Path(__file__).parent
# Freed memory stays in quarantine, so what is in use grows; the modes of a capture share their code.
_KEPT = "not does_not_grow and not THREAD_LOCAL"
FLAGS = "-O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"


def _library_of(compiler: str, name: str) -> str:
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.npu
@pytest.mark.sanitizers
@pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed")
def test_native_tests_under_sanitizers(tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler
    runtimes = [_library_of(compiler, name) for name in ("libasan.so", "libubsan.so")]
    if not all(Path(path).is_absolute() for path in runtimes):
        pytest.skip(f"{compiler} has no sanitizer runtime")
    changes = {
        "OPKIT_CACHE_DIR": str(tmp_path),
        "OPKIT_CXXFLAGS": FLAGS,
        FORK: "1",
        "LD_PRELOAD": " ".join(runtimes),
        # One check asks for its leaks (acl_process.py), another asks for more memory than there is.
        "ASAN_OPTIONS": "leak_check_at_exit=0:allocator_may_return_null=1",
    }
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-o", "addopts=", "-k", _KEPT, str(HERE / "test_acl.py"), str(HERE / "test_capture.py"),
        ],
        env=environment(changes), cwd=HERE.parent.parent,
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    (build,) = tmp_path.glob("standin-*/libopkit_standin.so")
    assert b"__asan_" in build.read_bytes()

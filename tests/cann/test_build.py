"""Building the stand-in: once, by one process, whole or not at all, and with errors that say what to do."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from standin_process import environment, run_python

from opkit.cann import build
from opkit.cann.cache import MANIFEST, is_whole, locked, prune, write_manifest
from opkit.cann.errors import BuildError
from opkit.cann.wheels import Wheel, Wheels, find_wheel

BUILD = "from opkit.cann.load import ensure_runtime; print(ensure_runtime().library_dir)"
npu = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]


@pytest.fixture
def fake_wheels(tmp_path: Path) -> Wheels:
    """Give wheels that hold nothing: a build of them needs no torch."""
    for name in ("torch", "torch_npu"):
        (tmp_path / name).mkdir()
    return Wheels(
        Wheel("torch", "2.13.0", tmp_path / "torch"), Wheel("torch_npu", "2.13.0", tmp_path / "torch_npu")
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv("OPKIT_CACHE_DIR", str(root))
    monkeypatch.delenv("CXX", raising=False)
    return root


def test_no_compiler_is_said_with_the_command_that_mends_it(
    fake_wheels: Wheels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError) as caught:
        build.library_directory(fake_wheels)
    assert "no C++ compiler" in caught.value.message
    assert "apt-get install g++" in caught.value.help


def test_a_wrong_cxx_is_named(fake_wheels: Wheels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BuildError) as caught:
        build.library_directory(fake_wheels)
    assert "no-such-compiler" in caught.value.help


def test_a_compiler_that_fails_shows_its_first_errors_and_leaves_nothing(
    fake_wheels: Wheels, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "broken-cxx"
    compiler.write_text("#!/bin/sh\necho 'x.cpp:1: error: out of luck' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(BuildError, match="out of luck"):
        build.library_directory(fake_wheels)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    assert build.find_build(fake_wheels) is None


def test_a_cache_that_cannot_be_written_is_named(fake_wheels: Wheels, cache: Path) -> None:
    cache.write_text("a file, not a directory")
    with pytest.raises(BuildError) as caught:
        build.library_directory(fake_wheels)
    assert str(cache) in caught.value.message
    assert "OPKIT_CACHE_DIR" in caught.value.help


def test_a_build_outlives_its_compiler(
    fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = _place(cache, fake_wheels)
    _fake_build(done)
    monkeypatch.setenv("PATH", "")
    assert build.library_directory(fake_wheels) == done
    assert build.find_build(fake_wheels, ("aclnnMine",)) is None


def _place(cache: Path, wheels: Wheels) -> Path:
    compiler = build.find_compiler()
    assert compiler
    return cache / f"standin-{build._wheel_key(wheels, ())}-{build._compiler_key(compiler)}"


def _fake_build(directory: Path) -> None:
    directory.mkdir(parents=True, mode=0o700)
    (directory / build.CORE).write_bytes(b"library")
    write_manifest(directory, torch_npu="2.13.0", compiler="c++", libraries=[build.CORE])


def test_a_corrupt_build_is_not_loaded(tmp_path: Path) -> None:
    done = tmp_path / "standin-a"
    _fake_build(done)
    assert is_whole(done)
    for spoil in (
        lambda: (done / build.CORE).write_bytes(b"libraru"),
        lambda: (done / build.CORE).unlink(),
        lambda: (done / MANIFEST).write_text('{"libraries": ["libx.so"], "digests": {}}'),
        lambda: (done / MANIFEST).write_text("["),
    ):
        spoil()
        assert not is_whole(done)


def test_the_cache_is_private(fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "true")  # "compiles" nothing, so the build fails after the cache is made
    with pytest.raises(BuildError):
        build.library_directory(fake_wheels)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    cache.chmod(0o777)
    with pytest.raises(BuildError, match="everybody may write"):
        build.library_directory(fake_wheels)


def test_a_finished_build_that_everybody_could_have_changed_is_refused(
    fake_wheels: Wheels, cache: Path
) -> None:
    done = _place(cache, fake_wheels)
    _fake_build(done)
    for directory in (cache, done):
        assert build.library_directory(fake_wheels) == done
        mode = directory.stat().st_mode
        directory.chmod(0o777)
        with pytest.raises(BuildError, match="everybody may write"):
            build.library_directory(fake_wheels)
        with pytest.raises(BuildError, match="everybody may write"), locked(directory / "new"):
            pass
        directory.chmod(mode)


def test_a_corrupt_build_is_built_again(
    fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = _place(cache, fake_wheels)
    _fake_build(done)
    (done / build.CORE).write_bytes(b"libraru")

    def compiled(work: Path, *_: object) -> tuple[str, ...]:
        (work / build.CORE).write_bytes(b"library")
        return (build.CORE,)

    monkeypatch.setattr(build, "_build_in", compiled)
    assert build.library_directory(fake_wheels) == done
    assert is_whole(done)
    monkeypatch.delattr(build, "_build_in")  # and not a third time
    assert build.library_directory(fake_wheels) == done


def test_one_of_two_builders_waits_and_takes_what_the_other_built(
    fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, waiting = [], threading.Barrier(2)

    def compiled(work: Path, *_: object) -> tuple[str, ...]:
        built.append(work)
        time.sleep(0.3)
        (work / build.CORE).write_bytes(b"library")
        return (build.CORE,)

    def nothing_yet(*_: object) -> None:
        waiting.wait(timeout=60)  # both have looked before one of them builds

    monkeypatch.setattr(build, "_build_in", compiled)
    monkeypatch.setattr(build, "find_build", nothing_yet)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(build.library_directory, [fake_wheels] * 2)
    assert first == second
    assert is_whole(first)
    assert len(built) == 1


def test_what_a_killed_build_left_goes_with_the_next_one(
    fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = _place(cache, fake_wheels)
    (cache / f"{done.name}.building-killed").mkdir(parents=True, mode=0o700)

    def compiled(work: Path, *_: object) -> tuple[str, ...]:
        (work / build.CORE).write_bytes(b"library")
        assert not is_whole(done)
        return (build.CORE,)

    monkeypatch.setattr(build, "_build_in", compiled)
    assert build.library_directory(fake_wheels) == done
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [done.name]


def test_the_cache_of_another_user_is_refused(
    fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    if cache.stat().st_uid == 0:  # root may have made it for everybody
        os.chown(cache, 12345, -1)
    with pytest.raises(BuildError, match="belongs to another user"):
        build.library_directory(fake_wheels)


def test_a_full_disk_is_said(fake_wheels: Wheels, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(build.tempfile, "mkdtemp", full)
    with pytest.raises(BuildError, match="No space left") as caught:
        build.library_directory(fake_wheels)
    assert "free some space" in caught.value.help


def test_a_disk_that_fills_up_under_the_compiler_is_said(
    fake_wheels: Wheels, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cxx"
    compiler.write_text(
        "#!/bin/sh\necho 'ld: final link failed: No space left on device' >&2\n"
        "echo 'collect2: error: ld returned 1 exit status' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(BuildError, match="No space left") as caught:
        build.library_directory(fake_wheels)
    assert "free some space" in caught.value.help
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_old_builds_go_and_those_in_use_stay(cache: Path) -> None:
    now, day = time.time(), 86400
    for number in range(8):
        path = cache / f"standin-{number}"
        _fake_build(path)
        days = 40 if number == 7 else 0.1 if number == 6 else number + 2
        os.utime(path / MANIFEST, (now - days * day, now - days * day))
    held = (cache / "standin-5.lock").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    # In order of their last use: 6, then 0 1 2 (the newest four); 3 and 4 go; 5 is locked; 7 is too old.
    prune(cache / "standin-4")
    left = {path.name for path in cache.iterdir() if path.is_dir()}
    assert left == {f"standin-{number}" for number in (6, 0, 1, 2, 4, 5)}
    held.close()
    prune(cache / "standin-4")
    assert not (cache / "standin-5").exists()


class TestRealBuild:
    pytestmark = npu

    def test_two_processes_build_once_and_a_third_finds_it(self, cache: Path) -> None:
        command = [sys.executable, "-c", BUILD]
        both = [
            subprocess.Popen(
                command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        outputs = [process.communicate(timeout=300) for process in both]
        assert [process.returncode for process in both] == [0, 0], outputs
        first, second = (Path(output[0].strip()) for output in outputs)
        assert first == second
        assert [path for path in cache.iterdir() if path.is_dir()] == [first]
        manifest = json.loads((first / build.MANIFEST).read_text())
        assert all((first / library).is_file() for library in manifest["libraries"])
        written = (first / build.MANIFEST).stat().st_mtime_ns
        started = time.monotonic()
        assert run_python(BUILD).stdout.strip() == str(first)
        assert time.monotonic() - started < 3
        assert (first / build.MANIFEST).stat().st_mtime_ns == written

    def test_a_killed_build_leaves_nothing_that_is_taken_for_one(self, cache: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", BUILD],
            env=environment(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not list(cache.glob("*.building-*/*.o")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert not list(cache.glob(f"*/{build.MANIFEST}")) or list(cache.glob("*.building-*"))
        assert list(cache.glob("*.building-*"))
        done = run_python(BUILD)
        assert done.returncode == 0, done.stderr
        assert not list(cache.glob("*.building-*"))
        assert (Path(done.stdout.strip()) / build.MANIFEST).is_file()

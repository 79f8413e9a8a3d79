"""Worker processes: each in a process group of its own, followed line by line, its cause of death kept.

A worker is `python -m MODULE REQUEST RESULT`. It reads one JSON object and writes one per line; what it
prints is kept apart, so that nothing torch prints can be taken for a finding.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.05
_OUTPUT_LINES = 12
_CGROUP_V1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
_OF_ALL_MEMORY = 0.8
_DAY = 24 * 3600.0
# How a worker's death begins that came from outside: somebody ended it, or the machine was out of memory.
ENDED_FROM_OUTSIDE = ("the process died of signal SIGKILL", "the process died of signal SIGTERM")
# How the death of one begins that was ended for what it used of memory.
OUT_OF_MEMORY = "it used more than"


_running: set[subprocess.Popen[bytes]] = set()
_running_lock = threading.Lock()


def end_workers() -> None:
    """End every worker that runs now, with all it started.

    For a caller that gives up: workers lead process groups of their own, so Ctrl-C does not reach them.
    """
    with _running_lock:
        processes = list(_running)
    for process in processes:
        _kill_group(process)


def run_together(actions: Sequence[Callable[[threading.Event], None]], at_once: int) -> None:
    """Run actions that start workers, some at once; the first exception ends all of them and is raised.

    An action looks at the event it is given before it starts a worker: it is set when all is to end.
    """
    if not actions:
        return
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=max(1, min(len(actions), at_once))) as pool:
        futures = [pool.submit(action, stop) for action in actions]
        try:
            # Not in turn: one that fails must not wait for those before it.
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:
            # Ctrl-C too: the pool waits for its threads, and those wait for their workers.
            stop.set()
            for future in futures:
                future.cancel()
            # A worker may be about to start in its thread, and not be there to be ended yet.
            while wait(futures, timeout=0.1).not_done:
                end_workers()
            raise


def cores() -> int:
    """Count the cores this process may use, which in a container are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_share(workers: int) -> int | None:
    """Give the bytes each of some workers may use: most of the machine's memory, or of the container's.

    None where the system does not tell. One that used more would take others with it.
    """
    limits = [_number(path) for path in ("/sys/fs/cgroup/memory.max", _CGROUP_V1)]
    try:
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        pass
    known = [limit for limit in limits if limit]
    return int(min(known) * _OF_ALL_MEMORY / workers) if known else None


def _number(path: str) -> int:
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0  # "max" is no limit.


def die_with_parent() -> None:
    """Have the kernel end this worker when the process that started it is gone, however that ended."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of linux/prctl.h
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def run_worker(
    module: str,
    request: Mapping[str, Any],
    take: Callable[[Mapping[str, Any]], None],
    timeout: float,
    environment: Mapping[str, str] | None = None,
    memory: int | None = None,
) -> str:
    """Run a worker to its end; `take` gets each line as it comes. Return "" or how it died.

    A worker that writes nothing for `timeout` seconds is killed, with everything it started, and so is one
    that uses more than `memory` bytes. Its address space has no limit: torch reserves far more than it uses.
    """
    _remove_old_folders()
    with tempfile.TemporaryDirectory(prefix=f"opkit-worker-{os.getpid()}-") as directory:
        folder = Path(directory)
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        (folder / "result.jsonl").touch()
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, os.getcwd(), module, "request.json", "result.jsonl"],
                cwd=folder,
                env={**worker_environment(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            with _running_lock:
                _running.add(process)
            try:
                ended = _follow(process, folder / "result.jsonl", take, timeout, memory)
            finally:
                _kill_group(process)
                with _running_lock:
                    _running.discard(process)
        tail = _last_lines((folder / "output").read_text(encoding="utf-8", errors="replace"))
    if ended:
        return f"{ended}; its process group was killed{tail}"
    if process.returncode:
        return f"the process died of {_death(process.returncode)}{tail}"
    return ""


def worker_environment() -> dict[str, str]:
    """Give a worker this environment, with opkit and what the user made importable from its own cwd."""
    environment = dict(os.environ)
    package_root = str(Path(__file__).resolve().parents[1])
    own = [os.path.abspath(path) for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([package_root, *own]))
    # The worker loads the runtime libraries itself before torch looks for its backends.
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    # Warnings made errors would be those of torch and torch_npu, which say nothing about an operator.
    environment.pop("PYTHONWARNINGS", None)
    # Where CI is set torch raises instead of warning for results that alias an argument
    # (torch._functorch.config.error_on_custom_op_aliasing), as torch_npu's attention has them. A verdict must
    # not depend on where it is given.
    environment.pop("CI", None)
    return environment


def _enter(directory: str, module: str, *arguments: str) -> None:
    """Become the worker `module`, with the directory of the user's command importable.

    It comes last on the path: on PYTHONPATH a `yaml.py` or `torch.py` there would take the place of the real
    one.
    """
    die_with_parent()
    sys.path.append(directory)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _remove_old_folders() -> None:
    """Remove what commands left that could not clean up: folders of processes that are long gone."""
    for folder in Path(tempfile.gettempdir()).glob("opkit-worker-*"):
        try:
            old = folder.stat().st_uid == os.getuid() and time.time() - folder.stat().st_mtime > _DAY
        except OSError:
            continue  # Another process removed it just now.
        pid = folder.name.split("-")[2]
        if old and not (pid.isdigit() and Path(f"/proc/{pid}").exists()):
            shutil.rmtree(folder, ignore_errors=True)


def _follow(
    process: subprocess.Popen[bytes],
    path: Path,
    take: Callable[[Mapping[str, Any]], None],
    timeout: float,
    memory: int | None,
) -> str:
    """Hand over each line as it comes; return why the worker must be ended, "" when it ended by itself."""
    last_news = time.monotonic()
    rest = b""
    with path.open("rb") as stream:
        while True:
            running = process.poll() is None
            if memory is not None and running and resident(process.pid) > memory:
                return f"{OUT_OF_MEMORY} {memory / 2**30:.3g} GiB of memory"
            data = stream.read()
            if data:
                last_news = time.monotonic()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    take(json.loads(line))
            elif not running:
                return ""
            elif time.monotonic() - last_news > timeout:
                return f"no answer within {timeout:g} s"
            else:
                time.sleep(_POLL_SECONDS)


def resident(pid: int) -> int:
    """Give the bytes of memory that a process has for itself; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0  # It has just ended, or there is no /proc.
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    # Without the libraries, which all workers share.
    parts = (fields.get(name, "0 kB").split()[0] for name in ("RssAnon", "RssShmem"))
    return sum(int(part) * 1024 for part in parts)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the worker's own process group, compilers it started included."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _death(code: int) -> str:
    if code < 0:
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _last_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()][-_OUTPUT_LINES:]
    return "; its last output:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


if __name__ == "__main__":
    _enter(*sys.argv[1:])

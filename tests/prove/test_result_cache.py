"""Results are taken from the cache only when nothing that decides them has changed, and they say so."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opkit.prove import environment as environments
from opkit.prove import result_cache
from opkit.prove.collect import Collector, assemble
from opkit.prove.environment import environment
from opkit.prove.plan import Plan, read, work
from opkit.prove.protocol import Request, failed, proved
from opkit.prove.result_cache import ResultCache, open_cache
from opkit.prove.runner import prove

OPS = """\
custom:
  - func: f(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
    reference: code.py:f
  - func: g(Tensor x) -> Tensor
    meta: {out: {size: x, dtype: x}}
"""
RUNTIME = {"event": "runtime", "kind": "stand-in", "torch": "2", "torch_npu": "2", "soc": "Ascend910B2"}


@pytest.fixture
def ops(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(OPS)
    (tmp_path / "code.py").write_text("def f(x):\n    return x.clone()\n")
    return tmp_path / "ops.yaml"


def cache(ops: Path, shared: str = "same") -> ResultCache:
    return ResultCache({str(ops): read(str(ops))}, shared, ops.parent / "results")


def request(ops: Path, **changes: Any) -> Request:
    [made] = work(Plan(files=(str(ops),), modes=("ge",), styles=("library",))).requests
    return replace(made, **{"company": (), **changes})


def event(ops: Path, kind: str, name: str = "f", **values: Any) -> dict[str, Any]:
    return {"event": kind, "file": str(ops), "operator": name, "case": "default", **values}


def judged(ops: Path, runtime: Mapping[str, Any] = RUNTIME, reason: str = "", **changes: Any) -> Collector:
    """Make a collector that heard all about f, and nothing about g."""
    collector = Collector(request(ops, **changes))
    result = failed("schema", reason) if reason else proved("schema", registered="f")
    collector.take(runtime)
    collector.take(event(ops, "begin", stage="schema", style="library"))
    collector.take(event(ops, "stage", stage=result.to_json()))
    collector.take(event(ops, "finished"))
    return collector


def taken(store: ResultCache, *requests: Request) -> list[str]:
    found, left = store.split(requests)
    names = [name for collector in found for _, name, _ in collector.request.subjects]
    assert not {s for c in found for s in c.request.subjects} & {s for r in left for s in r.subjects}
    return names


def test_what_was_judged_is_taken_again(ops: Path) -> None:
    assert taken(cache(ops), request(ops)) == []
    cache(ops).keep([judged(ops)])
    [collector], [left] = cache(ops).split([request(ops)])
    assert [name for _, name, _ in left.subjects] == ["g"]
    assert collector.runtime is not None
    proof = assemble(Plan((str(ops),), modes=("ge",)), [collector])
    [mode] = proof.operators[0].modes
    assert mode.stages[0] == proved("schema", registered="f")
    assert mode.proved_at.startswith("20")
    assert proof.to_json()["operators"][0]["modes"]["ge"]["proved_at"] == mode.proved_at


def rewrite(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(ops: Path) -> None:
        path = ops.with_name(name)
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


@pytest.mark.parametrize(
    "change",
    [
        rewrite("ops.yaml", "f(Tensor x)", "f(Tensor x, int n=1)"),
        rewrite("ops.yaml", "dtype: x}}\n    reference", "dtype: float32}}\n    reference"),
        rewrite("code.py", "clone()", "neg()"),
        rewrite("code.py", "def f", "import helper\ndef f"),
    ],
)
def test_a_change_of_the_operator_is_proved(ops: Path, change: Callable[[Path], None]) -> None:
    (ops.parent / "helper.py").write_text("")
    cache(ops).keep([judged(ops)])
    change(ops)
    assert taken(cache(ops), request(ops)) == []
    cache(ops).keep([judged(ops)])
    assert taken(cache(ops), request(ops)) == ["f"]
    if "helper" in ops.with_name("code.py").read_text():
        (ops.parent / "helper.py").write_text("factor = 2\n")
        assert taken(cache(ops), request(ops)) == []


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "npugraph_ex"},
        {"style": "custom-op"},
        {"namespace": "mine"},
        {"stages": ("schema",)},
        {"without": ("values",)},
    ],
)
def test_another_request_is_proved(ops: Path, options: dict[str, Any]) -> None:
    cache(ops).keep([judged(ops)])
    assert taken(cache(ops), request(ops, **options)) == []


def test_another_machine_or_version_is_proved(ops: Path) -> None:
    cache(ops).keep([judged(ops)])
    assert taken(cache(ops, "other"), request(ops)) == []


def test_other_operators_do_not_matter_unless_they_share_a_graph(ops: Path) -> None:
    names = tuple((str(ops), name) for name in "fg")
    cache(ops).keep([judged(ops), judged(ops, company=names)])
    rewrite("ops.yaml", "g(Tensor x)", "g(Tensor x, int n=1)")(ops)
    assert taken(cache(ops), request(ops)) == ["f"]
    assert taken(cache(ops), replace(request(ops), company=names)) == []


@pytest.mark.parametrize(
    "reason",
    ["RuntimeError: NPU out of memory", "MemoryError", "OSError: [Errno 28] No space left on device"],
)
def test_a_lack_of_memory_is_not_kept(ops: Path, reason: str) -> None:
    cache(ops).keep([judged(ops, reason=reason)])
    assert taken(cache(ops), request(ops)) == []


def test_a_failure_of_the_operator_is_kept(ops: Path) -> None:
    cache(ops).keep([judged(ops, reason="registered as something else")])
    assert taken(cache(ops), request(ops)) == ["f"]


def test_results_of_a_worker_that_died_are_not_kept(ops: Path) -> None:
    for death in ("the process died of signal SIGKILL", "no answer within 5 s", "it used more than 1 GiB"):
        collector = Collector(request(ops))
        collector.take(RUNTIME)
        collector.take(event(ops, "begin", stage="schema", style="library"))
        collector.ended(death)
        assert collector.finished
        cache(ops).keep([collector])
    assert taken(cache(ops), request(ops)) == []


def test_a_key_that_cannot_be_complete_keeps_nothing(ops: Path) -> None:
    ops.with_name("code.py").write_text("import os\n\ndef f(x):\n    return x * len(os.environ)\n")
    store = cache(ops)
    store.keep([judged(ops)])
    assert store.not_kept == {"f": "code.py uses `environ`"}
    assert taken(cache(ops), request(ops)) == []


def test_results_of_cann_are_not_kept(ops: Path) -> None:
    cache(ops).keep([judged(ops, runtime={**RUNTIME, "kind": "cann"})])
    assert taken(cache(ops), request(ops)) == []
    assert environment(stand_in=True) is not None


def test_a_broken_record_is_proved(ops: Path) -> None:
    cache(ops).keep([judged(ops)])
    [path] = (ops.parent / "results").glob("*/*.json")
    text = path.read_text()
    for broken in (text[:40], "{}", json.dumps({**json.loads(text), "subject": ["other", "f", "default"]})):
        path.write_text(broken)
        assert taken(cache(ops), request(ops)) == []


def test_old_records_go(ops: Path) -> None:
    cache(ops).keep([judged(ops)])
    [path] = (ops.parent / "results").glob("*/*.json")
    os.utime(path, (0, 0))
    cache(ops).keep([])
    assert not path.exists()


def test_the_directory_is_private(ops: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    monkeypatch.setenv("OPKIT_CACHE_DIR", str(root))
    monkeypatch.setattr(result_cache, "environment", lambda _stand_in: "same")
    store = open_cache([read(str(ops))], None)
    assert store is not None
    store.keep([judged(ops)])
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert taken(store, request(ops)) == ["f"]
    root.chmod(0o777)
    assert open_cache([read(str(ops))], None) is None


@pytest.mark.npu
def test_what_the_environment_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment(None)
    monkeypatch.setenv("TERM", "other")
    assert environment(None) == before
    for name, value in (("OPKIT_SOC", "950"), ("INF_NAN_MODE_ENABLE", "0")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert environment(None) != before
    with monkeypatch.context() as patch:
        patch.setattr(environments, "_stamps", lambda directory: [f"{directory}/edited.py 1 2"])
        assert environment(None) != before
    with monkeypatch.context() as patch:
        patch.setattr(environments, "_texts", lambda directory: [f"{directory}/edited.py 3"])
        assert environment(None) != before


@pytest.mark.npu
def test_a_proof_takes_what_an_earlier_one_found(ops: Path) -> None:
    options: dict[str, Any] = {"modes": ("npugraph_ex",), "stages": ("schema",), "styles": ("library",)}
    plan = Plan(files=(str(ops),), operators=("f",), result_cache=True, **options)
    first, second = prove(plan), prove(plan)
    assert [mode.proved_at for operator in first.operators for mode in operator.modes] == [""]
    [mode] = [mode for operator in second.operators for mode in operator.modes]
    assert mode.proved_at
    assert mode.stages == first.operators[0].modes[0].stages
    assert second.runtime == first.runtime
    assert not prove(replace(plan, result_cache=False)).operators[0].modes[0].proved_at

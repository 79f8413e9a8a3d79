"""Reports of several machines become the report of one, or are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opkit.cli.report import command
from opkit.errors import OpkitError
from opkit.prove.merge import merge, read_report
from opkit.prove.protocol import (
    STAGES,
    ModeResult,
    OperatorResult,
    Proof,
    Runtime,
    Scope,
    failed,
    proved,
)

RUNTIME = Runtime("stand-in", "2.13.0", "2.13.0", "Ascend910B2")
NAMES = ("f", "g", "h")


def operator(
    name: str, root: str, style: str = "library", modes: tuple[str, ...] = ("npugraph_ex", "ge")
) -> OperatorResult:
    results = tuple(ModeResult(mode, tuple(proved(stage) for stage in STAGES[mode])) for mode in modes)
    return OperatorResult(name, style, "default", results, f"{root}/ops.yaml", {"x": "f16[B]"})


def proof(*names: str, root: str = "/a", shard: tuple[int, int] | None = None, **changes: Any) -> Proof:
    everything = tuple((f"{root}/ops.yaml", name, "default") for name in NAMES)
    scope = Scope(root, {f"{root}/ops.yaml": "digest"}, shard, everything if shard else ())
    both = [operator(name, root, style) for name in names for style in ("library", "custom-op")]
    return replace(Proof(RUNTIME, tuple(both), (), scope), **changes)


def written(folder: Path, *proofs: Proof, opkit: str = "") -> list[str]:
    paths = []
    for number, made in enumerate(proofs):
        value = made.to_json()
        value["runtime"]["opkit"] = opkit or value["runtime"]["opkit"]
        path = folder / f"{number}{opkit}.json"
        path.write_text(json.dumps(value))
        paths.append(str(path))
    return paths


def merged(folder: Path, *proofs: Proof) -> Proof:
    return merge([read_report(path) for path in written(folder, *proofs)])


def test_a_report_survives_json(tmp_path: Path) -> None:
    made = proof("f", "g", "h", root=str(tmp_path))
    assert Proof.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_shards_give_what_one_run_gives(tmp_path: Path) -> None:
    one = proof("f", "g", "h")
    shards = [proof("g", root="/b", shard=(2, 2)), proof("f", "h", shard=(1, 2))]
    # The first one's checkout is where files are said to be.
    assert merged(tmp_path, *shards[::-1]).to_json() == one.to_json()
    assert merged(tmp_path, *shards).operators[0].file == "/b/ops.yaml"


def test_modes_proved_apart(tmp_path: Path) -> None:
    both = operator("f", "/a")
    parts = [operator("f", "/a", modes=(mode,)) for mode in ("ge", "npugraph_ex")]
    scope = Scope("/a", {"/a/ops.yaml": "digest"})
    found = merged(tmp_path, *(Proof(RUNTIME, (part,), (), scope) for part in parts))
    assert found.operators == (both,)


def test_an_empty_shard_belongs_to_them(tmp_path: Path) -> None:
    scope = replace(proof("f", shard=(2, 2)).scope, nothing="shard 2/2 holds none of the operators")
    empty = Proof(Runtime("none", "", "", ""), (), (), scope)
    assert empty.holds
    assert not empty.enters
    found = merged(tmp_path, empty, proof("f", "g", "h", shard=(1, 2)))
    assert found.to_json() == proof("f", "g", "h").to_json()


OTHER = replace(RUNTIME, soc="Ascend950DT_9581")
SCOPE = Scope("/a", {"/a/ops.yaml": "another"})
FAILED = replace(
    operator("f", "/a"),
    modes=(ModeResult("ge", (proved("schema"), failed("meta", "it raises"))),),
)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (proof("g", runtime=OTHER), "the runtime's soc differs: Ascend910B2 in"),
        (proof("g", scope=SCOPE), "ops.yaml is not the same in"),
        (proof("g", stages=("meta",)), "the stages asked for differs: all in"),
        (proof("g", shard=(1, 3)), "shards 2/3, 3/3 are missing"),
        (proof("f", operators=(FAILED,)), "f [library, case default] ge: "),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, second: Proof, message: str) -> None:
    with pytest.raises(OpkitError) as caught:
        merged(tmp_path, proof("f"), second)
    assert message in str(caught.value)


def test_the_same_result_twice_is_one(tmp_path: Path) -> None:
    assert len(merged(tmp_path, proof("f"), proof("f")).operators) == 2


def test_another_opkit(tmp_path: Path) -> None:
    paths = written(tmp_path, proof("f")) + written(tmp_path, proof("g"), opkit="9.9")
    with pytest.raises(OpkitError, match="the version of opkit differs"):
        merge([read_report(path) for path in paths])


def test_shards_of_different_divisions(tmp_path: Path) -> None:
    with pytest.raises(OpkitError, match="is one of 2 shards"):
        merged(tmp_path, proof("f", shard=(1, 2)), proof("g", shard=(2, 3)))
    other = proof("g", shard=(2, 2))
    fewer = replace(other, scope=replace(other.scope, subjects=other.scope.subjects[:2]))
    with pytest.raises(OpkitError, match="shards of different sets of operators"):
        merged(tmp_path, proof("f", "h", shard=(1, 2)), fewer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "is no report of this version"),
        ('{"schema_version": 1}', "is no report of this version of opkit: 'runtime' is missing"),
        ('{"schema_version": 99}', "schema_version is 99"),
        ('{"schema_version": 1, "error": {"message": "no torch_npu"}}', "nothing was proved: no torch_npu"),
    ],
)
def test_files_that_are_no_reports(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(OpkitError) as caught:
        read_report(str(tmp_path / "r.json"))
    assert message in str(caught.value)


def test_the_command(tmp_path: Path) -> None:
    paths = written(tmp_path, proof("f", "h", shard=(1, 2)), proof("g", shard=(2, 2)))
    done = CliRunner().invoke(command, ["merge", *paths, "-o", str(tmp_path / "all.json")])
    assert done.exit_code == 0, done.output
    assert "12 of 12 enter" in done.output
    assert Proof.from_json(json.loads((tmp_path / "all.json").read_text())).enters
    done = CliRunner().invoke(command, ["merge", paths[0]])
    assert done.exit_code == 2
    assert "shard 2/2 is missing" in done.output
    broken = proof("f", operators=(FAILED,))
    done = CliRunner().invoke(command, ["merge", *written(tmp_path, broken)])
    assert done.exit_code == 1

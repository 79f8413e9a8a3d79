"""Options of `opkit prove` for many operators and machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli import prove as cli
from opkit.prove.plan import Plan
from opkit.prove.protocol import Proof, Runtime
from opkit.prove.split import Shard


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--memory", "much"), "'much' is no size: write 4G, 500M or the like"),
        (("--memory", "0G"), "is no size"),
        (("--shard", "0/3"), "write I/N"),
        (("--shard", "4/3"), "write I/N"),
        (("--shard", "third"), "write I/N"),
        (("-j", "0"), "-j"),
        (("--stage", "nope"), "unknown stage 'nope'"),
        (("--also", "schema"), "--also schema: is part of every proof"),
    ],
)
def test_values_that_cannot_be(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    (tmp_path / "ops.yaml").write_text("custom:\n  - func: f(Tensor x) -> Tensor\n")
    done = CliRunner().invoke(cli.command, [str(tmp_path / "ops.yaml"), *arguments])
    assert done.exit_code == 2
    assert text in done.output


def test_options_reach_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def prove(plan: Plan) -> Proof:
        plans.append(plan)
        return Proof(Runtime("none", "", "", ""), ())

    monkeypatch.setattr(cli, "_prove", prove)
    arguments = (
        "-j 3 --memory 1.5g --shard 2/4 --changed-since main --stage meta --stage meta --no-result-cache"
    )
    done = CliRunner().invoke(cli.command, ["ops.yaml", *arguments.split()])
    assert done.exit_code == 1  # Nothing was proved, and nothing says why.
    assert CliRunner().invoke(cli.command, ["ops.yaml"]).exit_code == 1
    first, second = plans
    assert (first.jobs, first.memory, first.shard) == (3, 3 * 2**29, Shard(2, 4))
    assert (first.changed_since, first.stages, first.result_cache) == ("main", ("meta",), False)
    assert (second.jobs, second.memory, second.shard, second.result_cache) == (None, None, None, True)

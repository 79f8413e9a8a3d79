"""`opkit prove torch_npu`: the package as it registered its operators, with opkit's rules for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from opkit.cli.prove import command
from opkit.errors import OpkitError
from opkit.prove.plan import SLOW, Plan, read, work
from opkit.prove.protocol import BREAKS, ENTERS, NOT_RUN, Proof
from opkit.prove.runner import prove
from opkit.shipped import case_files, not_proved, rule_files, shipped_rules

PACKAGE = ("torch_npu",)


def test_a_package_is_all_of_its_operators() -> None:
    todo = work(Plan(files=PACKAGE))
    assert [(r.mode, r.style, r.installed, r.without) for r in todo.requests] == [
        (mode, "installed", "torch_npu", SLOW) for mode in ("npugraph_ex", "ge")
    ]
    names = {name for _, name, _ in todo.subjects}
    assert len(names) > 250
    # Each once: nothing can be registered twice.
    assert len({subject[:2] for subject in todo.subjects}) == len(names)


def test_what_is_asked_for_is_not_left_out() -> None:
    todo = work(Plan(files=PACKAGE, also=SLOW))
    assert {request.without for request in todo.requests} == {()}


def test_case_files_are_no_rules() -> None:
    assert not set(case_files("torch_npu")) & set(rule_files("torch_npu"))
    for path in case_files("torch_npu"):
        for spec in read(str(path)).operators:
            assert spec.meta is None
            assert spec.cases, spec.name


def test_an_operator_of_the_case_files_that_got_a_rule_is_proved_once() -> None:
    # Whoever adds a rule need not look for the operator here; the rule's cases are taken.
    homes = {name: file for file, name, _ in work(Plan(files=PACKAGE)).subjects}
    for name in shipped_rules():
        home = homes.get(name.partition("::")[2])
        assert home is None or not Path(home).name.startswith("cases_"), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"files": ("torch_npu", "ops.yaml")}, "torch_npu is proved on its own"),
        ({"styles": ("library",)}, "torch_npu is proved as it is installed"),
        ({"imports": ("json",)}, "torch_npu is proved as it is installed"),
        ({"operators": ("no_such",)}, "no operator named no_such in torch_npu"),
    ],
)
def test_what_makes_no_sense(options: dict, message: str) -> None:
    with pytest.raises(OpkitError, match=re.escape(message)):
        work(Plan(**{"files": PACKAGE, **options}))


def test_a_file_of_that_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch_npu").write_text(
        "custom:\n  - func: f(Tensor x) -> Tensor\n    meta: {out: {size: x, dtype: x}}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert {name for _, name, _ in work(Plan(files=PACKAGE)).subjects} == {"f"}


@pytest.fixture(scope="module")
def proof() -> Proof:
    # One whose Meta kernel is wrong in the wheel, one that has none there and an aclop kernel, one of the
    # case files, whose Meta kernel is the wheel's own.
    return prove(Plan(files=PACKAGE, operators=("npu_swiglu", "npu_mish", "npu_quantize")))


def verdicts(proof: Proof, name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for operator in proof.operators:
        for mode in operator.modes if operator.name == name else ():
            found.setdefault(mode.mode, set()).add(mode.verdict)
    return found


@pytest.mark.npu
def test_operators_are_judged_as_they_are_installed(proof: Proof) -> None:
    assert {operator.style for operator in proof.operators} == {"installed"}
    # The wheel has a converter for it; the case that the operator refuses has no graph.
    assert verdicts(proof, "npu_swiglu") == {"npugraph_ex": {ENTERS}, "ge": {ENTERS, NOT_RUN}}
    assert ENTERS in verdicts(proof, "npu_quantize")["npugraph_ex"]
    # Nothing is generated: the wheel has no converter for it.
    assert verdicts(proof, "npu_mish") == {"npugraph_ex": {BREAKS}, "ge": {BREAKS}}
    reasons = {mode.mode: mode.reason for o in proof.operators if o.name == "npu_mish" for mode in o.modes}
    assert "Cannot run aclop operators during NPU graph capture" in reasons["npugraph_ex"]
    assert "converter" in reasons["ge"]


@pytest.mark.npu
def test_the_report_says_what_was_left_out(proof: Proof) -> None:
    assert proof.scope.installed == "torch_npu"
    assert proof.scope.without == SLOW
    stages = {stage.name for o in proof.operators for mode in o.modes for stage in mode.stages}
    assert not stages & set(SLOW)


@pytest.mark.npu
def test_the_screen_shows_a_table() -> None:
    arguments = ["torch_npu", "--op", "npu_mish", "--stage", "meta"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert re.search(r"^npu_mish +proved$", done.output, re.MULTILINE)
    assert "npugraph_ex: 1 operator: 1 proved" in done.output


def test_there_is_a_reason_why_others_are_not_proved() -> None:
    reasons = not_proved("torch_npu")
    assert "save_npugraph_tensor" in reasons
    assert all(len(reason) > 10 for reason in reasons.values())

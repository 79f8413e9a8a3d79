"""Random changes of good files: never a traceback, and whatever is found has a place in the text."""

from __future__ import annotations

import random

import pytest

from opkit.fix import fix_text
from opkit.read import read_text
from opkit.report.diagnostics import render
from opkit.rules import check

GOOD = """custom:
  - func: my_op(Tensor x, Tensor? y, Tensor[] z, float attr1=1e-6, int attr2=2) -> Tensor
    op_api: [v2.1, newest]
    gen_opapi:
      out: {size: x, dtype: 'isIntegralType(x.scalar_type(), true) ? at::kFloat : x.scalar_type()'}
      exec: aclnnMyOp, x, y, z, attr1, attr2, out
    enters: [npugraph_ex, ge]
    cases:
      - {x: "f32[B, 8]", y: null, z: ["f32[B, 8]"], attr1: 2.0, attr2: -1, B: [4, 3, 7]}
  - func: >-
      folded.out(Tensor x, int n=1, *,
      str mode="a", Tensor(a!) out) -> Tensor(a!)  # comment
    tags: out
    meta:
      let: {n2: x.size(-1)}
      require: [[n2 % 2 == 0, "last dim of x must be even, got {n2}"]]
  - func: 'two(Tensor x, SymInt[] sizes) -> (Tensor, Tensor)'
    meta:
      a: {size: "set(x.shape, -1, x.size(0) // 2)", dtype: x}
      b: {size: [x.size(0), 4], dtype: torch.float32}
    ge: {ir: Two}
"""
PIECES = [
    *" \n\t:-[]{}()!?*&'\"#,|>%@`\\\r",
    *(
        "->",
        "? ",
        "<<: ",
        "---",
        "::",
        "..",
        "é",
        "\x00",
        "\u2028",
        "\ufeff",
        "None",
        "true",
        "Tensor",
        "1.5",
    ),
]


def mutated(text: str, dice: random.Random) -> str:
    place = dice.randrange(len(text))
    removed = dice.choice([0, 0, 1, 1, 3, 20])
    return text[:place] + dice.choice(["", *PIECES]) + text[place + removed :]


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_file_never_raises(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        text = mutated(GOOD, dice)
        op_file, found = read_text(text, "ops.yaml")
        findings = [*found, *(check(op_file) if op_file else ())]
        render(findings, "full")
        lines = text.count("\n") + text.count("\r") + 1
        for finding in findings:
            assert finding.message
            assert finding.mark is not None
            assert 1 <= finding.mark.line <= lines, (text, finding)
        fix_text(text, "ops.yaml", lambda code, line: True)


def test_a_key_may_be_anything() -> None:
    text = "custom:\n  - func: f(Tensor! x) -> ()\n    meta:\n?     [a, b]\n: c\n"
    assert fix_text(text, "ops.yaml", lambda code, line: True).text.count("(a!)") <= 1

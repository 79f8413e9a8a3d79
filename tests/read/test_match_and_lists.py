"""`match` and lists made of lists, under `meta:`."""

from __future__ import annotations

import pytest

from opkit.read import read_text


def problems(size: str) -> list[tuple[str, str]]:
    text = "custom:\n  - func: f(Tensor x, str mode) -> Tensor\n    meta: {out: {size: SIZE, dtype: x}}\n"
    _, found = read_text(text.replace("SIZE", f"'{size}'"), "ops.yaml")
    return [(d.code, d.message) for d in found]


@pytest.mark.parametrize(
    "size", ['match(mode, "a", x.shape, [7])', "[n * 2 for n in x.shape]", "[n + m for n in x.shape]"]
)
def test_names_of_items_are_known_inside_only(size: str) -> None:
    expected = [("OPK202", "`m` is no argument of f")] if "m]" in size or "+ m" in size else []
    assert problems(size) == expected


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ('match(mode, "a")', "`match` takes a value"),
        ('match(mode, "a", [1], "b", [2])', "`match` takes a value"),
        ("[n for n in x.shape if n > 1]", "one `for` without `if`"),
        ("[n for n in x.shape for m in x.shape]", "one `for` without `if`"),
        ("[n for n, m in x.shape]", "one `for` without `if`"),
    ],
)
def test_other_forms_are_refused(size: str, words: str) -> None:
    ((code, message),) = problems(size)
    assert code == "OPK020"
    assert words in message

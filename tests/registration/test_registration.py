"""Registration in memory is what the generated file does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from declarations import SAMPLE, entry, fresh_namespace, import_text, op_file

from opkit.emit import emit_meta
from opkit.errors import OpkitError
from opkit.registration import register


@pytest.mark.parametrize("style", ["library", "custom-op"])
def test_the_file_and_the_registration_agree(tmp_path: Path, style: str) -> None:
    in_memory, from_file = fresh_namespace(), fresh_namespace()
    file = op_file(SAMPLE)
    module = register(file, style, in_memory)
    import_text(emit_meta(file, style, from_file), tmp_path)
    x, y = torch.empty(2, 3, dtype=torch.float16, device="meta"), torch.empty(5, device="meta")
    for name, arguments in (("my_op", (x, y, [x], 1.0, 2)), ("my_inplace", (x, y))):
        ours, theirs = (getattr(getattr(torch.ops, n), name).default for n in (in_memory, from_file))
        assert str(ours._schema).replace(in_memory, from_file) == str(theirs._schema)
        mine, other = ours(*arguments), theirs(*arguments)
        assert (mine.shape, mine.dtype, mine.stride()) == (other.shape, other.dtype, other.stride())
    assert module.my_op is not None


def test_files_of_entry_points_are_found_from_the_yaml(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text("def f_meta(x):\n    return x.new_empty(11)\n")
    namespace = fresh_namespace()
    text = entry("f(Tensor x) -> Tensor", "meta: {python: 'rules.py:f_meta'}")
    register(op_file(text, str(tmp_path / "ops.yaml")), namespace=namespace)
    assert getattr(torch.ops, namespace).f(torch.empty(2, device="meta")).shape == (11,)


def test_what_has_no_rule_registers_nothing() -> None:
    namespace = fresh_namespace()
    with pytest.raises(OpkitError):
        register(op_file(entry("f(Tensor x) -> Tensor")), namespace=namespace)
    assert not hasattr(getattr(torch.ops, namespace), "f")

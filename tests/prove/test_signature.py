"""A Meta function's signature against the schema (BC: missing arguments, missing and different defaults)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from opkit.prove.signature import differences

SCHEMA = torch._C.parse_schema(
    "t::f(Tensor x, Tensor? mask=None, str reduce='update', int axis=-2, *, ScalarType dtype=5, "
    "bool flag=False) -> Tensor"
)


def test_equal() -> None:
    def meta(x, mask=None, reduce="update", axis=-2, *, dtype=torch.float16, flag=False):
        pass

    assert differences(meta, SCHEMA) == []


def test_renamed_positionals_are_no_difference() -> None:
    def meta(input_dummy, m=None, r="update", a=-2, *, dtype=torch.float16, flag=False):
        pass

    assert differences(meta, SCHEMA) == []


def test_args_and_kwargs_take_everything() -> None:
    assert differences(lambda *args, **kwargs: None, SCHEMA) == []


def meta_without_default(x, mask, reduce="update", axis=-2, *, dtype=torch.float16, flag=False): ...
def meta_with_other_default(x, mask=None, reduce="add", axis=-2, *, dtype=torch.float16, flag=False): ...
def meta_with_zero_for_false(x, mask=None, reduce="update", axis=-2, *, dtype=torch.float16, flag=0): ...
def meta_with_other_dtype(x, mask=None, reduce="update", axis=-2, *, dtype=torch.float32, flag=False): ...
def meta_with_too_few(x, mask=None, reduce="update", *, dtype=torch.float16, flag=False): ...
def meta_without_keyword(x, mask=None, reduce="update", axis=-2, *, dtype=torch.float16): ...
def meta_with_extra(x, mask=None, reduce="update", axis=-2, *, dtype=torch.float16, flag=False, more): ...


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (meta_without_default, "`mask` has a default (None) in the schema, none in the function"),
        (meta_with_other_default, "`reduce` defaults to 'update' in the schema and to 'add' in the function"),
        (meta_with_zero_for_false, "`flag` defaults to False in the schema and to 0 in the function"),
        (meta_with_other_dtype, "`dtype` defaults to 5 in the schema and to torch.float32 in the function"),
        (meta_with_too_few, "it has no parameter for `axis`"),
        (meta_without_keyword, "it has no keyword parameter `flag`"),
        (meta_with_extra, "its parameter `more` is not in the schema and has no default"),
    ],
)
def test_differences(function: Callable[..., Any], text: str) -> None:
    assert differences(function, SCHEMA) == [text]

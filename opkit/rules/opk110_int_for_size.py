"""An `int` is named like a size.

What it does
------------
Notes `int` and `int[]` arguments of custom operators whose names say that they hold a size, length or count.

Why it matters
--------------
Under dynamic shapes such a value is often computed from a tensor's shape and is then symbolic. An `int`
argument forces it to a number: the graph is compiled again for each value, and for a value that comes from
`.item()` compiling fails.

Example
-------
    - func: my_slice(Tensor x, int max_len) -> Tensor

Use instead
-----------
    - func: my_slice(Tensor x, SymInt max_len) -> Tensor
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.model.schema import base_of
from opkit.rules.context import Context, finding, listed
from opkit.rules.opk113_host_list import is_host_list

CODE = "OPK110"

# Whole words of the name; `num_heads` and the like are fixed by the model, so `num` alone says nothing.
_SIZE = re.compile(
    r"(?:^|_)(?:size|sizes|len|lens|length|lengths|seqlen|seqlens|numel|rows|cols|num_tokens|out_tokens|"
    r"batch|offset|offsets)(?:$|_)|^max_(?:seq|len|tokens|size)"
)
# Sizes of the operator's configuration, not of its data.
_FIXED = re.compile(r"world_size|block_size|kernel_size|group_size|rank_size|head_size|window_size|tile_size")


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note all such arguments of an operator at once."""
    found = [
        a
        for a in op.schema.arguments
        if base_of(a.type).name == "int"
        and not is_host_list(a.type)
        and _SIZE.search(a.name)
        and not _FIXED.search(a.name)
    ]
    if found:
        take = "takes plain ints" if len(found) == 1 else "take plain ints"
        message = f"{listed([a.name for a in found])} {take}: a symbolic size is forced to a number"
        help = "write SymInt where the value may come from a shape"
        yield finding(CODE, Severity.NOTE, op, message, found[0].mark, help)

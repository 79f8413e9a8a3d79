"""The operator writes several arguments.

What it does
------------
Notes a custom operator that writes two or more arguments, `out` variants apart. It leaves out the three that
npugraph_ex of torch_npu 2.13 puts back in place as a whole (`npu_kv_rmsnorm_rope_cache_v2`,
`npu_mla_prolog_v3`, `npu_add_rms_norm_v2`).

Why it matters
--------------
A graph holds no mutation, so the call works on copies until a pass proves, for every written argument, that
nothing else reads its old value; each one that cannot be proved stays a copy of the whole tensor. Where
torch_npu's generator has made a Functionalize kernel, the graph calls the functional sibling and copies the
results back, and npugraph_ex mends that for the operators above only (`register_inplaceable_npu_op` in its
`graph_pass.py`). The numbers are right either way; what it costs is time and memory.

Example
-------
    - func: update_caches(Tensor(a!) k_cache, Tensor(b!) v_cache, Tensor x) -> ()

Use instead
-----------
Look for copies in the captured graph (`opkit prove` shows it). Where they matter, one operator per cache:

    - func: update_cache(Tensor(a!) cache, Tensor x) -> ()
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.model.operator import OpSpec
from opkit.rules.context import Context, finding, listed

CODE = "OPK124"

_PUT_IN_PLACE = frozenset(["npu_kv_rmsnorm_rope_cache_v2", "npu_mla_prolog_v3", "npu_add_rms_norm_v2"])


def check(op: OpSpec, context: Context) -> Iterator[Diagnostic]:
    """Note the operator once, naming what it writes."""
    written = op.schema.mutated
    if len(written) < 2 or all(a.kwarg_only for a in written) or op.schema.name.base in _PUT_IN_PLACE:
        return
    names = listed([a.name for a in written])
    message = f"{op.name} writes {names}; a graph may copy each of them"
    if context.has_functional_sibling(op):
        message = f"{op.name} writes {names}; a graph calls its functional sibling and copies them back"
    help = "see whether the captured graph has copies; one operator per written argument has the fewest"
    yield finding(CODE, Severity.NOTE, op, message, written[0].mark, help)

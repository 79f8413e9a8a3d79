"""torch's operator database on NPU tensors: eager, captured and replayed; run by test_operators.py."""

import functools
import warnings

import torch
import torch_npu  # noqa: F401
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

from opkit.cann import device

# What torch_npu 2.13 does otherwise than CPU by its own rules, or draws at random.
OTHERWISE = {
    "double": "float64 becomes float32",
    "float_power": "float64 becomes float32",
    "nn.functional.fractional_max_pool2d": "random",
    "nn.functional.fractional_max_pool3d": "random",
    "pca_lowrank": "random",
    "sparse.mm.reduce": "no kernel for sparse tensors",
    "sparse.sampled_addmm": "no kernel for sparse tensors",
    "svd_lowrank": "random",
    "tensor_split": "wants its sections on the host, the sample moves them",
    "to_sparse": "no kernel for sparse tensors",
}
RANDOM = (
    "rand", "bernoulli", "multinomial", "normal", "uniform", "cauchy", "exponential", "geometric", "dropout",
    "empty",
)  # fmt: skip


def there(value):
    if isinstance(value, torch.Tensor):
        return value.detach().npu()
    if value == "cpu" or (isinstance(value, torch.device) and value.type == "cpu"):
        return torch.device("npu")
    return value


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def call(operator, sample, move):
    given = tree_map(move, (sample.input, tuple(sample.args), dict(sample.kwargs)))
    return functools.partial(operator, given[0], *given[1], **given[2]), given


def same(found, wanted, exactly):
    pairs = list(zip(tree_leaves(found), tree_leaves(wanted), strict=True))
    for npu, cpu in pairs:
        if not isinstance(cpu, torch.Tensor):
            assert npu == cpu or npu != npu
            continue
        host = npu.cpu()
        assert (host.shape, host.dtype) == (cpu.shape, cpu.dtype), (host.shape, host.dtype)
        if exactly:
            torch.testing.assert_close(
                host.resolve_conj(), cpu.resolve_conj(), equal_nan=True, rtol=1e-4, atol=1e-4
            )


def samples():
    for operator in op_db:
        name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
        dtype = next((d for d in (torch.float32, torch.int64) if operator.supports_dtype(d, "cpu")), None)
        if name in OTHERWISE or dtype is None or name.startswith("jiterator"):  # which only CUDA has
            continue
        sample = next(iter(operator.sample_inputs("cpu", dtype, requires_grad=False)))
        yield name, operator, sample, not any(word in name for word in RANDOM)


def replays(operator, sample, wanted, exactly):
    """Whether the call could be captured; then each replay must give its values, from the first inputs."""
    run, given = call(operator, sample, there)
    graph = torch.npu.NPUGraph()
    first = [t.clone() for t in tree_leaves(given) if isinstance(t, torch.Tensor)]
    torch.npu.synchronize()
    try:
        with torch.npu.graph(graph):
            result = run()
    except Exception:
        assert "refuse" in [event.event for event in device.journal()] or "uncomputed" in str(
            device.journal()
        )
        return False
    for _ in range(3):  # the first checks, the others are quick
        for tensor, value in zip((t for t in tree_leaves(given) if isinstance(t, torch.Tensor)), first):
            tensor.copy_(value)
        graph.replay()
        same(result, wanted, exactly)
    return True


def check_operator_database():
    warnings.simplefilter("ignore")
    bad, captured, count = {}, 0, 0
    for name, operator, sample, exactly in samples():
        count += 1
        wanted = call(operator, sample, copied)[0]()
        try:
            same(call(operator, sample, there)[0](), wanted, exactly)
            device.journal()
            captured += replays(operator, sample, wanted, exactly)
        except Exception as error:
            bad[name] = f"{type(error).__name__}: {error}"[:200]
    assert not bad, bad
    assert count > 600
    assert captured > 500

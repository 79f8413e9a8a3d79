"""The real torch_npu wheel on the stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest
from standin_process import check_python, run_opkit, run_python

from opkit.cann.wheels import find_wheel

pytestmark = [
    pytest.mark.npu,
    pytest.mark.skipif(find_wheel("torch_npu") is None, reason="torch_npu is not installed"),
]

LOAD = """
from opkit.cann.library import standin
s = standin()
import torch, torch_npu
"""


def check(code: str, **variables: str) -> str:
    import textwrap

    return check_python(LOAD + textwrap.dedent(code), variables)


def test_tensors_go_to_the_device_and_back_unchanged() -> None:
    check(
        """
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32,
                      torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64):
            x = (torch.arange(24).reshape(2, 3, 4) - 5).to(dtype)
            assert torch.equal(x.npu().cpu(), x), dtype
        assert x.npu().device == torch.device("npu:0")
        y = torch.arange(24.0).reshape(2, 3, 4).npu()
        assert torch.equal(y.permute(2, 0, 1)[1:].contiguous().cpu(), y.cpu().permute(2, 0, 1)[1:])
        assert torch.equal(y[:, ::2].cpu(), y.cpu()[:, ::2])
        assert s.uncomputed == 0
        """
    )


def test_conversions_on_the_device_equal_those_of_the_cpu() -> None:
    check(
        """
        import itertools
        floats = torch.tensor([0.0, -0.0, 1.0, -1.5, 0.1, 65504.0, 65519.0, 65520.0, 1e-8, 6e-8, 3.14159e-5,
                               2049.0, float("inf"), -float("inf"), 1e38, 0.3333, 5.9604645e-8, 2.98e-8])
        kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
        for a, b in itertools.product(kinds, kinds):
            x = floats.to(a)
            assert torch.equal(x.npu().to(b).cpu(), x.to(b)), (a, b, x.npu().to(b).cpu(), x.to(b))
        assert torch.tensor([float("nan")]).npu().half().cpu().isnan().all()
        whole = torch.tensor([0, 1, 2, 100])
        for a, b in itertools.product((torch.int64, torch.int32, torch.uint8, torch.bool), repeat=2):
            assert torch.equal(whole.to(a).npu().to(b).cpu(), whole.to(a).to(b)), (a, b)
        assert torch.tensor([2.9, -2.9]).npu().int().cpu().tolist() == [2, -2]
        """
    )


def test_the_wheel_s_own_kernels_run_their_host_code_and_compute_nothing() -> None:
    check(
        """
        x, g = torch.randn(4, 8).half().npu(), torch.ones(8).half().npu()
        assert torch_npu.npu_fast_gelu(x).cpu().isnan().all()  # opkit has no values for this one
        s.take_journal()
        before = s.uncomputed
        y, rstd = torch_npu.npu_rms_norm(x, g)
        assert (y.shape, y.dtype) == ((4, 8), torch.float16)
        assert (rstd.shape, rstd.dtype) == ((4, 1), torch.float32)
        assert torch.ops.npu.npu_swiglu(x).shape == (4, 4)
        assert s.uncomputed == before + 2
        names = [e.name for e in s.take_journal() if e.event == "uncomputed"]
        assert names == ["aclnnRmsNorm", "aclnnSwiGlu"], names
        """
    )


def test_a_synchronising_operator_is_found_during_capture() -> None:
    check(
        """
        x = torch.ones(4).npu()
        def attempt(work):
            graph = torch.npu.NPUGraph()
            try:
                with torch.npu.graph(graph):
                    y = x.clone()
                    work(y)
            except RuntimeError:
                return {e.code for e in s.take_journal() if e.event == "refuse"}
            return set()
        assert 107027 in attempt(lambda y: torch.npu.current_stream().synchronize())
        assert 107027 in attempt(lambda y: y[0].item())
        assert 107027 in attempt(lambda y: torch.npu.synchronize())
        assert attempt(lambda y: y.cpu()) & {107027, 107041}
        assert attempt(lambda y: None) == set()
        assert torch.equal(x.clone().cpu(), torch.ones(4))
        """
    )


def test_a_captured_graph_replays_its_copies() -> None:
    check(
        """
        x, y = torch.tensor([1.0, 2.0]).npu(), torch.zeros(2).npu()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y.copy_(x)
        assert y.cpu().tolist() == [0.0, 0.0]
        graph.replay()
        assert y.cpu().tolist() == [1.0, 2.0]
        x.copy_(torch.tensor([3.0, 4.0]))
        graph.replay()
        assert y.cpu().tolist() == [3.0, 4.0]
        """
    )


def test_host_lists_of_a_captured_kernel_are_updated_between_replays() -> None:
    check(
        """
        q, k = torch.randn(2, 4, 1, 64).half().npu(), torch.randn(2, 4, 16, 64).half().npu()
        def attend(q, k, lengths):
            return torch_npu.npu_fused_infer_attention_score(
                q, k, k, num_heads=4, scale=0.1, input_layout="BNSD", actual_seq_lengths_kv=lengths)[0]
        compiled = torch.compile(attend, backend="npugraph_ex", fullgraph=True, dynamic=True)
        counts = []
        for lengths in ([3, 4], [5, 6], [7, 9]):
            assert compiled(q, k, lengths).shape == q.shape
            torch.npu.synchronize()
            events = s.take_journal()
            assert not [e for e in events if e.event == "refuse"], events
            kinds = ("capture_end", "replay", "uncomputed")
            counts.append([sum(e.event == kind for e in events) for kind in kinds])
        # One capture (and the empty one that makes the pool), and one kernel run for each of three replays.
        assert counts == [[2, 1, 1], [0, 1, 1], [0, 1, 1]], counts
        """
    )


def test_importing_torch_npu_first_is_an_error_that_says_what_to_do() -> None:
    done = run_opkit("run", "-m", "opkit.cann.load")
    assert done.returncode == 0, done.stderr
    done = run_python(
        """
        import sys, types
        sys.modules["torch_npu"] = types.ModuleType("torch_npu")
        from opkit.cann.load import ensure_runtime
        ensure_runtime()
        """
    )
    assert done.returncode != 0
    assert "torch_npu was imported before the stand-in" in done.stderr


def test_opkit_run_lets_any_script_import_torch(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\n"
        "print(sys.argv[1:], torch.npu.is_available(), torch.npu.get_device_name(0))\n"
        "print(torch.ones(2).npu().cpu().tolist(), input())\n"
        "sys.exit(3)\n"
    )
    import subprocess
    import sys

    from standin_process import environment

    done = subprocess.run(
        [sys.executable, "-m", "opkit", "run", "--soc", "310P", str(script), "--soc", "x", "-v"],
        env=environment(), input="typed\n", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "['--soc', 'x', '-v'] True Ascend310P3" in done.stdout
    assert "[1.0, 1.0] typed" in done.stdout


def test_opkit_env_is_what_a_shell_needs(tmp_path: Path) -> None:
    import subprocess
    import sys

    from standin_process import environment

    text = (
        f'eval "$({sys.executable} -m opkit env)"'
        f' && {sys.executable} -c "import torch; print(torch.ones(1).npu().cpu())"'
        f' && eval "$({sys.executable} -m opkit env --unset)"'
        ' && echo "left:$LD_LIBRARY_PATH:$OPKIT_SOC:$TASK_QUEUE_ENABLE"'
    )
    done = subprocess.run(
        ["sh", "-c", text],
        env=environment({"LD_LIBRARY_PATH": "/keep/this"}),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tensor([1.])" in done.stdout
    assert "left:/keep/this::" in done.stdout


def test_opkit_run_names_what_it_cannot_run() -> None:
    for words, said in (
        (["no-such-program"], "no-such-program"),
        (["no.py"], "no such file"),
        (["-m", "x"], "x"),
    ):
        done = run_opkit("run", *words)
        assert done.returncode in (1, 2)
        assert said in done.stderr
    done = run_opkit("run", "--soc", "Ascend1", "x.py")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_ge_graphs_reach_the_interpreter_and_fail_by_name_without_one() -> None:
    code = """
        import ctypes, torchair
        from opkit.cann.library import GeOutput
        backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
        library = torch.library.Library("standin_test", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", torch.empty_like, "Meta")
        library.impl("twice", torch.empty_like, "PrivateUse1")
        s.define_ir("Twice", [("x", "required")], [("y", "required")])
        @torchair.register_fx_node_ge_converter(torch.ops.standin_test.twice.default)
        def convert(x, meta_outputs=None):
            return torchair.ge.custom_op("Twice", inputs={"x": x}, outputs=["y"])
        def run(graph, inputs, call):
            n = inputs[0].bytes // 4
            given = call.outputs[0] if call.outputs else None
            out = given.data if given else call.allocate(0, 0, inputs[0].dims, 4 * n)
            array = ctypes.c_float * n
            array.from_address(out)[:] = [2 * v for v in array.from_address(inputs[0].data)]
        def compiled(dynamic):
            torch._dynamo.reset()
            twice = torch.ops.standin_test.twice
            return torch.compile(twice, backend=backend, fullgraph=True, dynamic=dynamic)
        """
    check(
        code
        + """
        for static in (True, False):
            dims = (3,) if static else (-1,)
            s.set_ge_interpreter(lambda graph, data: (static, [GeOutput(0, dims)]), run)
            f = compiled(not static)
            assert f(torch.tensor([1.0, 2.0, 3.0]).npu()).cpu().tolist() == [2.0, 4.0, 6.0]
        assert f(torch.tensor([5.0]*4).npu()).cpu().tolist() == [10.0]*4
        def fail(*_): raise ValueError("no such node")
        s.set_ge_interpreter(fail, run)
        try: compiled(False)(torch.ones(3).npu())
        except RuntimeError as problem: assert "no such node" in str(problem), problem
        else: raise AssertionError("compiled without an interpreter")
        """
    )


def test_doctor_finds_nothing_missing() -> None:
    import json

    done = run_opkit("doctor", "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode == 0) == report["ok"]
    assert {"python", "torch", "torch_npu", "runtime"} <= {finding["name"] for finding in report["findings"]}
    done = run_opkit("doctor", changes={"OPKIT_SOC": "Ascend1"})
    assert done.returncode == 1
    assert "Ascend1" in done.stdout

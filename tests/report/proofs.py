"""Proofs made by hand: what enters, what breaks, what was not run, and texts that mean harm."""

from __future__ import annotations

from opkit.prove.protocol import ModeResult, OperatorResult, Proof, Runtime, Scope, failed, not_run, proved

RUNTIME = Runtime("stand-in", "2.13.0", "2.13.0", "Ascend910B2")
HARM = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"' \x1b[31m\x07 {{ 7*7 }} 中文"

IR = [
    {
        "name": name,
        "type": "Data",
        "inputs": [],
        "after": [],
        "attributes": {"index": str(index)},
        "outputs": [{"name": "y", "dtype": "float", "shape": [4, 8]}],
    }
    for index, name in enumerate(("arg0_1", "arg1_1"))
] + [
    {
        "name": "F",
        "type": "MyOp",
        "inputs": [
            {"name": "x", "from": ["arg0_1", 0]},
            {"name": "y", "from": ["arg1_1", 0]},
            {"name": "z", "from": None},
        ],
        "after": [],
        "attributes": {"n": "3"},
        "outputs": [{"name": "out", "dtype": "float", "shape": []}],
    },
    {
        "name": "NetOutput",
        "type": "NetOutput",
        "inputs": [{"name": "input0", "from": ["F", 0]}],
        "after": ["arg0_1"],
        "attributes": {},
        "outputs": [],
    },
]


def entering(name: str = "f", style: str = "library") -> OperatorResult:
    """Make a result that enters both graphs, with every exhibit."""
    common = (
        proved("schema", registered="npu::f(Tensor x, Tensor y) -> Tensor"),
        proved(
            "meta",
            **{
                "registered as": "Meta kernel",
                "meta kernel": {"file": "<meta of ops.yaml>", "line": 7, "text": "def f(x, y): ..."},
                "outputs": ["float32[4, 8] npu:0"],
                "guards": [],
            },
        ),
        proved("host", kernel="reference function"),
        proved(
            "dynamo",
            **{
                "graphs": 1,
                "before functionalization": "class Before:\n    pass",
                "after functionalization": "class After:\n    pass",
            },
        ),
    )
    captured = proved(
        "npugraph_ex", tasks=["npu::f", "aclnnAdd"], **{"kernel calls": {"before the replay": 1}}
    )
    converter = {"file": "converters.py", "line": 12, "text": "def convert(x, y): ..."}
    graph = proved("ge", ir=IR, graph=["F: MyOp(x=arg0_1:0) -> out"], converter=converter, runs=2)
    modes = (ModeResult("npugraph_ex", (*common, captured)), ModeResult("ge", (*common, graph), ("a note",)))
    return OperatorResult(
        name, style, "default", modes, "/repo/ops.yaml", {"x": "f32[B, 8]", "B": [4, 3]}, 3,
        f"- func: {name}(Tensor x, Tensor y) -> Tensor", f"opkit prove ops.yaml --op {name} --style {style}",
    )  # fmt: skip


def breaking(
    name: str = "g", style: str = "library", reason: str = "no Meta kernel, 100% sure"
) -> OperatorResult:
    """Make a result that breaks in both graphs."""
    stages = (
        proved("schema", registered="npu::g()"),
        failed("meta", reason),
        not_run("host", "because meta failed"),
    )
    modes = (ModeResult("npugraph_ex", stages), ModeResult("ge", stages))
    command = f"opkit prove ops.yaml --op {name} --style {style}"
    return OperatorResult(
        name, style, "default", modes, "/repo/ops.yaml", {}, 9, f"- func: {name}()", command
    )


def unjudged(name: str = "h") -> OperatorResult:
    """Make a result that could not be judged, of a file elsewhere."""
    modes = (ModeResult("ge", (not_run("schema", "because somebody ended it"),)),)
    return OperatorResult(name, "library", "default", modes, "/elsewhere/b c.yaml")


def proof(*operators: OperatorResult) -> Proof:
    """Put results together, as proved in /repo."""
    return Proof(RUNTIME, operators, scope=Scope(directory="/repo"))


def harmful() -> Proof:
    """Make a proof in which every text from outside means harm."""
    evidence = {HARM: HARM, "list": [HARM], "converter": {"file": HARM, "line": 1, "text": HARM}}
    node = {**IR[2], "name": HARM, "type": HARM, "inputs": [], "attributes": {HARM: HARM}}
    stages = (proved("schema", **evidence), failed("ge", HARM, ir=[node], graph=[HARM]))
    mode = ModeResult("ge", stages, (HARM,))
    return Proof(
        Runtime("stand-in", HARM, HARM, HARM),
        (OperatorResult(HARM, "import", HARM, (mode,), f"/repo/{HARM}.yaml", {HARM: HARM}, 3, HARM, HARM),),
        scope=Scope(directory="/repo"),
    )

"""`mutates_args` contradicts the schema.

What it does
------------
With `--against`, reports a `custom_op` whose `mutates_args` are not the arguments that the schema marks as
written.

Why it matters
--------------
torch makes the schema from `mutates_args`, or compares the two and raises. A write that is not declared is
lost in a graph.

Example
-------
    # my_op(Tensor(a!) x, Tensor y) -> ()
    @torch.library.custom_op("npu::my_op", mutates_args=())
    def my_op(x: torch.Tensor, y: torch.Tensor) -> None: ...

Use instead
-----------
    @torch.library.custom_op("npu::my_op", mutates_args=["x"])
    def my_op(x: torch.Tensor, y: torch.Tensor) -> None: ...
"""

CODE = "OPK244"

"""A C++ kernel waits for the device.

What it does
------------
Reports `.item()`, `.cpu()`, `.to(at::kCPU)`, `aclrtSynchronize...` and their like in C++ functions that are
registered for the NPU (`PrivateUse1`).

Why it matters
--------------
While npugraph_ex captures a graph nothing runs, so there is nothing to wait for: capture fails with error
107027 or 107030. In eager the call makes the host wait for every kernel before it. A tensor that is on the
CPU in any case is read without waiting; silence the finding for that operator.

Example
-------
    // my_op(Tensor x, Tensor n) -> Tensor
    int64_t k = n.item<int64_t>();

Use instead
-----------
    // my_op(Tensor x, SymInt n) -> Tensor
    auto y = at::empty_symint({n, x.sym_size(1)}, x.options());
"""

CODE = "OPK245"

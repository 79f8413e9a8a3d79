"""A definition in C++ differs from the declaration.

What it does
------------
With `--against`, reports an `m.def("schema")` of a TORCH_LIBRARY block whose schema is not that of the
operator in the YAML: other types, names, defaults, order, alias annotations or results. The form that
torch_npu's generator makes of an entry counts as equal.

Why it matters
--------------
The dispatcher has the schema of C++. What is generated from the YAML is then for another operator.

Example
-------
    // my_op(Tensor x, SymInt n=1) -> Tensor
    m.def("my_op(Tensor x, int n=1) -> Tensor");

Use instead
-----------
    m.def("my_op(Tensor x, SymInt n=1) -> Tensor");
"""

CODE = "OPK242"

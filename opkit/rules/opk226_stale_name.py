"""A registration belongs to no operator.

What it does
------------
Reports kernels and converters registered under a name that is neither declared in the YAML nor defined in
the sources, and converters registered for no overload (`torch.ops.my_ns.my_op`), which torchair does not
find. Namespaces of which nothing is declared are named in a note.

Why it matters
--------------
In C++, registering for a name nobody defines is accepted without a word: the operator that was meant has no
Meta kernel. In Python it raises on import.

Example
-------
    TORCH_LIBRARY(my_ns, m) { m.def("store_metadata(Tensor x) -> Tensor"); }
    TORCH_LIBRARY_IMPL(my_ns, Meta, m) { m.impl("store_pre", &store_meta); }

Use instead
-----------
    TORCH_LIBRARY_IMPL(my_ns, Meta, m) { m.impl("store_metadata", &store_meta); }
"""

CODE = "OPK226"

"""A C++ Meta kernel asks for sizes as numbers.

What it does
------------
Reports `.size(`, `.sizes(`, `.numel(`, `at::empty({...})` and `std::vector<int64_t>` in functions
registered as Meta kernels or standing in a `namespace meta`. A comment `symbolic-meta-ok:` on the line or
above it says it is meant so.

Why it matters
--------------
With dynamic shapes the size becomes a constant of the graph, which is compiled anew for every size.

Example
-------
    return at::empty({x.size(0), 2}, x.options());

Use instead
-----------
    return at::empty_symint({x.sym_size(0), 2}, x.options());
"""

CODE = "OPK243"

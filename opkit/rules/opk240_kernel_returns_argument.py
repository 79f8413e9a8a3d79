"""A C++ kernel returns an argument it should only read.

What it does
------------
Reports kernels whose `return`, `std::tie` or `std::make_tuple` names a tensor parameter, or another name of
one, while the schema gives neither an alias.

Why it matters
--------------
The schema says the result is new memory and the argument is only read. A graph drops the call if nobody
reads its results, and with it what the kernel wrote; or it takes two names of one memory for two.

Example
-------
    // my_cache(Tensor kv, Tensor k_cache) -> (Tensor, Tensor)
    return std::tie(k_cache, k_rope);

Use instead
-----------
    // my_cache(Tensor kv, Tensor(a!) k_cache) -> Tensor
    return k_rope;
"""

CODE = "OPK240"

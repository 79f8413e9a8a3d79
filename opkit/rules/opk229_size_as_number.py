"""A Meta kernel makes a number of a size.

What it does
------------
Reports `int()`, `float()` and `round()` of sizes, their division with `/`, `math.ceil` and `math.floor`,
and `.item()`, in Meta and fake kernels.

Why it matters
--------------
With dynamic shapes a size is a symbol. Turning it into a number fixes the graph to that size, so every new
size is compiled anew; a division with `/` gives a float, which becomes a size again only by rounding. A
Meta kernel has no values, so `.item()` has nothing to give.

Example
-------
    n = int(math.ceil(x.shape[-1] / 32))

Use instead
-----------
    n = (x.shape[-1] + 31) // 32
"""

CODE = "OPK229"

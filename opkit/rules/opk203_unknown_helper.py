"""A rule calls a function opkit has no rule for.

What it does
------------
Reports calls in `meta` of functions the rule language does not have, and warns about calls in `gen_opapi` of
C++ functions opkit does not know.

Why it matters
--------------
What the function computes is known to its author only; opkit does not guess.

Example
-------
    gen_opapi:
      out: {size: my_output_size(x), dtype: x}
      exec: aclnnMyOp

Use instead
-----------
    gen_opapi:
      out: {size: my_output_size(x), dtype: x}
      exec: aclnnMyOp
    meta:
      out: {size: "[x.size(0), 8]", dtype: x}
"""

CODE = "OPK203"

"""`gen_opapi` has a form op-plugin's generator does not take.

What it does
------------
Reports results that are no mapping, expressions that YAML reads as a mapping or list, unknown keys of a
result, and `gen_opapi` together with `structured_delegate`.

Why it matters
--------------
op-plugin's build stops, or ignores the key without a word.

Example
-------
    gen_opapi:
      out: {size: {x.size(0), 8}, dtype: x}
      exec: aclnnMyOp

Use instead
-----------
    gen_opapi:
      out: {size: '{x.size(0), 8}', dtype: x}
      exec: aclnnMyOp
"""

CODE = "OPK030"

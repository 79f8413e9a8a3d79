"""`exec` or a key beside it names something that does not exist.

What it does
------------
Reports a missing `exec`, a first word that is no aclnn name, and words that are neither argument, result nor
new_param, such as literals.

Why it matters
--------------
op-plugin's generator refuses the entry: "exec configuration field contains invalid parameters".

Example
-------
    gen_opapi:
      out: {size: x, dtype: x}
      exec: aclnnMyOp, x, 1, out

Use instead
-----------
    gen_opapi:
      new_params:
        mode: 1L
      out: {size: x, dtype: x}
      exec: aclnnMyOp, x, mode, out
"""

CODE = "OPK031"

"""A function of the rule language is called wrongly.

What it does
------------
Reports calls with a wrong number of arguments, and calls of something that is no function.

Why it matters
--------------
The rule has no meaning.

Example
-------
    meta:
      out: {size: "[ceildiv(x.size(0))]", dtype: x}

Use instead
-----------
    meta:
      out: {size: "[ceildiv(x.size(0), 32)]", dtype: x}
"""

CODE = "OPK204"

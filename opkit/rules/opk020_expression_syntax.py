"""A rule's expression cannot be parsed.

What it does
------------
Reports the place where the text stops being an expression: of C++ in `gen_opapi`, of the Python-like language
in `meta`. Only what can be evaluated on symbolic sizes is part of the latter; `/` is not, since it makes a
float. An expression without quotes in `{ }` that YAML cuts at a comma is reported once, as a whole.

Why it matters
--------------
The rule has no meaning.

Example
-------
    meta:
      out: {size: "[x.size(0) / 2]", dtype: x}

Use instead
-----------
    meta:
      out: {size: "[x.size(0) // 2]", dtype: x}
"""

CODE = "OPK020"

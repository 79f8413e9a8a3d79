"""A torch version or range means something else than it seems to.

What it does
------------
Reports versions the file's `all_version` does not list, ranges that do not have two bounds, versions YAML
reads as a number; warns about reversed ranges, `newest` outside a range and mixed separators.

Why it matters
--------------
op-plugin's generator stops with a ValueError or IndexError for some of these, and silently drops the operator
for the others.

Example
-------
    op_api: v2.1,newest

Use instead
-----------
    op_api: [v2.1, newest]
"""

CODE = "OPK006"

"""The file cannot be read.

What it does
------------
Reports a path that does not exist, is a directory or may not be read. `opkit check` exits with 2.

Why it matters
--------------
There is nothing to check, and reporting success for it would be wrong.

Example
-------
    opkit check opz.yaml

Use instead
-----------
    opkit check ops.yaml
"""

CODE = "OPK001"

"""A type does not exist in a torch version the entry is for.

What it does
------------
Reports `Dimname` for torch 2.13 and later, and `SymBool` for versions before it existed: an error for the
version given by `--torch-version`, a warning otherwise.

Why it matters
--------------
torch of that version says "unknown type specifier" when the operator is registered.

Example
-------
    - func: my_max(Tensor x, Dimname dim) -> Tensor
      op_api: all_version

Use instead
-----------
    - func: my_max(Tensor x, Dimname dim) -> Tensor
      op_api: [v2.1, v2.12]
"""

CODE = "OPK012"

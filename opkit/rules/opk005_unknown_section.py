"""A section of the file is unknown.

What it does
------------
Warns about a key at the top of the file that is no section of op_plugin_functions.yaml or of torch_npu's own
YAML.

Why it matters
--------------
Its entries are ignored, here and by op-plugin.

Example
-------
    customs:
      - func: my_op(Tensor x) -> Tensor

Use instead
-----------
    custom:
      - func: my_op(Tensor x) -> Tensor
"""

CODE = "OPK005"

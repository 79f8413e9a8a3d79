"""An operator prototype cannot be read.

What it does
------------
Reports an msOpGen json file that does not exist, is no JSON, or describes an operator without a name, with an
unknown `param_type` or an unknown attribute type.

Why it matters
--------------
The operator's Ascend IR is unknown, so no converter can be made for it.

Example
-------
    {"op": "MyOp", "input_desc": [{"name": "x", "param_type": "requird"}]}

Use instead
-----------
    {"op": "MyOp", "input_desc": [{"name": "x", "param_type": "required"}]}
"""

CODE = "OPK050"

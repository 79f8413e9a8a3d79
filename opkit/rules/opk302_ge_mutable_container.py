"""GE mode cannot take a written list or optional.

What it does
------------
Reports an argument `Tensor(a!)[]` (an error) or `Tensor(a!)?` (a warning).

Why it matters
--------------
torchair copies each written argument of a functionalized call as one tensor and fails on a list or None with
an AttributeError (torchair of torch_npu 2.13). torch itself and npugraph_ex take both.

Example
-------
    - func: my_scatter_(Tensor(a!)[] caches, Tensor x) -> ()

Use instead
-----------
    - func: my_scatter_(Tensor(a!) cache, Tensor x) -> ()
"""

CODE = "OPK302"

"""A function uses a name that nothing defines.

What it does
------------
Reports names that a registered function reads and that neither it, its module nor Python defines. Files
with `from x import *` are left out.

Why it matters
--------------
Python finds out when that line runs, which for a check's message is when somebody makes the mistake it is
about: they get a NameError instead.

Example
-------
    def my_op_meta(x1):
        torch._check(x1.dim() == 3, lambda: f"x1 must be 3-D, got {x.dim()}-D")

Use instead
-----------
    def my_op_meta(x1):
        torch._check(x1.dim() == 3, lambda: f"x1 must be 3-D, got {x1.dim()}-D")
"""

CODE = "OPK233"

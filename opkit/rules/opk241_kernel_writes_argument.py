"""A C++ kernel seems to write an argument it should only read.

What it does
------------
Reports a tensor parameter that is the only output an EXEC_NPU_CMD can have, that an `aclnnInplace...`
function is given first, or that is copied for the result right after the launch. It is an error where the
kernel calls a method that writes (`cache.copy_(x)`, also on a view of it) or a function `..._out` on it.

Why it matters
--------------
A graph believes the schema: it may drop the call, move it, or read the argument from before.

Example
-------
    // my_add(Tensor self, Tensor x) -> Tensor
    EXEC_NPU_CMD(aclnnInplaceAdd, self, x);
    return self.clone();

Use instead
-----------
    // my_add_(Tensor(a!) self, Tensor x) -> ()
    EXEC_NPU_CMD(aclnnInplaceAdd, self, x);
"""

CODE = "OPK241"

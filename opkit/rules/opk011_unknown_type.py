"""A type of the schema is unknown.

What it does
------------
Reports a type name that is not one of the schema language's.

Why it matters
--------------
torch takes any lower-case word for a type variable, so a C++ name such as `double` or `int64_t` is accepted
at first and refused much later, or never matches an argument.

Example
-------
    func: my_op(Tensor x, int64_t n, double p) -> Tensor

Use instead
-----------
    func: my_op(Tensor x, int n, float p) -> Tensor
"""

CODE = "OPK011"

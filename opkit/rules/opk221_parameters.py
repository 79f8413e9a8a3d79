"""A function does not take the operator's arguments.

What it does
------------
Compares the parameters of a hand-written Meta kernel, fake kernel, Python kernel or GE converter with the
schema: an argument without a parameter, a required parameter without an argument, a positional argument
taken by keyword only, parameters that have changed places. A parameter with a default that no argument is
given to is a warning.

Why it matters
--------------
Positional arguments are given by position and keyword-only ones by name. A missing parameter raises
TypeError while a graph is captured, but only for calls that give the argument; a missing one in the middle
shifts all later ones without a word.

Example
-------
    # my_op(Tensor x, Tensor y, int n, *, str mode="a") -> Tensor
    @impl(m, "my_op")
    def my_op_meta(x, n): ...

Use instead
-----------
    @impl(m, "my_op")
    def my_op_meta(x, y, n, *, mode="a"): ...
"""

CODE = "OPK221"

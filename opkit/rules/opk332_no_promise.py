"""An operator promises nothing.

What it does
------------
`opkit prove --gate` reports an operator without `enters`, and what it could promise. An empty list promises
to enter no graph, and is fine.

Why it matters
--------------
The gate has nothing to hold the operator to.

Example
-------
    - func: my_op(Tensor x) -> Tensor

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge, no_recompile, cache]
"""

CODE = "OPK332"

"""A known failure is excused no longer.

What it does
------------
`opkit prove --gate` reports a known failure whose day is past, or whose version is installed, while the
promise is still not kept.

Why it matters
--------------
An excuse without an end becomes the normal state.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge]
      known_failures:
        - {promise: ge, reason: the kernel package is late, until: 2026-01-01}

Use instead
-----------
Mend it, or promise less:

    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex]
"""

CODE = "OPK333"

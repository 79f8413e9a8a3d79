"""A known failure does not fail.

What it does
------------
`opkit prove --gate` warns of a known failure whose promise the proof bears out. The gate does not fail for
it.

Why it matters
--------------
As long as it is recorded the promise may be broken again without the gate saying so.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      enters: [ge]
      known_failures:
        - {promise: ge, reason: the kernel package is late, until: 2099-01-01}

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      enters: [ge]
"""

CODE = "OPK334"

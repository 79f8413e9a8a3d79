"""What an operator promises about graphs cannot be read.

What it does
------------
Reports unknown and repeated promises in `enters`, promises of no graph, and known failures without a promise,
a reason or an end.

Why it matters
--------------
`opkit prove --gate` compares the promise with the evidence; it can hold an operator only to what it can read.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph, ge]
      known_failures:
        - {promise: ge, reason: the kernel package is late}

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge]
      known_failures:
        - {promise: ge, reason: the kernel package is late, until: 2027-03-01}
"""

CODE = "OPK044"

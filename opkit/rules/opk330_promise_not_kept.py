"""A promise of `enters` is not shown by the proof.

What it does
------------
`opkit prove --gate` reports a word of `enters` that the evidence does not bear out, with the stage that
failed. As a note it tells of a known failure that is still excused.

Why it matters
--------------
A model relies on the promise: the graph breaks there, or runs something else.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge, cache]

Use instead
-----------
Mend what the stage found. Where that has to wait, say so:

    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge, cache]
      known_failures:
        - {promise: cache, reason: the converter draws random numbers, until: 2027-03-01}
"""

CODE = "OPK330"

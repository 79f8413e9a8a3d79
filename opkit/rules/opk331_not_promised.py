"""The proof shows more than `enters` promises.

What it does
------------
`opkit prove --gate` reports a word that the evidence bears out and `enters` does not have.

Why it matters
--------------
What nobody promises is lost again without anybody noticing.

Example
-------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex]

Use instead
-----------
    - func: my_op(Tensor x) -> Tensor
      enters: [npugraph_ex, ge, no_recompile, cache]
"""

CODE = "OPK331"

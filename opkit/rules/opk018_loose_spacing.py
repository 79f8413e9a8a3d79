"""The schema is not spaced as op-plugin wants it.

What it does
------------
Reports `Tensor a,Tensor b`, `int ? n = 0`, `)->()`, `[1, 1]` and the like: a warning for an entry that
op-plugin reads (it has `op_api`, `acl_op` or `sparse`), else a note. `opkit check --fix` puts it right.

Why it matters
--------------
torch accepts any spacing. op-plugin splits the arguments at a comma and a space and compares what it prints
of a schema with what it has read, so its build stops with an error that does not mention spaces.

Example
-------
    - func: my_op(Tensor x,Tensor y, int[2] pad=[0, 0])->Tensor
      op_api: all_version

Use instead
-----------
    - func: my_op(Tensor x, Tensor y, int[2] pad=[0,0]) -> Tensor
      op_api: all_version
"""

CODE = "OPK018"

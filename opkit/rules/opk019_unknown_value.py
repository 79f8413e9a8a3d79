"""A word that torch or op-plugin does not know.

What it does
------------
Warns about a tag under `tags`, a dispatch key under `dispatch`, a value of `device_check` or a kernel in
`impl_ns` that is not one of those torch and op-plugin have.

Why it matters
--------------
A tag or key that is misspelled stops the build, or is silently not what was meant.

Example
-------
    - func: my_op(Tensor(a!) x) -> ()
      tags: nondeterministic_seed

Use instead
-----------
    - func: my_op(Tensor(a!) x) -> ()
      tags: nondeterministic_seeded
"""

CODE = "OPK019"

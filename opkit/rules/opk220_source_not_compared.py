"""A source could not be compared.

What it does
------------
Reports a file that is no Python or cannot be read, a registration whose library or operator name is
computed, and one whose function stands in another file. `opkit check --against` reads source and never
imports it.

Why it matters
--------------
What is not compared may be wrong.

Example
-------
    lib.impl(make_name("f"), f_meta, "Meta")

Use instead
-----------
    lib.impl("f", f_meta, "Meta")
"""

CODE = "OPK220"

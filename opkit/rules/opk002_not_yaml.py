"""The text is not YAML.

What it does
------------
Reports the first place where the file stops being YAML, and a file that is not UTF-8.

Why it matters
--------------
Nothing after that place can be read. The most frequent cause is a value that contains `,` `:` `[` `]` `{` `}`
or `#` and is not in quotes.

Example
-------
    cases:
      - {x: f16[B, 8], B: 4}

Use instead
-----------
    cases:
      - {x: "f16[B, 8]", B: 4}
"""

CODE = "OPK002"

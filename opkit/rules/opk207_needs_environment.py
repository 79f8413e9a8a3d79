"""A rule depends on the machine.

What it does
------------
Reports a rule that asks for the CANN version, the torch version or the SoC when none was given.

Why it matters
--------------
A generated Meta kernel has to give the same on the machine that traces the graph and the one that runs it.

Example
-------
    dtype: 'is_gte_cann_version_820rc1() ? at::kFloat : self.scalar_type()'

Use instead
-----------
    meta:
      out: {size: self, dtype: float32}
"""

CODE = "OPK207"

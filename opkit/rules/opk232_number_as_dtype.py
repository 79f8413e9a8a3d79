"""A number is given as a dtype.

What it does
------------
Reports `dtype=` given a number, or an argument the schema declares an `int`.

Why it matters
--------------
torch.empty and its kin raise TypeError for it. A `ScalarType` argument arrives as a torch.dtype, an `int`
does not.

Example
-------
    # my_quant(Tensor x, int dst_type=1) -> Tensor
    @impl(m, "my_quant")
    def my_quant_meta(x, dst_type=1):
        return torch.empty_like(x, dtype=dst_type)

Use instead
-----------
    @impl(m, "my_quant")
    def my_quant_meta(x, dst_type=1):
        return torch.empty_like(x, dtype=DTYPES[dst_type])
"""

CODE = "OPK232"

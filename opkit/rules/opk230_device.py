"""A Meta kernel's tensor is on a device of its own.

What it does
------------
Reports tensors made without a device or on a constant one. In a kernel registered for the dispatch key
Meta, `device="meta"` is right; in a fake kernel (`register_fake`) it is not. For a result it is an error,
else a warning.

Why it matters
--------------
A kernel of the key Meta has to give meta tensors: "tensor's device must be `meta`, got cpu instead". A fake
kernel is believed, and the graph takes the result for a CPU tensor.

Example
-------
    @torch.library.register_fake("my_ns::my_op")
    def my_op_fake(x):
        return torch.empty(x.shape)

Use instead
-----------
    @torch.library.register_fake("my_ns::my_op")
    def my_op_fake(x):
        return torch.empty(x.shape, dtype=x.dtype, device=x.device)
"""

CODE = "OPK230"

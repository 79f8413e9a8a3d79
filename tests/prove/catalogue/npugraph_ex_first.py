"""A module that makes use of npugraph_ex before anything of torchair is imported."""

import torch_npu  # noqa: F401 - makes `import npugraph_ex` find the one inside torch_npu

import npugraph_ex  # isort: skip

npugraph_ex.CompilerConfig()

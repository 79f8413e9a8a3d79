"""opkit: graph entry for Ascend NPU custom operators.

Reads `op_plugin_functions.yaml`-style operator schemas, emits Meta kernels and torchair GE converters,
scaffolds operator packages, and proves that each operator enters the npugraph_ex and the GE graph.
Importing this package imports neither torch nor torch_npu.
"""

__version__ = "0.1.0"

"""opkit: graph entry for Ascend NPU custom operators.

Reads `op_plugin_functions.yaml`-style operator schemas, emits Meta kernels and torchair GE converters,
scaffolds operator packages, and proves that each operator enters the npugraph_ex and the GE graph.
Importing this package imports neither torch nor torch_npu.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opkit.cache_digest import cache_dir as cache_dir
    from opkit.registration.package import register as register

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "register":
        from opkit.registration.package import register

        return register
    if name == "cache_dir":
        from opkit.cache_digest import cache_dir

        return cache_dir
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

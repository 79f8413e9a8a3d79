"""The module of a generated package that registers its GE converters once torchair is there.

Importing torchair is not harmless in a process that uses npugraph_ex, so a package must not do it; and a
converter that is registered too late is none. Hence a hook: it watches imports for torchair (which torch_npu
ships as `torch_npu.dynamo.torchair`, and imports at the first GE compile) and then imports the converters.
"""

from __future__ import annotations

TEXT = '''
from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import MetaPathFinder

# The module's name inside torch_npu, and that of a separately installed torchair.
TORCHAIR = ("torch_npu.dynamo.torchair", "torchair")


class AfterTorchair(MetaPathFinder):
    """Imports a module right after torchair has been imported."""

    def __init__(self, module: str) -> None:
        self.module = module
        self._searching = False

    def find_spec(self, name, path=None, target=None):
        """Find torchair as usual, and make its loader import the module afterwards."""
        if name not in TORCHAIR or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_register(module) -> None:
            run(module)
            importlib.import_module(self.module)

        spec.loader.exec_module = run_and_register
        return spec


def import_with_torchair(module: str) -> None:
    """Import a module now if torchair is imported already, else as soon as it is."""
    loaded = [vars(sys.modules[name]) for name in TORCHAIR if name in sys.modules]
    if any("get_npu_backend" in names for names in loaded):
        importlib.import_module(module)
    elif not any(isinstance(f, AfterTorchair) and f.module == module for f in sys.meta_path):
        # torch_npu puts a placeholder for `torchair` into sys.modules, hence the look inside above.
        sys.meta_path.insert(0, AfterTorchair(module))
'''

"""Python imports this at its start: runtime_environment() put its directory on PYTHONPATH.

It lets torch_npu compute on the stand-in, registers what `opkit run --register` asks for,
and then runs the sitecustomize that it hides, if there is one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _hook() -> None:
    if os.environ.get("OPKIT_STAND_IN") != "1" and "OPKIT_REGISTER" not in os.environ:
        return
    if importlib.util.find_spec("opkit") is None:
        # A child with an environment of its own packages still has the opkit that started it.
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(_HERE))))
    if os.environ.get("OPKIT_STAND_IN") == "1":
        from opkit.cann.hook import install_import_hook

        install_import_hook()
    if "OPKIT_REGISTER" in os.environ:
        from opkit.registration.on_import import register_as_environment_says

        register_as_environment_says()


def _chain() -> None:
    entries = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", entries)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_hook()
_chain()

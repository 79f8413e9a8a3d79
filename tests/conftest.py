"""Settings every test shares."""

from __future__ import annotations

import os

# torch must be importable in tests that need only its CPU part: without this, torch autoloads torch_npu, and
# that fails before the runtime libraries are loaded. Tests of the real graphs start processes of their own.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
# Where CI is set torch raises instead of warning for custom operators that return an argument, as torch_npu's
# own attention does. Tests must not depend on where they run.
os.environ.pop("CI", None)

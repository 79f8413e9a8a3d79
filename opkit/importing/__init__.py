"""Writing a declaration file for operators that exist: from their C++ definitions, or from the dispatcher."""

from opkit.importing.cpp import import_cpp
from opkit.importing.declaration import Imported
from opkit.importing.registered import import_registered

__all__ = ["Imported", "import_cpp", "import_registered"]

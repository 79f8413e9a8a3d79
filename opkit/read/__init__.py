"""Text to (model, diagnostics). A user's mistake never raises out of this package."""

from opkit.read.expression import parse_expression
from opkit.read.file import read_file, read_text
from opkit.read.prototype import read_prototype
from opkit.read.schema import parse_schema

__all__ = ["parse_expression", "parse_schema", "read_file", "read_prototype", "read_text"]

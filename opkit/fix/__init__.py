"""`opkit check --fix`: what is mechanical is put right, and everything else in the file stays as it is."""

from opkit.fix.file import Fix, Fixed, fix_text
from opkit.fix.path import fix_path, show_diff, write_fixed

__all__ = ["Fix", "Fixed", "fix_path", "fix_text", "show_diff", "write_fixed"]

"""A whole generated package: which files it has, and writing them."""

from __future__ import annotations

import json
import keyword
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from opkit.emit import converter, ir_json, meta_custom_op, meta_library, pyi, torchair_hook
from opkit.emit.header import docstring
from opkit.emit.meta_kernel import Options, own_operators, prepare, unique_operators
from opkit.errors import OpkitError
from opkit.files import write_atomically
from opkit.model.diagnostic import Diagnostic, Severity, has_errors
from opkit.model.operator import OpFile

STYLES = ("library", "custom-op")


@dataclass(frozen=True)
class Package:
    """The generated files of one YAML file."""

    # Path relative to the package's directory -> text.
    files: Mapping[str, str]
    # Files that are the user's once they exist.
    once: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]
    # Operators that could not be generated; files without them are made only if asked for.
    left_out: tuple[str, ...] = ()
    # How many operators of torch's own are without a usable rule, and left to torch.
    torchs: int = 0

    @property
    def complete(self) -> bool:
        """Tell whether every operator could be generated."""
        return not has_errors(self.diagnostics)

    def stale(self, directory: Path) -> tuple[Path, ...]:
        """Files in `directory` that are missing or differ from what would be written now."""
        changed = [name for name, text in self.files.items() if _read(directory / name) != text]
        missing = [name for name in self.once if not (directory / name).exists()]
        return tuple(directory / name for name in (*changed, *missing))

    def write(self, directory: Path) -> tuple[Path, ...]:
        """Write the files that changed, and the user's files that are missing; return what was written.

        Raises OpkitError when there are no files, OSError when a file cannot be written.
        """
        if not self.files:
            raise OpkitError("the package is incomplete: an operator could not be generated")
        written = [p for name, text in self.files.items() if write_atomically(p := directory / name, text)]
        for name, text in self.once.items():
            if not (directory / name).exists():
                write_atomically(directory / name, text)
                written.append(directory / name)
        return tuple(written)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def generate(
    op_file: OpFile,
    directory: Path,
    style: str = "library",
    options: Options | None = None,
    with_converters: bool = True,
    partial: bool = False,
) -> Package:
    """Make the package of a file that is to stand in `directory`.

    Operators that cannot be generated are errors in `Package.diagnostics`. There are no files then, unless
    `partial` asks for files that leave these operators out.
    Raises OpkitError for a style or directory name that cannot be.
    """
    if style not in STYLES:
        raise OpkitError(f"there is no style {style!r}", f"use one of: {', '.join(STYLES)}")
    name = directory.resolve().name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise OpkitError(
            f"{name!r} is not a name Python can import", "name the directory like a Python package"
        )
    options = replace(options or Options(), yaml_directory=relative_directory(op_file.path, directory))
    kept, findings, left_out, torchs = _select(op_file, style, options)
    if with_converters:
        findings += converter_findings(op_file)
    if not kept.operators or (left_out and not partial):
        return Package({}, {}, tuple(findings), left_out)
    files = _files(kept, style, options, with_converters)
    once = meta_custom_op.kernels_template(kept, options) if style == "custom-op" else ""
    return Package(files, {"kernels.py": once} if once else {}, tuple(findings), left_out, torchs)


def _select(
    op_file: OpFile, style: str, options: Options
) -> tuple[OpFile, list[Diagnostic], tuple[str, ...], int]:
    """Part a file into what can be generated, and findings about and names of the operators that cannot.

    The number is that of torch's own operators which need no rule.
    """
    kept, found, left_out = op_file, list[Diagnostic](), tuple[str, ...]()
    # An operator can inherit its rule from one that is left out.
    while True:
        kernels, problems = prepare(kept, options)
        again = [*problems, *(meta_custom_op.check(kept) if style == "custom-op" else ())]
        found += [d for d in again if d not in found]
        names = tuple(dict.fromkeys(d.operator for d in again if d.severity is Severity.ERROR))
        if not names:
            return kept, found, left_out, len(unique_operators(kept)) - len(kernels)
        left_out += names
        kept = replace(kept, operators=tuple(s for s in kept.operators if s.name not in names))


def _files(op_file: OpFile, style: str, options: Options, with_converters: bool) -> dict[str, str]:
    emit_meta = meta_custom_op.emit if style == "custom-op" else meta_library.emit
    files = {
        "__init__.py": _init(op_file, options, with_converters),
        "__init__.pyi": pyi.emit(op_file, options),
        # Type checkers read the stub of an installed package only if this file is there.
        "py.typed": "",
        "meta.py": emit_meta(op_file, options),
    }
    if with_converters:
        files |= _ge_files(op_file, options)
    return files


def relative_directory(yaml_path: str, directory: Path) -> str:
    """The way from a package to the directory of its YAML file, so that both can be moved together."""
    relative = os.path.relpath(Path(yaml_path).resolve().parent, directory.resolve())
    return Path(relative).as_posix()


def converter_findings(op_file: OpFile) -> list[Diagnostic]:
    """What keeps operators out of GE. The Meta kernel still takes them into npugraph_ex: warnings here."""
    found = [d for spec in own_operators(op_file) for d in converter.check(spec)]
    return [replace(d, severity=Severity.WARNING) if d.severity is Severity.ERROR else d for d in found]


def _ge_files(op_file: OpFile, options: Options) -> dict[str, str]:
    header = docstring(
        op_file,
        "GE converters.",
        "Importing this module registers them with torchair; the operators must be defined before.",
    )
    files = {"converters.py": converter.emit(op_file, options.namespace, header)}
    files["torchair_hook.py"] = docstring(
        op_file, "Registers the GE converters once torchair is imported."
    ) + (torchair_hook.TEXT)
    for spec in converter.converters(op_file):
        files[f"prototypes/{spec.name.replace('.', '_')}.json"] = ir_json.emit(spec)
    return files


def _init(op_file: OpFile, options: Options, with_converters: bool) -> str:
    """Print the package's `__init__`: importing it registers everything."""
    packets = pyi.exported(op_file, options)
    imports = "import torch\n\n" if packets else ""
    imports += "from . import meta\n"
    hook = ""
    if with_converters:
        imports += "from .torchair_hook import import_with_torchair\n"
        hook = '\nimport_with_torchair(f"{__name__}.converters")\n'
    names = "".join(f"{p.base} = torch.ops.{p.namespace}.{p.base}\n" for p in packets)
    listed = "".join(f"    {json.dumps(name)},\n" for name in sorted(["meta", *(p.base for p in packets)]))
    text = docstring(
        op_file,
        "Importing this package before torch.compile takes its operators into the graph.",
        *(
            ("Meta kernels are registered at once, GE converters as soon as torchair is imported.",)
            * with_converters
        ),
    )
    return f"{text}\n{imports}\n__all__ = [\n{listed}]\n{hook}" + (f"\n{names}" if names else "")

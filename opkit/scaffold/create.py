"""Writes the project: everything in a directory of its own, then one rename."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from opkit import __version__
from opkit.emit import ir_json, mre
from opkit.emit.meta_kernel import Options
from opkit.emit.package import generate
from opkit.errors import OpkitError
from opkit.files import data_directory
from opkit.model.diagnostic import Diagnostic
from opkit.model.operator import OpFile
from opkit.read import read_file
from opkit.scaffold import declare
from opkit.scaffold.answers import Answers

TEMPLATE = "op_package"
# What ops.yaml names for completion in an editor.
EDITOR_SCHEMA = "op_plugin.schema.json"
# Where a project keeps what it was made from, so that a later opkit can tell what has changed since.
RECORD = ".opkit-scaffold.json"


class ScaffoldFailed(OpkitError):
    """The project could not be generated from its own declaration; `diagnostics` say why."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("no package can be generated from this schema")
        self.diagnostics = diagnostics


def create(answers: Answers, target: Path) -> list[Path]:
    """Write the project to `target` and list its files.

    Raises OpkitError if `target` is something else than an empty directory, ScaffoldFailed if the declaration
    cannot be generated from, OSError if it cannot be written. Nothing is left behind then.
    """
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        what = "is not empty" if target.is_dir() else "exists and is no directory"
        raise OpkitError(f"{target} {what}", "choose another directory with -o, or move it away")
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        project = _render(answers, work)
        _add_generated(answers, project)
        # Replaces the empty directory, and fails rather than merge if somebody has filled it meanwhile.
        os.rename(project, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return sorted(path for path in target.rglob("*") if path.is_file())


def _render(answers: Answers, work: Path) -> Path:
    """Fill the template in; cookiecutter's own front end would read the user's settings and keep a replay."""
    from cookiecutter.generate import generate_files

    template = data_directory("op_templates") / TEMPLATE
    context = {"cookiecutter": _context(answers, template)}
    return Path(generate_files(str(template), context, output_dir=str(work), accept_hooks=False))


def _context(answers: Answers, template: Path) -> dict[str, Any]:
    defaults: dict[str, Any] = json.loads((template / "cookiecutter.json").read_text(encoding="utf-8"))
    return {
        **defaults,
        "directory": answers.name,
        "name": answers.name,
        "namespace": answers.namespace,
        "package": answers.package,
        "func": declare.yaml_scalar(answers.func),
        "style": answers.style,
        "opkit_version": __version__,
        "_schema": answers.func,
        "_modes": list(answers.modes),
        "_ir": ir_json.ir_name(answers.name),
        "_op_plugin": answers.style == "library" and declare.op_plugin_takes(answers.schema),
        "_outputs": declare.outputs(answers.schema) if answers.schema.returns else [],
        "_cases": declare.cases(answers.schema),
        "_reference": declare.reference(answers.schema),
    }


def _add_generated(answers: Answers, project: Path) -> None:
    """Add what follows from the declaration, the package, the scripts and the record, and the JSON Schema."""
    op_file = _read(project / "ops.yaml")
    directory = project / answers.package
    package = generate(
        op_file, directory, answers.style, Options(answers.namespace), with_converters="ge" in answers.modes
    )
    if not package.complete:
        raise ScaffoldFailed(package.diagnostics)
    package.write(directory)
    for mode in answers.modes:
        script = mre.emit(op_file.operators[0], mode, answers.namespace, answers.package)
        (project / f"run_{mode}.py").write_text(script, encoding="utf-8")
    shutil.copyfile(data_directory("yaml_schemas") / EDITOR_SCHEMA, project / EDITOR_SCHEMA)
    (project / RECORD).write_text(_record(answers), encoding="utf-8")


def _read(path: Path) -> OpFile:
    op_file, diagnostics = read_file(path)
    if op_file is None or not op_file.operators:
        raise ScaffoldFailed(tuple(diagnostics))
    return op_file


def _record(answers: Answers) -> str:
    defaults = json.loads(
        (data_directory("op_templates") / TEMPLATE / "cookiecutter.json").read_text(encoding="utf-8")
    )
    record = {
        "template": TEMPLATE,
        "template_version": defaults["_template_version"],
        "opkit_version": __version__,
        "answers": {
            "name": answers.name,
            "schema": str(answers.schema),
            "style": answers.style,
            "namespace": answers.namespace,
        },
    }
    return json.dumps(record, indent=2) + "\n"

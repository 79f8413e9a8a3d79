"""Every form a proof is reported in, by name."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace

from opkit.model.diagnostic import Diagnostic, Mark, Severity
from opkit.prove.protocol import BREAKS, HOLDS, ModeResult, OperatorResult, Proof
from opkit.report import diagnostics, proof_json
from opkit.report import proof as full
from opkit.report.diagnostics_text import visible
from opkit.report.proof_findings import Finding, findings, place, relative_file

FORMATS = ("full", "table", "concise", "json", "github", "junit", "sarif", "html")
# Characters XML 1.0 cannot hold at all.
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(proof: Proof, format: str = "full", width: int = full.WIDTH, color: bool = False) -> str:
    """Print a proof in one of FORMATS; `width` is for "full" and "table", `color` for "full".

    Raises ValueError for an unknown format. The text ends with a newline unless it is empty, as for "github",
    which has nothing to say when all holds.
    """
    if format == "full":
        return full.render(proof, width, color)
    if format == "table":
        from opkit.report import verdicts

        return verdicts.render(proof, width)
    if format == "json":
        return proof_json.render(proof)
    if format == "html":
        from opkit.report import html

        return html.render(proof)
    if format == "junit":
        return _junit(proof)
    if format == "concise":
        return "".join(f"{line}\n" for line in _concise(proof))
    if format in ("github", "sarif"):
        return diagnostics.render(_diagnostics(proof), format)
    raise ValueError(f"unknown format {format!r}; formats: {', '.join(FORMATS)}")


def _diagnostics(proof: Proof) -> list[Diagnostic]:
    """List what keeps the proof from holding: with a gate its findings, which name the causes."""
    if proof.gate is not None:
        return [_placed(proof, found) for found in proof.gate]
    return [_diagnostic(proof, found) for found in findings(proof)]


def _placed(proof: Proof, found: Diagnostic) -> Diagnostic:
    if found.mark is None:
        return found
    operator = next((item for item in proof.operators if item.file == found.mark.file), None)
    file = found.mark.file if operator is None else relative_file(proof, operator)
    return replace(found, mark=found.mark._replace(file=file))


def _diagnostic(proof: Proof, found: Finding) -> Diagnostic:
    """Put a cause in the form that findings about the YAML have; its code names the stage."""
    operator = found.operator
    mark = Mark(relative_file(proof, operator), operator.line, 1) if operator.line else None
    help = f"reproduce with `{found.command}`" if found.command else ""
    code = f"prove-{found.stage}" if found.stage else "prove"
    return Diagnostic(code, Severity.ERROR, found.message, mark, help, operator.name)


def _concise(proof: Proof) -> Iterator[str]:
    """Give a line for each cause, then one that counts."""
    if proof.gate is not None:
        yield from diagnostics.render(_diagnostics(proof), "concise").splitlines()
        yield full.kept_promises(proof)
        return
    for found in findings(proof):
        where = place(proof, found.operator)
        text = visible("; ".join(found.message.splitlines()))
        yield f"{visible(where)}: {text}" if where else text
    modes = [mode for operator in proof.operators for mode in operator.modes]
    if not modes:
        yield proof.explain()
        return
    verb = "are proved" if proof.stages else "enter"
    yield f"{sum(mode.verdict in HOLDS for mode in modes)} of {len(modes)} {verb}"


def _junit(proof: Proof) -> str:
    """One suite for each YAML file, one test case for each operator, style, case and graph.

    What breaks is a failure, what could not be judged an error: both fail the build, as the exit status does.
    """
    root = ElementTree.Element("testsuites", name="opkit prove")
    for file in dict.fromkeys(operator.file for operator in proof.operators):
        operators = [operator for operator in proof.operators if operator.file == file]
        name = relative_file(proof, operators[0]) or "opkit prove"
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(name))
        for operator in operators if proof.gate is None else ():
            for mode in operator.modes:
                _test_case(suite, name, proof, operator, mode)
        for promiser in dict.fromkeys(operator.name for operator in operators if proof.gate is not None):
            _gate_case(suite, name, file, proof, promiser)
        _count(suite, suite)
    _count(root, root)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _test_case(
    suite: ElementTree.Element, file: str, proof: Proof, operator: OperatorResult, mode: ModeResult
) -> None:
    name = f"{operator.name}[{mode.mode}-{operator.style}-{operator.case}]"
    case = ElementTree.SubElement(suite, "testcase", classname=_xml(file), name=_xml(name))
    said = [place(proof, operator), operator.reproduce(mode.mode), *(f"note: {note}" for note in mode.notes)]
    if mode.verdict not in HOLDS:
        tag = "failure" if mode.verdict == BREAKS else "error"
        first = mode.reason.splitlines()[0] if mode.reason else mode.verdict
        found = ElementTree.SubElement(case, tag, type=mode.verdict, message=_xml(first))
        found.text = _xml("\n".join([mode.reason, *filter(None, said[:2])]))
    if any(said):
        ElementTree.SubElement(case, "system-out").text = _xml("\n".join(filter(None, said)))


def _gate_case(suite: ElementTree.Element, title: str, file: str, proof: Proof, operator: str) -> None:
    """Give one test case for an operator: promise and evidence are the same."""
    case = ElementTree.SubElement(suite, "testcase", classname=_xml(title), name=_xml(f"{operator}[gate]"))
    own = [
        f for f in proof.gate or () if f.operator == operator and f.mark is not None and f.mark.file == file
    ]
    for tag, is_error in (("failure", True), ("system-out", False)):
        some = [found for found in own if (found.severity is Severity.ERROR) == is_error]
        if some:
            item = ElementTree.SubElement(case, tag)
            item.text = _xml("\n".join(f"{f.mark}: {f.code} {f.message}\nhelp: {f.help}" for f in some))
            if is_error:
                item.set("message", _xml(some[0].message.splitlines()[0]))


def _count(target: ElementTree.Element, tree: ElementTree.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        target.set(name, str(sum(1 for _ in tree.iter(tag))))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)

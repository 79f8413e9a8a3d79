"""The worker process of the host judge: `python -m opkit.audit.worker REQUEST RESULT`.

It writes one JSON line before and after each call, so that a call which takes the process with it is known.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from opkit.audit.host import compare
from opkit.audit.protocol import BOTH_RAISE, HOST_RAISES, UNUSABLE, Comparison, Request
from opkit.audit.rule import has_rule, is_refused, rule_function
from opkit.audit.variations import empties, variations
from opkit.errors import OpkitError
from opkit.model.operator import OpFile, OpSpec
from opkit.prove.subject import first_line
from opkit.shape import Environment


def main(request_file: str, result_file: str) -> int:
    """Judge a request. Returns 0 whatever the rules are worth, 1 when nothing could be judged."""
    request = Request.from_json(json.loads(Path(request_file).read_text(encoding="utf-8")))
    with Path(result_file).open("a", encoding="utf-8") as stream:
        try:
            _judge(request, stream)
        except OpkitError as error:
            _send(stream, "error", message=error.message, help=error.help)
            return 1
    return 0


def _send(stream: TextIO, event: str, **values: Any) -> None:
    stream.write(json.dumps({"event": event, **values}) + "\n")
    stream.flush()


def _judge(request: Request, stream: TextIO) -> None:
    from opkit.cann.load import ensure_runtime
    from opkit.prove.plan import read

    # With torch_npu's own aten kernels: host code is often made of them, and it is what is judged here.
    runtime = ensure_runtime(request.stand_in, computes=False)
    import torch
    import torch_npu  # noqa: F401 - registers the NPU

    torch.npu.set_device(0)
    _send(stream, "runtime", kind=runtime.kind, torch=runtime.torch, torch_npu=runtime.torch_npu)
    environment = Environment(runtime.torch, request.cann, runtime.soc or request.soc)
    files: dict[str, OpFile] = {}
    for path, name in request.subjects:
        if path not in files:
            files[path] = read(path)
        spec = files[path].operator(name)
        assert spec is not None, f"{path} has no operator {name}"
        _send(stream, "operator", file=path, operator=name)
        _operator(spec, files[path], request, environment, stream)
        _send(stream, "finished", file=path, operator=name)


def _operator(
    spec: OpSpec, op_file: OpFile, request: Request, environment: Environment, stream: TextIO
) -> None:
    from opkit.cann.operators import find_operator
    from opkit.prove.watch import has_meta, is_defined

    def unusable(reason: str) -> None:
        _send(stream, "comparison", comparison=asdict(Comparison("", UNUSABLE, "", reason)))

    name = f"{spec.schema.name.namespace or request.namespace}::{spec.name}"
    if not is_defined(name):
        return unusable(f"the installed wheel has no operator {name}")
    had_meta = has_meta(name)
    operator = find_operator(name)
    try:
        # An entry without a rule has the calls with which the operator's own Meta kernel is judged.
        rule = (
            operator
            if had_meta and not (has_rule(spec) or spec.corrects)
            else rule_function(spec, op_file, request.namespace, environment)
        )
    except Exception as error:
        return unusable(str(error) if isinstance(error, (OpkitError, RuntimeError)) else first_line(error))
    if not spec.cases:
        return unusable("the rule has no `cases:` to judge it with")
    # Through the dispatcher where the rule is what it finds there, else directly.
    asked = rule if had_meta else operator
    if is_refused(spec, environment.soc_version):
        asked = _refuse
    for variation in variations(spec):
        _send(stream, "call", call=variation.name)
        comparison = compare(variation, spec, operator, asked, request.primary)
        _send(stream, "comparison", comparison=asdict(comparison))
    for variation in empties(spec):
        _send(stream, "call", call=variation.name)
        comparison = compare(variation, spec, operator, asked, primary=False)
        # What the host refuses is no answer here: the rule need not know that a tensor may not be empty.
        if comparison.verdict not in (HOST_RAISES, BOTH_RAISE):
            _send(stream, "comparison", comparison=asdict(comparison))
    return None


def _refuse(*_: object, **__: object) -> None:
    raise RuntimeError("only an aclop kernel, which this SoC does not take")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The worker process of the survey: `python -m opkit.audit.survey_worker REQUEST RESULT`.

A request names a task: "registered", "converters" or "kernels". One line is written before each operator and
one after it, so that an operator that takes the process with it is known.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from opkit.errors import OpkitError
from opkit.prove.watch import Watch

Facts = Callable[[str], Mapping[str, Any]]


def main(request_file: str, result_file: str) -> int:
    """Do a task. Returns 1 when nothing could be asked."""
    request = json.loads(Path(request_file).read_text(encoding="utf-8"))
    with Path(result_file).open("a", encoding="utf-8") as stream:

        def send(event: str, **values: Any) -> None:
            stream.write(json.dumps({"event": event, **values}, default=str) + "\n")
            stream.flush()

        try:
            _work(request, send)
        except OpkitError as error:
            send("error", message=error.message, help=error.help)
            return 1
    return 0


def _work(request: Mapping[str, Any], send: Callable[..., None]) -> None:
    from opkit.audit.installed import load
    from opkit.cann.load import ensure_runtime

    # With torch_npu's own aten kernels: what an operator launches is asked of them.
    runtime = ensure_runtime(request["stand_in"], computes=False)
    watch = Watch()
    names = load(request["subject"], watch)
    send("runtime", kind=runtime.kind, torch=runtime.torch, torch_npu=runtime.torch_npu, soc=runtime.soc)
    send("operators", names=names)
    facts = _task(request["task"], watch, runtime.kind)
    done = set(request["done"])
    for name in names:
        if name not in done:
            send("operator", operator=name)
            send("facts", operator=name, facts=facts(name))


def _task(task: str, watch: Watch, runtime: str) -> Facts:
    if task == "registered":
        from opkit.audit import registered

        return lambda name: registered.facts(name, watch)
    if task == "converters":
        from opkit.audit import converters

        converters.prepare()
        return converters.facts
    return _kernels(runtime)


def _kernels(runtime: str) -> Facts:
    from opkit.audit import kernels
    from opkit.registration.machine import machine_environment
    from opkit.shape.environment import soc_family
    from opkit.shipped import shipped_rules

    if runtime != "stand-in":
        raise OpkitError("which kernels an operator launches is asked of the stand-in", "add --stand-in")
    rules = shipped_rules()
    refuses_aclop = soc_family(machine_environment().soc_version or "") == "950"
    return lambda name: kernels.facts(name, rules.get(name), refuses_aclop)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

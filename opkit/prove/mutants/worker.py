"""The worker that makes the mutants of one mode and style and judges them, many per process.

`python -m opkit.prove.mutants.worker REQUEST RESULT`, started by `opkit.prove.mutants.run`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opkit.cann.operators import find_operator
from opkit.errors import OpkitError
from opkit.processes import die_with_parent
from opkit.prove import fake
from opkit.prove.mutants import opcheck, same
from opkit.prove.mutants.bench import Bench, Judgement, cases
from opkit.prove.mutants.catalogue import KINDS
from opkit.prove.mutants.kind import META, Kind, NotApplicable, Product, build
from opkit.prove.mutants.matrix import EQUIVALENT, KILLED, NOT_APPLICABLE, SURVIVED
from opkit.prove.mutants.sample import Sample, chosen
from opkit.prove.protocol import Request
from opkit.prove.setup import Setup
from opkit.prove.subject import Declared, Setting, on_npu
from opkit.prove.values import inputs
from opkit.prove.watch import Watch
from opkit.prove.worker import Channel

# Verdicts held back until the unmutated operator has been judged again.
_BATCH = 16


def main(request_file: str, result_file: str) -> int:
    """Judge the mutants of a request. Returns 1 when nothing could be judged."""
    die_with_parent()
    given = json.loads(Path(request_file).read_text(encoding="utf-8"))
    with Path(result_file).open("a", encoding="utf-8") as stream:
        channel = Channel(stream)
        try:
            _run(given, channel)
        except Polluted:
            return 0
        except OpkitError as error:
            channel.send("error", message=error.message, help=error.help)
            return 1
    return 0


def _run(given: Mapping[str, Any], channel: Channel) -> None:
    from opkit.cann.load import ensure_runtime

    request = Request.from_json(given["request"])
    runtime = ensure_runtime(request.stand_in)
    import torch
    import torch_npu  # noqa: F401 - registers the NPU

    torch.npu.set_device(0)
    channel.send(
        "runtime", kind=runtime.kind, torch=runtime.torch, torch_npu=runtime.torch_npu, soc=runtime.soc
    )
    if runtime.kind == "stand-in":
        from opkit.cann.hook import equip

        equip()
    watch = Watch()
    setup = Setup(request, watch, runtime.kind)
    bench = Bench(setup, Setting(request.mode, runtime.kind, watch))
    wanted = {(file, name) for file, name, _ in request.subjects}
    for item in setup.run():
        if (item.op_file.path, item.spec.name) in wanted:
            _Operator(channel, setup, bench, item, given).run()
            channel.send("finished", file=item.op_file.path, operator=item.spec.name)


class Polluted(Exception):
    """A mutant left the process in a state in which the unmutated operator breaks as well."""


class _Operator:
    """Judges one operator: itself first, then its mutants, and itself again in between.

    A verdict counts only when the unmutated operator still enters afterwards: else what was wrong with the
    process would pass for a kill. Until then verdicts are held back.
    """

    def __init__(
        self, channel: Channel, setup: Setup, bench: Bench, item: Declared, given: Mapping[str, Any]
    ) -> None:
        self.channel, self.setup, self.bench, self.item = channel, setup, bench, item
        self.done = {tuple(mutant) for mutant in given["done"]}
        # So many mutants are looked at one at a time, because one of them is known to pollute.
        self.careful: int = given["careful"]
        self.sample = None if given["sample"] is None else Sample(**given["sample"])
        self.request = setup.request
        self.identity = {"file": item.op_file.path, "operator": item.spec.name}
        self.held: list[dict[str, Any]] = []

    def run(self) -> None:
        """Send an event for the unmutated operator and one for each mutant. Raises Polluted."""
        from opkit.registration.machine import machine_environment

        self._begin("", "")
        try:
            product = build(self.item.op_file, self.item.spec, self.request.style, machine_environment())
        except OpkitError as error:
            self._send("baseline", outcome="not generated", stage="", reason=error.message)
            return
        installed = self.bench.install(product, self.item)
        judged = self.bench.judge(installed)
        if judged.stage:
            self._send("baseline", outcome="breaks", stage=judged.stage, reason=judged.reason)
            return
        seen = opcheck.findings(installed) if self.request.mode == "npugraph_ex" else None
        self._send("baseline", outcome="enters", stage="", reason="", opcheck=seen)
        kinds = [kind for kind in KINDS.values() if kind.mode == self.request.mode]
        found = [mutant for kind in kinds for mutant in self._of(kind, product, judged)]
        for kind, place, mutant in chosen(found, self.sample, self.item.qualified):
            if (*self.identity.values(), kind.name, place) in self.done:
                continue
            self._begin(kind.name, place)
            self._mutant(kind, place, product, mutant, installed, compare=seen == "")
            if len(self.held) >= (1 if self.careful > 0 else _BATCH) or not _healthy(installed):
                self._commit(installed)
            self.careful -= 1
        self._commit(installed)

    def _of(self, kind: Kind, product: Product, judged: Judgement) -> list[tuple[Kind, str, Product]]:
        """List the mutants of a kind; `judged` is the operator without a mutation."""
        if kind.needs_kernel and not self.bench.computes(self.item, judged):
            self._result(kind, "", NOT_APPLICABLE, reason="nothing here computes it: give a `reference:`")
            return []
        found = []
        try:
            for place, mutant in kind.apply(product):
                found.append((kind, place, mutant))
        except NotApplicable as error:
            self._result(kind, "", NOT_APPLICABLE, reason=str(error))
        return found

    def _mutant(
        self, kind: Kind, place: str, product: Product, mutant: Product, original: Declared, compare: bool
    ) -> None:
        if mutant == product:
            self._result(kind, place, EQUIVALENT, reason="what is generated is the same, letter by letter")
            return
        started = time.monotonic()
        item = self.bench.install(mutant, self.item)
        judged = self.bench.judge(item)
        self.bench.tell_cann(product)
        seconds = round(time.monotonic() - started, 3)
        outcome, reason = KILLED, judged.reason
        if not judged.stage:
            looked = kind.group == META and kind.by_results and not item.problem
            reason = same.evidence(original, item) if looked else ""
            outcome = EQUIVALENT if reason else SURVIVED
        # In a process that the mutant broke, whatever opcheck says is about that.
        asked = compare and kind.shown_on_cpu and _healthy(original)
        seen = opcheck.findings(item) if asked else None
        self._result(
            kind, place, outcome, stage=judged.stage, reason=reason, case=judged.case, opcheck=seen,
            seconds=seconds,
        )  # fmt: skip

    def _commit(self, original: Declared) -> None:
        """Send the verdicts held back, if the unmutated operator still enters.

        Raises Polluted otherwise: with one verdict alone it stands, since it was reached before.
        """
        if not self.held:
            return
        # What only fake tensors have run can have spoilt nothing but fake calls.
        only_fakes = all(values.get("stage") in ("schema", "meta") for values in self.held)
        fine = _healthy(original) and (only_fakes or not self.bench.judge(original).stage)
        if fine or len(self.held) == 1:
            for values in self.held:
                self._send("mutant", **values)
        held, self.held = self.held, []
        if not fine:
            self._send("polluted", again=len(held) if len(held) > 1 else 0)
            raise Polluted

    def _begin(self, kind: str, place: str) -> None:
        self._send("begin", kind=kind, place=place)

    def _result(self, kind: Kind, place: str, outcome: str, **values: Any) -> None:
        found = {"kind": kind.name, "place": place, "outcome": outcome, **values}
        if outcome == NOT_APPLICABLE:
            self._send("mutant", **found)
        else:
            self.held.append(found)

    def _send(self, event: str, **values: Any) -> None:
        self.channel.send(event, **self.identity, **values)


def _healthy(original: Declared) -> bool:
    """Tell whether the unmutated Meta kernel still runs: the quick part of judging it again."""
    for candidate in cases(original.spec):
        case = candidate.alternatives[0][1]
        if not case.raises:
            try:
                fake.call(find_operator(original.qualified), on_npu(inputs(original.spec.schema, case)))
            except Exception:
                return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

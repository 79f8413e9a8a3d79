"""Registers products under namespaces of their own in a warm worker and runs the prover's stages on them."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opkit.model.operator import OpFile, OpSpec
from opkit.prove import worker
from opkit.prove.cases import Candidate, candidates
from opkit.prove.mutants.kind import NAMESPACE, Product
from opkit.prove.protocol import PROVED, STAGES
from opkit.prove.setup import Setup
from opkit.prove.subject import Declared, Setting, first_line
from opkit.prove.watch import is_defined

# Registrations live as long as what made them.
_KEPT: list[object] = []


@dataclass(frozen=True)
class Judgement:
    """What the prover says about a product."""

    # The stage that is not proved and its reason; empty when the product enters with every case.
    stage: str
    reason: str
    # The case that showed it.
    case: str = ""
    # Something ran and was compared.
    computed: bool = True


class _Listener(worker.Channel):
    """Keeps what the stages say."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.stages: list[Mapping[str, Any]] = []

    def send(self, event: str, **values: Any) -> None:
        if event == "stage":
            self.stages.append(values["stage"])


class Bench:
    """Judges one product after another."""

    def __init__(self, setup: Setup, setting: Setting) -> None:
        self.setup, self.setting = setup, setting
        self._count = 0

    def install(self, product: Product, original: Declared) -> Declared:
        """Register a product and its kernel; what fails is the declaration's `problem`, as in a proof."""
        self._count += 1
        namespace = f"opkit_mutant_{self._count}"
        spec = _named(product.spec, namespace)
        op_file = _file(product.op_file, namespace)
        name = spec.schema.name.qualified
        item = Declared(op_file, spec, name, product.style, original.reference, problem=original.problem)
        self.setting.watch.watch(name)
        try:
            self._register(product, original, namespace)
            self._kernel(item, original)
            if self.setting.mode == "ge":
                self._convert(product, original, namespace)
        except Exception as error:
            item = replace(item, problem=first_line(error))
        return item

    def _register(self, product: Product, original: Declared, namespace: str) -> None:
        path = Path(original.op_file.path)
        module = types.ModuleType(f"opkit_mutant_meta_{self._count}")
        module.__file__ = str(path.with_name(f"<mutant {self._count} of {path.name}>"))
        _KEPT.append(module)
        sys.modules[module.__name__] = module
        exec(compile(product.meta.replace(NAMESPACE, namespace), module.__file__, "exec"), module.__dict__)

    def _kernel(self, item: Declared, original: Declared) -> None:
        """Give it the kernel that the operator itself has."""
        name = item.qualified
        if not is_defined(name):
            return
        if original.qualified not in self.setup.installed:
            self.setup.bind(item)
            return
        import torch

        from opkit.cann.operators import find_operator

        operator = find_operator(original.qualified)
        library = torch.library.Library(name.split("::")[0], "IMPL")
        library.impl(name.split("::")[1], lambda *args, **kwargs: operator(*args, **kwargs), "PrivateUse1")
        _KEPT.append(library)

    def _convert(self, product: Product, original: Declared, namespace: str) -> None:
        self.tell_cann(product)
        if product.converter:
            file = str(Path(original.op_file.path).with_name(f"<converter of mutant {self._count}>"))
            module: dict[str, Any] = {"__name__": f"opkit_mutant_converter_{self._count}", "__file__": file}
            _KEPT.append(module)
            exec(compile(product.converter.replace(NAMESPACE, namespace), file, "exec"), module)

    def tell_cann(self, product: Product) -> None:
        """Register the product's prototype with the stand-in, in the place of another mutant's."""
        if self.setting.mode != "ge" or self.setting.runtime != "stand-in" or product.prototype is None:
            return
        from opkit.cann.library import standin
        from opkit.emit.ir_json import ir_definition

        definition: dict[str, Any] = ir_definition(product.prototype)
        standin().define_ir(**definition)

    def judge(self, item: Declared) -> Judgement:
        """Run the stages with one case after another until one is not proved."""
        found = cases(item.spec)
        computed = False
        for candidate in found:
            listener = _Listener()
            identity = {"file": item.op_file.path, "operator": item.spec.name, "case": candidate.name}
            worker.Judge(listener, self.setting, item, identity).judge(candidate)
            names = [stage["name"] for stage in listener.stages if stage["verdict"] == PROVED]
            computed = computed or "values" in names
            wrong = next((stage for stage in listener.stages if stage["verdict"] != PROVED), None)
            if wrong is not None:
                return Judgement(wrong["name"], wrong["reason"], candidate.name, computed)
            if not names:
                return Judgement(STAGES[self.setting.mode][0], "no stage was run", candidate.name, computed)
        if not found:
            return Judgement(
                "cases", "no case can be made for it, or each has a `call:` of its own", "", False
            )
        return Judgement("", "", "", computed)

    def computes(self, item: Declared, judged: Judgement) -> bool:
        """Tell whether the operator has a kernel whose writes mean something.

        That of an installed one runs on the stand-in without computing, unless values were compared.
        """
        return judged.computed or (item.reference is not None and item.qualified not in self.setup.installed)


def cases(spec: OpSpec) -> list[Candidate]:
    """List the cases that a mutant is judged with: all but those that compile a function of their own."""
    found = [c for c in candidates(spec) if isinstance(c, Candidate)]
    return [c for c in found if c.alternatives[0][1].call is None]


def _named(spec: OpSpec, namespace: str) -> OpSpec:
    name = replace(spec.schema.name, namespace=namespace)
    return replace(spec, schema=replace(spec.schema, name=name))


def _file(op_file: OpFile, namespace: str) -> OpFile:
    return replace(op_file, operators=tuple(_named(spec, namespace) for spec in op_file.operators))

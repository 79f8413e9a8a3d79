"""Which stages a proof runs: all that are not by request only, or those asked for with what they need.

A new stage needs its name in `protocol.STAGES` and a module `opkit.prove.stages.<name>`; a line in `NEEDS`
only if it can do without some of the stages before it. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opkit.errors import OpkitError
from opkit.model.operator import OpSpec
from opkit.prove.protocol import ON_REQUEST, STAGES

# Stages that find the same in every mode, so that one mode is enough when no other stage is asked for.
SHARED = ("schema", "meta", "host", "variations")
# What a stage cannot do without: `schema` finds the operator, and `host` finds out which values it takes.
# A stage that is not here needs all that come before it.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "schema": (),
    "meta": ("schema",),
    "host": ("schema",),
    "variations": ("schema", "host"),
    "dynamo": ("schema", "host"),
    "npugraph_ex": ("schema", "host"),
    "ge": ("schema", "host"),
    "values": ("schema", "host", "npugraph_ex", "ge"),
    "cache": ("schema", "host", "npugraph_ex", "ge"),
}


def known_stages() -> tuple[str, ...]:
    """List the stages of all modes, each once."""
    return tuple(dict.fromkeys(name for names in STAGES.values() for name in names))


def stages_to_run(
    mode: str, asked: Iterable[str] = (), also: Iterable[str] = (), without: Iterable[str] = ()
) -> tuple[str, ...]:
    """List the stages of a mode in order: the whole proof and `also`, or `asked` and what those need.

    `without` is left out of the whole proof.
    """
    names = tuple(name for name in STAGES[mode] if asked or name not in without)
    asked, also = set(asked), set(also)
    if not asked:
        return tuple(name for name in names if name not in ON_REQUEST or name in also)
    wanted: set[str] = set()
    for position, name in enumerate(names):
        if name in asked | also:
            before = (earlier for earlier in names[:position] if earlier not in ON_REQUEST)
            wanted |= {name, *NEEDS.get(name, before)}
    return tuple(name for name in names if name in wanted)


def promised(spec: OpSpec) -> tuple[str, ...]:
    """List the stages by request only that the operator's own `enters:` asks for."""
    if spec.contract is None:
        return ()
    excused = {failure.word for failure in spec.contract.known_failures}
    return tuple(word for word in spec.contract.words if word in ON_REQUEST and word not in excused)


def modes_to_run(modes: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """List the modes that are needed for the stages asked for: one, if they are the same in every mode.

    Raises OpkitError for a stage that no mode has, or none of these modes.
    """
    modes, asked = tuple(modes), tuple(asked)
    for name in asked:
        if name not in known_stages():
            raise OpkitError(f"unknown stage {name!r}", f"the stages are {', '.join(known_stages())}")
        if not any(name in STAGES[mode] for mode in modes):
            homes = ", ".join(mode for mode, names in STAGES.items() if name in names)
            raise OpkitError(f"stage {name} is not part of {', '.join(modes)}", f"it is part of {homes}")
    own = [name for name in asked if name not in SHARED]
    if not asked:
        return modes
    return tuple(mode for mode in modes if any(name in STAGES[mode] for name in own)) or modes[:1]


def why_not_asked(asked: Iterable[str]) -> str:
    """Say why a stage was left out that nobody asked for."""
    names = list(asked)
    return f"because only stage{'s' * (len(names) > 1)} {', '.join(names)} {_were(names)} asked for"


def _were(names: list[str]) -> str:
    return "were" if len(names) > 1 else "was"

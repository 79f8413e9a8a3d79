"""What an operator promises about graphs: the `enters:` and `known_failures:` keys."""

from __future__ import annotations

from dataclasses import dataclass

from opkit.model.diagnostic import Mark

GRAPHS = ("npugraph_ex", "ge")
# What can be promised; all but the graphs themselves are promised of every graph that the operator enters.
WORDS = (*GRAPHS, "dynamic", "no_recompile", "cache")


@dataclass(frozen=True)
class Promise:
    """One word of `enters:`."""

    word: str
    mark: Mark


@dataclass(frozen=True)
class KnownFailure:
    """A promise that is known not to be kept yet."""

    # One of the words that `enters:` promises.
    word: str
    reason: str
    # "2027-03-01": up to and with that day; "opkit 0.3" or "torch_npu 2.14": until that version is installed.
    until: str
    mark: Mark


@dataclass(frozen=True)
class Contract:
    """What `opkit prove --gate` holds an operator to."""

    # Empty for an operator that promises to enter nothing.
    promises: tuple[Promise, ...]
    known_failures: tuple[KnownFailure, ...]
    # The key `enters`.
    mark: Mark

    @property
    def words(self) -> tuple[str, ...]:
        """The words alone."""
        return tuple(promise.word for promise in self.promises)

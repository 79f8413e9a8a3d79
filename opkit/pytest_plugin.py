"""A pytest fixture for operator packages: `opkit_prove`.

Installed by `pytest_plugins = ["opkit.pytest_plugin"]` in a conftest.py.
"""

from __future__ import annotations

from typing import Any, Callable

import pytest

from opkit.testing import Proof, prove


@pytest.fixture(scope="session")
def opkit_prove() -> Callable[..., Proof]:
    """Give a function like `opkit.testing.prove` that fails the test when an operator breaks.

    A call with the same arguments is proved once in a session: a proof starts processes and takes seconds.
    """
    return checker()


def checker() -> Callable[..., Proof]:
    """Make the function that the fixture gives."""
    known: dict[str, Proof] = {}

    def check(path: Any, **options: Any) -> Proof:
        key = repr((path, sorted(options.items())))
        if key not in known:
            known[key] = prove(path, **options)
        proof = known[key]
        if not proof.enters:
            pytest.fail(proof.explain(), pytrace=False)
        return proof

    return check

"""One proof for all tests that look at it, also when pytest-xdist spreads them over processes."""

from __future__ import annotations

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opkit.prove.protocol import Proof
from opkit.testing import prove


@pytest.fixture(scope="session")
def proof_of(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Callable[..., Proof]:
    """Give `prove`, with its result kept for the whole test run."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent

    def shared(path: Path, **options: Any) -> Proof:
        name = "-".join([path.parent.name, path.stem, *options.get("modes", ())])
        with (folder / f"{name}.pickle").open("a+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            data = stream.read()
            if data:
                return pickle.loads(data)  # type: ignore[no-any-return]
            proof = prove(path, **options)
            stream.write(pickle.dumps(proof))
            return proof

    return shared

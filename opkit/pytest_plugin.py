"""The pytest plugin: `pytest --opkit ops.yaml`, `@pytest.mark.opkit("ops.yaml")` and two fixtures.

pytest loads it by entry point. Until a suite asks for something of it, it reads no file, sets nothing and
imports nothing but pytest; torch is never imported here, since proofs run in processes of their own.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest

if TYPE_CHECKING:
    from opkit.prove.protocol import Proof
    from opkit.pytest_items import Proofs

_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
# What a test module that uses the plugin has in its text.
_USES = (b"mark.opkit", b"opkit_prove", b"opkit_proof", b"opkit.testing")
_proofs_key = pytest.StashKey["Proofs"]()
_files_key = pytest.StashKey["frozenset[Path]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; those of `opkit prove` have its names after `--opkit-`."""
    group = parser.getgroup("opkit", "graph entry of NPU operators (opkit)")
    group.addoption(
        "--opkit",
        dest="opkit_files",
        action="append",
        default=[],
        metavar="FILE",
        help="Collect a test for each operator, graph mode, style and case of this YAML file; repeatable.",
    )
    group.addoption(
        "--opkit-mode",
        action="append",
        default=[],
        choices=["npugraph_ex", "ge"],
        help="Graph mode of --opkit; may be repeated. Default: both.",
    )
    group.addoption(
        "--opkit-style",
        action="append",
        default=[],
        choices=["library", "custom-op"],
        help="Style of --opkit; may be repeated. Default: both.",
    )
    group.addoption("--opkit-namespace", default="npu", metavar="NAME", help="`--namespace` of --opkit.")
    group.addoption("--opkit-package", default=None, metavar="DIR", help="`--package` of --opkit.")
    group.addoption(
        "--opkit-import", action="append", default=[], metavar="MODULE", help="`--import` of --opkit."
    )
    group.addoption(
        "--opkit-register",
        action="append",
        default=[],
        metavar="WHAT",
        help="Register Meta kernels when torch_npu is imported: `torch_npu` (opkit's rules) or a YAML file.",
    )
    parser.addini("opkit_register", "What --opkit-register names, separated by spaces.", "args", default=[])
    group.addoption(
        "--opkit-timeout", type=float, default=120.0, metavar="SECONDS", help="`--timeout` of --opkit."
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let a conftest.py import torch where the command line asks for proofs."""
    if early_config.known_args_namespace.opkit_files:
        _let_torch_be_imported(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and have the files of `--opkit` collected."""
    config.addinivalue_line(
        "markers",
        "opkit(file, op=None, mode=None, style=None, namespace='npu', package=None, imports=(), "
        "timeout=120.0): the operators of the YAML file (relative to the test) enter their graphs",
    )
    _register(config)
    # A conftest.py may load the plugin when options have been read already.
    if not getattr(config.option, "opkit_files", None):
        return
    _let_torch_be_imported(config)
    base = config.invocation_params.dir
    given = [(base / arg.split("::")[0]).resolve() for arg in config.args]
    files = []
    for name in config.option.opkit_files:
        path = (base / name).resolve()
        if not path.is_file():
            raise pytest.UsageError(f"--opkit {name}: there is no such file")
        files.append(path)
        # An argument such as `ops.yaml::my_op[ge-library-case1]` asks for less than the whole file.
        if path not in given:
            config.args.append(str(path))
    config.stash[_files_key] = frozenset(files)


def _register(config: pytest.Config) -> None:
    """Have Meta kernels registered as the options say; each of pytest-xdist's workers comes here, too."""
    given = getattr(config.option, "opkit_register", [])
    noted = config.getini("opkit_register")
    if not given and not noted:
        return
    from opkit.errors import OpkitError
    from opkit.registration.on_import import checked, register_after_import

    try:
        what = checked(given, config.invocation_params.dir) + checked(noted, config.rootpath)
    except OpkitError as error:
        raise pytest.UsageError(f"opkit_register: {error}") from None
    register_after_import(tuple(dict.fromkeys(what)))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what pytest-xdist's workers shared."""
    made = config.stash.get(_proofs_key, None)
    if made is not None:
        made.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give pytest-xdist's workers one folder, so that nothing is proved once for each of them."""
    node.workerinput["opkit_folder"] = str(proofs(node.config).share())


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the files of `--opkit`."""
    files = parent.config.stash.get(_files_key, frozenset())
    if not files or file_path.resolve() not in files:
        return None
    from opkit.pytest_items import OperatorFile

    collected: pytest.Collector = OperatorFile.from_parent(parent, path=file_path)
    return collected


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Let a test module that uses the plugin import torch."""
    if _could_fail() and any(word in module_path.read_bytes() for word in _USES):
        _let_torch_be_imported(parent.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a test with the marker whose operators do not enter."""
    if isinstance(item, pytest.Function):
        for marker in item.iter_markers("opkit"):
            from opkit.pytest_items import demand

            demand(proofs(item.config), item, marker)


@pytest.fixture(scope="session")
def opkit_prove(request: pytest.FixtureRequest) -> Callable[..., Proof]:
    """Give a function like `opkit.testing.prove` that fails the test when an operator breaks.

    A call with the same arguments is proved once in a session: a proof starts processes and takes seconds.
    """
    from opkit.pytest_items import check

    made = proofs(request.config)
    return lambda path, **options: check(made.prove(path, **options))


@pytest.fixture
def opkit_proof(request: pytest.FixtureRequest) -> Proof:
    """Give the proof that the test's marker asks for, to look at its evidence."""
    from opkit.pytest_items import proof_of

    marker = request.node.get_closest_marker("opkit")
    if marker is None:
        raise pytest.UsageError(f"{request.node.nodeid} uses opkit_proof without @pytest.mark.opkit(FILE)")
    return proof_of(proofs(request.config), request.node, marker)


def proofs(config: pytest.Config) -> Proofs:
    """Give the proofs of this run, each made once."""
    if _proofs_key not in config.stash:
        from opkit.pytest_items import Proofs

        config.stash[_proofs_key] = Proofs(getattr(config, "workerinput", {}).get("opkit_folder"))
    return config.stash[_proofs_key]


def _could_fail() -> bool:
    """Tell whether `import torch` may load torch_npu by itself, and nobody has decided about that yet."""
    if _AUTOLOAD in os.environ or "torch" in sys.modules:
        return False
    return importlib.util.find_spec("torch_npu") is not None


def _let_torch_be_imported(config: pytest.Config) -> None:
    """Keep torch from loading torch_npu by itself where that cannot work, for there is no CANN.

    The CPU part of torch is all that tests can use there in this process. With CANN, or on opkit's stand-in
    (`opkit run python -m pytest`), torch_npu loads, and everything stays as it is.
    """
    if not _could_fail():
        return
    from opkit.cann.load import find_cann, stand_in_directories

    entries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if find_cann() is not None or stand_in_directories(filter(None, entries)):
        return
    os.environ[_AUTOLOAD] = "0"
    config.add_cleanup(_undo)


def _undo() -> None:
    os.environ.pop(_AUTOLOAD, None)

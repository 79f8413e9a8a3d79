"""Files are written whole, through links, and one that cannot be written says what to do."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from opkit.errors import OpkitError
from opkit.files import check_report, write_atomically, write_report


def test_an_equal_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    assert write_atomically(path, "text")
    before = path.stat()
    assert not write_atomically(path, "text")
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "report"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_report(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_link_to_nothing_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "later")
    write_report(tmp_path / "link", "new")
    assert (tmp_path / "later").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_report(pipe, "report")
    reader.join(10)
    assert got == ["report"]
    assert not pipe.is_file()


@pytest.mark.parametrize(
    ("name", "message", "help_"),
    [
        ("/proc/nope", "cannot write /proc/nope: No such file", "or choose another place"),
        ("nowhere/report", "no such directory", "make the directory first"),
        ("directory", "Is a directory", "a directory has that name"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, message: str, help_: str) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(OpkitError) as caught:
        write_report(tmp_path / name, "report")
    assert caught.value.message.startswith(("cannot write /proc", f"cannot write {tmp_path}"))
    assert message in caught.value.message
    assert help_ in caught.value.help
    assert sorted(path.name for path in tmp_path.iterdir()) == ["directory"]


def test_a_report_without_a_place_is_known_before(tmp_path: Path) -> None:
    with pytest.raises(OpkitError, match="no such directory"):
        check_report(tmp_path / "nowhere" / "report")

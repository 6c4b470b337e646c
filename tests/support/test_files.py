"""A file is whole or untouched."""

from __future__ import annotations

import os
import signal
import stat
import sys

import pytest

from jetode.support.errors import InputError
from jetode.support.files import all_or_none, make_directory, whole_file, write_text


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "one\n")
    write_text(path, "zwei µ\n")
    assert path.read_bytes() == "zwei µ\n".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_the_earlier_file(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "one\n")
    with pytest.raises(error), whole_file(path) as file:
        file.write("half")
        raise error
    assert path.read_text() == "one\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_mode_follows_the_umask(tmp_path):
    earlier = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "one\n")
    finally:
        os.umask(earlier)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_places_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_text(tmp_path / "no" / "a.txt", "")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        make_directory(tmp_path / "file")
    (tmp_path / "dir").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "dir", "")
    assert make_directory(tmp_path / "b" / "c").is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_waits_for_files_that_belong_together(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt), all_or_none():
            write_text(tmp_path / "a.txt", "one\n")
            os.kill(os.getpid(), signal.SIGINT)
            write_text(tmp_path / "b.txt", "two\n")
        assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)

"""Lines that a thread writes: in order, through rotation, and lost rather than waited for."""

import os
import resource
import threading
from pathlib import Path

import pytest
from lnamespace.runtime import lines
from lnamespace.runtime.lines import LineWriter


def put_all(writer: LineWriter, *texts: bytes) -> None:
    for line in texts:
        writer.put(line)
    writer.close()


def test_lines_are_appended_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    file.write_bytes(b"before\n")
    lost: list[int] = []
    put_all(LineWriter(str(file), lost.append), *(b"%d" % number for number in range(1000)))
    written = file.read_bytes().split(b"\n")
    assert written == [b"before", *(b"%d" % number for number in range(1000)), b""]
    assert lost == []
    put_all(LineWriter(str(tmp_path / "new"), print))
    assert (tmp_path / "new").stat().st_mode & 0o007 == 0


def test_lines_that_arrive_together_are_written_in_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end waits for no more of them."""
    monkeypatch.setattr(lines, "_GATHER_SECONDS", 600)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    put_all(LineWriter(str(fifo), print), b"one", b"two", b"three")
    assert os.read(reader, 100) == b"one\ntwo\nthree\n"
    os.close(reader)


def test_a_rotated_file_is_recreated(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    first = LineWriter(str(file), print)
    first.put(b"old")
    while file.read_bytes() != b"old\n":
        pass
    file.rename(tmp_path / "audit.log.1")
    put_all(first, b"new")
    assert (file.read_bytes(), (tmp_path / "audit.log.1").read_bytes()) == (b"new\n", b"old\n")


def test_lines_beyond_the_buffer_limit_are_lost_and_counted(tmp_path: Path) -> None:
    """A pipe that nobody reads is a disk that is stuck: no request may wait for it."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    lost: list[int] = []
    writer = LineWriter(str(fifo), lost.append, most=400_000)
    for _ in range(10):
        writer.put(b"x" * 99_999)
    assert sum(lost) == 6
    os.set_blocking(reader, True)
    left = 4 * 100_000
    drained = threading.Thread(target=writer.close)
    drained.start()
    while left:
        left -= len(os.read(reader, left))
    drained.join()
    os.close(reader)


def test_a_full_file_loses_lines_and_later_lines_start_on_a_new_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "audit.log"
    lost: list[int] = []
    writer = LineWriter(str(file), lost.append)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, before[1]))
    try:
        writer.put(b"first")
        while not lost:
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    put_all(writer, b"second")
    assert (file.read_bytes(), lost) == (b"fir\nsecond\n", [1])


def test_an_unwritable_file_is_an_error_at_startup(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        LineWriter(str(tmp_path / "nowhere" / "audit.log"), print)

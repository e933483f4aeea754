"""Reading files: gzip of every kind, truncated, corrupt, empty, very long lines, missing files; in constant memory."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.loaders import read_atomic, read_conceptnet, read_items, read_numberbatch, read_rdf
from tacit.loaders.io import MAX_LINE, TOO_LONG, ByteSource, _Damaged, _gunzip, excerpt, lines
from tacit.loaders.reader import HashSet, hash64

ROW = "/a/[/r/IsA/,/c/en/dog_{0}/,/c/en/animal/]\t/r/IsA\t/c/en/dog_{0}\t/c/en/animal\t" + '{{"weight": 1.0}}\n'
CONTENT = "".join(ROW.format(i) for i in range(20_000)).encode()


def content(path: Path) -> tuple[bytes, ByteSource]:
    source = ByteSource(path)
    data = b"".join(source.chunks())
    source.close()
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.bytes_read == path.stat().st_size
    return data, source


def two_members(data: bytes) -> bytes:
    return gzip.compress(data[:1000]) + gzip.compress(data[1000:])


@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        two_members,
        lambda data: two_members(data) + b"\0" * 600,
        lambda data: gzip.compress(data, 0),
        lambda data: gzip.compress(b"") + gzip.compress(data),
    ],
    ids=["plain", "gzip", "members", "padded", "stored", "empty member"],
)
def test_content_is_read_completely(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(CONTENT))
    data, source = content(path)
    assert data == CONTENT
    assert source.damage is None


@pytest.mark.parametrize("data", [b"", b"\x1f", b"\n", b"a"])
def test_tiny_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert content(path)[0] == data
    reader = read_conceptnet(path)
    assert list(reader) == []
    assert reader.source.sha256 == hashlib.sha256(data).hexdigest()
    with pytest.raises(LoadError, match="is empty" if not data.strip() else "has no row"):
        reader.entry()


def damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield what can happen to a gzip file, with the words for it."""
    packed = gzip.compress(data)
    for cut in (2, 9, 20, 1000, 30_000, -9, -8, -1):
        yield "ends early", packed[:cut]
    for share in (0.3, 0.9):
        flipped = bytearray(packed)
        flipped[int(len(packed) * share)] ^= 0x10
        yield "corrupt|ends early", bytes(flipped)
    yield "is corrupt", packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]  # the checksum
    yield "is corrupt", packed[:-1] + bytes([packed[-1] ^ 1])  # the length
    yield "not gzip follows", packed + b"not gzip at all"
    yield "ends early", packed + packed[:1000]


def test_a_damaged_gzip_file_yields_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv.gz"
    for words, data in damaged(CONTENT):
        path.write_bytes(data)
        with pytest.raises(LoadError, match=f"bad.csv.gz is damaged .*({words})") as caught:
            next(read_conceptnet(path))
        assert "\n" not in str(caught.value)
        with pytest.raises(LoadError, match=words):
            next(read_atomic(path))
        with pytest.raises(LoadError, match=words):
            next(read_rdf(path, format="nt"))
        with pytest.raises(LoadError, match=words):
            next(read_numberbatch(path))


@pytest.mark.parametrize("pack", [gzip.compress, two_members], ids=["gzip", "members"])
def test_flipped_bits_are_detected_or_harmless(pack: Callable[[bytes], bytes]) -> None:
    """A bit of the header may say another time or system; any other one is noticed."""
    data = CONTENT[:1100]
    packed = pack(data)
    harmless = 0
    for index in range(8 * 2, 8 * len(packed)):
        flipped = bytearray(packed)
        flipped[index // 8] ^= 1 << (index % 8)
        try:
            unpacked = b"".join(_gunzip(bytes(flipped), lambda: b""))
        except _Damaged:
            continue
        assert unpacked == data
        harmless += 1
    assert 0 < harmless < 8 * 9 * 2


def feed(pipe: Path, data: bytes) -> threading.Thread:
    """Make a pipe that gives ``data``."""
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_bytes, args=(data,))
    thread.start()
    return thread


def test_a_pipe_is_checked_before_its_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, pipe = CONTENT[:200_000], tmp_path / "pipe"
    for data in (content, gzip.compress(content)):
        thread = feed(pipe, data)
        with read_conceptnet(pipe) as reader:
            assert len(list(reader)) == content.count(b"\n")
            assert reader.entry().sha256 == hashlib.sha256(data).hexdigest()
        thread.join()
    thread = feed(pipe, gzip.compress(content)[:-3])
    with read_conceptnet(pipe) as reader, pytest.raises(LoadError, match="ends early"):
        reader.begin()
    thread.join()
    monkeypatch.setattr("tacit.loaders.io.tempfile.TemporaryFile", lambda: Path("/dev/full").open("wb"))  # noqa: SIM115
    thread = feed(pipe, gzip.compress(content))
    with (
        read_conceptnet(pipe) as reader,
        pytest.raises(InputError, match=r"while it is checked \(No space left on device\); free"),
    ):
        reader.begin()
    thread.join()


def test_a_file_damaged_while_it_is_read_ends_the_load(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    packed = gzip.compress(CONTENT)
    path.write_bytes(packed)
    with read_conceptnet(path) as reader:
        reader.source.check()
        path.write_bytes(packed[:-100])
        with pytest.raises(LoadError, match="is damaged"):
            list(reader)


def test_reading_the_beginning_loses_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CONTENT))
    with read_conceptnet(path) as reader:
        reader.begin()
        reader.begin()
        assert len(list(reader)) == 20_000
        assert reader.entry().kept == 20_000


@pytest.mark.parametrize(
    "read", [read_conceptnet, read_atomic, read_items, read_numberbatch, lambda path: read_rdf(path, format="nt")]
)
@pytest.mark.parametrize("name", ["missing", "folder", "nul\0name"])
def test_paths_that_are_no_files_are_one_sentence(tmp_path: Path, read: Callable[[Any], Any], name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError) as caught:
        read(str(tmp_path / name))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > len(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch(mode=0)
    with pytest.raises(InputError, match="cannot be read"):
        read_conceptnet(path)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("length", [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, MAX_LINE + 2, 3 * MAX_LINE])
def test_only_lines_beyond_the_limit_are_truncated(tmp_path: Path, length: int, ending: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first" + ending + b"x" * length + ending + b"last" + ending)
    lines_read = list(lines(ByteSource(path)))
    assert [(line.number, line.flaw) for line in lines_read] == [
        (1, None),
        (2, TOO_LONG if length > MAX_LINE else None),
        (3, None),
    ]
    assert lines_read[2].data == b"last"
    reader = read_conceptnet(path)
    assert list(reader) == []
    assert [reject.line for reject in reader.report.rejects] == [1, 2, 3]
    assert (reader.report.rejects[1].reason == TOO_LONG) == (length > MAX_LINE)


def test_a_huge_last_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"first\n" + b"x" * (MAX_LINE * 2))
    assert [(line.number, line.flaw) for line in lines(ByteSource(path))] == [(1, None), (2, TOO_LONG)]


def test_excerpts_are_short_and_printable() -> None:
    assert excerpt("a\tb\0c") == "a b\N{REPLACEMENT CHARACTER}c"
    assert len(excerpt("ü" * 500)) == 81
    assert excerpt(b"\xff\xfe").isprintable()


def test_a_manifest_entry_needs_the_complete_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CONTENT)
    reader = read_conceptnet(path)
    next(reader)
    with pytest.raises(LoadError, match="not read to its end"):
        reader.entry()
    with reader:
        pass
    assert list(reader) == []
    reader.close()


def test_hash_sets_remember_added_values() -> None:
    seen = HashSet()
    words = [f"word {i}" for i in range(30_000)]
    assert all(seen.add(hash64(word)) for word in words)
    assert not any(seen.add(hash64(word)) for word in words)
    assert len(seen) == 30_000


_CHILD = """
import resource, sys
from tacit.loaders import read_conceptnet
reader = read_conceptnet(sys.argv[1])
for row in reader:
    pass
print(reader.report.kept, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """12 times as many rows (and an endless line) may cost a few MB for longer queues, not 12 times the memory."""
    peaks = []
    for times in (1, 12):
        path = tmp_path / f"{times}.csv.gz"
        packer = zlib.compressobj(1, wbits=31)
        with path.open("wb") as file:
            for _ in range(times):
                file.write(packer.compress(CONTENT))
            for _ in range(times):
                file.write(packer.compress(b"x" * MAX_LINE * 2))
            file.write(packer.flush())
        result = subprocess.run([sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True)
        kept_lines, peak = map(int, result.stdout.split())
        assert kept_lines == times * 20_000
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 40, peaks

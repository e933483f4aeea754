"""Bytes and lines of a file in constant memory: plain or gzip by magic bytes, hashed and counted.

:meth:`ByteSource.check` reads a gzip file to its end before any of it is used, and raises when a checksum is wrong or the stream
is truncated. :meth:`ByteSource.chunks` does not raise for damaged content: it yields everything before the damage and sets
:attr:`ByteSource.damage`.

Readers get :class:`Block` objects (many complete lines) or numbered :class:`Line` objects. A line that cannot be used has a
*flaw*: it is longer than ``MAX_LINE`` bytes (only its beginning is kept), or a gzip stream was truncated or damaged there.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from ..graph.errors import InputError, LoadError

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 1 << 16
"""Bytes of the beginning of a file that are kept, to detect its format."""
MAX_LINE = 1 << 20
"""Most bytes of a line."""
EXCERPT = 80
"""Most characters of a rejected line that are shown."""

_READ_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 19
_EXCERPT_BYTES = 4 * EXCERPT

CORRUPT = "corrupt gzip"
TRUNCATED = "truncated gzip"
TRAILING = "data after the end of the gzip stream"
NOT_UTF8 = "not UTF-8"
NUL_BYTE = "NUL byte"
NOT_A_WEIGHT = "weight is not a finite number >= 0"
TOO_LONG = f"line longer than {MAX_LINE:,} bytes"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COUNT = re.compile(r"\+?[0-9]{1,18}")

_SENTENCES = {
    CORRUPT: "its gzip stream is corrupt",
    TRUNCATED: "its gzip stream ends early",
    TRAILING: "data that is not gzip follows its gzip stream",
}


class _Damaged(Exception):
    """A damaged compressed stream; the argument is the reason."""


class ByteSource:
    """One file, read once from start to end in constant memory.

    Attributes:
        path: as given by the caller; ``-`` is standard input.
        bytes_total: size on disk, None for standard input and pipes.
        bytes_read: bytes read from disk so far.
        bytes_checked: bytes read by :meth:`check` so far.
        damage: None, or why the stream ended early (``CORRUPT``, ``TRUNCATED`` or ``TRAILING``).
        head: the first 64 KB of the content, as far as it has been read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.bytes_read = 0
        self.bytes_checked = 0
        self.bytes_total: int | None = None
        self.damage: str | None = None
        self.head = b""
        self._hash = hashlib.sha256()
        self._finished = False
        self._checked = False
        self._unread = b""
        self._file = self._open()

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return "standard input" if self.path == "-" else self.path

    def _open(self) -> BinaryIO:
        if self.path == "-":
            return sys.stdin.buffer
        if "\0" in self.path:
            raise InputError(f"{self.path!r} cannot be a file name, since it contains a NUL character; check the path")
        try:
            file = Path(self.path).open("rb", buffering=0)  # noqa: SIM115 (closed by close)
        except FileNotFoundError:
            raise InputError(f"{self.path} does not exist; check the path") from None
        except IsADirectoryError:
            raise InputError(f"{self.path} is a directory; give a file") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None
        size = os.fstat(file.fileno()).st_size
        self.bytes_total = size or None
        return file

    @property
    def sha256(self) -> str | None:
        """Hexadecimal digest of the bytes on disk, None before the file was read to its end."""
        return self._hash.hexdigest() if self._finished else None

    @property
    def seekable(self) -> bool:
        """Whether the file can be read a second time; a pipe cannot."""
        return bool(self._file.seekable())

    def check(self) -> None:
        """Read a gzip file to its end and verify every checksum and length in it, then go back to its beginning.

        Other files have no checksum and are not read. The data of a pipe is kept in a temporary file meanwhile. A second call
        does nothing.

        Raises:
            LoadError: the stream is corrupt, truncated, or followed by other data.
            InputError: the file cannot be read, or there is no space for the temporary file.
        """
        if self._checked:
            return
        self._checked = True
        start = self._file.tell() if self.seekable else None
        first = self._first_bytes(self._read_raw)
        if not first.startswith(GZIP_MAGIC):
            self._unread = first
            return
        copy = self._temporary() if start is None else None

        def keep(data: bytes) -> None:
            self.bytes_checked += len(data)
            if copy is not None:
                with self._temporary_errors():
                    copy.write(data)

        def read_and_keep() -> bytes:
            data = self._read_raw()
            keep(data)
            return data

        with contextlib.ExitStack() as cleanup:
            if copy is not None:
                cleanup.callback(copy.close)
            try:
                keep(first)
                for _ in _gunzip(first, read_and_keep):
                    pass
            except _Damaged as damaged:
                raise LoadError(self._damaged(str(damaged))) from None
            cleanup.pop_all()
        if copy is not None:
            with self._temporary_errors():
                copy.flush()
            self._file = copy
        self._file.seek(start or 0)

    def fail_if_damaged(self) -> None:
        """Raise the error of :meth:`check` for a file that was damaged after it was checked."""
        if self.damage is not None:
            raise LoadError(self._damaged(self.damage))

    def _damaged(self, reason: str) -> str:
        return f"{self.name} is damaged ({_SENTENCES[reason]}); nothing of it was used; download or copy it again"

    def _temporary(self) -> BinaryIO:
        with self._temporary_errors():
            return tempfile.TemporaryFile()

    @contextlib.contextmanager
    def _temporary_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self.name} cannot be kept in {tempfile.gettempdir()} while it is checked ({error.strerror or error}); "
                "free space there, name another folder in TMPDIR, or give a file instead of a pipe"
            ) from None

    def _read_raw(self) -> bytes:
        """Return the next bytes of the file, empty at its end."""
        try:
            return self._file.read(_READ_BYTES) or b""
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from None

    def _read(self) -> bytes:
        """Return the next bytes after counting and hashing them."""
        data, self._unread = self._unread or self._read_raw(), b""
        self._hash.update(data)
        self.bytes_read += len(data)
        return data

    def _first_bytes(self, read: Callable[[], bytes]) -> bytes:
        """Return the first bytes, enough to recognise gzip unless the file is shorter."""
        first = read()
        while 0 < len(first) < len(GZIP_MAGIC) and (more := read()):
            first += more
        return first

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content in chunks of at most a few MB; call once."""
        first = self._first_bytes(self._read)
        try:
            for chunk in _gunzip(first, self._read) if first.startswith(GZIP_MAGIC) else self._uncompressed(first):
                if len(self.head) < HEAD_BYTES:
                    self.head += chunk[: HEAD_BYTES - len(self.head)]
                yield chunk
        except _Damaged as damaged:
            self.damage = str(damaged)
        while self._read():  # the rest of a damaged file still belongs to its checksum
            pass
        self._finished = True

    def _uncompressed(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield data
            data = self._read()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._file is not getattr(sys.stdin, "buffer", None):
            with contextlib.suppress(OSError):
                self._file.close()


def _gunzip(data: bytes, read: Callable[[], bytes]) -> Iterator[bytes]:
    """Decompress every member of a gzip file, zero padding allowed; any other data, a wrong checksum or length is _Damaged."""
    from isal import igzip_lib

    decompressor: igzip_lib.IgzipDecompressor | None = None
    members = 0
    while data or (data := read()):
        if decompressor is None:
            if not (data := data.lstrip(b"\0")):
                continue
            while len(data) < len(GZIP_MAGIC) and (more := read()):
                data += more
            if members and not data.startswith(GZIP_MAGIC):
                raise _Damaged(TRAILING)
            decompressor = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while True:
            try:
                chunk = decompressor.decompress(data, _CHUNK_BYTES)
            except Exception:  # IsalError, whose type stub lacks its base
                raise _Damaged(CORRUPT) from None
            if chunk:
                yield chunk
            data = decompressor.unused_data if decompressor.eof else b""
            if decompressor.eof or decompressor.needs_input:
                break
        if decompressor.eof:
            decompressor = None
            members += 1
    if decompressor is not None:
        raise _Damaged(TRUNCATED)


class Block(NamedTuple):
    """Consecutive lines of a file."""

    first: int  # number of the first line, from 1
    size: int  # number of lines
    data: bytes  # the lines' bytes; each line ends with a newline, except perhaps the file's last
    flaw: str | None = None  # None, or why the block, which is then the beginning of a single line, cannot be used


class Line(NamedTuple):
    """One line: its number from 1, its bytes without the line ending, and why it cannot be used, or None."""

    number: int
    data: bytes
    flaw: str | None = None


class Chunks(Protocol):
    """A source of chunks: a :class:`ByteSource`, or one whose beginning has been read already."""

    @property
    def damage(self) -> str | None:
        """Why the stream ended early; None when it did not, or has not ended yet."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in chunks; call once."""


def blocks(source: Chunks) -> Iterator[Block]:
    """Yield the lines of ``source`` in blocks of a few MB, without a byte order mark at the start."""
    number = 1
    carry = b""
    skipping = False
    at_start = True
    for chunk in source.chunks():
        if at_start:
            chunk = carry + chunk
            carry = b""
            if len(chunk) < len(BOM) and BOM.startswith(chunk):
                carry = chunk
                continue
            chunk = chunk.removeprefix(BOM)
            at_start = False
        begin = 0
        if skipping:
            begin = chunk.find(b"\n") + 1
            if begin == 0:
                continue
            skipping = False
            number += 1
        end = chunk.rfind(b"\n") + 1
        if end > begin:
            complete_lines = b"".join((carry, memoryview(chunk)[begin:end]))
            carry = b""
            count = complete_lines.count(b"\n")
            yield Block(number, count, complete_lines)
            number += count
        carry += chunk[max(begin, end) :]
        if len(carry) > MAX_LINE + 1:  # one more byte for a carriage return
            yield Block(number, 1, carry[:_EXCERPT_BYTES], TOO_LONG)
            carry, skipping = b"", True
    if source.damage is not None:
        yield Block(number, 1, carry[:_EXCERPT_BYTES], source.damage)
    elif carry:
        yield Block(number, 1, carry)


def lines(source: ByteSource) -> Iterator[Line]:
    """Yield the lines of ``source``, without ``\\n`` or ``\\r\\n``."""
    for block in blocks(source):
        yield from split(block)


def split(block: Block) -> Iterator[Line]:
    """Yield the lines of ``block``."""
    if block.flaw is not None:
        yield Line(block.first, block.data, block.flaw)
        return
    rows = block.data.split(b"\n")
    if not rows[-1]:
        rows.pop()
    for number, row in enumerate(rows, block.first):
        data = row.removesuffix(b"\r")
        yield Line(number, data) if len(data) <= MAX_LINE else Line(number, data[:_EXCERPT_BYTES], TOO_LONG)


def decode(line: Line) -> tuple[str, str | None]:
    """Return the text of ``line`` and None, or an excerpt of it and why it cannot be used."""
    if line.flaw is not None:
        return excerpt(line.data), line.flaw
    if b"\0" in line.data:
        return excerpt(line.data), NUL_BYTE
    try:
        return line.data.decode(), None
    except UnicodeDecodeError:
        return excerpt(line.data), NOT_UTF8


def excerpt(data: bytes | str) -> str:
    """Return the beginning of ``data`` as printable text of at most ``EXCERPT`` characters."""
    text = data[:_EXCERPT_BYTES].decode(errors="replace") if isinstance(data, bytes) else data
    printable = "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text[:EXCERPT])
    return printable + "…" if len(text) > EXCERPT else printable


# numbers as files write them, in the notation of XML Schema's decimal and double


def finite(text: str) -> float | None:
    """Return the finite number in ``text``, None for any other text (``1_0``, ``NaN``, ``1e999``)."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def weight(text: str) -> float | None:
    """Return the number >= 0 in ``text``, None for any other text."""
    value = finite(text)
    return None if value is None or value < 0 else abs(value)  # -0 is 0


def count(text: str) -> int | None:
    """Return the whole number >= 0 in ``text``, None for any other text."""
    return int(text) if _COUNT.fullmatch(text) else None

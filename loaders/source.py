"""Bytes of an official file as they stream from disk: plain or gzip by magic bytes, hashed, counted, decompressed ahead of use.

A :class:`ByteSource` never raises because of what a file holds: when a gzip stream is cut or damaged, everything before the
damage comes out and :attr:`ByteSource.damage` says what happened. Only a file that cannot be opened at all is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import sys
import threading
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ..graph.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
_READ_BYTES = 1 << 18
_CHUNK_BYTES = 1 << 19

Item = TypeVar("Item")


class ByteSource:
    """One file, read once from start to end in constant memory.

    Attributes:
        path: as the caller gave it; ``-`` is standard input.
        bytes_total: size on disk, None for standard input.
        bytes_read: bytes taken from disk so far.
        damage: None, or why the stream ended before its time (``truncated gzip``, ``corrupt gzip``).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open ``path``.

        Raises:
            InputError: it does not exist, is a directory or may not be read.
        """
        self.path = os.fspath(path)
        self.bytes_read = 0
        self.bytes_total: int | None = None
        self.damage: str | None = None
        self._hash = hashlib.sha256()
        self._finished = False
        self._file = self._open()

    def _open(self) -> BinaryIO:
        if self.path == "-":
            return sys.stdin.buffer
        if "\0" in self.path:
            raise InputError(f"{self.path!r} cannot be a file name: it holds a NUL character")
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
        """Hex digest of the bytes on disk, or None before the file was read to its end."""
        return self._hash.hexdigest() if self._finished else None

    def _read(self) -> bytes:
        try:
            data = self._file.read(_READ_BYTES) or b""
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None
        self._hash.update(data)
        self.bytes_read += len(data)
        return data

    def chunks(self) -> Iterator[bytes]:
        """Yield the content, decompressed, in pieces of at most a few MB; call once."""
        first = self._read()
        while 0 < len(first) < len(GZIP_MAGIC):
            more = self._read()
            if not more:
                break
            first += more
        yield from self._gunzip(first) if first.startswith(GZIP_MAGIC) else self._plain(first)
        while self._read():  # after damage the rest still belongs to the file's checksum
            pass
        self._finished = True

    def _plain(self, data: bytes) -> Iterator[bytes]:
        while data:
            yield data
            data = self._read()

    def _gunzip(self, data: bytes) -> Iterator[bytes]:
        """Decompress every member; zero padding after a member is legal, anything else there is damage."""
        decompressor: Any = None
        while data or (data := self._read()):
            if decompressor is None:
                if not (data := data.lstrip(b"\0")):
                    continue
                decompressor = _decompressor()
            try:
                out = decompressor.decompress(data, _CHUNK_BYTES)
            except Exception:  # IsalError and zlib.error have no common base below Exception
                self.damage = "corrupt gzip"
                return
            if out:
                yield out
            data, done = _rest(decompressor)
            while not done and not data and not decompressor.needs_input:
                try:
                    out = decompressor.decompress(b"", _CHUNK_BYTES)
                except Exception:
                    self.damage = "corrupt gzip"
                    return
                if out:
                    yield out
                data, done = _rest(decompressor)
            if done:
                decompressor = None
        if decompressor is not None:
            self.damage = "truncated gzip"

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.path != "-":
            with contextlib.suppress(OSError):
                self._file.close()


def _rest(decompressor: Any) -> tuple[bytes, bool]:
    """Return what follows the member that has just ended, and whether one has."""
    return (decompressor.unused_data, True) if decompressor.eof else (b"", False)


class _Zlib:
    """zlib under the interface of igzip's decompressor, for platforms without ISA-L."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = not self._inner.unconsumed_tail and len(out) < max_length
        return out


def _decompressor() -> Any:
    try:
        from isal import igzip_lib
    except ImportError:
        return _Zlib()
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


def in_background(items: Iterator[Item], depth: int = 4) -> Generator[Item, None, None]:
    """Yield ``items`` while a thread works at most ``depth`` of them ahead; its exceptions surface here.

    Closing the returned generator stops the thread.
    """
    handed: queue.Queue[tuple[Item | None, BaseException | None, bool]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(entry: tuple[Item | None, BaseException | None, bool]) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                handed.put(entry, timeout=0.1)
                return

    def work() -> None:
        try:
            for item in items:
                put((item, None, False))
                if stopped.is_set():
                    return
            put((None, None, True))
        except BaseException as error:  # handed to the caller's thread
            put((None, error, True))

    thread = threading.Thread(target=work, name="tacit-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error, last = handed.get()
            if error is not None:
                raise error
            if last:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()

"""From a file's bytes to whole lines, in constant memory however long a line is.

Readers get :class:`Block` objects (many whole lines at once, for the compiled scanner) or single numbered lines. A line that
cannot be trusted comes out with its *flaw*: longer than ``MAX_LINE`` bytes (only its beginning is ever held), or where a gzip
stream was cut or damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from .source import ByteSource

MAX_LINE = 1 << 20
EXCERPT = 80
BOM = b"\xef\xbb\xbf"

NOT_UTF8 = "not UTF-8"
NUL_BYTE = "NUL byte"
TOO_LONG = f"line longer than {MAX_LINE:,} bytes"

_SHOWN = 4 * EXCERPT


class Block(NamedTuple):
    """Consecutive lines of a file.

    Attributes:
        first: number of its first line, from 1.
        size: how many lines it holds.
        data: the lines' bytes; each ends with a newline, except perhaps the file's last.
        flaw: None, or why the block, then the beginning of a single line, cannot be used.
    """

    first: int
    size: int
    data: bytes
    flaw: str | None = None


class Line(NamedTuple):
    """One line: its number from 1, its bytes without the line ending, and why they cannot be used (or None)."""

    number: int
    data: bytes
    flaw: str | None = None


class Chunks(Protocol):
    """What blocks are made of: a :class:`ByteSource`, or one whose beginning has been read already."""

    @property
    def damage(self) -> str | None:
        """Why the stream ended early, None where it did not or has not ended."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces; call once."""


def blocks(source: Chunks) -> Iterator[Block]:
    """Yield the lines of ``source`` in blocks of a few MB; a byte order mark at the start is left out."""
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
            whole = b"".join((carry, memoryview(chunk)[begin:end]))
            carry = b""
            count = whole.count(b"\n")
            yield Block(number, count, whole)
            number += count
        carry += chunk[max(begin, end) :]
        if len(carry) > MAX_LINE + 1:  # one byte more for a carriage return
            yield Block(number, 1, carry[:_SHOWN], TOO_LONG)
            carry, skipping = b"", True
    if source.damage is not None:
        yield Block(number, 1, carry[:_SHOWN], source.damage)
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
        yield Line(number, data) if len(data) <= MAX_LINE else Line(number, data[:_SHOWN], TOO_LONG)


def decode(line: Line) -> tuple[str, str | None]:
    """Return the text of ``line`` and None, or what can be shown of it and why it cannot be used."""
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
    text = data[:_SHOWN].decode(errors="replace") if isinstance(data, bytes) else data
    shown = "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text[:EXCERPT])
    return shown + "…" if len(text) > EXCERPT else shown

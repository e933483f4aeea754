"""The rule by which a line of a ConceptNet file is passed on, dropped or rejected, before its JSON is looked at.

Written out plainly here, for small files and as the reference that the compiled scanner must agree with on every line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from .io import EXCERPT, MAX_LINE, NOT_UTF8, NUL_BYTE, TOO_LONG, Block, split

BLANK = "blank line"
EXTERNAL = "external URL"
LANGUAGE = "language"
CONTROL = "control character"
FIELDS = "not five tab-separated fields"
NO_ASSERTION = "first field is not an assertion URI"
NO_RELATION = "second field is not a relation URI"
NO_HEAD = "third field is not a concept URI"
NO_TAIL = "fourth field is not a concept URI"
NO_OBJECT = "fifth field is not a JSON object"

#: The verdicts, by the numbers that the compiled scanner gives them.
PASS = 0
REASONS = (
    "", BLANK, EXTERNAL, LANGUAGE, TOO_LONG, NUL_BYTE, CONTROL, NOT_UTF8,
    FIELDS, NO_ASSERTION, NO_RELATION, NO_HEAD, NO_TAIL, NO_OBJECT,
)  # fmt: skip
FIRST_REJECT = REASONS.index(TOO_LONG)


@dataclass
class Classified:
    """What became of the lines of one block.

    Attributes:
        lines: (number, text) of the lines passed on.
        rejects: (number, reason, beginning) of the broken lines, in the order of the file.
        dropped: numbers of lines dropped, by reason.
    """

    lines: Iterable[tuple[int, str]]
    rejects: list[tuple[int, str, bytes]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


def verdict(data: bytes, languages: Collection[bytes] | None) -> int:
    """Return ``PASS`` or the index in ``REASONS`` of what keeps the line ``data`` (without its line ending) out."""
    if not data:
        return REASONS.index(BLANK)
    if (broken := _broken_text(data)) is not None:
        return REASONS.index(broken)
    fields = data.split(b"\t")
    if len(fields) != 5:
        return REASONS.index(FIELDS)
    assertion, relation, head, tail, rest = fields
    if not assertion.startswith(b"/a/"):
        return REASONS.index(NO_ASSERTION)
    if not relation.startswith(b"/r/") or len(relation) == 3:
        return REASONS.index(NO_RELATION)
    if not (rest.startswith(b"{") and rest.endswith(b"}") and len(rest) > 1):
        return REASONS.index(NO_OBJECT)
    if relation == b"/r/ExternalURL":
        return REASONS.index(EXTERNAL)
    head_language, tail_language = _language(head), _language(tail)
    if head_language is None:
        return REASONS.index(NO_HEAD)
    if tail_language is None:
        return REASONS.index(NO_TAIL)
    if languages is not None and not (head_language in languages and tail_language in languages):
        return REASONS.index(LANGUAGE)
    return PASS


def _broken_text(data: bytes) -> str | None:
    """Return the first thing in ``data`` that is no text: a NUL, a control character other than the tab, or bad UTF-8."""
    try:
        data.decode()
        end = len(data)
    except UnicodeDecodeError as error:
        end = error.start
    for byte in data[:end]:
        if byte < 0x20 and byte != 0x09:
            return CONTROL if byte else NUL_BYTE
    return None if end == len(data) else NOT_UTF8


def _language(uri: bytes) -> bytes | None:
    """Return the language of ``/c/<language>/<term>…``, None when ``uri`` is not of that form or holds a space."""
    parts = uri.split(b"/", 4)
    if len(parts) < 4 or parts[0] or parts[1] != b"c" or not parts[2] or not parts[3] or b" " in uri:
        return None
    return parts[2]


def classify_blocks(blocks: Iterable[Block], languages: Collection[str] | None) -> Generator[Classified, None, None]:
    """Yield what becomes of the lines of each block."""
    wanted = None if languages is None else frozenset(code.encode() for code in languages)
    for block in blocks:
        passed: list[tuple[int, str]] = []
        result = Classified(passed)
        for line in split(block):
            code = verdict(line.data, wanted) if line.flaw is None else FIRST_REJECT
            reason = line.flaw or REASONS[code]
            if code == PASS:
                passed.append((line.number, line.data.decode()))
            elif code < FIRST_REJECT:
                result.dropped[reason] += 1
            else:
                result.rejects.append((line.number, reason, line.data))
        yield result


# The line rule of :mod:`.classify`, compiled: one pass over a block's bytes finds its lines and gives each its verdict.
#
# Only lines that are passed on, and the beginnings of broken ones, ever become Python objects. Plain text is skipped eight
# bytes at a time; what stops the pass is a control byte (tab and newline among them) or the first byte of a multi-byte
# character.

_BLANK, _EXTERNAL, _LANGUAGE, _TOO_LONG, _NUL, _CONTROL, _NOT_UTF8, _FIELDS = map(
    REASONS.index, (BLANK, EXTERNAL, LANGUAGE, TOO_LONG, NUL_BYTE, CONTROL, NOT_UTF8, FIELDS)
)
_NO_ASSERTION, _NO_RELATION, _NO_HEAD, _NO_TAIL, _NO_OBJECT = map(
    REASONS.index, (NO_ASSERTION, NO_RELATION, NO_HEAD, NO_TAIL, NO_OBJECT)
)
_EXTERNAL_URL = np.frombuffer(b"/r/ExternalURL", np.uint8)

_HIGH = np.uint64(0x8080808080808080)
_LOW = np.uint64(0x2020202020202020)
_TAB, _NEWLINE, _RETURN, _SPACE, _SLASH, _OPEN, _CLOSE = (np.uint8(ord(c)) for c in "\t\n\r /{}")
_A, _C, _R = (np.uint8(ord(c)) for c in "acr")

#: Rows of the table that the kernel fills, one column a line passed on or rejected.
_NUMBER, _START, _END, _VERDICT = range(4)


def _compile(function: Callable[..., Any]) -> Any:
    """Compile ``function`` to machine code, kept on disk where there is a place to write."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no writable cache folder
        return numba.njit(nogil=True)(function)


@_compile
def _character(data, i, end):  # type: ignore[no-untyped-def]
    """Return the length of the well-formed UTF-8 character at ``i`` (its first byte is >= 0x80), or 0."""
    first = data[i]
    if first < 0xC2 or first > 0xF4:
        return 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if i + length > end:
        return 0
    for k in range(i + 1, i + length):
        if data[k] & 0xC0 != 0x80:
            return 0
    second = data[i + 1]
    if first == 0xE0 and second < 0xA0:
        return 0
    if first == 0xED and second > 0x9F:
        return 0
    if first == 0xF0 and second < 0x90:
        return 0
    if first == 0xF4 and second > 0x8F:
        return 0
    return length


@_compile
def _language_end(data, start, end):  # type: ignore[no-untyped-def]
    """Return where the language of the concept URI in ``data[start:end]`` ends, or 0 when it is no concept URI."""
    if end - start < 6 or data[start] != _SLASH or data[start + 1] != _C or data[start + 2] != _SLASH:
        return 0
    language_end = 0
    term_end = end
    for k in range(start + 3, end):
        if data[k] == _SPACE:
            return 0
        if data[k] == _SLASH:
            if language_end == 0:
                language_end = k
            elif term_end == end:
                term_end = k
    if language_end <= start + 3 or term_end <= language_end + 1:
        return 0
    return language_end


@_compile
def _wanted(data, start, end, languages, ends):  # type: ignore[no-untyped-def]
    """Whether ``data[start:end]`` is one of the codes laid end to end in ``languages``, each ending at its entry of ``ends``."""
    begin = 0
    for code_end in ends:
        if code_end - begin == end - start:
            same = True
            for k in range(end - start):
                if languages[begin + k] != data[start + k]:
                    same = False
                    break
            if same:
                return True
        begin = code_end
    return False


@_compile
def _verdict(data, start, end, tabs, languages, ends, any_language):  # type: ignore[no-untyped-def]
    """Return the verdict on a line of good text whose four tabs stand at ``tabs``."""
    if tabs[0] - start < 3 or data[start] != _SLASH or data[start + 1] != _A or data[start + 2] != _SLASH:
        return _NO_ASSERTION
    begin = tabs[0] + 1
    if tabs[1] - begin < 4 or data[begin] != _SLASH or data[begin + 1] != _R or data[begin + 2] != _SLASH:
        return _NO_RELATION
    if end - tabs[3] < 3 or data[tabs[3] + 1] != _OPEN or data[end - 1] != _CLOSE:
        return _NO_OBJECT
    if tabs[1] - begin == len(_EXTERNAL_URL):
        external = True
        for k in range(len(_EXTERNAL_URL)):
            if data[begin + k] != _EXTERNAL_URL[k]:
                external = False
                break
        if external:
            return _EXTERNAL
    head_end = _language_end(data, tabs[1] + 1, tabs[2])
    if head_end == 0:
        return _NO_HEAD
    tail_end = _language_end(data, tabs[2] + 1, tabs[3])
    if tail_end == 0:
        return _NO_TAIL
    if any_language:
        return PASS
    if not _wanted(data, tabs[1] + 4, head_end, languages, ends) or not _wanted(data, tabs[2] + 4, tail_end, languages, ends):
        return _LANGUAGE
    return PASS


@_compile
def _scan(data, words, languages, ends, any_language, table, dropped):  # type: ignore[no-untyped-def]
    """Fill ``table`` with the lines passed on or rejected and add to ``dropped`` by verdict; return how many columns are filled.

    ``data`` holds whole lines; ``words`` are the same bytes as 64-bit words, short of the last few.
    """
    size = len(data)
    tabs = np.zeros(4, np.int64)
    filled = number = i = 0
    while i < size:
        start = i
        fields = 1
        flaw = 0
        while i < size:
            if i & 7 == 0 and (i >> 3) < len(words):
                word = words[i >> 3]
                if (word | ((word - _LOW) & ~word)) & _HIGH == 0:
                    i += 8
                    continue
            byte = data[i]
            if byte >= _SPACE and byte < 0x80:
                i += 1
            elif byte == _NEWLINE:
                break
            elif byte == _TAB:
                if fields <= 4:
                    tabs[fields - 1] = i
                fields += 1
                i += 1
            elif byte < _SPACE:
                ends_line = byte == _RETURN and (i + 1 == size or data[i + 1] == _NEWLINE)
                if flaw == 0 and not ends_line:
                    flaw = _CONTROL if byte else _NUL
                i += 1
            else:
                length = _character(data, i, size)
                if length == 0:
                    length = 1
                    if flaw == 0:
                        flaw = _NOT_UTF8
                i += length
        end = i
        i += 1
        if end > start and data[end - 1] == _RETURN:
            end -= 1
        if end == start:
            verdict = _BLANK
        elif end - start > MAX_LINE:
            verdict = _TOO_LONG
        elif flaw != 0:
            verdict = flaw
        elif fields != 5:
            verdict = _FIELDS
        else:
            verdict = _verdict(data, start, end, tabs, languages, ends, any_language)
        if verdict == PASS or verdict >= FIRST_REJECT:
            table[_NUMBER, filled] = number
            table[_START, filled] = start
            table[_END, filled] = end
            table[_VERDICT, filled] = verdict
            filled += 1
        else:
            dropped[verdict] += 1
        number += 1
    return filled


def scan_blocks(blocks: Iterable[Block], languages: Collection[str] | None) -> Iterator[Classified]:
    """Yield what becomes of the lines of each block, as :func:`tacit.loaders.conceptnet_scan.classify_blocks` does."""
    codes = [code.encode() for code in languages or ()]
    packed = np.frombuffer(b"".join(codes) or b" ", np.uint8)
    ends = np.cumsum([len(code) for code in codes], dtype=np.int64)
    table = np.zeros((4, 1 << 16), np.int64)
    for block in blocks:
        if block.flaw is not None:
            yield Classified((), [(block.first, block.flaw, block.data)])
            continue
        data = np.frombuffer(block.data, np.uint8)
        words = np.frombuffer(block.data, np.uint64, count=len(data) // 8)
        if block.size > table.shape[1]:
            table = np.zeros((4, block.size), np.int64)
        dropped = np.zeros(FIRST_REJECT, np.int64)
        filled = _scan(data, words, packed, ends, languages is None, table, dropped)
        yield _classified(block, table[:, :filled], dropped)


def _classified(block: Block, table: NDArray[np.int64], dropped: NDArray[np.int64]) -> Classified:
    passed = table[_VERDICT] == PASS
    broken = table[:, ~passed]
    numbers, starts, ends = (table[row, passed].tolist() for row in (_NUMBER, _START, _END))
    result = Classified(_Lines(block, numbers, starts, ends))
    for number, start, end, verdict in broken.T.tolist():
        result.rejects.append((block.first + number, REASONS[verdict], block.data[start : min(end, start + 4 * EXCERPT)]))
    for verdict in np.flatnonzero(dropped).tolist():
        result.dropped[REASONS[verdict]] = int(dropped[verdict])
    return result


class _Lines:
    """The lines passed on, decoded one by one as they are asked for."""

    def __init__(self, block: Block, numbers: list[int], starts: list[int], ends: list[int]) -> None:
        self._block, self._numbers, self._starts, self._ends = block, numbers, starts, ends

    def __iter__(self) -> Iterator[tuple[int, str]]:
        first, data = self._block.first, self._block.data
        for number, start, end in zip(self._numbers, self._starts, self._ends, strict=True):
            yield first + number, data[start:end].decode()

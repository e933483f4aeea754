"""The compiled scanner of ConceptNet files: one pass over a block's bytes finds its lines and the verdict on each.

The verdicts are those of :func:`tacit.loaders.conceptnet.verdict`. Only lines that pass, and the beginnings of rejected ones,
become Python objects. ASCII text is skipped eight bytes at a time; the pass stops at control bytes (tab and newline among them)
and at the first byte of a multi-byte character.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ..graph.compiling import compiled
from .conceptnet import (
    BLANK,
    CONTROL,
    EXTERNAL,
    FIELDS,
    FIRST_REJECT,
    LANGUAGE,
    NO_ASSERTION,
    NO_HEAD,
    NO_OBJECT,
    NO_RELATION,
    NO_TAIL,
    PASS,
    REASONS,
    Classified,
)
from .io import EXCERPT, MAX_LINE, NOT_UTF8, NUL_BYTE, TOO_LONG, Block

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

# rows of the table that the kernel fills, with one column per line that passes or is rejected
_NUMBER, _START, _END, _VERDICT = range(4)


@compiled
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


@compiled
def _language_end(data, start, end):  # type: ignore[no-untyped-def]
    """Return the end of the language of the concept URI in ``data[start:end]``, or 0 when it is not a concept URI."""
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


@compiled
def _wanted(data, start, end, languages, ends):  # type: ignore[no-untyped-def]
    """Return whether ``data[start:end]`` is a code in ``languages``, the codes in sequence, which end at ``ends``."""
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


@compiled
def _verdict(data, start, end, tabs, languages, ends, any_language):  # type: ignore[no-untyped-def]
    """Return the verdict on a line of valid text whose four tabs are at ``tabs``."""
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


@compiled
def _scan(data, words, languages, ends, any_language, table, dropped):  # type: ignore[no-untyped-def]
    """Fill ``table`` with the lines that pass or are rejected, count the others in ``dropped``; return the number of columns.

    ``data`` consists of complete lines; ``words`` is the same as 64-bit words, without the last few bytes.
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
    """Yield the result for each block, the same as :func:`tacit.loaders.conceptnet.classify_blocks`."""
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
    """The lines that pass, decoded one by one during iteration."""

    def __init__(self, block: Block, numbers: list[int], starts: list[int], ends: list[int]) -> None:
        self._block, self._numbers, self._starts, self._ends = block, numbers, starts, ends

    def __iter__(self) -> Iterator[tuple[int, str]]:
        first, data = self._block.first, self._block.data
        for number, start, end in zip(self._numbers, self._starts, self._ends, strict=True):
            yield first + number, data[start:end].decode()

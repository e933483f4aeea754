"""The rule by which a line of a ConceptNet file is passed on, dropped or rejected, before its JSON is looked at.

Written out plainly here, for small files and as the reference that the compiled scanner must agree with on every line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field

from .lines import NOT_UTF8, NUL_BYTE, TOO_LONG, Block, split

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

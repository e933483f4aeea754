"""Detects the format of a file from its first bytes, for the error message about a file without a row for a loader."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

from ..graph.relations import ATOMIC_RELATIONS
from .io import HEAD_BYTES

if TYPE_CHECKING:
    from .reader import Report

_LINES = 40
"""Lines that are examined."""
_LEAST_SHARE = 0.6
"""Least share of the lines that must fit a format."""
_NUMBERS = 20
"""A line with this many numbers after a word is a vector."""


OF_TRIPLES = {"text", "json", "parquet", "cskg", "atomic10x", "glucose", "atomic2020", "conceptnet"}
"""Kinds of files that a mapping may describe."""


class Detected(NamedTuple):
    """The probable format of a file."""

    # `conceptnet`, `atomic2020`, `numberbatch`, `nt`, `turtle`, `xml` (RDF/XML), `cskg`, `atomic10x`, `glucose`, `dialogues`,
    # `json` and `parquet` (any other), `text` (any other), or `other`.
    kind: str
    what: str  # a description with an article
    advice: str = ""  # what to do with the file, with `{file}` for its path; may be empty


_ATOMIC_NAMES = frozenset(name.lower() for name in ATOMIC_RELATIONS)

_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip file inside a gzip file", "unpack it once: gunzip {file}"),
    (b"PK\x03\x04", "a zip archive", "unpack it and load what is in it: unzip {file}"),
    (b"BZh", "a file compressed with bzip2 (only plain files and gzip are supported)", "unpack it: bunzip2 {file}"),
    (b"\xfd7zXZ\x00", "a file compressed with xz (only plain files and gzip are supported)", "unpack it: unxz {file}"),
    (b"\x28\xb5\x2f\xfd", "a file compressed with zstd (only plain files and gzip are supported)", "unpack it: unzstd {file}"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and load what is in it: 7z x {file}"),
    (b"SQLite format 3\0", "an SQLite database", "write its table as text first"),
    (b"%PDF-", "a PDF document", ""),
    (b"\xff\xfe", "text in UTF-16 (only UTF-8 is supported)", "convert it: iconv -f UTF-16 -t UTF-8 {file}"),
    (b"\xfe\xff", "text in UTF-16 (only UTF-8 is supported)", "convert it: iconv -f UTF-16 -t UTF-8 {file}"),
)  # fmt: skip
_HTML = re.compile(rb"(?i)<(?:!doctype html|html|head|body)\b")
_S3_ERROR = re.compile(rb"<Error>\s*<Code>")
_RDF_XML = re.compile(rb"<(?:\w+:)?RDF\b")
_TURTLE = re.compile(rb"(?im)^\s*(?:@prefix|@base|prefix|base)\s+[^\n]*<[^\n]*>")
_NT_LINE = re.compile(rb"(?:<[^<>\s]+>|_:\S+) <[^<>\s]+> \S.*\.\s*")
_VECTOR_HEADER = re.compile(rb"\d+ +\d+ *")

_BY_MAPPING = "load it with: tacit load triples {{file}} --mapping {} --into GRAPH"
PARQUET = Detected("parquet", "a Parquet file", _BY_MAPPING.format("FILE.toml"))
CSKG = Detected("cskg", "CSKG (edges as KGTK)", _BY_MAPPING.format("cskg"))
ATOMIC_10X = Detected("atomic10x", "ATOMIC-10X (JSON lines)", _BY_MAPPING.format("atomic10x"))
GLUCOSE = Detected("glucose", "GLUCOSE (a CSV table with ten dimensions)", _BY_MAPPING.format("glucose"))
CONCEPTNET = Detected(
    "conceptnet",
    "ConceptNet 5.7 assertions (five tab-separated columns)",
    "load it with: tacit load conceptnet {file} --into GRAPH",
)
ATOMIC = Detected(
    "atomic2020", "ATOMIC-2020 (three tab-separated columns)", "load it with: tacit load atomic2020 {file} --into GRAPH"
)
QUERIES = Detected("other", "a file of queries for a model (head @@ relation), without tails")
NUMBERBATCH = Detected("numberbatch", "word vectors (a term and its numbers)", "use it with: tacit index GRAPH --vectors {file}")
DIALOGUES = Detected("dialogues", "dialogues (JSON)", "score it with: tacit score {file}")


def detect(head: bytes) -> Detected | None:
    """Return the probable format of a file that begins with ``head`` (decompressed, 64 KB), None when it is unknown."""
    for magic, what, advice in _MAGIC:
        if head.startswith(magic):
            return Detected("other", what, advice)
    if head.startswith(b"PAR1"):
        return PARQUET
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"version https://git-lfs.github.com/spec/"):
        return Detected("other", "a Git LFS pointer, not the file itself", "get the file with: git lfs pull")
    if text.startswith(b"<") and (detected := _markup(text)) is not None:
        return detected
    if b"\0" in head or _garbled(head):
        return Detected("other", "a binary file")
    lines = [line.rstrip(b"\r") for line in text.split(b"\n") if line.strip()]
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may be incomplete
    lines = lines[:_LINES]
    if not lines:
        return None
    if (detected := _json(text, lines) or _columns(lines)) is not None:
        return detected
    return _rdf("turtle", "Turtle") if _TURTLE.search(text) else _table(lines)


def nothing_kept(name: str, head: bytes, kind: str, report: Report) -> str:
    """Return the error message for a file of which no row was kept: its name and beginning, and the kind that was expected."""
    if not head.strip():
        return f"{name} is empty, so there is nothing to load; check the path and the download"
    rejected, dropped = sum(report.rejected.values()), sum(report.dropped.values())
    detected = detect(head)
    expected = {kind} | (OF_TRIPLES if kind == "triples" else set())
    is_expected = detected is not None and (detected.kind in expected or (detected.kind == "text" and rejected < dropped))
    if rejected >= dropped or (detected is not None and not is_expected):
        reason = f" (line {report.rejects[0].line}: {report.rejects[0].reason})" if report.rejects else ""
        message = f"{name} has no row that can be loaded: none of its {report.read:,} lines has the expected format{reason}"
    else:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in report.dropped.most_common(3))
        message = (
            f"no row of {name} was kept: {dropped:,} of its {report.read:,} rows were left out ({reasons}); check the options"
        )
    return message if detected is None or is_expected else message + _guess(detected, name)


def syntax_error(name: str, line: int, head: bytes, kind: str) -> str:
    """Return the error message for a document of a ``kind`` that cannot be read beyond ``line`` (0 if that is unknown)."""
    place = f"{name}:{line}" if line else name
    message = f"{place}: syntax error, after which the rest cannot be read, so nothing of the file is loaded"
    detected = detect(head)
    if detected is None or detected.kind in (kind, "text"):
        return f"{message}; correct it or download it again"
    return message + _guess(detected, name)


def _guess(detected: Detected, name: str) -> str:
    """Return the end of a message: what the file looks like, and what to do with it."""
    advice = f"; {detected.advice.format(file='-' if name == 'standard input' else shlex.quote(name))}" if detected.advice else ""
    return f"; this looks like {detected.what}{advice}"


def _rdf(format: str, what: str) -> Detected:
    return Detected(format, f"RDF ({what})", f"load it with: tacit load rdf {{file}} --format {format} --into GRAPH")


def _markup(text: bytes) -> Detected | None:
    if _S3_ERROR.search(text[:2000]):
        return Detected("other", "the error message of a download server", "download it again")
    if _RDF_XML.search(text[:4000]):
        return _rdf("xml", "RDF/XML")
    if _HTML.search(text[:2000]):
        return Detected("other", "an HTML page, such as a server sends instead of a file", "download it again")
    lines = text.split(b"\n")[:_LINES]
    if _most_fit(lines, _NT_LINE.fullmatch):
        return _rdf("nt", "N-Triples")
    return Detected("other", "XML") if text.startswith(b"<?xml") else None


def _garbled(head: bytes) -> bool:
    """Return whether ``head`` is probably not text: invalid UTF-8, or many control characters."""
    sample = head[:4096]
    try:
        sample[:-3].decode() if len(sample) > 3 else sample.decode()
    except UnicodeDecodeError as error:
        if len(sample[: error.start]) < len(sample) - 8:
            return True
    return sum(byte < 9 or 13 < byte < 32 for byte in sample) > len(sample) // 20


def _most_fit(lines: Sequence[bytes], fits: Callable[[bytes], object]) -> bool:
    """Return whether most of ``lines``, except comments, fit."""
    content_lines = [line for line in lines if line.strip() and not line.startswith(b"#")]
    return bool(content_lines) and sum(bool(fits(line)) for line in content_lines) >= _LEAST_SHARE * len(content_lines)


def _json(text: bytes, lines: Sequence[bytes]) -> Detected | None:
    if text[:1] not in (b"{", b"["):
        return None
    try:
        first = orjson.loads(lines[0])
    except orjson.JSONDecodeError:
        return Detected("json", "JSON") if text[:1] == b"{" or re.match(rb'\[\s*[\[{"\d-]', text) else None
    record = first[0] if isinstance(first, list) and first else first
    if isinstance(record, dict) and {"turns", "history", "context", "response", "messages"} & set(record):
        return DIALOGUES
    if isinstance(record, dict) and {"head", "relation", "tail", "p_valid_model"} <= set(record):
        return ATOMIC_10X
    return Detected("json", "JSON lines" if len(lines) > 1 else "JSON")


def _columns(lines: Sequence[bytes]) -> Detected | None:
    """Return the format with one record per line that most of ``lines`` have, None when there is none."""
    if _most_fit(lines, lambda line: line.count(b"\t") == 4 and line.startswith(b"/a/")):
        return CONCEPTNET
    if lines[0].startswith(b"id\tnode1\trelation\tnode2\t"):
        return CSKG
    if b"1_generalNL" in lines[0].split(b","):
        return GLUCOSE
    if _most_fit(lines, _is_query):
        return ATOMIC if any(b"\t" in line for line in lines) else QUERIES
    if _most_fit(lines, lambda line: line.count(b"\t") == 2 and _lower(line.split(b"\t")[1]) in _ATOMIC_NAMES):
        return ATOMIC
    if _VECTOR_HEADER.fullmatch(lines[0]) or _most_fit(lines, _is_vector):
        return NUMBERBATCH
    if _most_fit(lines, _NT_LINE.fullmatch):
        return _rdf("nt", "N-Triples")
    return None


def _table(lines: Sequence[bytes]) -> Detected:
    """Return the format of any other text: a table or plain text."""
    for separator, what in ((b"\t", "a table of {} tab-separated columns"), (b",", "a CSV table of {} columns")):
        counts = [line.count(separator) for line in lines]
        if counts[0] and counts.count(counts[0]) >= _LEAST_SHARE * len(counts):
            return Detected("text", what.format(counts[0] + 1), _BY_MAPPING.format("FILE.toml"))
    return Detected("text", "plain text")


def _is_query(line: bytes) -> bool:
    _, separator, relation_and_tail = line.partition(b"@@")
    return bool(separator) and _lower(re.split(rb"\t|@@|\[GEN\]", relation_and_tail)[0]) in _ATOMIC_NAMES


def _lower(data: bytes) -> str:
    return data.decode(errors="replace").strip().lower()


def _is_vector(line: bytes) -> bool:
    numbers = line.split()[1:]
    return len(numbers) >= _NUMBERS and all(re.fullmatch(rb"[-+.\deE]+", number) for number in numbers[:_NUMBERS])

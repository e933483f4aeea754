"""ConceptNet 5.7 assertions: lines of five tab-separated fields, the last one JSON, as :class:`tacit.graph.model.Assertion` rows.

The form of every line is checked (UTF-8, five fields, an assertion URI, a relation, two ends, an object); its JSON is parsed only
if its languages and relation are wanted.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator
from typing import Any

import orjson

from ..graph.errors import InputError
from ..graph.links import RESERVED_NAMES
from ..graph.model import Assertion
from ..graph.names import URI_TOO_LONG, check_relation, is_too_long
from .io import MAX_LINE, NOT_UTF8, NUL_BYTE, Block, blocks, split
from .reader import Reader

_LANGUAGE = re.compile(r"[A-Za-z0-9_-]{2,16}")
_CACHED_RELATIONS = 10_000
_CACHED_DETAILS = 20_000
_LONG_DETAILS = 1_000
"""Longer JSON is not cached, since it is unlikely to recur."""

BLANK = "blank line"
EXTERNAL = "external URL"
LANGUAGE = "language"
CONTROL = "control character"
FIELDS = "not five tab-separated fields"
NO_ASSERTION = "first field is not an assertion URI"
NO_RELATION = "second field is not a relation URI"
NO_HEAD = "third field is not a concept URI"
NO_TAIL = "fourth field is not a concept URI"
RESERVED = "relation with a name that tacit keeps for links or labels"
NO_OBJECT = "fifth field is not a JSON object"

_TEXT = r"[^\x00-\x1f]"
_CONCEPT = r"(/c/([^/\x00-\x20]+)/[^/\x00-\x20][^\x00-\x20]*)"
_LINE = re.compile(rf"/a/{_TEXT}*\t(/r/(?!ExternalURL\t){_TEXT}+)\t{_CONCEPT}\t{_CONCEPT}\t(\{{{_TEXT}*\}})")
_EXTERNAL_LINE = re.compile(rf"/a/{_TEXT}*\t/r/ExternalURL\t{_TEXT}*\t{_TEXT}*\t\{{{_TEXT}*\}}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f]")
_CONCEPT_URI = re.compile(_CONCEPT)

RELATION = "relation"
DATASET = "dataset"
WEIGHT = "weight"


def relation_name(uri: str) -> str | None:
    """Return the relation of ``/r/IsA`` (``IsA``) or ``/r/dbpedia/genre`` (``dbpedia_genre``); None when it is malformed."""
    try:
        return check_relation(uri.removeprefix("/r/").strip("/").replace("/", "_"))
    except InputError:
        return None


class ConceptNetReader(Reader[Assertion]):
    """Iterator of the assertions of a ConceptNet 5.7 file, gzip or plain.

    Args:
        path: the file.
        languages: keep assertions with *both* ends in one of these; None keeps all languages.
        relations: keep these relations, with or without ``/r/``; None keeps all but ``ExternalURL``, which is never kept.
        min_weight: keep assertions of at least this weight.
        datasets: keep these datasets and those below them, with or without ``/d/`` (``/d/wiktionary`` includes ``…/en``).
        strict: end the load at the first invalid line.

    Raises:
        InputError: the file cannot be opened, or a filter is malformed.
        LoadError: while iterating, under ``strict``.
    """

    loader = "conceptnet"
    version = 1

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        languages: Collection[str] | None = ("en",),
        relations: Collection[str] | None = None,
        min_weight: float = 0.0,
        datasets: Collection[str] | None = None,
        strict: bool = False,
    ) -> None:
        self._languages = _language_codes(languages)
        self._relations = None if relations is None else frozenset(_wanted_relation(name) for name in relations)
        self._datasets = None if datasets is None else tuple(sorted({_wanted_dataset(name) for name in datasets}))
        self._min_weight = _wanted_weight(min_weight)
        self._relation_names: dict[str, str] = {}
        self._details: dict[str, Any] = {}
        options: dict[str, Any] = {}
        if self._languages is not None:
            options["languages"] = list(self._languages)
        if self._relations is not None:
            options["relations"] = sorted(self._relations)
        if self._datasets is not None:
            options["datasets"] = list(self._datasets)
        if self._min_weight > 0:
            options["min_weight"] = self._min_weight
        super().__init__(path, strict=strict, options=options)

    def _rows(self) -> Iterator[Assertion]:
        languages = self._languages
        for block in blocks(self.source):
            in_other_languages = 0
            for number, text in self._texts(block):
                match = _LINE.fullmatch(text)
                if match is None:
                    self._leave_out(number, text)
                    continue
                uri, head, head_language, tail, tail_language, json_text = match.groups()
                if languages is not None and not (head_language in languages and tail_language in languages):
                    in_other_languages += 1
                    continue
                row = self._row(number, text, uri, head, tail, json_text)
                if row is not None:
                    yield row
            if in_other_languages:
                self.drop(LANGUAGE, in_other_languages)

    def _texts(self, block: Block) -> Iterator[tuple[int, str]]:
        """Return the numbers and texts of the lines of a block, after rejecting those that are not text or too long."""
        try:
            if block.flaw is None and len(block.data) <= MAX_LINE and b"\r" not in block.data:  # faster than line by line
                return enumerate(block.data.removesuffix(b"\n").decode().split("\n"), block.first)
        except UnicodeDecodeError:
            pass
        return self._decoded(block)

    def _decoded(self, block: Block) -> Iterator[tuple[int, str]]:
        for line in split(block):
            if line.flaw is not None:
                self.reject(line.number, line.flaw, line.data)
                continue
            try:
                yield line.number, line.data.decode()
            except UnicodeDecodeError:
                self.reject(line.number, NOT_UTF8, line.data)

    def _leave_out(self, number: int, text: str) -> None:
        """Count a line that is not an assertion between two concepts as dropped or rejected."""
        reason = EXTERNAL if _EXTERNAL_LINE.fullmatch(text) else _fault(text)
        if reason in (BLANK, EXTERNAL):
            self.drop(reason)
        else:
            self.reject(number, reason, text)

    def _row(self, number: int, line: str, uri: str, head: str, tail: str, json_text: str) -> Assertion | None:
        """Return the assertion in ``line``, or None after counting it as dropped or rejected."""
        relation = self._relation_names.get(uri) or self._cached_relation(uri)
        if not relation:
            self.reject(number, "malformed relation" if relation_name(uri) is None else RESERVED, line)
            return None
        if self._relations is not None and relation not in self._relations:
            self.drop(RELATION)
            return None
        details = self._details.get(json_text) or self._cached_details(json_text)
        if details.__class__ is str:
            self.reject(number, details, line)
            return None
        weight, dataset, license, contributors = details
        if weight < self._min_weight:
            self.drop(WEIGHT)
            return None
        if self._datasets is not None and not _within(dataset, self._datasets):
            self.drop(DATASET)
            return None
        head_sense = tail_sense = ""
        if head.count("/") != 3:
            head, head_sense = _split_sense(head)
        if tail.count("/") != 3:
            tail, tail_sense = _split_sense(tail)
        if is_too_long(head) or is_too_long(tail):
            self.reject(number, URI_TOO_LONG, line)
            return None
        self.report.read += 1
        self.report.kept += 1
        return Assertion(head, relation, tail, weight, "conceptnet", dataset, license, contributors, head_sense, tail_sense)

    def _cached_relation(self, uri: str) -> str | None:
        name = relation_name(uri)
        if name is not None and name.lower() in RESERVED_NAMES:
            return None
        if name is not None and len(self._relation_names) < _CACHED_RELATIONS:
            self._relation_names[uri] = name
        return name

    def _cached_details(self, json_text: str) -> Any:
        """Return :func:`parse_details` with a cache, since most lines without a surface text have the same JSON."""
        if len(json_text) > _LONG_DETAILS:
            return parse_details(json_text)
        if len(self._details) >= _CACHED_DETAILS:
            self._details.clear()
        details = self._details[json_text] = parse_details(json_text)
        return details


read_conceptnet = ConceptNetReader


def parse_details(json_text: str) -> tuple[float, str, str, str] | str:
    """Return weight, dataset, licence and contributors from the JSON of a line, or the reason to reject the line."""
    try:
        data = orjson.loads(json_text)
    except orjson.JSONDecodeError:
        return "broken JSON"
    if "\\u0000" in json_text:
        return NUL_BYTE
    try:
        weight = data.get("weight", 1.0)
        dataset = data.get("dataset", "")
        license = data.get("license", "")
        sources = [s.get("contributor") or s.get("activity") or s.get("process") or "" for s in data.get("sources", ())]
        contributors = " | ".join(sources)
    except (AttributeError, TypeError):
        return "unexpected JSON"
    if not isinstance(dataset, str) or not isinstance(license, str):
        return "unexpected JSON"
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 <= weight < math.inf:
        return "weight is not a finite number >= 0"
    return abs(float(weight)), dataset, license, contributors  # -0.0 is 0.0


def _split_sense(uri: str) -> tuple[str, str]:
    """Split ``/c/en/dog/n/wn/animal`` into the concept and its sense."""
    parts = uri.split("/", 4)
    return "/".join(parts[:4]), parts[4].strip("/") if len(parts) > 4 else ""


def _within(dataset: str, datasets: tuple[str, ...]) -> bool:
    return any(dataset == name or dataset.startswith(name + "/") for name in datasets)


def _language_codes(languages: Collection[str] | None) -> tuple[str, ...] | None:
    if languages is None:
        return None
    codes = (languages,) if isinstance(languages, str) else tuple(sorted(set(languages)))
    for code in codes:
        if not _LANGUAGE.fullmatch(code):
            raise InputError(f"{code!r} is not a language code; give codes such as en, de or zh")
    if not codes:
        raise InputError("the list of languages is empty; give codes such as en, or None to keep every language")
    return codes


def _wanted_relation(name: str) -> str:
    relation = relation_name(name)
    if relation is None:
        raise InputError(f"{name!r} is not a ConceptNet relation; give names such as UsedFor or /r/UsedFor")
    return relation


def _wanted_dataset(name: str) -> str:
    path = name.strip().strip("/").removeprefix("d/")
    if not path:
        raise InputError(f"{name!r} is not a ConceptNet dataset; give names such as /d/conceptnet/4/en")
    return "/d/" + path


def _wanted_weight(weight: float) -> float:
    if not 0.0 <= weight < math.inf:
        raise InputError(f"minimum weight {weight!r} is not a number >= 0; give one such as 1.0")
    return float(weight)


def _fault(text: str) -> str:
    """Return why a line without the relation ExternalURL is not an assertion between two concepts."""
    if not text:
        return BLANK
    if (control := _CONTROL.search(text)) is not None:
        return CONTROL if control[0] != "\0" else NUL_BYTE
    fields = text.split("\t")
    if len(fields) != 5:
        return FIELDS
    assertion, relation, head, _, json_text = fields
    if not assertion.startswith("/a/"):
        return NO_ASSERTION
    if not relation.startswith("/r/") or len(relation) == 3:
        return NO_RELATION
    if not (json_text.startswith("{") and json_text.endswith("}") and len(json_text) > 1):
        return NO_OBJECT
    return NO_TAIL if _CONCEPT_URI.fullmatch(head) else NO_HEAD

"""Any table or JSON file of triples as assertions, by a mapping (:mod:`tacit.loaders.mapping`).

A name becomes a concept or an event as the mapping says; a value that is a URI of ConceptNet (``/c/en/dog/n``) is that concept.
A relation that is neither in the table of relations nor in the mapping ends the load: otherwise all of its rows would be missing
from the graph because of one forgotten line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..graph.errors import InputError, LoadError, did_you_mean
from ..graph.model import Assertion, LoadEntry
from ..graph.names import URI_TOO_LONG, concept_uri, event_uri, is_too_long, text_of
from .formats import OF_TRIPLES, detect
from .io import NOT_A_WEIGHT, NOT_UTF8, NUL_BYTE, weight
from .mapping import LANGUAGE, Kind, Mapping, Rule, open_mapping
from .reader import Reader
from .records import Damage
from .tables import NoColumn, Values, read_values

RELATION = "relation left out by the mapping"
NO_RELATION = "no relation"
NO_NAME = "no name"
NO_LANGUAGE = "not a language code"
NOT_THREE = "not head, relation and tail"

_CACHED = 1 << 16
"""Most names whose URIs are kept."""
_UNKNOWN = 1_000
"""Most unknown relations that are counted."""
_SHOWN = 5
"""Most unknown relations that an error names."""

_URIS = ("/e/", "/c/")

_Node = tuple[str, str]
"""URI and sense; an empty URI for a text that is not a name, with the reason in place of the sense."""


class TripleReader(Reader[Assertion]):
    """Iterator of the assertions of a file of triples: CSV, TSV, JSON or Parquet, plain or gzip.

    Args:
        path: the file.
        mapping: a :class:`~tacit.loaders.mapping.Mapping`, the name of one that ships, or a TOML file with one.
        strict: end the load at the first invalid row.

    Raises:
        InputError: the file cannot be opened, the mapping is wrong, or (while iterating) the file has no column of a name in it.
        LoadError: while iterating: a relation is unknown, the file ends early, or a row is invalid under ``strict``.
    """

    loader = "triples"
    version = 1

    def __init__(self, path: str | os.PathLike[str], mapping: Mapping | str | os.PathLike[str], *, strict: bool = False) -> None:
        self.mapping = open_mapping(mapping)
        options = {"mapping": self.mapping.name, "mapping_digest": self.mapping.digest}
        super().__init__(path, strict=strict, options=options)
        columns = self.mapping.columns
        roles = {
            name: getattr(columns, name)
            for name in ("head", "relation", "tail", "head_text", "tail_text", "weight", "language", "license", "dataset")
        }
        names = [*roles.values(), *columns.triple, *(condition.column for condition in self.mapping.drop)]
        self._wanted = list(dict.fromkeys(name for name in names if name))
        self._index_of = {role: self._wanted.index(name) for role, name in roles.items() if name}
        self._triples = [self._wanted.index(name) for name in columns.triple]
        self._drops = [(self._wanted.index(condition.column), condition) for condition in self.mapping.drop]
        self._dataset = self.mapping.dataset or Path(self.path).name.removesuffix(".gz")
        self._none = {name.strip().lower() for name in self.mapping.nodes.none}
        self._rules: dict[str, Any] = {}  # Rule, or the reason to leave the rows out
        self._remaining: Iterator[Values] = iter(())
        self._nodes: dict[tuple[str, str, str, Kind], _Node] = {}

    def entry(self) -> LoadEntry:
        """Return this load's entry for the graph's manifest, with the relations that the mapping adds."""
        return replace(super().entry(), relations=self.mapping.added)

    def _rows(self) -> Iterator[Assertion]:
        self._remaining = read_values(self.source, self.mapping.file, self._wanted)
        report, always = self.report, self.mapping.relations.always
        head, tail, relation = (self._index_of.get(role) for role in ("head", "tail", "relation"))
        try:
            for row in self._remaining:
                values = row.values
                if isinstance(row.flaw, Damage):
                    self.source.fail_if_damaged()
                    raise LoadError(f"{self.source.name} is truncated ({row.flaw}); download or copy it again")
                if row.flaw is not None:
                    self.reject(row.number, row.flaw, row.data)
                    continue
                if (flaw := _not_text(values)) is not None:
                    self.reject(row.number, flaw, _row_text(values))
                    continue
                if head is None or tail is None:
                    parts: Iterable[Any] = (self._parts(row, values[index]) for index in self._triples)
                else:
                    parts = [(values[head], always if relation is None else values[relation], values[tail])]
                for triple in filter(None, parts):
                    assertion = self._assertion(row, *triple)
                    if assertion is not None:
                        report.read += 1
                        report.kept += 1
                        yield assertion
        except NoColumn as error:
            raise InputError(self._no_column(error)) from None

    def _parts(self, row: Values, cell: Any) -> tuple[Any, ...] | None:
        """Return head, relation and tail in one cell, or None after counting it as dropped or rejected."""
        text = "" if cell is None else str(cell)
        if not text.strip() or text.strip().lower() in self._none:
            self.drop(NO_NAME)
            return None
        parts = tuple(text.split(self.mapping.columns.between))
        if len(parts) != 3:
            self.reject(row.number, NOT_THREE, text)
            return None
        return parts

    def _assertion(self, row: Values, head: Any, relation: Any, tail: Any) -> Assertion | None:
        """Return the assertion of a triple, or None after counting it as dropped or rejected."""
        values, index_of = row.values, self._index_of
        for column, condition in self._drops:
            applies = condition.applies(values[column])
            if applies is None:
                self.reject(row.number, f"{condition.column} is not a number", _row_text(values))
                return None
            if applies:
                self.drop(condition.reason)
                return None
        name = "" if relation is None else str(relation).strip()
        rule = self._rules.get(name) or self._rule(name, row.number)
        if rule.__class__ is str:
            if rule == RELATION:
                self.drop(RELATION)
            else:
                self.reject(row.number, NO_RELATION, _row_text(values))
            return None
        language = (values[index_of["language"]] if "language" in index_of else None) or self.mapping.language
        language = language if language.__class__ is str else str(language)
        first = self._node(head, values[index_of["head_text"]] if "head_text" in index_of else None, language, rule.kind)
        second = self._node(tail, values[index_of["tail_text"]] if "tail_text" in index_of else None, language, rule.kind)
        for uri, reason in (first, second):
            if not uri:
                if reason == NO_NAME:
                    self.drop(reason)
                else:
                    self.reject(row.number, reason, _row_text(values))
                return None
        weight = _weight(values[index_of["weight"]]) if "weight" in index_of else 1.0
        if weight is None:
            self.reject(row.number, NOT_A_WEIGHT, _row_text(values))
            return None
        dataset = (values[index_of["dataset"]] if "dataset" in index_of else None) or self._dataset
        license = (values[index_of["license"]] if "license" in index_of else None) or self.mapping.license
        if rule.reversed or (rule.symmetric and second < first):
            first, second = second, first
        source = self.mapping.name
        (head_uri, head_sense), (tail_uri, tail_sense) = first, second
        return Assertion(
            head_uri, rule.relation, tail_uri, weight, source, str(dataset), str(license), "", head_sense, tail_sense
        )

    def _rule(self, name: str, number: int) -> Any:
        """Return the rule for a relation, or why its rows are left out; raise :class:`LoadError` when it is unknown."""
        if name in self.mapping.relations.drop:
            rule: Rule | str | None = RELATION
        else:
            rule = self.mapping.rule(name) if name else NO_RELATION
        if rule is None:
            raise LoadError(self._unknown(name, number))
        self._rules[name] = rule
        return rule

    def _node(self, name: Any, text: Any, language: Any, kind: Kind) -> _Node:
        """Return the node of a name, which is an identifier when there is a text; from a cache, since many names recur."""
        if name.__class__ is not str:
            name = "" if name is None else str(name)
        if text is not None and text.__class__ is not str:
            text = str(text)
        key = name, text or "", language, kind
        node = self._nodes.get(key)
        if node is None:
            if len(self._nodes) >= _CACHED:
                self._nodes.clear()
            node = self._nodes[key] = self._new_node(*key)
        return node

    def _new_node(self, name: str, text: str, language: str, kind: Kind) -> _Node:
        nodes = self.mapping.nodes
        identifier = name.strip()
        if kind == "concept" and identifier.startswith("/c/"):
            parts = identifier.split("/", 4)
            if len(parts) > 3 and parts[2] and parts[3] and not any(sign <= " " for sign in identifier):
                return _checked_node("/".join(parts[:4]), parts[4].strip("/") if len(parts) > 4 else "")
        label = text or (text_of(identifier) if identifier.startswith(_URIS) else identifier)
        if nodes.alternatives:
            label = label.split(nodes.alternatives, 1)[0]
        for old, new in nodes.replace.items():
            label = label.replace(old, new)
        if self._none and label.strip().lower() in self._none:
            return "", NO_NAME
        try:
            if kind == "event":
                return _checked_node(event_uri(label))
            if not LANGUAGE.fullmatch(language):
                return "", NO_LANGUAGE
            return _checked_node(concept_uri(label, language.replace("_", "-").split("-")[0].lower()))
        except InputError:  # empty after normalisation
            return "", NO_NAME

    # messages of the errors that end a load

    def _no_column(self, error: NoColumn) -> str:
        """Return the message about a column of the mapping that the file does not have."""
        columns = self.mapping.columns
        keys = [f"[columns] {key}" for key in self._index_of if getattr(columns, key) == error.name]
        keys += ["[columns] triple"] if error.name in columns.triple else []
        keys += [f"[[drop]] {number}" for number, condition in enumerate(self.mapping.drop, 1) if condition.column == error.name]
        location = f"({keys[0]} of {self.mapping.place})"
        names = list(dict.fromkeys(error.names))
        if error.name in names:
            return f"{self.source.name} has two columns {error.name!r} {location}; rename one of them"
        case_variant = next((name for name in names if name.lower() == error.name.lower()), None)
        detected = detect(self.source.head)
        if detected is not None and detected.kind not in OF_TRIPLES:
            return f"{self.source.name} has no column or field {error.name!r} {location}; it looks like {detected.what}"
        known_names = ", ".join(names[:12]) + (" and more" if len(names) > 12 else "")
        advice = f"did you mean {case_variant}?" if case_variant else did_you_mean(error.name, names, "")
        content = f"it has {known_names}" if names else "its rows have no names, so give them with [file] names"
        return f"{self.source.name} has no column or field {error.name!r} {location}; {content}{f'; {advice}' if advice else ''}"

    def _unknown(self, name: str, number: int) -> str:
        """Return the message about the unknown relations of the file, after reading the rest of it."""
        unknown = {name: [number, 1]}
        for row in self._remaining:
            for relation in self._relations(row) if row.flaw is None else ():
                if relation in unknown:
                    unknown[relation][1] += 1
                elif relation and relation not in self._rules and len(unknown) < _UNKNOWN:
                    if relation in self.mapping.relations.drop or self.mapping.rule(relation) is not None:
                        self._rules[relation] = RELATION
                    else:
                        unknown[relation] = [row.number, 1]
        descriptions = []
        for relation, (first, count) in list(unknown.items())[:_SHOWN]:
            hint = self.mapping.suggestion(relation)
            row_count = "1 row" if count == 1 else f"{count:,} rows"
            descriptions.append(f"{relation!r} ({row_count}, the first in line {first}{f'; {hint}' if hint else ''})")
        remainder = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
        kinds = "a relation" if len(unknown) == 1 else "relations"
        return (
            f"{self.source.name} has {kinds} that tacit does not know: "
            f"{', '.join(descriptions)}{remainder}; in {self.mapping.place}, map to known ones in [relations.map], add with "
            "[relations.add.NAME], or leave out with [relations] drop"
        )

    def _relations(self, row: Values) -> list[str]:
        """Return the relations that a row names."""
        if not self._triples:
            value = row.values[self._index_of["relation"]]
            return ["" if value is None else str(value).strip()]
        cells = (str(row.values[index] or "").split(self.mapping.columns.between) for index in self._triples)
        return [parts[1].strip() for parts in cells if len(parts) == 3]


read_triples = TripleReader


def _checked_node(uri: str, sense: str = "") -> _Node:
    return ("", URI_TOO_LONG) if is_too_long(uri) else (uri, sense)


def _weight(value: Any) -> float | None:
    """Return a weight, 1.0 for an empty value, None for a value that is not a weight."""
    if value is None or value == "":
        return 1.0
    if isinstance(value, bool):
        return None
    return weight(value.strip() if isinstance(value, str) else repr(value))


def _not_text(values: Sequence[Any]) -> str | None:
    """Return why the values of a row cannot be used, None when they can."""
    for value in values:
        if value.__class__ is str:
            if "\0" in value:
                return NUL_BYTE
            if not value.isascii():
                try:
                    value.encode()
                except UnicodeEncodeError:
                    return NOT_UTF8
        elif isinstance(value, (list, dict, bytes)):
            return (
                f"a {'list' if isinstance(value, list) else 'table' if isinstance(value, dict) else 'binary value'} in a column"
            )
    return None


def _row_text(values: Sequence[Any]) -> str:
    return "\t".join("" if value is None else str(value) for value in values)

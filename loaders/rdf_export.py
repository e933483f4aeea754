"""Export of a graph, or of the rows of a query, as RDF: N-Triples as a stream, Turtle and RDF/XML through rdflib in memory.

Every assertion is written as an ``rdf:Statement`` with its provenance, and as a plain triple, so that other tools see the edge
and tacit reads back exactly what it wrote. Nodes get an ``rdfs:label``. Files are replaced atomically.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ..graph.atomic import new_stream
from ..graph.errors import InputError
from ..graph.model import Assertion, QueryResult
from ..graph.names import check_relation, language_of, text_of
from . import rdf_terms as terms
from .reader import HashSet, hash64

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EDGE_COLUMNS = ("head", "relation", "tail")


class _Text(NamedTuple):
    """A literal: its text, and its language or datatype."""

    text: str
    language: str = ""
    datatype: str = ""


class _Blank(NamedTuple):
    """A blank node with its label."""

    label: str


_Term = str | _Text | _Blank  # a plain string is an IRI
_Triple = tuple[_Term, str, _Term]


def write_rdf(assertions: Iterable[Assertion], path: str | os.PathLike[str], format: str | None = None) -> int:
    """Write ``assertions`` to ``path`` and return their number.

    Args:
        assertions: of a whole graph (``graph.assertions()``) or any part.
        path: the file; replaced when it exists, and compressed when its name ends in ``.gz``.
        format: ``nt`` (streamed), ``turtle`` or ``xml`` (in memory); None for that of the file's suffix.

    Raises:
        InputError: the format is unknown or the file cannot be written.
    """
    count = 0

    def triples() -> Iterator[_Triple]:
        nonlocal count
        labelled = HashSet()
        for row in assertions:
            yield from _assertion(row, count)
            for uri in (row.head, row.tail):
                if labelled.add(hash64(uri)):
                    yield terms.node_iri(uri), terms.LABEL, _Text(text_of(uri), _tag(language_of(uri)))
            count += 1

    _write(triples(), os.fspath(path), format)
    return count


def write_result_rdf(result: QueryResult, path: str | os.PathLike[str], format: str | None = None) -> int:
    """Write the rows of a query to ``path`` and return their number.

    When there are columns ``head``, ``relation`` and ``tail`` with node URIs (or nodes) and relation names, rows become
    assertions, with ``weight`` and provenance from columns of those names. Otherwise a row becomes a blank node of type
    ``urn:tacit:vocabulary:Row`` with its number, and a value under ``urn:tacit:column:<name>`` for each column that is not null.

    Raises:
        InputError: as for :func:`write_rdf`.
    """
    edges = _edges(result)
    if edges is not None:
        return write_rdf(edges, path, format)

    names = _column_iris(result.columns)

    def triples() -> Iterator[_Triple]:
        for number, record in enumerate(result.records()):
            row = _Blank(f"row{number}")
            yield row, terms.RDF + "type", terms.VOCABULARY + "Row"
            yield row, terms.VOCABULARY + "number", _Text(str(number), datatype=terms.INTEGER)
            for column, value in record.items():
                if value is not None:
                    yield row, names[column], _value(value)

    _write(triples(), os.fspath(path), format)
    return len(result.rows)


def _assertion(row: Assertion, number: int) -> Iterator[_Triple]:
    head, relation, tail = terms.node_iri(row.head), terms.RELATION + row.relation, terms.node_iri(row.tail)
    statement = _Blank(f"s{number}")
    yield statement, terms.RDF + "type", terms.RDF + "Statement"
    yield statement, terms.RDF + "subject", head
    yield statement, terms.RDF + "predicate", relation
    yield statement, terms.RDF + "object", tail
    yield statement, terms.VOCABULARY + "weight", _decimal(row.weight)
    for field, term in terms.TEXT_FIELDS.items():
        if text := getattr(row, field):
            yield statement, terms.VOCABULARY + term, _Text(text)
    if row.rank is not None:
        yield statement, terms.VOCABULARY + "rank", _Text(str(row.rank), datatype=terms.INTEGER)
    if row.score is not None:
        yield statement, terms.VOCABULARY + "score", _decimal(row.score)
    yield head, relation, tail


def _edges(result: QueryResult) -> list[Assertion] | None:
    """Return the rows as assertions, None when one of them is not an assertion."""
    if not set(_EDGE_COLUMNS) <= set(result.columns):
        return None
    rows = []
    for record in result.records():
        ends = [value.get("uri") if isinstance(value, dict) else value for value in (record["head"], record["tail"])]
        relation, weight = record["relation"], record.get("weight")
        if not all(isinstance(end, str) and re.match(r"/(c/[^/]+/|e/).", end) for end in ends) or not isinstance(relation, str):
            return None
        try:
            check_relation(relation)
        except InputError:
            return None
        row = Assertion(str(ends[0]), relation, str(ends[1]))
        if isinstance(weight, int | float) and not isinstance(weight, bool) and 0 <= weight < math.inf:
            row = row._replace(weight=float(weight))
        texts: dict[str, Any] = {name: value for name in terms.TEXT_FIELDS if isinstance(value := record.get(name), str)}
        rows.append(row._replace(**texts))
    return rows


def _column_iris(columns: tuple[str, ...]) -> dict[str, str]:
    """Return an IRI for each column whose last part is an XML name, as RDF/XML requires: ``count(n)`` -> ``…:count_n``."""
    iris: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^A-Za-z0-9]+", "_", column).strip("_")
        name = name if name[:1].isalpha() else f"c_{name}"
        while terms.COLUMN + name in iris.values():
            name += "_"
        iris[column] = terms.COLUMN + name
    return iris


def _value(value: Any) -> _Term:
    if isinstance(value, dict) and isinstance(value.get("uri"), str):
        value = value["uri"]
    if isinstance(value, str):
        return terms.node_iri(value) if re.match(r"/(c/[^/]+/|e/).", value) else _Text(value)
    if isinstance(value, bool):
        return _Text("true" if value else "false", datatype="http://www.w3.org/2001/XMLSchema#boolean")
    if isinstance(value, int):
        return _Text(str(value), datatype=terms.INTEGER)
    if isinstance(value, float):
        return _decimal(value) if math.isfinite(value) else _Text(str(value))
    return _Text(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode())


def _decimal(number: float) -> _Text:
    """Return a decimal literal with all digits, because rdflib's Turtle rounds doubles to seven digits."""
    return _Text(format(Decimal(repr(float(number))), "f"), datatype=terms.DECIMAL)


def _tag(language: str) -> str:
    """Return a language code as an RDF language tag, empty when it is not valid as one."""
    return language if re.fullmatch(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*", language) else ""


# files


def _write(triples: Iterator[_Triple], path: str, format: str | None) -> None:
    kind = terms.check_format(format, path)
    try:
        with new_stream(Path(path)) as file:
            if kind == "nt":
                for head, predicate, tail in triples:
                    file.write(f"{_nt(head)} <{predicate}> {_nt(tail)} .\n".encode())
            else:
                _rdflib_graph(triples, kind).serialize(file, format=kind, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _nt(term: _Term) -> str:
    if isinstance(term, str):
        return f"<{term}>"
    if isinstance(term, _Blank):
        return f"_:{term.label}"
    text = _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}", term.text)
    return f'"{text}"@{term.language}' if term.language else f'"{text}"^^<{term.datatype}>' if term.datatype else f'"{text}"'


def _rdflib_graph(triples: Iterator[_Triple], kind: terms.Format) -> Any:
    """Return ``triples`` as a graph of rdflib; for XML, which cannot contain control characters, these are replaced."""
    import rdflib

    def term(value: _Term) -> Any:
        if isinstance(value, str):
            return rdflib.URIRef(value)
        if isinstance(value, _Blank):
            return rdflib.BNode(value.label)
        text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value.text) if kind == "xml" else value.text
        return rdflib.Literal(text, lang=value.language or None, datatype=value.datatype or None, normalize=False)

    graph = rdflib.Graph()
    for prefix, namespace in (("relation", terms.RELATION), ("tacit", terms.VOCABULARY), ("column", terms.COLUMN)):
        graph.bind(prefix, rdflib.Namespace(namespace))
    for head, predicate, tail in triples:
        graph.add((term(head), rdflib.URIRef(predicate), term(tail)))
    return graph

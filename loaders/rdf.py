"""RDF files (N-Triples, Turtle, RDF/XML) as assertions: predicates become relations, labels texts, IRIs concepts.

N-Triples are streamed line by line, after a first pass that collects the labels of IRIs. Turtle and RDF/XML documents are parsed
whole, so they must fit into memory; after a syntax error the rest cannot be read, so that nothing of such a document is used. A
triple that is not a valid assertion (half a surrogate pair, an invalid weight, rank or score, a concept joined to an event, a URI
that is too long) is rejected and counted, never changed. Files written by :mod:`tacit.loaders.rdf_export` give exactly the same
assertions again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.plugins.parsers.ntriples import W3CNTriplesParser

from ..graph.errors import InputError, LoadError
from ..graph.links import LINK_RELATIONS
from ..graph.model import Assertion
from ..graph.names import URI_TOO_LONG, check_relation, is_too_long, label_of
from . import rdf_terms as terms
from .formats import syntax_error
from .io import NOT_A_WEIGHT, ByteSource, count, decode, finite, lines, weight
from .rdf_terms import read_mapping
from .reader import HashSet, Reader, hash64

BLANK = "blank line or comment"
BLANK_NODE = "blank node"
DETAIL = "part of a statement"
DUPLICATE = "duplicate"
LABEL = "label"
LITERAL = "literal"
UNMAPPED = "predicate left out by the mapping"
RESERVED = "relation with a name that tacit keeps for links"
UNNAMED = "predicate or node without a name"

NOT_UNICODE = "not well-formed Unicode"
MIXED = "joins a concept and an event"

LABEL_PREDICATES = (terms.LABEL, terms.PREF_LABEL)

Triple = tuple[Any, Any, Any]
_Preference = tuple[int, int, str]

_STATEMENT = terms.RDF + "Statement"


class _Located(NamedTuple):
    """A triple with its line (0 where it is unknown, in a document that is parsed whole) and text."""

    triple: Triple
    line: int = 0
    text: str = ""


class RdfReader(Reader[Assertion]):
    """Iterator of the assertions of an RDF file, gzip or plain.

    Args:
        path: the file.
        format: ``turtle``, ``nt`` or ``xml``; None for that of the file's suffix.
        mapping: predicate IRI -> relation, as a mapping, or a TOML or JSON file with one; an empty relation excludes the
            predicate, and the key ``*`` with an empty relation excludes every predicate that is not listed. Without an entry, the
            relation is the last segment of the IRI, as a well-formed name.
        language: of labels and literals without a language tag, and the preferred one where there are several labels.
        literals: keep triples whose object is a literal, as the concept with that text.
        strict: end the load at the first invalid line.

    Raises:
        InputError: the file, the format or the mapping is invalid.
        LoadError: while iterating: a syntax error in Turtle or RDF/XML, or an invalid line under ``strict``.
    """

    loader = "rdf"
    version = 1

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        mapping: Mapping[str, str | None] | str | os.PathLike[str] | None = None,
        language: str = "en",
        literals: bool = False,
        strict: bool = False,
    ) -> None:
        self._format = terms.check_format(format, os.fspath(path))
        self._mapping = read_mapping(mapping)
        self._language = language
        self._labels = Labels(language)
        self._literals = literals
        options: dict[str, Any] = {"language": language}
        if self._mapping:
            options["mapping"] = dict(sorted(self._mapping.items()))
        if literals:
            options["literals"] = True
        super().__init__(path, strict=strict, options=options)
        self._seen = HashSet()

    @property
    def kind(self) -> str:
        """The format of the file."""
        return self._format

    def _rows(self) -> Iterator[Assertion]:
        with quiet_rdflib():
            yield from self._stream() if self._format == "nt" else self._document()

    # N-Triples, line by line

    def _stream(self) -> Iterator[Assertion]:
        parse = LineParser()
        if self.source.bytes_total is not None:
            self._labels.collect(self.path, parse)
        statement: list[_Located] = []
        for line in lines(self.source):
            text, flaw = decode(line)
            if flaw is not None:
                self.reject(line.number, flaw, text)
                continue
            if not text.strip() or text.lstrip().startswith("#"):
                self.drop(BLANK)
                continue
            triple = parse(text)
            if triple is None:
                self.reject(line.number, "not an N-Triples line", text)
                continue
            if not _is_text(triple):
                self.reject(line.number, NOT_UNICODE, text)
                continue
            located = _Located(triple, line.number, text)
            if statement and triple[0] != statement[0].triple[0]:
                yield from self._statement(statement)
                statement = []
            if statement or (str(triple[1]) == terms.RDF + "type" and str(triple[2]) == _STATEMENT):
                statement.append(located)
            else:
                yield from self._triple(located)
        if statement:
            yield from self._statement(statement)

    # Turtle and RDF/XML, the whole document

    def _document(self) -> Iterator[Assertion]:
        graph = Graph()
        data = b"".join(self.source.chunks())
        self.source.fail_if_damaged()
        try:
            graph.parse(data=data, format=self._format, publicID="tacit:///")
        except Exception as error:  # rdflib's parsers raise many kinds of exceptions
            raise LoadError(syntax_error(self.source.name, _line_of(error), self.source.head, self._format)) from None
        for predicate in LABEL_PREDICATES:
            for triple in graph.triples((None, URIRef(predicate), None)):
                self._labels.add(*triple)
        statements = dict.fromkeys(graph.subjects(RDF.type, RDF.Statement))
        for subject in statements:
            yield from self._statement([_Located(triple) for triple in graph.triples((subject, None, None))])
        for triple in graph:
            if triple[0] not in statements:
                yield from self._triple(_Located(triple))

    # one triple, one statement

    def _triple(self, located: _Located) -> Iterator[Assertion]:
        head, predicate, tail = located.triple
        if not _is_text(located.triple):
            self._reject_triple(located, NOT_UNICODE)
            return
        if not self._seen.add(_key(head, predicate, tail)):
            self.drop(DUPLICATE)
            return
        if str(predicate) in LABEL_PREDICATES:
            self.drop(LABEL)
            return
        relation = self._relation(str(predicate))
        if relation is None:
            self.drop(UNMAPPED)
            return
        if isinstance(head, BNode) or isinstance(tail, BNode):
            self.drop(BLANK_NODE)
            return
        if isinstance(tail, Literal) and not self._literals:
            self.drop(LITERAL)
            return
        if relation in LINK_RELATIONS:
            self._reject_triple(located, RESERVED)
            return
        nodes = self._node(head), self._node(tail)
        if relation == "" or nodes[0] is None or nodes[1] is None:
            self.drop(UNNAMED)
            return
        (first, first_sense), (second, second_sense) = nodes[0], nodes[1]
        yield from self._if_valid(
            Assertion(first, relation, second, 1.0, "rdf", head_sense=first_sense, tail_sense=second_sense), located
        )

    def _statement(self, statement: list[_Located]) -> Iterator[Assertion]:
        """Yield the assertion of a reified statement, in tacit's vocabulary or any other."""
        parts = {str(part.triple[1]): part for part in statement}
        values = {name: part.triple[2] for name, part in parts.items()}
        self.drop(DETAIL, len(statement) - 1)
        for part in statement:
            if not _is_text(part.triple):
                self._reject_triple(part, NOT_UNICODE)
                return
        head, predicate, tail = (values.get(terms.RDF + name) for name in ("subject", "predicate", "object"))
        if any(term is None or isinstance(term, BNode) for term in (head, predicate, tail)):
            self.drop(BLANK_NODE)
            return
        self._seen.add(_key(head, predicate, tail))
        relation = self._relation(str(predicate))
        ends = self._node(head), self._node(tail)
        if not relation or ends[0] is None or ends[1] is None:
            self.drop(UNNAMED if relation is not None else UNMAPPED)
            return
        if relation in LINK_RELATIONS:
            self._reject_triple(statement[0], RESERVED)
            return
        numbers: dict[str, Any] = {}
        for name, (parse, reason) in _NUMBERS.items():
            if (term := terms.VOCABULARY + name) in values:
                numbers[name] = parse(str(values[term]))
                if numbers[name] is None:
                    self._reject_triple(parts[term], reason)
                    return
        fields: dict[str, Any] = {name: str(values.get(terms.VOCABULARY + term, "")) for name, term in terms.TEXT_FIELDS.items()}
        fields["source"] = fields["source"] or "rdf"
        fields["head_sense"] = fields["head_sense"] or ends[0][1]
        fields["tail_sense"] = fields["tail_sense"] or ends[1][1]
        yield from self._if_valid(Assertion(ends[0][0], relation, ends[1][0], **numbers, **fields), statement[0])

    def _if_valid(self, row: Assertion, located: _Located) -> Iterator[Assertion]:
        """Yield ``row`` if it is a valid assertion."""
        if label_of(row.head) != label_of(row.tail):
            self._reject_triple(located, MIXED)
        elif is_too_long(row.head) or is_too_long(row.tail):
            self._reject_triple(located, URI_TOO_LONG)
        else:
            self.report.read += 1
            self.report.kept += 1
            yield row

    def _reject_triple(self, located: _Located, reason: str) -> None:
        self.reject(located.line, reason, located.text or " ".join(map(str, located.triple)))

    # names

    def _relation(self, predicate: str) -> str | None:
        """Return the relation of ``predicate``, empty when it has no name, None when the mapping excludes it."""
        if predicate in self._mapping:
            return self._mapping[predicate] or None
        if predicate.startswith(terms.RELATION):
            try:
                return check_relation(predicate.removeprefix(terms.RELATION))
            except InputError:
                return ""
        if "*" in self._mapping:
            return None
        return terms.relation_of(predicate) or ""

    def _node(self, term: Any) -> tuple[str, str] | None:
        """Return URI and sense of a head or tail, from its IRI, its label, or its local name."""
        if isinstance(term, Literal):
            node = terms.text_node(str(term), term.language or self._language)
        elif (node_and_sense := terms.node_of(str(term))) is not None:
            return node_and_sense
        elif (labelled := self._labels.node(str(term))) is not None:
            node = labelled
        else:
            node = terms.text_node(terms.local_text(str(term)), self._language)
        return None if node is None else (node, "")


read_rdf = RdfReader


def _key(head: Any, predicate: Any, tail: Any) -> int:
    return hash64(f"{head}\n{predicate}\n{tail.n3() if isinstance(tail, Literal) else tail}")


def _is_text(triple: Triple) -> bool:
    """Return whether all of ``triple`` can be encoded as UTF-8: an escape such as ``\\uD800`` is half a surrogate pair."""
    try:
        for term in triple:
            str(term).encode()
    except UnicodeEncodeError:
        return False
    return True


_NUMBERS: dict[str, tuple[Callable[[str], float | None], str]] = {
    "weight": (weight, NOT_A_WEIGHT),
    "score": (finite, "score is not a finite number"),
    "rank": (count, "rank is not a whole number >= 0"),
}


class Labels:
    """The label of each IRI, except for IRIs that contain a name (:func:`tacit.loaders.rdf_terms.node_of`).

    Of several labels, the best is kept, whatever their order: by language (the preferred one, none, others); then
    ``skos:prefLabel`` before ``rdfs:label``; then in alphabetical order.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._nodes: dict[str, tuple[_Preference, str]] = {}

    def node(self, iri: str) -> str | None:
        """Return the concept named by the label of ``iri``, None when it has no valid label."""
        preferred = self._nodes.get(iri)
        return None if preferred is None else preferred[1]

    def add(self, head: Any, predicate: Any, label: Any) -> None:
        """Add one triple of a label predicate."""
        iri = str(head)
        if not isinstance(label, Literal) or isinstance(head, BNode) or terms.node_of(iri) is not None:
            return
        language = label.language or ""
        language_rank = 0 if language.split("-")[0] == self._language else 1 if not language else 2
        preference = (language_rank, 0 if str(predicate) == terms.PREF_LABEL else 1, f"{language} {label}")
        node = terms.text_node(str(label), language or self._language)
        if node is not None and (iri not in self._nodes or preference < self._nodes[iri][0]):
            self._nodes[iri] = (preference, node)

    def collect(self, path: str, parse: LineParser) -> None:
        """Add all labels of an N-Triples file."""
        with closing(ByteSource(path)) as source:
            for line in lines(source):
                if b"abel>" not in line.data:  # neither label nor prefLabel
                    continue
                text, flaw = decode(line)
                triple = parse(text) if flaw is None else None
                if triple is not None and str(triple[1]) in LABEL_PREDICATES:
                    self.add(*triple)


class _SameLabels(dict[str, Any]):
    """Blank nodes by label; each keeps its label."""

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002
        return BNode(key)


class LineParser:
    """rdflib's N-Triples grammar, one line per call; blank nodes keep their labels, so there is no state between lines."""

    def __init__(self) -> None:
        self._labels = _SameLabels()
        self._parser: Any = W3CNTriplesParser(sink=self)  # type: ignore[arg-type]
        self._triple: Triple | None = None

    def triple(self, head: Any, predicate: Any, tail: Any) -> None:
        """Store the parser's triple; called by rdflib."""
        self._triple = (head, predicate, tail)

    def __call__(self, text: str) -> Triple | None:
        self._triple = None
        self._parser.line = text
        try:
            self._parser.parseline(self._labels)
        except Exception:  # ParseError, and ValueError or OverflowError from escapes
            return None
        return self._triple


def _line_of(error: Exception) -> int:
    """Return the line of an exception of rdflib's parsers, 0 where it has none."""
    line = getattr(error, "lines", None)
    if line is not None:
        return int(line) + 1
    get_line = getattr(error, "getLineNumber", None)
    return int(get_line() or 0) if get_line is not None else 0


@contextmanager
def quiet_rdflib() -> Iterator[None]:
    """Keep rdflib from logging tracebacks about literals that do not fit their datatype; they are read as texts."""
    logger = logging.getLogger("rdflib.term")
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = was_disabled

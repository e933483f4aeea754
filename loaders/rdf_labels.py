"""The names that an RDF file gives to its IRIs: one label a node, chosen by language, whatever the order of the file."""

from __future__ import annotations

from typing import Any

from . import rdf_terms as terms
from .lines import decode, lines
from .rdf_parse import LineParser, is_blank, is_literal
from .source import ByteSource

LABEL_PREDICATES = (terms.LABEL, terms.PREF_LABEL)

_Preference = tuple[int, int, str]


class Labels:
    """Labels by IRI, leaving out IRIs that carry their own name (:func:`tacit.loaders.rdf_terms.node_of`).

    The best is kept: in the wanted language, then without a language, then in others; ``skos:prefLabel`` before
    ``rdfs:label``; then the first in alphabetical order.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._nodes: dict[str, tuple[_Preference, str]] = {}

    def node(self, iri: str) -> str | None:
        """Return the concept that the label of ``iri`` names, None when it has no usable label."""
        found = self._nodes.get(iri)
        return None if found is None else found[1]

    def remember(self, head: Any, predicate: Any, label: Any) -> None:
        """Take one triple of a label predicate into account."""
        iri = str(head)
        if not is_literal(label) or is_blank(head) or terms.node_of(iri) is not None:
            return
        language = label.language or ""
        nearness = 0 if language.split("-")[0] == self._language else 1 if not language else 2
        preference = (nearness, 0 if str(predicate) == terms.PREF_LABEL else 1, f"{language} {label}")
        node = terms.text_node(str(label), language or self._language)
        if node is not None and (iri not in self._nodes or preference < self._nodes[iri][0]):
            self._nodes[iri] = (preference, node)

    def collect(self, path: str, parse: LineParser) -> None:
        """Take all labels of an N-Triples file into account."""
        source = ByteSource(path)
        try:
            for line in lines(source):
                if b"abel>" not in line.data:  # label or prefLabel
                    continue
                text, flaw = decode(line)
                triple = parse(text) if flaw is None else None
                if triple is not None and str(triple[1]) in LABEL_PREDICATES:
                    self.remember(*triple)
        finally:
            source.close()

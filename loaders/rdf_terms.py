"""The correspondence of node URIs, relations and IRIs, the vocabulary of provenance, and mappings of predicates to relations.

Concepts have ConceptNet's own IRIs (``http://conceptnet.io/c/en/hot_dog``), events ``urn:tacit:event:…``, relations
``urn:tacit:relation:UsedFor``, all percent-encoded, so that they can be read back. An assertion is a plain triple and an
``rdf:Statement`` about it with ``urn:tacit:vocabulary:weight``, ``source``, ``dataset``, ``license``, ``contributors``,
``headSense``, ``tailSense``, ``rank`` and ``score``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

import orjson

from ..graph.errors import InputError
from ..graph.names import check_relation, concept_uri

Format = Literal["turtle", "nt", "xml"]

EVENT = "urn:tacit:event:"
RELATION = "urn:tacit:relation:"
VOCABULARY = "urn:tacit:vocabulary:"
COLUMN = "urn:tacit:column:"
CONCEPTNET = "http://conceptnet.io"

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREF_LABEL = "http://www.w3.org/2004/02/skos/core#prefLabel"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

TEXT_FIELDS = {
    "source": "source",
    "dataset": "dataset",
    "license": "license",
    "contributors": "contributors",
    "head_sense": "headSense",
    "tail_sense": "tailSense",
}
"""Text fields of an assertion, and the terms of the vocabulary for them."""

_CONCEPT_IRI = re.compile(
    r"https?://(?:www\.|api\.)?conceptnet\.io(/c/[^/]+/[^/]+.*)|https?://conceptnet5\.media\.mit\.edu(?:/web)?(/c/.+)"
)
FORMATS: dict[str, Format] = {
    "turtle": "turtle", "ttl": "turtle", "nt": "nt", "ntriples": "nt", "n-triples": "nt",
    "xml": "xml", "rdf": "xml", "rdfxml": "xml", "rdf/xml": "xml", "owl": "xml",
}  # fmt: skip
"""Names and file suffixes of the RDF formats."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_URI = re.compile(r"[\x00-\x20]")
_NOT_NAME = re.compile(r"[^A-Za-z0-9]+")


def check_format(name: str | None, path: str) -> Format:
    """Return the RDF format with this name, or that of the suffix of ``path`` (before ``.gz``) when the name is None."""
    format_name = name if name is not None else Path(path.removesuffix(".gz")).suffix.lstrip(".")
    if format_name.lower() in FORMATS:
        return FORMATS[format_name.lower()]
    problem = f"{name!r} is not an RDF format" if name is not None else f"the suffix of {path} is not that of an RDF format"
    raise InputError(f"{problem}; give turtle, nt or xml")


def node_iri(uri: str) -> str:
    """Return the IRI of the concept or event ``uri``."""
    return EVENT + quote(uri[3:], safe="") if uri.startswith("/e/") else CONCEPTNET + quote(uri, safe="/")


def node_of(iri: str) -> tuple[str, str] | None:
    """Return the URI and the sense that ``iri`` contains; None for an IRI of another vocabulary."""
    if iri.startswith(EVENT):
        text = unquote(iri.removeprefix(EVENT))
        return ("/e/" + text, "") if text and not _NOT_URI.search(text) else None
    if match := _CONCEPT_IRI.fullmatch(iri):
        parts = unquote(match[1] or match[2]).split("/", 4)
        if len(parts) > 3 and parts[2] and parts[3] and not _NOT_URI.search("".join(parts)):
            return "/".join(parts[:4]), parts[4].strip("/") if len(parts) > 4 else ""
    return None


def local_name(iri: str) -> str:
    """Return the part of ``iri`` after the last ``#``, ``/`` or ``:``, percent-decoded."""
    return unquote(re.split(r"[#/:]", iri.rstrip("#/:"))[-1])


def local_text(iri: str) -> str:
    """Return the local name of ``iri`` as words: ``HotDog`` and ``hot_dog`` -> ``hot dog``."""
    return " ".join(_CAMEL.sub(" ", local_name(iri)).replace("_", " ").lower().split())


def relation_of(iri: str) -> str | None:
    """Return the local name of a predicate as a well-formed relation name, None when nothing is left of it."""
    name = _NOT_NAME.sub("_", local_name(iri)).strip("_")[:64].rstrip("_")
    if not name:
        return None
    return check_relation(name if name[0].isalpha() else f"r_{name}"[:64])


def text_node(text: str, language: str) -> str | None:
    """Return the concept with this text in ``language`` (``en-GB`` counts as ``en``), None when there is none."""
    code = language.split("-")[0].lower() or "en"
    if "\0" in text:
        return None
    try:
        return concept_uri(text, code)
    except InputError:
        return None


def read_mapping(mapping: Mapping[str, str | None] | str | os.PathLike[str] | None) -> dict[str, str]:
    """Return predicate IRI -> relation, empty to exclude one, from a TOML or JSON file (in its table ``predicates``) where
    given."""
    if mapping is None:
        return {}
    source = "the mapping"
    entries: object = mapping
    if not isinstance(mapping, Mapping):
        source = os.fspath(mapping)
        entries = _read_file(Path(source))
    if isinstance(entries, Mapping) and isinstance(entries.get("predicates"), Mapping):
        entries = entries["predicates"]
    if not isinstance(entries, Mapping):
        raise InputError(f'{source} is not a table of predicate IRI = relation; give lines such as "http://…#broader" = "IsA"')
    checked: dict[str, str] = {}
    for iri, relation in entries.items():
        if not isinstance(iri, str) or not (relation is None or isinstance(relation, str)):
            raise InputError(f"{source} maps {iri!r} to {relation!r}; give an IRI and a relation name")
        if iri == "*" and relation:
            raise InputError(f'{source} maps * to {relation!r}; * means every other predicate and can only be excluded ("")')
        checked[iri] = check_relation(relation) if relation else ""
    return checked


def _read_file(path: Path) -> object:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the mapping {path} cannot be read: {error.strerror or error}") from None
    try:
        return orjson.loads(data) if path.suffix == ".json" else tomllib.loads(data.decode())
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"the mapping {path} is not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}") from None

"""How texts become names in the graph and back: concept and event URIs, ATOMIC phrase normalisation, relation names.

A URI determines its label, text and language, so nothing else has to travel with it:
``/c/en/hot_dog`` is the concept "hot dog", ``/e/PersonX_eats_[]`` the event "PersonX eats ___".
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from .errors import InputError

Label = Literal["Concept", "Event"]

#: The longest URI that a graph holds, in bytes of UTF-8: Neo4j cannot index much longer ones, and both engines hold the same.
MAX_URI = 4096
URI_TOO_LONG = f"URI longer than {MAX_URI:,} bytes"

_RELATION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_SPACE = re.compile(r"\s+")
_PERSON = re.compile(r"\bperson\s*([xyz])(s?)(?![a-z0-9])")
_BARE_PERSON = re.compile(r"(?<![\w'’-])([xyz])(?![\w-]|['’](?!s\b)|\srays?\b)")  # not y'all, not an x ray
_BLANK = re.compile(r"_{2,}|(?<!\S)_(?!\S)|\[\]")


def normalise_term(text: str) -> str:
    """Return ``text`` as ConceptNet writes terms: NFC, lower case, runs of white space and underscores as one underscore."""
    return "_".join(unicodedata.normalize("NFC", text.lower()).replace("_", " ").split())


def concept_uri(text: str, language: str = "en") -> str:
    """Return the URI of the concept that ``text`` names, e.g. ``Hot dog`` -> ``/c/en/hot_dog``.

    Raises:
        InputError: ``text`` is blank or holds a slash-only term.
    """
    term = normalise_term(text.replace("/", " "))
    if not term:
        raise InputError(f"{text!r} names no concept; give a word or a phrase")
    return f"/c/{language}/{term}"


def normalise_event(text: str) -> str:
    """Return an ATOMIC phrase in tacit's one canonical spelling.

    Lower case except ``PersonX``, ``PersonY``, ``PersonZ`` (also from "Person Y", "PersonYs house" and a bare x, y or z), blanks
    as ``___``, single spaces, no period or space at the end. Empty when nothing is left. Normalising twice changes nothing.
    """
    text = _BLANK.sub(" [] ", unicodedata.normalize("NFC", text.lower())).replace("_", " ")
    text = _PERSON.sub(lambda match: f"Person{match[1].upper()}" + ("'s" if match[2] else ""), text)
    text = _BARE_PERSON.sub(lambda match: f"Person{match[1].upper()}", text)
    return _SPACE.sub(" ", text).strip().rstrip(". ").replace("[]", "___")


def event_uri(text: str) -> str:
    """Return the URI of the event that ``text`` names, after :func:`normalise_event`.

    Raises:
        InputError: nothing is left of ``text`` after normalisation.
    """
    normal = normalise_event(text)
    if not normal:
        raise InputError(f"{text!r} names no event; give a phrase such as 'PersonX eats dinner'")
    return "/e/" + normal.replace("___", "[]").replace(" ", "_")


def is_too_long(uri: str) -> bool:
    """Whether ``uri`` has more than ``MAX_URI`` bytes, which no graph holds."""
    return len(uri) > MAX_URI // 4 and len(uri.encode(errors="surrogatepass")) > MAX_URI


def label_of(uri: str) -> Label:
    """Return ``Event`` for ``/e/…`` and ``Concept`` for every other URI."""
    return "Event" if uri.startswith("/e/") else "Concept"


def text_of(uri: str) -> str:
    """Return the text that ``uri`` stands for."""
    if uri.startswith("/e/"):
        return uri[3:].replace("_", " ").replace("[]", "___")
    return uri.split("/", 3)[-1].replace("_", " ")


def language_of(uri: str) -> str:
    """Return the language code of a concept URI; ``en`` for events (ATOMIC is English)."""
    return uri.split("/", 3)[2] if uri.startswith("/c/") else "en"


def check_relation(name: str) -> str:
    """Return ``name`` when it is a well-formed relation name (letters, digits, underscores; at most 64).

    Raises:
        InputError: it is not, so it must never reach a query's text.
    """
    if not _RELATION.fullmatch(name):
        raise InputError(f"{name!r} is not a relation name; relations are letters, digits and underscores, e.g. UsedFor")
    return name

"""Names in the graph: concept and event URIs, normalisation of ATOMIC phrases, relation names, and forms of a text to look up.

A URI determines its label, text and language: ``/c/en/hot_dog`` is the concept "hot dog", ``/e/PersonX_eats_[]`` the event
"PersonX eats ___".
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, get_args

from .errors import InputError

Label = Literal["Concept", "Event"]
LABELS: tuple[Label, ...] = get_args(Label)

MAX_URI = 4096
"""Most bytes of a URI in UTF-8: Neo4j cannot index much longer ones, and both engines have the same limit."""
URI_TOO_LONG = f"URI longer than {MAX_URI:,} bytes"

_RELATION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_PART = re.compile(r"_(\d+)_(.+)")
_SPACE = re.compile(r"\s+")
_PERSON = re.compile(r"\bperson\s*([xyz])(s?)(?![a-z0-9])")
_BARE_PERSON = re.compile(r"(?<![\w'’-])([xyz])(?![\w-]|['’](?!s\b)|\srays?\b)")  # not y'all, not an x ray
_BLANK = re.compile(r"_{2,}|(?<!\S)_(?!\S)|\[\]")


def normalise_term(text: str) -> str:
    """Return ``text`` as ConceptNet writes terms: NFC, lower case, runs of white space and underscores as one underscore."""
    return "_".join(unicodedata.normalize("NFC", text.lower()).replace("_", " ").split())


def concept_uri(text: str, language: str = "en") -> str:
    """Return the URI of the concept with this text, e.g. ``Hot dog`` -> ``/c/en/hot_dog``.

    Raises:
        InputError: ``text`` is blank or consists of slashes.
    """
    term = normalise_term(text.replace("/", " "))
    if not term:
        raise InputError(f"{text!r} is not a concept; give a word or a phrase")
    return f"/c/{language}/{term}"


def normalise_event(text: str) -> str:
    """Return an ATOMIC phrase in its canonical spelling.

    Lower case except ``PersonX``, ``PersonY``, ``PersonZ`` (also from "Person Y", "PersonYs house" and a bare x, y or z), blanks
    as ``___``, single spaces, no final period or space; the result may be empty. The function is idempotent.
    """
    text = _BLANK.sub(" [] ", unicodedata.normalize("NFC", text.lower())).replace("_", " ")
    text = _PERSON.sub(lambda match: f"Person{match[1].upper()}" + ("'s" if match[2] else ""), text)
    text = _BARE_PERSON.sub(lambda match: f"Person{match[1].upper()}", text)
    return _SPACE.sub(" ", text).strip().rstrip(". ").replace("[]", "___")


def event_uri(text: str) -> str:
    """Return the URI of the event with this text, after :func:`normalise_event`.

    Raises:
        InputError: ``text`` is empty after normalisation.
    """
    normal = normalise_event(text)
    if not normal:
        raise InputError(f"{text!r} is not an event; give a phrase such as 'PersonX eats dinner'")
    return "/e/" + normal.replace("___", "[]").replace(" ", "_")


def is_too_long(uri: str) -> bool:
    """Return whether ``uri`` has more than ``MAX_URI`` bytes, so that it cannot be stored."""
    return len(uri) > MAX_URI // 4 and len(uri.encode(errors="surrogatepass")) > MAX_URI


def label_of(uri: str) -> Label:
    """Return ``Event`` for ``/e/…`` and ``Concept`` for every other URI."""
    return "Event" if uri.startswith("/e/") else "Concept"


def text_of(uri: str) -> str:
    """Return the text of the node ``uri``."""
    if uri.startswith("/e/"):
        return uri[3:].replace("_", " ").replace("[]", "___")
    return uri.split("/", 3)[-1].replace("_", " ")


def language_of(uri: str) -> str:
    """Return the language code of a concept URI; ``en`` for events (ATOMIC is English)."""
    return uri.split("/", 3)[2] if uri.startswith("/c/") else "en"


def dataset_uri(dataset: str, source: str) -> str:
    """Return the URI of an assertion's dataset: ConceptNet's own, ``/d/`` and its name for another, the source's without one."""
    return dataset if dataset.startswith("/d/") else f"/d/{dataset or source}"


def check_relation(name: str) -> str:
    """Return ``name`` when it is a well-formed relation name (letters, digits, underscores; at most 64).

    Raises:
        InputError: it is not; such a name must never become part of a query.
    """
    if not _RELATION.fullmatch(name):
        raise InputError(f"{name!r} is not a relation name; relations consist of letters, digits and underscores, e.g. UsedFor")
    return name


def part_of(table: str) -> tuple[str, int]:
    """Return the table that ``table`` is a part of in an embedded graph, and its number: ``_2_IsA`` gives ``IsA``, 2.

    A table of another form gives itself and 0. No relation has such a name, since names of relations start with a letter.
    """
    part = _PART.fullmatch(table)
    return (part[2], int(part[1])) if part else (table, 0)


# Forms of a text: as written, without its article, then lemmatised. Lemmas come from detachment rules and irregular forms, as in
# WordNet's *morphy* (Fellbaum 1998): the rules propose candidates and the graph's vocabulary decides, so a wrong candidate costs
# only a look-up. No language model is needed.

_ARTICLES = ("a_", "an_", "the_")

_DETACHMENTS = (
    ("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"),
    ("zes", "z"), ("oes", "o"), ("es", "e"), ("es", ""), ("s", ""),
    ("ied", "y"), ("ed", "e"), ("ed", ""), ("ying", "ie"), ("ing", "e"), ("ing", ""),
    ("iest", "y"), ("ier", "y"), ("est", "e"), ("est", ""), ("er", "e"), ("er", ""),
)  # fmt: skip

_DOUBLED = ("ing", "ed", "er", "est")

_IRREGULAR = {
    form: lemma
    for lemma, forms_ in {
        "be": "am is are was were been being", "have": "has had having", "do": "does did done", "go": "goes went gone",
        "become": "became", "begin": "began begun", "bite": "bit bitten", "blow": "blew blown", "break": "broke broken",
        "bring": "brought", "build": "built", "buy": "bought", "catch": "caught", "choose": "chose chosen", "come": "came",
        "draw": "drew drawn", "drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen",
        "feed": "fed", "feel": "felt", "fight": "fought", "find": "found", "fly": "flew flown", "forget": "forgot forgotten",
        "get": "got gotten", "give": "gave given", "grow": "grew grown", "hear": "heard", "hide": "hid hidden", "hold": "held",
        "keep": "kept", "know": "knew known", "lead": "led", "leave": "left", "lend": "lent", "lie": "lay lain", "lose": "lost",
        "make": "made", "mean": "meant", "meet": "met", "pay": "paid", "ride": "rode ridden", "ring": "rang rung",
        "rise": "rose risen", "run": "ran", "say": "said", "see": "saw seen", "sell": "sold", "send": "sent",
        "shake": "shook shaken",
        "shine": "shone", "shoot": "shot", "sing": "sang sung", "sink": "sank sunk", "sit": "sat", "sleep": "slept",
        "speak": "spoke spoken", "spend": "spent", "stand": "stood", "steal": "stole stolen", "stick": "stuck",
        "swim": "swam swum", "take": "took taken", "teach": "taught", "tear": "tore torn", "tell": "told", "think": "thought",
        "throw": "threw thrown", "understand": "understood", "wake": "woke woken", "wear": "wore worn", "win": "won",
        "write": "wrote written", "man": "men", "woman": "women", "child": "children", "person": "people", "tooth": "teeth",
        "foot": "feet", "mouse": "mice", "goose": "geese", "ox": "oxen", "louse": "lice", "die": "dice", "leaf": "leaves",
        "good": "better best", "bad": "worse worst", "far": "farther further", "little": "less least",
    }.items()
    for form in forms_.split()
}  # fmt: skip


def lemmas(word: str) -> list[str]:
    """Return the possible lemmas of ``word`` (lower case, one word), most likely first, without ``word`` itself."""
    candidates = [_IRREGULAR[word]] if word in _IRREGULAR else []
    for suffix, replacement in _DETACHMENTS:
        stem = word.removesuffix(suffix)
        if stem == word or len(stem) < 2:
            continue
        if suffix in _DOUBLED and not replacement and len(stem) > 2 and stem[-1] == stem[-2]:
            candidates.append(stem[:-1])
        candidates.append(stem + replacement)
    return [c for c in dict.fromkeys(candidates) if c != word and len(c) > 1]


def uris_digest(uris: Iterable[str]) -> str:
    """Return 16 hex digits that identify a sequence of URIs, to detect data that was built for another graph."""
    hasher = hashlib.sha256()
    for uri in uris:
        hasher.update(f"{uri}\n".encode())
    return hasher.hexdigest()[:16]


def surface(text: str, language: str = "en") -> str | None:
    """Return the first of the :func:`forms` of ``text``, the concept URI of the text as written; None when it has none."""
    if text.startswith("/c/"):
        return text
    term = normalise_term(text)
    return concept_uri(term, language) if term.replace("/", "").strip("_") else None


def forms(text: str, language: str = "en") -> list[str]:
    """Return the concept URIs to look up for ``text``, in order of preference.

    As written, without article, then each again with its last word and then its first word lemmatised (``dogs`` -> ``dog``,
    ``hot dogs`` -> ``hot dog``, ``riding a bike`` -> ``ride a bike``). Other languages than English only as written. A concept
    URI is its own only form; a text without a term has none.
    """
    if text.startswith("/c/"):
        return [text]
    term = normalise_term(text)
    if not term.replace("/", "").strip("_"):
        return []
    surfaces = [term]
    if language == "en":
        surfaces += [term.removeprefix(article) for article in _ARTICLES if term.startswith(article)]
        for surface in tuple(surfaces):
            first, *others = surface.split("_")
            if others:
                surfaces += ["_".join([first, *others[:-1], lemma]) for lemma in lemmas(others[-1])]
            surfaces += ["_".join([lemma, *others]) for lemma in lemmas(first)]
    return [concept_uri(surface, language) for surface in dict.fromkeys(surfaces) if surface.strip("/_")]

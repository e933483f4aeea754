"""URIs of ConceptNet 5: of assertions and relations, and the URI of a text.

Source: the pages "URI hierarchy" and "API" of the wiki of ConceptNet 5.
"""

from __future__ import annotations

import re
import unicodedata

from ....graph.errors import InputError
from ....graph.model import Assertion

_EXTERNAL = "dbpedia"  # relations of other vocabularies are in a folder of their own: /r/dbpedia/genre

_JOINED_LETTERS, _JOINED_DIGITS = ".:'’·", ".,;'’"  # characters that do not end a word between two letters, or two digits
_WORD = re.compile(rf"\w+(?:(?:(?<=[^\W\d])[{_JOINED_LETTERS}](?=[^\W\d])|(?<=\d)[{_JOINED_DIGITS}](?=\d))\w+)*")
_ARTICLES = frozenset(("a", "an", "the"))

_MEMBERS = {
    "zh": "cmn yue zh_tw zh_cn zh-tw zh-cn zh-hant zh-hans", "nds": "nds-de nds-nl", "ms": "zsm id", "no": "nn nb",
    "sh": "bs hr sr hbs sr-latn sr-cyrl", "ar": "arb arz ary", "ku": "ckb", "mn": "mvf", "fil": "tl", "et": "vro", "lt": "sgs",
    "oj": "ciw", "xwo": "xal", "ff": "ffm",
}  # fmt: skip
_LANGUAGES = {member: language for language, members in _MEMBERS.items() for member in members.split()}
"""Languages and dialects that ConceptNet counts as another language."""


def relation_uri(name: str) -> str:
    """Return the URI of a relation, e.g. ``/r/IsA``, ``/r/dbpedia/genre`` for ``dbpedia_genre``."""
    head, _, rest = name.partition("_")
    return f"/r/{head}/{rest}" if head == _EXTERNAL and rest else f"/r/{name}"


def term_uri(concept: str, sense: str) -> str:
    """Return the URI of a concept in a sense; empty: in none."""
    return f"{concept}/{sense}" if sense else concept


def assertion_uri(assertion: Assertion) -> str:
    """Return the URI of an assertion, e.g. ``/a/[/r/IsA/,/c/en/dog/n/,/c/en/animal/]``."""
    start = term_uri(assertion.head, assertion.head_sense)
    end = term_uri(assertion.tail, assertion.tail_sense)
    return f"/a/[{relation_uri(assertion.relation)}/,{start.removesuffix('/')}/,{end.removesuffix('/')}/]"


def ends_of(uri: str) -> tuple[str, str] | None:
    """Return start and end in the URI of an assertion, None when it is not one."""
    parts = uri.removeprefix("/a/[").removesuffix("/]").split("/,")
    if len(parts) != 3 or not (uri.startswith("/a/[/r/") and uri.endswith("/]")):
        return None
    return parts[1], parts[2]


def text_uri(language: str, text: str) -> str:
    """Return the URI of a text in normal form, e.g. ``/c/en/this_is_test`` for "This is a test!" in ``en``.

    Letters in lower case, words separated by underscores, without punctuation; in English without articles and without "to" at
    the beginning, unless nothing would be left. The concept need not be in the graph.
    """
    code = language.strip().lower()
    words = _WORD.findall(unicodedata.normalize("NFC", text.replace("_", " ")).casefold())
    if not words:
        raise InputError(f"the text {text!r} has no word; give a word or a phrase")
    if code == "en":
        content_words = [word for word in words if word not in _ARTICLES]
        while content_words and content_words[0] == "to":
            del content_words[0]
        words = content_words or words
    return f"/c/{_LANGUAGES.get(code, code)}/{'_'.join(words)}"

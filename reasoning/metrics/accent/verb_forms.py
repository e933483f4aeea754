"""Forms of English verbs, by single words: agreement with the subject (``buys`` and ``buy``), gerunds, past forms, and adverbs.

Tense is kept, so ``bought`` and ``buys`` stay different. No dictionary is used: callers pass words that are verbs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....graph.names import lemmas

_THIRD = {"be": "is", "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes"}
_BASE = {
    "is": "be", "am": "be", "are": "be", "has": "have", "does": "do", "aches": "ache", "dies": "die", "lies": "lie",
    "ties": "tie", "shoes": "shoe",
}  # fmt: skip
_HISSING = ("sses", "shes", "ches", "xes", "zzes", "oes")
_NO_ENDING = ("ss", "us", "is", "was")
MODALS = frozenset(("can", "could", "may", "might", "must", "ought", "shall", "should", "will", "would"))
_INVARIABLE_WORDS = (
    "to a about all an and any as at but by for from her his if in into my no of off on or our out over so some than that the "
    "this up was were when while with your"
)
_NOUN_PHRASE_WORDS = (
    "a all an another any anybody anyone anything both each every everybody everyone everything he her him his i it its me more "
    "my nobody nothing other others our people peoplex person she some somebody someone something that the their them there "
    "these they this those us we you your"
)
_NOUN_PHRASES = frozenset(_NOUN_PHRASE_WORDS.split())
INVARIABLE = MODALS | _NOUN_PHRASES | frozenset(_INVARIABLE_WORDS.split())
_GERUND = re.compile(r"[a-z]*[aeiouy][a-z]*ing")
_NO_GERUND_WORDS = "anything ceiling darling evening everything morning nothing something sibling unring unstring"
_NO_GERUNDS = frozenset(_NO_GERUND_WORDS.split())
_PAST_FORMS = (
    "was were been had did gone went became began bit blew broke brought built bought caught chose came drew drank "
    "drove ate fell fed felt fought found flew forgot got gave grew heard hid held kept knew led left lent lost "
    "made meant met paid rode rang ran said saw sold sent shook shot sang sank sat slept spoke spent stood stole "
    "stuck swam took taught tore told thought threw understood woke wore won wrote"
)
_PAST = frozenset(_PAST_FORMS.split())
_ADVERB_WORDS = (
    "also already always almost even ever first hardly just maybe never not now often seldom sometimes soon still then"
)
_ADVERBS = frozenset(_ADVERB_WORDS.split())
_VERBS_IN_LY = "ally apply belly bully comply fly imply misapply multiply rally reapply rely reply supply tally"
_LIKE_ADVERBS = frozenset(_VERBS_IN_LY.split())


def third_person(base: str) -> str:
    """Return the form of a verb after ``PersonX``: ``buys``, ``is``, ``is breathing``; modals and past forms stay."""
    if base in _THIRD:
        return _THIRD[base]
    if is_gerund(gerund := base.removesuffix("s")):
        return f"is {gerund}"
    if len(base) < 2 or not base.isalpha() or not base.islower() or base in INVARIABLE or is_past(base) or is_third_person(base):
        return base
    if base.endswith("y") and base[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


def base_form(verb: str) -> str:
    """Return the base form of a verb in the third person: ``buys`` -> ``buy``, ``is`` -> ``be``; other forms unchanged."""
    if verb in _BASE:
        return _BASE[verb]
    if verb in _NOUN_PHRASES or not is_third_person(verb):
        return verb
    if verb.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(_HISSING) else verb[:-1]


def is_third_person(verb: str) -> bool:
    """Whether ``verb`` ends like the third person singular, or is one of its irregular forms."""
    return verb in _BASE or (verb.endswith("s") and len(verb) > 2 and not verb.endswith(_NO_ENDING))


def is_gerund(verb: str) -> bool:
    """Whether ``verb`` ends in -ing after a vowel: ``waking``, but neither ``bring`` nor a noun such as ``evening``."""
    return _GERUND.fullmatch(verb) is not None and verb not in _NO_GERUNDS


def progressive(phrase: str) -> str:
    """Return a predicate with the auxiliary that its gerund needs: ``not eating`` -> ``is not eating``; others unchanged."""
    words = phrase.split(" ")
    return f"is {phrase}" if is_gerund(words[verb_place(words)]) else phrase


def verb_place(words: Sequence[str]) -> int:
    """Return the index of the verb of a predicate, after adverbs such as ``never`` and ``no longer``; at most the last word."""
    index = 0
    while index < len(words) - 1:
        if list(words[index : index + 2]) == ["no", "longer"] and index < len(words) - 2:
            index += 2
        elif is_adverb(words[index]):
            index += 1
        else:
            break
    return index


def is_noun_phrase(phrase: str) -> bool:
    """Whether a phrase begins with a pronoun or determiner, so not with a verb: ``their parents to be proud``, ``no money``."""
    first, _, rest = phrase.partition(" ")
    if first == "no":
        return not rest.startswith("longer")
    return first in _NOUN_PHRASES or (first.startswith("Person") and first.endswith("'s"))


def is_adverb(word: str) -> bool:
    """Whether ``word`` is an adverb that can precede a verb: ``never``, ``quickly``, but not a verb such as ``reply``."""
    return word in _ADVERBS or (word.endswith("ly") and len(word) > 3 and word not in _LIKE_ADVERBS)


def is_past(verb: str) -> bool:
    """Whether ``verb`` is a past form by its shape: ``walked`` and ``bought`` are, ``need`` and ``put`` are not."""
    if verb in _PAST:
        return True
    return verb.endswith("ed") and len(verb) > 3 and not verb.endswith("eed") and bool(lemmas(verb))

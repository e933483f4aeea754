"""Rules that make a response worse: first and second person exchanged, a statement negated or a negation removed.

They make false responses for the training of ``judgement`` (:mod:`tacit.reasoning.training.judgement`) and pairs of
``benchmarks/robustness.py``. Persons are exchanged by a dependency parse, since "you" becomes "I" or "me"; negations are found by
lists of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .parsing import Parse, open_parser

_EXCHANGED = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "your": "my", "yours": "mine",
    "yourself": "myself", "yourselves": "ourselves",
}  # fmt: skip
_SEVERAL = frozenset(("all", "both", "folks", "guys", "two"))  # "you guys", which becomes "we guys"
_SUBJECTS = ("nsubj", "nsubj:pass", "nsubj:outer", "csubj")
_AFTER_YOU = {"am": "are", "was": "were", "m": "re"}
_AFTER_I = {"are": "am", "were": "was", "re": "m"}
_APOSTROPHES = "'’"

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

_AUXILIARY = r"is|are|was|were|am|can|could|will|would|should|must|do|does|did|has|have|had|'s|'re|'m"
_BARE: dict[str, str] = {"ca": "can", "wo": "will"}
AFFIRMED: Rule = (
    re.compile(rf"\b({_AUXILIARY}|ca|wo)(n['’]t| not)\b", re.IGNORECASE), lambda match: _BARE.get(match[1].lower(), match[1]),
)  # fmt: skip
_LISTED: tuple[Rule, ...] = (
    (re.compile(rf"(?<=\w)('s|'re|'m)\b|\b({_AUXILIARY})\b", re.IGNORECASE), lambda match: f"{match[0]} not"),
    (
        re.compile(
            r"\b(i|you|we|they) (like|love|think|know|want|need|believe|enjoy|agree|hope|guess|remember)\b", re.IGNORECASE
        ),
        lambda match: f"{match[1]} do not {match[2]}",
    ),
)


def exchange_persons(text: str) -> str:
    """Return ``text`` with first and second person exchanged, by the shipped parser; empty where it has neither.

    ``you`` becomes ``I`` as a subject, else ``me``, and forms of "be" agree with the new subject.
    """
    [parse] = open_parser().parse_batch([text])
    changes: dict[int, str] = {}
    for index, word in enumerate(parse):
        lower = word.text.lower()
        if lower == "you" and word.pos == "PRON":
            subject = _is_subject(parse, index)
            several = parse[index + 1 : index + 2] and parse[index + 1].text.lower() in _SEVERAL
            changes[index] = ("we" if subject else "us") if several else "I" if subject else "me"
            if subject and not several:
                changes.update(_agreeing(parse, index, _AFTER_I))
        elif lower in _EXCHANGED and (word.pos == "PRON" or lower not in ("i", "mine")):
            changes[index] = _EXCHANGED[lower]
            if lower == "i":
                changes.update(_agreeing(parse, index, _AFTER_YOU))
    pieces, end = [], 0
    for index, new in sorted(changes.items()):
        word = parse[index]
        first = index == 0 or parse[index - 1].sentence != word.sentence
        capital = word.text[0].isupper() and (first or word.text != "I")
        start = word.end - len(word.text.lstrip(_APOSTROPHES))
        pieces += [text[end:start], new[0].upper() + new[1:] if capital else new]
        end = word.end
    return "".join((*pieces, text[end:])) if changes else ""


def _is_subject(parse: Parse, index: int) -> bool:
    """Whether the pronoun at ``index`` is the subject of a finite verb, so in the nominative."""
    for other in parse[max(index - 1, 0) : index]:
        if other.tag == "MD" or (other.tag in ("VBP", "VBD") and other.lemma in ("be", "do", "have")):
            return True  # "Do you like it?", where a parser may take "like" for a preposition
    if any(other.text.lower().lstrip(_APOSTROPHES) in _AFTER_I for other in parse[index + 1 : index + 2]):
        return True
    word = parse[index]
    while word.relation == "conj" and word.head < index:
        word = parse[word.head]
    if word.relation not in _SUBJECTS:
        return False
    marks = (other.lemma for other in parse if other.head == word.head and other.relation == "mark")
    return not {"for", "to"} & set(marks)


def _agreeing(parse: Parse, index: int, forms: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the forms of "be" that agree with the subject at ``index``, by their places, in their form after the new subject;
    none where it is one of several subjects."""
    if parse[index].relation == "conj" or any(word.head == index and word.relation == "conj" for word in parse):
        return
    predicates = [parse[index].head]
    for predicate in predicates:
        below = [child for child, word in enumerate(parse) if word.head == predicate and child != predicate]
        predicates += [
            child
            for child in below
            if parse[child].relation == "conj" and not any(word.head == child and word.relation in _SUBJECTS for word in parse)
        ]
    near = (index + 1, index + 2 if parse[index + 1 : index + 2] and parse[index + 1].text in _APOSTROPHES else index + 1)
    for place, word in enumerate(parse):
        bare = word.text.lower().lstrip(_APOSTROPHES)
        governed = place in predicates or (word.head in predicates and word.relation in ("aux", "aux:pass", "cop"))
        if bare in forms and (governed or place in near):
            yield place, forms[bare]


def negated(text: str) -> str:
    """Return ``text`` without the first negation of an auxiliary, else with its first auxiliary negated, else the first of some
    verbs of opinion after a pronoun; empty where there is none of these."""
    return first_change(text, (AFFIRMED, *_LISTED))


def first_change(text: str, rules: tuple[Rule, ...]) -> str:
    """Return ``text`` changed once by the first rule that applies; empty where none does."""
    for pattern, change in rules:
        after = pattern.sub(change, text, count=1)
        if after != text:
            return after
    return ""


def _like(word: str, replacement: str) -> str:
    """Return ``replacement`` with a capital where ``word`` begins with one."""
    return (
        replacement[:1].upper() + replacement[1:]
        if word[:1].isupper() and word not in ("I", "I'm", "I've", "I'll", "I'd")
        else replacement
    )

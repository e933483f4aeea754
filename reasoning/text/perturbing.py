"""Rules that make a response worse: first and second person exchanged, a statement negated or a negation removed.

They make false responses for the training of ``judgement`` (:mod:`tacit.reasoning.training.judgement`) and pairs of
``benchmarks/robustness.py``. They know words by lists alone, so training data need no parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TURN = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are", "i'm": "you're", "i've": "you've",
    "i'll": "you'll", "i'd": "you'd", "you": "I", "your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm",
    "you've": "I've", "you'll": "I'll", "you'd": "I'd",
}  # fmt: skip

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
    """Return ``text`` with first and second person exchanged, ``you`` and its forms in lower case; empty where it has neither."""
    words = re.split(r"([\w'’]+)", text)
    changed = [_like(word, _TURN.get(word.lower().replace("’", "'"), word)) for word in words]
    after = " ".join("".join(changed).split())
    after = re.sub(r"\b([Yy])ou (am|was)\b", lambda match: f"{match[1]}ou {'are' if match[2] == 'am' else 'were'}", after)
    after = re.sub(r"\bI (are|were)\b", lambda match: "I am" if match[1] == "are" else "I was", after)
    return after if changed != words else ""


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

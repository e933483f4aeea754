"""Lemma tables for spaCy's rule lemmatiser, learnt from a treebank: suffix rules by part of speech, and the exceptions to them.

For every part of speech the rules form a decision list, longest suffix first (Daelemans & van den Bosch call the idea memory of
endings): ``-ied -> -y`` stands before ``-ed``, and a longer suffix gets a rule of its own only where the shorter one decides
otherwise. What the rules get wrong on the treebank itself goes to the table of exceptions. The tables are plain data, so the
pipeline loads with spaCy alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from .treebank import Word

_LONGEST = 6
_SUPPORT = 2
_OPEN = ("NOUN", "VERB", "ADJ", "ADV", "AUX")
_LOWER_CASE = ["", ""]  # matches every word; without it spaCy keeps the case of words that no rule fits ("The")


def is_base_form(word: Word) -> bool:
    """Return whether spaCy's English lemmatiser takes ``word`` for its own lemma without asking the tables."""
    features = set(word.features.split("|"))
    if word.pos == "NOUN" and "Number=Sing" in features:
        return True
    if "VerbForm=Inf" in features or "Degree=Pos" in features:
        return True
    finite = {"VerbForm=Fin", "Tense=Pres"} <= features
    return word.pos == "VERB" and finite and not any(feature.startswith("Number=") for feature in features)


def lemma_tables(words: Iterable[Word]) -> dict[str, dict[str, Any]]:
    """Return the tables ``lemma_rules``, ``lemma_exc`` and ``lemma_index`` (empty) for spaCy's rule lemmatiser.

    Proper nouns have no tables: spaCy then keeps them as written. Deterministic for a given order-free multiset of words.
    """
    seen: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for word in words:
        if word.pos != "PROPN" and not is_base_form(word):
            seen[word.pos.lower()][word.form.lower()][word.lemma] += 1
    rules: dict[str, list[list[str]]] = {}
    exceptions: dict[str, dict[str, list[str]]] = {}
    for pos, forms in sorted(seen.items()):
        best = {form: min(lemmas.items(), key=lambda item: (-item[1], item[0]))[0] for form, lemmas in sorted(forms.items())}
        rules[pos] = [*(suffix_rules(best) if pos.upper() in _OPEN else []), _LOWER_CASE]
        exceptions[pos] = {form: [lemma] for form, lemma in best.items() if apply_rules(form, rules[pos]) != lemma}
    return {"lemma_rules": dict(rules), "lemma_exc": exceptions, "lemma_index": {}}


def suffix_rules(lemma_of: dict[str, str]) -> list[list[str]]:
    """Return ``[suffix, replacement]`` pairs, longest suffix first, that turn most of the forms into their lemmas."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for form, lemma in lemma_of.items():
        for length in range(1, min(_LONGEST, len(form) - 1) + 1):
            stem = form[:-length]
            if lemma.startswith(stem) and lemma.lower() == lemma:
                votes[form[-length:]][lemma[len(stem) :]] += 1
    rules: dict[str, str] = {}
    for suffix, replacements in sorted(votes.items(), key=lambda item: (len(item[0]), item[0])):
        replacement, count = min(replacements.items(), key=lambda item: (-item[1], item[0]))
        shorter = next((suffix[i:] for i in range(1, len(suffix)) if suffix[i:] in rules), None)
        default = suffix[: -len(shorter)] + rules[shorter] if shorter else suffix
        if count >= _SUPPORT and replacement != default:
            rules[suffix] = replacement
    return [[suffix, rules[suffix]] for suffix in sorted(rules, key=lambda suffix: (-len(suffix), suffix))]


def apply_rules(form: str, rules: list[list[str]]) -> str:
    """Return the lemma that the first rule whose suffix ``form`` ends in gives; ``form`` itself when none does."""
    return next((form[: -len(old)] + new for old, new in rules if form.endswith(old) and len(form) > len(old)), form)

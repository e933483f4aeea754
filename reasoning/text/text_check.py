"""Detection of texts that cannot be judged: without words, not English, or a list of keywords.

A metric that interprets text gives no score (NaN, with a note) to a text that this check rejects, since its value would be
meaningless. The check needs no graph and no model. It rejects a text that is

- *blank*: no letter, digit, symbol (such as an emoji) or emoticon;
- *not English*: most letters are of another script, or at least three words are unknown and fewer than half are known;
- *random keystrokes* (``asdf qwer``): no word is known, and the letter sequences are improbable in English;
- *keywords* (``dog cat bone park walk leash``): five or more words with fewer than one function word in eight.

Known words are those of ``words.txt``, frequent in conversations and in everyday events (``benchmarks/known_words.py`` writes
it), and the function words and interjections below. Numbers are not counted as words, and names (an unknown word with a
capital within a sentence) are neither known nor unknown. Short turns ("Ok.", "Hahaha!", a name, an emoji) are accepted, because
they are too short to decide. Shuffled words are accepted too: the check ignores word order. ``benchmarks/judgeable.py`` measures
its false and true rejections.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from math import log2
from pathlib import Path
from typing import NamedTuple

BLANK = "it has no words"
FOREIGN = "it is not in English"
KEYS = "it has typed keys in place of words"
KEYWORDS = "it is a row of keywords, not a sentence"

LEAST_UNKNOWN = 3
"""Fewest unknown words of a text that is rejected as another language."""
LEAST_KNOWN = 0.5
"""Lowest share of known words in an English text with that many unknown ones."""
LEAST_FUNCTION_WORDS = 0.125
"""Lowest share of function words in a text of :data:`LEAST_WORDS` words or more."""
LEAST_WORDS = 5
LONGEST_LIST = 8
"""Most words of a list such as "Pizza, tacos, sushi, burgers, pasta", which needs no function word."""
LEAST_LIKELY = -5.4
"""Lowest mean log2-probability of a letter given the two before it, in plausible words."""
LEAST_LETTERS = 6
"""Fewest letters of unknown words for which that mean is computed."""

_VOCABULARY = Path(__file__).with_name("words.txt")
_WORD = re.compile(r"[^\W_]+(?:['’´`][^\W_]+)*")
_LETTER = re.compile(r"[^\W\d_]")
_is_latin = re.compile(r"[A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ]").match
_CONTENT = re.compile(
    r"[^\W_]|[^\w\s!-/:-@\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f]"  # a letter, a digit; a symbol beyond ASCII
    r"|[:;=8xX][-o^']?[()\[\]DPpOo/\\|3*]|<3"  # an emoticon
)
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|k|m|x|ish)?|[^\W\d_]{1,2}\d+|\d+[^\W\d_]", re.IGNORECASE)
_CLITIC_APART = re.compile(r"(?<=\w)\s*['’´`]\s*(?=(?:s|t|d|m|ll|re|ve)\b)", re.IGNORECASE)
_NEGATION_APART = re.compile(r"(?<=\w)\s+(?=n['’´`]t\b)", re.IGNORECASE)
_REPEATED = re.compile(r"(.)\1+")
_JOINT = re.compile(r"[,;/&\n]|\b(?:and|or)\b")
_SOUND = re.compile(
    r"a*(?:ha)+h*a*|(?:he)+h*|(?:hi)+|(?:ho)+|lo+l(?:ol)*|l+m+f?a+o+|h+m+|u+[hm]+|m+|a+h*|o+h*|e+w*|a+w+|z+|sh+|br+|u*gh+|ya+y*|"
    r"xo+(?:xo+)*"
)
_FUNCTION_WORD_LIST = (
    "a about above across after again against all almost alone along already also although always am among an and another any "
    "anyhow anyone anything anyway anywhere are around as at be because been before behind being below beside besides between "
    "beyond both but by can cannot could did do does doing down due during each either else elsewhere enough even ever every "
    "everyone everything everywhere except few first for former formerly from further get had has have he her here hers "
    "herself him himself his how however i if in indeed into is it its itself just last latter least less let like many may "
    "me meanwhile might mine more moreover most mostly much must my myself namely neither never nevertheless next no nobody "
    "none noone nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves "
    "out over own per perhaps please quite rather really same several she should since so some somehow someone something "
    "sometime sometimes somewhere still such than that the their them themselves then there therefore these they third this "
    "those though through throughout thru thus to together too toward towards under unless until up upon us very via was we "
    "well were what whatever when whenever where wherever whether which while who whoever whole whom whose why will with "
    "within without would yet you your yours yourself yourselves ain ca could couldn didn doesn don hadn hasn haven isn mustn "
    "shan shouldn wasn weren won wouldn aint arent cant couldnt didnt doesnt dont gimme gonna gotta hasnt havent hes id ill "
    "im isnt ive kinda lemme lets shes shouldnt sorta thats theres theyre u ur wanna wasnt werent whats wont wouldnt ya yall "
    "youre youve"
)
_INTERJECTION_LIST = (
    "blah bye congrats goodbye hello hey hi idk la lol na nah nope oh ok okay omg ouch sorry thank thanks wow yeah yep yes yup"
)
_FUNCTION_WORDS = frozenset(f"{_FUNCTION_WORD_LIST} {_INTERJECTION_LIST}".split())
_CLITICS = frozenset(("t", "m", "re", "ve", "ll", "d"))


class _Words(NamedTuple):
    """Counts of the words of a text without numbers: all, known, function words; and the unknown words themselves."""

    all: int
    known: int
    unknown: tuple[str, ...]
    function: int


def reason_not_judged(history: Sequence[str], response: str) -> str:
    """Return why a response after ``history`` cannot be judged, or an empty text when it can.

    Of the history only the last turn that is not blank is checked: a response to an unreadable turn cannot be judged. Keywords
    are accepted there, since users type them. A metric decides itself about an empty history.
    """
    reason = unreadable(response)
    if reason:
        return f"the response cannot be judged: {reason}"
    last = next((turn for turn in reversed(history) if not is_blank(turn)), "")
    reason = unreadable(last) if last else ""
    return f"the turn before the response cannot be read: {reason}" if reason in (FOREIGN, KEYS) else ""


def is_blank(text: str) -> bool:
    """Return whether ``text`` has no letter, no digit, no symbol such as an emoji, and no emoticon."""
    return _CONTENT.search(text) is None


@lru_cache(maxsize=20_000)
def unreadable(text: str) -> str:
    """Return why ``text`` cannot be judged: one of the four reasons above, or an empty text when there is none."""
    if is_blank(text):
        return BLANK
    if not text.isascii() and 1 < len(letters := _LETTER.findall(text)) > 2 * sum(
        _is_latin(letter) is not None for letter in letters
    ):
        return FOREIGN
    words = _words_of(text)
    unknown = len(words.unknown)
    if unknown >= LEAST_UNKNOWN and words.known < LEAST_KNOWN * (words.known + unknown):
        return KEYS if _are_keys(words) else FOREIGN
    if unknown and not words.known and _are_keys(words):
        return KEYS
    if words.all >= LEAST_WORDS and words.function < LEAST_FUNCTION_WORDS * words.all and not _is_list(text, words.all):
        return FOREIGN if 2 * unknown > words.known else KEYWORDS
    return ""


def _words_of(text: str) -> _Words:
    """Count the words of a text; ``I ' m`` and ``do n't`` are one word each, like ``I'm`` and ``don't``."""
    if not text.isascii() or "'" in text or "`" in text:
        text = _NEGATION_APART.sub("", _CLITIC_APART.sub("'", text))
    vocabulary = _vocabulary()
    number = known = function = end = 0
    unknown = []
    for match in _WORD.finditer(text):
        word = match[0]
        begins = not end or any(mark in ".!?\n" for mark in text[end : match.start()])
        end = match.end()
        if _NUMBER.fullmatch(word):
            continue
        number += 1
        stem, _, clitic = word.lower().replace("’", "'").replace("´", "'").replace("`", "'").partition("'")
        if stem in _FUNCTION_WORDS or clitic in _CLITICS:
            function += 1
            known += 1
        elif stem in vocabulary or (clitic and f"{stem}'{clitic}" in vocabulary) or _is_drawn_out(stem):
            known += 1
        elif len(word) > 1 and not word.isupper() and (begins or not word.istitle()):
            unknown.append(word)
    return _Words(number, known, tuple(unknown), function)


def _is_drawn_out(word: str) -> bool:
    """Return whether a word is an interjection such as ``hahaha``, or a known word with repeated letters, such as ``sooo``."""
    if _SOUND.fullmatch(word):
        return True
    vocabulary = _vocabulary()
    return any(len(short := _REPEATED.sub(times, word)) > 1 and short in vocabulary for times in (r"\1", r"\1\1"))


def _is_list(text: str, words: int) -> bool:
    """Return whether a text of ``words`` words is a list of things, with separators between most of them."""
    return words <= LONGEST_LIST and 2 * len(_JOINT.findall(text)) >= words - 1


def _are_keys(words: _Words) -> bool:
    """Return whether the unknown words, without names where these words are few, have letter sequences that are improbable in
    English."""
    few = len(words.unknown) < LEAST_UNKNOWN
    odd = [word.lower() for word in words.unknown if not (few and word.istitle())]
    if sum(map(len, odd)) < LEAST_LETTERS or not "".join(odd).isascii():
        return False
    return sum(map(_log_probability, odd)) < LEAST_LIKELY * sum(len(word) + 1 for word in odd)


@cache
def _vocabulary() -> frozenset[str]:
    """Return the known words, in lower case."""
    return frozenset(_VOCABULARY.read_text(encoding="utf-8").split()) | _FUNCTION_WORDS


@cache
def _letters() -> tuple[Counter[str], Counter[str]]:
    """Return the counts of letter trigrams, and of the bigrams that begin them, in the known words padded with spaces."""
    threes: Counter[str] = Counter()
    twos: Counter[str] = Counter()
    for word in _vocabulary():
        spaced = f"  {word} "
        for index in range(len(spaced) - 2):
            threes[spaced[index : index + 3]] += 1
            twos[spaced[index : index + 2]] += 1
    return threes, twos


def _log_probability(word: str) -> float:
    """Return the sum of log2 P(letter | two letters before) over a word and its end; add-0.1 smoothing over 30 letters."""
    threes, twos = _letters()
    spaced = f"  {word} "
    parts = (spaced[index : index + 3] for index in range(len(spaced) - 2))
    return sum(log2((threes[part] + 0.1) / (twos[part[:2]] + 3)) for part in parts)

"""Feelings of ATOMIC's tails as the emotion words with which CICERO's annotators answer the question about the reaction.

ATOMIC words a feeling in hundreds of ways (``gleeful``, ``feels bad``, ``a little annoyed``). Each emotion of :data:`EMOTIONS`
has the words that mean it; ``not`` turns a feeling into its opposite where it has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ..text.language import straight_apostrophes

_TABLE = """
happy       | good great glad joyful joy cheerful delighted elated pleased gleeful fun wonderful lucky merry ecstatic overjoyed
excited     | thrilled eager enthusiastic energetic energized pumped exhilarated amused
satisfied   | content contented fulfilled accomplished successful complete full comfortable fine ok okay alright well better
grateful    | thankful appreciative appreciated gratitude indebted blessed
relieved    | relief reassured relaxed calm peaceful safe free rested refreshed unburdened
proud       | pride accomplishment victorious triumphant
hopeful     | optimistic encouraged motivated inspired determined anticipating expectant ready prepared
confident   | strong secure powerful brave sure
loved       | loving love affectionate caring cared close connected romantic supported important special
impressed   | admiration amazed awe awed fascinated
interested  | curious intrigued inquisitive entertained engaged
surprised   | shocked astonished startled stunned
confused    | puzzled unsure uncertain lost perplexed bewildered
sad         | unhappy upset miserable down depressed heartbroken devastated hurt sorrowful gloomy bad terrible awful crying lonely
disappointed | letdown discouraged defeated dissatisfied regretful hopeless
annoyed     | irritated bothered frustrated impatient aggravated inconvenienced exasperated
angry       | mad furious enraged outraged resentful livid hostile
worried     | anxious nervous concerned apprehensive stressed uneasy tense distressed troubled
afraid      | scared fearful terrified frightened fear threatened panicked
ashamed     | embarrassed guilty humiliated sorry remorseful guilt awkward foolish stupid bashful
jealous     | envious
bored       | uninterested indifferent apathetic
tired       | exhausted sleepy weary drained fatigued worn
disgusted   | grossed repulsed sick
sympathetic | understanding sympathy empathetic compassionate
"""


def _read(table: str) -> dict[str, tuple[str, ...]]:
    pairs = (line.split("|") for line in table.strip().splitlines())
    return {name.strip(): tuple(words.split()) for name, words in pairs}


EMOTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(_read(_TABLE))
"""Emotions, and further words that mean each of them."""

_EMOTION_OF = {word: name for name, words in EMOTIONS.items() for word in (name, *words)}
_OPPOSITE = {
    "happy": "sad", "sad": "happy", "worried": "relieved", "afraid": "confident", "confident": "worried", "interested": "bored",
    "bored": "interested", "satisfied": "disappointed", "disappointed": "satisfied", "excited": "bored",
    "impressed": "disappointed",
}  # fmt: skip
_PLEASANT = frozenset(
    ("happy", "excited", "satisfied", "grateful", "relieved", "proud", "hopeful", "confident", "loved", "impressed", "interested")
)
_NEITHER = frozenset(("surprised", "confused", "sympathetic"))
_DENIALS = frozenset(("not", "never", "no", "neither", "cannot", "without"))
_WORD = re.compile(r"[a-z']+")


def emotion_of(text: str) -> str | None:
    """Return the first emotion that a phrase names, or the opposite where it is denied; None when it names none."""
    denied = False
    for word in _WORD.findall(straight_apostrophes(text.lower())):
        denied = denied or word in _DENIALS or word.endswith("n't")
        if (emotion := _EMOTION_OF.get(word)) is not None:
            return _OPPOSITE.get(emotion) if denied else emotion
    return None


def valence(emotion: str) -> int:
    """Return 1 for a pleasant emotion, -1 for an unpleasant one, 0 for one that is neither."""
    return 0 if emotion in _NEITHER else 1 if emotion in _PLEASANT else -1

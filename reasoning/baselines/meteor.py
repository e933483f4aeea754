"""The metric ``meteor``: words matched exactly, by stem and by synonym, less a penalty where they stand in another order.

METEOR (Banerjee and Lavie, 2005) as nltk works it out, with the parameters of Lavie and Agarwal (WMT 2007): alpha 0.9, beta 3,
gamma 0.5; the best over the references. It lies in 0..1, higher is nearer; ``m`` words that are those of the reference have
``1 - 0.5 / m^3``. Synonyms come from WordNet, which nltk downloads apart (``python -m nltk.downloader wordnet``); where it is
not at hand they are left out, and the signature says ``synonyms:none``. The words matched have equal shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from ...graph.errors import InputError
from ..extras import need
from ..score import Piece, Signature
from .compared import Compared, Comparison, Pair, flag, nearest, part

VERSION = 1


class Meteor(Compared):
    """The metric; see :func:`make`."""

    name = "meteor"

    def __init__(self, *, synonyms: bool | None) -> None:
        """See :func:`make`."""
        self._meteor = need("nltk.translate.meteor_score", "baselines")
        self._tokenize = need("nltk.tokenize", "baselines").wordpunct_tokenize
        wanted = synonyms is None or flag(self.name, "synonyms", synonyms)
        wordnet = _wordnet() if wanted else None
        if synonyms and wordnet is None:
            raise InputError("nltk has no WordNet for synonyms; run: python -m nltk.downloader wordnet, or leave them out")
        self._wordnet = wordnet or _NoSynonyms()
        named = f"wordnet-{wordnet.get_version()}" if wordnet else "none"
        parts = (("tok", "wordpunct"), ("stemmer", "porter"), ("synonyms", named), ("nltk", version("nltk")))
        self.signature = Signature(self.name, parts, VERSION)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        response = self._tokenize(pair.response)
        texts = [self._tokenize(reference) for reference in pair.references]
        values = [float(self._meteor.meteor_score([text], response, wordnet=self._wordnet)) for text in texts]
        place = values.index(max(values))
        pieces = (*self._pieces(response, texts[place], values[place]), *nearest(pair, place)) if explain else ()
        return Comparison(values[place], pieces)

    def _pieces(self, response: Sequence[str], reference: Sequence[str], value: float) -> tuple[Piece, ...]:
        """The words matched, and the numbers that they make."""
        matches, _, _ = self._meteor.align_words(response, reference, wordnet=self._wordnet)
        runs = sum(one not in {(left + 1, right + 1) for left, right in matches} for one in matches)
        found = len(matches)
        return (
            *(Piece("word", 1.0, value / found, name=_told(response[ours], reference[theirs])) for ours, theirs in matches),
            part(f"precision ({found} of {len(response)} words)", found / len(response)),
            part(f"recall ({found} of {len(reference)} words)", found / len(reference)),
            part(f"penalty ({runs} runs of {found} words)", 0.5 * (runs / found) ** 3 if found else 0.0),
        )


def make(graph: Any = None, *, synonyms: bool | None = None) -> Meteor:  # noqa: ARG001
    """Return the metric.

    Args:
        synonyms: match synonyms of WordNet; by default where nltk has it.

    Raises:
        InputError: synonyms are asked for and nltk has no WordNet.
        MissingExtra: nltk is not installed.
    """
    return Meteor(synonyms=synonyms)


class _NoSynonyms:
    """Stands in for WordNet where it is not: no word has another meaning the same."""

    def synsets(self, word: str) -> tuple[()]:  # noqa: ARG002
        """Return none."""
        return ()


def _wordnet() -> Any:
    """WordNet where nltk has it, else None."""
    wordnet = need("nltk.corpus", "baselines").wordnet
    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet


def _told(ours: str, theirs: str) -> str:
    return f'"{ours}"' if ours.lower() == theirs.lower() else f'"{ours}" for "{theirs}"'

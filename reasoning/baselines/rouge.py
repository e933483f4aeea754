"""The metric ``rouge_l``: the longest common subsequence of a response and a reference, as F1 (ROUGE-L; Lin, 2004).

With ``m`` words in the response, ``n`` in the reference and ``k`` in the longest sequence of words that stand in both in one
order, the value is ``2k / (m + n)``, the best over the references: 0..1, higher is nearer. Words are those of rouge-score: runs
of ASCII letters and digits, lower-cased, so a text in another script has none and gives 0. The words in common have equal
shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from ..extras import need
from ..score import Piece, Signature
from .compared import Compared, Comparison, Pair, flag, nearest

VERSION = 1


class RougeL(Compared):
    """The metric; see :func:`make`."""

    name = "rouge_l"

    def __init__(self, *, stemmer: bool) -> None:
        """See :func:`make`."""
        tokenizers = need("rouge_score.tokenizers", "baselines")
        self._tokenizer = tokenizers.DefaultTokenizer(flag(self.name, "stemmer", stemmer))
        parts = (("stemmer", "porter" if stemmer else "none"), ("rouge-score", version("rouge-score")))
        self.signature = Signature(self.name, parts, VERSION)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        response = self._tokenizer.tokenize(pair.response)
        best = Comparison(-1.0)
        for place, text in enumerate(pair.references):
            reference = self._tokenizer.tokenize(text)
            rows = _rows(response, reference)
            each = 2 / max(len(response) + len(reference), 1)
            value = each * _length(rows, reference)
            if value > best.value:
                words = _common(response, reference, rows) if explain else ()
                pieces = tuple(Piece("word", 1.0, each, name=f'"{word}"') for word in words)
                best = Comparison(value, (*pieces, *nearest(pair, place)) if explain else ())
        return best


def make(graph: Any = None, *, stemmer: bool = False) -> RougeL:  # noqa: ARG001
    """Return the metric.

    Args:
        stemmer: compare the stems of words of more than three letters (Porter), not the words.

    Raises:
        InputError: ``stemmer`` is neither true nor false.
        MissingExtra: rouge-score is not installed.
    """
    return RougeL(stemmer=stemmer)


def _rows(response: Sequence[str], reference: Sequence[str]) -> list[int]:
    """The table of the longest common subsequence, a row of bits for each word of the response, and one before them.

    In row ``i`` bit ``j`` is 0 where one more word is in common once word ``j`` of the reference is let in (Crochemore et al.,
    Information Processing Letters 80, 2001); whole rows are worked out at once, so 10,000 words beside 10,000 take no time.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(reference):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(reference)) - 1
    rows = [full]
    for word in response:
        row = rows[-1]
        met = row & places.get(word, 0)
        rows.append(((row + met) | (row - met)) & full)
    return rows


def _length(rows: Sequence[int], reference: Sequence[str]) -> int:
    """How many words the two have in common."""
    return len(reference) - rows[-1].bit_count()


def _common(response: Sequence[str], reference: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    """One longest common subsequence, read from the end of the table."""
    found = []
    at, until = len(response), len(reference)
    while at and until:
        below = (1 << until) - 1
        if (rows[at] & below).bit_count() == (rows[at - 1] & below).bit_count():
            at -= 1
        elif rows[at] >> (until - 1) & 1:
            until -= 1
        else:
            at, until = at - 1, until - 1
            found.append(reference[until])
    return tuple(reversed(found))

"""The metrics ``bleu`` and ``chrf``: how many runs of words, or of characters, a response has in common with the references.

Both come from sacrebleu (Post, WMT 2018), a response being a sentence: BLEU (Papineni et al., ACL 2002) with effective order, so
that a response of two words is not judged by runs of four, and chrF2 (Popović, WMT 2015). They lie in 0..100; higher is nearer to
the references. The signature holds sacrebleu's own fields, its version among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ...graph.errors import InputError
from ..extras import need
from ..score import Piece, Signature
from .compared import Compared, Comparison, Pair, flag, nearest, part

VERSION = 1

SMOOTHING = ("exp", "floor", "add-k", "none")

_FIELDS = ("case", "eff", "tok", "smooth", "nc", "nw", "space")


class Bleu(Compared):
    """Sentence BLEU over all references at once."""

    name = "bleu"

    def __init__(self, *, lowercase: bool, smoothing: str) -> None:
        """See :func:`make_bleu`."""
        if smoothing not in SMOOTHING:
            raise InputError(f"bleu has no smoothing {smoothing!r}; choose from {', '.join(SMOOTHING)}")
        metrics = need("sacrebleu.metrics", "baselines")
        self._bleu = metrics.BLEU(
            lowercase=flag(self.name, "lowercase", lowercase), smooth_method=smoothing, effective_order=True
        )
        self.signature = _signature(self.name, self._bleu)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        found = self._bleu.sentence_score(pair.response, list(pair.references))
        return Comparison(min(float(found.score), 100.0), _bleu_parts(found) if explain else ())


class Chrf(Compared):
    """Sentence chrF against the reference that it is best with."""

    name = "chrf"

    def __init__(self, *, lowercase: bool, word_order: int) -> None:
        """See :func:`make_chrf`."""
        if not isinstance(word_order, int) or not 0 <= word_order <= 6:
            raise InputError(f"chrf counts no runs of {word_order} words; give 0 to 6")
        metrics = need("sacrebleu.metrics", "baselines")
        self._lowercase = flag(self.name, "lowercase", lowercase)
        self._chrf = metrics.CHRF(word_order=word_order, lowercase=lowercase)
        self.signature = _signature(self.name, self._chrf)

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare a response with its references."""
        scores = [float(self._chrf.sentence_score(pair.response, [reference]).score) for reference in pair.references]
        place = scores.index(max(scores))
        value = min(scores[place], 100.0)
        if not explain:
            return Comparison(value)
        texts = pair.response, pair.references[place]
        if self._lowercase:
            texts = texts[0].lower(), texts[1].lower()
        return Comparison(value, (*_runs(*texts), *nearest(pair, place)))


def make_bleu(graph: Any = None, *, lowercase: bool = False, smoothing: str = "exp") -> Bleu:  # noqa: ARG001
    """Return the metric ``bleu``.

    Args:
        lowercase: compare in lower case.
        smoothing: what stands for runs of which none is found: ``exp``, ``floor``, ``add-k`` or ``none`` (then they make it 0).

    Raises:
        InputError: an option makes no sense.
        MissingExtra: sacrebleu is not installed.
    """
    return Bleu(lowercase=lowercase, smoothing=smoothing)


def make_chrf(graph: Any = None, *, lowercase: bool = False, word_order: int = 0) -> Chrf:  # noqa: ARG001
    """Return the metric ``chrf``.

    Args:
        lowercase: compare in lower case.
        word_order: the longest runs of words that count beside those of characters; 2 makes it chrF++ (Popović, WMT 2017).

    Raises:
        InputError: an option makes no sense.
        MissingExtra: sacrebleu is not installed.
    """
    return Chrf(lowercase=lowercase, word_order=word_order)


def _signature(name: str, metric: Any) -> Signature:
    """The fields of sacrebleu's signature that hold for every response, and its version."""
    metric.sentence_score("a", ["a"])  # sacrebleu knows its signature after a first score
    info: Mapping[str, Any] = metric.get_signature().info
    parts = [(field, str(info[field])) for field in _FIELDS if field in info]
    return Signature(name, (*parts, ("sacrebleu", str(info["version"]))), VERSION)


def _bleu_parts(found: Any) -> tuple[Piece, ...]:
    """How many runs of each length were found, and what brevity costs; BLEU is their geometric mean times that."""
    rows = zip(found.counts, found.totals, found.precisions, strict=True)
    parts = [
        part(f"{length}-gram precision in percent ({count} of {total})", float(precision))
        for length, (count, total, precision) in enumerate(rows, 1)
        if total
    ]
    return (*parts, part(f"brevity penalty ({found.sys_len} tokens beside {found.ref_len})", float(found.bp)))


def _runs(response: str, reference: str) -> list[Piece]:
    """For each length, the runs of characters (blanks aside) of the response, how many are in the reference, and of how many."""
    texts = "".join(response.split()), "".join(reference.split())
    rows = []
    for length in range(1, 7):
        ours, theirs = (Counter(text[at : at + length] for at in range(len(text) - length + 1)) for text in texts)
        found, given, wanted = (counts.total() for counts in (ours & theirs, ours, theirs))
        if given and wanted:
            name = f"character {length}-gram F2 in percent ({found} of {given} are right, of {wanted} wanted)"
            rows.append(part(name, 500 * found / (4 * wanted + given)))
    return rows

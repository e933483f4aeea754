"""Evaluation of extractors against annotated tuples, "Setup 2" of Ghazarian et al. (ACL 2023, section 5.2, Table 3).

A dialogue *has* a relation when at least one tuple with that relation was extracted, or annotated; precision, recall and F1 are
those of this presence over all pairs of dialogue and relation. Where both sides have a relation, each extracted tuple is compared
with all annotated ones of the relation (head and tail as one text, both in the form of ``head_form`` of :mod:`..events`): BLEU-2
by sacrebleu over the extracted tuples of the pair, the cosine of sentence embeddings with the nearest annotated tuple, and
BERTScore with the one that gives the highest, as in Table 3 of the paper.
Intervals are percentiles 2.5 and 97.5 of a bootstrap over dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from ....base import BatchScoring
from ....evaluation.correlation import Interval
from ....evaluation.resampling import counts
from ....models.hub import need
from ..events import RELATIONS, head_form

Floats = NDArray[np.float64]
Triple = tuple[str, str, str]
Fold = Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]

MICRO, MACRO = "micro", "macro"
_APART = " | "


@dataclass(frozen=True, slots=True)
class Presence:
    """Agreement on the presence of one relation, or of all."""

    relation: str  # its name, or `micro` (all pairs of dialogue and relation together) or `macro` (mean over the relations)
    human: int  # human, extracted, both: numbers of dialogues that have it by either side, or by both
    extracted: int
    both: int
    precision: Interval  # precision, recall, f1: in 0..1; 0 where undefined
    recall: Interval
    f1: Interval
    chance: float  # the F1 expected by chance, for the same number of dialogues drawn at random by relation
    bleu: Interval  # BLEU-2, in 0..1; this and the following over pairs that both sides have, None without any
    similarity: Interval  # cosine, in -1..1
    bertscore: Interval  # F1, in -1..1


def compare_tuples(
    extracted: Sequence[Sequence[Triple]],
    human: Sequence[Sequence[Triple]],
    *,
    encode: Encode | None = None,
    bertscore: BatchScoring | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Presence]:
    """Return the agreement of extracted with annotated tuples: micro and macro first, then every relation; similarities need
    ``encode``, which gives unit vectors, and ``bertscore``."""
    if len(extracted) != len(human) or not human:
        raise InputError(f"{len(extracted)} and {len(human)} dialogues cannot be compared; give as many of each, at least one")
    if resamples < 1:
        raise InputError(f"resamples is {resamples}; it must be >= 1")
    in_extracted, in_human = _presence(extracted), _presence(human)
    cells = (in_extracted & in_human, in_extracted, in_human)
    draws = np.array([counts(len(human), seed, number) for number in range(resamples)])
    sums = [cell.sum(0, dtype=np.float64) for cell in cells]
    drawn = [(draws @ cell).astype(np.float64) for cell in cells]
    bleu = _similarities(extracted, human, in_extracted & in_human, _bleu_of)
    cosine = (
        None if encode is None else _similarities(extracted, human, in_extracted & in_human, _cosine_by(encode, extracted, human))
    )
    contextual = None if bertscore is None else _similarities(extracted, human, in_extracted & in_human, _best_by(bertscore))
    rows = []
    for name in (MICRO, MACRO, *RELATIONS):
        pick = slice(None) if name in (MICRO, MACRO) else slice(RELATIONS.index(name), RELATIONS.index(name) + 1)
        fold = _macro if name == MACRO else _micro
        points = fold(*(part[pick] for part in sums))
        spread = fold(*(part[:, pick] for part in drawn))
        number = [int(part[pick].sum()) for part in sums]
        precision, recall, f1 = (_estimate(float(points[at]), spread[at]) for at in range(3))
        chance = _chance(sums[1][pick], sums[2][pick], len(human), fold)
        similarities = [Interval(None) if values is None else _mean(values, pick, draws) for values in (bleu, cosine, contextual)]
        rows.append(Presence(name, number[2], number[1], number[0], precision, recall, f1, chance, *similarities))
    return rows


def _presence(dialogues: Sequence[Sequence[Triple]]) -> NDArray[np.bool_]:
    """Which dialogue has which relation, shape (dialogues, relations)."""
    result = np.zeros((len(dialogues), len(RELATIONS)), dtype=np.bool_)
    for row, tuples in enumerate(dialogues):
        for _, relation, _ in tuples:
            if relation in RELATIONS:
                result[row, RELATIONS.index(relation)] = True
    return result


def _micro(both: Floats, extracted: Floats, human: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of counts summed over the last axis."""
    return _scores(both.sum(-1), extracted.sum(-1), human.sum(-1))


def _macro(both: Floats, extracted: Floats, human: Floats) -> tuple[Floats, Floats, Floats]:
    """Means over the last axis of precision, recall and F1."""
    precision, recall, f1 = _scores(both, extracted, human)
    return precision.mean(-1), recall.mean(-1), f1.mean(-1)


def _scores(both: Floats, extracted: Floats, human: Floats) -> tuple[Floats, Floats, Floats]:
    precision = both / np.maximum(extracted, 1e-12)
    recall = both / np.maximum(human, 1e-12)
    return precision, recall, 2 * both / np.maximum(extracted + human, 1e-12)


def _chance(extracted: Floats, human: Floats, dialogues: int, fold: Fold) -> float:
    """The F1 expected by chance: with the expected overlap of random dialogues in place of the observed one."""
    return float(fold(extracted * human / dialogues, extracted, human)[2])


def _estimate(value: float, resampled: Floats) -> Interval:
    low, high = np.percentile(resampled, [2.5, 97.5])
    return Interval(value, float(low), float(high))


def _texts(tuples: Sequence[Triple], relation: str) -> list[str]:
    return [f"{head_form(head)}{_APART}{head_form(tail)}" for head, name, tail in tuples if name == relation]


def _similarities(
    extracted: Sequence[Sequence[Triple]],
    human: Sequence[Sequence[Triple]],
    both: NDArray[np.bool_],
    compare: Callable[[list[str], list[str]], float],
) -> Floats:
    """``compare`` where both sides have a relation, else NaN; shape (dialogues, relations)."""
    result = np.full(both.shape, np.nan)
    for row, column, own, references in _pairs(extracted, human, both):
        result[row, column] = compare(own, references)
    return result


def _pairs(
    extracted: Sequence[Sequence[Triple]], human: Sequence[Sequence[Triple]], both: NDArray[np.bool_]
) -> Iterator[tuple[int, int, list[str], list[str]]]:
    for row, column in np.argwhere(both).tolist():
        relation = RELATIONS[column]
        yield row, column, _texts(extracted[row], relation), _texts(human[row], relation)


def _bleu_of(own: list[str], references: list[str]) -> float:
    """BLEU-2 of texts with the same references for each, unsmoothed, within 0..1."""
    bleu = need("sacrebleu", "baselines").metrics.BLEU(max_ngram_order=2, smooth_method="none")
    return min(1.0, float(bleu.corpus_score(own, [[text] * len(own) for text in references]).score) / 100)


def _cosine_by(
    encode: Encode, extracted: Sequence[Sequence[Triple]], human: Sequence[Sequence[Triple]]
) -> Callable[[list[str], list[str]], float]:
    """The mean cosine of texts with their nearest reference; every distinct text is encoded once."""
    both = _presence(extracted) & _presence(human)
    texts = list(dict.fromkeys(text for _, _, own, references in _pairs(extracted, human, both) for text in (*own, *references)))
    vectors = dict(zip(texts, encode(texts), strict=True)) if texts else {}

    def cosine(own: list[str], references: list[str]) -> float:
        return float(np.mean([max(float(vectors[own_text] @ vectors[text]) for text in references) for own_text in own]))

    return cosine


def _best_by(metric: BatchScoring) -> Callable[[list[str], list[str]], float]:
    """The mean over texts of the highest score by a metric with references."""
    return lambda own, references: float(
        np.mean([score.value for score in metric.score_batch([((), text, references) for text in own])])
    )


def _mean(values: Floats, pick: slice, draws: NDArray[np.int64]) -> Interval:
    """The mean of the values that are not NaN, with its interval over resampled dialogues."""
    known = ~np.isnan(values[:, pick])
    if not known.any():
        return Interval(None)
    totals, numbers = np.where(known, values[:, pick], 0).sum(1), known.sum(1)
    drawn_totals, drawn_numbers = draws @ totals, draws @ numbers
    means = drawn_totals[drawn_numbers > 0] / drawn_numbers[drawn_numbers > 0]
    return _estimate(float(totals.sum() / numbers.sum()), means) if len(means) else Interval(float(totals.sum() / numbers.sum()))

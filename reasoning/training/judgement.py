"""Training the probe of the metric ``judgement``: logistic regression on differences between true and false responses' states.

Each history of a dialogue gets its true response and several false ones of different kinds. The language model reads them all,
and a direction is fitted along which the true response of a history is above the false ones. No ratings are used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ..evaluation.resampling import k_folds
from ..metrics.coherence.associations import words_of
from ..metrics.judgement import PROBE, TURNS, JudgementPrompt, Pair
from ..models.asking import States
from ..models.causal_lm import CausalModel
from ..models.layers import count_layers
from ..models.linear_probe import Probe
from ..models.modelfile import digest_of
from ..text.perturbing import exchange_persons, negated
from .checkpoints import StageProgress
from .corpora import Dialogue
from .probes import (
    Batch,
    Pairs,
    calibrating_slope,
    layers_to_try,
    read_batches,
    resampled,
    share_in_order,
    share_with_error,
    try_layers,
    weights_of,
)

# False responses.

KINDS = ("random", "same dialogue", "near", "repeated", "turned", "negated")
"""Kinds of false responses: a turn of another dialogue; one of the same dialogue, three turns away or more; the turn of another
dialogue that shares most words with the last two turns; a copy of one of the turns that are read, without a tenth of its words;
the true response with first and second person exchanged; the true response with its first auxiliary negated."""

_POOL = 1_000
_APART = 3
_LOST = 0.1
_ALIKE = 0.6  # share of words in common from which a turn is no false response
_DRAWS = 50


class Contrast(NamedTuple):
    """A history with its true response and false ones.

    Attributes:
        turns: the turns that are read, oldest first; true: the true response; false: kind and text of each false one.
        corpus: name of the corpus; dialogue: number of the dialogue, which is unique over all corpora.
    """

    turns: tuple[str, ...]
    true: str
    false: tuple[tuple[str, str], ...]
    corpus: str
    dialogue: int


def make_contrasts(corpora: Mapping[str, Sequence[Dialogue]], *, limit: int, each: int = 3, seed: int = 0) -> list[Contrast]:
    """Return contrasts from one place of each dialogue, or of as many dialogues drawn at random as are wanted.

    Args:
        corpora: distinct dialogues by corpus.
        limit: number of contrasts of each corpus, as far as it has dialogues.
        each: number of false responses of a history, of different kinds, at most six.
        seed: of the places, the kinds and the false responses.
    """
    result: list[Contrast] = []
    first = 0
    for number, (name, dialogues) in enumerate(corpora.items()):
        random = np.random.default_rng([seed, number])
        drawn = random.permutation(len(dialogues))[:limit].tolist()
        false_responses = _FalseResponses(dialogues, random)
        for chosen in drawn:
            index = int(random.integers(1, len(dialogues[chosen])))
            false = false_responses.draw(chosen, index, each)
            turns = dialogues[chosen]
            result.append(Contrast(turns[max(0, index - TURNS) : index], turns[index], false, name, first + chosen))
        first += len(dialogues)
    return result


def multiple_choice_contrasts(corpus: str, records: Iterable[tuple[Sequence[str], Sequence[str], int]]) -> list[Contrast]:
    """Return contrasts from turns, optional responses and the index of the true one, as multiple-choice sets have them."""
    return [
        Contrast(
            tuple(turns[-TURNS:]), options[answer],
            tuple(("given", text) for index, text in enumerate(options) if index != answer), corpus, number,
        )
        for number, (turns, options, answer) in enumerate(records)
    ]  # fmt: skip


class _FalseResponses:
    """False responses from the dialogues of one corpus."""

    def __init__(self, dialogues: Sequence[Dialogue], random: np.random.Generator) -> None:
        self._dialogues, self._random = dialogues, random
        every = [(number, turn) for number, turns in enumerate(dialogues) for turn in range(len(turns))]
        pool = [every[index] for index in sorted(random.permutation(len(every))[:_POOL].tolist())]
        self._pool = [(number, dialogues[number][turn], _words(dialogues[number][turn])) for number, turn in pool]
        counts = Counter(word for *_, words in self._pool for word in words)
        self._rarity = {word: log(len(self._pool) / count) for word, count in counts.items()}

    def draw(self, dialogue: int, index: int, number: int) -> tuple[tuple[str, str], ...]:
        """Return the false responses at one place of a dialogue: of ``number`` kinds, fewer where some cannot be made."""
        responses: list[tuple[str, str]] = []
        for kind in self._random.permutation(len(KINDS)).tolist():
            text = self._false_response(KINDS[kind], dialogue, index)
            if len(responses) < number and text and _overlap(text, self._dialogues[dialogue][index]) < 1:
                responses.append((KINDS[kind], text))
        return tuple(responses)

    def _false_response(self, kind: str, dialogue: int, index: int) -> str:
        """Return a false response of one kind; empty where there is none."""
        turns, random = self._dialogues[dialogue], self._random
        if kind == "turned":
            return exchange_persons(turns[index])
        if kind == "negated":
            return negated(turns[index])
        if kind == "repeated":
            recent = turns[max(0, index - TURNS) : index]
            words = recent[int(random.integers(len(recent)))].split()
            return " ".join([word for word in words if random.random() >= _LOST] or words)
        if kind == "same dialogue":
            return self._unlike([turn for at, turn in enumerate(turns) if abs(at - index) >= _APART], turns[index])
        elsewhere = [(text, words) for number, text, words in self._pool if number != dialogue]
        if kind == "random":
            return self._unlike([text for text, _ in elsewhere], turns[index])
        before = _words(" ".join(turns[max(0, index - 2) : index]))
        ranked = sorted(elsewhere, key=lambda text_and_words: -self._shared(before, text_and_words[1]))
        return next((text for text, _ in ranked if _overlap(text, turns[index]) < _ALIKE), "")

    def _shared(self, before: set[str], words: set[str]) -> float:
        """Return the rarity of the words that two turns share, summed and divided by the root of the number of words."""
        return sum(sorted(self._rarity[word] for word in before & words)) / sqrt(len(words) or 1)

    def _unlike(self, texts: Sequence[str], true: str) -> str:
        """Return a random text that does not resemble the true response; empty where none is found."""
        for _ in range(_DRAWS if texts else 0):
            text = texts[int(self._random.integers(len(texts)))]
            if _overlap(text, true) < _ALIKE:
                return text
        return ""


def _words(text: str) -> set[str]:
    return {word.text for word in words_of(text)}


def _overlap(first_text: str, second_text: str) -> float:
    """Return Dice's coefficient of two texts' words, 0..1."""
    first, second = Counter(word.text for word in words_of(first_text)), Counter(word.text for word in words_of(second_text))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


# Hidden states.

_TOGETHER = 32


def read_states(
    pairs: Sequence[Pair], prompt: JudgementPrompt, layers: Sequence[int], folder: Path, progress: StageProgress | None = None
) -> States:
    """Return the states of ``pairs``, with margins; states that ``folder`` has already are not computed again.

    Args:
        layers: from 1, the one nearest to the input; folder: is created when it is missing.
        progress: called with a stage, the number of pairs read, and their total.

    Raises:
        InputError, ModelError: as :meth:`JudgementPrompt.read`.
    """
    parts = [pairs[start : start + _TOGETHER] for start in range(0, len(pairs), _TOGETHER)]
    model = [prompt.causal.files.digest, prompt.causal.dtype, list(layers)]
    batches = [Batch([*model, part], len(part), partial(prompt.read, part, layers, margins=True)) for part in parts]
    return read_batches(batches, folder, progress)


# The probe: logistic regression on differences of states, true minus false, each history counting once.
#
# A false response of one kind has marks of its making that a probe can learn instead of sense: a negation, a copied word. So
# layer and penalty are chosen by pairs where neither the kind nor the dialogue was in the fit (with several corpora, the corpus).
#
# The model's preference for yes gets as much weight as the probe, in standard deviations over the training's responses, or none,
# since it costs the layers above. A fitted weight depends too much on the histories that are drawn: of five draws of 160, two
# gave no weight and one a weight with the wrong sign (benchmarks/REPORT.md). It counts if it alone puts more than half of the
# pairs in order, by more than two standard errors. Since the probe performs better on its training corpus than on others, and
# false responses made by rule are easier for it than for the model, that is best measured on another corpus.

FOLDS = 3
LEAST = 10
"""Fewest dialogues."""


def train_judgement(
    contrasts: Sequence[Contrast],
    causal: CausalModel,
    folder: Path,
    *,
    weigh: Sequence[Contrast] = (),
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress | None = None,
) -> Probe:
    """Return a probe of ``causal``, trained on true against false responses.

    Args:
        contrasts: as from :func:`make_contrasts`.
        folder: for the hidden states; when it has them already they are not computed again.
        weigh: contrasts of another corpus, which decide whether yes is weighed; by default ``contrasts`` do.
        seed: of the folds and of the bootstrap for the intervals.
        facts: further facts for the probe, beside the measured ones, such as the share of left-out pairs in order.
        progress: called with the stage, the amount done, and the total.

    Raises:
        InputError: there are fewer than ten dialogues, the model's layers cannot be identified, or no more left-out pairs are in
            order than by chance.
        ModelError: the model's output is not finite, or its context is too short.
    """
    report = progress or (lambda *_: None)
    texts, pairs, kinds = _paired(contrasts)
    depth = count_layers(causal.model)
    layers = layers_to_try(depth)
    states = read_states(texts, JudgementPrompt(causal), layers, folder, report)
    folds = k_folds(pairs.group, min(FOLDS, int(pairs.group.max()) + 1), seed)
    several = len(set(kinds.tolist())) > 1
    splits = [
        (train[kinds[train] != kind] if several else train, test[kinds[test] == kind])
        for train, test in folds
        for kind in dict.fromkeys(kinds.tolist())
    ]
    chosen, variants = try_layers(states.hidden, pairs, splits, seed, report)
    margins = states.margins[pairs.right] - states.margins[pairs.wrong]
    weights = weights_of(states.hidden, pairs, chosen)
    projected = states.hidden[:, chosen.column].astype(np.float64) @ weights
    if weigh:
        elsewhere, other_pairs, _ = _paired(weigh)
        other_margins = read_states(elsewhere, JudgementPrompt(causal), layers, folder, report).margins
        yes_share, yes_error = share_with_error(
            other_margins[other_pairs.right] - other_margins[other_pairs.wrong], other_pairs, seed
        )
    else:
        yes_share, yes_error = share_with_error(margins, pairs, seed)
    deviation = float(states.margins.std())
    yes = float(projected.std()) / deviation if deviation and yes_share - 0.5 > 2 * yes_error else 0.0
    raw = projected + yes * states.margins
    mixed = chosen.predictions + yes * margins
    slope = calibrating_slope(mixed, pairs, "histories")
    centre = float(np.average(raw[pairs.right] + raw[pairs.wrong], weights=pairs.weights)) / 2
    by_kind = {
        kind: round(share_in_order(mixed[kinds == kind], pairs.weights[kinds == kind]), 4)
        for kind in dict.fromkeys(kinds.tolist())
    }
    interval = np.percentile(resampled(mixed, pairs, seed), [2.5, 97.5]).round(4).tolist()
    return Probe(
        PROBE, layers[chosen.column], (slope * weights).astype(np.float32), causal.files.signature, slope * yes, -slope * centre,
        facts={
            **(facts or {}), "histories": len(contrasts), "pairs": len(pairs.right), "corpora": len(_corpora(contrasts)),
            "dialogues": len({contrast.dialogue for contrast in contrasts}), "layers": depth, "penalty": chosen.penalty,
            "ordered": round(share_in_order(mixed, pairs.weights), 4), "interval": interval,
            "yes_alone": round(share_in_order(margins, pairs.weights), 4), "yes_share": round(yes_share, 4),
            "yes_error": round(yes_error, 4), "weighed_on": len(weigh),
            "kinds": by_kind, "variants": variants, "seed": seed,
            "data": digest_of(json.dumps(contrasts).encode()),
        },
    ).written()  # fmt: skip


def _corpora(contrasts: Sequence[Contrast]) -> list[str]:
    return list(dict.fromkeys(contrast.corpus for contrast in contrasts))


def _paired(contrasts: Sequence[Contrast]) -> tuple[list[Pair], Pairs, NDArray[np.str_]]:
    """Return the texts to read, the pairs and their kinds; groups are corpora where there are several, else dialogues.

    Raises:
        InputError: there are too few dialogues.
    """
    texts: list[Pair] = []
    rows: list[tuple[int, int, int, int]] = []
    kinds = []
    corpora = _corpora(contrasts)
    groups: dict[int | str, int] = {}
    for number, contrast in enumerate(contrasts):
        group = groups.setdefault(contrast.corpus if len(corpora) > 1 else contrast.dialogue, len(groups))
        true = len(texts)
        texts.append((contrast.turns, contrast.true))
        for kind, text in contrast.false:
            rows.append((true, len(texts), number, group))
            texts.append((contrast.turns, text))
            kinds.append(kind)
    if len({contrast.dialogue for contrast in contrasts}) < LEAST or not rows:
        raise InputError(f"{len(contrasts)} histories with false responses are too few; give {LEAST} dialogues or more")
    return texts, Pairs(*np.array(rows, np.int64).T), np.array(kinds)

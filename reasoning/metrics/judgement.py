"""The metric ``judgement``: a linear probe of a language model's states predicts whether a response is natural and fitting.

A causal language model reads the last four turns as a transcript of two speakers, the response as a proposed reply, and the
question whether it is natural, sensible and fitting. Where its answer would stand, a linear probe (Alain and Bengio, ICLR 2017,
workshop track) reads a layer's hidden states, and may weigh the model's own preference for yes over no. The probe is learnt from
true against false responses of dialogues, not from ratings (:mod:`tacit.reasoning.training.judgement`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scipy.special import expit

from ...graph.errors import ModelError
from ...graph.item import Item
from ...graph.protocol import KnowledgeGraph
from ...graph.storage import cache_folder
from ..base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from ..lru_cache import LruCache
from ..models.asking import States, YesNoPrompt
from ..models.causal_lm import CausalModel, share_causal
from ..models.linear_probe import Probe, ProbeKind
from ..text.language import open_analyser
from ..text.linking import Linker
from ..text.parsing import open_parser
from ..text.turns import NEXT_TURN, one_line, transcript
from .judgement_claims import GraphClaims

TURNS = 4
"""Turns of the history that are read."""

_QUESTION = "Is this reply natural, sensible and fitting here? Answer yes or no."
_HISTORY_TOKENS = 320
_REPLY = f"\nProposed reply by {NEXT_TURN}"

Pair = tuple[tuple[str, ...], str]
"""The turns that are read, oldest first, and the response."""


class JudgementPrompt(YesNoPrompt):
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        """Make prompts for ``causal``."""
        super().__init__(causal, _QUESTION, _HISTORY_TOKENS)

    def read(self, pairs: Sequence[Pair], layers: Sequence[int], *, margins: bool = False, gains: bool = False) -> States:
        """Return the model's states for responses; responses after the same turns share the reading of the turns.

        Args:
            pairs: turns and response; only the last four turns are read, of these the last 320 tokens, and of the response the
                first 160.
            layers, margins: as for :meth:`YesNoPrompt.read_replies`, which raises the errors.
            gains: add the gains over a proposed reply without any turns.
        """
        replies = [(transcript(turns[-TURNS:], _REPLY), f" {one_line(response)}") for turns, response in pairs]
        return self.read_replies(replies, layers, margins=margins, without=_REPLY if gains else None)


PROBE = ProbeKind(
    "probe of judgement", "tacit train judgement", "judgement.safetensors", "tacit judgement probe", ("yes", "bias"),
    Path(__file__).parent / "judgement_probe",
)  # fmt: skip
"""The kind of probe; the one that ships belongs to the model that ``tacit fetch judge`` downloads."""


# The metric.

MODEL = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
MODEL_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
NO_HISTORY = "the history is empty"

_CACHE_SIZE = 20_000
_WORD = re.compile(r"\S+")
_MOST_WORDS = 40


class Prediction(NamedTuple):
    """What the language model makes of a response.

    Attributes:
        log_odds: that it is the true one, by the probe.
        gain: the mean log-likelihood of its tokens after the turns, less that without turns, in nats; None when it was not read.
    """

    log_odds: float
    gain: float | None


_predictions: LruCache[tuple[str, str, str | Probe, Pair], Prediction] = LruCache(_CACHE_SIZE)
"""Predictions by signature, device, probe and pair, so that ``judgement`` and ``overall`` read each response once."""


class Judgement(BatchScoring):
    """The metric over a causal language model and a probe of its states; see :func:`make`."""

    name = "judgement"
    reads_english = True
    batch_size = 32

    def __init__(self, causal: CausalModel, probe: Probe, claims: GraphClaims | None = None, *, gains: bool = False) -> None:
        """Read the states of ``causal``; layers above the probe's are removed unless the probe weighs the log-odds of yes.

        Args:
            claims: finds the assertions of a graph that are added to the evidence; None for no such evidence.
            gains: keep all layers, which the gain of a :class:`Prediction` needs.

        Raises:
            ModelError: the probe was trained on another model.
        """
        probe.attach(causal, cut=not (gains or probe.yes))
        self.prompt = JudgementPrompt(causal)
        self.probe = probe
        self.claims = claims
        self.signature = Signature(
            self.name, (("model", causal.files.digest), ("dtype", causal.dtype), ("probe", probe.digest)), 2
        )
        self._reader = (str(self.own_signature()), str(causal.model.device), probe.digest or probe)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses; NaN without a history."""
        signature = self.signature
        pairs = [pair_of(item) for item in items]
        judged = [pair for pair in pairs if pair[0]]
        predictions = iter(self.predictions(judged))
        claims = iter(self.claims.pieces_for(judged) if explain and self.claims is not None else [()] * len(judged))
        scores = []
        for pair in pairs:
            if not pair[0]:
                scores.append(no_score(NO_HISTORY, signature))
                continue
            log_odds = next(predictions).log_odds
            value = float(expit(log_odds))
            pieces: tuple[Piece, ...] = ()
            if explain:
                effects = self._effects(pair, log_odds)
                pieces = (Piece("feature", log_odds, value, name=_LOG_ODDS, rests_on=(*effects, *next(claims))),)
            scores.append(Score(value, Evidence(pieces), signature))
        return scores

    def predictions(self, pairs: Sequence[Pair], *, gains: bool = False) -> list[Prediction]:
        """Return the prediction for each response; equal pairs are read once by all metrics with this probe.

        Args:
            gains: read the gain too, which needs all layers and takes about a quarter more time.

        Raises:
            ModelError: the model's output is not finite, its context is too short, or its chat template cannot be used.
        """
        with self.prompt.causal.lock:
            known = {pair: _predictions.get((*self._reader, pair)) for pair in pairs}
            fresh = [pair for pair, prediction in known.items() if prediction is None or (gains and prediction.gain is None)]
            if fresh:
                states = self.prompt.read(fresh, [self.probe.layer], margins=bool(self.probe.yes), gains=gains)
                log_odds = self.probe.log_odds(states.hidden[:, 0], states.margins).tolist()
                for pair, odds, gain in zip(fresh, log_odds, states.gains.tolist(), strict=True):
                    known[pair] = fresh_prediction = Prediction(odds, gain if gains else None)
                    _predictions.put((*self._reader, pair), fresh_prediction)
        return [prediction for pair in pairs if (prediction := known[pair]) is not None]

    def _effects(self, pair: Pair, whole: float) -> tuple[Piece, ...]:
        """Return how much each turn and each word of the response adds to the log-odds, the largest effect first.

        The response is judged again without the word, or with dots in place of the turn, so that the speakers stay the same.
        Turns count from 1 among the last four.
        """
        turns, response = pair
        words = list(_WORD.finditer(response))[:_MOST_WORDS]
        cut = [(*turns[:index], _LEFT_OUT, *turns[index + 1 :]) for index in range(len(turns))]
        without = [f"{response[: word.start()].rstrip()} {response[word.end() :].lstrip()}".strip() for word in words]
        predictions = self.predictions([*((left, response) for left in cut), *((turns, left) for left in without)])
        names = [f"turn {number}{', the last one,' if number == len(turns) else ''}" for number in range(1, len(turns) + 1)]
        names += [f'"{word[0]}"' for word in words]
        effects = [
            Piece("part", whole - prediction.log_odds, 0.0, name=f"{name} adds")
            for name, prediction in zip(names, predictions, strict=True)
        ]
        return tuple(sorted(effects, key=lambda piece: -abs(piece.value)))


_LOG_ODDS = "log-odds of a sensible reply"
_LEFT_OUT = "..."


def pair_of(item: Item) -> Pair:
    """Return the turns of an item that are read, and its response."""
    return tuple(turn for turn in item.history if turn.strip())[-TURNS:], item.response


def models_folder() -> Path:
    """Return the folder of models that tacit downloads: ``models`` in ``TACIT_CACHE``, else in the user's cache folder."""
    return cache_folder("models")


def has_default() -> bool:
    """Return whether ``tacit fetch judge`` has downloaded the default model."""
    return (models_folder() / MODEL_FILE).is_file()


def fetched_model() -> Path:
    """Return the file that ``tacit fetch judge`` has downloaded.

    Raises:
        ModelError: it is not there.
    """
    if not has_default():
        raise ModelError(f"{MODEL_FILE} is not in {models_folder()}; get it with: tacit fetch judge")
    return models_folder() / MODEL_FILE


def make(
    graph: KnowledgeGraph | None = None,
    *,
    model: str | Path | None = None,
    probe: str | Path | None = None,
    dtype: str = "bfloat16",
    device: str | None = None,
) -> Judgement:
    """Return the metric; with a graph, the evidence has its assertions between turns and response, which change no score.

    Args:
        model: the language model that the probe was trained on: a folder that transformers saved, a GGUF file, or an id of the
            hub; by default the one that ``tacit fetch judge`` downloads.
        probe: a folder or file that ``tacit train judgement`` wrote; by default the one that ships, for the default model.
        dtype: number format of the model: ``float32``, ``bfloat16`` or ``float16``.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.

    Raises:
        InputError: the dtype or device is unknown.
        ModelError: the model or probe is not found, or they do not belong together.
        MissingExtra: torch, transformers, or a package for GGUF files is not installed.
    """
    return open_judgement(graph, model, probe, dtype, device, gains=False)


def open_judgement(
    graph: KnowledgeGraph | None,
    model: str | Path | None,
    probe: str | Path | None,
    dtype: str,
    device: str | None,
    *,
    gains: bool,
) -> Judgement:
    """Return the metric of :func:`make`, with ``gains`` over all layers of the model."""
    opened = PROBE.open(probe)
    if model is None and not has_default():
        raise ModelError(
            f"the language model of judgement, {MODEL_FILE}, is not in {models_folder()}; get it with: tacit fetch judge, or "
            "name a model with -O judgement.model=MODEL"
        )
    layers = None if opened.yes or gains else opened.layer
    causal = share_causal(model or models_folder() / MODEL_FILE, dtype=dtype, device=device, layers=layers)
    claims = None if graph is None else GraphClaims(Linker(graph, open_analyser(None)), open_parser(None))
    return Judgement(causal, opened, claims, gains=gains)

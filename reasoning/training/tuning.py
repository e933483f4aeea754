"""Tuning the top layers of a sentence encoder along with the head of response selection.

The layers below stay as they are, so nothing is learnt through them, and what comes out is small. A batch is made of whole
dialogues: most turns are then the response of one pair and the context of the next, and each goes through the encoder once.
The loss is the head's (:mod:`tacit.reasoning.training.towers`), over responses of other dialogues and, where the head has learnt
from them, the context's own turns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from ..batching import padded, together
from ..coherence.head import SelectionHead
from ..encoder import TextEncoder, pooled_states
from ..extras import need
from ..layers import in_half_precision, learn_on_top, weights_of
from .towers import HeadSettings, Rows, Towers, share_of_rate

_LONGEST = 96
_BATCH_TOKENS = 4_096
_CLIP = 1.0


@dataclass(frozen=True)
class TuningSettings:
    """How layers are tuned.

    Attributes:
        layers: how many, counted from the output; epochs: rounds over all pairs; batch: pairs in a step, 2 or more.
        rate, head_rate: of AdamW at its highest, for the layers and for the head.
    """

    layers: int = 2
    epochs: int = 2
    batch: int = 256
    rate: float = 1e-4
    head_rate: float = 5e-4


def tune_layers(
    encoder: TextEncoder,
    head: SelectionHead,
    texts: Sequence[str],
    rows: Rows,
    dialogues: Rows,
    *,
    seed: int = 0,
    settings: TuningSettings | None = None,
    of_head: HeadSettings | None = None,
    half: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[dict[str, NDArray[np.float16]], SelectionHead]:
    """Tune the top layers of ``encoder``, which itself stays as it is, and a head that was trained over it.

    Args:
        texts: what was said; of more than 96 tokens the end is left out here.
        rows: last turn, turn before it (-1: none) and response of each pair, as places in ``texts``, shape (pairs, 3).
        dialogues: the number of each pair's dialogue, shape (pairs,).
        seed: of order and dropout.
        of_head: how the head was trained; its width, its hidden layer, dropout, decay and negatives hold here too.
        half: work in bfloat16 where the device is faster with it.
        progress: told how many steps are done, and how many there are.

    Returns:
        The layers in half precision, by the names of the model's weights, and the head that goes with them.

    Raises:
        InputError: the encoder has fewer layers.
        ModelError: the loss is no number any more.
    """
    settings = settings or TuningSettings()
    torch = need("torch", "neural")
    device = encoder.model.device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        towers = Towers(head.mean, head.scale, of_head or HeadSettings())
        towers.take(head)
        tuner = _Tuner(encoder, towers, settings.layers, texts, half)
        tuner.run(rows, dialogues, np.random.default_rng(seed), settings, progress)
    return in_half_precision(tuner.weights), towers.head()


class _Tuner:
    """A copy of the model whose top layers learn, with the towers above it."""

    def __init__(self, encoder: TextEncoder, towers: Towers, layers: int, texts: Sequence[str], half: bool) -> None:
        self.torch, self.towers, self.half = towers.torch, towers, half
        self.model = copy.deepcopy(encoder.model)
        self.device, self.pad = self.model.device, encoder.pad
        self.tokens = [row[:_LONGEST] for row in encoder.tokens(texts)]
        towers.move(self.device)
        self.mean, self.scale = (self.torch.from_numpy(array).to(self.device) for array in (towers.mean, towers.scale))
        learning = learn_on_top(self.model, layers)
        self.weights = weights_of(learning)
        for layer in learning.values():
            layer.train()

    def run(
        self,
        rows: Rows,
        dialogues: Rows,
        random: np.random.Generator,
        settings: TuningSettings,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        """Train over whole dialogues."""
        torch = self.torch
        steps = settings.epochs * max(len(rows) // settings.batch, 1)
        learning = list(self.weights.values())
        learnt = {"params": learning, "lr": settings.rate, "weight_decay": self.towers.settings.decay}
        optimiser = torch.optim.AdamW([learnt, *self.towers.groups(settings.head_rate)])
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: share_of_rate(step, steps))
        batches = _whole_dialogues(dialogues, settings.batch, random)
        for step in range(steps):
            chosen = next(batches)
            loss = self._loss(rows[chosen], dialogues[chosen])
            if not bool(torch.isfinite(loss)):
                raise ModelError(f"the loss is no number any more at step {step + 1} of tuning; leave the encoder as it is")
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*learning, *self.towers.weights()], _CLIP)
            optimiser.step()
            schedule.step()
            if progress is not None:
                progress(step + 1, steps)

    def _loss(self, rows: Rows, dialogues: Rows) -> Any:
        texts, places = np.unique(rows, return_inverse=True)
        absent = int(texts[0] < 0)
        vectors = (self._pooled([self.tokens[text] for text in texts[absent:].tolist()]) - self.mean) / self.scale
        vectors = self.torch.cat([vectors.new_zeros(absent, vectors.shape[1]), vectors])
        where = self.torch.from_numpy(places.reshape(rows.shape)).to(self.device)
        return self.towers.loss([vectors[where[:, column]] for column in range(3)], rows, dialogues)

    def _pooled(self, rows: Sequence[Sequence[int]]) -> Any:
        """Pooled vectors of token ids, shape (texts, d), through which the layers learn."""
        torch = self.torch
        found: list[Any] = []
        order: list[int] = []
        for places in together([len(row) for row in rows], _BATCH_TOKENS):
            ids, inside = (
                torch.from_numpy(array).to(self.device) for array in padded([rows[place] for place in places], self.pad)
            )
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
                found.append(pooled_states(self.model, ids, inside))
            order += places
        return torch.cat(found)[torch.from_numpy(np.argsort(order)).to(self.device)]


def _whole_dialogues(dialogues: Rows, size: int, random: np.random.Generator) -> Iterator[Rows]:
    """Batches of ``size`` places, round after round; of the dialogue that does not fit, the end is left out for this round."""
    order = np.argsort(dialogues, kind="stable")
    groups = [
        group[start : start + size // 2]  # of the longest dialogues a part, so that a batch holds another one too
        for group in np.split(order, np.flatnonzero(np.diff(dialogues[order])) + 1)
        for start in range(0, len(group), size // 2)
    ]
    while True:
        waiting: list[Rows] = []
        for number in random.permutation(len(groups)).tolist():
            waiting.append(groups[number])
            if sum(map(len, waiting)) >= size:
                yield np.concatenate(waiting)[:size]
                waiting = []
        if waiting:
            yield np.concatenate(waiting)

"""Training the head of response selection: a symmetric contrastive loss over pooled vectors of a frozen encoder, in torch.

Within a batch every context is to pick its own response out of all of the batch's and, where asked, its own last two turns; and
every response its own context (InfoNCE, van den Oord et al., 2018, in both directions as in Radford et al., 2021). A response
that stands in the batch twice is no negative of itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coherence.head import TURNS, Hidden, SelectionHead
from ..extras import need

Halves = NDArray[np.float16]
Rows = NDArray[np.int64]

_WARM = 0.1
_TEMPERATURE = 0.05
_SHARPEST = 100.0


@dataclass(frozen=True)
class HeadSettings:
    """How a head is trained.

    Attributes:
        width: numbers of the common space; epochs: rounds over all pairs; batch: pairs in a step.
        rate: of AdamW at its highest; decay: its weight decay; dropout: of pooled vectors, and of hidden units.
        own_turns: the context's own turns are negatives too.
        hidden: units of the hidden layer of each text, none by default.
    """

    width: int = 128
    epochs: int = 5
    batch: int = 256
    rate: float = 1e-3
    decay: float = 0.01
    dropout: float = 0.2
    own_turns: bool = False
    hidden: int = 0


def train_head(
    vectors: Halves,
    rows: Rows,
    *,
    seed: int = 0,
    settings: HeadSettings | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SelectionHead:
    """Train a head.

    Args:
        vectors: pooled vectors of texts, shape (texts, d).
        rows: last turn, turn before it (-1: none) and response of each pair, as rows of ``vectors``, shape (pairs, 3).
        seed: of weights, order and dropout.
        progress: told how many steps are done, and how many there are.
    """
    torch = need("torch", "neural")
    settings = settings or HeadSettings()
    mean, scale = _moments(vectors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trainer = _Trainer(torch, vectors, mean, scale, settings)
        trainer.run(rows, np.random.default_rng(seed), progress)
    return trainer.head()


def _moments(vectors: Halves, step: int = 8192) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column."""
    total, squares = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step].astype(np.float64)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    mean = total / max(len(vectors), 1)
    deviation = np.sqrt(np.maximum(squares / max(len(vectors), 1) - mean**2, 0)) + 1e-3
    return mean.astype(np.float32), deviation.astype(np.float32)


class _Trainer:
    """The two maps, the hidden layers, and the steps that train them."""

    def __init__(self, torch: Any, vectors: Halves, mean: Any, scale: Any, settings: HeadSettings) -> None:
        self.torch, self.vectors, self.settings = torch, vectors, settings
        self.mean, self.scale = mean, scale
        size = vectors.shape[1]
        self.context = torch.nn.Linear(2 * size, settings.width)
        self.response = torch.nn.Linear(size, settings.width)
        self.sharpness = torch.nn.Parameter(torch.tensor(math.log(1 / _TEMPERATURE)))
        texts = TURNS + 1 if settings.hidden else 0
        self.inner = torch.nn.ModuleList(torch.nn.Linear(size, settings.hidden) for _ in range(texts))
        self.outer = torch.nn.ModuleList(torch.nn.Linear(settings.hidden, settings.width, bias=False) for _ in range(texts))
        for layer in self.outer:  # what is learnt starts from the linear maps
            torch.nn.init.zeros_(layer.weight)

    def run(self, rows: Rows, random: np.random.Generator, progress: Callable[[int, int], object] | None) -> None:
        """Train over all pairs, the last few of a round that fill no batch left out unless they are all there is."""
        torch, settings = self.torch, self.settings
        size = min(settings.batch, len(rows))
        steps = settings.epochs * (len(rows) // size if size else 0)
        if not steps:
            return
        modules = (self.context, self.response, self.inner, self.outer)
        maps = [weight for module in modules for weight in module.parameters()]
        groups = [{"params": maps, "weight_decay": settings.decay}, {"params": [self.sharpness], "weight_decay": 0.0}]
        optimiser = torch.optim.AdamW(groups, lr=settings.rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, steps))
        step = 0
        for _ in range(settings.epochs):
            order = random.permutation(len(rows))
            for start in range(0, len(rows) - size + 1, size):
                loss = self._loss(rows[order[start : start + size]])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                step += 1
                if progress is not None:
                    progress(step, steps)

    def _standard(self, rows: Any) -> Any:
        """Standardised vectors of texts, zeros for no text."""
        vectors = (self.vectors[np.maximum(rows, 0)].astype(np.float32) - self.mean) / self.scale
        vectors[rows < 0] = 0
        return self.torch.from_numpy(vectors)

    def _loss(self, rows: Rows) -> Any:
        torch, functional = self.torch, self.torch.nn.functional
        size = len(rows)
        last, before, response = (self._standard(rows[:, column]) for column in range(3))
        offered = torch.cat([response, last, before] if self.settings.own_turns else [response])
        spoken = torch.from_numpy(rows[:, 1] >= 0)[:, None]
        contexts = self._unit(self.context, torch.cat([last, before], dim=1), {0: None, 1: spoken})
        responses = self._unit(self.response, offered, {TURNS: None})
        sharpness = self.sharpness.exp().clamp(max=_SHARPEST)
        logits = contexts @ responses[:size].T * sharpness
        twins = (rows[:, 2][:, None] == rows[:, 2][None, :]) & ~np.eye(size, dtype=bool)
        logits = logits.masked_fill(torch.from_numpy(twins), float("-inf"))
        choices = logits
        for number in range(1, len(offered) // size):
            own = (contexts * responses[number * size : (number + 1) * size]).sum(1, keepdim=True) * sharpness
            none = torch.from_numpy((rows[:, number - 1] < 0) | (rows[:, number - 1] == rows[:, 2]))[:, None]
            choices = torch.cat([choices, own.masked_fill(none, float("-inf"))], dim=1)
        right = torch.arange(size)
        return (functional.cross_entropy(choices, right) + functional.cross_entropy(logits.T, right)) / 2

    def _unit(self, linear: Any, vectors: Any, texts: Mapping[int, Any]) -> Any:
        """Unit vectors of the common space for the standardised ``vectors`` of ``texts`` side by side, and which are there."""
        functional, rate = self.torch.nn.functional, self.settings.dropout
        vectors = functional.dropout(vectors, rate)
        found = linear(vectors)
        if self.settings.hidden:
            for (text, there), side in zip(texts.items(), vectors.split(vectors.shape[1] // len(texts), dim=1), strict=True):
                added = self.outer[text](functional.dropout(functional.relu(self.inner[text](side)), rate))
                found = found + (added if there is None else added * there)
        return functional.normalize(found, dim=1)

    def head(self) -> SelectionHead:
        """What was learnt."""
        context, response = (
            (one.weight.detach().numpy().T.copy(), one.bias.detach().numpy().copy()) for one in (self.context, self.response)
        )
        hidden = None
        if self.settings.hidden:
            biases = np.stack([layer.bias.detach().numpy() for layer in self.inner])
            inner, outer = (np.stack([layer.weight.detach().numpy().T for layer in all_]) for all_ in (self.inner, self.outer))
            hidden = Hidden(inner, biases, outer)
        return SelectionHead(self.mean, self.scale, *context, *response, hidden=hidden)


def _rate(step: int, steps: int) -> float:
    """Share of the highest learning rate at a step: up in a straight line, then down along a cosine."""
    warm = max(1, int(_WARM * steps))
    return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))

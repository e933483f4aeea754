"""Training the response selection head of ``coherence``: two towers over pooled vectors of a frozen encoder.

Within a batch, every context must select its own response among all responses of the batch, and every response its own
context (InfoNCE, van den Oord et al., 2018, in both directions as in Radford et al., 2021). A response that occurs twice in
the batch is not a negative of itself.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..metrics.coherence.checkpoint import TURNS, Floats, SelectionHead
from ..models.hub import need
from .loop import Plan, fit
from .recipe import HeadRecipe

Rows = NDArray[np.int64]
Halves = NDArray[np.float16]

_ROWS_AT_ONCE = 8_192
_TEMPERATURE = 0.05
_SHARPEST = 100.0


def train_head(
    vectors: Halves,
    rows: Rows,
    checkpoints: Path | None = None,
    *,
    seed: int = 0,
    settings: HeadRecipe | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SelectionHead:
    """Train a head on pooled vectors, shape (texts, d); ``rows`` of them, shape (pairs, 3), are last turn, turn before,
    response. An interrupted training is continued from its state in ``checkpoints``."""
    torch = need("torch", "neural")
    settings = settings or HeadRecipe()
    mean, scale = _moments(vectors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        towers = Towers(mean, scale, settings)
    if len(rows):

        def loss(batch: Sequence[int], _: np.random.Generator) -> Any:
            triples = rows[batch]
            return towers.loss([_standard(towers, vectors, triples[:, column]) for column in range(3)], triples)

        size = min(settings.batch, len(rows))
        plan = Plan(settings.epochs * -(-len(rows) // size), size, settings.rate, seed, schedule="cosine", clip=0)
        fit(
            towers.module, loss, len(rows), plan, checkpoints, groups=towers.groups(settings.rate),
            data=[asdict(settings), hashlib.sha256(vectors.tobytes() + rows.tobytes()).hexdigest()],
            progress=None if progress is None else lambda step, steps, _: progress(step, steps),
        )  # fmt: skip
    return towers.head()


def _standard(towers: Towers, vectors: Halves, rows: Rows) -> Any:
    """Standardised vectors of texts; zeros for row -1."""
    standardised = (vectors[np.maximum(rows, 0)].astype(np.float32) - towers.mean) / towers.scale
    standardised[rows < 0] = 0
    return towers.torch.from_numpy(standardised)


def _moments(vectors: Halves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column."""
    total, squares = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        part = vectors[start : start + _ROWS_AT_ONCE].astype(np.float64)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    mean = total / max(len(vectors), 1)
    deviation = np.sqrt(np.maximum(squares / max(len(vectors), 1) - mean**2, 0)) + 1e-3
    return mean.astype(np.float32), deviation.astype(np.float32)


class Towers:
    """The linear maps of context and response, and the temperature of the softmax."""

    def __init__(self, mean: Floats, scale: Floats, settings: HeadRecipe) -> None:
        """Initialise at random with torch's seed; ``mean`` and ``scale`` are of pooled vectors, shape (d,)."""
        self.torch, self.settings = need("torch", "neural"), settings
        self.mean, self.scale = mean, scale
        nn, size = self.torch.nn, len(mean)
        self.context = nn.Linear(TURNS * size, settings.width)
        self.response = nn.Linear(size, settings.width)
        self.sharpness = nn.Parameter(self.torch.tensor(math.log(1 / _TEMPERATURE)))
        self.module = nn.ModuleList([self.context, self.response, nn.ParameterList([self.sharpness])])

    def weights(self) -> list[Any]:
        """The weights of all maps, without the temperature."""
        return [weight for module in (self.context, self.response) for weight in module.parameters()]

    def groups(self, rate: float) -> list[dict[str, Any]]:
        """The parameter groups for AdamW, with the highest learning rate ``rate``."""
        return [
            {"params": self.weights(), "lr": rate, "weight_decay": self.settings.decay},
            {"params": [self.sharpness], "lr": rate, "weight_decay": 0.0},
        ]

    def loss(self, texts: Sequence[Any], rows: Rows) -> Any:
        """Return the loss of a batch of n pairs.

        ``texts`` are standardised pooled vectors of last turns, turns before them (zeros for none) and responses, each of shape
        (n, d); ``rows`` a number for each of these texts, -1 for a missing one, shape (n, 3).
        """
        torch, functional = self.torch, self.torch.nn.functional
        last, before, response = texts
        size, device = len(rows), last.device
        contexts = self._unit(self.context, torch.cat([last, before], dim=1))
        responses = self._unit(self.response, response)
        logits = contexts @ responses.T * self.sharpness.exp().clamp(max=_SHARPEST)
        twins = rows[:, 2][:, None] == rows[:, 2][None, :]
        logits = logits.masked_fill(torch.from_numpy(twins & ~np.eye(size, dtype=bool)).to(device), float("-inf"))
        right = torch.arange(size, device=device)
        return (functional.cross_entropy(logits, right) + functional.cross_entropy(logits.T, right)) / 2

    def _unit(self, linear: Any, vectors: Any) -> Any:
        """Unit vectors in the common space, with dropout."""
        functional = self.torch.nn.functional
        return functional.normalize(linear(functional.dropout(vectors, self.settings.dropout)), dim=1)

    def head(self) -> SelectionHead:
        """Return the trained head."""

        def array(weight: Any) -> Floats:
            result: Floats = weight.detach().cpu().numpy()
            return result

        context, response = ((array(layer.weight).T.copy(), array(layer.bias).copy()) for layer in (self.context, self.response))
        return SelectionHead(self.mean, self.scale, *context, *response)

"""Training of GRADE by margin ranking: a true response is to score higher than a false one (Huang et al., EMNLP 2020, 3.4).

Everything random hangs on the seed and the step, so one seed gives one model, and a training that was killed goes on with the
curve that it would have had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...graph.errors import InputError
from ..grade.layers import drop_edges
from ..grade.model import GradeModel, Graphs
from . import loop
from .grade_material import Material
from .loop import Plan, State

Told = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained.

    Attributes:
        seed: of weights, order, dropout and dropped edges. epochs: passes over the pairs. batch: pairs a step.
        rate: the highest, after a warm-up over the first ``warmup`` of all steps, then falling linearly to 0.
        margin: by which a true response is to score higher. clip: longest gradient. drop_edge: share of edges dropped.
        looks: how many times an epoch the development pairs are looked at, and the state saved.
    """

    seed: int = 0
    epochs: int = 3
    batch: int = 32
    rate: float = 5e-4
    warmup: float = 0.1
    margin: float = 0.1
    clip: float = 1.0
    drop_edge: float = 0.1
    looks: int = 4

    def check(self) -> None:
        """Raise :class:`InputError` when it makes no sense."""
        if min(self.epochs, self.batch, self.looks) < 1 or self.rate <= 0 or self.margin <= 0 or self.clip <= 0:
            raise InputError("epochs, batch, looks, rate, margin and clip are above 0; give others")
        if not 0 <= self.warmup <= 1 or not 0 <= self.drop_edge < 1 or self.seed < 0:
            raise InputError("warm-up is in 0..1, the share of dropped edges in 0..1 without 1, the seed 0 or more; give others")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def fit(model: GradeModel, material: Material, recipe: Recipe, folder: Path, told: Told, *, device: str = "cpu") -> State:
    """Train ``model`` and leave it with the weights of the lowest development loss, ready to be asked, on the CPU.

    Args:
        folder: for checkpoints; a training that was killed continues from there.
        told: told what is being done, how far it is and how far it goes.
        device: as torch names it; on a GPU in bfloat16 where weights allow.
    """
    recipe.check()
    train, dev = np.flatnonzero(~material.pairs.dev), np.flatnonzero(material.pairs.dev)
    each = -(-len(train) // recipe.batch)
    every = max(each // recipe.looks, 1)
    plan = Plan(
        each * recipe.epochs, recipe.batch, recipe.rate, recipe.seed, every, warmup=recipe.warmup, decay=0.0, clip=recipe.clip,
        look_every=every,
    )  # fmt: skip
    model.to(device)

    def loss(batch: Sequence[int], random: np.random.Generator) -> Tensor:
        generator = torch.Generator().manual_seed(int(random.integers(2**62)))
        return _loss(_scores(model, material, train[batch].tolist(), generator, recipe), recipe.margin)

    state = loop.fit(
        model, loss, len(train), plan, folder, data=f"{recipe}", look=lambda: look(model, material, dev, recipe),
        progress=lambda step, steps, _: told("training", step, steps),
    )  # fmt: skip
    model.cpu()
    return state


def look(model: GradeModel, material: Material, places: np.ndarray[Any, Any], recipe: Recipe) -> dict[str, float]:
    """Return the loss on some pairs, and how often the true response scores higher than each of the false ones."""
    model.eval()
    losses, wins = [], []
    with torch.inference_mode():
        for start in range(0, len(places), recipe.batch):
            scores = _scores(model, material, places[start : start + recipe.batch].tolist(), None, recipe)
            losses.append(_loss(scores, recipe.margin, mean=False))
            wins.append((scores[:, :1] > scores[:, 1:]).float())
    share = torch.cat(wins).mean(0).tolist()
    return {"dev_loss": float(torch.cat(losses).mean())} | {f"dev_wins_{n}": one for n, one in enumerate(share, 1)}


def _scores(
    model: GradeModel, material: Material, places: list[int], generator: torch.Generator | None, recipe: Recipe
) -> Tensor:
    """Return the scores of all candidates, shape (pairs, candidates); with a generator, edges are dropped."""
    device = next(model.parameters()).device
    texts = tuple(one if one is None else one.to(device) for one in material.texts(places))
    graphs = material.tensors(places)
    if graphs is not None:
        if generator is not None:
            graphs = graphs._replace(adjacency=drop_edges(graphs.adjacency, recipe.drop_edge, generator))
        graphs = Graphs(*(one.to(device) for one in graphs))
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        scores: Tensor = model(texts, graphs)
    return scores.float().view(len(places), -1)


def _loss(scores: Tensor, margin: float, *, mean: bool = True) -> Tensor:
    """Margin ranking: max(0, margin - s(true) + s(false)), the mean over false ones, and over pairs with ``mean``."""
    each = torch.relu(margin - scores[:, :1] + scores[:, 1:]).mean(1)
    return each.mean() if mean else each

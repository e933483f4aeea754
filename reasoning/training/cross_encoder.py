"""Training a cross-encoder: an encoder with one output is fine-tuned on ratings of responses, or on labels of event tuples.

The loss is the squared error of ratings that are standardised within each data set, since scales differ. A tenth of the groups
(conversations; heads of tuples) is left out of the training, and the agreement with their ratings is measured in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ..evaluation.correlation import correlate
from ..models.cross_encoder import SCALE, RatingEncoder, tokens_of, with_new_head
from ..models.hub import find_model, need
from .card import render
from .loop import CARD, Plan, Progress, base_name, check_output, examples_digest, run_training, write_model
from .recipe import RatingRecipe, number_of_steps

LEAST = 20
"""Fewest examples."""


class Example(NamedTuple):
    """Two texts that are read together, their rating, and the data set and group that they are of."""

    first: str
    second: str
    rating: float
    dataset: str
    group: str


def train_cross_encoder(
    examples: Sequence[Example],
    model: str | Path,
    output: Path,
    recipe: RatingRecipe | None = None,
    *,
    device: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a cross-encoder from the encoder ``model`` and write it to ``output`` with its card; an interrupted run is continued.

    Return numbers of examples, steps and losses, and Pearson's and Spearman's correlation on the groups left out, with ratings
    standardised in each data set, since scales differ. ``facts`` are ``command``, ``use`` and ``files`` for the card.
    """
    recipe = recipe or RatingRecipe()
    recipe.check()
    check_output(output, model)
    if len(examples) < LEAST:
        raise InputError(f"{len(examples)} ratings are too few to train on; give {LEAST} or more")
    ratings, scale = _standardised(examples)
    held_out = _held_out([example.group for example in examples], recipe.held_out, recipe.seed)
    train = np.flatnonzero(~held_out).tolist()
    need("torch", "neural")
    files = find_model(model)
    opened, tokenizer = with_new_head(files, 1, device, recipe.seed)
    setattr(opened.config, SCALE, list(scale))
    plan = Plan(number_of_steps(recipe, len(train)), recipe.batch_size, recipe.rate, recipe.seed, recipe.checkpoint_every)
    digest = examples_digest(
        [(example.first, example.second, repr(example.rating), example.dataset, example.group) for example in examples]
    )
    run = run_training(
        opened, _loss(opened, tokenizer, [examples[index] for index in train], ratings[train]), len(train), plan, output,
        data={"examples": digest, "model": files.digest}, progress=progress,
    )  # fmt: skip
    texts = [(examples[index].first, examples[index].second) for index in np.flatnonzero(held_out).tolist()]
    pearson, spearman, _ = correlate(RatingEncoder(files, opened.eval(), tokenizer).predict(texts), ratings[held_out])
    measured = {"pearson": pearson.value, "spearman": spearman.value}
    result = {"ratings": len(train), "held_out": int(held_out.sum()), **measured, **run}
    card_facts = {"command": "tacit train cross-encoder", "files": (), **(facts or {})}
    card = render(
        "cross_encoder", name=output.name, base=base_name(model), recipe=recipe.to_toml(), digest=digest,
        use=card_facts.get("use"), files=card_facts["files"], command=card_facts["command"], **result,
    )  # fmt: skip
    write_model(opened, tokenizer, {CARD: card}, output)
    return result


def _standardised(examples: Sequence[Example]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return ratings with mean 0 and deviation 1 in each data set, and the scale of predictions: of a single set, else (0, 1)."""
    datasets = np.array([example.dataset for example in examples])
    ratings = np.array([example.rating for example in examples], np.float64)
    scale = (0.0, 1.0)
    for name in dict.fromkeys(datasets.tolist()):
        own = ratings[datasets == name]
        scale = (float(own.mean()), float(own.std()))
        if not scale[1] > 0:
            raise InputError(f"all ratings of {name} are {own[0]:g}; give ratings that differ")
        ratings[datasets == name] = (own - scale[0]) / scale[1]
    return ratings, scale if len(set(datasets.tolist())) == 1 else (0.0, 1.0)


def _held_out(groups: Sequence[str], share: float, seed: int) -> NDArray[np.bool_]:
    """Return which examples are left out: those of a random share of the groups."""
    names = sorted(set(groups))
    drawn = np.random.default_rng(seed).permutation(len(names))[: round(share * len(names))]
    held_out = {names[index] for index in drawn.tolist()}
    return np.array([group in held_out for group in groups])


def _loss(
    model: Any, tokenizer: Any, examples: Sequence[Example], ratings: NDArray[np.float64]
) -> Callable[[Sequence[int], np.random.Generator], Any]:
    torch = need("torch", "neural")

    def loss(batch: Sequence[int], _: np.random.Generator) -> Any:
        encoded = tokens_of(tokenizer, model, [(examples[index].first, examples[index].second) for index in batch])
        targets = torch.tensor(ratings[list(batch)], dtype=torch.float32, device=model.device)
        return torch.nn.functional.mse_loss(model(**encoded).logits[:, 0], targets)

    return loss

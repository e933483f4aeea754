"""Training the commonsense regressor on judged responses, and evaluating it on unseen ones.

Evaluated scores come from models fitted without the response, and by default without any response of its conversation; the saved
model is fitted to all data. :func:`contrast` makes training data from dialogues without ratings: each response once with its own
history, rated 1, and one from another conversation, rated 0.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ...graph.errors import InputError
from ...graph.item import Item
from ..evaluation.agreement import Agreement, Judged, conversations, evaluate
from ..evaluation.resampling import Indices, TrainTestSplit, k_folds, random_splits
from ..metrics.commonsense.features import FeatureExtractor
from ..metrics.commonsense.regressor import Matrix, Regressor, transform
from .checkpoints import StageProgress, stored_arrays
from .recipe import CommonsenseRecipe, NetworkRecipe

FEWEST = 30

_BATCH = 256
_PACKAGES = ("tacit-kg", "scikit-learn", "numpy", "spacy")


class Rated(Protocol):
    """A response with a rating, such as :class:`tacit.loaders.Judgement`."""

    @property
    def history(self) -> tuple[str, ...]:
        """The turns before the response, oldest first."""

    @property
    def response(self) -> str:
        """The rated utterance."""

    @property
    def rating(self) -> float:
        """The mean human rating; finite."""

    @property
    def dataset(self) -> str:
        """The name of its dataset."""


class Contrasted(NamedTuple):
    """A response with its own history (rating 1) or with another conversation's (rating 0)."""

    history: tuple[str, ...]
    response: str
    rating: float
    dataset: str


@dataclass(frozen=True, slots=True)
class TrainedRegressor:
    """A model with its evaluation: ``rows`` hold the agreement of predictions for unseen responses with ratings, by dataset."""

    model: Regressor
    rows: list[Agreement]
    predictions: Matrix
    conversations: int


def train_commonsense(
    rated: Sequence[Rated],
    features: FeatureExtractor,
    recipe: CommonsenseRecipe | None = None,
    *,
    checkpoints: Path | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress | None = None,
) -> TrainedRegressor:
    """Evaluate and train a regressor on ``rated``, at least thirty responses with finite ratings on one scale.

    The settings of ``features`` are not taken from the recipe; by default the evaluation has ten folds by conversation. Features
    and predictions of an interrupted training are in the folder ``checkpoints``, from which the same call continues; the caller
    deletes it.
    """
    recipe = recipe or CommonsenseRecipe()
    recipe.check()
    seed = recipe.seed
    tell: StageProgress = progress or (lambda *_: None)
    ratings = np.array([item.rating for item in rated], dtype=np.float64)
    check_ratings(ratings)
    groups, rounds = divide([(item.history, item.response) for item in rated], recipe)
    values = _values([Item(tuple(item.history), item.response) for item in rated], features, checkpoints, tell)
    predictions = out_of_fold(values, ratings, rounds, features.features, evaluated(recipe), seed, checkpoints, tell)
    judged = [
        Judged(item.dataset, None, item.rating, {"commonsense": prediction}, group)
        for item, prediction, group in zip(rated, predictions.tolist(), groups.tolist(), strict=True)
    ]
    rows = evaluate(
        judged, ["commonsense"], resamples=recipe.resamples, seed=seed, by_system=False,
        progress=lambda done, total: tell("resampling", done, total),
    )  # fmt: skip
    model = to_regressor(fit(values, ratings, features.features, seed, recipe.networks), values, ratings, features.features, seed)
    known = {
        "judgements": len(rated), "conversations": int(groups.max()) + 1, "seed": seed,
        "recipe": asdict(recipe.portable()),
        "plan": {"folds": recipe.folds} if recipe.folds else {"shares": list(recipe.shares), "rounds": recipe.rounds},
        "resamples": recipe.resamples, "scores": [row.to_dict() for row in rows], **_sources(features),
        "versions": {name: version(name) for name in _PACKAGES}, **(facts or {}),
    }  # fmt: skip
    return TrainedRegressor(replace(model, facts=known), rows, predictions, known["conversations"])


def divide(items: Sequence[tuple[Sequence[str], str]], recipe: CommonsenseRecipe) -> tuple[Indices, list[TrainTestSplit]]:
    """Return the conversation of each item, and the rounds of the evaluation, which never divide a conversation."""
    groups = conversations(items, share_openings=True)
    if recipe.folds:
        return groups, k_folds(groups, recipe.folds, recipe.seed)
    if len(recipe.shares) != 3 or abs(sum(recipe.shares) - 1) > 1e-6:
        raise InputError(f"shares is {list(recipe.shares)}; it must be three numbers with a sum of 1, such as [0.8, 0.1, 0.1]")
    return groups, random_splits(groups, recipe.shares[2], recipe.rounds, recipe.seed)


def evaluated(recipe: CommonsenseRecipe) -> NetworkRecipe:
    """Return the settings of the networks that are evaluated: with random splits, these decide the share for early stopping."""
    if recipe.folds:
        return recipe.networks
    return replace(recipe.networks, validation=recipe.shares[1] / (recipe.shares[0] + recipe.shares[1]))


def check_ratings(ratings: Sequence[float] | Matrix, fewest: int = FEWEST) -> None:
    """Raise :class:`InputError` unless ``ratings`` are finite, not all equal, and at least ``fewest``."""
    if len(ratings) < fewest:
        raise InputError(f"{len(ratings)} judgements are too few to train on; give at least {fewest}, better hundreds")
    if not np.isfinite(ratings).all():
        raise InputError(f"the rating of judgement {int(np.flatnonzero(~np.isfinite(ratings))[0]) + 1} is not a finite number")
    if np.ptp(np.asarray(ratings)) == 0:
        raise InputError(f"all ratings are {ratings[0]:g}; give judgements with different ratings")


def out_of_fold(
    values: Matrix,
    ratings: Matrix,
    rounds: Sequence[TrainTestSplit],
    features: Sequence[str],
    recipe: NetworkRecipe,
    seed: int,
    checkpoints: Path | None = None,
    tell: StageProgress = lambda *_: None,
) -> Matrix:
    """Return a prediction for each item by models that were fitted without it, shape (n,); NaN where no round tests it.

    Predictions that are stored in ``checkpoints`` are not computed again.
    """

    def predicted(train: Indices, test: Indices) -> dict[str, Matrix]:
        if np.ptp(ratings[train]) == 0:
            return {"predictions": np.full(len(test), ratings[train][0])}
        fitted = fit(values[train], ratings[train], features, seed, recipe)
        model = to_regressor(fitted, values[train], ratings[train], features, seed)
        return {"predictions": model.predict(values[test])}

    data = hashlib.sha256(values.tobytes() + ratings.tobytes()).hexdigest()
    sums, times = np.zeros(len(ratings)), np.zeros(len(ratings))
    for number, (train, test) in enumerate(rounds):
        identity = [data, list(features), asdict(recipe), seed, train.tolist(), test.tolist()]
        sums[test] += stored_arrays(checkpoints, identity, partial(predicted, train, test))["predictions"]
        times[test] += 1
        tell("cross-validation", number + 1, len(rounds))
    result: Matrix = np.where(times > 0, sums / np.maximum(times, 1), np.nan)
    return result


def contrast(items: Sequence[tuple[Sequence[str], str]], seed: int, dataset: str = "") -> list[Contrasted]:
    """Return each ``(history, response)``, neither empty, twice: with its own response, and with one from another
    conversation."""
    own = [(tuple(history), response) for history, response in items if history and response.strip()]
    groups = conversations(own, share_openings=True)
    if len(set(groups.tolist())) < 2:
        raise InputError("contrasts need responses of at least two conversations; give a file of several dialogues")
    rng = np.random.default_rng(seed)
    result = []
    for index, (history, response) in enumerate(own):
        other_index = index
        while groups[other_index] == groups[index]:
            other_index = int(rng.integers(len(own)))
        result += [Contrasted(history, response, 1.0, dataset), Contrasted(history, own[other_index][1], 0.0, dataset)]
    return result


def _values(items: Sequence[Item], features: FeatureExtractor, checkpoints: Path | None, tell: StageProgress) -> Matrix:
    """The features of all items, computed in batches, unless they are stored in ``checkpoints``."""

    def computed(batch: Sequence[Item]) -> dict[str, Matrix]:
        return {"values": features.values(batch)}

    parts = []
    for start in range(0, len(items), _BATCH):
        batch = items[start : start + _BATCH]
        identity = [_sources(features), list(features.features), [(*item.history, item.response) for item in batch]]
        parts.append(stored_arrays(checkpoints, identity, partial(computed, batch))["values"])
        tell("features", min(start + _BATCH, len(items)), len(items))
    values: Matrix = np.concatenate(parts)
    return values


def _sources(features: FeatureExtractor) -> dict[str, Any]:
    """The sources of the features, for the model's file."""
    known = dict(features.triples.signature_parts) if features.triples else {}
    result: dict[str, Any] = {
        "graph": known.pop("graph", None), "pipeline": known.pop("pipeline", None), "count": known.pop("count", None),
        "linking": known, "language_model": None,
    }  # fmt: skip
    model = features.language_model
    if model is not None:
        local = Path(model.files.requested).is_dir()
        result["language_model"] = {"signature": model.signature, "id": None if local else model.files.name}
    return result


# Fitting the networks with scikit-learn, and converting them to arrays, so that scoring does not need scikit-learn.
#
# Each network's pipeline: a fixed transform (``log1p`` of counts and length), clipping to the range of the training data,
# standardisation, then an MLP with early stopping. The networks differ in their seed (initial weights, order of batches,
# validation part); the model is their mean.

BACKGROUND = 100
FEWEST_TO_FIT = 10


@dataclass(frozen=True, slots=True)
class Fitted:
    """Pipelines that predict ``(rating - mean) / scale``."""

    pipelines: tuple[Any, ...]
    mean: float
    scale: float

    def predict(self, values: Matrix) -> Matrix:
        """Return predicted ratings, shape (n,)."""
        result: Matrix = np.mean([pipeline.predict(values) for pipeline in self.pipelines], axis=0) * self.scale + self.mean
        return result


def fit(values: Matrix, ratings: Matrix, features: Sequence[str], seed: int, recipe: NetworkRecipe) -> Fitted:
    """Fit the networks to ratings, shape (n,), by untransformed features, shape (n, k)."""
    check_ratings(ratings, FEWEST_TO_FIT)
    if not np.isfinite(values).all():
        raise InputError("a feature is not a finite number; leave such items out")
    mean, scale = float(ratings.mean()), float(ratings.std())
    inputs = transform(values, features)
    edges = {"a_min": inputs.min(axis=0), "a_max": inputs.max(axis=0)}
    validation = max(recipe.validation, 2 / len(ratings))
    pipelines = []
    for member in range(recipe.members):
        network = MLPRegressor(
            hidden_layer_sizes=recipe.hidden, activation=recipe.activation, alpha=recipe.alpha, early_stopping=True,
            learning_rate_init=recipe.learning_rate, max_iter=recipe.epochs, n_iter_no_change=recipe.patience,
            validation_fraction=validation, batch_size=_batch(len(ratings), validation),
            random_state=int(np.random.SeedSequence([seed, member]).generate_state(1)[0] >> 1),
        )  # fmt: skip
        pipeline = Pipeline([
            ("transform", FunctionTransformer(transform, kw_args={"features": tuple(features)})),
            ("edges", FunctionTransformer(np.clip, kw_args=edges)),
            ("scale", StandardScaler()),
            ("network", network),
        ])  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            pipelines.append(pipeline.fit(values, (ratings - mean) / scale))
    return Fitted(tuple(pipelines), mean, scale)


def to_regressor(fitted: Fitted, values: Matrix, ratings: Matrix, features: Sequence[str], seed: int) -> Regressor:
    """Convert fitted networks, with the scale of the ratings, to arrays, with a background of at most 100 rows of ``values``."""
    first = fitted.pipelines[0].named_steps
    networks = [pipeline.named_steps["network"] for pipeline in fitted.pipelines]
    weights = [np.stack(layers) for layers in zip(*(network.coefs_ for network in networks), strict=True)]
    biases = [np.stack(layers) for layers in zip(*(network.intercepts_ for network in networks), strict=True)]
    weights[-1] = weights[-1] * fitted.scale
    biases[-1] = biases[-1] * fitted.scale + fitted.mean
    chosen = np.sort(np.random.default_rng(seed).permutation(len(values))[:BACKGROUND])
    edges = first["edges"].kw_args
    return Regressor(
        tuple(features), edges["a_min"], edges["a_max"], first["scale"].mean_, first["scale"].scale_, tuple(weights),
        tuple(biases), networks[0].activation, values[chosen], float(ratings.min()), float(ratings.max()),
    )  # fmt: skip


def _batch(items: int, validation: float) -> int:
    """Batch size: small for few items, so that there are enough steps; larger for many, for speed."""

    return min(int(np.clip(items // 10, 16, 512)), items - math.ceil(items * validation))

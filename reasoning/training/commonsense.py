"""Training the commonsense regressor on judged responses, and measuring it on responses that it has not seen.

The measured scores are those of models that were fitted without the response at hand, and by default without any response of its
conversation; the model that is kept is fitted to everything. :func:`contrast` makes judgements out of dialogues that nobody
judged: each response once after its own history, rated 1, and once after another's, rated 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from ..evaluation import Agreement, Judged, evaluate
from ..metrics.commonsense.features import FeatureExtractor
from ..metrics.commonsense.regressor import Matrix, Regressor, transform
from .corpora import Places, Round, conversations, k_folds, random_splits

FEWEST = 30
RESAMPLES = 10_000

Progress = Callable[[str, int, int], None]

_BATCH = 256
_PACKAGES = ("tacit-kg", "scikit-learn", "numpy", "spacy")


class Rated(Protocol):
    """A response with a rating, as :class:`tacit.loaders.Judgement` is one."""

    @property
    def history(self) -> tuple[str, ...]:
        """Turns before the response, oldest first."""

    @property
    def response(self) -> str:
        """The utterance that was rated."""

    @property
    def rating(self) -> float:
        """Of people; finite."""

    @property
    def dataset(self) -> str:
        """Name of what it is part of."""


class Contrasted(NamedTuple):
    """A response after its own history (rating 1) or after one that it was not said to (rating 0)."""

    history: tuple[str, ...]
    response: str
    rating: float
    dataset: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is measured; responses of one conversation are never divided (:mod:`tacit.reasoning.training.corpora`).

    Attributes:
        folds: of a cross-validation in which every response is tested once; None for random splits.
        shares: of random splits: parts for training, for early stopping and for testing.
        rounds: random splits; the predictions for a response that is tested in several of them are averaged.
    """

    folds: int | None = 10
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)
    rounds: int = 10

    def divide(self, items: Sequence[tuple[Sequence[str], str]], seed: int) -> tuple[Places, list[Round]]:
        """Return the conversation of each item and the rounds.

        Raises:
            InputError: the shares are not all above 0 with a sum of 1, or there are too few conversations.
        """
        groups = conversations(items)
        if self.folds is not None:
            return groups, k_folds(groups, self.folds, seed)
        if min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-6 or self.rounds < 1:
            raise InputError(f"a split into {self.shares} in {self.rounds} rounds is impossible; give e.g. 0.8/0.1/0.1")
        return groups, random_splits(groups, self.shares[2], self.rounds, seed)

    def recipe(self, recipe: Recipe) -> Recipe:
        """Return ``recipe`` with the part for early stopping that the shares ask for."""
        if self.folds is not None:
            return recipe
        return replace(recipe, validation=self.shares[1] / (self.shares[0] + self.shares[1]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"folds": self.folds} if self.folds else {"shares": list(self.shares), "rounds": self.rounds}


@dataclass(frozen=True, slots=True)
class Trained:
    """A model with what was measured: ``rows`` say how far predictions for unseen responses agree with people, by data set."""

    model: Regressor
    rows: list[Agreement]
    predictions: Matrix
    conversations: int


def train_commonsense(
    rated: Sequence[Rated],
    features: FeatureExtractor,
    *,
    plan: Plan | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Measure and train a regressor.

    Args:
        rated: responses with finite ratings on one scale, at least thirty.
        features: what the model reads.
        plan: how it is measured: ten folds by conversation by default.
        recipe: how networks are fitted.
        seed: of folds, networks, background sample and resamples; one seed, one model.
        resamples: for the 95% bootstrap intervals.
        facts: what the model's file shall say beside what is known here, plain values for JSON.
        progress: told what is being done, how much of it is done, and how much there is.

    Raises:
        InputError: there are too few responses, a rating is no finite number, all are equal, or the plan cannot be kept.
        ModelError: a language model gives no number.
    """
    plan, recipe = plan or Plan(), recipe or Recipe()
    tell: Progress = progress or (lambda *_: None)
    ratings = np.array([one.rating for one in rated], dtype=np.float64)
    check_ratings(ratings)
    groups, rounds = plan.divide([(one.history, one.response) for one in rated], seed)
    values = _values([Item(tuple(one.history), one.response) for one in rated], features, tell)
    predictions = out_of_fold(values, ratings, rounds, features.features, plan.recipe(recipe), seed, tell)
    judged = [
        Judged(one.dataset, None, one.rating, {"commonsense": prediction})
        for one, prediction in zip(rated, predictions.tolist(), strict=True)
    ]
    rows = evaluate(
        judged, ["commonsense"], resamples=resamples, seed=seed, by_system=False,
        progress=lambda done, total: tell("resampling", done, total),
    )  # fmt: skip
    model = to_regressor(fit(values, ratings, features.features, seed, recipe), values, ratings, features.features, seed)
    known = {
        "judgements": len(rated), "conversations": int(groups.max()) + 1, "seed": seed, "recipe": recipe.to_dict(),
        "plan": plan.to_dict(), "resamples": resamples, "scores": [row.to_dict() for row in rows], **_sources(features),
        "versions": {name: version(name) for name in _PACKAGES}, **(facts or {}),
    }  # fmt: skip
    return Trained(replace(model, facts=known), rows, predictions, known["conversations"])


def check_ratings(ratings: Matrix) -> None:
    """Raise :class:`InputError` when there is nothing to learn from ``ratings``."""
    if len(ratings) < FEWEST:
        raise InputError(f"{len(ratings)} judgements are too few to learn from; give at least {FEWEST}, better hundreds")
    if not np.isfinite(ratings).all():
        raise InputError(f"the rating of judgement {int(np.flatnonzero(~np.isfinite(ratings))[0]) + 1} is no finite number")
    if np.ptp(ratings) == 0:
        raise InputError(f"all ratings are {ratings[0]:g}, so there is nothing to learn; give judgements that differ")


def out_of_fold(
    values: Matrix,
    ratings: Matrix,
    rounds: Sequence[Round],
    features: Sequence[str],
    recipe: Recipe,
    seed: int,
    tell: Progress = lambda *_: None,
) -> Matrix:
    """Return a prediction for each item by models that did not see it, shape (n,); NaN where no round tests it."""
    sums, times = np.zeros(len(ratings)), np.zeros(len(ratings))
    for number, (train, test) in enumerate(rounds):
        if np.ptp(ratings[train]) == 0:
            sums[test] += ratings[train][0]
        else:
            fitted = fit(values[train], ratings[train], features, seed, recipe)
            sums[test] += to_regressor(fitted, values[train], ratings[train], features, seed).predict(values[test])
        times[test] += 1
        tell("cross-validation", number + 1, len(rounds))
    found: Matrix = np.where(times > 0, sums / np.maximum(times, 1), np.nan)
    return found


def contrast(items: Sequence[tuple[Sequence[str], str]], seed: int, dataset: str = "") -> list[Contrasted]:
    """Return each ``(history, response)`` twice: with the response that was given there, and with one from another conversation.

    Args:
        items: of dialogues that people wrote; those with an empty history or response are left out.
        seed: of the choice of the other responses.

    Raises:
        InputError: all items are of one conversation.
    """
    own = [(tuple(history), response) for history, response in items if history and response.strip()]
    groups = conversations(own)
    if len(set(groups.tolist())) < 2:
        raise InputError("responses cannot be contrasted within one conversation; give a file of several dialogues")
    rng = np.random.default_rng(seed)
    found = []
    for place, (history, response) in enumerate(own):
        other = place
        while groups[other] == groups[place]:
            other = int(rng.integers(len(own)))
        found += [Contrasted(history, response, 1.0, dataset), Contrasted(history, own[other][1], 0.0, dataset)]
    return found


def _values(items: Sequence[Item], features: FeatureExtractor, tell: Progress) -> Matrix:
    """Return the features of all items, batch by batch."""
    parts = []
    for start in range(0, len(items), _BATCH):
        parts.append(features.values(items[start : start + _BATCH]))
        tell("features", min(start + _BATCH, len(items)), len(items))
    values: Matrix = np.concatenate(parts)
    return values


def _sources(features: FeatureExtractor) -> dict[str, Any]:
    """Return where the features come from, as the model's file says it."""
    known = dict(features.triples.signature_parts) if features.triples else {}
    found: dict[str, Any] = {
        "graph": known.pop("graph", None), "pipeline": known.pop("pipeline", None), "count": known.pop("count", None),
        "linking": known, "language_model": None,
    }  # fmt: skip
    model = features.language_model
    if model is not None:
        local = Path(model.files.given).is_dir()
        found["language_model"] = {"signature": model.signature, "id": None if local else model.files.name}
    return found


# Fitting the networks of a commonsense regressor with scikit-learn, and copying them into the arrays that score without it.
#
# The pipeline of each network: a fixed transform (``log1p`` of counts and length), each feature kept within the range that was
# seen, standardised, then an MLP that stops early. Several differ in their seed alone (first weights, order of the batches, the
# part that early stopping watches); their mean is the model.

BACKGROUND = 100
FEWEST_TO_FIT = 10


@dataclass(frozen=True, slots=True)
class Recipe:
    """How networks are fitted.

    Attributes:
        hidden: neurons of each hidden layer.
        alpha: weight of the L2 penalty, which keeps a model of few judgements smooth.
        members: networks whose mean is the model.
        activation: ``tanh`` or ``relu``.
        learning_rate: of Adam; epochs: at most; patience: epochs without a better validation score that end the fit.
        validation: share of the training part that early stopping watches.
    """

    hidden: tuple[int, ...] = (4,)
    alpha: float = 1.0
    members: int = 5
    activation: str = "tanh"
    learning_rate: float = 0.01
    epochs: int = 500
    patience: int = 20
    validation: float = 0.1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Pipelines that predict ``(rating - mean) / scale``."""

    pipelines: tuple[Any, ...]
    mean: float
    scale: float

    def predict(self, values: Matrix) -> Matrix:
        """Return what scikit-learn predicts, in ratings; shape (n,)."""
        found: Matrix = np.mean([pipeline.predict(values) for pipeline in self.pipelines], axis=0) * self.scale + self.mean
        return found


def fit(values: Matrix, ratings: Matrix, features: Sequence[str], seed: int, recipe: Recipe) -> Fitted:
    """Fit the networks to ratings.

    Args:
        values: untransformed features, shape (n, k); ratings: shape (n,), not all equal.

    Raises:
        InputError: there are fewer than ten items, a number is not finite, or all ratings are equal.
    """
    if len(ratings) < FEWEST_TO_FIT:
        raise InputError(f"{len(ratings)} judgements are too few to learn from; give at least {FEWEST_TO_FIT}, better hundreds")
    if not np.isfinite(ratings).all() or not np.isfinite(values).all():
        raise InputError("a rating or a feature is no finite number; leave such items out")
    if np.ptp(ratings) == 0:
        raise InputError(f"all ratings are {ratings[0]:g}, so there is nothing to learn; give judgements that differ")
    mean, scale = float(ratings.mean()), float(ratings.std())
    seen = transform(values, features)
    edges = {"a_min": seen.min(axis=0), "a_max": seen.max(axis=0)}
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
    """Copy fitted networks into arrays, with a background sample of ``values`` (all of them when they are few).

    The ratings' mean and scale go into the last layer.
    """
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
    """Items in a batch: few for small files, so that there are steps enough; more for large ones, for speed."""
    return min(int(np.clip(items // 10, 16, 512)), items - math.ceil(items * validation))

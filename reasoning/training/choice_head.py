"""Training of the heads of ``tacit choose``: the model of the judge ``answers``, and the weights of the judges beside it.

Both are logistic regressions on the differences between right and wrong choices of an instance, and all instances weigh the same.
The weights of the judges are fitted on log-odds of ``answers`` by models that have not seen the dialogue, since a model knows the
choices that it was fitted on. Dialogues that share turns are kept together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.questions import Instance, without_speaker
from ..evaluation.resampling import Indices, k_folds
from ..inference.choice_figures import choice_measures, interval
from ..inference.head import Head, Heads, centred, heads_from, joined
from ..inference.judges import FORM, FormModel, Judge, form_of, terms_of
from ..models.modelfile import digest_of
from .checkpoints import StageProgress, stored_arrays
from .choice_probe import pairs_of
from .corpora import clusters, distinctive_turns
from .probes import logistic

Matrix = NDArray[np.float64]

CONTROL = "answers"
RIDGE = 1.0
"""Penalty of the squared weights of judges' features, which are standardised."""

LEAST_GROUPS = 20
FOLDS, INNER = 10, 5
"""Folds for the figures, and for the log-odds of ``answers`` within each."""


class FormSettings(NamedTuple):
    """Settings of the form model.

    Attributes:
        least, dialogues: fewest choices, and dialogues, in which a term occurs; so no dialogue's text is in the model.
        penalty: of the squared weights of standardised features of form, and of words where they occur.
    """

    least: int = 10
    dialogues: int = 5
    penalty: float = 2.0


DEFAULTS = FormSettings()


def fit_form(instances: Sequence[Instance], settings: FormSettings = DEFAULTS) -> FormModel:
    """Fit the model of the judge ``answers`` to right and wrong choices."""
    from scipy.sparse import csr_matrix, hstack

    pairs = pairs_of(instances)
    choices = [(choice, instance.id) for instance in instances for choice in instance.choices]
    terms_of_choices = [terms_of(choice) for choice, _ in choices]
    number = Counter(term for terms in terms_of_choices for term in terms)
    spread = Counter(
        term
        for term, _ in {
            (term, dialogue) for terms, (_, dialogue) in zip(terms_of_choices, choices, strict=True) for term in terms
        }
    )
    frequent = sorted(term for term in number if number[term] >= settings.least and spread[term] >= settings.dialogues)
    column = {term: index for index, term in enumerate(frequent)}
    indices = [[column[term] for term in terms if term in column] for terms in terms_of_choices]
    rows = np.repeat(np.arange(len(indices)), [len(columns) for columns in indices])
    words = csr_matrix((np.ones(len(rows)), (rows, np.concatenate([[], *indices]).astype(int))), (len(choices), len(frequent)))
    form = [form_of(instance.choices) for instance in instances]
    scale = np.concatenate([centred(values) for values in form]).std(axis=0)
    scale[scale < 1e-12] = 1.0
    x = hstack([csr_matrix(np.concatenate(form) / scale), words]).tocsr()
    weights = logistic(x[pairs.right] - x[pairs.wrong], pairs.weights, settings.penalty / len(np.unique(pairs.owner)))
    by_form = {name: round(float(weight), 4) for name, weight in zip(FORM, weights[: len(FORM)] / scale, strict=True)}
    by_term = {term: round(float(weight), 4) for term, weight in zip(frequent, weights[len(FORM) :], strict=True)}
    return FormModel(by_form, by_term, digest_of(json.dumps([by_form, by_term], sort_keys=True).encode()))


def fit_head(features: Sequence[str], values: Sequence[Matrix], correct: Sequence[Sequence[int]]) -> Head:
    """Fit a head: logistic regression on the difference of each right choice and each wrong one of the same instance.

    Each instance has the same weight, whatever its number of pairs; the penalty is :data:`RIDGE` on standardised features.
    ``values`` of an instance have the shape (choices, features).
    """
    differences, weights = [], []
    for instance_values, right in zip(values, correct, strict=True):
        is_right = np.zeros(len(instance_values), dtype=bool)
        is_right[list(right)] = True
        if is_right.any() and not is_right.all():
            pairs = (instance_values[is_right][:, None, :] - instance_values[~is_right][None, :, :]).reshape(
                -1, instance_values.shape[1]
            )
            differences.append(pairs)
            weights.append(np.full(len(pairs), 1 / len(pairs)))
    if not differences:
        raise InputError("no instance has right and wrong choices; give instances with Correct Answers")
    spread = np.concatenate([centred(instance_values) for instance_values in values]).std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0)
    coefficients = logistic(
        np.concatenate(differences) / scale, np.concatenate(weights), RIDGE, maxiter=1000, ftol=1e-13, gtol=1e-9
    )
    return Head(tuple(features), coefficients / scale, "fitted")


def unseen_form(
    instances: Sequence[Instance], groups: Indices, settings: FormSettings = DEFAULTS, *, seed: int = 0
) -> list[Matrix]:
    """Return the log-odds of each instance's choices, shape (choices, 1), by models fitted to the other groups' instances."""
    result: list[Matrix] = [np.empty((0, 1))] * len(instances)
    for fold in k_folds(groups, INNER, seed):
        model = fit_form([instances[index] for index in fold.train.tolist()], settings)
        for index in fold.test.tolist():
            result[index] = model.log_odds(instances[index].choices)[:, None]
    return result


def conversation_groups(instances: Sequence[Instance]) -> Indices:
    """Return what :func:`clusters` returns; raise :class:`InputError` when these are too few to train heads."""
    groups = clusters(instances)
    number = int(groups.max(initial=-1)) + 1
    if number < LEAST_GROUPS:
        raise InputError(
            f"{number} dialogues that share no turn have instances with right and wrong choices; give {LEAST_GROUPS} or more"
        )
    return groups


def without_dialogues(instances: Sequence[Instance], dialogues: Sequence[Sequence[str]]) -> list[Instance]:
    """Return the instances whose dialogues share no turn of six words or more with ``dialogues``."""
    known = distinctive_turns(turn for turns in dialogues for turn in turns)
    return [instance for instance in instances if known.isdisjoint(distinctive_turns(map(without_speaker, instance.dialogue)))]


def measure(judge: Judge, instances: Sequence[Instance], folder: Path, progress: StageProgress | None = None) -> list[Matrix]:
    """Return the features of each instance's choices by a judge; those that are stored in ``folder`` are not measured again."""

    def compute(instance: Instance) -> dict[str, Matrix]:
        [values] = judge.measure([instance])
        return {"features": values}

    signature = judge.signature
    features = []
    for number, instance in enumerate(instances, 1):
        identity = [signature, instance.dialogue, instance.target, instance.question.value, instance.choices]
        features.append(stored_arrays(folder, identity, partial(compute, instance))["features"])
        if progress is not None:
            progress("judging", number, len(instances))
    return features


class JudgeFeatures(NamedTuple):
    """What a judge measured: the names of its features, and for each instance its choices' values."""

    features: tuple[str, ...]
    values: Sequence[Matrix]


def side_by_side(parts: Mapping[str, JudgeFeatures], judges: Sequence[str]) -> tuple[list[str], list[Matrix]]:
    """Return the features ``judge.feature`` of several judges, and their values for each instance."""
    names = [f"{judge}.{name}" for judge in judges for name in parts[judge].features]
    values_of_judges = zip(*(parts[judge].values for judge in judges), strict=True)
    return names, [np.concatenate(values, axis=1) for values in values_of_judges]


class CrossFit:
    """The log-odds of ``answers`` for one division of the instances into those to fit and those to judge."""

    def __init__(
        self,
        instances: Sequence[Instance],
        groups: Indices,
        train: Indices,
        test: Indices,
        settings: FormSettings = DEFAULTS,
        seed: int = 0,
    ) -> None:
        """Fit the form model to the instances at ``train``, and to parts of them for their own log-odds."""
        self.train, self.test = train.tolist(), test.tolist()
        known = [instances[index] for index in self.train]
        _, numbers = np.unique(groups[train], return_inverse=True)
        model = fit_form(known, settings)
        self.form: dict[int, Matrix] = dict(zip(self.train, unseen_form(known, numbers, settings, seed=seed), strict=True))
        self.form |= {index: model.log_odds(instances[index].choices)[:, None] for index in self.test}

    def scores(
        self, instances: Sequence[Instance], parts: Mapping[str, JudgeFeatures], judges: Sequence[str]
    ) -> list[list[float]]:
        """Return the scores of the choices at ``test`` by a head of these judges that was fitted at ``train``."""
        indices = [*self.train, *self.test]
        own = {name: JudgeFeatures(part.features, [part.values[index] for index in indices]) for name, part in parts.items()}
        own[CONTROL] = JudgeFeatures(("form",), [self.form[index] for index in indices])
        features, values = side_by_side(own, judges)
        head = fit_head(features, values[: len(self.train)], [instances[index].correct for index in self.train])
        return [head.scores(choice_values).tolist() for choice_values in values[len(self.train) :]]


def train_heads(
    instances: Sequence[Instance],
    parts: Mapping[str, JudgeFeatures],
    *,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress | None = None,
) -> Heads:
    """Return heads for ``answers`` and the judges of ``parts``, one for each choice of them.

    Their figures are measured on dialogues that were left out of the fit of a head. ``progress`` is called with ``fitting``, the
    number of folds done, and their total.
    """
    groups = conversation_groups(instances)
    report = progress or (lambda *_: None)
    judges = [CONTROL, *parts]
    reported = [tuple(judges[:size]) for size in range(1, len(judges) + 1)]
    scores: dict[tuple[str, ...], list[list[float]]] = {group: [[]] * len(instances) for group in reported}
    for number, fold in enumerate(k_folds(groups, FOLDS, seed), 1):
        cross_fit = CrossFit(instances, groups, fold.train, fold.test, seed=seed)
        for group in reported:
            for index, fold_scores in zip(cross_fit.test, cross_fit.scores(instances, parts, group), strict=True):
                scores[group][index] = fold_scores
        report("fitting", number, FOLDS + 1)
    everything = dict(parts) | {CONTROL: JudgeFeatures(("form",), unseen_form(instances, groups, seed=seed))}
    weights = {}
    for size in range(1, len(judges) + 1):
        for group in combinations(judges, size):
            names, values = side_by_side(everything, group)
            head = fit_head(names, values, [instance.correct for instance in instances])
            weights[joined(group)] = {name: round(float(weight), 4) for name, weight in zip(names, head.weights, strict=True)}
    report("fitting", FOLDS + 1, FOLDS + 1)
    measured = {" + ".join(group): _figures(instances, groups, group_scores) for group, group_scores in scores.items()}
    form = fit_form(instances)
    heads = Heads(
        form, weights,
        {
            **(facts or {}), "instances": len(instances), "dialogues": len({instance.id for instance in instances}), "seed": seed,
            "clusters": int(groups.max()) + 1, "judges": judges, "limits": DEFAULTS._asdict(), "terms": len(form.terms),
            "measured": measured,
        },
    )  # fmt: skip
    return heads_from(heads.to_bytes(), "the trained head")


def _figures(instances: Sequence[Instance], groups: Indices, scores: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    """Return exact matches and pair AUC, each with its interval over groups."""
    measures = choice_measures(instances, scores)
    names = [str(group) for group in groups.tolist()]
    return {
        name: [round(value, 4) for value in interval(measures[:, index], names)] for name, index in (("exact", 1), ("auc", 4))
    }

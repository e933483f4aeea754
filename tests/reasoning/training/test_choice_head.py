"""Heads of choices: the form model against scikit-learn, groups of dialogues by hand, what is left out of a fit, and the file."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tacit.graph.errors import InputError, ModelError
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.inference.head import FILE, SHIPPED, centred, open_heads, shipped_heads
from tacit.reasoning.inference.judges import FORM, AnswerOnly, FormModel, form_of, terms_of
from tacit.reasoning.training.card import choice_head_card
from tacit.reasoning.training.choice_head import (
    CrossFit,
    FormSettings,
    JudgeFeatures,
    fit_form,
    fit_head,
    measure,
    train_heads,
    unseen_form,
    without_dialogues,
)
from tacit.reasoning.training.corpora import clusters

LONG = "we are going to the sea tomorrow"
ROWS = [
    Instance(
        f"d{number}", [f"A: {LONG} {number} .", "B: ok"], f"{LONG} {number} .", "cause",
        [f"he buys {'a boat' if number % 4 else 'no boat'}", f"he {'sells' if number % 3 else 'sinks'} a boat", "she is out"],
        (0, 1) if number % 5 == 0 else (0,),
    )
    for number in range(24)
]  # fmt: skip
SMALL = FormSettings(least=2, dialogues=2, penalty=2.0)


def test_the_form_model_is_the_logistic_regression_of_pairs() -> None:
    model = fit_form(ROWS, SMALL)
    words = ["he", "buys", "a", "boat", "no", "sells", "sinks", "she", "is", "out"]
    pairs_of_words = [
        "he buys",
        "buys a",
        "a boat",
        "buys no",
        "no boat",
        "he sells",
        "he sinks",
        "sells a",
        "sinks a",
        "she is",
        "is out",
    ]
    vocabulary = sorted([*words, *pairs_of_words])
    assert sorted(model.terms) == vocabulary
    assert "sinks" not in fit_form(ROWS, FormSettings(least=9, dialogues=1)).terms  # it occurs eight times
    values = [
        np.hstack([form_of(row.choices), [[float(term in terms_of(choice)) for term in vocabulary] for choice in row.choices]])
        for row in ROWS
    ]
    scale = np.ones(len(FORM) + len(vocabulary))
    scale[: len(FORM)] = np.concatenate([centred(row_values) for row_values in values]).std(axis=0)[: len(FORM)]
    scale[scale == 0] = 1
    pairs, weights = [], []
    for row_values, row in zip(values, ROWS, strict=True):
        wrong = [index for index in range(3) if index not in row.correct]
        mine = [(row_values[good] - row_values[bad]) / scale for good, bad in product(row.correct, wrong)]
        pairs += mine
        weights += [1 / len(mine)] * len(mine)
    oracle = LogisticRegression(C=0.5 / SMALL.penalty, fit_intercept=False, tol=1e-10, max_iter=2000)
    oracle.fit(np.concatenate([pairs, -np.array(pairs)]), np.repeat([1, 0], len(pairs)), sample_weight=[*weights, *weights])
    assert [*model.form.values()] == pytest.approx(oracle.coef_[0][: len(FORM)] / scale[: len(FORM)], abs=2e-3)
    assert [model.terms[term] for term in vocabulary] == pytest.approx(oracle.coef_[0][len(FORM) :], abs=2e-3)


def test_dialogues_that_share_turns_are_one_group() -> None:
    def of(name: str, *turns: str) -> Instance:
        return Instance(name, turns, turns[0], "cause", ["a", "b"], (0,))

    rows = [
        of("a", f"A: {LONG}", "B: hi"), of("b", "A: hi"),
        of("c", "B: We are going to the sea, tomorrow!", "A: it is far to go there"),
        of("d", "A: It is far to go there."), of("a", f"A: {LONG}", "B: hi"),
    ]  # fmt: skip
    assert clusters(rows).tolist() == [0, 1, 0, 0, 0]
    assert [instance.id for instance in without_dialogues(rows, [["no", "It is far to go there"]])] == ["a", "b", "a"]


def test_models_are_measured_on_held_out_dialogues() -> None:
    """Choices with words of their own are told apart by a model that was fitted to their dialogue, and by no other."""
    rows = [Instance(f"d{n}", ["A: hi"], "hi", "cause", [f"w{chr(97 + n)} x", f"v{chr(97 + n)} x"], (n % 2,)) for n in range(20)]
    own = FormSettings(least=1, dialogues=1)
    groups = np.arange(20)
    known = fit_form(rows, own)
    assert all((np.diff(known.log_odds(entry.choices))[0] > 0) == (entry.correct == (1,)) for entry in rows)
    assert all(abs(np.diff(scores[:, 0])[0]) < 1e-9 for scores in unseen_form(rows, groups, own))
    split = CrossFit(rows, groups, np.arange(15), np.arange(15, 20), own)
    assert max(abs(np.diff(scores[:, 0])[0]) for scores in split.form.values()) < 1e-9
    parts = {
        "other": JudgeFeatures(
            ("x",), [np.array([[1.0], [0.0]]) if entry.correct == (0,) else np.array([[0.0], [1.0]]) for entry in rows]
        )
    }
    assert [int(np.argmax(scores)) for scores in split.scores(rows, parts, ["answers", "other"])] == [
        row.correct[0] for row in rows[15:]
    ]


def test_heads_for_each_choice_of_judges(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    values = [random.normal(size=(3, 2)) + [[index in instance.correct] for index in range(3)] for instance in ROWS]
    apart = [
        Instance(instance.id, [f"A: {number} {number} ."], instance.target, instance.question, instance.choices, instance.correct)
        for number, instance in enumerate(ROWS)
    ]
    heads = train_heads(apart, {"graph": JudgeFeatures(("one", "two"), values)}, facts={"licence": "none"})
    assert set(heads.weights) == {"answers", "graph", "answers + graph"}
    alone = fit_head(("graph.one", "graph.two"), values, [instance.correct for instance in apart])
    assert heads.head(["graph.one", "graph.two"]).weights == pytest.approx(alone.weights, abs=1e-4)
    both = heads.head(["answers.form", "graph.one", "graph.two"])
    assert heads.head(["graph.one", "graph.two", "answers.form"]).weights.tolist() == [*both.weights[1:], both.weights[0]]
    added = heads.head(["graph.one", "graph.two", "probe.odds"])
    assert added.weights.tolist() == [*both.weights[1:], 1.0]
    assert set(heads.facts["measured"]) == {"answers", "answers + graph"}
    low, high = heads.facts["measured"]["answers + graph"]["auc"][1:]
    assert 0.5 < low <= high <= 1
    (tmp_path / FILE).write_bytes(heads.to_bytes())
    again = open_heads(tmp_path)
    assert (again.digest, again.form.digest) == (heads.digest, heads.form.digest)
    assert load_chooser(None, ["answers"], head=tmp_path).judges["answers"].signature == AnswerOnly(heads.form).signature
    for text in ("{}", "[", (tmp_path / FILE).read_text(encoding="utf-8").replace('"length": ', '"longer": ')):
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        with pytest.raises(ModelError, match=r"is not a file of heads .*tacit train choice-head wrote"):
            open_heads(tmp_path)
    with pytest.raises(InputError, match=r"1 dialogues that share no turn .* give 20 or more"):
        train_heads(
            [
                Instance(instance.id, ROWS[0].dialogue, instance.target, instance.question, instance.choices, instance.correct)
                for instance in ROWS
            ],
            {},
        )


def test_an_interrupted_measurement_continues(tmp_path: Path) -> None:
    folder, calls = tmp_path / "values", []

    class Counting(AnswerOnly):
        def measure(self, instances):  # type: ignore[no-untyped-def]
            calls.extend(instances)
            return super().measure(instances)

    judge = Counting(FormModel(dict.fromkeys(FORM, 1.0), {}))
    whole = measure(judge, ROWS, folder)
    for file in sorted(folder.iterdir())[20:]:
        file.unlink()
    calls.clear()
    assert [array.tolist() for array in measure(judge, ROWS, folder)] == [array.tolist() for array in whole]
    assert len(calls) == 4
    calls.clear()
    measure(judge, ROWS, folder)
    assert not calls


def test_the_shipped_heads() -> None:
    heads = shipped_heads()
    assert (SHIPPED / "README.md").read_text(encoding="utf-8") == choice_head_card(heads, path=None)
    assert heads.facts["limits"] == {"least": 10, "dialogues": 5, "penalty": 2.0}
    assert max(len(term.split()) for term in heads.form.terms) <= 2

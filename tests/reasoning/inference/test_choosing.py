"""Choices: judges worked out by hand, the head against exhaustive Shapley values and scikit-learn, figures by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import log, log1p

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tacit.graph import Assertion, KnowledgeGraph
from tacit.graph.cypher_store import claim_query
from tacit.graph.errors import GraphNotFound, InputError
from tacit.graph.names import concept_uri, event_uri
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choice_figures import choice_measures, chosen, interval
from tacit.reasoning.inference.choosing import NO_EDGE, Chooser, Chosen, load_chooser
from tacit.reasoning.inference.graph_judge import GraphJudge
from tacit.reasoning.inference.head import Head, centred
from tacit.reasoning.inference.judges import AnswerOnly, FormModel, Similarity, form_of
from tacit.reasoning.metrics.commonsense.regressor import shapley_values
from tacit.reasoning.training.choice_head import RIDGE, fit_head

from tests.reasoning.metrics.accent.world import WordEncoder

GraphOf = Callable[[Iterable[Assertion]], KnowledgeGraph]

EVENTS = (
    ("PersonX buys a ticket", "xWant", "to board the train"),
    ("PersonX buys a ticket", "xReact", "happy"),
    ("PersonX buys a ticket", "oReact", "angry"),
    ("PersonX buys a ticket", "HinderedBy", "PersonX has no money"),
)
CONCEPTS = (("ticket", "UsedFor", "travel", 2.0), ("buy", "Antonym", "sell", 1.0), ("zebra", "IsA", "animal", 1.0))
TICKET = Instance(
    "d-1", ["A: Hello .", "B: I will buy a ticket ."], "I will buy a ticket .", "subsequent",
    ["The speaker boards the train.", "The speaker does not board the train.", "The speaker sells it.", "Zorble."], (0,),
)  # fmt: skip


@pytest.fixture
def graph(graph_of: GraphOf) -> KnowledgeGraph:
    rows = [Assertion(event_uri(h), r, event_uri(t), 1.0, "atomic2020", "t.tsv") for h, r, t in EVENTS]
    return graph_of(rows + [Assertion(concept_uri(h), r, concept_uri(t), w, "conceptnet", "/d/t") for h, r, t, w in CONCEPTS])


def test_the_control_reads_the_choices_alone() -> None:
    choices = ("He is not here.", "She refused.", "He is here.")
    expected = [(log(16), 1, 0, (0 / 6 + 3 / 4) / 2), (log(13), 0, 1, 0.0), (log(12), 0, 0, (3 / 4 + 0 / 5) / 2)]
    assert form_of(choices) == pytest.approx(np.array(expected))
    model = FormModel({"length": 1.0, "denials": -2.0, "opposing": -0.5, "shared": 0.0}, {"he is": 0.25, "is": -3.0, "x": 9.0})
    [features] = AnswerOnly(model).measure([Instance("d", ["A: Hi ."], "Hi .", "cause", choices)])
    assert features[:, 0] == pytest.approx([log(16) - 2 - 2.75, log(13) - 0.5, log(12) - 2.75])


def test_apostrophes_do_not_matter() -> None:
    choices = ["He doesn't like it.", "He can't go.", "Others won't."]
    assert np.array_equal(form_of(choices), form_of([choice.replace("'", "’") for choice in choices]))
    assert form_of(choices)[:, 1].tolist() == [1, 1, 1]


def test_similarity_equals_the_cosine_of_the_encoder() -> None:
    encoder = WordEncoder()
    instance = Instance("d", ["A: red", "B: green blue"], "red", "cause", ["red", "green blue"])
    [features] = Similarity(encoder).measure([instance])  # type: ignore[arg-type]
    cosine = float(encoder.encode(["red"])[0] @ encoder.encode(["green blue"])[0])
    assert features == pytest.approx(
        np.array([(1, (1 + cosine) / 2, 1, cosine), (cosine, (1 + cosine) / 2, 1, 1)]), abs=1e-6
    )  # fmt: skip


def test_graph_features_count_for_and_against_a_choice(graph: KnowledgeGraph) -> None:
    chooser = load_chooser(graph, ["graph"])
    judge = chooser.judges["graph"]
    assert isinstance(judge, GraphJudge)
    boards, denies, sells, nothing = judge.grounds(TICKET)
    names = judge.features
    first, second = dict(zip(names, boards.values, strict=True)), dict(zip(names, denies.values, strict=True))
    assert first["answered"] == 1.0
    assert (second["answered"], second["hindered"]) == (0.0, pytest.approx(first["answered"], abs=0.5))
    assert [(edge.text, edge.direction) for edge in boards.evidence] == [
        ("PersonX buys a ticket -xWant-> to board the train", "for")
    ]
    assert denies.evidence[0].direction == "against"
    assert dict(zip(names, sells.values, strict=True))["opposed"] == pytest.approx(log1p(1))
    assert [(edge.text, edge.direction) for edge in sells.evidence] == [("buy -Antonym-> sell", "against")]
    assert nothing == ((0.0,) * len(names), ())
    for ground in (boards, sells):
        for edge in ground.evidence:
            [row] = graph.run(claim_query().text, edge.parameters).records()
            assert row["relation"] == edge.edge.assertions[0].relation


def test_emotions_agree_or_disagree(graph: KnowledgeGraph) -> None:
    chooser, column = load_chooser(graph, ["graph"]), GraphJudge.features.index("feeling")
    felt = ["The listener is furious.", "The listener is glad.", "Zorble."]
    for target, expected in ((TICKET.target, [1, -1, 0]), ("You should buy a ticket .", [-1, 1, 0])):
        [values] = chooser.values([Instance("d", [f"B: {target}"], target, "reaction", felt)])
        assert values[:, column].tolist() == expected


def test_a_row_has_scores_shares_and_edges(graph: KnowledgeGraph) -> None:
    chooser = load_chooser(graph)
    [row] = chooser.choose([TICKET])
    assert len(row.scores) == 4
    assert row.chosen == chosen(row.scores)
    assert 0 in row.chosen
    assert sum(row.scores) == pytest.approx(0, abs=1e-9)
    for score, choice in zip(row.scores, row.choices, strict=True):
        assert score == choice.score == pytest.approx(sum(choice.shares.values()))
        assert set(choice.shares) == {"answers", "graph"}
    assert [choice.note for choice in row.choices] == ["", "", "", NO_EDGE]
    assert Chosen.from_dict(row.to_dict()) == row
    assert list(chooser.stream([TICKET] * 70))[69] == row
    assert chooser.choose([TICKET], 1)[0].chosen == (int(np.argmax(row.scores)),)
    hidden = Instance("d-1", TICKET.dialogue, TICKET.target, TICKET.question, TICKET.choices)
    assert chooser.choose([hidden]) == [row]


def test_invalid_choosers_are_refused(graph: KnowledgeGraph) -> None:
    for call, message in (
        (lambda: load_chooser(graph, ["grahp"]), "unknown judge 'grahp'; did you mean graph"),
        (lambda: load_chooser(graph, ["graph", "graph"]), "named twice"),
        (lambda: load_chooser(None), "the judge graph needs a graph"),
        (lambda: load_chooser(None, ["likelihood"]), "the judge likelihood needs a language model"),
        (lambda: load_chooser(None, ["yes-no"]), "the judge yes-no needs a language model"),
        (lambda: load_chooser(None, ["answers"], encoder="default"), "the judge similarity is not named"),
        (lambda: load_chooser(None, ["answers"], model="folder"), "no judge that uses it is named"),
        (lambda: load_chooser(None, []), "there is no judge"),
        (lambda: load_chooser(None, ["answers"]).choose([TICKET], 0), "must be >= 1"),
        (
            lambda: Chooser({"answers": AnswerOnly(FormModel({}, {}))}, Head(("a",), np.zeros(1), "x")),
            "the head x has other features",
        ),
    ):
        with pytest.raises(InputError, match=message):
            call()
    with pytest.raises(GraphNotFound):
        load_chooser("no-such-graph")


# The head.


def test_shares_are_the_shapley_values() -> None:
    rng = np.random.default_rng(0)
    head = Head(("a", "b", "c"), rng.normal(size=3), "x")
    values = rng.normal(size=(5, 3))
    exact, base = shapley_values(lambda rows: rows @ head.weights, values, values)
    assert head.shares(values) == pytest.approx(exact)
    assert head.scores(values) == pytest.approx(values @ head.weights - base)


def test_a_fitted_head_is_the_logistic_regression_of_pairs() -> None:
    rng = np.random.default_rng(1)
    values = [rng.normal(size=(int(rng.integers(3, 6)), 3)) * (1, 10, 0.1) for _ in range(80)]
    correct = [sorted(np.argsort(-(rows @ (1, -0.1, 5) + rng.normal(size=len(rows))))[:2].tolist()) for rows in values]
    head = fit_head(("a", "b", "c"), values, correct)
    scale = np.concatenate([centred(rows) for rows in values]).std(axis=0)
    pairs, weights = [], []
    for rows, right in zip(values, correct, strict=True):
        wrong = [index for index in range(len(rows)) if index not in right]
        mine = [(rows[good] - rows[bad]) / scale for good, bad in product(right, wrong)]
        pairs += mine
        weights += [1 / len(mine)] * len(mine)
    both = np.concatenate([pairs, -np.array(pairs)])
    labels = np.repeat([1, 0], len(pairs))
    oracle = LogisticRegression(C=0.5 / RIDGE, fit_intercept=False, tol=1e-10, max_iter=1000)
    oracle.fit(both, labels, sample_weight=np.concatenate([weights, weights]))
    assert head.weights * scale == pytest.approx(oracle.coef_[0], abs=1e-4)
    assert (np.sign(head.weights) == (1, -1, 1)).all()
    assert np.array_equal(fit_head(("a", "b", "c"), values, correct).weights, head.weights)
    with pytest.raises(InputError, match="no instance has right and wrong choices"):
        fit_head(("a",), [np.zeros((2, 1))], [(0, 1)])


# The figures.


def test_figures_by_hand() -> None:
    instance = Instance("d", ["A: Hi ."], "Hi .", "cause", ["a", "b", "c", "d"], (0, 1))
    two = Instance("e", ["A: Hi ."], "Hi .", "reaction", ["a", "b", "c", "d", "e"], (0, 2, 4))
    result = choice_measures([instance, two], [[3, 2, 1, 0], [1, 1, 0, 2, 5]])
    assert result.tolist() == [[1, 1, 1, 1, 1], [1, 0, 0, 2 / 3, (0.5 + 0 + 0 + 0 + 1 + 1) / 6]]
    assert chosen([1, 1, 1]) == (0, 1)
    assert chosen([0, 5, 1], 1) == (1,)
    with pytest.raises(InputError, match="has 0 right of 4"):
        choice_measures([Instance("f", ["A: Hi ."], "Hi .", "cause", ["a", "b", "c", "d"])], [[0, 0, 0, 0]])


def test_intervals_resample_dialogues() -> None:
    values, dialogues = np.array([1.0, 0.9, 0.1, 0.3, 0.6, 0.2, 0.8, 0.5]), list("aabccdee")
    result = interval(values, dialogues)
    assert result.value == pytest.approx(values.mean())
    parts = {name: values[[other == name for other in dialogues]] for name in "abcde"}
    means = [np.concatenate([parts[name] for name in drawn]).mean() for drawn in product("abcde", repeat=5)]
    assert (result.low, result.high) == pytest.approx((np.quantile(means, 0.025), np.quantile(means, 0.975)), abs=0.02)
    assert interval(values, dialogues) == result
    assert interval(np.zeros(8), dialogues, resamples=10) == (0, 0, 0)

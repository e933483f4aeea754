"""Streams of items: input order, bounded batches, rows for what cannot be scored, one clear end when the graph goes away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tacit.graph.errors import GraphUnavailable, InputError
from tacit.graph.item import Item
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning import load_metric, score_items
from tacit.reasoning.base import ItemLike, Metric, Score
from tacit.reasoning.metrics.grounding import Grounding
from tacit.reasoning.text.idf import IdfTable
from tacit.reasoning.text.language import SpacyAnalyser

from tests.networkx_oracle import OracleGraph

ITEMS: list[tuple[Any, Any, Any]] = [
    ("one", ["i have a dog"], "give it a bone"),
    ("two", "i have a dog", "give it a bone"),
    ("three", ["i have a dog"], None),
    (4, [], ""),
    ("five", ["hot dogs"], "😀 the food"),
    ("six", ["i have a dog", 6], "give it a bone"),
    ("seven", ("my puppies ate ice-cream",), "the refrigerator is empty"),
] * 9


TALK = IdfTable(9, {"moon": 7, "dog": 1})  # an eighth of the background is dog, which is next to bone


@pytest.fixture(scope="module")
def metric(oracle: OracleGraph, analyser: SpacyAnalyser) -> Metric:
    return Grounding(oracle, analyser, talk=TALK)


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_rows_are_in_input_order_at_any_batch_size(graph: KnowledgeGraph, analyser: SpacyAnalyser, batch_size: int) -> None:
    metric = Grounding(graph, analyser, talk=TALK)
    rows = [row.to_dict(explain=True) for row in score_items(ITEMS, [metric], batch_size=batch_size, explain=True)]
    assert [row["id"] for row in rows] == [identity for identity, _, _ in ITEMS]
    assert rows[:7] * 9 == rows
    assert rows[0]["scores"] == {"grounding": 7 / 8}
    assert rows[0]["signature"] == {"grounding": str(metric.signature)}
    assert rows[0]["evidence"]["grounding"]["pieces"][0]["path"]["text"] == "dog -Desires-> bone"
    assert rows[1] == {"id": "two", "error": "the history is one text; give a list of turns, oldest first"}
    assert rows[2] == {"id": "three", "error": "the response is of type NoneType; give a text"}
    assert rows[3]["scores"] == {"grounding": None}
    assert rows[5] == {"id": "six", "error": "turn 2 of the history is of type int; give a text"}
    for (_, history, response), row in zip(ITEMS, rows, strict=True):
        if "error" not in row:
            assert row["scores"]["grounding"] == metric.score(history, response).to_dict()["value"]
    json.dumps(rows)


def test_evidence_only_on_demand(metric: Metric) -> None:
    (row,) = score_items(ITEMS[:1], [metric])
    assert set(row.to_dict()) == {"id", "scores", "percentiles", "signature"}


def test_items_are_read_one_batch_at_a_time(metric: Metric) -> None:
    taken = 0

    def endless() -> Iterator[tuple[int, list[str], str]]:
        nonlocal taken
        while True:
            taken += 1
            yield taken, ["i have a dog"], "a bone"

    rows = score_items(endless(), [metric], batch_size=5)
    assert [next(rows).id for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert taken == 10


@pytest.mark.parametrize(("asked", "taken"), [((9,), 9), ((9, 4), 4), ((None,), 256), ((9, None), 9), ((300, None), 256)])
def test_the_smallest_batch_size_of_the_metrics_is_used(metric: Metric, asked: tuple[int | None, ...], taken: int) -> None:
    class Named:
        """The metric under another name, with or without a word on how many it wants."""

        def __init__(self, name: str, batch_size: int | None) -> None:
            self.name, self.signature, self.score = name, metric.signature, metric.score
            if batch_size is not None:
                self.batch_size = batch_size

        def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
            sizes.append(len(items))
            return metric.score_batch(items, explain=explain)

    sizes: list[int] = []
    items = [("id", ["i have a dog"], "a bone")] * (taken + 1)
    rows = list(score_items(items, [Named(f"metric {index}", size) for index, size in enumerate(asked)]))
    assert len(rows) == len(items)
    assert sizes == [taken] * len(asked) + [1] * len(asked)


def test_wrong_settings_are_refused(metric: Metric) -> None:
    with pytest.raises(InputError, match="batch size must be >= 1, not 0"):
        score_items([], [metric], batch_size=0)
    with pytest.raises(InputError, match="at least one"):
        score_items([], [])
    with pytest.raises(InputError, match="each only once"):
        score_items([], [metric, metric])
    assert list(score_items([], [metric])) == []


class Leaving(OracleGraph):
    """A graph whose server goes away after a few answers."""

    answers = 3

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = 6, *, language: str = "en"
    ) -> NDArray[np.int8]:
        self.answers -= 1
        if self.answers < 0:
            raise GraphUnavailable("the server at bolt://localhost does not answer; start it and score again")
        return super().hop_distances(sources, targets, max_hops, language=language)


def test_a_lost_graph_ends_the_run_without_wrong_scores(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    metric = load_metric("grounding", Leaving(oracle.rows), pipeline=analyser)
    whole = load_metric("grounding", oracle, pipeline=analyser)
    rows: list[dict[str, Any]] = []
    with pytest.raises(GraphUnavailable, match="does not answer"):
        rows.extend(row.to_dict() for row in score_items(ITEMS, [metric], batch_size=2))
    assert rows == [row.to_dict() for row in score_items(ITEMS[: len(rows)], [whole])]
    assert 0 < len(rows) < len(ITEMS)


class Length:
    """A second metric, for rows with two."""

    name = "length"

    def __init__(self, like: Metric) -> None:
        self.signature = like.signature
        self.like = like

    def score(self, history: Sequence[str], response: str, *, explain: bool = False) -> Score:
        return self.score_batch([(history, response)], explain=explain)[0]

    def score_batch(self, items: Sequence[ItemLike], *, explain: bool = False) -> list[Score]:
        scores = self.like.score_batch(items, explain=explain)
        responses = [item.response if isinstance(item, Item) else item[1] for item in items]
        return [Score(float(len(text)), score.evidence, self.signature) for text, score in zip(responses, scores, strict=True)]


def test_several_metrics_share_a_row(metric: Metric) -> None:
    rows = [row.to_dict() for row in score_items(ITEMS[:3], [metric, Length(metric)])]  # type: ignore[list-item]
    assert rows[0]["scores"] == {"grounding": 7 / 8, "length": 14.0}
    assert "error" in rows[1]

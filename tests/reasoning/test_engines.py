"""Every score is the same from an index and from a store alone, on the embedded engine and on Neo4j."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tacit.graph import Assertion, KnowledgeGraph, open_graph
from tacit.graph.open import index_of
from tacit.loaders import build_vectors, open_vectors
from tacit.reasoning import load_metric
from tacit.reasoning.filtering import TripleFilter
from tacit.reasoning.metrics.accent.scorers.compatibility import Compatibility
from tacit.reasoning.metrics.accent.scorers.resources import ScorerResources
from tacit.reasoning.text.language import SpacyAnalyser

from tests.conftest import GraphOf
from tests.cypher.test_cookbook import sample_rows
from tests.reasoning.metrics.accent.world import WordEncoder
from tests.reasoning.metrics.accent.world import world as events

ITEMS = [
    (["I bought a dog yesterday.", "What will you do now?"], "I want to feed the dog and go to the park, I am happy."),
    (["My dog wants a bone."], "Give the puppy some food, it is hungry."),
    (["I woke up late today."], "You must be tired. I was late for work and felt bad."),
    (["It is raining.", "I lost my umbrella."], "Then you get wet. A hot dog would make me happy."),
    (["I cooked dinner for my friend."], "She was grateful, and I ate the food at home."),
    (["The moon is a satellite."], "I like ice cream for dessert."),
]
METRICS = ("grounding", "commonsense", "grade", "grade with a table", "accent", "filter")


@pytest.fixture(scope="module")
def rows(world: list[Assertion]) -> list[Assertion]:
    """The sample graph, the small worlds of other tests, and what a model generated or another wording turns around."""
    more = [
        Assertion("/e/PersonX_wakes_up_late", "isBefore", "/e/PersonX_is_late_for_work", 1.0, "atomic2020", "more.tsv"),
        Assertion("/e/PersonX_cooks_dinner", "xReact", "/e/grateful", 1.0, "comet:small", "", rank=0, score=-0.1),
    ]
    return [*sample_rows(), *world, *events(), *more]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("torch")
    from tacit.reasoning.models.encoder import open_encoder

    from tests.reasoning.models.tiny_encoder import save_tiny_encoder

    return open_encoder(save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",)))


@pytest.fixture(scope="module")
def reference(rows: list[Assertion], tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    """The graph as :func:`open_graph` opens it by default."""
    with open_graph(tmp_path_factory.mktemp("reference") / "graph", create=True) as graph:
        graph.load(rows)
        yield graph


@pytest.fixture(scope="module")
def vectors(reference: KnowledgeGraph, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table with a vector for every other concept."""
    index = index_of(reference)
    assert index is not None
    folder, random = tmp_path_factory.mktemp("vectors"), np.random.default_rng(1)
    terms = sorted(index.uris())[::2]
    values = (" ".join(f"{value:.3f}" for value in row) for row in random.normal(size=(len(terms), encoder.dimension)))
    (folder / "table.txt").write_text("".join(f"{term} {row}\n" for term, row in zip(terms, values, strict=True)))
    build_vectors(folder / "table.txt", index.uris(), folder / "built")
    return open_vectors(folder / "built")


class Scores:
    """Values of all items by one metric, over any graph; models and analyser are shared."""

    def __init__(self, reference: KnowledgeGraph, analyser: SpacyAnalyser, encoder: Any, vectors: Any) -> None:
        from tests.reasoning.metrics.grade.tiny_grade import tiny_checkpoint

        self.analyser, self.encoder, self.vectors, self.words = analyser, encoder, vectors, WordEncoder()
        plain = tiny_checkpoint(reference, analyser, encoder)
        table = replace(plain, vectors=f"table:{vectors.sha256[:12]}")
        self.checkpoints = {"grade": plain, "grade with a table": table}

    def of(self, name: str, graph: KnowledgeGraph) -> list[Any]:
        if name == "filter":
            dialogues = [[*history, response] for history, response in ITEMS]
            return [
                [match.assertion.weight for match in matches] for matches in TripleFilter(graph, self.analyser).matches(dialogues)
            ]
        options: dict[str, Any] = {"pipeline": self.analyser} if name != "accent" else {}
        if name == "accent":
            resources = ScorerResources(graph, encoder=self.words)
            tails = resources.tails(nearest=2, threshold=0.2)
            options["scorer"] = Compatibility(tails, resources.embed, resources.relations(), encoder="words")
        elif name != "grounding" and name != "commonsense":
            options |= {"model": self.checkpoints[name], "encoder": self.encoder}
            options |= {"vectors": self.vectors} if name != "grade" else {}
        metric = load_metric(name.split()[0], graph, **options)
        return [score.value for score in metric.score_batch(ITEMS)]


@pytest.fixture(scope="module")
def scores(reference: KnowledgeGraph, analyser: SpacyAnalyser, encoder: Any, vectors: Any) -> Scores:
    return Scores(reference, analyser, encoder, vectors)


@pytest.fixture(scope="module")
def expected(scores: Scores, reference: KnowledgeGraph) -> dict[str, list[Any]]:
    return {name: scores.of(name, reference) for name in METRICS}


def test_every_metric_gives_scores_on_the_sample(expected: dict[str, list[Any]]) -> None:
    """Otherwise the comparison below would compare nothing."""
    assert sum(map(len, expected["filter"])) >= 3
    for name in METRICS[:-1]:
        values = expected[name]
        assert len({round(value, 6) for value in values if value == value}) >= 3, name


def test_scores_are_equal_over_every_engine(
    graph_of: GraphOf, rows: list[Assertion], scores: Scores, expected: dict[str, list[Any]]
) -> None:
    graph = graph_of(rows)
    for name in METRICS:
        scores_found = scores.of(name, graph)
        assert len(scores_found) == len(expected[name])
        for first, second in zip(scores_found, expected[name], strict=True):
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-9, err_msg=name)

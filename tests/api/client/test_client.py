"""The client: the same answers from the library, from the service in this process and at a socket, plain and awaited."""

from __future__ import annotations

import asyncio
import gzip
import inspect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from tacit.api import AsyncClient, Client
from tacit.api.client.methods import Methods
from tacit.api.server import create_app
from tacit.cypher import cookbook
from tacit.graph import (
    InputError,
    KnowledgeGraph,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    UnknownName,
    open_graph,
    open_index,
)
from tacit.graph.names import text_of
from tacit.loaders import read_items
from tacit.reasoning import Reasoner
from tacit.reasoning.scorer import ItemScores

from tests.api import service_callers as services

HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
RESPONSE = "Let's make a soup with the carrots and onions from the fridge."
WAYS = ("library", "in-process plain", "in-process awaited", "socket plain", "socket awaited")


class Library:
    """The library under the client's names."""

    def __init__(self, reasoner: Reasoner, graph: KnowledgeGraph) -> None:
        self.score = reasoner.score
        self._explain = reasoner.explain
        self.score_items = reasoner.stream
        self.tails = graph.tails
        self._graph = graph

    def explain(self, history: Any, response: Any, *arguments: Any, other: Any = None) -> Any:
        explanations = self._explain(history, response, *arguments)
        return explanations if other is None else (explanations, self._explain(history, other, *arguments))

    def neighbours(self, concept: str, *arguments: Any, **named: Any) -> Any:
        return self._graph.neighbours(concept, *arguments, **named)

    def hops(self, source: str, targets: Sequence[str], max_hops: int = 6) -> Any:
        return self._graph.hop_distances([source], targets, max_hops)[0].tolist()

    def paths(self, source: str, target: str, *arguments: Any) -> Any:
        return self._graph.paths(source, target, *arguments)

    def cypher(self, query: str, parameters: Any = None, **limits: Any) -> Any:
        known = cookbook()
        return self._graph.run(known[query].text if query in known else query, parameters, **limits)

    def score_file(self, path: Path) -> Iterator[ItemScores]:
        return self.score_items((item.id, item.history, item.response, item.references) for item in read_items(path, strict=True))  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def graph(sample_graph: str) -> Iterator[KnowledgeGraph]:
    with open_graph(sample_graph) as store, open_index(store) as index:
        yield index


@pytest.fixture(scope="module")
def reasoner(graph: KnowledgeGraph) -> Reasoner:
    return Reasoner(graph, ["grounding", "commonsense", "bleu"])


@pytest.fixture(scope="module")
def callers(reasoner: Reasoner, graph: KnowledgeGraph) -> Iterator[dict[str, Any]]:
    inside, outside = create_app(reasoner, graph), create_app(reasoner, graph)
    with services.in_process(inside) as near, services.at_socket(outside) as url, services.over_socket(url) as far:
        yield dict(zip(WAYS, (Library(reasoner, graph), *near, *far), strict=True))


@pytest.fixture(params=WAYS)
def caller(request: pytest.FixtureRequest, callers: dict[str, Any]) -> Any:
    return callers[request.param]


@pytest.fixture(params=WAYS[1:])
def client(request: pytest.FixtureRequest, callers: dict[str, Any]) -> Any:
    return callers[request.param]


def test_a_score_equals_that_of_the_library_with_its_evidence(caller: Any, reasoner: Reasoner) -> None:
    expected = reasoner.score(HISTORY, RESPONSE, ["Soup it is."], explain=True)
    assert caller.score(HISTORY, RESPONSE, ["Soup it is."], explain=True) == expected
    assert len(expected["grounding"].evidence.pieces) == 4


def test_value_and_signature_do_not_depend_on_evidence(client: Any, reasoner: Reasoner) -> None:
    scores = client.score(HISTORY, RESPONSE, metrics=["grounding"])
    [(name, score)] = scores.items()
    expected = reasoner.score(HISTORY, RESPONSE)[name]
    assert (score.value, score.signature) == (expected.value, expected.signature)
    assert not score.evidence.pieces


def test_missing_scores_are_nan(caller: Any) -> None:
    for explain in (True, False):
        scores = caller.score(HISTORY, "Ich habe heute leider gar keinen Hunger.", explain=explain)
        assert all(isnan(score.value) for score in scores.values())
        notes = {name: score.evidence.note for name, score in scores.items()}
        foreign = "the response cannot be judged: it is not in English"
        assert notes == {"grounding": foreign, "commonsense": foreign, "bleu": "no reference is given"}


def test_explanations_equal_those_of_the_library(caller: Any, reasoner: Reasoner) -> None:
    explanations = caller.explain(HISTORY, RESPONSE, ["Soup."])
    assert explanations == reasoner.explain(HISTORY, RESPONSE, ["Soup."])
    grounding = explanations["grounding"]
    assert "soup" in grounding.text()
    assert ("/c/en/soup", "CreatedBy", "/c/en/cook") in {(claim.head, claim.relation, claim.tail) for claim in grounding.claims}
    assert grounding.svg().startswith("<svg")


def test_two_responses_are_explained_in_one_request(caller: Any, reasoner: Reasoner) -> None:
    first, second = caller.explain(HISTORY, RESPONSE, ["Soup."], other="The exam was hard.")
    for explanations, response in ((first, RESPONSE), (second, "The exam was hard.")):
        expected = reasoner.explain(HISTORY, response, ["Soup."])
        assert {explanation.response for explanation in explanations.values()} == {response}
        assert {name: explanation.text() for name, explanation in explanations.items()} == {
            name: explanation.text() for name, explanation in expected.items()
        }
        assert explanations["grounding"] == expected["grounding"]  # others sum in another order in a batch of two
    with pytest.raises(InputError):
        caller.explain(HISTORY, RESPONSE, other=7)


def test_a_stream_keeps_order_ids_and_faults(caller: Any, reasoner: Reasoner) -> None:
    items: list[Any] = [(("id", index), HISTORY, f"The soup has {index} carrots.", ["soup"]) for index in range(40)]
    items[3] = ("not a list", "I am so hungry.", RESPONSE)
    items[17] = ("no text", HISTORY, 7)
    items[18] = ("surrogate", HISTORY, "\ud800")
    rows = list(caller.score_items(iter(items), batch_size=7, explain=True))
    assert rows == list(reasoner.stream(items, explain=True))
    assert [row.id for row in rows if row.error] == ["not a list", "no text", "surrogate"]


def test_a_file_is_scored_line_by_line(caller: Any, reasoner: Reasoner, sample: Path) -> None:
    rows = [row.to_dict() for row in caller.score_file(sample / "dialogues.jsonl")]
    items = [(item.id, item.history, item.response, item.references) for item in read_items(sample / "dialogues.jsonl")]  # type: ignore[union-attr]
    assert rows == [row.to_dict() for row in reasoner.stream(items)]


def test_errors_of_a_file_keep_their_order(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"history": ["It rains."], "response": "An umbrella!"}\nno json\n{"turns": ["Hi.", "A dog."]}\n')
    )
    rows = list(client.score_file(path))
    assert [row.id for row in rows] == ["1", None, "3/2"]
    assert rows[1].line == 2
    assert str(rows[1].fault).startswith("line 2: not JSON")
    with pytest.raises(InputError, match=r"some\.jsonl\.gz:2: not JSON"):
        list(client.score_file(path, strict=True))


def test_neighbours_equal_those_of_the_graph(caller: Any, graph: KnowledgeGraph) -> None:
    assert caller.neighbours("the dogs") == graph.neighbours("/c/en/dog")
    assert caller.neighbours("dog", 2, 5, ["IsA", "Desires"]) == graph.neighbours("/c/en/dog", 2, 5, ["IsA", "Desires"])
    assert caller.neighbours("dog", relations=[]) == [] != caller.neighbours("dog", relations=None)


def test_unknown_uris_give_what_the_graph_gives(caller: Any) -> None:
    assert caller.neighbours("/c/en/nope") == []
    assert caller.hops("/c/en/nope", ["dog", "/c/en/nope"]) == [-1, -1]
    assert caller.hops("dog", ["/c/en/nope", "bone"]) == [-1, 1]
    assert caller.paths("/c/en/nope", "dog") == caller.paths("dog", "http://nope") == []
    for ask in (caller.neighbours, lambda text: caller.hops(text, ["dog"]), lambda text: caller.paths("dog", text)):
        with pytest.raises(UnknownName, match="'qwrtz' is not a concept"):
            ask("qwrtz")


def test_no_limit_gives_all_rows(caller: Any) -> None:
    assert len(caller.neighbours("dog", 1, None)) > len(caller.neighbours("dog")) == 10


def test_one_text_is_not_a_list_of_targets(caller: Any) -> None:
    with pytest.raises(InputError, match=r"^give a list of texts or URIs, e\.g\. \['cat'\], not one text$"):
        caller.hops("dog", "cat")


def test_hops_equal_those_of_the_graph(caller: Any) -> None:
    assert caller.hops("the dogs", ["bone", "doctor", "/c/en/dog"]) == [1, 3, 0]
    assert caller.hops("dog", ["doctor"], 2) == [-1]


def test_paths_equal_those_of_the_graph_with_provenance(caller: Any, graph: KnowledgeGraph) -> None:
    paths = caller.paths("dog", "doctor")
    assert paths == graph.paths("/c/en/dog", "/c/en/doctor")
    assert paths[0].text() == "dog -IsA-> pet <-RelatedTo- vet -IsA-> doctor"
    assert {assertion.license for assertion in paths[0].assertions} == {"cc:zero/1.0"}
    assert [path.hops for path in caller.paths("dog", "/c/en/dog")] == [0]


def test_tails_equal_those_of_the_graph(caller: Any, graph: KnowledgeGraph) -> None:
    event = "PersonX cooks dinner for PersonY"
    assert caller.tails(event, "xWant") == graph.tails(event, "xWant")
    assert [text_of(row.tail) for row in caller.tails(event, "xWant", 1)] == ["to eat together"]
    assert caller.tails("PersonX qwertzes") == []


def test_cypher_rows_equal_those_of_the_engine(caller: Any, graph: KnowledgeGraph) -> None:
    query = (
        "MATCH (a:Concept)-[r:IsA]->(b) RETURN a.text AS what, r.weight AS weight, [a.uri, b.uri] AS pair ORDER BY what, weight"
    )
    assert caller.cypher(query, limit=5) == graph.run(query, limit=5)
    assert caller.cypher(query, limit=5).truncated
    assert caller.cypher("effects_of", {"concept": "rain"}).records()[0].keys() == {"outcome", "weight"}


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("CREATE (:Concept {uri: 'x'})", QueryRefused),
        ("MATCH (a) RETURN b", QueryInvalid),
        ("LOAD FROM 'x.csv' RETURN *", QueryRefused),
    ],
)
def test_refused_queries_raise_the_errors_of_the_library(caller: Any, query: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        caller.cypher(query)


@pytest.mark.parametrize(
    ("value", "kind"), [(float("nan"), "the number nan"), (2**70, "the number"), ({1}, "a value of type set")]
)
def test_parameters_that_no_query_can_have_are_refused(caller: Any, value: Any, kind: str) -> None:
    with pytest.raises(InputError, match=rf"^\$x holds {kind}"):
        caller.cypher("RETURN $x AS x", {"x": value})


def test_a_text_that_is_not_unicode_is_refused(client: Any) -> None:
    with pytest.raises(InputError, match="cannot be written as JSON: str is not valid UTF-8"):
        client.infer(["\ud800"])


def test_a_closed_client_is_refused() -> None:
    with Client() as client:
        pass
    awaited = AsyncClient()
    asyncio.run(awaited.close())
    for ask in (
        client.info,
        client.ready,
        lambda: asyncio.run(awaited.info()),
        lambda: list(client.score_items([("a", [], "b")])),
    ):
        with pytest.raises(InputError, match=r"^the client is closed; open a new one$"):
            ask()


def test_a_query_timeout_raises_its_error(caller: Any) -> None:
    slow = "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c"
    with pytest.raises(QueryTimeout):
        caller.cypher(slow, timeout=0.3)


@pytest.mark.parametrize("history", ["one text", [1], [None]])
def test_invalid_items_raise_the_errors_of_the_library(caller: Any, history: Any) -> None:
    with pytest.raises(InputError, match="history"):
        caller.score(history, RESPONSE)


def test_an_unknown_concept_is_named(caller: Any) -> None:
    with pytest.raises(InputError, match="'qwrtz' is not a concept"):
        caller.neighbours("qwrtz")


def test_a_concept_with_its_neighbours(client: Any, graph: KnowledgeGraph) -> None:
    concept = client.concept("the dogs")
    assert concept.uri == "/c/en/dog"
    assert list(concept.neighbours) == graph.neighbours("/c/en/dog")
    assert client.concept("/c/en/walk_dog").uri == "/c/en/walk_dog"
    with pytest.raises(InputError, match=r"is not a concept.*\(request [0-9a-f-]+\)$"):
        client.concept("qwrtz / 100 % ?")


def test_completions_start_with_the_prefix(client: Any) -> None:
    assert [completion.text for completion in client.complete("do")] == ["doctor", "dog"]
    assert client.complete("do", limit=1)[0].uri == "/c/en/doctor"
    assert client.complete("qwrtz") == []


def test_the_cookbook_equals_that_of_the_library(client: Any) -> None:
    assert {name: (query.text, query.summary, query.parameters) for name, query in client.cookbook().items()} == {
        name: (query.text, query.summary, query.parameters) for name, query in cookbook().items()
    }


def test_info_describes_the_service(client: Any, reasoner: Reasoner, graph: KnowledgeGraph) -> None:
    info = client.info()
    assert {name: metric.signature for name, metric in info.metrics.items()} == reasoner.signatures
    assert (info.graph.digest, info.graph.counts) == (graph.manifest().digest, graph.counts())
    assert info.limits["items"] > 0


def test_health_and_readiness(client: Any) -> None:
    assert client.health() is True
    assert client.ready() is True


def test_unknown_metrics_are_refused_with_the_requests_id(client: Any) -> None:
    with pytest.raises(InputError, match=r"nonesuch.*\(request [0-9a-f-]+\)$"):
        client.score(HISTORY, RESPONSE, metrics=["nonesuch"])


def test_both_clients_have_every_method() -> None:
    names = {name for name in vars(Methods) if not name.startswith("_")}
    assert {"score", "hops", "cypher", "ready"} <= names
    for name in names:
        plain, awaited = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(plain).parameters == inspect.signature(awaited).parameters, name
        assert plain.__doc__ == awaited.__doc__


def test_the_blocking_client_works_in_threads_and_beside_a_running_event_loop(callers: dict[str, Any]) -> None:
    client = callers["socket plain"]
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: tuple(client.hops("dog", ["bone"])), range(40))) == {(1,)}

    async def within_a_loop() -> list[ItemScores]:
        return list(client.score_items([("a", HISTORY, RESPONSE)]))

    assert [row.id for row in asyncio.run(within_a_loop())] == ["a"]

"""What a model reads and gets: descriptions, schemas, answers of the service's own, short results, errors in one sentence."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from tacit.api.agents import create_server, mcp_server
from tacit.api.agents.mcp_server import ASK, INSTRUCTIONS, _server
from tacit.api.agents.results import PAGE, attributes
from tacit.api.agents.tools import TOOLS
from tacit.api.server import Settings, create_app
from tacit.cypher import cookbook
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.embedded.integrity import DATABASE
from tacit.graph.errors import InputError, MissingExtra
from tacit.graph.names import event_uri
from tacit.graph.relations import RELATIONS
from tacit.reasoning import Reasoner
from tacit.reasoning.event_links import link_events

from tests.api.agents.conftest import Connected, connected, text_of
from tests.api.server.conftest import HISTORY, RESPONSE, InProcessClient

EVENT = "PersonX cooks dinner for PersonY"
ITEM = {"history": HISTORY, "response": RESPONSE}
NAMES = {tool.name for tool in TOOLS}


def properties(schema: dict[str, Any]) -> Any:
    """Yield every property of a schema at every depth, with its name."""
    for name, schema_of_property in schema.get("properties", {}).items():
        yield name, schema_of_property
        yield from properties(schema_of_property)
        yield from properties(schema_of_property.get("items", {}))


def test_tools_have_descriptions(near: Connected) -> None:
    tools = near.run(near.client.list_tools).tools
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    assert {"neighbours", "hops", "paths", "tails", "cookbook", "run_cookbook", "cypher", "score", "explain", "infer"} <= NAMES
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.title
        assert tool.description is not None
        assert tool.description.endswith(".")
        assert 60 < len(tool.description) < 900
        assert "{" not in re.sub(r"\{uri, text(, language)?\}", "", tool.description)
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert list(schema["properties"])[-1] == "offset"
        text = json.dumps(schema)
        assert not [word for word in ('"$ref"', '"$defs"', '"anyOf"', '"title"', '"null"') if word in text]
        for name, schema_of_property in properties(schema):
            assert len(schema_of_property["description"]) > 10, (tool.name, name)
            assert schema_of_property["type"] in ("string", "integer", "number", "boolean", "array", "object"), (tool.name, name)
            if schema_of_property["type"] in ("integer", "number"):
                assert {"minimum", "maximum"} <= schema_of_property.keys(), (tool.name, name)


def test_limits_and_metrics_are_those_of_the_service(near: Connected) -> None:
    schemas = {tool.name: tool.input_schema["properties"] for tool in near.run(near.client.list_tools).tools}
    assert schemas["cypher"]["limit"]["maximum"] == schemas["run_cookbook"]["limit"]["maximum"] == 200
    assert schemas["cypher"]["timeout"]["maximum"] == 30
    assert schemas["score"]["items"]["maxItems"] == 3
    assert schemas["explain"]["metrics"]["items"]["enum"] == ["grounding", "length"]
    [score] = [tool for tool in near.run(near.client.list_tools).tools if tool.name == "score"]
    assert "grounding (0 to 1, higher is better): " in (score.description or "")


def test_tools_and_queries_named_in_descriptions_exist(near: Connected) -> None:
    for text in (INSTRUCTIONS, ASK):
        for name in ("hops", "paths", "neighbours", "tails", "cookbook", "run_cookbook", "schema", "cypher", "infer"):
            assert re.search(rf"\b{name}\b", text), name
            assert name in NAMES
    described = " ".join(tool.description for tool in TOOLS)
    for name in ("used_for", "causes_of", "analogies", "how_related", "events_about"):
        assert name in described
        assert name in cookbook()
    assert near.client.instructions == INSTRUCTIONS


ANSWERS: list[tuple[str, dict[str, Any], str, str, dict[str, Any]]] = [
    ("neighbours", {"concept": "dogs", "hop": 2, "limit": 3, "relations": ["IsA", "Desires"]},
     "GET", "/v1/neighbours", {"params": {"concept": "dogs", "hop": 2, "limit": 3, "relation": ["IsA", "Desires"]}}),
    ("hops", {"source": "dog", "targets": ["bone", "doctor"], "max_hops": 2},
     "GET", "/v1/hops", {"params": {"source": "dog", "target": ["bone", "doctor"], "max_hops": 2}}),
    ("paths", {"source": "dog", "target": "doctor", "limit": 2, "detail": True},
     "GET", "/v1/paths", {"params": {"source": "dog", "target": "doctor", "limit": 2}}),
    ("tails", {"head": EVENT, "relation": "xIntent", "detail": True},
     "GET", "/v1/tails", {"params": {"head": EVENT, "relation": "xIntent"}}),
    ("run_cookbook", {"name": "used_for", "parameters": {"concept": "knife"}},
     "POST", "/v1/cypher", {"json": {"query": "used_for", "parameters": {"concept": "knife"}}}),
    ("cypher", {"query": "MATCH (c:Concept {text: $word}) RETURN c", "parameters": {"word": "dog"}},
     "POST", "/v1/cypher", {"json": {"query": "MATCH (c:Concept {text: $word}) RETURN c", "parameters": {"word": "dog"}}}),
    ("score", {"items": [ITEM, {"history": [], "response": ""}], "detail": True},
     "POST", "/v1/score", {"json": {"items": [ITEM, {"history": [], "response": ""}]}}),
    ("explain", {**ITEM, "metrics": ["grounding"], "detail": True},
     "POST", "/v1/explain", {"json": {**ITEM, "metrics": ["grounding"], "svg": False}}),
    ("infer", {"dialogue": ["I cooked dinner for you."], "limit": 1, "detail": True},
     "POST", "/v1/infer", {"json": {"dialogue": ["I cooked dinner for you."], "limit": 1}}),
]  # fmt: skip


def meta_of(result: Any) -> dict[str, Any]:
    """The metadata of a result: its length and the offset of the next page."""
    meta: dict[str, Any] = result.meta
    return meta


def whole(near: Connected, tool: str, arguments: dict[str, Any]) -> Any:
    """Return a result of any number of pages as JSON."""
    parts, offset = [], 0
    while True:
        result = near.call(tool, **arguments, offset=offset)
        assert not result.is_error, result.content
        parts.append(text_of(result))
        assert len(parts[-1]) <= PAGE
        if "next_offset" not in meta_of(result):
            assert len(result.content) == 1
            return json.loads("".join(parts))
        offset = meta_of(result)["next_offset"]
        assert f"offset={offset}." in result.content[1].text  # type: ignore[union-attr]


@pytest.mark.parametrize(("tool", "arguments", "method", "path", "content"), ANSWERS, ids=[name[0] for name in ANSWERS])
def test_results_equal_those_of_the_service(
    near: Connected, ask: InProcessClient, tool: str, arguments: dict[str, Any], method: str, path: str, content: dict[str, Any]
) -> None:
    answer = ask(method, path, **content)
    assert answer.status_code == 200, answer.text
    assert whole(near, tool, arguments) == answer.json()


def test_results_are_structured_as_the_schemas_say(near: Connected) -> None:
    """The SDK's client validates each result, too; a result of one page has the JSON of its text."""
    schemas = {tool.name: tool.output_schema for tool in near.run(near.client.list_tools).tools}
    assert sum(len(json.dumps(schema)) for schema in schemas.values()) < 14_000
    for tool, arguments, *_ in ANSWERS:
        for detail in [{}, {"detail": False}] if "detail" in arguments else [{}]:
            result = near.call(tool, **arguments | detail)
            assert not result.is_error
            assert len(json.dumps(result.structured_content)) < 2 * PAGE
            if "next_offset" in meta_of(result):
                assert result.structured_content == {name: meta_of(result)[name] for name in ("characters", "next_offset")}
                continue
            assert result.structured_content == json.loads(text_of(result))
            assert result.structured_content.keys() <= schemas[tool]["properties"].keys() - {"characters", "next_offset"}
    info = near.call("schema").structured_content
    assert info is not None
    assert (info["graph"]["concepts"] > 100, list(info["metrics"])) == (True, ["grounding", "length"])


def test_schemas_of_results_have_units_and_ranges_of_the_types(near: Connected) -> None:
    schemas = {tool.name: tool.output_schema["properties"] for tool in near.run(near.client.list_tools).tools}
    row = schemas["neighbours"]["neighbours"]["items"]
    assert row["properties"]["hop"] == {"type": "integer", "description": "its distance, >= 1"}
    assert row["required"] == ["text", "uri", "hop", "weight"]
    forms = schemas["tails"]["tails"]["items"]["anyOf"]
    assert [form["properties"]["weight"]["description"][:30] for form in forms] == [
        "strength as given by the datas", "of that event's strongest asse"
    ]  # fmt: skip
    assert "percentage of the reference" in json.dumps(schemas["score"])
    answer = schemas["infer"]["turns"]["items"]["properties"]["answers"]["additionalProperties"]["items"]["properties"]
    assert "in 0..1" in answer["likeness"]["description"]
    text = json.dumps(schemas)
    assert not [word for word in ('"$ref"', '"$defs"', '"title"', "``", ":data:", '"pieces"', '"svg"') if word in text]


def test_schema_descriptions_come_from_docstrings() -> None:
    docstring = """Something.

    Attributes:
        head, tail: URIs; both ``/c/en/x``.
        share: of the score,
            in 0..1; rank: from 0. weight: >= 0.

    More: not this.
    """
    uris = "URIs; both /c/en/x"
    assert attributes(docstring) == {
        "head": uris, "tail": uris, "share": "of the score, in 0..1", "rank": "from 0", "weight": ">= 0"
    }  # fmt: skip
    assert attributes("No section.") == {}


@pytest.fixture(scope="module")
def ask(reasoner: Reasoner, index: KnowledgeGraph) -> Any:
    """The service itself, in this process."""
    app = create_app(reasoner, index)
    yield InProcessClient(app)
    app.state.service.close()


SHORT: list[tuple[str, dict[str, Any], int]] = [
    ("schema", {}, 6_000),
    ("neighbours", {"concept": "dog"}, 1_000),
    ("paths", {"source": "dog", "target": "doctor"}, 700),
    ("tails", {"head": EVENT}, 2_500),
    ("cookbook", {}, 9_000),
    ("score", {"items": [ITEM]}, 300),
    ("explain", {**ITEM, "metrics": ["grounding"]}, 6_000),
    ("infer", {"dialogue": ["I cooked dinner for you.", "Thank you!"], "target": 0}, 5_000),
]


@pytest.mark.parametrize(("tool", "arguments", "limit"), SHORT, ids=[name[0] for name in SHORT])
def test_results_are_short(near: Connected, tool: str, arguments: dict[str, Any], limit: int) -> None:
    result = near.call(tool, **arguments)
    assert len(result.content) == 1
    assert 50 < len(text_of(result)) < limit
    if "detail" in next(name for name in TOOLS if name.name == tool).arguments.model_fields:
        assert meta_of(near.call(tool, **arguments, detail=True))["characters"] > meta_of(result)["characters"]


def test_a_long_result_has_pages(near: Connected, ask: InProcessClient) -> None:
    query = "MATCH (a)-[r]->(b) RETURN a, r, b ORDER BY r.id"
    answer = ask("POST", "/v1/cypher", json={"query": query, "limit": 150}).json()
    assert whole(near, "cypher", {"query": query, "limit": 150}) == answer
    sizes = [meta_of(near.call("cypher", query=query, **limits))["characters"] for limits in ({"limit": 150}, {}, {"limit": 60})]
    assert sizes[0] > 3 * PAGE
    assert sizes[1] < sizes[2]


def test_further_pages_are_of_the_same_result(near: Connected) -> None:
    """A query whose rows differ each time it is run shows whether it was run again."""
    query = "MATCH (a)-[r]->(b) RETURN a, r, b, rand() AS x"
    first = near.call("cypher", query=query, limit=100)
    assert first.structured_content == {name: meta_of(first)[name] for name in ("characters", "next_offset")}
    pages, offset = [text_of(first)], meta_of(first)["next_offset"]
    while offset is not None:
        result = near.call("cypher", query=query, limit=100, offset=offset)
        pages.append(text_of(result))
        offset = meta_of(result).get("next_offset")
    assert len(json.loads("".join(pages))["rows"]) == 100
    assert text_of(near.call("cypher", query=query, limit=100)) != pages[0]


def test_the_cookbook_is_listed_and_shown(near: Connected) -> None:
    listed = json.loads(near.text("cookbook"))["queries"]
    assert [entry["name"] for entry in listed] == sorted(cookbook())
    assert all(entry.keys() == {"name", "summary", "parameters", "example"} for entry in listed)
    [shown] = json.loads(near.text("cookbook", name="used_for"))["queries"]
    assert shown["text"] == cookbook()["used_for"].text


def test_links_are_followed(near: Connected, sample_graph: str, tmp_path: Path) -> None:
    text = text_of(near.call("tails", head="dog", mentioning=True))
    assert text == "the events of this graph are not linked to its concepts; run tacit link on the graph"
    assert "Mentions" not in near.text("schema")
    shutil.copytree(sample_graph, tmp_path / "linked")
    with open_graph(tmp_path / "linked") as graph:
        link_events(graph)
        app = create_app(Reasoner(graph, ["length"]), graph)
        concept = next(link.tail for link in graph.links() if link.head == event_uri(EVENT))
        with connected(create_server(app)) as client:
            assert "Mentions" in client.text("schema")
            rows = json.loads(client.text("tails", head=concept, mentioning=True, limit=2))["tails"]
            assert [row["tail_text"] for row in rows] == [tail.tail_text for tail in graph.concept_tails(concept, None, 2)] != []
            assert json.loads(client.text("paths", source=EVENT, target="dog", events=True, limit=1))["paths"]
        app.state.service.close()


ERRORS: list[tuple[str, dict[str, Any], str]] = [
    ("hops", {"source": "dog", "target": ["bone"]}, "the tool hops has no argument 'target'; did you mean targets?"),
    ("schema", {"format": "json"}, "the tool schema has no argument 'format'; its arguments are offset"),
    ("hops", {"source": "dog"}, "targets is missing"),
    ("hops", {"source": "dog", "targets": "bone"}, "targets is a text; give a list"),
    ("hops", {"source": "dog", "targets": ["bone"] * 101}, "targets has 101 elements; give at most 100"),
    ("neighbours", {"concept": "dog", "hop": 7}, "hop must be <= 6"),
    ("neighbours", {"concept": "dog", "limit": "many"}, "limit is a text; give a whole number"),
    ("neighbours", {"concept": "dog", "relations": ["isa"]}, "unknown relation isa; did you mean IsA?"),
    ("neighbours", {"concept": "x" * 1_001}, "concept has more than 1,000 characters; give a shorter text"),
    ("paths", {"source": "dog", "target": "doctr"}, "'doctr' is not a concept of this graph; did you mean doctor?"),
    ("run_cookbook", {"name": "used-for"}, "the cookbook has no query 'used-for'; did you mean used_for?"),
    ("run_cookbook", {"name": "used_for"}, "the query used_for takes the parameters concept; give each of them and no others"),
    ("cookbook", {"name": "qwertz"}, "the cookbook has no query 'qwertz'; the tool cookbook lists them"),
    ("cypher", {"query": "RETURN 1 AS x", "limit": 201}, "limit must be <= 200 rows on this service, not 201"),
    ("cypher", {"query": "RETURN 1 AS x", "timeout": 31}, "timeout must be <= 30 seconds on this service, not 31"),
    ("score", {"items": []}, "items is empty; give at least one item"),
    ("score", {"items": [ITEM] * 4}, "there are 4 items; send at most 3 at once"),
    ("score", {"items": [{"history": ["Hello."]}]}, "items[0].response is missing"),
    ("score", {"items": [{**ITEM, "reference": "x"}]}, "items[0] has an unknown name 'reference'; did you mean references?"),
    ("score", {"items": [ITEM], "metrics": ["groundin"]}, "this service has no metric 'groundin'; did you mean grounding?"),
    ("explain", {"history": [1], "response": "x"}, "history[0] is a number; give a text"),
    ("infer", {"dialogue": ["Hello."], "questions": ["why"]},
     "questions[0] must be 'cause', 'subsequent', 'prerequisite', 'motivation' or 'reaction'"),
    ("neighbours", {"concept": None}, "concept is null; give a text"),
    ("neighbours", {"concept": "dog", "limit": 2.5}, "limit is a number with a fraction; give a whole number"),
    ("hops", {"source": "\ud800", "targets": ["dog"]}, "source has half of a surrogate pair; give valid Unicode"),
    ("cypher", {"query": "RETURN $a AS a", "parameters": {"a": "\ud800"}}, "the arguments are nested too deeply, or have half"),
    ("neighbours", {"concept": "dog", "offset": 99_999}, "offset must be < "),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "sentence"), ERRORS, ids=[f"{name[0]}: {name[2][:40]}" for name in ERRORS])
def test_an_error_is_one_sentence(near: Connected, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    result = near.call(tool, **arguments)
    assert result.is_error
    assert len(result.content) == 1
    assert text_of(result).startswith(sentence)
    assert "\n" not in text_of(result)
    assert len(text_of(result)) < 300


def test_null_and_numbers_as_text_are_accepted(near: Connected) -> None:
    """Some programs send null for what the model left out, or a number as text."""
    arguments = {"concept": "dog", "hop": None, "limit": "3", "relations": None, "offset": None}
    assert near.text("neighbours", **arguments) == near.text("neighbours", concept="dog", limit=3)


def test_an_unexpected_error_is_reported_and_logged(
    near: Connected, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(mcp_server, "page", fail)
    result = near.call("hops", source="dog", targets=["bone"])
    assert result.is_error
    assert text_of(result) == "an unexpected error in tacit; its log on stderr says where"
    logged = json.loads(capsys.readouterr().err)
    assert (logged["event"], logged["tool"], logged["error"]) == ("failure", "hops", "ZeroDivisionError")
    assert "secret" not in json.dumps(logged)


def test_unknown_names_are_reported(near: Connected) -> None:
    client = near.client
    for function, values, sentence in (
        (client.call_tool, ("neighbour", {}), "unknown tool 'neighbour'; did you mean neighbours?"),
        (
            client.read_resource,
            ("tacit://x",),
            "unknown resource 'tacit://x'; the resources are tacit://schema and tacit://manifest",
        ),
        (client.get_prompt, ("x",), "unknown prompt 'x'; there is one, ask"),
        (client.get_prompt, ("ask",), "the prompt ask needs the argument question; give the question in plain words"),
    ):
        with pytest.raises(MCPError, match=re.escape(sentence)):
            near.run(function, *values)


def test_resources_give_the_schema_and_the_manifest(near: Connected, index: KnowledgeGraph) -> None:
    assert [entry.uri for entry in near.run(near.client.list_resources).resources] == ["tacit://schema", "tacit://manifest"]
    schema = near.run(near.client.read_resource, "tacit://schema").contents[0].text
    assert schema == near.text("schema")
    for name, number in index.counts().relations.items():
        assert f"  {name}  {number:,}  {RELATIONS[name]}" in schema
    [row] = json.loads(near.text("cypher", query="MATCH (:Event)-[r]->() RETURN keys(r) AS names LIMIT 1"))["rows"]
    section = schema.partition("Relationships")[2].partition("Relations:")[0]
    named = {name for names in re.findall(r"^  ([a-z_]+(?:, [a-z_]+)*)  ", section, re.M) for name in names.split(", ")}
    assert named == set(row["names"]) - {"relation", "role", "position"}  # the last two are those of links
    manifest = json.loads(near.run(near.client.read_resource, "tacit://manifest").contents[0].text)
    assert manifest["graph"]["digest"] == index.manifest().digest
    assert [entry["file"] for entry in manifest["graph"]["loads"]] == ["conceptnet.csv", "atomic2020.tsv"]
    assert list(manifest["metrics"]) == ["grounding", "length"]


def test_the_prompt_explains_the_tools(near: Connected) -> None:
    [prompt] = near.run(near.client.list_prompts).prompts
    assert [argument.name for argument in prompt.arguments] == ["question"]
    [message] = near.run(near.client.get_prompt, "ask", {"question": "Why {do} people cook?"}).messages
    assert message.role == "user"
    assert "Why {do} people cook?" in message.content.text


def test_an_error_while_opening_answers_every_call() -> None:
    async def ready() -> Any:
        raise MissingExtra("torch", "neural")

    async def ask() -> Any:
        async with Client(_server(ready, Settings(), ["length"])) as client:
            tools = (await client.list_tools()).tools
            return len(tools), await client.call_tool("hops", {"source": "dog", "targets": ["bone"]})

    tools, error = asyncio.run(ask())
    assert tools == len(TOOLS)
    assert error.is_error
    assert text_of(error).startswith("torch is not installed; run: pip install 'tacit-kg[neural]'")


def test_a_changed_graph_is_reported(sample_graph: str, tmp_path: Path) -> None:
    shutil.copytree(sample_graph, tmp_path / "graph")
    with open_graph(tmp_path / "graph") as graph:
        app = create_app(Reasoner(graph, ["length"]), graph)
        with connected(create_server(app)) as client:
            client.text("cypher", query="RETURN 1 AS one")
            os.utime(tmp_path / "graph" / DATABASE)
            result = client.call("cypher", query="RETURN 1 AS one")
            assert result.is_error
            assert "was loaded again since this service opened it; restart" in text_of(result)
            assert "was loaded again" in client.text("schema")
        app.state.service.close()


def test_the_server_needs_a_graph() -> None:
    app = create_app(Reasoner(None, ["length"]))
    with pytest.raises(InputError, match="needs a graph"):
        create_server(app)
    app.state.service.close()

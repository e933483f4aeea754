"""The tools: for each its arguments with their ranges, what it is for, and the request of the service that answers it.

The arguments are checked here, so that an error names the argument; the service checks them again, with its own limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...cypher import cookbook as cookbook_queries
from ...graph.errors import InputError, did_you_mean
from ...graph.questions import QUESTIONS, Question
from ...reasoning.registry import metric_kind
from ..details import ServiceDetails
from ..server import schemas
from ..server.problems import invalid
from ..server.service import Settings
from .results import inlined, output_schema


class Arguments(BaseModel):
    """The arguments of a tool; unknown ones are refused, so that misspelt names are found."""

    model_config = ConfigDict(extra="forbid")

    offset: int = Field(
        0,
        ge=0,
        le=10**9,
        description="First character of the page of the result to return: 0, or the next_offset that the page before named.",
    )


class Detailed(Arguments):
    """Arguments of a tool that leaves out part of the answer unless it is asked for."""

    detail: bool = Field(False, description="")


def _detail(text: str) -> Any:
    return Field(False, description=text)


class SchemaArguments(Arguments):
    """Arguments of ``schema``."""


class NeighboursArguments(schemas.NearQuery, Arguments):
    """Arguments of ``neighbours``."""

    relations: list[schemas.Phrase] = Field(
        [], max_length=100, description="Follow only these relations, in either direction, e.g. ['IsA', 'UsedFor']; empty: all."
    )


class HopsArguments(Arguments):
    """Arguments of ``hops``."""

    source: schemas.Word
    targets: list[schemas.Phrase] = Field(
        min_length=1, max_length=schemas.TARGETS, description="1 to 100 words, phrases or concept URIs."
    )
    max_hops: schemas.MaxHops = 6
    language: schemas.Language = "en"


class PathsArguments(schemas.PathsQuery, Detailed):
    """Arguments of ``paths``."""

    limit: schemas.PathLimit = 5
    detail: bool = _detail("Return also the URIs of the nodes and each step with weight, source, dataset and licence.")


class TailsArguments(schemas.TailsQuery, Detailed):
    """Arguments of ``tails``."""

    head: schemas.Phrase = Field(
        description="An event worded as in the graph, e.g. 'PersonX cooks dinner for PersonY'; with mentioning, a concept."
    )
    limit: schemas.Limit = 20
    mentioning: bool = Field(
        False,
        description="head is a concept: return the tails of the events that mention it. Needs a graph whose events are linked.",
    )
    detail: bool = _detail("Return also the URIs, the dataset, the licence and the contributors of each row.")


class CookbookArguments(Arguments):
    """Arguments of ``cookbook``."""

    name: schemas.Phrase | None = Field(
        None, description="Only this query, with its Cypher text; default: all queries, without text."
    )


class QueryArguments(Arguments):
    """Arguments of ``cypher`` and ``run_cookbook``."""

    parameters: dict[str, Any] = Field({}, description="A value for each $parameter of the query, e.g. {'concept': 'knife'}.")
    limit: int = Field(50, ge=0, description="Maximum number of rows.")
    timeout: float = Field(10.0, ge=0.1, description="Seconds after which the query is stopped.")


class RunArguments(QueryArguments):
    """Arguments of ``run_cookbook``."""

    name: schemas.Phrase = Field(description="Name of the query, as the tool cookbook lists it, e.g. 'used_for'.")


class CypherArguments(QueryArguments):
    """Arguments of ``cypher``."""

    query: str = Field(max_length=100_000, description="A Cypher query that only reads; values as $parameters.")


class ScoreArguments(Detailed):
    """Arguments of ``score``."""

    items: list[schemas.ScoreItem] = Field(min_length=1, description="The responses to score, each with its own history.")
    metrics: schemas.Metrics = None
    detail: bool = _detail("Return also the signature of each score: graph, models, options and version that it depends on.")


class ExplainArguments(Detailed):
    """Arguments of ``explain``."""

    history: schemas.History
    response: str = Field(description="The response whose scores are explained.")
    references: schemas.References = []
    metrics: schemas.Metrics = None
    detail: bool = _detail("Return also every piece of evidence as data: spans of the texts, paths with their provenance.")


class InferArguments(Detailed):
    """Arguments of ``infer``."""

    dialogue: schemas.Dialogue
    target: int | None = Field(
        None, ge=-(10**6), le=10**6, description="The turn to ask about, from 0, or negative from the end; default: every turn."
    )
    questions: list[Question] = Field(list(QUESTIONS), min_length=1, description="The questions to answer; default: all five.")
    limit: int = Field(3, ge=1, le=100, description="Maximum number of answers to each question, best first.")
    detail: bool = _detail("Return also the nodes of each edge, its provenance, and parameters that find it by the query claim.")


_LAST = ("detail", "offset")


def _sort_key(name: str) -> int:
    """Sort key of arguments, for schemas and errors: those that all tools have come last."""
    return _LAST.index(name) + 1 if name in _LAST else 0


class Request(dict[str, Any]):
    """The keyword arguments of a request to the service: ``method``, ``url``, and ``params`` or ``json``."""


def _values(arguments: Arguments) -> dict[str, Any]:
    values = arguments.model_dump(exclude={*_LAST, "mentioning"})
    return {name: value for name, value in values.items() if value is not None}


def _get(path: str, **renamed: str) -> Callable[[Arguments], Request]:
    """Return the function that makes a GET request of the arguments, some of which the service has under other names."""
    return lambda arguments: Request(
        method="GET", url=path, params={renamed.get(name, name): value for name, value in _values(arguments).items()}
    )


def _post(path: str, **fixed: Any) -> Callable[[Arguments], Request]:
    """Return the function that makes a POST request of the arguments and ``fixed`` members."""
    return lambda arguments: Request(method="POST", url=path, json=_values(arguments) | fixed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str  # for people
    description: str  # for the model: what it is for, what a row holds, units and ranges
    arguments: type[Arguments]
    answers: tuple[Any, ...]  # types of the service's answers
    request: Callable[[Any], Request]  # makes the request of the service
    left_out: Collection[str] = ()  # members of the answer that only detail returns
    shape: Callable[[Any, Any], Any] = field(default=lambda _, answer: answer)  # changes the answer further

    def check(self, values: Mapping[str, Any]) -> Arguments:
        """Return the arguments that a client gave; null for one that may be left out means its default."""
        fields = self.arguments.model_fields
        names = sorted(fields, key=_sort_key)
        for name in values:
            if name not in names:
                advice = did_you_mean(name, names, f"its arguments are {', '.join(names)}")
                raise InputError(f"the tool {self.name} has no argument {name[:60]!r}; {advice}")
        try:
            arguments = self.arguments.model_validate(
                {name: value for name, value in values.items() if value is not None or fields[name].is_required()}
            )
            arguments.model_dump_json()
        except ValidationError as error:
            raise InputError(invalid(error.errors(include_url=False)).detail) from None
        except ValueError:
            raise InputError("the arguments are nested too deeply, or have half of a surrogate pair; give plain JSON") from None
        return arguments

    def described(self, settings: Settings, metrics: Sequence[str]) -> Described:
        """Return the description for clients, with the limits and the metrics of the service."""
        schema = input_schema(self.arguments)
        properties = schema["properties"]
        if "timeout" in properties:
            properties["limit"]["maximum"], properties["timeout"]["maximum"] = settings.cypher_rows, settings.cypher_seconds
        if "items" in properties:
            properties["items"]["maxItems"] = settings.items
        if "metrics" in properties:
            properties["metrics"]["items"] = {"type": "string", "enum": [*metrics]}
        return Described(
            name=self.name,
            title=self.title,
            description=self.description.replace("{metrics}", metrics_in_words(metrics)),
            input_schema=schema,
            output_schema=output_schema(self.answers, self.left_out),
            annotations=ToolAnnotations(
                title=self.title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )


def metrics_in_words(names: Sequence[str]) -> str:
    """Return one sentence for each metric: its name, range, which end is better, and what it measures."""
    kinds = [(name, metric_kind(name)) for name in names]
    sentences = [
        f"{name} ({kind.range}{f', {kind.better} is better' if kind.better else ''}): {kind.summary}" for name, kind in kinds
    ]
    return f"The metrics: {' '.join(sentences)}"


def input_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the JSON schema of arguments in the plain form that all clients read: no references, titles or null types.

    Required arguments come first, ``detail`` and ``offset`` last.
    """
    plain: dict[str, Any] = _without_null(inlined(arguments.model_json_schema()))
    properties = plain["properties"]
    required = plain.get("required", ())
    names = sorted(properties, key=lambda name: (name not in required, _sort_key(name)))
    plain["properties"] = {name: properties[name] for name in names}
    plain.pop("description", None)
    return plain


def _without_null(schema: Any) -> Any:
    """Return an inlined schema in which a value that may be null has the schema of its first other form."""
    if isinstance(schema, list):
        return [_without_null(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [inner for inner in schema.get("anyOf", ()) if inner != {"type": "null"}]
    if choices:
        schema = {**choices[0], **{name: inner for name, inner in schema.items() if name != "anyOf"}}
        if schema.get("default", "") is None:
            del schema["default"]
    return {name: _without_null(inner) for name, inner in schema.items()}


def _tails(arguments: TailsArguments) -> Request:
    return (_get("/v1/concept-tails", head="concept") if arguments.mentioning else _get("/v1/tails"))(arguments)


def _known_query(name: str) -> str:
    """Return the name of a query of the cookbook."""
    plain = name.strip().removeprefix("explore/")
    if plain not in cookbook_queries():
        advice = did_you_mean(plain, cookbook_queries(), "the tool cookbook lists them")
        raise InputError(f"the cookbook has no query {name[:60]!r}; {advice}")
    return plain


def _cookbook(arguments: CookbookArguments) -> Request:
    if arguments.name is not None:
        _known_query(arguments.name)
    return Request(method="GET", url="/v1/cookbook")


def _listed(arguments: CookbookArguments, answer: Any) -> Any:
    if arguments.name is not None:
        return {"queries": [entry for entry in answer["queries"] if entry["name"] == _known_query(arguments.name)]}
    return {"queries": [{name: value for name, value in query.items() if name != "text"} for query in answer["queries"]]}


def _run(arguments: RunArguments) -> Request:
    request = _post("/v1/cypher", query=_known_query(arguments.name))(arguments)
    del request["json"]["name"]
    return request


_STEPS = ("steps", "nodes", "node_texts")

TOOLS: tuple[Tool, ...] = (
    Tool(
        name="schema",
        title="What the graph holds",
        description="Return what the graph holds: its size, its kinds of nodes with their properties, every relation with its "
        "number of assertions and its meaning, and the metrics and limits of this server. Read it before writing "
        "Cypher.",
        arguments=SchemaArguments,
        answers=(ServiceDetails,),
        request=_get("/v1/info"),
    ),
    Tool(
        name="neighbours",
        title="Neighbours of a concept",
        description="List the concepts whose shortest distance from a concept is exactly hop, strongest first. A row has text, "
        "uri, hop (in hops) and weight: that of the weakest assertion on the strongest shortest path (>= 0, higher is "
        "stronger; most assertions of ConceptNet have 1). For the relations and their direction use paths.",
        arguments=NeighboursArguments,
        answers=(schemas.NeighboursAnswer,),
        request=_get("/v1/neighbours", relations="relation"),
    ),
    Tool(
        name="hops",
        title="Hops between concepts",
        description="Count the hops from one concept to others: the assertions on a shortest path, in either direction. "
        "0: the same concept, 1 to 6: the distance, -1: no path of at most max_hops. An unknown word is an error that "
        "suggests one that is spelt alike.",
        arguments=HopsArguments,
        answers=(schemas.HopsAnswer,),
        request=_get("/v1/hops", targets="target"),
    ),
    Tool(
        name="paths",
        title="Shortest paths between two concepts",
        description="Find how two concepts are related: the shortest paths between them, strongest first. A row has hops, "
        "strength (>= 0, the weight of the weakest assertion; null for no hops) and text, e.g. 'dog -IsA-> pet "
        "<-RelatedTo- vet', in which an arrow points from the head of an assertion to its tail.",
        arguments=PathsArguments,
        answers=(schemas.PathsAnswer,),
        request=_get("/v1/paths"),
        left_out=_STEPS,
    ),
    Tool(
        name="tails",
        title="What is known about an event",
        description="List what the graph says about an event: intents, needs, effects, reactions, what comes before and after, "
        "best first. A row has relation, tail_text and weight (>= 0, 1 where the dataset gives none). An event that "
        "is not in the graph has no rows; run_cookbook with the query events_about finds events by a word that they "
        "contain.",
        arguments=TailsArguments,
        answers=(schemas.TailsAnswer, schemas.ConceptTailsAnswer),
        request=_tails,
        left_out=("head", "tail", "event", "head_text", "dataset", "license", "contributors", "head_sense", "tail_sense"),
    ),
    Tool(
        name="cookbook",
        title="The cookbook of queries",
        description="List the ready-made queries, such as used_for, causes_of, analogies and how_related: name, what each "
        "answers, its parameters, and an example of their values. Run one with run_cookbook.",
        arguments=CookbookArguments,
        answers=(schemas.CookbookAnswer,),
        request=_cookbook,
        shape=_listed,
    ),
    Tool(
        name="run_cookbook",
        title="Run a query of the cookbook",
        description="Run a ready-made query of the cookbook. Returns columns, rows, and truncated, which is true if there are "
        "more rows than limit.",
        arguments=RunArguments,
        answers=(schemas.CypherAnswer,),
        request=_run,
    ),
    Tool(
        name="cypher",
        title="Run a read-only Cypher query",
        description="Run a Cypher query of your own. Only reading is allowed: anything else is refused with its place in the "
        "query. Nodes are (:Concept {uri, text, language}) and (:Event {uri, text}), relationship types are the names "
        "of relations, and every relationship has weight, source, dataset and license; the tool schema has the rest. "
        "Returns columns, rows, and truncated, which is true if there are more rows than limit.",
        arguments=CypherArguments,
        answers=(schemas.CypherAnswer,),
        request=_post("/v1/cypher"),
    ),
    Tool(
        name="score",
        title="Score dialogue responses",
        description="Score responses of dialogues, each after its history. A row has id, scores, percentiles (0 to 100: how many "
        "of a hundred human responses the score reaches; null without a reference), and notes, which say why a score "
        "is null; an item that cannot be scored has error instead. {metrics}",
        arguments=ScoreArguments,
        answers=(schemas.ScoreAnswer,),
        request=_post("/v1/score"),
        left_out=("signature",),
    ),
    Tool(
        name="explain",
        title="Explain the scores of a response",
        description="Explain the scores of one response, for each metric: value, percentile, text (the evidence in words, each "
        "line beginning with its share, in the unit of the score), claims (the assertions of the graph behind it), "
        "and a Cypher query that finds them, with its parameters in each claim.",
        arguments=ExplainArguments,
        answers=(schemas.ExplainAnswer,),
        request=_post("/v1/explain", svg=False),
        left_out=("pieces", "history", "response"),
    ),
    Tool(
        name="infer",
        title="Answer questions about a turn",
        description="Answer five questions about a turn of a dialogue from the graph: its cause, subsequent event, prerequisite, "
        "motivation, and the listener's emotional reaction. An answer has text, event (the event of the graph that "
        "the turn is taken as), likeness (0 to 1: how alike turn and event are) and edge (the assertion behind it). A "
        "turn that is like no event has no answers.",
        arguments=InferArguments,
        answers=(schemas.InferAnswer,),
        request=_post("/v1/infer"),
        left_out=(*_STEPS, "parameters"),
    ),
)
"""All tools, in the order in which clients list them."""

"""The forms of requests and answers as pydantic models, from which bodies are checked and OpenAPI is made.

Texts are strict: a number is not taken for a text. The library checks the length and the characters of a text, item by item.
Checking stops at the first wrong element of a list, and at an object of too many members, so that errors stay few.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator

_HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
_RESPONSE = "Let's make a soup with the carrots and onions from the fridge."
_SIGNATURE = "grounding|graph:8f0c2d1e9ab3|pipeline:1c6a3f20d7be@spacy-3.8|talk:65ec56227a82|hops:3|v:2"
_TEXT = Annotated[StrictStr, Field()]
_TEXTS = Annotated[list[_TEXT], Field(fail_fast=True)]
_MEMBERS = 20
_WHOLE = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]


class Request(BaseModel):
    """A body; unknown members are refused, so that a misspelt name is noticed."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_members(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > _MEMBERS:
            raise ValueError(f"there are {len(value):,} members; no object here has more than {len(cls.model_fields)}")
        return value


class ScoreItem(Request):
    """One response to score."""

    id: _TEXT | _WHOLE | None = Field(None, description="Names the item in the answer; its place, from 1, by default.")
    history: _TEXTS = Field(description="The turns before the response, oldest first.")
    response: _TEXT = Field(description="The response to score.")
    references: _TEXTS = Field(default_factory=list, description="What people said at this place, for metrics that compare.")


class ScoreRequest(Request):
    """Responses to score."""

    items: list[ScoreItem] = Field(min_length=1, fail_fast=True, description="At least one; /v1/info tells how many at most.")
    metrics: _TEXTS | None = Field(None, description="Some of the metrics that are served; all by default.")
    explain: bool = Field(False, strict=True, description="Give the evidence of each score.")


class ExplainRequest(Request):
    """A response whose scores are to be explained."""

    history: _TEXTS = Field(description="The turns before the response, oldest first.")
    response: _TEXT = Field(description="The response to score.")
    references: _TEXTS = Field(default_factory=list, description="What people said at this place, for metrics that compare.")
    metrics: _TEXTS | None = Field(None, description="Some of the metrics that are served; all by default.")
    svg: bool = Field(True, strict=True, description="Draw the picture of each explanation too.")


class CypherRequest(Request):
    """A query that reads."""

    query: _TEXT = Field(description="Cypher, or the name of a query of the cookbook.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Values of the query's $names.")
    limit: _WHOLE = Field(1000, ge=0, description="Keep at most so many rows.")
    timeout: float = Field(10.0, gt=0, strict=True, allow_inf_nan=False, description="Seconds after which the query is stopped.")


class Row(BaseModel):
    """The scores of one item, or why it has none."""

    id: Any = Field(description="The item's id, or its place from 1.")
    scores: dict[str, float | None] | None = Field(None, description="By metric; null where the metric cannot judge the item.")
    percentiles: dict[str, float | None] | None = Field(
        None,
        description="By metric: per cent of a reference's true responses with this score or less; null without a reference.",
    )
    signature: dict[str, str] | None = Field(None, description="By metric; the same signature gives the same number.")
    notes: dict[str, str] | None = Field(None, description="By metric, where the score is null: why it cannot be judged.")
    evidence: dict[str, Any] | None = Field(None, description="By metric, with explain: pieces with their shares, and a note.")
    error: str | None = Field(None, description="Why the item has no scores; the other items have theirs.")


class ScoreAnswer(BaseModel):
    """A row for each item, in order."""

    items: list[Row]


class ExplainAnswer(BaseModel):
    """An explanation for each metric."""

    explanations: dict[str, dict[str, Any]]


class Concept(BaseModel):
    """A concept of the graph."""

    uri: str
    text: str


class NeighbourRow(BaseModel):
    """A concept near another one."""

    text: str
    uri: str
    hop: int
    weight: float


class ConceptsAnswer(BaseModel):
    """Concepts whose text begins with a prefix."""

    concepts: list[Concept]


class ConceptAnswer(BaseModel):
    """The concept that a text names, and its best neighbours."""

    text: str
    uri: str
    neighbours: list[NeighbourRow]


class NeighboursAnswer(BaseModel):
    """The concepts around one, best first."""

    concept: str
    neighbours: list[NeighbourRow]


class Provenance(BaseModel):
    """What is known about an assertion beside itself; what is empty is left out."""

    source: str = Field("", description="Which loader or model wrote it.")
    dataset: str = ""
    license: str = ""
    contributors: str = ""
    head_sense: str = ""
    tail_sense: str = ""
    rank: int | None = Field(None, description="Of a generated tail: its place in the beam, from 0.")
    score: float | None = Field(None, description="Of a generated tail: its log-probability.")


class AssertionRow(Provenance):
    """One assertion; its ends are URIs and texts."""

    head: str
    relation: str
    tail: str
    head_text: str
    tail_text: str
    weight: float


class Step(Provenance):
    """One assertion of a path; its ends are URIs."""

    head: str
    relation: str
    tail: str
    direction: Literal["forward", "backward"] = Field(description="Forward where the path goes from its head to its tail.")
    weight: float


class PathRow(BaseModel):
    """A path, as the evidence of a score has it too."""

    hops: int
    strength: float | None = Field(description="Weight of the weakest assertion; null for no hop.")
    nodes: list[str] = Field(description="URIs, source first.")
    node_texts: list[str]
    text: str
    steps: list[Step]


class PathsAnswer(BaseModel):
    """The shortest paths between two concepts, strongest first."""

    paths: list[PathRow]


class TailsAnswer(BaseModel):
    """What is known about an event."""

    tails: list[AssertionRow]


class CypherAnswer(BaseModel):
    """Rows of a query."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = Field(description="There were more rows than the limit let through.")


class CookbookAnswer(BaseModel):
    """The queries of the cookbook."""

    queries: list[dict[str, Any]]


class InfoAnswer(BaseModel):
    """What is served."""

    version: str
    graph: dict[str, Any] | None
    metrics: dict[str, dict[str, str]]
    limits: dict[str, Any]


class StateAnswer(BaseModel):
    """The state of the service."""

    status: str


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


EXAMPLES: dict[type[Request], dict[str, dict[str, Any]]] = {
    ScoreRequest: {
        "one": {
            "summary": "One response, by every metric that is served",
            "value": {"items": [{"history": _HISTORY, "response": _RESPONSE}]},
        },
        "two": {
            "summary": "Two responses to the same history, with ids and evidence",
            "value": {
                "items": [
                    {"id": "dinner/good", "history": _HISTORY, "response": _RESPONSE},
                    {"id": "dinner/bad", "history": _HISTORY, "response": "The library has an interesting book for the exam."},
                ],
                "explain": True,
            },
        },
    },
    ExplainRequest: {
        "picture": {"summary": "With pictures", "value": {"history": _HISTORY, "response": _RESPONSE}},
        "plain": {"summary": "Without", "value": {"history": _HISTORY, "response": _RESPONSE, "svg": False}},
    },
    CypherRequest: {
        "text": {
            "summary": "A query of one's own",
            "value": {
                "query": "MATCH (a:Concept {text: $word})-[r]->(b:Concept) "
                "RETURN type(r) AS relation, b.text AS tail ORDER BY relation, tail",
                "parameters": {"word": "dog"},
                "limit": 5,
            },
        },
        "cookbook": {
            "summary": "A query of the cookbook",
            "value": {"query": "used_for", "parameters": {"concept": "knife"}},
        },
    },
}
"""Bodies that work on any graph, by the model of the request and a name."""

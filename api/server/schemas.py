"""Requests and responses of the service as pydantic models, which validate them and describe them in OpenAPI.

Texts in bodies are strict: a number is not converted to a text. The library checks the length and the characters of a text, item
by item. Validation stops at the first invalid element of a list and at objects with too many members, so that there are few
errors.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator

from ...graph.links import ConceptTail
from ...graph.model import Assertion, FoundPath, Neighbour
from ...reasoning.explanation.explained import DrawnExplanation
from ...reasoning.inference.answers import DrawnTurnAnswers
from ...reasoning.scorer import ScoreRow
from ..details import MAX_ROWS, Completion, Distance

_HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
_RESPONSE = "Let's make a soup with the carrots and onions from the fridge."
TARGETS = 100
"""Maximum number of targets of ``/v1/hops``; not in the OpenAPI document, since more of them can exceed the largest head."""

_MEMBERS = 20
_TEXT = 1_000

# Types of fields, for requests and for the arguments of agents' tools.

Text = Annotated[StrictStr, Field()]
Texts = Annotated[list[Text], Field(fail_fast=True)]
History = Annotated[Texts, Field(description="The turns before the response, oldest first; at most 200,000 characters each.")]
Response = Annotated[Text, Field(description="The response to score.")]
References = Annotated[Texts, Field(description="Human responses to the same history, for metrics that compare.")]
Metrics = Annotated[Texts | None, Field(description="Names of metrics of the service; default: all.")]
Dialogue = Annotated[Texts, Field(min_length=1, description="The turns, oldest first, with or without 'A: ' before them.")]
Phrase = Annotated[str, Field(max_length=_TEXT)]
Word = Annotated[Phrase, Field(description="A word or phrase, e.g. 'ice cream', or a concept URI, e.g. '/c/en/dog'.")]
MaxHops = Annotated[int, Field(ge=1, le=6, description="Longest path to look for, in hops.")]
Limit = Annotated[int, Field(ge=0, le=MAX_ROWS, description="Maximum number of results, best first.")]
PathLimit = Annotated[int, Field(ge=0, le=100, description="Maximum number of paths, strongest first.")]
Language = Annotated[str, Field(max_length=20, description="ISO 639 code of the language of the given texts.")]
Relation = Annotated[Phrase | None, Field(description="Only this relation, e.g. 'xIntent', 'xWant' or 'xReact'; default: all.")]
_Whole = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]

# Bodies of requests.


class Message(BaseModel):
    """A request body; unknown members are refused, so that misspelt names are found."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_members(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > _MEMBERS:
            raise ValueError(f"the object has {len(value):,} members; at most {len(cls.model_fields)} are allowed here")
        return value


class ScoreItem(Message):
    """One response to score."""

    id: Text | _Whole | None = Field(None, description="ID of the item in the response; default: its position, from 1.")
    history: History
    response: Response
    references: References = []


class ScoreRequest(Message):
    """Responses to score."""

    items: list[ScoreItem] = Field(min_length=1, fail_fast=True, description="At least one; /v1/info has the maximum number.")
    metrics: Metrics = None
    explain: bool = Field(False, strict=True, description="Return the evidence of each score.")


class ExplainRequest(Message):
    """A response whose scores are explained."""

    history: History
    response: Response
    other: Text | None = Field(None, description="Another response to the same history, explained beside the first.")
    references: References = []
    metrics: Metrics = None
    svg: bool = Field(True, strict=True, description="Return each explanation as a picture too.")
    width: int = Field(960, strict=True, ge=320, le=2400, description="Width of the pictures in pixels.")


class CypherRequest(Message):
    """A read-only query."""

    query: Text = Field(description="Cypher, or the name of a query of the cookbook.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="Values of the query's $parameters.")
    limit: int = Field(1000, strict=True, ge=0, le=2**53, description="Maximum number of rows.")
    timeout: float = Field(10.0, gt=0, strict=True, allow_inf_nan=False, description="Seconds after which the query is stopped.")


class InferRequest(Message):
    """A dialogue with questions about its turns."""

    dialogue: Dialogue
    target: _Whole | None = Field(None, description="The turn to ask about, from 0, negative from the end; default: every turn.")
    questions: Texts | None = Field(
        None,
        description="cause, subsequent, prerequisite, motivation, reaction, or CICERO's questions word for word; default: all.",
    )
    limit: int = Field(3, strict=True, ge=1, le=100, description="Maximum number of answers to each question, best first.")
    svg: bool = Field(False, strict=True, description="Return the answers about each turn as a picture too.")
    width: int = Field(960, strict=True, ge=240, le=2400, description="Width of the pictures in pixels.")


class ChooseRequest(Message):
    """A question about a turn, with possible answers."""

    id: Text = Field("1", min_length=1, description="ID of the instance in the response.")
    dialogue: Dialogue
    target: Text = Field(description="The turn that is asked about.")
    question: Text = Field(
        description="cause, subsequent, prerequisite, motivation, reaction, or one of CICERO's questions word for word."
    )
    choices: Texts = Field(min_length=2, max_length=100, description="Possible answers.")
    answers: int | None = Field(
        None, strict=True, ge=1, le=100, description="How many of the choices are right; default: half of them, rounded up."
    )


# Query parameters.


class LanguageQuery(BaseModel):
    """The language of the texts of a query."""

    language: Language = "en"


class CompletionQuery(BaseModel):
    """Parameters of ``/v1/concepts``."""

    prefix: Phrase = Field("", description="Beginning of a text.", examples=["do"])
    limit: Limit = 10
    language: Language = "en"


class NearQuery(BaseModel):
    """A concept and the distance from it."""

    concept: Word = Field(examples=["dog"])
    hop: int = Field(1, ge=1, le=6, description="Concepts whose shortest distance is exactly this, in hops.")
    limit: Limit = 10
    language: Language = "en"


class NeighboursQuery(NearQuery):
    """Parameters of ``/v1/neighbours``."""

    relation: list[str] | None = Field(None, description="Only this relation; repeatable. One empty value: no relation.")


class HopsQuery(BaseModel):
    """Parameters of ``/v1/hops``."""

    source: Word = Field(examples=["dog"])
    target: list[Phrase] = Field(description="A word, phrase or concept URI; repeatable, at most 100 times.", examples=[["bone"]])
    max_hops: MaxHops = 6
    language: Language = "en"


class PathsQuery(BaseModel):
    """Parameters of ``/v1/paths``."""

    source: Word = Field(examples=["dog"])
    target: Word = Field(examples=["bone"])
    max_hops: MaxHops = 6
    limit: PathLimit = 10
    events: bool = Field(
        False, description="Go through events too, and let both ends be events. Needs a graph whose events are linked."
    )
    language: Language = "en"


class TailsQuery(BaseModel):
    """Parameters of ``/v1/tails``."""

    head: Phrase = Field(description="An event.", examples=["PersonX cooks dinner for PersonY"])
    relation: Relation = None
    limit: Limit = 100


class ConceptTailsQuery(BaseModel):
    """Parameters of ``/v1/concept-tails``."""

    concept: Word = Field(examples=["dog"])
    relation: Relation = None
    limit: Limit = 100
    language: Language = "en"


# Bodies of responses.


class ScoreAnswer(BaseModel):
    """One row per item, in order."""

    items: list[ScoreRow]


class InferAnswer(BaseModel):
    """The answers about each turn, in order."""

    turns: list[DrawnTurnAnswers]


class ExplainAnswer(BaseModel):
    """One explanation per metric; those of the other response where one is given."""

    explanations: dict[str, DrawnExplanation]
    other: dict[str, DrawnExplanation] = Field(default_factory=dict, description="Present where the request has `other`.")


class ConceptsAnswer(BaseModel):
    """Concepts whose text begins with a prefix."""

    concepts: list[Completion]


class NeighboursAnswer(BaseModel):
    """The neighbours of a concept, strongest first."""

    concept: str
    neighbours: list[Neighbour]


class HopsAnswer(BaseModel):
    """The hops from a concept to others, in the order in which these were given."""

    hops: list[Distance]


class PathsAnswer(BaseModel):
    """The shortest paths between two concepts, strongest first."""

    paths: list[FoundPath]


class TailsAnswer(BaseModel):
    """Assertions about an event."""

    tails: list[Assertion]


class ConceptTailsAnswer(BaseModel):
    """Tails of the events that mention a concept, best first."""

    concept: str
    tails: list[ConceptTail]


class CypherAnswer(BaseModel):
    """Rows of a query."""

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = Field(description="Whether the query had more rows than the limit.")


class CookbookAnswer(BaseModel):
    """The queries of the cookbook."""

    queries: list[dict[str, Any]]


class StateAnswer(BaseModel):
    """The state of the service."""

    status: str


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


EXAMPLES: dict[type[Message], dict[str, dict[str, Any]]] = {
    ScoreRequest: {
        "one": {
            "summary": "One response, with all metrics of the service",
            "value": {"items": [{"history": _HISTORY, "response": _RESPONSE}]},
        },
        "two": {
            "summary": "Two responses to the same history, with IDs and evidence",
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
        "plain": {"summary": "Without pictures", "value": {"history": _HISTORY, "response": _RESPONSE, "svg": False}},
    },
    InferRequest: {
        "turn": {
            "summary": "One turn, all questions",
            "value": {"dialogue": ["A: I cooked dinner for you.", "B: Thank you!"], "target": 0},
        },
        "question": {
            "summary": "Every turn, one question",
            "value": {"dialogue": ["I passed the exam!", "Great!"], "questions": ["reaction"], "limit": 1},
        },
        "picture": {
            "summary": "One turn, with a picture",
            "value": {"dialogue": ["A: I cooked dinner for you.", "B: Thank you!"], "target": 0, "svg": True, "width": 640},
        },
    },
    ChooseRequest: {
        "dinner": {
            "summary": "Three choices, of which two are taken as right",
            "value": {
                "dialogue": ["A: I cooked dinner for you.", "B: Thank you!"],
                "target": "I cooked dinner for you.",
                "question": "motivation",
                "choices": ["The speaker wants to be kind.", "The speaker does not want to be kind.", "The speaker hates food."],
            },
        }
    },
    CypherRequest: {
        "text": {
            "summary": "A query as text",
            "value": {
                "query": "MATCH (a:Concept {text: $word})-[r]->(b:Concept) "
                "RETURN type(r) AS relation, b.text AS tail ORDER BY relation, tail",
                "parameters": {"word": "dog"},
                "limit": 5,
            },
        },
        "cookbook": {"summary": "A query of the cookbook", "value": {"query": "used_for", "parameters": {"concept": "knife"}}},
    },
}
"""Bodies that work on any graph, by the model of the request and a name."""


def request_body(model: type[Message]) -> dict[str, Any]:
    """Return the OpenAPI description of a request body, with its examples."""
    content = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}, "examples": EXAMPLES[model]}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}

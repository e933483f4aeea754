"""The answers of the ConceptNet API as models, from which the OpenAPI document describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, create_model


def _context(model: str, doc: str, base: type[BaseModel] = BaseModel, **fields: Any) -> Any:
    """Return a model with the fields that every answer has, those of ``base``, and ``fields``."""
    always: dict[str, Any] = {"context": (list[str], Field(alias="@context")), "version": (str, ...)}
    return create_model(model, __doc__=doc, __base__=base, **always, **fields)


class ConceptNetNode(BaseModel):
    """A concept; ``language`` for ConceptNet's own, ``site`` for those of other sites."""

    id: str = Field(alias="@id")
    type: Literal["Node"] = Field(alias="@type")
    label: str
    language: str | None = None
    sense_label: str | None = None
    site: str | None = None
    term: str


class ConceptNetRelation(BaseModel):
    """A relation."""

    id: str = Field(alias="@id")
    type: Literal["Relation"] = Field(alias="@type")
    label: str


class ConceptNetSource(BaseModel):
    """Who or what an assertion is from."""

    id: str = Field(alias="@id")
    type: Literal["Source"] = Field(alias="@type")
    contributor: str | None = None
    activity: str | None = None
    process: str | None = None


class ConceptNetEdge(BaseModel):
    """An assertion."""

    id: str = Field(alias="@id")
    type: Literal["Edge"] = Field(alias="@type")
    dataset: str
    end: ConceptNetNode
    license: str
    rel: ConceptNetRelation
    sources: list[ConceptNetSource]
    start: ConceptNetNode
    surfaceText: str | None
    weight: float
    other: ConceptNetNode | None = None


class ConceptNetView(BaseModel):
    """Links to this page of edges and to others."""

    id: str = Field(alias="@id")
    type: Literal["PartialCollectionView"] = Field(alias="@type")
    comment: str | None = None
    firstPage: str
    nextPage: str | None = None
    paginatedProperty: Literal["edges"]
    previousPage: str | None = None


class ConceptNetFeature(BaseModel):
    """The edges of a concept with one relation, on one side."""

    id: str = Field(alias="@id")
    edges: list[ConceptNetEdge]
    feature: dict[str, str]
    symmetric: bool
    view: ConceptNetView | None = None


class ConceptNetError(BaseModel):
    """What is wrong: the status, which is that of the response only where there is nothing else to say, and a sentence."""

    status: int
    details: str


class ConceptNetRelated(BaseModel):
    """A concept and its cosine."""

    id: str = Field(alias="@id")
    weight: float


_ID = (str, Field(alias="@id"))
_ERROR = (ConceptNetError | None, None)

ConceptNetFailure = _context("ConceptNetFailure", "An error.", error=(ConceptNetError, ...))
ConceptNetEdges = _context(
    "ConceptNetEdges", "A page of edges, heaviest first.", id=_ID, edges=(list[ConceptNetEdge], ...),
    view=(ConceptNetView | None, None), error=_ERROR,
)  # fmt: skip
ConceptNetFeatures = _context(
    "ConceptNetFeatures", "The edges of a concept by feature.", id=_ID, label=(str, ...),
    features=(list[ConceptNetFeature], ...),
)  # fmt: skip
ConceptNetAssertion = _context("ConceptNetAssertion", "One edge.", ConceptNetEdge)
ConceptNetRelatedTerms = _context(
    "ConceptNetRelatedTerms", "The concepts nearest to a term.", id=_ID, related=(list[ConceptNetRelated], ...)
)
ConceptNetSimilarity = _context(
    "ConceptNetSimilarity", "The cosine of two terms, or an error.", value=(float | None, None), error=_ERROR
)
ConceptNetUri = _context("ConceptNetUri", "The URI of a text.", id=_ID)

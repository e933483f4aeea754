"""Explanations of scores: :class:`Explanation`, its claims about the graph, and its plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isnan
from types import MappingProxyType
from typing import Any

from ...graph.cypher_store import claim_query
from ...graph.model import Assertion
from ...graph.names import text_of
from ...graph.schema import Json, shape
from ..base import Piece, Score
from ..reference import other_graph

_NOTEBOOK_WIDTH = 800

_NAMES = (
    "metric=score.signature.metric", "value=score.value", "percentile=score.percentile", "signature=score.signature",
    "note=score.evidence.note", "text", "history", "response", "pieces=score.evidence.pieces", "claims", "query",
)  # fmt: skip


@shape(*_NAMES)
@dataclass(frozen=True, slots=True)
class Explanation(Json):
    """The explanation of one response's score.

    Attributes:
        history: the turns before it, oldest first; response: the text that was scored.
        score: with its evidence.
    """

    history: tuple[str, ...]
    response: str
    score: Score

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The assertions of the graph in the evidence, each once; a model's predictions are not claims."""
        return claims_of(self.score.evidence.pieces)

    def text(self) -> str:
        """The score, its pieces with their shares, and its signature, one line each."""
        return explain(self.score)

    def query(self) -> str:
        """Return the Cypher query that finds each of the claims in the graph."""
        return claim_query().text

    @classmethod
    def json_fields(cls, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an explanation in JSON."""
        evidence = {"pieces": row["pieces"], "note": row["note"]}
        score = {"value": row["value"], "percentile": row.get("percentile"), "signature": row["signature"], "evidence": evidence}
        return {"history": row["history"], "response": row["response"], "score": score}

    def svg(self, width: int = 960) -> str:
        """Return the picture: history on the left, response on the right, and the assertions between them.

        Args:
            width: in pixels, 320..2,400; below 600 the assertions are below the turns.

        Raises:
            InputError: ``width`` is out of range.
        """
        from .picture import draw

        return draw(self.history, self.response, self.score, width)

    def _repr_svg_(self) -> str:
        """Return the picture, for notebooks, as wide as the output of a cell usually is."""
        return self.svg(_NOTEBOOK_WIDTH)


@shape(*_NAMES, "svg", optional=("svg",))
class DrawnExplanation(Explanation):
    """The JSON of an explanation with its picture."""


# Claims: the assertions of the graph in the evidence of a score, which a query can check.
#
# Predicted tails, associations between words and cosines come from models and are not claims. The query of
# :func:`tacit.graph.cypher_store.claim_query` finds each claim, with the same weight and source, on both engines.


@shape("head", "relation", "tail", "head_text", "tail_text", "weight", "source", "dataset", "share", "parameters")
@dataclass(frozen=True, slots=True)
class Claim(Json):
    """An assertion of the graph in the evidence of a score.

    Attributes:
        head, relation, tail: the triple; head and tail are URIs.
        weight, source, dataset: as in the graph.
        share: sum of the shares of the pieces that use it; an assertion may occur in several pieces, and a piece have several
            assertions, so these do not add up to the score.
    """

    head: str
    relation: str
    tail: str
    weight: float
    source: str
    dataset: str
    share: float

    @property
    def head_text(self) -> str:
        """The text of the head."""
        return text_of(self.head)

    @property
    def tail_text(self) -> str:
        """The text of the tail."""
        return text_of(self.tail)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of :func:`tacit.graph.cypher_store.claim_query` that find it."""
        return {"head": self.head, "relation": self.relation, "tail": self.tail}


def claims_of(pieces: Sequence[Piece]) -> tuple[Claim, ...]:
    """Return the claims of ``pieces`` and of the pieces below them, each once, in order of their first use."""
    shares: dict[tuple[str, str, str, float, str, str], float] = {}
    for piece, assertion in asserted_edges(pieces):
        edge = (assertion.head, assertion.relation, assertion.tail, assertion.weight, assertion.source, assertion.dataset)
        shares[edge] = shares.get(edge, 0.0) + piece.share
    return tuple(Claim(*edge, share) for edge, share in shares.items())


def asserted_edges(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Assertion]]:
    """Yield every piece with each assertion of the graph on its path."""
    for piece in pieces:
        if piece.path is not None and piece.asserted:
            for assertion in dict.fromkeys(piece.path.assertions):
                yield piece, assertion
        yield from asserted_edges(piece.rests_on)


# Plain text: one line for each piece, with its share and the assertions behind it.
#
# Pieces whose share rounds to zero are summed up in one line, so that the shares still add up to the score.

LEAST_SHARE: Mapping[str, float] = MappingProxyType({"concept": 0.005, "triple": 0.0005, "word": 0.0005})  # by kind of piece

_NAMED = 3  # names in the line of summed pieces
_RAREST = 1 / 500  # about the share of one draw of the background, below which a frequency is not given

_TAILS = {
    "graph-tail": 'which {source} says of "{head}"',
    "nearest-tail": 'which {source} says of "{head}", an event like it',
    "comet-tail": 'which {source} generated for "{head}"',
    "model-tail": "which {source} expects of it",
}


def explain(score: Score) -> str:
    """Return the score, its pieces with their shares, and its signature, one line each, without colours or a final newline."""
    lines = [explain_value(score), *(f"  {line}" for line in explain_pieces(score.evidence.pieces))]
    return "\n".join([*lines, f"  {score.signature}"])


def explain_value(score: Score) -> str:
    """Return one line for the score, e.g. ``grounding 0.417``, with its percentile and note if it has them."""
    value = "none" if isnan(score.value) else f"{score.value:.3f}"
    if score.percentile is not None:
        value += f", percentile {score.percentile:g}"
        if other_graph(score.signature):
            value += " (reference made with another graph)"
    return f"{score.signature.metric} {value}" + (f": {score.evidence.note}" if score.evidence.note else "")


def is_slight(piece: Piece) -> bool:
    """Return whether the share of a piece rounds to zero, so that texts and pictures leave the piece out."""
    return abs(piece.share) < LEAST_SHARE.get(piece.kind, 0.0)


def explain_pieces(pieces: Sequence[Piece]) -> list[str]:
    """Return the lines of some pieces, and one line for the sum of those whose share rounds to zero."""
    slight = [piece for piece in pieces if is_slight(piece)]
    lines = [line for piece in pieces if not is_slight(piece) for line in explain_piece(piece)]
    if slight:
        names = list(dict.fromkeys(f'"{piece.response.text}"' if piece.response else piece.name for piece in slight))
        more = len(names) - _NAMED
        listed = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{fsum(piece.share for piece in slight) + 0.0:+.3f} in all from {listed}")
    return lines


def explain_piece(piece: Piece) -> list[str]:
    """Return the lines of one piece, with the pieces below it indented by two spaces.

    A concept reads ``+0.250 "bone" fits "dog" (turn 1): dog -Desires-> bone; one in 40 random histories is as near``; a part
    has no share, an edge shows its attention instead, and a parallel assertion only itself: ``also bone -AtLocation-> dog``.
    """
    line = _description(piece) if piece.kind in ("part", "edge", "parallel") else f"{piece.share:+.3f} {_description(piece)}"
    line = f"{piece.name} {piece.value:.2f}: {line}" if piece.kind == "edge" else line
    return [line, *(f"  {deeper}" for deeper in explain_pieces(piece.rests_on))]


def _description(piece: Piece) -> str:
    if piece.kind == "tuple":
        return f"{piece.name} ({piece.value:.2f})"
    if piece.kind == "keyword":
        return piece.name
    if piece.kind in _TAILS and piece.path is not None:
        (assertion,) = piece.path.assertions
        known = _TAILS[piece.kind].format(head=text_of(piece.path.nodes[0]), source=assertion.source)
        return f'like "{piece.name}" ({piece.value:.2f}), {known}'
    if piece.kind == "parallel" and piece.path is not None:
        return f"also {piece.path.text()}"
    if piece.response is None:
        return piece.name if piece.kind in ("base", "word") else f"{piece.name} {piece.value:g}"
    concept = f'"{piece.response.text}"'
    name = text_of(piece.response.concept)
    if name != piece.response.text.lower():
        concept += f" ({name})"
    if piece.history is None or piece.turn is None or piece.hops is None:
        return f"{concept} has no support in the history"
    history_concept = f'"{piece.history.text}" (turn {piece.turn + 1})'
    if piece.kind == "concept":
        return f"{concept} {_joined(piece, history_concept)}; {_by_chance(1 - piece.value)}"
    if piece.hops == 0:
        return f"{concept} is in the history too: {history_concept}"
    hops = f"{piece.hops} hop{'s' if piece.hops > 1 else ''}"
    path = f": {piece.path.text()}" if piece.path else ""
    return f"{concept} rests on {history_concept}, {hops}{path}"


def _joined(piece: Piece, history_concept: str) -> str:
    """Return how a concept of the response is related to one of the history."""
    if piece.hops == 0:
        return f"is in the history too: {history_concept}"
    if piece.path is not None:
        return f"fits {history_concept}: {piece.path.text()}"
    return f"is {piece.hops} hop{'s' if piece.hops != 1 else ''} from {history_concept}"


def _by_chance(part: float) -> str:
    """Return the share of random histories that are as near, as a phrase."""
    if part < _RAREST:
        return "hardly any random history is as near"
    if part <= 0.5:
        return f"one in {round(1 / part):,} random histories is as near"
    tenths = round(10 * part)
    return f"{tenths} in 10 random histories are as near" if tenths < 10 else "nearly every random history is as near"

"""The explanation of one score: one object whose words, claims, plain values and picture say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isnan, nan
from types import MappingProxyType
from typing import Any, Self

from ...graph.cypher_store import claim_query
from ...graph.model import Assertion
from ...graph.names import text_of
from ..base import Evidence, Piece, Score, Signature


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the score of one response rests on.

    Attributes:
        history: the turns before it, oldest first; response: the text that was scored.
        score: with its evidence.
    """

    history: tuple[str, ...]
    response: str
    score: Score

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The edges of the graph that the score stands on, each once; what a model holds is not among them."""
        return claims_of(self.score.evidence.pieces)

    def text(self) -> str:
        """The score, its pieces with their shares, and its signature, one line each."""
        return explain(self.score)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``value`` is None where there is none, ``query`` finds each of the ``claims`` in the graph."""
        score = self.score
        return {
            "metric": score.signature.metric,
            "value": None if isnan(score.value) else score.value,
            "percentile": score.percentile,
            "signature": str(score.signature),
            "note": score.evidence.note,
            "text": self.text(),
            "history": list(self.history),
            "response": self.response,
            "pieces": [piece.to_dict() for piece in score.evidence.pieces],
            "claims": [claim.to_dict() for claim in self.claims],
            "query": claim_query().text,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave.

        Raises:
            KeyError, TypeError, ValueError: ``row`` is something else.
        """
        evidence = Evidence(tuple(Piece.from_dict(piece) for piece in row["pieces"]), row["note"])
        value = nan if row["value"] is None else float(row["value"])
        score = Score(value, evidence, Signature.from_text(row["signature"]), row.get("percentile"))
        return cls(tuple(row["history"]), row["response"], score)

    def svg(self, width: int = 960) -> str:
        """The picture: history left, response right, and between them the knowledge that joins them; see :func:`draw`.

        Args:
            width: in pixels, 640..2,400.

        Raises:
            InputError: ``width`` is outside that.
        """
        from .picture import draw

        return draw(self.history, self.response, self.score, width)

    def _repr_svg_(self) -> str:
        """The picture, for notebooks."""
        return self.svg()


# The claims of an explanation: every edge of the graph that a score stands on, each with what shows that it is there.
#
# What a model holds is no claim: tails that it expects, words that it associates, cosines. A query that is shown with the
# claims (:func:`tacit.graph.cypher_store.claim_query`) finds each of them, with the same weight and source, on both engines.


@dataclass(frozen=True, slots=True)
class Claim:
    """One edge of the graph that a score stands on.

    Attributes:
        head, relation, tail: the edge; the ends are URIs.
        weight, source, dataset: as the graph has them.
        share: what is due to the pieces that it serves, together; an edge may serve several pieces, and a piece stand on several
            edges, so these do not add up to the value.
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
        """The head in words."""
        return text_of(self.head)

    @property
    def tail_text(self) -> str:
        """The tail in words."""
        return text_of(self.tail)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters under which :func:`tacit.graph.cypher_store.claim_query` finds it."""
        return {"head": self.head, "relation": self.relation, "tail": self.tail}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "head_text": self.head_text,
            "tail_text": self.tail_text,
            "weight": self.weight,
            "source": self.source,
            "dataset": self.dataset,
            "share": self.share,
            "parameters": self.parameters,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave."""
        return cls(*(row[name] for name in ("head", "relation", "tail", "weight", "source", "dataset", "share")))


def claims_of(pieces: Sequence[Piece]) -> tuple[Claim, ...]:
    """Return the claims of ``pieces`` and of what they rest on, each edge once, in the order in which they come up."""
    shares: dict[tuple[str, str, str, float, str, str], float] = {}
    for piece, assertion in _asserted(pieces):
        edge = (assertion.head, assertion.relation, assertion.tail, assertion.weight, assertion.source, assertion.dataset)
        shares[edge] = shares.get(edge, 0.0) + piece.share
    return tuple(Claim(*edge, share) for edge, share in shares.items())


def _asserted(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Assertion]]:
    """Every piece with each edge of the graph on its path."""
    for piece in pieces:
        if piece.path is not None and piece.asserted:
            for assertion in dict.fromkeys(piece.path.assertions):
                yield piece, assertion
        yield from _asserted(piece.rests_on)


# A score told in plain text: which concept of the response rests on which of the history, through which assertions.
#
# A piece whose share rounds to nothing is not told by itself; one line names those that were left out, with the sum of their
# shares, so that what is told still adds up to the value.

LEAST_SHARE: Mapping[str, float] = MappingProxyType({"concept": 0.005, "triple": 0.0005, "word": 0.0005})  # by kind of piece

_NAMED = 3
_RAREST = 1 / 500  # one draw of the background is about this part of it; below that, a frequency is not told

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
    """Return one line for the value, e.g. ``grounding 0.417``, with percentile and note where there are such."""
    value = "none" if isnan(score.value) else f"{score.value:.3f}"
    if score.percentile is not None:
        value += f", percentile {score.percentile:g}"
    return f"{score.signature.metric} {value}" + (f": {score.evidence.note}" if score.evidence.note else "")


def is_slight(piece: Piece) -> bool:
    """Whether the share of a piece rounds to nothing, so that texts and pictures leave the piece out."""
    return abs(piece.share) < LEAST_SHARE.get(piece.kind, 0.0)


def explain_pieces(pieces: Sequence[Piece]) -> list[str]:
    """Return the lines for some pieces, and one line for those that are left out since their shares round to nothing."""
    slight = [piece for piece in pieces if is_slight(piece)]
    lines = [line for piece in pieces if not is_slight(piece) for line in explain_piece(piece)]
    if slight:
        names = list(dict.fromkeys(f'"{piece.response.text}"' if piece.response else piece.name for piece in slight))
        more = len(names) - _NAMED
        told = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{fsum(piece.share for piece in slight) + 0.0:+.3f} in all from {told}")
    return lines


def explain_piece(piece: Piece) -> list[str]:
    """Return the lines for one piece, the pieces it rests on below it, two blanks deeper.

    A concept reads ``+0.250 "bone" fits "dog" (turn 1): dog -Desires-> bone; one in 40 random histories is as near``; a part has
    no share to show, an edge shows the attention on it instead.
    """
    line = _what(piece) if piece.kind in ("part", "edge") else f"{piece.share:+.3f} {_what(piece)}"
    line = f"{piece.name} {piece.value:.2f}: {line}" if piece.kind == "edge" else line
    return [line, *(f"  {deeper}" for deeper in explain_pieces(piece.rests_on))]


def _what(piece: Piece) -> str:
    """What a piece is, in words."""
    if piece.kind == "tuple":
        return f"{piece.name} ({piece.value:.2f})"
    if piece.kind == "keyword":
        return piece.name
    if piece.kind in _TAILS and piece.path is not None:
        (assertion,) = piece.path.assertions
        known = _TAILS[piece.kind].format(head=text_of(piece.path.nodes[0]), source=assertion.source)
        return f'like "{piece.name}" ({piece.value:.2f}), {known}'
    if piece.response is None:
        return piece.name if piece.kind in ("base", "word") else f"{piece.name} {piece.value:g}"
    what = f'"{piece.response.text}"'
    name = text_of(piece.response.concept)
    if name != piece.response.text.lower():
        what += f" ({name})"
    if piece.history is None or piece.turn is None or piece.hops is None:
        return f"{what} rests on nothing in the history"
    where = f'"{piece.history.text}" (turn {piece.turn + 1})'
    if piece.kind == "concept":
        return f"{what} {_joined(piece, where)}; {_by_chance(1 - piece.value)}"
    if piece.hops == 0:
        return f"{what} stands in the history too: {where}"
    hops = f"{piece.hops} hop{'s' if piece.hops > 1 else ''}"
    path = f": {piece.path.text()}" if piece.path else ""
    return f"{what} rests on {where}, {hops}{path}"


def _joined(piece: Piece, where: str) -> str:
    """How a concept of the response is joined to the one of the history that stands at ``where``."""
    if piece.hops == 0:
        return f"stands in the history too: {where}"
    if piece.path is not None:
        return f"fits {where}: {piece.path.text()}"
    return f"is {piece.hops} hop{'s' if piece.hops != 1 else ''} from {where}"


def _by_chance(part: float) -> str:
    """How large a part of random histories is as near, in words."""
    if part < _RAREST:
        return "hardly any random history is as near"
    if part <= 0.5:
        return f"one in {round(1 / part):,} random histories is as near"
    tenths = round(10 * part)
    return f"{tenths} in 10 random histories are as near" if tenths < 10 else "nearly every random history is as near"

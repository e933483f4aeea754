"""The explanation of one score: one object whose words, claims, plain values and picture say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Self

from ...graph.claims import claim_query
from ..score import Evidence, Piece, Score, Signature
from .claims import Claim, claims_of
from .telling import explain


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

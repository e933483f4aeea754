"""What a score rests on, for people and programs: in words, as claims that a query can check, as plain values, as a picture."""

from __future__ import annotations

from .explained import Claim, Explanation, claims_of, explain, explain_pieces, explain_value

__all__ = ["Claim", "Explanation", "claims_of", "explain", "explain_pieces", "explain_value"]

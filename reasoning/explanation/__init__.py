"""Explanations of scores: as text, as claims that a graph query can check, as plain values for JSON, and as an SVG picture."""

from __future__ import annotations

from .explained import Claim, Explanation, claims_of, explain, explain_pieces, explain_value

__all__ = ["Claim", "Explanation", "claims_of", "explain", "explain_pieces", "explain_value"]

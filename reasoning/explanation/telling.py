"""A score told in plain text: which concept of the response rests on which of the history, through which assertions."""

from __future__ import annotations

from math import isnan

from ...graph.names import text_of
from ..score import Piece, Score

_TAILS = {
    "graph-tail": 'which {source} says of "{head}"',
    "nearest-tail": 'which {source} says of "{head}", an event like it',
    "comet-tail": 'which {source} generated for "{head}"',
    "model-tail": "which {source} expects of it",
}


def explain(score: Score) -> str:
    """Return the score, its pieces with their shares, and its signature, one line each, without colours or a final newline."""
    lines = [explain_value(score)]
    lines += [f"  {line}" for piece in score.evidence.pieces for line in explain_piece(piece)]
    return "\n".join([*lines, f"  {score.signature}"])


def explain_value(score: Score) -> str:
    """Return one line for the value, e.g. ``grounding 0.417``, with percentile and note where there are such."""
    value = "none" if isnan(score.value) else f"{score.value:.3f}"
    if score.percentile is not None:
        value += f", percentile {score.percentile:g}"
    return f"{score.signature.metric} {value}" + (f": {score.evidence.note}" if score.evidence.note else "")


def explain_piece(piece: Piece) -> list[str]:
    """Return the lines for one piece, the pieces it rests on below it, two blanks deeper.

    A concept reads ``+0.250 "bone" rests on "dog" (turn 1), 1 hop: dog -Desires-> bone``; a part has no share to show,
    an edge shows the attention on it instead.
    """
    line = _what(piece) if piece.kind in ("part", "edge") else f"{piece.share:+.3f} {_what(piece)}"
    line = f"{piece.name} {piece.value:.2f}: {line}" if piece.kind == "edge" else line
    return [line, *(f"  {deeper}" for part in piece.rests_on for deeper in explain_piece(part))]


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
    if piece.hops == 0:
        return f"{what} stands in the history too: {where}"
    hops = f"{piece.hops} hop{'s' if piece.hops > 1 else ''}"
    path = f": {piece.path.text()}" if piece.path else ""
    return f"{what} rests on {where}, {hops}{path}"

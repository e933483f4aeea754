"""A score told in plain text: which concept of the response rests on which of the history, through which assertions."""

from __future__ import annotations

from ..graph.names import text_of
from .score import Piece, Score


def explain(score: Score) -> str:
    """Return the score, its pieces with their shares, and its signature, one line each, without colours or a final newline."""
    lines = [f"{score.signature.metric} {score.value:.3f}"]
    if score.evidence.note:
        lines[0] += f": {score.evidence.note}"
    lines += [f"  {explain_piece(piece)}" for piece in score.evidence.pieces]
    return "\n".join([*lines, f"  {score.signature}"])


def explain_piece(piece: Piece) -> str:
    """Return one line for one piece, e.g. ``+0.250 "bone" rests on "dog" (turn 1), 1 hop: dog -Desires-> bone``."""
    what = f'"{piece.response.text}"'
    name = text_of(piece.response.concept)
    if name != piece.response.text.lower():
        what += f" ({name})"
    if piece.history is None or piece.turn is None or piece.hops is None:
        return f"+{piece.share:.3f} {what} rests on nothing in the history"
    where = f'"{piece.history.text}" (turn {piece.turn + 1})'
    if piece.hops == 0:
        return f"+{piece.share:.3f} {what} stands in the history too: {where}"
    hops = f"{piece.hops} hop{'s' if piece.hops > 1 else ''}"
    path = f": {piece.path.text()}" if piece.path else ""
    return f"+{piece.share:.3f} {what} rests on {where}, {hops}{path}"

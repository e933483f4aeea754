"""What Neo4j cannot stop: it ends a transaction only between rows, so no single expression may run for minutes.

Measured on Neo4j 5.26: ``reduce`` over a long ``range``, a list walked inside another, a backtracking regular expression, and the
planning of some shapes (twenty XOR, 300 nested CASE, 1,900 NOT) run past the transaction's time limit and hold a core. The worker
of the embedded engine is killed instead, so this does not concern it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .tokens import Token, refused

MAX_RANGE = 100_000
MAX_REPEATS = 3
MAX_CHOICES = 16

_LITERAL_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})|\\(.)", re.DOTALL)
_PIECE = re.compile(
    r"\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?::|[imsu]+\)|[imsu]+:))?|[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})[+?]?|[\s\S]"
)

_SHAPES = {"XOR": 5, "NOT": 40, "CASE": 20, "UNION": 20, "relationships": 25}


def check_shape(query: str, tokens: Sequence[Token]) -> None:
    """Refuse more than so many of what the planner takes exponential time for, each counted over the whole query."""
    counts = dict.fromkeys(_SHAPES, 0)
    for token, following in pairwise(tokens):
        kind = "relationships" if token.text == "-" and following.text in ("-", "[") else token.upper
        if kind in counts:
            counts[kind] += 1
            if counts[kind] > _SHAPES[kind]:
                raise refused(
                    query, token.start, f"a query with more than {_SHAPES[kind]} {kind}", "split it into several queries"
                )


def check_iteration(query: str, token: Token, nested: bool) -> None:
    """Refuse a list that is walked inside the walk over another one."""
    if nested:
        raise refused(
            query, token.start, "a list walked inside the walk over another", "use UNWIND, which can be stopped, for one of them"
        )


def check_range(query: str, tokens: Sequence[Token], opening: int, back: int, parameters: Mapping[str, Any] | None) -> None:
    """Refuse a ``range(…)`` whose bracket is ``tokens[opening]``, unless it is short or the whole operand of an UNWIND.

    Args:
        query: the text; tokens: all of its tokens.
        opening: place of the bracket; back: number of tokens of the function's name before it.
        parameters: values of parameters, where they are known.
    """
    depth, index, small = 1, opening + 1, True
    while depth and tokens[index].kind != "end":
        token = tokens[index]
        depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "symbol" else 0
        if depth == 1 and not _small(token, parameters):
            small = False
        index += 1
    unwound = tokens[opening - back - 1].upper == "UNWIND" and tokens[index].upper == "AS"
    if not (small or unwound):
        raise refused(
            query,
            tokens[opening].start,
            "a range that may be long",
            f"UNWIND range(…) AS name takes any length, elsewhere give numbers up to {MAX_RANGE:,}, size(…) or length(…)",
        )


def _small(token: Token, parameters: Mapping[str, Any] | None) -> bool:
    """Return whether ``token`` may stand among the arguments of a short range."""
    if token.kind == "number":
        return token.text.isdecimal() and int(token.text) <= MAX_RANGE
    if token.kind == "parameter":
        value = None if parameters is None else parameters.get(token.name, 0)
        return value is None or (isinstance(value, int) and abs(value) <= MAX_RANGE)
    return token.text in (",", "+", "-", "(", ")") or token.text.lower() in ("size", "length")


def check_regex(query: str, sign: Token, operand: Token, after: Token, parameters: Mapping[str, Any] | None) -> None:
    """Refuse the pattern after ``=~`` unless it is known beforehand and its matching time cannot explode.

    Args:
        query: the text; sign: the ``=~``; operand, after: the two tokens that follow it.
        parameters: values of parameters, where they are known.
    """
    known = operand.kind in ("string", "parameter") and after.text not in ("+", "-", "*", "/", "%", "^", "||", "[", ".")
    if not known:
        raise refused(query, sign.start, "a regular expression that is computed", "write it as one string or one $parameter")
    if operand.kind == "string":
        pattern: object = _LITERAL_ESCAPE.sub(_unescape, operand.text[1:-1])
    else:
        pattern = None if parameters is None else parameters.get(operand.name)
    if isinstance(pattern, str) and (fault := explosive(pattern)):
        raise refused(
            query,
            operand.start,
            f"a regular expression with {fault}",
            "use CONTAINS, STARTS WITH, or at most three plain repeats",
        )


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return match[2] if match[2] in "\\'\"" else match[0]


def explosive(pattern: str) -> str:
    """Return what in a regular expression can make a backtracking matcher run for ages; empty when nothing can.

    Repeated groups that hold a repeat or a choice take exponential time, and so do many choices in a row; four repeats after each
    other take the fourth power.
    """
    risky: list[bool] = [False]  # one for each open group: it holds a repeat or a choice
    repeats, choices, closed, before = 0, 0, False, ""
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        if piece[0] == "(":
            if pattern.startswith("?", match.end()):
                return "a special group"
            if not piece.endswith(")"):
                risky.append(False)
        elif piece == ")":
            closed = risky.pop() if len(risky) > 1 else True
            risky[-1] = risky[-1] or closed
        elif piece == "|":
            risky[-1] = True
            choices += 1
        elif piece[0] in "*+?" or (piece[0] == "{" and len(piece) > 1):
            if before == ")" and closed:
                return "a repeat of repeats or choices"
            if piece[0] == "?":
                choices += 1
            elif not re.fullmatch(r"\{\d{1,2}\}[+?]?", piece):
                repeats += 1
            risky[-1] = True
        elif piece[0] == "\\" and (piece[1:].isdigit() or piece[1:] in ("k", "Q")):
            return "a reference back"
        before = piece
    if choices > MAX_CHOICES:
        return f"{choices} choices"
    return f"{repeats} repeats" if repeats > MAX_REPEATS else ""

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
from .words import CLAUSES, SUBQUERIES

MAX_RANGE = 100_000
MAX_REPEATS = 3
MAX_CHOICES = 16
MAX_PATTERN = 1_000
"""Most characters of a regular expression, and of a text in the query or its parameters beside one with two repeats."""
MAX_GROWTH = 1_000_000

_LITERAL_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})|\\(.)", re.DOTALL)
_PIECE = re.compile(
    r"\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?::|[imsu]+\)|[imsu]+:))?|[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})[+?]?|[\s\S]"
)

_REPEAT = re.compile(r"[*+}]")
_STEPS = {"WITH", "UNWIND", "RETURN", "MATCH", "CALL"}
_JOINS = {"+", "||"}
_SHORT = ("nodes", "relationships", "keys", "labels")
"""Functions whose lists are short, so that they may be walked inside another walk."""

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


def check_growth(query: str, tokens: Sequence[Token]) -> None:
    """Refuse values that double step by step, such as ``WITH [x, x] AS x`` many times over or ``reduce(… | s + s)``.

    Comparing and sending such values is not interrupted. Counted are the names inside lists and maps and beside ``+``, in each
    WITH, UNWIND and RETURN; their product bounds the growth.
    """
    growth, uses, makes, opened = 1, 0, False, [""]
    for index, token in enumerate(tokens):
        before, after = tokens[index - 1].text if index else "", tokens[index + 1].text if token.kind != "end" else ""
        if token.text in ("(", "[", "{") and token.kind == "symbol":
            query_follows = before.upper() in SUBQUERIES | {"CALL"} or after.upper() in CLAUSES
            opened.append("" if query_follows else token.text)
            if token.text == "(" and before.lower() == "reduce":
                _check_reduce(query, tokens, index)
        elif token.text in (")", "]", "}") and token.kind == "symbol" and len(opened) > 1:
            opened.pop()
        elif token.upper in _STEPS:
            growth, uses, makes = growth * max(uses, 1), 0, token.upper not in ("MATCH", "CALL")
        elif token.kind in ("word", "quoted") and (opened[-1] in ("[", "{") or {before, after} & _JOINS):
            uses += makes
        if growth * max(uses, 1) > MAX_GROWTH:
            raise refused(query, token.start, "a value that grows with every WITH", "split the query into several")


def _check_reduce(query: str, tokens: Sequence[Token], opening: int) -> None:
    """Refuse a ``reduce(…)`` whose result is joined with itself, or put into a list or map, in every step."""
    name, depth, index, joined = tokens[opening + 1], 1, opening + 2, set()
    while depth and tokens[index].kind != "end":
        token = tokens[index]
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}")) if token.kind == "symbol" else 0
        if token.kind in ("word", "quoted") and token.name == name.name and tokens[index - 1].text != ".":
            end = index + 1
            while tokens[end].text == "." and tokens[end + 1].kind in ("word", "quoted"):
                end += 2
            chain = ".".join(part.name for part in tokens[index:end:2])
            held = tokens[index - 1].text in ("[", ",", ":") and tokens[end].text in ("]", ",", "}") and depth > 1
            if {tokens[index - 1].text, tokens[end].text} & _JOINS or held:
                if chain in joined or (held and end == index + 1):
                    raise refused(
                        query, token.start, "a reduce that doubles or nests its result", f"use {chain[:40]} once in a sum"
                    )
                joined.add(chain)
        index += 1


def check_iteration(query: str, tokens: Sequence[Token], position: int, nested: bool) -> None:
    """Refuse a list that is walked inside the walk over another one, unless it is the nodes or the like of one thing.

    Args:
        query: the text; tokens: all of its tokens.
        position: place of the bracket or of the function that walks; nested: it is within what another walk does with each item.
    """
    inner = [token.text.lower() for token in tokens[position : position + 8]]
    start = inner.index("in") + 1 if "in" in inner else len(inner)
    short = inner[start : start + 1] in ([word] for word in _SHORT) and inner[start + 1 : start + 4 : 2] == ["(", ")"]
    if nested and not short:
        raise refused(
            query,
            tokens[position].start,
            "a list walked inside the walk over another",
            "use UNWIND, which can be stopped, for one of them",
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


def check_regex(query: str, tokens: Sequence[Token], position: int, parameters: Mapping[str, Any] | None) -> None:
    """Refuse the pattern after ``=~`` unless it is known beforehand and its matching time cannot explode.

    Args:
        query: the text; tokens: all of its tokens; position: place of the ``=~``.
        parameters: values of parameters, where they are known.
    """
    sign, operand, after = tokens[position], tokens[position + 1], tokens[min(position + 2, len(tokens) - 1)]
    known = operand.kind in ("string", "parameter") and after.text not in ("+", "-", "*", "/", "%", "^", "||", "[", ".")
    if not known:
        raise refused(query, sign.start, "a regular expression that is computed", "write it as one string or one $parameter")
    if operand.kind == "string":
        pattern: object = _LITERAL_ESCAPE.sub(_unescape, operand.text[1:-1])
    else:
        pattern = None if parameters is None else parameters.get(operand.name)
    if not isinstance(pattern, str):
        return
    fault = explosive(pattern)
    if not fault and len(_REPEAT.findall(pattern)) > 1 and _long(tokens, parameters):
        fault = f"two repeats beside a text of more than {MAX_PATTERN:,} characters"
    if fault:
        raise refused(
            query,
            operand.start,
            f"a regular expression with {fault}",
            "use CONTAINS, STARTS WITH, or at most three plain repeats",
        )


def _long(tokens: Sequence[Token], parameters: Mapping[str, Any] | None) -> bool:
    """Return whether a string of the query or a parameter holds more text than two repeats may meet."""
    values: list[Any] = [token.text for token in tokens if token.kind == "string"] + list((parameters or {}).values())
    while values:
        value = values.pop()
        if isinstance(value, str) and len(value) > MAX_PATTERN:
            return True
        values += value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return False


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
    if len(pattern) > MAX_PATTERN:
        return f"more than {MAX_PATTERN:,} characters"
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
            if before == ")" and closed and piece[0] != "?":
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

"""Cost limits for Neo4j, which stops a transaction only between rows: no single expression may run for minutes.

Measured on Neo4j 5.26, these keep a core busy long after the transaction's time limit: work on a whole list for each item of
another (``IN``, ``=``, nested comprehensions), a ``reduce`` that builds a text or a list, a long ``range``, a backtracking
regular expression, and the planning of some shapes (twenty XOR, twenty nested EXISTS, 900 times ``+``). The embedded engine runs
queries in a worker process that is killed at its time limit, so these limits do not apply there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .tokens import CLAUSES, SUBQUERIES, Statement, Token

MAX_RANGE = 100_000
"""Largest number in a ``range`` outside UNWIND."""
MAX_REPEATS = 3
"""Most unbounded repeats in a regular expression."""
MAX_CHOICES = 16
"""Most ``|`` and ``?`` in a regular expression."""
MAX_PATTERN = 1_000
"""Most characters of a regular expression, and of any text in the query or its parameters if the expression has two repeats."""
MAX_GROWTH = 1_000_000
"""Largest bound on how many times larger a value may become from clause to clause."""
MAX_SHORT = 1_000
"""Most items or characters of a parameter or literal that may be read once for each item of a list."""
MAX_NESTED = 100
"""The same for the list of an iteration inside another."""
MAX_ITERATION_DEPTH = 3
"""Most iterations over lists inside each other."""
MAX_SUBQUERY_DEPTH = 5
"""Most subqueries inside each other."""
MAX_SHORTEST = 20
"""Most paths, or groups of paths, for ``SHORTEST k``."""

_LITERAL_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})|\\(.)", re.DOTALL)
_PIECE = re.compile(
    r"\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?::|[imsu]+\)|[imsu]+:))?|[)|]|(?:[*+?]|\{\d+(?:,\d*)?\})[+?]?|[\s\S]"
)

_REPEAT = re.compile(r"[*+}]")
_STEPS = {"WITH", "UNWIND", "RETURN", "MATCH", "CALL"}
_JOINS = {"+", "||"}
_COMPARISONS = {"=", "<>", "<", ">", "<=", ">="}
_ITERATIONS = {"all", "any", "none", "single", "reduce"}
"""Functions that read a list item by item within one expression."""
_SHORT_LISTS = {"nodes", "relationships", "keys", "labels"}
"""Functions whose lists are short, so that each item may be compared with a whole list."""
_CONSTANT_TIME = {
    "size", "length", "type", "id", "elementid", "labels", "keys", "startnode", "endnode", "exists", "head", "properties",
    "coalesce", "tointeger", "tofloat", "abs",
}  # fmt: skip
"""Functions that take the same time whatever the size of their argument."""
_NUMERIC = {"size", "length", "tointeger", "tofloat", "abs", "sign", "floor", "ceil", "round", "sqrt", "log", "log10", "id"}
_NUMERIC_PROPERTIES = {"weight", "score", "rank"}
_WHOLE_LIST = {"reverse", "tail", "tostringlist", "tointegerlist", "tofloatlist", "tobooleanlist", "range", "split", "replace"}
"""Functions that read or return the whole of a list or text."""
_VALUES = {"TRUE", "FALSE", "NULL", "AND", "OR", "XOR", "NOT", "IN", "IS", "WHERE", "CASE", "WHEN", "THEN", "ELSE", "END"} | {
    "STARTS", "ENDS", "WITH", "CONTAINS", "DISTINCT", "TYPED", "NAN", "INF",
}  # fmt: skip
"""Words in an expression that are not names of variables."""

_SHAPES = {"XOR": 5, "NOT": 40, "CASE": 20, "UNION": 20, "relationships": 25, "+": 150, "||": 150, "OR": 150}
"""How often an operator or clause may occur in a query, so that planning takes at most about a second."""


def check_costs(statement: Statement, parameters: Mapping[str, Any] | None) -> None:
    """Raise :class:`QueryRefused` for a query that Neo4j could not stop at its time limit; its brackets must be balanced."""
    check_shape(statement)
    check_growth(statement)
    _ListIterations(statement, parameters).check()


def check_shape(statement: Statement) -> None:
    """Refuse more operators, clauses or nested subqueries than the planner can handle in a second."""
    counts = dict.fromkeys(_SHAPES, 0)
    subqueries, depth = [False], 0
    for index, (token, following) in enumerate(pairwise(statement.tokens)):
        kind = "relationships" if token.text == "-" and following.text in ("-", "[") else token.upper or token.text
        if kind in counts and token.kind in ("word", "symbol"):
            counts[kind] += 1
            if counts[kind] > _SHAPES[kind]:
                raise statement.refused(token, f"a query with more than {_SHAPES[kind]} {kind}", "split it into several queries")
        if token.kind == "symbol" and token.text in "([{":
            subqueries.append(token.text == "{" and _opens_subquery(statement.tokens, index))
            depth += subqueries[-1]
            if depth > MAX_SUBQUERY_DEPTH:
                raise statement.refused(token, f"a subquery inside {MAX_SUBQUERY_DEPTH} others", "nest less deeply")
        elif token.kind == "symbol" and token.text in ")]}" and len(subqueries) > 1:
            depth -= subqueries.pop()
        if token.upper == "SHORTEST" and following.kind == "number" and not _small_number(following, MAX_SHORTEST):
            raise statement.refused(following, "SHORTEST with so many paths", f"ask for {MAX_SHORTEST} at most")


def _opens_subquery(tokens: list[Token], index: int) -> bool:
    """Return whether the brace at ``index`` begins EXISTS, COUNT, COLLECT or CALL {…}."""
    if index and tokens[index - 1].upper in SUBQUERIES | {"CALL"}:
        return True
    return bool(index) and tokens[index - 1].text == ")" and tokens[index + 1].upper in CLAUSES


def _small_number(token: Token, largest: int) -> bool:
    return token.kind == "number" and token.text.isdecimal() and len(token.text) < 10 and int(token.text) <= largest


def check_growth(statement: Statement) -> None:
    """Refuse values that grow exponentially, such as ``WITH [x, x] AS x`` many times over or ``reduce(… | s + s)``.

    Neo4j does not interrupt comparing or sending such values. The names inside lists and maps and next to ``+`` are counted for
    each WITH, UNWIND and RETURN; the product of these counts bounds the growth.
    """
    tokens = statement.tokens
    growth, uses, makes_values, open_brackets = 1, 0, False, [""]
    for index, token in enumerate(tokens):
        before, after = tokens[index - 1].text if index else "", tokens[index + 1].text if token.kind != "end" else ""
        if token.text in ("(", "[", "{") and token.kind == "symbol":
            query_follows = before.upper() in SUBQUERIES | {"CALL"} or after.upper() in CLAUSES
            open_brackets.append("" if query_follows else token.text)
            if token.text == "(" and before.lower() == "reduce":
                _check_reduce(statement, index)
        elif token.text in (")", "]", "}") and token.kind == "symbol" and len(open_brackets) > 1:
            open_brackets.pop()
        elif token.text.lower() == "replace" and after == "(" and token.kind == "word":
            growth *= _replacement_growth(tokens, statement.closing[index + 1])
        elif token.upper in _STEPS:
            growth, uses, makes_values = growth * max(uses, 1), 0, token.upper not in ("MATCH", "CALL")
        elif token.kind in ("word", "quoted") and (open_brackets[-1] in ("[", "{") or {before, after} & _JOINS):
            uses += makes_values
        if growth * max(uses, 1) > MAX_GROWTH:
            raise statement.refused(token, "a value that grows with every WITH", "split the query into several")


def _replacement_growth(tokens: list[Token], end: int) -> int:
    """Return how many times longer the ``replace(…)`` that ends at ``tokens[end]`` can make a text."""
    replacement, replaced = tokens[end - 1], tokens[end - 3]
    if replacement.kind != "string" or tokens[end - 2].text != ",":
        return 100
    length = len(replaced.text) - 2 if replaced.kind == "string" else 1
    return max(1, -(-(len(replacement.text) - 2) // max(length, 1)))


def _check_reduce(statement: Statement, opening: int) -> None:
    """Refuse a ``reduce(…)`` whose result is joined with itself, or put into a list or map, in every step."""
    tokens = statement.tokens
    accumulator, depth, joined = tokens[opening + 1].name, 1, set()
    for index in range(opening + 2, statement.closing[opening]):
        token, before = tokens[index], tokens[index - 1].text
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}")) if token.kind == "symbol" else 0
        if token.kind in ("word", "quoted") and token.name == accumulator and before != ".":
            end = index + 1
            while tokens[end].text == "." and tokens[end + 1].kind in ("word", "quoted"):
                end += 2
            if before == "(" and tokens[index - 2].text.lower() == "replace":
                raise statement.refused(token, "a reduce that replaces in its result", "replace once, after the reduce")
            chain = ".".join(part.name for part in tokens[index:end:2])
            nested = before in ("[", ",", ":") and tokens[end].text in ("]", ",", "}") and depth > 1
            if {before, tokens[end].text} & _JOINS or nested:
                if chain in joined or (nested and end == index + 1):
                    advice = f"use {chain[:40]} once in a sum"
                    raise statement.refused(token, "a reduce that doubles or nests its result", advice)
                joined.add(chain)


@dataclass(frozen=True)
class _ListIteration:
    """An expression that reads a list item by item: a list comprehension, all/any/none/single(…), or reduce(…)."""

    opening: int  # index of its bracket
    names: frozenset[str]  # the names it binds: the item's, and a reduce's accumulator
    start: range  # of a reduce, the tokens of the accumulator's first value, as a range of indices; empty otherwise
    source: range  # the tokens of the list, as a range of indices
    body: range  # the tokens evaluated for each item, as a range of indices

    @property
    def reduces(self) -> bool:
        """Whether it is a ``reduce(…)``."""
        return len(self.start) > 0


class _ListIterations:
    """The check of work on a whole list or text for each item of a list, unless the list is known to be short.

    Known to be short are literals, ``nodes(p)`` and the like, ranges up to ``MAX_SHORT``, and known parameters up to that size.
    """

    def __init__(self, statement: Statement, parameters: Mapping[str, Any] | None) -> None:
        self.statement, self.parameters = statement, parameters
        self.tokens, self.closing = statement.tokens, statement.closing
        self.iterations = list(self._find())

    def check(self) -> None:
        """Refuse the first such work."""
        for iteration in self.iterations:
            depth = sum(iteration.opening in outer.body for outer in self.iterations)
            if self._short(iteration.source, MAX_NESTED if depth else MAX_SHORT) and depth < MAX_ITERATION_DEPTH:
                continue
            if depth:
                raise self.statement.refused(
                    self.tokens[iteration.opening], "an iteration over a list inside another",
                    "use UNWIND, which can be stopped, for one of them",
                )  # fmt: skip
            fault = self._fault(iteration)
            if fault:
                index, what = fault
                raise self.statement.refused(
                    self.tokens[index], f"{what} for each item of a list that may be long",
                    "use UNWIND list AS item, which can be stopped, with WHERE, count, sum or collect",
                )  # fmt: skip

    def _find(self) -> Iterator[_ListIteration]:
        """Yield the expressions that read a list item by item."""
        tokens = self.tokens
        for opening, end in self.closing.items():
            function_token = tokens[opening - 1] if opening and tokens[opening].text == "(" else None
            function = function_token.text.lower() if function_token and function_token.kind == "word" else ""
            first = opening + 1
            names, start = [tokens[first].name], range(0)
            if function == "reduce":
                first_part, *other_parts = self.statement.parts(first, end)
                if not other_parts:
                    continue
                start, first = range(first_part.start + 2, first_part.stop), first_part.stop + 1
                names.append(tokens[first].name)
            elif tokens[opening].text != "[" and function not in _ITERATIONS:
                continue
            if self._binds(first):
                body = self._end_of_list(first + 2, end)
                yield _ListIteration(opening, frozenset(names), start, range(first + 2, body), range(body, end))

    def _binds(self, index: int) -> bool:
        """Return whether ``name IN`` is at ``index``."""
        return self.tokens[index].kind in ("word", "quoted") and self.tokens[index + 1].upper == "IN"

    def _end_of_list(self, start: int, end: int) -> int:
        """Return the index of the WHERE or ``|`` that follows the list at ``start``, or ``end``."""
        indices = self.statement.outside(start, end)
        return next((index for index in indices if self.tokens[index].upper == "WHERE" or self.tokens[index].text == "|"), end)

    def _short(self, source: range, longest: int) -> bool:
        """Return whether the list in ``source`` is known to hold at most ``longest`` items, or is a literal."""
        if not source:
            return False
        first, last = source[0], source[-1]
        token = self.tokens[first]
        if token.kind == "parameter" and len(source) == 1:
            return self.parameters is not None and not _long_value(self.parameters.get(token.name), longest)
        if token.text == "[" and self.closing.get(first) == last:
            if last - first > 3 and self._binds(first + 1):
                return self._short(range(first + 3, self._end_of_list(first + 3, last)), longest)
            return True
        if token.kind != "word" or self.closing.get(first + 1) != last:
            return False
        arguments = self.tokens[first + 2 : last]
        if token.text.lower() == "range":
            return all(argument.text in (",", "-") or _small_number(argument, longest) for argument in arguments)
        return token.text.lower() in _SHORT_LISTS and len(arguments) == 1

    def _fault(self, iteration: _ListIteration) -> tuple[int, str] | None:
        """Return the index and a description of work in the iteration's body that may take long; None when there is none."""
        tokens = self.tokens
        inner = [other for other in self.iterations if other.opening in iteration.body]
        local = iteration.names.union(*(other.names for other in inner))
        headers = {other.source[0] - 1 for other in inner if other.source}
        if iteration.reduces and any(_variable(tokens, index) for index in iteration.start):
            return iteration.start[0], "a reduce that begins with a variable"
        numeric = iteration.reduces and len(iteration.start) == 1 and tokens[iteration.start[0]].kind == "number"
        for index in iteration.body:
            token, before, after = tokens[index], tokens[index - 1], tokens[index + 1]
            if token.upper == "IN" and index not in headers and before.text != ".":
                end = self.closing.get(index + 1)
                is_literal = after.text == "[" and end is not None and tokens[end + 1].text not in _JOINS
                if not (is_literal or (after.text.lower() in _SHORT_LISTS and tokens[index + 2].text == "(")):
                    return index, "IN with a list that may be long"
            elif token.kind == "word" and after.text == "(" and token.text.lower() in _WHOLE_LIST:
                return index, f"the function {token.text}"
            elif token.text == ".." and token.kind == "symbol":
                return index, "a slice"
            elif token.kind == "parameter" and self.parameters is not None and _long_value(self.parameters.get(token.name)):
                return index, f"the long parameter {token.text}"
            elif token.kind == "string" and len(token.text) > MAX_SHORT:
                return index, "a long text"
            elif iteration.reduces and token.text in _JOINS and token.kind == "symbol":
                if not (numeric and self._is_number(index - 1, iteration) and self._is_number(index + 1, iteration)):
                    return index, f"a {token.text} that may build a long text or list"
            elif (
                iteration.reduces
                and _variable(tokens, index)
                and token.name in iteration.names
                and before.text in ("[", "{", ",", ":")
            ):
                return index, "a list or map that holds the result so far"
            elif _variable(tokens, index) and token.name not in local and not _is_constant_time(tokens, index, local):
                return index, f"the variable {token.text[:40]}"
        return None

    def _is_number(self, index: int, iteration: _ListIteration) -> bool:
        """Return whether the operand whose first or last token is at ``index`` is known to be a number."""
        tokens, token = self.tokens, self.tokens[index]
        if token.kind == "number":
            return True
        if token.text == ")":
            opening = next((start for start, end in self.closing.items() if end == index), 0)
            return tokens[opening - 1].text.lower() in _NUMERIC
        if token.kind in ("word", "quoted"):
            if tokens[index + 1].text == "(":
                return token.text.lower() in _NUMERIC
            end = index
            while tokens[end + 1].text == ".":
                end += 2
            if end > index or tokens[index - 1].text == ".":
                return tokens[end].name in _NUMERIC_PROPERTIES
            return token.name == tokens[iteration.opening + 1].name  # the accumulator, which begins as a number
        return False


def _long_value(value: object, longest: int = MAX_SHORT) -> bool:
    return isinstance(value, (str, list, tuple, Mapping)) and len(value) > longest


def _variable(tokens: list[Token], index: int) -> bool:
    """Return whether the token is a variable used as a whole: not a property, label, function, map key or keyword."""
    token, before, after = tokens[index], tokens[index - 1].text, tokens[index + 1].text
    return (
        token.kind in ("word", "quoted")
        and token.upper not in _VALUES
        and before not in (".", ":", "::", "AS")
        and after not in (".", "(", ":")
    )


def _is_constant_time(tokens: list[Token], index: int, local: frozenset[str]) -> bool:
    """Return whether a variable from outside the iteration is used in constant time, whatever its value."""
    before, after = tokens[index - 1], tokens[index + 1]
    arithmetic = {"-", "*", "/", "%", "^"}
    if before.text == "(" and tokens[index - 2].text.lower() in _CONSTANT_TIME:
        return True
    if before.text in arithmetic or after.text in arithmetic or after.text == "[" or (before.text == "[" and after.text == "]"):
        return True
    for sign, other in ((before, index - 2), (after, index + 2)):
        if sign.kind == "symbol" and sign.text in _COMPARISONS:
            operand = tokens[other]
            return operand.kind in ("number", "string") or not _variable(tokens, other) or operand.name in local
    return {before.upper, after.upper} & {"AND", "OR", "NOT", "IS"} != set()


def check_range(statement: Statement, opening: int, back: int, parameters: Mapping[str, Any] | None) -> None:
    """Refuse a ``range(…)`` unless it is short or the whole operand of an UNWIND.

    Its bracket is token ``opening``, after the ``back`` tokens of the function's name; the rest of the query is not checked yet.
    """
    tokens = statement.tokens
    depth, index, is_small = 1, opening + 1, True
    while depth and tokens[index].kind != "end":
        token = tokens[index]
        depth += (token.text in "([{") - (token.text in ")]}") if token.kind == "symbol" else 0
        if depth == 1 and not _small(token, parameters):
            is_small = False
        index += 1
    is_unwound = tokens[opening - back - 1].upper == "UNWIND" and tokens[index].upper == "AS"
    if not (is_small or is_unwound):
        advice = f"UNWIND range(…) AS name takes any length, elsewhere give numbers up to {MAX_RANGE:,}, size(…) or length(…)"
        raise statement.refused(tokens[opening], "a range that may be long", advice)


def _small(token: Token, parameters: Mapping[str, Any] | None) -> bool:
    """Return whether ``token`` is allowed among the arguments of a short range."""
    if token.kind == "number":
        return token.text.isdecimal() and int(token.text) <= MAX_RANGE
    if token.kind == "parameter":
        value = None if parameters is None else parameters.get(token.name, 0)
        return value is None or (isinstance(value, int) and abs(value) <= MAX_RANGE)
    return token.text in (",", "+", "-", "(", ")") or token.text.lower() in ("size", "length")


def check_regex(statement: Statement, position: int, parameters: Mapping[str, Any] | None) -> None:
    """Refuse the pattern after the ``=~`` at token ``position`` unless it is a constant that cannot backtrack for long."""
    tokens = statement.tokens
    operand, after = tokens[position + 1], tokens[min(position + 2, len(tokens) - 1)]
    if operand.kind not in ("string", "parameter") or after.text in ("+", "-", "*", "/", "%", "^", "||", "[", "."):
        what = "a regular expression that is computed"
        raise statement.refused(tokens[position], what, "write it as one string or one $parameter")
    if operand.kind == "string":
        pattern: object = _LITERAL_ESCAPE.sub(_unescape, operand.text[1:-1])
    else:
        pattern = None if parameters is None else parameters.get(operand.name)
    if not isinstance(pattern, str):
        return
    fault = explosive(pattern)
    if not fault and len(_REPEAT.findall(pattern)) > 1 and _long(tokens, parameters):
        fault = f"two repeats and a text of more than {MAX_PATTERN:,} characters to match"
    if fault:
        advice = "use CONTAINS, STARTS WITH, or at most three plain repeats"
        raise statement.refused(operand, f"a regular expression with {fault}", advice)


def _long(tokens: list[Token], parameters: Mapping[str, Any] | None) -> bool:
    """Return whether a string of the query or a parameter is too long for a pattern with two repeats."""
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
    """Return which part of a regular expression can make a backtracking matcher slow; empty when there is none.

    A repeated group that contains a repeat or a choice takes exponential time, and so do many choices in sequence; four
    repeats in sequence take time of the fourth power.
    """
    group_is_risky: list[bool] = [False]  # one for each open group: it holds a repeat or a choice
    if len(pattern) > MAX_PATTERN:
        return f"more than {MAX_PATTERN:,} characters"
    repeats, choices, closed_group_is_risky, previous = 0, 0, False, ""
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        if piece[0] == "(":
            if pattern.startswith("?", match.end()):
                return "a lookaround, named or atomic group"
            if not piece.endswith(")"):
                group_is_risky.append(False)
        elif piece == ")":
            closed_group_is_risky = group_is_risky.pop() if len(group_is_risky) > 1 else True
            group_is_risky[-1] = group_is_risky[-1] or closed_group_is_risky
        elif piece == "|":
            group_is_risky[-1] = True
            choices += 1
        elif piece[0] in "*+?" or (piece[0] == "{" and len(piece) > 1):
            if previous == ")" and closed_group_is_risky and piece[0] != "?":
                return "a repeat of repeats or choices"
            if piece[0] == "?":
                choices += 1
            elif not re.fullmatch(r"\{\d{1,2}\}[+?]?", piece):
                repeats += 1
            group_is_risky[-1] = True
        elif piece[0] == "\\" and (piece[1:].isdigit() or piece[1:] in ("k", "Q")):
            return "a back-reference or a \\Q quotation"
        previous = piece
    if choices > MAX_CHOICES:
        return f"{choices} choices"
    return f"{repeats} repeats" if repeats > MAX_REPEATS else ""

"""Allow-list validator of users' queries, and the checks of parameters and limits.

A query passes only when every clause, function and procedure in it is a known reading one. The validator goes through the tokens
with a stack of open brackets and tracks whether the engine expects an operand, an operator or a clause next. A word in place of a
clause or an operator must be a known one; a word in place of an operand is a name and can be any. Clauses can begin only at the
top level and in the braces of a subquery.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...cypher import Dialect
from ..errors import InputError, QueryInvalid, QueryRefused, QueryTimeout
from .costs import check_costs, check_range, check_regex
from .tokens import (
    CLAUSES,
    ENDINGS,
    FUNCTIONS,
    HARD,
    INSTEAD,
    OPERATORS,
    PATHS,
    PREFIXES,
    PROCEDURES,
    SUBQUERIES,
    Statement,
    Token,
)

MAX_DEPTH = 40
"""Most brackets inside each other."""
MAX_TOKENS = 2_000
"""Most tokens of a query."""
MAX_BYTES = 16 << 20
"""Most bytes of a query's parameters, and of the rows of its result."""
MAX_SECONDS = 3600.0
"""Longest time limit."""
MAX_ROWS = 1_000_000
"""Largest row limit."""

_DEPTH = 20  # levels of nested lists and dictionaries in a parameter

_CLOSERS = {")": "(", "]": "[", "}": "{"}
_ENDERS = {"+", "*", "%", ">"}
"""Symbols that usually need an operand after them but can end a pattern, a label expression or a type."""


@dataclass
class Frame:
    """An open bracket, or the whole statement."""

    opener: str = ""  # the opening bracket; empty for the statement
    query: bool = False  # whether clauses are allowed in it
    call: bool = False  # whether it holds the arguments of a function
    procedure: bool = False  # whether it is the subquery of a `CALL`
    state: Literal["clause", "operand", "operator"] = "operand"  # what the engine expects next
    clause: str = ""  # the current clause
    start: int = 0  # index of the bracket's token


def check(cypher: str, dialect: Dialect = "neo4j", parameters: Mapping[str, Any] | None = None) -> None:
    """Return when ``cypher`` can only read the graph; raise otherwise.

    Args:
        cypher: one query; a semicolon may end it.
        dialect: the engine that will run it.
        parameters: its parameters, where they are known; those used as regular expressions or sizes are checked too.

    Raises:
        QueryRefused: the query is not allowed; the message has the finding, its line and column, and what is allowed.
        QueryInvalid: a bracket is not closed or not opened.
    """
    Checker(cypher, dialect, parameters).run()


class Checker(Statement):
    """Validation of one query in one pass over its tokens.

    Attributes:
        top: clause words of the statement itself, each with its token's index; complete after :meth:`run`, as what follows.
        clauses: the same for the statement and its subqueries.
        variables, labels, relations, properties, keys: the tokens of variables and aliases, of node labels and of relations in
            patterns, of properties that are read or compared, and of keys of maps.
    """

    def __init__(self, query: str, dialect: Dialect, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__(query)
        self.dialect, self.parameters = dialect, parameters
        self.position = 0
        self.frames = [Frame(query=True, state="clause")]
        self.top: list[tuple[str, int]] = []
        self.clauses: list[tuple[str, int]] = []
        self.variables: list[Token] = []
        self.labels: list[Token] = []
        self.relations: list[Token] = []
        self.properties: list[Token] = []
        self.keys: list[Token] = []

    @property
    def explains(self) -> bool:
        """Whether the query begins with EXPLAIN, so that it is planned and not run."""
        return self.tokens[0].upper == "EXPLAIN" and len(self.tokens) > 2

    @property
    def current(self) -> Token:
        """The current token."""
        return self.tokens[self.position]

    def ahead(self, distance: int = 1) -> Token:
        """Return the token ``distance`` after the current one."""
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    @property
    def before(self) -> str:
        """Text of the token before the current one; empty at the start."""
        return self.tokens[self.position - 1].text if self.position else ""

    def take(self, count: int, state: Literal["clause", "operand", "operator"]) -> None:
        """Advance by ``count`` tokens and set what the innermost frame expects next to ``state``."""
        self.position += count
        self.frames[-1].state = state

    def describe(self, token: Token) -> str:
        """Return how to name ``token`` in an error message."""
        return token.upper if token.upper in HARD else f"the {token.kind} {token.text[:40]!a}"

    def enter(self, frame: Frame, count: int) -> None:
        """Push ``frame``, whose bracket is the last of the next ``count`` tokens."""
        if len(self.frames) > MAX_DEPTH:
            raise self.refused(self.current, f"a bracket inside {MAX_DEPTH} others", "nest less deeply")
        self.position += count
        frame.start = self.position - 1
        self.frames.append(frame)

    def dotted(self) -> tuple[str, int]:
        """Return the dotted name at the current token and its number of tokens."""
        names, count = [self.current.name], 1
        while self.ahead(count).text == "." and self.ahead(count + 1).kind in ("word", "quoted"):
            names.append(self.ahead(count + 1).name)
            count += 2
        return ".".join(names), count

    def run(self) -> None:
        """Go through all tokens."""
        if self.current.kind == "end":
            raise QueryRefused("the query is empty; write one such as MATCH (c:Concept) RETURN c.text LIMIT 10")
        if len(self.tokens) > MAX_TOKENS:
            raise QueryRefused(f"the query has {len(self.tokens):,} words and symbols; keep it to {MAX_TOKENS:,}")
        if self.explains:
            self.position += 1
        while self.position < len(self.tokens) - 1:
            token, frame = self.current, self.frames[-1]
            if token.kind == "symbol":
                self._symbol(token, frame)
            elif token.kind == "word" and self._keyword(token, frame):
                pass
            elif frame.state != "operand":
                raise self.refused(token, self.describe(token))
            elif token.kind in ("word", "quoted"):
                self._name(token, frame)
            else:
                self.take(1, "operator")
        if len(self.frames) > 1:
            raise self._unclosed(self.frames[-1], "the query ends")
        if self.dialect == "neo4j":
            check_costs(self, self.parameters)

    def _unclosed(self, frame: Frame, where: str) -> QueryInvalid:
        """Return the error for a bracket that is still open; ``where`` names what comes instead of the closing one."""
        return self.invalid(self.tokens[frame.start], f"the bracket {frame.opener}", f"is not closed before {where}")

    def _symbol(self, token: Token, frame: Frame) -> None:
        sign = token.text
        if sign == ";":
            if self.ahead().kind != "end" or len(self.frames) > 1:
                raise self.refused(token, "a second statement", "send one query at a time")
            self.take(1, "operator")
        elif frame.state == "clause" and sign != "}":
            if sign != "(" or not frame.opener or frame.procedure or frame.clause:
                raise self.refused(token, self.describe(token))
            frame.state, frame.clause = "operand", "MATCH"  # EXISTS and COUNT take a bare pattern
        elif sign in "([{":
            self.enter(Frame(sign), 1)
        elif sign in _CLOSERS:
            if frame.opener != _CLOSERS[sign]:
                if frame.opener:
                    raise self._unclosed(frame, f"the {sign} that follows it")
                raise self.invalid(token, f"the bracket {sign}", "has no opening bracket")
            self.frames.pop()
            self.take(1, "clause" if frame.procedure else "operator")
        elif sign == ".":
            self._dot(token, frame)
        elif sign in "*%" and frame.state == "operand":
            self.take(1, "operand" if sign == "*" and self.ahead().kind == "number" else "operator")
        else:
            if sign == "=~" and self.dialect == "neo4j":
                check_regex(self, self.position, self.parameters)
            self.take(1, "operand")

    def _dot(self, token: Token, frame: Frame) -> None:
        """Accept a property of the value before the dot, or one in a map projection."""
        name, after = self.ahead(), self.ahead(2)
        if self.before and self.tokens[self.position - 1].kind == "number":
            raise self.refused(token, "a dot after a number", "write 1.0")
        if frame.state == "operand" and frame.opener != "{":
            raise self.refused(token, "a dot without a name before it", "write variable.property")
        if (name.text == "*" and frame.opener == "{") or (name.kind in ("word", "quoted") and after.text != "("):
            self.properties += [name] if name.text != "*" else []
            self.take(2, "operator")
        else:
            raise self.refused(name, self.describe(name), "a dot is followed by the name of a property")

    def _keyword(self, token: Token, frame: Frame) -> bool:
        """Accept ``token`` as a keyword; return False when it is a name in this position."""
        word = token.upper
        if self._is_key(frame):
            self._record_key(token)
            self.take(2, "operand")
            return True
        if frame.state == "operand":
            begins_clause = frame.query and self.before in _ENDERS and word in CLAUSES
            if (word == "IS" and self._is_when_test()) or (
                frame.query and self.before == ">" and word == "AS" and self._is_alias()
            ):
                return self._operator(token, frame)
            return self._clause(token, frame) if begins_clause else self._prefix(token, frame)
        if frame.query and word in CLAUSES:
            return self._clause(token, frame)
        if frame.state == "clause":
            if frame.opener and not frame.procedure and not frame.clause and self.ahead().text == "=":
                frame.state, frame.clause = "operand", "MATCH"  # EXISTS { p = (a)-->(b) }
                return False
            raise self.refused(token, self.describe(token))
        return self._operator(token, frame)

    def _is_when_test(self) -> bool:
        """Return whether the current IS begins a test of its own, as in ``CASE x WHEN IS NULL``."""
        return self.before.upper() == "WHEN" and (self.ahead().upper in ("NULL", "NOT", "TYPED") or self.ahead().text == "::")

    def _is_alias(self) -> bool:
        """Return whether the current AS gives an alias to the type before it, which ends with ``>``."""
        after = self.ahead(2)
        return self.ahead().kind in ("word", "quoted") and (after.text in ("", ",", ";") or after.upper in CLAUSES)

    def _prefix(self, token: Token, frame: Frame) -> bool:
        """Accept a keyword before an operand, or the word before the braces of a subquery."""
        word, following = token.upper, self.ahead()
        if self.before == ":" and (frame.opener != "{" or frame.query):
            return False  # a label
        if word in SUBQUERIES and following.text == "{":
            self.frames[-1].state = "operator"
            self.enter(Frame("{", query=True, state="clause"), 2)
            return True
        is_name = following.kind == "end" or following.text in (",", ")", "]", "}", ".", "=")
        if (word in PREFIXES and not is_name) or (word in PATHS and (following.upper in PATHS or following.kind == "number")):
            self.take(1, "operand")
            return True
        return False

    def _operator(self, token: Token, frame: Frame) -> bool:
        word, following = token.upper, self.ahead()
        if word == "WHERE" and frame.opener in ("(", "["):
            self.take(1, "operand")
        elif word == "AS" and following.kind in ("word", "quoted"):
            self.position += 1
            self._check_bare_name(following)
            self.variables += [] if frame.call else [following]
            self.take(1, "operator")
        elif word in ("STARTS", "ENDS") and following.upper == "WITH":
            self.take(2, "operand")
        elif word == "IS" or (word == "NOT" and following.upper == "NULL"):
            skipped = 2 if word == "IS" and following.upper == "NOT" else 1
            self.take(skipped + (self.ahead(skipped).upper == "TYPED"), "operand")
        elif word in ENDINGS:
            self.take(1, "operator")
        elif (word in OPERATORS - {"AS", "STARTS", "ENDS"}) or (word in PATHS and frame.state == "operator"):
            self.take(1, "operand")
        elif frame.opener and not frame.query and word in CLAUSES:
            raise self._unclosed(frame, word)
        else:
            raise self.refused(token, self.describe(token))
        return True

    def _clause(self, token: Token, frame: Frame) -> bool:
        word, following = token.upper, self.ahead().upper
        self.clauses.append((word, self.position))
        if len(self.frames) == 1:
            self.top.append((word, self.position))
        if word == "YIELD" and frame.clause != "CALL":
            raise self.refused(token, "YIELD without CALL")
        if word == "OPTIONAL" and following not in ("MATCH", "CALL"):
            raise self.refused(token, "OPTIONAL without MATCH")
        if word == "ORDER" and following != "BY":
            raise self.refused(token, "ORDER without BY")
        if word == "UNION":
            frame.clause = ""
            self.take(2 if following in ("ALL", "DISTINCT") else 1, "clause")
        elif word == "OPTIONAL":
            self.take(1, "clause")
        elif word == "CALL":
            self._call(frame)
        else:
            frame.clause = "CALL" if word == "YIELD" else word
            self.take(2 if word == "ORDER" else 1, "operand")
        return True

    def _call(self, frame: Frame) -> None:
        """Accept ``CALL`` of an allowed procedure, or of a subquery in braces."""
        distance = 1
        if self.ahead().text == "(":
            while self.ahead(distance).text in ("(", ",", "*") or self.ahead(distance).kind in ("word", "quoted"):
                distance += 1
            distance += 1
        if self.ahead(distance).text == "{":
            frame.clause = "CALL {"
            self.enter(Frame("{", query=True, procedure=True, state="clause"), distance + 1)
            return
        self.take(1, "operand")
        name, parts = self.dotted()
        if name.lower() not in PROCEDURES[self.dialect]:
            raise self.refused(
                self.current, f"CALL {name[:60]}", f"the procedures {', '.join(sorted(PROCEDURES[self.dialect]))} are allowed"
            )
        frame.clause = "CALL"
        self.take(parts, "operator")

    def _name(self, token: Token, frame: Frame) -> None:
        """Accept a variable, a property of one, a label, or a function with its arguments."""
        name, count = self.dotted()
        if self.ahead(count).text == "(":
            if name.lower() not in FUNCTIONS[self.dialect]:
                instead = INSTEAD[self.dialect].get(name.lower())
                allowed = f"it is not among the reading functions of the {self.dialect} engine"
                raise self.refused(token, f"the function {name[:60]}", f"write {instead} on this engine" if instead else allowed)
            self.position += count
            if name.lower() == "wshortest" and self.ahead(2).text == ")" and self.ahead(3).kind == "number":
                self.take(3, "operand")  # [* WSHORTEST(weight) 1..3]
                return
            if name.lower() == "range" and self.dialect == "neo4j":
                check_range(self, self.position, count, self.parameters)
            self.enter(Frame("(", call=True), 1)
            return
        label = self.before in (":", "|", "&", "!") and frame.opener in ("(", "[")
        if not label and count == 1:
            self._check_bare_name(token)
        self._record_name(token, frame)
        self.properties += self.tokens[self.position + 2 : self.position + count : 2]
        self.take(count, "operator")

    def _record_name(self, token: Token, frame: Frame) -> None:
        """Keep the name ``token`` by its use."""
        pattern = self._is_pattern(frame)
        if pattern and self.before in (":", "|", "&", "!") and ":" in [part.text for part in self.tokens[frame.start + 1 :][:2]]:
            (self.labels if frame.opener == "(" else self.relations).append(token)
        elif self._is_key(frame):
            self._record_key(token)
        elif token.upper not in ("TRUE", "FALSE", "NULL") and (self.before != ":" or frame.opener == "{"):
            self.variables.append(token)

    def _is_pattern(self, frame: Frame) -> bool:
        """Return whether ``frame`` is a node or a relationship of a pattern (or an expression in parentheses)."""
        return (frame.opener == "(" and not frame.call) or (frame.opener == "[" and self.tokens[frame.start - 1].text == "-")

    def _is_key(self, frame: Frame) -> bool:
        """Return whether the current name is the key of a map."""
        return frame.opener == "{" and not frame.query and self.before in ("{", ",") and self.ahead().text == ":"

    def _record_key(self, token: Token) -> None:
        (self.properties if self._is_pattern(self.frames[-2]) else self.keys).append(token)

    def _check_bare_name(self, token: Token) -> None:
        """Refuse a bare name such as CREATE unless the next token shows that only a name can occur here."""
        following = self.ahead()
        before_keyword = following.kind == "word" and following.upper in CLAUSES | OPERATORS | ENDINGS
        before_symbol = following.kind == "end" or (following.kind == "symbol" and following.text not in ("(", "[", "{"))
        if token.upper in HARD and (self.before in _ENDERS or not (before_keyword or before_symbol)):
            raise self.refused(token, token.upper)

    def columns(self) -> list[str] | None:
        """Return the names that Neo4j gives the columns: aliases, or else the text of the expressions.

        None where the query's text does not determine them: ``RETURN *``, or a ``CALL`` without RETURN.
        """
        returned = self.returned()
        return None if not returned or returned[-1] is None else [name for name, _ in returned[-1]]

    def returned(self) -> list[list[tuple[str, Token]] | None]:
        """Return the columns of each RETURN of the statement, as in :meth:`columns`, with the last token of each."""
        return [self._returned(number) for number, (word, _) in enumerate(self.top) if word == "RETURN"]

    def _returned(self, number: int) -> list[tuple[str, Token]] | None:
        """Return the columns of the RETURN at this position of ``top``; None for ``RETURN *``."""
        start = self.top[number][1] + 1
        end = self.top[number + 1][1] if number + 1 < len(self.top) else len(self.tokens) - 1
        start += self.tokens[start].upper == "DISTINCT"
        end -= self.tokens[end - 1].text == ";"
        columns = []
        for part in self.parts(start, end):
            item = self.tokens[part.start : part.stop]
            if item and item[0].text == "*":
                return None
            if item:
                aliased = len(item) > 2 and item[-2].upper == "AS"
                columns.append((item[-1].name if aliased else self.query[item[0].start : item[-1].end], item[-1]))
        return columns

    def limited(self, rows: int) -> str:
        """Return the query with ``LIMIT rows`` at its end, where that only limits the number of rows."""
        words = [word for word, _ in self.top]
        if self.explains or "UNION" in words or "RETURN" not in words[words.index("CALL") if "CALL" in words else 0 :]:
            return self.query
        word, position = self.top[-1]
        if word == "LIMIT":
            number = self.tokens[position + 1]
            is_larger = number.kind == "number" and number.text.isdecimal() and int(number.text) > rows
            is_larger = is_larger and self.tokens[position + 2].text in ("", ";")
            return f"{self.query[: number.start]}{rows}{self.query[number.end :]}" if is_larger else self.query
        end = self.tokens[-3 if self.tokens[-2].text == ";" else -2].end
        return f"{self.query[:end]}\nLIMIT {rows}"


def timed_out(timeout: float) -> QueryTimeout:
    """Return the error for a query that was stopped at its time limit of ``timeout`` seconds."""
    return QueryTimeout(f"the query took longer than {timeout:g} seconds and was stopped; narrow it down or allow it more time")


def check_limits(limit: int, timeout: float) -> None:
    """Raise :class:`InputError` unless ``limit`` is 0 to 1,000,000 rows and ``timeout`` above 0 and at most 3,600 seconds."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_ROWS:
        raise InputError(f"a row limit of {limit!r} is invalid; give a whole number from 0 to {MAX_ROWS:,}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= MAX_SECONDS:
        raise InputError(f"a time limit of {timeout!r} seconds is invalid; give a number above 0 and up to {MAX_SECONDS:g}")


def check_parameters(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``parameters`` as None, booleans, 64-bit integers, finite floats, text, lists, dictionaries; refuse others."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise InputError("a query's parameters must be a dictionary from names to values")
    budget = [MAX_BYTES]
    return {_text(name, "a parameter's name"): _value(value, str(name), _DEPTH, budget) for name, value in parameters.items()}


def _value(value: Any, name: str, depth: int, budget: list[int]) -> Any:
    budget[0] -= 8 + (len(value) if isinstance(value, str) else 0)
    if budget[0] < 0 or depth == 0:
        raise InputError(f"the parameters are too large at ${name}; keep them to {MAX_BYTES >> 20} MiB and {_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return _text(value, f"${name}")
    if isinstance(value, (list, tuple)):
        return [_value(item, name, depth - 1, budget) for item in value]
    if isinstance(value, Mapping):
        return {_text(key, f"a key in ${name}"): _value(item, name, depth - 1, budget) for key, item in value.items()}
    kind = f"the number {value!r}" if isinstance(value, (int, float)) else f"a value of type {type(value).__name__}"
    raise InputError(
        f"${name} holds {kind}; give text, 64-bit integers, finite numbers, booleans, None, or lists and dictionaries of them"
    )


def _text(text: Any, what: str) -> str:
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{what} is not plain text ({text!a}); give characters other than NUL and lone surrogates")
    return str(text)


def uniform(values: dict[str, Any]) -> dict[str, Any]:
    """Return checked ``values`` as the embedded engine needs them: it gives every list one type and confuses mixed ones.

    Dictionaries in one list get the same keys in the same order, with None for missing ones; mixed lists raise
    :class:`InputError`.
    """
    return {name: _filled(value, _shape(value, name)) for name, value in values.items()}


def _shape(value: Any, name: str) -> Any:
    """Return the type of ``value``: None when unknown, a word, a list with its items' type, or a dictionary of types."""
    if isinstance(value, list):
        shape: Any = None
        for item in value:
            shape = _merged(shape, _shape(item, name), name)
        return [shape]
    if isinstance(value, dict):
        return {key: _shape(item, name) for key, item in value.items()}
    if value is None:
        return None
    return "truth values" if isinstance(value, bool) else "text" if isinstance(value, str) else "numbers"


def _merged(shape: Any, other: Any, name: str) -> Any:
    """Return the type that fits values of both types."""
    if shape is None or other is None or shape == other:
        return other if shape is None else shape
    if isinstance(shape, list) and isinstance(other, list):
        return [_merged(shape[0], other[0], name)]
    if isinstance(shape, dict) and isinstance(other, dict):
        return {key: _merged(shape.get(key), other.get(key), name) for key in shape.keys() | other.keys()}
    kinds = sorted({"list": "lists", "dict": "dictionaries"}.get(type(kind).__name__, kind) for kind in (shape, other))
    raise InputError(f"${name} mixes {' and '.join(kinds)} in one list; the embedded engine takes lists of one type")


def _filled(value: Any, shape: Any) -> Any:
    if isinstance(value, list):
        return [_filled(item, shape[0]) for item in value]
    if isinstance(value, dict):
        return {key: _filled(value.get(key), shape[key]) for key in sorted(shape)}
    return value

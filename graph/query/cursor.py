"""Where the checker stands in a query: the token it looks at, the brackets that are open, and what the engine expects in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import QueryRefused
from .costs import check_iteration
from .tokens import Token, refused, tokenize
from .words import ALLOWED, HARD, Dialect

MAX_DEPTH = 40


@dataclass
class Frame:
    """An open bracket, or the statement itself.

    Attributes:
        opener: the bracket that began it; empty for the statement.
        query: clauses may stand in it; procedure: it is the subquery of a ``CALL``.
        state: what the engine expects next.
        clause: the clause that it is in.
        walks: it is an expression that walks a list; body: what is done with each item has begun.
    """

    opener: str = ""
    query: bool = False
    procedure: bool = False
    state: Literal["clause", "operand", "operator"] = "operand"
    clause: str = ""
    walks: bool = False
    body: bool = False


class Cursor:
    """A place in the tokens of one query; ``top`` collects the clause words of the statement itself and their places."""

    def __init__(self, query: str, dialect: Dialect, parameters: Mapping[str, Any] | None = None) -> None:
        self.query, self.dialect, self.parameters = query, dialect, parameters
        self.tokens = tokenize(query)
        self.position = 0
        self.frames = [Frame(query=True, state="clause")]
        self.top: list[tuple[str, int]] = []

    @property
    def here(self) -> Token:
        """The token to look at."""
        return self.tokens[self.position]

    def ahead(self, distance: int = 1) -> Token:
        """Return the token ``distance`` after the one to look at."""
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    @property
    def before(self) -> str:
        """Text of the token before the one to look at; empty at the start."""
        return self.tokens[self.position - 1].text if self.position else ""

    def refuse(self, token: Token, what: str, allowed: str = ALLOWED) -> QueryRefused:
        """Return the error that refuses ``token``."""
        return refused(self.query, token.start, what, allowed)

    def take(self, count: int, state: Literal["clause", "operand", "operator"]) -> None:
        """Go ``count`` tokens on, after which the innermost frame expects ``state``."""
        self.position += count
        self.frames[-1].state = state

    def describe(self, token: Token) -> str:
        """Return what to call ``token`` in an error."""
        return token.upper if token.upper in HARD else f"the {token.kind} {token.text[:40]!a}"

    def enter(self, frame: Frame, count: int) -> None:
        """Enter ``frame``, whose bracket is the last of the next ``count`` tokens."""
        if len(self.frames) > MAX_DEPTH:
            raise self.refuse(self.here, f"a bracket inside {MAX_DEPTH} others", "nest less deeply")
        if frame.walks and self.dialect == "neo4j":
            nested = any(outer.walks and outer.body for outer in self.frames)
            check_iteration(self.query, self.tokens, self.position, nested)
        self.position += count
        self.frames.append(frame)

    def dotted(self) -> tuple[str, int]:
        """Return the name, with its points, that stands here and the number of its tokens."""
        names, count = [self.here.name], 1
        while self.ahead(count).text == "." and self.ahead(count + 1).kind in ("word", "quoted"):
            names.append(self.ahead(count + 1).name)
            count += 2
        return ".".join(names), count

    def limited(self, rows: int) -> str:
        """Return the query with ``LIMIT rows`` at its end, where that changes nothing but the number of its rows."""
        words = [word for word, _ in self.top]
        if "UNION" in words or "RETURN" not in words[words.index("CALL") if "CALL" in words else 0 :]:
            return self.query
        word, position = self.top[-1]
        if word == "LIMIT":
            own = self.tokens[position + 1]
            bounded = (
                own.kind != "number"
                or not own.text.isdecimal()
                or int(own.text) <= rows
                or self.tokens[position + 2].text not in ("", ";")
            )
            return self.query if bounded else f"{self.query[: own.start]}{rows}{self.query[own.end :]}"
        end = self.tokens[-3 if self.tokens[-2].text == ";" else -2].end
        return f"{self.query[:end]}\nLIMIT {rows}"

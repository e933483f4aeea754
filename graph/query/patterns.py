"""Conditions that make the embedded engine use each relationship once in a pattern, as Cypher does.

The engine compares no two relationships of a pattern, so that ``(a)-[:IsA]->(b)<-[:IsA]-(c)`` also finds every ``a`` as ``c``.
Each pair that may be the same gets a condition: ``WHERE id(r) <> id(s)``, or ``is_trail(p)`` where one of them has a variable
length. Relationships and paths without a name get one.

``COUNT { (n)-->() }`` gets ``WHERE n.uri IS NOT NULL``: without a property of ``n``, the engine may drop the rows with the
count 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, count
from typing import NamedTuple

from ..errors import QueryInvalid
from .tokens import Statement
from .validator import Checker

_PAIRS = 3
"""Most pairs of relationships in a linear pattern that are compared one by one; otherwise its path is."""
_MAX_CONDITIONS = 100


class _Relationship(NamedTuple):
    """A relationship of a pattern."""

    start: int  # index of the token before which its brackets, or its name, are to be inserted
    name: str  # empty when it has none
    bracket: bool  # whether it is written with brackets
    relations: frozenset[str]  # in lower case; empty when it may be any
    variable_length: bool
    part: int  # the number of its part of the pattern; commas separate parts

    def may_equal(self, other: _Relationship) -> bool:
        """Return whether one relationship of the graph may match both."""
        return not self.relations or not other.relations or bool(self.relations & other.relations)


def unique_relationships(statement: Statement, checker: Checker) -> dict[int, str]:
    """Return the texts, by index of the token before which they are inserted, that keep the relationships of patterns apart.

    ``checker`` has validated the statement. A pattern raises :class:`QueryInvalid` where the new names would become columns.
    """
    return dict(_Distinction(statement, checker).inserted)


class _Distinction:
    """The texts to insert into one statement."""

    def __init__(self, statement: Statement, checker: Checker) -> None:
        self.statement, self.tokens = statement, statement.tokens
        self.clauses = {index: word for word, index in checker.clauses}
        self.inserted: defaultdict[int, str] = defaultdict(str)
        self.variables = {token.start for token in checker.variables}
        self.ends: dict[int, int] = {}  # of patterns in clauses: index after each, by that of its first token
        self.names = {token.name.lower() for token in self.tokens}
        for index, word in sorted(self.clauses.items()):
            if word == "MATCH":
                self._distinguish(index + 1)
        for index, token in enumerate(self.tokens[:-2]):
            is_bare = token.upper in ("EXISTS", "COUNT") and self.tokens[index + 1].text == "{"
            if is_bare and index + 2 not in self.clauses:
                self._distinguish(index + 2)
        index = 0
        while index < len(self.tokens) - 1:
            end = self.ends.get(index) or self._predicate(index)
            if end and index not in self.ends and (conditions := self._conditions(index, [range(index, end)])):
                self.inserted[index] += "EXISTS { MATCH "
                self.inserted[end] = f" WHERE {conditions} }} " + self.inserted[end]
            index = end or index + 1

    def _distinguish(self, start: int) -> None:
        """Insert the conditions for the pattern that begins at ``start``."""
        end = self.ends[start] = self._end(start)
        conditions = [self._conditions(start, self.statement.parts(start, end)), *self._known_nodes(start, end)]
        if any(conditions):
            self._insert_condition(" AND ".join(filter(None, conditions)), end)

    def _known_nodes(self, start: int, end: int) -> list[str]:
        """Return a condition that is always true for each node that the pattern of a ``COUNT { … }`` has from outside.

        Without one, the engine may drop the rows for which there is nothing to count. With ``IS NOT NULL``, it may repeat rows
        that an ``ORDER BY`` with ``LIMIT`` leaves.
        """
        brace = start - 1 - (self.tokens[start - 1].upper == "MATCH")
        if self.tokens[brace].text != "{" or self.tokens[brace - 1].upper != "COUNT":
            return []
        known = {token.name for token in self.tokens[:brace] if token.start in self.variables}
        nodes = [
            self.tokens[index].text
            for index in range(start, end)
            if self.tokens[index].name in known
            and self.tokens[index].start in self.variables
            and self.tokens[index - 1].text == "("
        ]
        return [f"size({name}.uri) > 0" for name in dict.fromkeys(nodes)]

    def _predicate(self, start: int) -> int:
        """Return the index after the pattern that is a condition and begins at ``start``; 0 when none does."""
        index, closing = start, self.statement.closing
        while self.tokens[index].text == "(":
            end = index = closing[index] + 1
            index += self.tokens[index].text == "<"
            if self.tokens[index].text != "-":
                return end if end > closing[start] + 1 else 0
            index += 1
            index = closing[index] + 1 if self.tokens[index].text == "[" else index
            if self.tokens[index].text != "-":
                return 0
            index += 1 + (self.tokens[index + 1].text == ">")
        return 0

    def _conditions(self, start: int, parts: list[range]) -> str:
        """Return the conditions for the parts of the pattern that begins at ``start``; empty when it needs none."""
        relationships = [item for number, part in enumerate(parts) for item in self._relationships(part, number)]
        pairs = [(one, other) for one, other in combinations(relationships, 2) if one.may_equal(other)]
        names: dict[_Relationship, str] = {}
        conditions = []
        same = [(one, other) for one, other in pairs if one.part == other.part]
        if any(one.variable_length and other.variable_length for one, other in same):
            raise QueryInvalid(  # the engine answers a condition on such a path with wrong rows
                f"the embedded engine does not support this query: the pattern at {self.statement.place(self.tokens[start])} has "
                "two relationships of variable length that may be the same; write two MATCH clauses, which may use one twice"
            )
        trails = {one.part for one, other in same if one.variable_length or other.variable_length}
        trails |= {number for number, length in Counter(one.part for one, _ in same).items() if length > _PAIRS}
        for one, other in pairs:
            in_trail = one.part == other.part and one.part in trails
            if not (one.variable_length or other.variable_length or in_trail):
                for item in (one, other):
                    names[item] = names.get(item) or item.name or self._insert_name(item, start)
                conditions.append(f"id({names[one]}) <> id({names[other]})")
        if len(conditions) > _MAX_CONDITIONS:
            raise QueryInvalid(
                f"the embedded engine does not support this query: the pattern at {self.statement.place(self.tokens[start])} has "
                "too many relationships that commas separate; write it as fewer MATCH clauses"
            )
        return " AND ".join([*conditions, *(f"is_trail({self._path(parts[number], start)})" for number in sorted(trails))])

    def _end(self, start: int) -> int:
        """Return the index after the pattern that begins at ``start``."""
        for index in self.statement.outside(start, len(self.tokens) - 1):
            if index in self.clauses or self.tokens[index].text in ("}", ";"):
                return index
        return len(self.tokens) - 1

    def _relationships(self, part: range, number: int) -> Iterator[_Relationship]:
        """Yield the relationships of a linear pattern; none of ``shortestPath(…)``."""
        for index in self.statement.outside(part.start, part.stop):
            opening = self.tokens[index]
            if opening.text == "[" and self.tokens[index - 1].text == "-":
                end = self.statement.closing[index]
                stop = next((i for i in range(index, end) if self.tokens[i].text in ("*", "{")), end)
                words = [token for token in self.tokens[index + 1 : stop] if token.kind in ("word", "quoted")]
                is_named = self.tokens[index + 1].kind in ("word", "quoted")
                is_negated = any(token.text in ("!", "%") for token in self.tokens[index:stop])
                relations = frozenset() if is_negated else frozenset(token.name.lower() for token in words[is_named:])
                is_variable = any(token.text == "*" for token in self.tokens[index:end])
                yield _Relationship(index + 1, words[0].text if is_named else "", True, relations, is_variable, number)
            elif opening.text == "-" and self.tokens[index + 1].text == "-":
                yield _Relationship(index + 1, "", False, frozenset(), False, number)

    def _insert_name(self, item: _Relationship, start: int) -> str:
        name = self._new_name("relationship", start)
        self.inserted[item.start] += name if item.bracket else f"[{name}]"
        return name

    def _path(self, part: range, start: int) -> str:
        """Return the name of the path of a linear pattern, which gets one if it has none."""
        if self.tokens[part.start + 1].text == "=":
            return self.tokens[part.start].text
        name = self._new_name("path", start)
        self.inserted[part.start] = f"{name} = " + self.inserted[part.start]
        return name

    def _new_name(self, kind: str, start: int) -> str:
        for index, word in self.clauses.items():
            first = self.tokens[index + 1 + (self.tokens[index + 1].upper == "DISTINCT")]
            if word in ("WITH", "RETURN") and first.text == "*":
                raise QueryInvalid(
                    f"the embedded engine does not support this query: {word} * cannot follow a pattern of several relationships "
                    f"without names, at {self.statement.place(self.tokens[start])}; name what {word} needs, or name them, "
                    "e.g. (a)-[r]->(b)-[s]->(c)"
                )
        name = next(name for i in count(1) if (name := f"{kind}_{i}") not in self.names)
        self.names.add(name)
        return name

    def _insert_condition(self, condition: str, end: int) -> None:
        """Insert a condition after the pattern that ends before ``end``."""
        if self.clauses.get(end) != "WHERE":
            self.inserted[end] = f" WHERE {condition} " + self.inserted[end]
            return
        self.inserted[end + 1] = f"{condition} AND (" + self.inserted[end + 1]
        last = self._end(end + 1)
        self.inserted[last] = ") " + self.inserted[last]

"""Rewriting of standard openCypher into the embedded engine's dialect, so that a query gives the same rows on both engines.

Neo4j's form is the standard: lists count from 0, ``labels(n)`` is a list, ``shortestPath((a)-[*..4]-(b))`` is a pattern. The
tests compare each form below with a Neo4j server. A query is validated before it is rewritten and again afterwards; forms that
are not listed here are passed on unchanged.

- ``shortestPath((a)-[*..k]-(b))``, ``allShortestPaths(…)``: ``(a)-[* SHORTEST 1..k]-(b)``, ``* ALL SHORTEST``; 30 hops at most;
  ``all(r IN relationships(p) WHERE c)`` and ``none(…)`` of its path ``p`` become a filter of the search, as on Neo4j, which looks
  for the shortest path that fulfils them: ``[* SHORTEST 1..k (r, n | WHERE c)]``
- ``EXISTS { (a)-->() }``, ``COUNT { (a)-->() }``: the same with ``MATCH``
- ``[x IN l WHERE p | e]``: ``list_transform(list_filter(l, x -> p), x -> e)``
- ``l[0]``, ``l[-1]``, ``l[i]``, ``l[1..3]``: positions that count from 1
- ``[:IsA*1..3]``: ``[:IsA* TRAIL 1..3]``, which uses no relationship twice
- ``[:HasSubEvent]``: ``[:HasSubEvent {relation: 'HasSubEvent'}]`` where its table also holds ``HasSubevent``
- ``[:IsA]``: ``[:IsA|_2_IsA|_3_IsA]`` where a large graph has the relation in several tables
- ``head``, ``last``, ``tail``, ``isEmpty``, ``reverse(list)``, ``split``, ``substring``, ``round(x)``, ``log``, ``rand``,
  ``labels``, ``startNode``, ``endNode``: the engine's functions; ``labels`` of a null variable is null
- ``sum(x)``: ``coalesce(sum(x), 0)``; the engine's own is null over no rows
- ``startNode(r)`` of ``(a)-[r]-(b)``: ``a`` or ``b``, by the node in which the relationship begins; the engine's own function
  returns ``a`` in either direction
- ``reduce(s = 0, x IN l | s + e)``: ``0 + list_sum(list_transform(l, x -> e))``; other reduces are refused
- ``m['key']``: ``m.key``
- ``WHERE n:Label``, ``n {.a, .b}``, ``OFFSET``: ``label(n) = 'Label'``, ``{a: n.a, b: n.b}``, ``SKIP``
- ``WITH … ORDER BY … LIMIT n``: the same with ``UNWIND [1] AS kept_order_1`` after it; without an operator in between, the engine
  ignores the order when an aggregate without grouping key follows, and so keeps arbitrary rows

Neo4j distinguishes the case of names and the engine does not: it takes ``concept`` for the label ``Concept``, ``TEXT`` for the
property ``text`` and ``C`` for the variable ``c``. A query with such names is refused (:func:`check_names`), because it would get
other rows than on Neo4j. Relations whose names differ only in case (``HasSubevent`` of ConceptNet, ``HasSubEvent`` of ATOMIC)
share a table; :func:`shared_relations` finds those of a query, and they are restricted by the property ``relation``, which has
the exact name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import count, pairwise, takewhile
from types import MappingProxyType
from typing import Any

from ..errors import QueryInvalid
from ..links import LINK_RELATIONS, Link
from ..model import Assertion
from ..relations import RELATIONS
from .tokens import CLAUSES, PATHS, PREFIXES, Statement, Token
from .validator import Checker

LABELS = ("Concept", "Event", "Manifest")
PROPERTIES = frozenset(("uri", "text", "language", "relation", *Assertion._fields[3:], *Link._fields[3:], "id"))
LONGEST_PATH = 30
"""Most hops of a path without an upper bound; the embedded engine's default."""

_MARK = "\ue000"
"""A private-use character, which does not occur in texts."""
_NODE_OF_PATH = "node_of_path"
_PARTS_OF_WITH = ("ORDER", "SKIP", "OFFSET", "LIMIT", "WHERE")
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_ARGUMENTS = {"split": (2,), "rand": (0,), "round": (1, 2, 3), "substring": (2, 3)}
"""Numbers of arguments of the rewritten functions that take another number than one; the engine refuses other numbers."""
_LISTS = {"nodes", "relationships", "rels", "collect", "range", "keys", "labels", "list_transform", "list_filter", "split"}
"""Functions that return a list, for ``reverse``."""


def rewrite(query: str, shared: Collection[str] = (), parts: Mapping[str, Sequence[str]] = MappingProxyType({})) -> str:
    """Return ``query``, which passed the validator, in the embedded engine's dialect.

    ``shared`` has the relations whose table also holds relations of other names (:func:`shared_relations`), ``parts`` the further
    tables of relations that have several, by the relation's name in lower case. A form that the engine would answer wrongly
    without an error raises :class:`QueryInvalid`.
    """
    rewriter = _Rewriter(query, shared, parts)
    return rewriter.render(0, len(rewriter.tokens) - 1)


class _Rewriter(Statement):
    """Renders ranges of tokens: listed forms are replaced, everything else is copied unchanged."""

    def __init__(self, query: str, shared: Collection[str], parts: Mapping[str, Sequence[str]]) -> None:
        super().__init__(query)
        self.shortest: set[int] = set()  # indices of the stars of shortest paths
        # conditions that a filter has replaced: index of the first token, and after the last
        self.replaced_conditions: dict[int, int] = {}
        self.replaced = self._exact_relations(shared) | self._with_parts(parts)
        self.inserted = self._kept_orders()  # texts by index of the token before which they are inserted
        self.ends = self._ends()
        self.functions: dict[str, Callable[[list[str], int], str]] = {
            "head": lambda parts, _: f"CASE WHEN size({parts[0]}) > 0 THEN list_extract({parts[0]}, 1) END",
            "last": lambda parts, _: f"CASE WHEN size({parts[0]}) > 0 THEN list_extract({parts[0]}, -1) END",
            "tail": lambda parts, _: f"list_slice({parts[0]}, 2, size({parts[0]}))",
            "isempty": lambda parts, _: f"(size({parts[0]}) = 0)",
            "split": self._split,
            "sum": lambda parts, _: f"coalesce(sum({parts[0]}), 0)",
            "log": lambda parts, _: f"ln({parts[0]})",
            "rand": lambda _, __: "random()",
            "round": lambda parts, _: f"floor(({parts[0]}) + 0.5)" if len(parts) == 1 else f"round({', '.join(parts)})",
            "labels": self._labels,
            "substring": self._substring,
            "reverse": self._reverse,
        }

    def _exact_relations(self, shared: Collection[str]) -> dict[int, str]:
        """Return the texts, by index of the token to replace, that restrict relationships to one of the ``shared`` relations."""
        texts = {}
        for opening, stop, end in self._relationships() if shared else ():
            names = [token.name for token in self.tokens[opening + 1 : stop] if token.kind in ("word", "quoted")]
            relations = names if self.tokens[opening + 1].text == ":" else names[1:]
            if not set(relations).intersection(shared):
                continue
            if len(relations) > 1:
                raise self.unsupported(
                    self.tokens[opening], "a choice of relations",
                    "has one that differs from another relation of the graph only in case; write one relation in a pattern, or "
                    "WHERE type(r) IN [...]",
                )  # fmt: skip
            brace = next((i for i in range(stop, end) if self.tokens[i].text == "{"), end)
            restriction = f"relation: '{relations[0]}'"
            separator = ", " if self.tokens[brace + 1].text != "}" else ""
            texts[brace] = f" {{{restriction}}}]" if brace == end else f"{{{restriction}{separator}"
        return texts

    def _with_parts(self, parts: Mapping[str, Sequence[str]]) -> dict[int, str]:
        """Return the texts, by index of the token to replace, that add the other tables of a relation to its name."""
        texts = {}
        for opening, stop, _ in self._relationships() if parts else ():
            for index in range(opening + 2, stop):
                token = self.tokens[index]
                if self.tokens[index - 1].text in (":", "|") and token.name.lower() in parts:
                    texts[index] = "|".join((token.text, *parts[token.name.lower()]))
        return texts

    def _kept_orders(self) -> dict[int, str]:
        """Return the clauses, by index of the token to insert them before, that make the engine keep the order of a ``WITH``."""
        checker = Checker(self.query, "embedded")
        checker.run()
        texts: dict[int, str] = {}
        for number, (word, _) in enumerate(checker.top):
            following = list(takewhile(lambda clause: clause[0] != "UNION", checker.top[number + 1 :]))
            parts = list(takewhile(lambda clause: clause[0] in _PARTS_OF_WITH, following))
            projections = [index for name, index in following if name in ("WITH", "RETURN")]
            # where all others have a *, the rows themselves are returned, and the new column would be too
            if word == "WITH" and len(parts) > 1 and parts[0][0] == "ORDER" and not all(map(self._has_star, projections)):
                names = {token.name.lower() for token in self.tokens}
                name = next(name for i in count(len(texts) + 1) if (name := f"kept_order_{i}") not in names)
                texts[following[len(parts)][1]] = f"UNWIND [1] AS {name} "
        return texts

    def _has_star(self, index: int) -> bool:
        """Return whether the ``WITH`` or ``RETURN`` at ``index`` begins with ``*``."""
        return self.tokens[index + 1 + (self.tokens[index + 1].upper == "DISTINCT")].text == "*"

    def _relationships(self) -> Iterator[tuple[int, int, int]]:
        """Yield the relationships in brackets: index of ``[``, of what follows the names of relations, and of ``]``."""
        for opening, end in self.closing.items():
            if self.tokens[opening].text == "[" and self.tokens[opening - 1].text == "-":
                yield opening, next((i for i in range(opening, end) if self.tokens[i].text in ("*", "{")), end), end

    def _ends(self) -> list[tuple[int, str, tuple[str, str] | None]]:
        """Return the named relationships of a fixed length: index, name, and the names of the nodes when there is no direction.

        The name of a node is empty where the query gives none.
        """
        opening = {end: start for start, end in self.closing.items()}
        ends: list[tuple[int, str, tuple[str, str] | None]] = []
        for start, end in sorted(self.closing.items()):
            name, before, after = self.tokens[start + 1], self.tokens[start - 1], self.tokens[end + 1]
            if self.tokens[start].text != "[" or name.kind not in ("word", "quoted") or [before.text, after.text] != ["-", "-"]:
                continue
            if any(token.text == "*" for token in self.tokens[start:end]):
                continue
            nodes = None
            if start - 2 in opening and self.tokens[end + 2].text == "(":
                left, right = self.tokens[opening[start - 2] + 1], self.tokens[end + 3]
                nodes = (_variable(left), _variable(right))
            ends.append((start, name.name, nodes))
        return ends

    def render(self, start: int, end: int) -> str:
        """Return the text of the tokens from ``start`` to before ``end``."""
        parts: list[str] = []
        index = start
        while index < end:
            text, following = self._replaced(index) or (self.tokens[index].text, index + 1)
            if index > start and parts:
                parts.append(self.query[self.tokens[index - 1].end : self.tokens[index].start])
            parts.append(self.inserted.get(index, "") + text)
            index = following
        return "".join(parts)

    def _replaced(self, index: int) -> tuple[str, int] | None:
        """Return the replacement of the form at ``index`` and the index after it; None when no listed form begins there."""
        if index in self.replaced:
            return self.replaced[index], index + 1
        if index in self.replaced_conditions:
            return "true", self.replaced_conditions[index]
        token, after = self.tokens[index], self.tokens[index + 1]
        before = self.tokens[index - 1] if index else Token("symbol", "", 0, 0)
        name = token.text.lower() if token.kind == "word" and before.text not in (".", ":", "|") else ""
        if name and after.text == "(" and after.kind == "symbol":
            end = self.closing[index + 1]
            if name in ("shortestpath", "allshortestpaths"):
                return self._shortest(index + 2, end, "ALL SHORTEST" if name.startswith("all") else "SHORTEST"), end + 1
            if name == "size" and self._pattern(index + 2):
                raise self.invalid(token, "size of a pattern", "is no longer Cypher; write COUNT { pattern }")
            if name in ("startnode", "endnode"):
                return self._end(index, end)
            if name in self.functions and len(parts := self._arguments(index + 1)) in _ARGUMENTS.get(name, (1,)):
                return self.functions[name](parts, index), end + 1
            if name == "reduce" and end > index + 8:  # else it is incomplete, which the engine says
                return self._reduce(index, end), end + 1
        if token.upper in ("EXISTS", "COUNT") and after.text == "{" and self.tokens[index + 2].upper not in CLAUSES:
            end = self.closing[index + 1]
            return f"{token.text} {{ MATCH {self.render(index + 2, end)} }}", end + 1
        if (
            token.upper == "OFFSET"
            and after.kind in ("number", "parameter")
            and before.text not in (".", ",")
            and before.upper not in PREFIXES
        ):
            return "SKIP", index + 1
        if token.text == "[" and token.kind == "symbol":
            return self._bracket(index, before, after)
        if token.kind in ("word", "quoted") and after.text == "{" and self.tokens[index + 2].text == ".":
            return self._projection(index)
        if self._label_test(index, before):
            label = self.tokens[index + 2].name.replace("\\", "\\\\").replace("'", "\\'")
            return f"label({token.text}) = '{label}'", index + 3
        return None

    def _end(self, index: int, end: int) -> tuple[str, int]:
        """Return a node at an end of a relationship, or its property, and the index after it."""
        start = self.tokens[index].text.lower() == "startnode"
        name = self.tokens[index + 2].name if end == index + 3 else ""
        nodes = next((ends for position, known, ends in reversed(self.ends) if known == name and position < index), None)
        if nodes is None:
            return f"{'start' if start else 'end'}_node({self.render(index + 2, end)})", end + 1
        if not all(nodes):
            raise self.unsupported(
                self.tokens[index], self.tokens[index].text,
                "of a relationship without direction needs a name for each of its nodes, e.g. (a)-[r]-(b)",
            )  # fmt: skip
        next_texts = [token.text for token in self.tokens[end + 1 : end + 4]]
        if next_texts[1:2] and next_texts[0] in ("=", "<>") and next_texts[1] in nodes and next_texts[-1] not in (".", "("):
            end_key = "_SRC" if start else "_DST"
            return f"struct_extract({self.tokens[index + 2].text}, '{end_key}') {next_texts[0]} id({next_texts[1]})", end + 3
        access, following = "", end + 1
        if self.tokens[end + 1].text == "." and self.tokens[end + 2].kind in ("word", "quoted"):
            access, following = f".{self.tokens[end + 2].text}", end + 3
        forwards = f"struct_extract({self.tokens[index + 2].text}, '_SRC') = id({nodes[0]})"
        first, second = nodes if start else nodes[::-1]
        return (
            f"(CASE WHEN {forwards} THEN {first}{access} WHEN NOT {forwards} THEN {second}{access} END)",
            following,
        )

    def _arguments(self, opening: int) -> list[str]:
        """Return the arguments inside the bracket at ``opening``, rewritten."""
        end = self.closing[opening]
        return [self.render(part.start, part.stop) for part in self.parts(opening + 1, end)] if end > opening + 1 else []

    def _shortest(self, start: int, end: int, kind: str) -> str:
        """Return the pattern of a ``shortestPath(…)`` in the engine's form."""
        stars = [index for index in range(start, end) if self.tokens[index].text == "*"]
        if len(stars) != 1:
            raise self.unsupported(self.tokens[start], "shortestPath", "takes one relationship with a *, e.g. (a)-[*..4]-(b)")
        low, high, last = self._bounds(stars[0])
        if low != "1":
            raise self.unsupported(self.tokens[stars[0]], "shortestPath", "begins at one hop; write [*..4] or [*1..4]")
        self.shortest.add(stars[0])
        hops = f"{kind} 1..{high or LONGEST_PATH}{self._filter(start, end)}"
        return f"{self.render(start, stars[0])}* {hops}{self.render(last, end)}"

    def _filter(self, start: int, end: int) -> str:
        """Return the filter of a shortest path, from conditions on all its relationships that ``AND`` joins in its ``WHERE``."""
        if start < 4 or self.tokens[start - 3].text != "=":
            return ""
        path, token_count = self.tokens[start - 4].name, len(self.tokens)
        following = next(i for i in self.outside(end + 1, token_count) if self.tokens[i].upper in CLAUSES or i == token_count - 1)
        if self.tokens[following].upper != "WHERE":
            return ""
        conditions: list[tuple[int, int]] = []
        begin = following + 1
        for index in self.outside(begin, token_count):
            word = self.tokens[index].upper
            if word in ("OR", "XOR", "NOT"):
                return ""
            if word in {*CLAUSES, "AND"} or index == token_count - 1:
                conditions.append((begin, index))
                begin = index + 1
                if word != "AND":
                    break
        filters: dict[tuple[int, int], tuple[str, str]] = {}
        for first, last in conditions:
            texts = [part.text.lower() for part in self.tokens[first : first + 9]]
            if texts[0] not in ("all", "none") or texts[1:2] != ["("] or self.closing[first + 1] != last - 1:
                continue
            is_over_path = texts[3:6] == ["in", "relationships", "("] and texts[7:] == [")", "where"]
            if is_over_path and self.tokens[first + 6].name == path:
                condition = self.render(first + 9, last - 1)
                filters[first, last] = self.tokens[first + 2].text, condition if texts[0] == "all" else f"NOT ({condition})"
        if len({name for name, _ in filters.values()}) != 1:
            return ""
        self.replaced_conditions |= dict(filters.keys())
        name = next(name for name, _ in filters.values())
        return f" ({name}, {_NODE_OF_PATH} | WHERE {' AND '.join(f'({condition})' for _, condition in filters.values())})"

    def _bounds(self, star: int) -> tuple[str, str, int]:
        """Return the least and most hops (empty when unbounded) after the ``*`` at index ``star``, and the index after them."""
        last = star + 1
        while self.tokens[last].kind == "number" or self.tokens[last].text == "..":
            last += 1
        low, dots, high = "".join(token.text for token in self.tokens[star + 1 : last]).partition("..")
        return low or "1", high if dots else low, last

    def _trail(self, index: int, end: int) -> str | None:
        """Return a relationship of variable length that uses no relationship twice, as in the standard."""
        star = next((i for i in range(index + 1, end) if self.tokens[i].text == "*"), None)
        if star is None or star in self.shortest or self.tokens[star + 1].upper in PATHS:
            return None
        low, high, last = self._bounds(star)
        return f"[{self.render(index + 1, star)}* TRAIL {low}..{high or LONGEST_PATH}{self.render(last, end + 1)}"

    def _reduce(self, index: int, end: int) -> str:
        """Return a ``reduce`` that adds numbers as a sum over a list."""
        name, initial = self.tokens[index + 2].text, self.tokens[index + 4]
        item = index + 6
        bar = next((i for i in self.outside(index + 8, end) if self.tokens[i].text == "|"), end)
        body = self.tokens[bar + 1 : end]
        is_sum = (
            initial.kind == "number"
            and self.tokens[index + 5].text == ","
            and self.tokens[item + 1].upper == "IN"
            and [token.text for token in body[:2]] == [name, "+"]
            and not {token.text for token in body[2:]} & {name, *_COMPARISONS}
        )
        if not is_sum:
            raise self.unsupported(
                self.tokens[index], "reduce",
                "can only be a sum, reduce(s = 0, x IN l | s + …); otherwise use UNWIND or list_reduce",
            )  # fmt: skip
        values = f"list_transform({self.render(item + 2, bar)}, {self.tokens[item].text} -> ({self.render(bar + 3, end)}))"
        has_no_null = f"size(list_filter({values}, {name} -> {name} IS NULL)) = 0"
        return f"CASE WHEN {has_no_null} THEN {initial.text} + coalesce(list_sum({values}), 0) END"

    def _bracket(self, index: int, before: Token, after: Token) -> tuple[str, int] | None:
        """Rewrite a list comprehension, an element of a list, a slice, or a relationship of variable length."""
        end = self.closing[index]
        if before.text == "-" and (trail := self._trail(index, end)):
            return trail, end + 1
        if self.subscripts(index):
            return self._position(index, end)
        if after.kind in ("word", "quoted") and self.tokens[index + 2].upper == "IN":
            return self._comprehension(index, end), end + 1
        return None

    def _position(self, index: int, end: int) -> tuple[str, int] | None:
        """Return the subscript ``[…]`` with positions that count from 1."""
        tokens = self.tokens[index + 1 : end]
        dots = [i for i, token in enumerate(tokens) if token.text == ".."]
        if len(tokens) == 1 and tokens[0].kind == "string" and tokens[0].text[1:-1].isidentifier():
            return f".`{tokens[0].text[1:-1]}`", end + 1
        if any(token.text == ":" for token in tokens) or (len(tokens) == 1 and tokens[0].kind in ("string", "parameter")):
            return None
        if dots:
            low, high = self._number(tokens[: dots[0]]), self._number(tokens[dots[0] + 1 :])
            if low is None or high is None or min(low or 0, high or 0) < 0:
                raise self.unsupported(
                    self.tokens[index], "a slice",
                    "needs whole numbers >= 0, e.g. [0..3]; use list_slice(list, from 1, to) otherwise",
                )  # fmt: skip
            return f"[{low + 1}:{high if tokens[dots[0] + 1 :] else ''}]", end + 1
        number = self._number(tokens)
        if number is not None:
            return f"[{number + 1 if number >= 0 else number}]", end + 1
        text = self.render(index + 1, end)
        return f"[CASE WHEN ({text}) < 0 THEN ({text}) ELSE ({text}) + 1 END]", end + 1

    @staticmethod
    def _number(tokens: Sequence[Token]) -> int | None:
        """Return the integer that the tokens spell, 0 for no tokens, None for anything else."""
        text = "".join(token.text for token in tokens)
        return int(text) if text.removeprefix("-").isdecimal() else None if text else 0

    def _comprehension(self, index: int, end: int) -> str:
        """Return ``[x IN list WHERE test | value]`` as the engine's functions over lambdas."""
        name = self.tokens[index + 1].text
        bar = next((i for i in self.outside(index + 3, end) if self.tokens[i].text == "|"), end)
        where = next((i for i in self.outside(index + 3, bar) if self.tokens[i].upper == "WHERE"), bar)
        items = self.render(index + 3, where)
        if where < bar:
            items = f"list_filter({items}, {name} -> ({self.render(where + 1, bar)}))"
        return f"list_transform({items}, {name} -> ({self.render(bar + 1, end)}))" if bar < end else items

    def _projection(self, index: int) -> tuple[str, int] | None:
        """Return ``n {.a, b: 1}`` as a map; None when it contains anything but properties and key-value pairs."""
        end, name = self.closing[index + 1], self.tokens[index].text
        entries = []
        for part in self.parts(index + 2, end):
            item = self.tokens[part.start : part.stop]
            if len(item) == 2 and item[0].text == "." and item[1].text != "*":
                entries.append(f"{item[1].text}: {name}.{item[1].text}")
            elif len(item) > 2 and item[1].text == ":":
                entries.append(self.render(part.start, part.stop))
            else:
                return None
        return "{" + ", ".join(entries) + "}", end + 1

    def _label_test(self, index: int, before: Token) -> bool:
        """Return whether the condition ``n:Label`` begins at ``index``."""
        token = self.tokens[index]
        return (
            token.kind in ("word", "quoted")
            and before.upper in ("WHERE", "AND", "OR", "XOR", "NOT")
            and self.tokens[index + 1].text == ":"
            and self.tokens[index + 2].kind in ("word", "quoted")
            and self.tokens[min(index + 3, len(self.tokens) - 1)].text not in (":", "|", "&")
        )

    def _pattern(self, index: int) -> bool:
        """Return whether a pattern of nodes and relationships begins at ``index``."""
        if self.tokens[index].text != "(":
            return False
        following = self.tokens[self.closing[index] + 1 : self.closing[index] + 3]
        return following[0].text in ("-", "<") and following[1].text in ("-", "[")

    def _labels(self, parts: list[str], index: int) -> str:
        labels = f"[label({parts[0]})]"
        is_variable = self.tokens[index + 2].kind in ("word", "quoted") and self.tokens[index + 3].text == ")"
        return f"(CASE WHEN {parts[0]} IS NOT NULL THEN {labels} END)" if is_variable else labels

    def _substring(self, parts: list[str], _: int) -> str:
        length = parts[2] if len(parts) > 2 else f"size({parts[0]})"
        return f"substring({parts[0]}, ({parts[1]}) + 1, {length})"

    def _split(self, parts: list[str], index: int) -> str:
        """Return the engine's split, which drops empty parts, with a mark added to each part during the split."""
        text, separator = parts
        if separator in ("''", '""'):
            raise self.unsupported(self.tokens[index], "split", "needs a separator that is not empty")
        marked = f"string_split('{_MARK}' + replace({text}, {separator}, ({separator}) + '{_MARK}'), {separator})"
        return f"list_transform({marked}, part -> replace(part, '{_MARK}', ''))"

    def _reverse(self, parts: list[str], index: int) -> str:
        first = self.tokens[index + 2]
        if first.text == "[" or (first.text.lower() in _LISTS and self.tokens[index + 3].text == "("):
            return f"list_reverse({parts[0]})"
        if first.kind == "string" or self.tokens[index + 3].text == ".":
            return f"reverse({parts[0]})"
        raise self.unsupported(
            self.tokens[index], "reverse", "of a variable may mean a text or a list; write list_reverse(list) for a list"
        )

    def unsupported(self, token: Token, what: str, limit: str) -> QueryInvalid:
        """Return the error for standard Cypher at ``token`` that cannot be rewritten; ``limit`` says how far it can."""
        return QueryInvalid(f"the embedded engine does not support this query: {what} at {self.place(token)} {limit}")


def _variable(token: Token) -> str:
    """Return the name that begins a node pattern; empty when it begins otherwise."""
    return token.text if token.kind in ("word", "quoted") else ""


# names


def check_names(checker: Checker, parameters: Mapping[str, Any]) -> None:
    """Refuse names of a validated query that the embedded engine would confuse, with their position."""
    for token in checker.labels:
        if token.name not in LABELS:
            case_variants = [label for label in LABELS if label.lower() == token.name.lower()]
            hint = f"did you mean {case_variants[0]}?" if case_variants else f"its labels are {', '.join(LABELS)}"
            raise unknown(checker, token, "node label", hint)
    for before, token in pairwise(checker.labels):
        if checker.query[before.end : token.start].strip() == ":":
            raise QueryInvalid(
                f"no node has both labels, {before.name} and {token.name} ({checker.place(before)}); "
                f"write {before.name}|{token.name} for either"
            )
    first_tokens: dict[str, Token] = {}
    for token in checker.variables:
        first_token = first_tokens.setdefault(token.name.lower(), token)
        if first_token.name != token.name:
            raise QueryInvalid(
                f"the names {first_token.name} and {token.name} ({checker.place(token)}) differ only in case, which the "
                "embedded engine does not distinguish; rename one of them"
            )
    keys = {token.name for token in checker.keys} | set(_keys(parameters))
    names_by_lower_case = {name.lower(): name for name in (*sorted(keys), *PROPERTIES)}
    for token, name in [*((token, token.name) for token in checker.properties), *_subscripted(checker)]:
        if name not in keys | PROPERTIES and name.lower() in names_by_lower_case:
            raise unknown(checker, token, "property", f"did you mean {names_by_lower_case[name.lower()]}?")


def check_columns(checker: Checker) -> None:
    """Refuse columns of the same name, of which a dictionary would keep one only, and a UNION of other names or another order."""
    returned = checker.returned()
    for columns in returned:
        names: set[str] = set()
        for name, token in columns or ():
            if name in names:
                raise QueryInvalid(
                    f"two columns of the result have the name {name} ({checker.place(token)}); give one another name with AS"
                )
            names.add(name)
    for columns, others in pairwise(returned):
        if columns is None or others is None:
            continue
        for (name, _), (other, token) in zip(columns, others, strict=False):
            if name != other:
                raise QueryInvalid(
                    f"the parts of the UNION have columns of different names, {name} and {other} ({checker.place(token)}); "
                    "give them the same names, in the same order, with AS"
                )


def unknown(checker: Checker, token: Token, kind: str, hint: str) -> QueryInvalid:
    """Return the error for a name at ``token`` that the graph does not have; ``hint`` says which ones it has."""
    neo4j = "give null" if kind == "property" else "find no rows"
    name = token.text[1:-1] if token.kind == "string" else token.name
    return QueryInvalid(f"the graph has no {kind} {name} ({checker.place(token)}), where Neo4j would {neo4j}; {hint}")


def shared_relations(checker: Checker, stored: Callable[[str], Collection[str]]) -> set[str]:
    """Return those relations of a validated query whose table also holds relations of other names.

    ``stored`` returns the exact names of the relations in the table of the given one, none when there is no such table. A
    relation that is neither in the graph nor one of ConceptNet or ATOMIC raises :class:`QueryInvalid`.
    """
    query_relations = {token.name for token in checker.relations}
    shared = set()
    for token in checker.relations:
        names = stored(token.name)
        if token.name not in names and token.name not in (*LINK_RELATIONS, *RELATIONS):
            candidates = sorted({*LINK_RELATIONS, *RELATIONS, *names})
            similar = [name for name in candidates if name.lower() == token.name.lower()] or get_close_matches(
                token.name, candidates, 1
            )
            hint = f"did you mean {similar[0]}?" if similar else "tacit info GRAPH lists what it holds"
            raise unknown(checker, token, "relation", hint)
        if not query_relations.issuperset(names):
            shared.add(token.name)
    return shared


def _keys(value: object) -> Iterable[str]:
    """Yield the keys of all dictionaries in a parameter's value."""
    if isinstance(value, Mapping):
        yield from value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in items:
        yield from _keys(item)


def _subscripted(statement: Statement) -> Iterable[tuple[Token, str]]:
    """Yield the strings in subscripts such as ``n['text']``, without their quotes."""
    for index in range(1, len(statement.tokens) - 2):
        before, token, after = statement.tokens[index : index + 3]
        if (before.text, token.kind, after.text) == ("[", "string", "]") and statement.subscripts(index):
            yield token, token.text[1:-1]

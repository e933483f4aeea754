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
- ``a + b``: the same with a test for nulls, which the engine takes for empty texts
- ``replace``, ``substring``: the same without nulls, for which the engine confuses rows
- ``ceil(x)``, ``floor(x)``: of ``1.0 * x``; the engine's own returns integers for integers
- ``any``, ``all``, ``none``, ``single`` over a list: sizes of filtered lists, and null where nulls leave the answer open
- relationships of one pattern, and ``COUNT { … }``: further conditions (:mod:`.patterns`)
- ``WITH … ORDER BY … LIMIT n``: the same with ``UNWIND [1] AS kept_order_1`` after it; without an operator in between, the engine
  ignores the order when an aggregate without grouping key follows, and so keeps arbitrary rows

The engine evaluates some functions over lists for the first row only. Where the expression reads other variables than the item,
it gets a condition that reads them in each row (:func:`_reading`), or it is refused (:meth:`_Rewriter._check_items`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, pairwise, takewhile
from types import MappingProxyType

from ..errors import QueryInvalid
from .patterns import unique_relationships
from .tokens import CLAUSES, ENDINGS, OPERATORS, PATHS, PREFIXES, Statement, Token
from .validator import MAX_BYTES, Checker

LONGEST_PATH = 30
"""Most hops of a path without an upper bound; the embedded engine's default."""

_MARK = "\ue000"
"""A private-use character, which does not occur in texts."""
_NODE_OF_PATH = "node_of_path"
_PARTS_OF_WITH = ("ORDER", "SKIP", "OFFSET", "LIMIT", "WHERE")
_OF_NODES = ("type", "labels", "label", "id", "keys", "properties", "startnode", "endnode")
"""Functions of nodes and relationships."""
_SIGNS = ("+", "-", "*", "/", "%", "^")
_AGGREGATES = ("COUNT", "COLLECT", "SUM", "AVG", "MIN", "MAX")
_QUANTIFIERS = ("any", "all", "none", "single")
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_ARGUMENTS = {"split": (2,), "rand": (0,), "round": (1, 2, 3), "substring": (2, 3), "replace": (3,)}
"""Numbers of arguments of the rewritten functions that take another number than one; the engine refuses other numbers."""
_LISTS = {"nodes", "relationships", "rels", "collect", "range", "keys", "labels", "list_transform", "list_filter", "split"}
"""Functions that return a list, for ``reverse``."""


def rewrite(query: str, shared: Collection[str] = (), parts: Mapping[str, Sequence[str]] = MappingProxyType({})) -> str:
    """Return ``query``, which passed the validator, in the embedded engine's dialect.

    ``shared`` has the relations whose table also holds relations of other names (:func:`.exact_names.shared_relations`),
    ``parts`` the further tables of relations that have several, by the relation's name in lower case. A form that the engine
    would answer wrongly without an error raises :class:`QueryInvalid`.
    """
    rewriter = _Rewriter(query, shared, parts)
    end = len(rewriter.tokens) - 1
    last = end - (rewriter.tokens[end - 1].text == ";")
    return rewriter.render(0, last) + rewriter.inserted[last]


class _Rewriter(Statement):
    """Renders ranges of tokens: listed forms are replaced, everything else is copied unchanged."""

    def __init__(self, query: str, shared: Collection[str], parts: Mapping[str, Sequence[str]]) -> None:
        super().__init__(query)
        self.shortest: set[int] = set()  # indices of the stars of shortest paths
        # conditions that a filter has replaced: index of the first token, and after the last
        self.replaced_conditions: dict[int, int] = {}
        self.replaced = self._exact_relations(shared) | self._with_parts(parts)
        self.items: list[str] = []  # variables of the list comprehensions around the token that is being rendered
        checker = Checker(query, "embedded")
        checker.run()
        self.variables = {token.start for token in checker.variables}
        self.clauses = checker.clauses
        self._check_distinct()
        self.nodes = self._pattern_names()
        self.inserted = defaultdict(str, self._kept_orders(checker))  # texts by index of the token before which they are inserted
        for index, text in unique_relationships(self, checker).items():
            self.inserted[index] = text + self.inserted[index]
        self.sums = self._text_sums()
        self.ends = self._ends()
        self.functions: dict[str, Callable[[list[str], int], str]] = {
            "head": lambda parts, _: f"CASE WHEN size({parts[0]}) > 0 THEN list_extract({parts[0]}, 1) END",
            "last": lambda parts, _: f"CASE WHEN size({parts[0]}) > 0 THEN list_extract({parts[0]}, -1) END",
            "tail": lambda parts, _: f"list_slice({parts[0]}, 2, size({parts[0]}))",
            "isempty": lambda parts, _: f"(size({parts[0]}) = 0)",
            "split": self._split,
            "sum": lambda parts, _: f"coalesce(sum({parts[0]}), 0)",
            "ceil": lambda parts, _: f"ceil(1.0 * ({parts[0]}))",
            "floor": lambda parts, _: f"floor(1.0 * ({parts[0]}))",
            "log": lambda parts, _: f"ln({parts[0]})",
            "rand": lambda _, __: "random()",
            "round": lambda parts, _: f"floor(({parts[0]}) + 0.5)" if len(parts) == 1 else f"round({', '.join(parts)})",
            "labels": self._labels,
            "substring": self._substring,
            "replace": self._replace,
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

    def _kept_orders(self, checker: Checker) -> dict[int, str]:
        """Return the clauses, by index of the token to insert them before, that make the engine keep the order of a ``WITH``."""
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

    def _check_distinct(self) -> None:
        """Refuse ``WITH DISTINCT`` of values that read no variable, whose rows the engine keeps all."""
        ends = [index for _, index in self.clauses[1:]] + [len(self.tokens) - 1]
        for (word, index), end in zip(self.clauses, ends, strict=True):
            if word != "WITH" or self.tokens[index + 1].upper != "DISTINCT" or self._has_star(index):
                continue
            if not any(
                (token.start in self.variables and before.upper != "AS") or token.upper in _AGGREGATES
                for before, token in pairwise(self.tokens[index + 1 : end])
            ):
                raise self.unsupported(
                    self.tokens[index], "WITH DISTINCT", "has values that are the same in every row; write WITH … LIMIT 1"
                )

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
            parts.append(self.inserted[index] + text if index in self.inserted else text)
            index = following
        return "".join(parts)

    def _replaced(self, index: int) -> tuple[str, int] | None:
        """Return the replacement of the form at ``index`` and the index after it; None when no listed form begins there."""
        if index in self.replaced:
            return self.replaced[index], index + 1
        if index in self.replaced_conditions:
            return "true", self.replaced_conditions[index]
        if index in self.sums:
            return self._text_sum(index)
        token, after = self.tokens[index], self.tokens[index + 1]
        before = self.tokens[index - 1] if index else Token("symbol", "", 0, 0)
        name = token.text.lower() if token.kind == "word" and before.text != "." else ""
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
            if name in _QUANTIFIERS and self.tokens[index + 3].upper == "IN":
                return self._quantifier(index, end), end + 1
            if name == "reduce" and end > index + 8:  # else it is incomplete, which the engine says
                return self._reduce(index, end), end + 1
        if token.upper in ("EXISTS", "COUNT") and after.text == "{" and self.tokens[index + 2].upper not in CLAUSES:
            end = self.closing[index + 1]
            return f"{token.text} {{ MATCH {self.render(index + 2, end)}{self.inserted.get(end, '')} }}", end + 1
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
        if self.items and token.name in self.items and before.text == ":" and after.text in (",", "}"):
            # the engine takes the first item for all others
            return f"list_extract([{token.text}], 1)", index + 1
        if self._label_test(index, before):
            label = self.tokens[index + 2].name.replace("\\", "\\\\").replace("'", "\\'")
            test = f"label({token.text}) = '{label}'"
            is_filter = before.upper in ("WHERE", "AND")
            return test if is_filter else _condition(f"WHEN {token.text} IS NOT NULL THEN {test}"), index + 3
        return None

    def _end(self, index: int, end: int) -> tuple[str, int]:
        """Return a node at an end of a relationship, or its property, and the index after it."""
        start = self.tokens[index].text.lower() == "startnode"
        name = self.tokens[index + 2].name if end == index + 3 else ""
        nodes = next((ends for position, known, ends in reversed(self.ends) if known == name and position < index), None)
        if nodes is None:
            relationship = self.render(index + 2, end)
            node = f"{'start' if start else 'end'}_node({relationship})"
            if self.tokens[end + 1].text == "." and self.tokens[end + 2].kind in ("word", "quoted"):
                return f"(CASE WHEN {relationship} IS NOT NULL THEN {node}.{self.tokens[end + 2].text} END)", end + 3
            return node, end + 1
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
        variable, outer = self.tokens[item].text, self._outer_names(item + 2, bar)
        self._check_items(item, range(item + 2, bar), bar + 3, end)
        value = self._body(bar + 3, end, variable, outer, False)
        values = f"list_transform({self.render(item + 2, bar)}, {variable} -> {value})"
        outer += self._references(bar + 3, end, {variable})
        is_null = _reading(f"{name} IS NULL", outer, True)
        has_no_null = f"size(list_filter({values}, {name} -> {is_null})) = 0"
        return f"(CASE WHEN {has_no_null} THEN {initial.text} + coalesce(list_sum({values}), 0) END)"

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
        outer = self._outer_names(index + 3, where)
        self._check_items(index + 1, range(index + 3, where), where, end)
        if where < bar:
            items = f"list_filter({items}, {name} -> {self._body(where + 1, bar, name, outer, True)})"
            outer += self._references(where + 1, bar, {name})
        is_identity = self.render(bar + 1, end) == name
        if bar == end or (is_identity and where < bar):
            return items
        return f"list_transform({items}, {name} -> {self._body(bar + 1, end, name, outer, False)})"

    def _quantifier(self, index: int, end: int) -> str:
        """Return ``any(x IN list WHERE test)`` or the like, with null where nulls leave it open; the engine's own says false."""
        function, name = self.tokens[index].text.lower(), self.tokens[index + 2].text
        where = next((i for i in self.outside(index + 4, end) if self.tokens[i].upper == "WHERE"), end)
        if where == end:
            raise self.invalid(self.tokens[index], function, f"needs a condition: {function}(x IN list WHERE …)")
        items = self.render(index + 4, where)
        self._check_items(index + 2, range(index + 4, where), where, end)
        test = self._body(where + 1, end, name, self._outer_names(index + 4, where), True)

        def number(condition: str) -> str:
            return f"size(list_filter({items}, {name} -> {condition}))"

        is_open = f"{number(f'({test} IS NULL)')} > 0"
        if function == "single":
            return _condition(f"WHEN {number(test)} > 1 THEN false WHEN {is_open} THEN null ELSE {number(test)} = 1")
        decided, otherwise = ("true", "false") if function == "any" else ("false", "true")
        case = f"(NOT {test})" if function == "all" else test
        return _condition(
            f"WHEN {number(case)} > 0 THEN {decided} WHEN {is_open} THEN null WHEN ({items}) IS NOT NULL THEN {otherwise}"
        )

    def _body(self, start: int, end: int, name: str, outer: list[str], is_condition: bool) -> str:
        """Return the body of a lambda over the items ``name`` of a list.

        ``outer`` has what lambdas inside the list read from outside of themselves. Where the body reads none of it, the engine
        computes the list for the first row only, so the body gets a condition that is always true and reads it.
        """
        if is_condition and outer:
            raise self.unsupported(
                self.tokens[start], "a condition on a list",
                f"that is made by another list comprehension, which reads {outer[0]}, is not possible; write both conditions in "
                "one, or use UNWIND",
            )  # fmt: skip
        if not any(self.tokens[i].name == name and self.tokens[i].start in self.variables for i in range(start, end)):
            if is_condition:
                raise self.unsupported(
                    self.tokens[start], "a condition on a list", f"does not read its item {name}; write it outside of the list"
                )
            outer = [*outer, name]  # the engine evaluates a body that does not read the item for the first row only
        self.items.append(name)
        body = self.render(start, end)
        self.items.pop()
        return _reading(body, outer, is_condition)

    def _check_items(self, item: int, items: range, start: int, end: int) -> None:
        """Refuse an expression over the nodes, relationships or maps of a list that reads other variables too.

        ``item`` is the index of the variable's token, ``items`` the list, and the expression is from ``start`` to before ``end``.
        The engine takes the first row's items for the others, except for ``nodes(p)`` and ``relationships(p)`` together with
        properties, of a path and of nodes that no WITH or UNWIND has passed on.
        """
        name, token = self.tokens[item].name, self.tokens[item]
        outer = self._references(start, end, {name})
        words = [part.text.lower() for part in self.tokens[items.start : items.stop]]
        is_path = len(words) == 4 and words[0] in ("nodes", "relationships", "rels")
        uses = [i for i in range(start, end) if self.tokens[i].name == name and self.tokens[i].start in self.variables]
        has_parts = any(self.tokens[i + 1].text == "." for i in uses) or any(
            self.tokens[i - 1].text == "(" and self.tokens[i - 2].text.lower() in _OF_NODES for i in uses
        )
        is_compared = any(
            self.tokens[i + step].text in ("=", "<>")
            and self.tokens[i + 2 * step].name in self.nodes
            and "." not in (self.tokens[i + 2 * step - 1].text, self.tokens[i + 2 * step + 1].text)
            for i in uses
            for step in (-1, 1)
        )
        if not outer or not (is_path or has_parts or is_compared):
            return
        is_passed_on = any(word in ("WITH", "UNWIND") and index < item for word, index in self.clauses)
        if is_passed_on or not is_path or not all("." in value for value in outer):
            raise self.unsupported(
                token, f"the list of {token.text}",
                f"has nodes, relationships or maps, and the expression reads {outer[0]} too; use UNWIND for the list, or compare "
                "a list of texts or numbers",
            )  # fmt: skip

    def _outer_names(self, start: int, end: int) -> list[str]:
        """Return what the lambdas in the list that is written from ``start`` to before ``end`` read from outside of it."""
        values = []
        for index in range(start, end):
            first = self.tokens[index + 1]
            is_list = self.tokens[index].text == "[" and not self.subscripts(index)
            is_call = self.tokens[index].text == "(" and self.tokens[index - 1].text.lower() in (*_QUANTIFIERS, "reduce")
            if not (is_list or is_call) or first.kind not in ("word", "quoted"):
                continue
            close = self.closing[index]
            inside = list(self.outside(index + 1, close))
            begin = next((i for i in inside if self.tokens[i].upper == "WHERE" or self.tokens[i].text == "|"), None)
            if begin is not None:
                bound = {
                    self.tokens[i].name for i in inside if self.tokens[i + 1].upper == "IN" or self.tokens[i + 1].text == "="
                }
                values += self._references(begin + 1, close, bound)
        return values

    def _references(self, start: int, end: int, bound: set[str]) -> list[str]:
        """Return the variables that are not ``bound`` in an expression, each with the property that it reads of them."""
        bound = bound | {
            self.tokens[i].name
            for i in range(start, end - 1)
            if self.tokens[i + 1].upper == "IN" and self.tokens[i - 1].text in ("[", "(")
        }
        values = []
        for index in range(start, end):
            token = self.tokens[index]
            if token.upper in _AGGREGATES and self.tokens[index + 1].text == "(":
                raise self.unsupported(token, token.text, "inside a list comprehension must be computed before, in a WITH")
            if token.start not in self.variables or token.name in bound or self.tokens[index - 1].text == ".":
                continue
            is_property = self.tokens[index + 1].text == "." and self.tokens[index + 2].kind in ("word", "quoted")
            values.append(f"{token.text}.{self.tokens[index + 2].text}" if is_property else token.text)
        return [value for value in dict.fromkeys(values) if value.split(".")[0] not in self.items]

    def _pattern_names(self) -> set[str]:
        """Return the names of nodes and relationships in the patterns of the statement."""
        names = set()
        for before, bracket, name, after in zip(self.tokens, self.tokens[1:], self.tokens[2:], self.tokens[3:], strict=False):
            is_pattern = before.kind == "symbol" or before.upper in ("MATCH", "EXISTS", "COUNT")
            if bracket.text in ("(", "[") and is_pattern and after.text in (":", ")", "{", "]", "*"):
                names.add(name.name)
        return names

    def _text_sums(self) -> dict[int, tuple[int, list[range]]]:
        """Return the sums that may join texts, by index of the first token: the index after them, and the operands."""
        closing, cases = dict(self.closing), []
        for index, token in enumerate(self.tokens):
            if token.upper == "CASE" and token.start not in self.variables:
                cases.append(index)
            elif token.upper == "END" and cases and token.start not in self.variables:
                closing[cases.pop()] = index
        opening = {end: start for start, end in closing.items()}
        sums: dict[int, tuple[int, list[range]]] = {}
        seen: set[int] = set()
        for plus, token in enumerate(self.tokens):
            if token.text != "+" or plus in seen:
                continue
            start = plus
            while start and (start - 1 in opening or not (start - 1 in closing or self._separates(start - 1))):
                start = opening.get(start - 1, start - 1)
            past, signs = plus, []
            while past in closing or not (past in opening or self._separates(past)):
                signs += [past] if self.tokens[past].kind == "symbol" and self.tokens[past].text in _SIGNS else []
                past = closing.get(past, past) + 1
            seen.update(signs)
            operands = [range(first + 1, last) for first, last in zip([start - 1, *signs], [*signs, past], strict=True)]
            is_text = all(self.tokens[sign].text == "+" for sign in signs) and len(signs) > 0
            if is_text and all(operands) and not any(self.tokens[operand.start].kind == "number" for operand in operands):
                sums[start] = past, operands
        return sums

    def _separates(self, index: int) -> bool:
        """Return whether the token at ``index``, which is not a bracket, is outside of any sum."""
        token = self.tokens[index]
        if token.kind == "word":
            is_keyword = token.upper in CLAUSES | OPERATORS | PREFIXES | ENDINGS | {"BY"}
            return is_keyword and self.tokens[index - 1].text != "." and token.start not in self.variables
        return token.kind == "end" or (token.kind == "symbol" and token.text not in (".", *_SIGNS))

    def _text_sum(self, index: int) -> tuple[str, int]:
        """Return a sum that is null when one of its values is; the engine takes null for an empty text."""
        end, operands = sum_ = self.sums.pop(index)
        text = self.render(index, end)
        values = [self.render(operand.start, operand.stop) for operand in operands if self._may_be_null(operand)]
        self.sums[index] = sum_
        conditions = " AND ".join(f"({value}) IS NOT NULL" for value in dict.fromkeys(values))
        return f"(CASE WHEN {conditions} THEN {text} END)" if values else text, end

    def _may_be_null(self, operand: range) -> bool:
        first = self.tokens[operand.start]
        return first.kind != "string" and (
            first.text.lower() not in ("count", "collect") or self.tokens[operand.start + 1].text not in ("(", "{")
        )

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
            and self.tokens[index + 1].text == ":"
            and self.tokens[index + 2].kind in ("word", "quoted")
            and (following := self.tokens[min(index + 3, len(self.tokens) - 1)]).text not in (":", "|", "&")
            and (
                before.upper in ("WHERE", "AND", "OR", "XOR", "NOT", "WHEN", "THEN", "ELSE", "RETURN", "WITH", "DISTINCT")
                or (before.text == "(" and following.upper in ("AND", "OR", "XOR"))
                or (before.text == "," and following.upper == "AS")
            )
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
        """Return the engine's substring, which begins again beyond the end of a text that is not ASCII.

        It confuses rows where it gets nulls, so it gets none.
        """
        text, (start, *lengths) = parts[0], parts[1:]
        arguments = [value if value.isdecimal() else f"coalesce({value}, 0)" for value in (start, *lengths)]
        length = arguments[1] if lengths else str(MAX_BYTES)
        conditions = [f"size({text}) IS NOT NULL", *(f"({value}) IS NOT NULL" for value in lengths if not value.isdecimal())]
        part = f"substring(coalesce({text}, ''), {arguments[0]} + 1, {length})"
        return (
            f"(CASE WHEN ({start}) < size({text}) AND {' AND '.join(conditions)} THEN {part} "
            f"WHEN ({start}) IS NOT NULL AND {' AND '.join(conditions)} THEN '' END)"
        )

    def _replace(self, parts: list[str], index: int) -> str:
        if parts[1] in ("''", '""'):
            raise self.unsupported(self.tokens[index], "replace", "needs a text to look for that is not empty")
        # the engine confuses rows where it gets nulls
        values = [part for part in parts if part[0] not in "'\""]
        arguments = ", ".join(f"coalesce({part}, '')" if part in values else part for part in parts)
        conditions = " AND ".join(f"({value}) IS NOT NULL" for value in values)
        return f"(CASE WHEN {conditions} THEN replace({arguments}) END)" if values else f"replace({arguments})"

    def _split(self, parts: list[str], index: int) -> str:
        """Return the engine's split, which drops empty parts, with a mark added to each part during the split."""
        text, separator = parts
        if separator in ("''", '""'):
            raise self.unsupported(self.tokens[index], "split", "needs a separator that is not empty")
        marked = f"string_split('{_MARK}' + replace({text}, {separator}, ({separator}) + '{_MARK}'), {separator})"
        # the engine's own takes null for an empty text
        return f"(CASE WHEN ({text}) IS NOT NULL THEN list_transform({marked}, part -> replace(part, '{_MARK}', '')) END)"

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


def _condition(tests: str) -> str:
    """Return a ``CASE`` that is true, false or null; the engine takes one that is itself a condition of a ``CASE`` as false."""
    return f"((CASE {tests} END) = true)"


def _reading(body: str, outer: Sequence[str], is_condition: bool) -> str:
    """Return the body of a lambda with a condition that is always true and reads the ``outer`` values."""
    if not outer:
        return f"({body})"
    reads = " AND ".join(f"({value} IS NULL OR {value} IS NOT NULL)" for value in dict.fromkeys(outer))
    return f"(({body}) AND {reads})" if is_condition else f"(CASE WHEN {reads} THEN {body} END)"


def _variable(token: Token) -> str:
    """Return the name that begins a node pattern; empty when it begins otherwise."""
    return token.text if token.kind in ("word", "quoted") else ""

"""A grammar of reading Cypher statements, from which tests draw: forms that both engines answer, over concepts and events.

What docs/cypher.md lists as different is left out: self-loops of patterns without direction, nulls in lists, letters whose upper
case is longer, orders by lists.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tacit.graph import Assertion

PARAMETERS = {"i": 3, "f": 1.5, "s": "dog", "l": [1, 2, 3], "m": ["dog", "ab", "x"]}
RELATIONS = ["IsA", "Desires", "RelatedTo", "AtLocation", "xWant", "xNeed"]
TEXTS = ["'dog'", "'a b'", "''", "'café'", "'犬'", "'DOG'", "'it\\'s'", "'ab'", "'o'", "' x '", "'Ä'"]

Scope = dict[str, str]
"""The kind of each variable: node, relationship, path, or what :meth:`Grammar.value` takes."""


def random_rows(seed: int) -> list[Assertion]:
    """Return a small graph with equal weights, missing properties, self-loops and parallel relationships."""
    random = Random(seed)
    words = (
        "dog",
        "puppy",
        "cat",
        "animal",
        "bone",
        "bark",
        "cafe",
        "café",
        "naïve",
        "犬",
        "dog's",
        "a_b",
        "ab",
        "abc",
        "Dog",
        "Ä",
    )
    concepts = [*(f"/c/en/{word}" for word in words), "/c/de/hund", "/c/fr/chien"]
    events = [f"/e/{text}" for text in ("PersonX_eats_[]", "to_rest", "PersonX_walks_the_dog", "to_drink", "happy")]
    rows: dict[object, Assertion] = {}
    for number in range(60):
        nodes, relations = (concepts, RELATIONS[:4]) if number % 3 else (events, RELATIONS[4:])
        head = random.choice(nodes)
        tail = head if number % 9 == 0 else random.choice(nodes)
        row = Assertion(
            head,
            random.choice(relations),
            tail,
            random.choice([0.5, 1.0, 1.0, 2.0, 3.5]),
            random.choice(["conceptnet", "rdf"]),
            random.choice(["", "/d/a", "/d/b"]),
            random.choice(["", "cc:by"]),
            rank=None if number % 3 else random.choice([None, 0, 1, 2]),
            score=None if number % 3 else random.choice([None, -0.25, -1.5]),
        )
        rows.setdefault(row.fingerprint()[0], row)
    return list(rows.values())


class Grammar:
    """Draws one statement."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def likely(self, probability: float) -> bool:
        return self.random.random() < probability

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def value(self, kind: str, scope: Scope, depth: int = 2) -> str:
        """Return an expression of this kind: int, float, text, bool, ints or texts (lists)."""
        known = [variable for variable, its_kind in scope.items() if its_kind == kind]
        if known and self.likely(0.4):
            return self.pick(*known)
        forms = getattr(self, f"_{kind}")(scope, depth)
        form: Callable[[], str] = self.random.choice(forms[: len(forms) if depth else 2])
        return form()

    def _of(self, scope: Scope, kind: str, properties: list[str], otherwise: str) -> str:
        variables = [variable for variable, its_kind in scope.items() if its_kind == kind]
        return f"{self.pick(*variables)}.{self.pick(*properties)}" if variables else otherwise

    def _int(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def inner() -> str:
            return self.value("int", scope, depth - 1)

        def ints() -> str:
            return self.value("ints", scope, depth - 1)

        return [
            lambda: self.pick("0", "1", "2", "4", "-3", "10", "$i"),
            lambda: self._of(scope, "relationship", ["rank"], "7"),
            lambda: f"({inner()} {self.pick('+', '-', '*')} {inner()})",
            lambda: f"({inner()} {self.pick('/', '%')} {self.pick('2', '3', '-2')})",
            lambda: f"{self.pick('abs', 'sign', '-')}({inner()})",
            lambda: f"size({self.value(self.pick('text', 'ints', 'texts'), scope, depth - 1)})",
            lambda: f"coalesce({inner()}, {inner()})",
            lambda: f"nullIf({inner()}, {inner()})",
            lambda: f"{self.pick('head', 'last')}({ints()})",
            lambda: f"reduce(s = 0, x IN {ints()} | s + x)",
            lambda: self._case("int", scope, depth),
            lambda: self._counted(scope),
        ]

    def _counted(self, scope: Scope) -> str:
        nodes = [variable for variable, kind in scope.items() if kind == "node"]
        paths = [variable for variable, kind in scope.items() if kind == "path"]
        if paths and self.likely(0.5):
            return self.pick(f"length({paths[0]})", f"size(nodes({paths[0]}))")
        return f"COUNT {{ ({self.pick(*nodes)})-[:{self.pick(*RELATIONS)}]->() }}" if nodes else "5"

    def _float(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def inner() -> str:
            return self.value("float", scope, depth - 1)

        def number() -> str:
            return self.value(self.pick("int", "float"), scope, depth - 1)

        return [
            lambda: self.pick("0.5", "2.5", "-1.5", "1e2", "$f"),
            lambda: self._of(scope, "relationship", ["weight", "score"], "1.0"),
            lambda: f"({inner()} {self.pick('+', '-', '*')} {number()})",
            lambda: f"({inner()} / {self.pick('2', '0.5', '-4')})",
            lambda: f"({number()} % {self.pick('1.5', '-2.5')})",
            lambda: f"{self.pick('floor', 'ceil', 'round')}({number()})",
            lambda: f"sqrt(abs({number()}))",
            lambda: f"coalesce({inner()}, {inner()})",
            lambda: self._case("float", scope, depth),
        ]

    def _text(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def inner() -> str:
            return self.value("text", scope, depth - 1)

        return [
            lambda: self.pick(*TEXTS, "$s"),
            lambda: self._of(
                scope,
                *self.random.choice(
                    [("node", ["text", "uri"]), ("relationship", ["source", "dataset", "license"])],
                ),
                "'cat'",
            ),
            lambda: f"{self.pick('toUpper', 'toLower', 'trim', 'ltrim')}({inner()})",
            lambda: f"substring({inner()}, {self.pick('0', '1', '3')})",
            lambda: f"substring({inner()}, {self.pick('0', '1')}, {self.pick('0', '1', '2')})",
            lambda: f"{self.pick('left', 'right')}({inner()}, {self.pick('0', '1', '3')})",
            lambda: f"replace({inner()}, {self.pick(*(text for text in TEXTS if text != repr('')))}, {inner()})",
            lambda: f"({inner()} + {inner()})",
            lambda: f"coalesce({inner()}, {inner()})",
            lambda: f"{self.pick('head', 'last')}({self.value('texts', scope, depth - 1)})",
            lambda: f"{{k: {inner()}}}['k']",
            lambda: self._case("text", scope, depth),
        ]

    def _case(self, kind: str, scope: Scope, depth: int) -> str:
        test, value = self.value("bool", scope, depth - 1), self.value(kind, scope, depth - 1)
        return f"CASE WHEN {test} THEN {value} ELSE {self.value(kind, scope, depth - 1)} END"

    def _bool(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def inner() -> str:
            return self.value("bool", scope, depth - 1)

        def compared() -> str:
            kind = self.pick("int", "float", "text")
            sides = [self.value(kind, scope, max(depth - 1, 0)) for _ in range(2)]
            return f"{sides[0]} {self.pick('=', '<>', '<', '>=')} {sides[1]}"

        def of_items() -> str:
            kind = self.pick("int", "text")
            items = self.value(kind + "s", scope, depth - 1)
            test = self._of_item(kind)
            return f"{self.pick('any', 'all', 'none', 'single')}(x IN {items} WHERE {test})"

        def of_nodes() -> str:
            nodes = [variable for variable, kind in scope.items() if kind == "node"]
            pattern = f"-[:{self.pick(*RELATIONS)}]->(){self.pick('', '', '<--()', '-->()')}"
            if not nodes:
                return "true"
            node = self.pick(*nodes)
            return self.pick(f"{node}:Concept", f"EXISTS {{ ({node}){pattern} }}", f"({node}){pattern}", f"{node} IS NULL")

        return [
            compared,
            lambda: f"{self.value('text', scope, 0)} {self.pick('STARTS WITH', 'ENDS WITH', 'CONTAINS')} {self.pick(*TEXTS[:2])}",
            lambda: f"{self.value(self.pick('int', 'text'), scope, depth - 1)} IS {self.pick('', 'NOT ')}NULL",
            lambda: f"({inner()} {self.pick('AND', 'OR', 'XOR')} {inner()})",
            lambda: f"(NOT {inner()})",
            lambda: f"{self.value('text', scope, depth - 1)} IN ['dog', 'ab', 'IsA']",
            of_items,
            of_nodes,
        ]

    def _of_item(self, kind: str) -> str:
        """Return a condition on the item x of a list."""
        return (
            self.pick("x > 1", "x % 2 = 0", "x < $i") if kind == "int" else self.pick("x < 'c'", "x CONTAINS 'o'", "size(x) > 2")
        )

    def _list(self, kind: str, scope: Scope, depth: int) -> list[Callable[[], str]]:
        def inner() -> str:
            return self.value(kind + "s", scope, depth - 1)

        item = {**scope, "x": kind}
        return [
            lambda: f"[{self.pick('1, 2', '4, 4, -1') if kind == 'int' else ', '.join(self.random.sample(TEXTS, 2))}]",
            lambda: "$l" if kind == "int" else "$m",
            lambda: f"[x IN {inner()} WHERE {self._of_item(kind)}]",
            lambda: f"[x IN {inner()} WHERE {self._of_item(kind)} | {self.value(kind, item, 0)}]",
            lambda: f"[x IN {inner()} | {self.value(kind, item, 1)}]",
            lambda: f"({inner()} + {inner()})",
            lambda: f"tail({inner()})",
            lambda: f"{inner()}[{self.pick('0..1', '1..', '..2')}]",
            lambda: (
                "range(0, 3)" if kind == "int" else f"split({self.value('text', scope, depth - 1)}, {self.pick(*TEXTS[-3:])})"
            ),
        ]

    def _ints(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        return self._list("int", scope, depth)

    def _texts(self, scope: Scope, depth: int) -> list[Callable[[], str]]:
        return self._list("text", scope, depth)

    def _match(self, scope: Scope, optional: bool) -> str:
        new: Scope = {}

        def node() -> str:
            known = [variable for variable, kind in scope.items() if kind == "node"]
            if known and self.likely(0.5):
                return f"({self.pick(*known)})"
            name = self.name("n")
            new[name] = "node"
            return f"({name}{self.pick(':Concept', ':Concept', ':Event', ':Concept|Event')})"

        pattern = node()
        hops = self.random.choice([1, 1, 1, 2, 0 if not optional else 1])
        for _ in range(hops):
            types = self.pick("", f":{self.pick(*RELATIONS)}", f":{'|'.join(self.random.sample(RELATIONS, 2))}")
            if self.likely(0.15) and not optional:
                relationship = f"[{types}{self.pick('*1..2', '*2', '*0..1')}]"
            else:
                name = self.name("r") if self.likely(0.7) else ""
                new |= {name: "relationship"} if name else {}
                relationship = f"[{name}{types}]"
            pattern += self.pick(f"-{relationship}->", f"<-{relationship}-") + node()
        if not optional and hops and self.likely(0.2):
            path = self.name("p")
            new[path], pattern = "path", f"{path} = {pattern}"
        scope |= new
        where = f" WHERE {self.value('bool', scope)}" if self.likely(0.4) else ""
        return f"{'OPTIONAL ' if optional else ''}MATCH {pattern}{where}"

    def _unwind(self, scope: Scope) -> str:
        kind, name = self.pick("int", "text"), self.name("x")
        text = f"UNWIND {self.value(kind + 's', scope, 1)} AS {name}"
        scope[name] = kind
        return text

    def _aggregate(self, scope: Scope) -> tuple[str, str]:
        number = self.pick("int", "float")
        distinct = self.pick("", "DISTINCT ")
        forms = [
            ("count(*)", "int"),
            (f"count({distinct}{self.value(self.pick('int', 'text'), scope, 1)})", "int"),
            (f"sum({distinct}{self.value(number, scope, 1)})", number),
            (f"avg({self.value(number, scope, 1)})", "float"),
            (f"{self.pick('min', 'max')}({self.value(number, scope, 1)})", number),
            (f"{self.pick('min', 'max')}({self.value('text', scope, 1)})", "text"),
            (f"size(collect({distinct}{self.value('text', scope, 1)}))", "int"),
        ]
        return self.random.choice(forms)

    def _items(self, scope: Scope) -> tuple[str, Scope]:
        """Return the items of a WITH or RETURN, and the variables after it."""
        kinds = ("int", "float", "text", "bool")
        texts: list[str] = []
        new: Scope = {}
        is_grouped = self.likely(0.4)
        for _ in range(self.random.randint(not is_grouped, 3)):
            known = [variable for variable, kind in scope.items() if kind in (*kinds, "node") and variable not in new]
            if known and self.likely(0.5):
                texts.append(self.pick(*known))
                new[texts[-1]] = scope[texts[-1]]
            else:
                kind, name = self.pick(*kinds), self.name("v")
                texts.append(f"{self.value(kind, scope)} AS {name}")
                new[name] = kind
        for _ in range(is_grouped):
            text, kind = self._aggregate(scope)
            name = self.name("a")
            texts.append(f"{text} AS {name}")
            new[name] = kind
        return ("DISTINCT " if self.likely(0.15) else "") + ", ".join(texts), new

    def _limited(self, new: Scope) -> str:
        keys = [f"{variable}.uri" if kind == "node" else variable for variable, kind in new.items()]
        skip = f" SKIP {self.random.randint(0, 2)}" if self.likely(0.3) else ""
        return f" ORDER BY {', '.join(key + self.pick('', ' DESC') for key in keys)}{skip} LIMIT {self.random.randint(0, 7)}"

    def _with(self, scope: Scope) -> str:
        items, new = self._items(scope)
        text = f"WITH {items}{self._limited(new) if self.likely(0.3) else ''}"
        scope.clear()
        scope |= new
        return text + (f" WHERE {self.value('bool', scope, 1)}" if self.likely(0.25) else "")

    def statement(self) -> str:
        """Return one statement."""
        scope: Scope = {}
        clauses = [self._match(scope, False) if self.likely(0.75) else self._unwind(scope)]
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            kind = self.pick("match", "optional", "with", "unwind")
            if kind == "with":
                clauses.append(self._with(scope))
            elif kind == "unwind":
                clauses.append(self._unwind(scope))
            else:
                clauses.append(self._match(scope, kind == "optional"))
        is_limited = self.likely(0.3)
        items, new = self._items(scope)
        return " ".join([*clauses, f"RETURN {items}{self._limited(new) if is_limited else ''}"])

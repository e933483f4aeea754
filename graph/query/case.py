"""Names whose case Neo4j distinguishes and the embedded engine does not.

The engine takes ``concept`` for the label ``Concept``, ``TEXT`` for the property ``text`` and ``C`` for the variable ``c``. A
query with such names is refused here, because it would get other rows than on Neo4j. Relations whose names differ only in case
(``HasSubevent`` of ConceptNet, ``HasSubEvent`` of ATOMIC) share a table; :func:`shared_relations` finds those of a query, and
:mod:`.rewrite` restricts them by the property ``relation``, which has the exact name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from ..errors import QueryInvalid
from ..links import LINK_RELATIONS, Link
from ..model import Assertion
from ..relations import RELATIONS
from .tokens import Token, place, subscripts
from .validator import Checker

LABELS = ("Concept", "Event", "Manifest")
PROPERTIES = frozenset(("uri", "text", "language", "relation", *Assertion._fields[3:], *Link._fields[3:], "id"))


def check_names(checker: Checker, parameters: Mapping[str, Any]) -> None:
    """Refuse names of a validated query that the embedded engine would confuse.

    Raises:
        QueryInvalid: a label is unknown, a property's name differs from a known one in case only, two variables do so, or a node
            has two labels; the message has the position.
    """
    for token in checker.labels:
        if token.name not in LABELS:
            same = [label for label in LABELS if label.lower() == token.name.lower()]
            hint = f"did you mean {same[0]}?" if same else f"its labels are {', '.join(LABELS)}"
            raise unknown(checker, token, "node label", hint)
    for before, token in pairwise(checker.labels):
        if checker.query[before.end : token.start].strip() == ":":
            raise QueryInvalid(
                f"no node has both labels, {before.name} and {token.name} ({place(checker.query, before.start)}); "
                f"write {before.name}|{token.name} for either"
            )
    first: dict[str, Token] = {}
    for token in checker.variables:
        other = first.setdefault(token.name.lower(), token)
        if other.name != token.name:
            raise QueryInvalid(
                f"the names {other.name} and {token.name} ({place(checker.query, token.start)}) differ only in case, which the "
                "embedded engine does not distinguish; rename one of them"
            )
    keys = {token.name for token in checker.keys} | set(_keys(parameters))
    known = {name.lower(): name for name in (*sorted(keys), *PROPERTIES)}
    for token, name in [*((token, token.name) for token in checker.properties), *_subscripted(checker.tokens)]:
        if name not in keys | PROPERTIES and name.lower() in known:
            raise unknown(checker, token, "property", f"did you mean {known[name.lower()]}?")


def unknown(checker: Checker, token: Token, kind: str, hint: str) -> QueryInvalid:
    """Return the error for a name at ``token`` that the graph does not have; ``hint`` says which ones it has."""
    where, neo4j = place(checker.query, token.start), "give null" if kind == "property" else "find no rows"
    name = token.text[1:-1] if token.kind == "string" else token.name
    return QueryInvalid(f"the graph has no {kind} {name} ({where}), where Neo4j would {neo4j}; {hint}")


def shared_relations(checker: Checker, stored: Callable[[str], Collection[str]]) -> set[str]:
    """Return those relations of a validated query whose table also holds relations of other names.

    Args:
        checker: of the query.
        stored: returns the exact names of the relations in the table of the given one, none when there is no such table.

    Raises:
        QueryInvalid: a relation is neither in the graph nor one of ConceptNet or ATOMIC; the message has the position.
    """
    named = {token.name for token in checker.relations}
    shared = set()
    for token in checker.relations:
        names = stored(token.name)
        if token.name not in names and token.name not in (*LINK_RELATIONS, *RELATIONS):
            candidates = sorted({*LINK_RELATIONS, *RELATIONS, *names})
            near = [name for name in candidates if name.lower() == token.name.lower()] or get_close_matches(
                token.name, candidates, 1
            )
            hint = f"did you mean {near[0]}?" if near else "tacit info GRAPH lists what it holds"
            raise unknown(checker, token, "relation", hint)
        if not named.issuperset(names):
            shared.add(token.name)
    return shared


def _keys(value: object) -> Iterable[str]:
    """Yield the keys of all dictionaries in a parameter's value."""
    if isinstance(value, Mapping):
        yield from value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in items:
        yield from _keys(item)


def _subscripted(tokens: list[Token]) -> Iterable[tuple[Token, str]]:
    """Yield the strings in subscripts such as ``n['text']``, without their quotes."""
    for index in range(1, len(tokens) - 2):
        before, token, after = tokens[index : index + 3]
        if (before.text, token.kind, after.text) == ("[", "string", "]") and subscripts(tokens, index):
            yield token, token.text[1:-1]

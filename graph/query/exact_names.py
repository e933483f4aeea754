"""Checks of the names in a query, which the embedded engine would confuse with others.

Neo4j distinguishes the case of names and the engine does not: it takes ``concept`` for the label ``Concept``, ``TEXT`` for the
property ``text`` and ``C`` for the variable ``c``. A query with such names is refused (:func:`check_names`), because it would get
other rows than on Neo4j. Relations whose names differ only in case (``HasSubevent`` of ConceptNet, ``HasSubEvent`` of ATOMIC)
share a table; :func:`shared_relations` finds those of a query, and they are restricted by the property ``relation``, which has
the exact name.
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
from .tokens import Statement, Token
from .validator import Checker

LABELS = ("Concept", "Event", "Manifest")
PROPERTIES = frozenset(("uri", "text", "language", "relation", *Assertion._fields[3:], *Link._fields[3:], "id"))


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

"""Error messages of the embedded engine as sentences that say what is wrong in a query, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import GraphError, QueryInvalid, QueryRefused
from .tokens import Token, place
from .validator import MAX_BYTES, timed_out

_TYPES = {
    "BOOL": "true or false", "STRING": "a text", "DOUBLE": "a number", "FLOAT": "a number", "DECIMAL": "a number",
    "NODE": "a node", "REL": "a relationship", "RECURSIVE_REL": "a path",
    "LIST": "a list", "ARRAY": "a list", "STRUCT": "a map", "MAP": "a map",
    "INTERVAL": "a duration", "DATE": "a date", "TIMESTAMP": "a time", "INTERNAL_ID": "an identifier", "ANY": "null",
}  # fmt: skip
"""The engine's types in words; all others are integers."""

_SENTENCES = (
    (r"Variable (?P<name>\S+) is not in scope", "the variable {name} is not defined{at}"),
    (
        r"Cannot find property (?P<name>\S+) for",
        "no node or relationship of the graph has the property {name}{at}, where Neo4j would give null; "
        "nodes have uri, text and language, relationships weight, source, dataset and license",
    ),
    (
        r"Table (?P<name>Mentions|SameEvent) does not exist",
        "the events of the graph are not linked by {name}{at}; run tacit link GRAPH",
    ),
    (
        r"Table (?P<name>\S+) does not exist",
        "the graph has no node label or relation {name}{at}, where Neo4j would find no rows; "
        "tacit info GRAPH lists what it holds",
    ),
    (r"Cannot bind (?P<name>\S+) as a node pattern label", "{name} is a relation and not a node label{at}"),
    (r"Cannot bind (?P<name>\S+) as a relationship pattern label", "{name} is a node label and not a relation{at}"),
    (r"[Ff]unction (?P<name>\S+) does not exist", "unknown function {name}{at}"),
    (r"(?P<name>\S+) does not exist in catalog", "the graph has no table {name}{at}; CALL show_tables() RETURN name lists them"),
    (
        r"(?:Expression )?(?P<name>.+) has data type (?P<type>\S+) but "
        r"(?:expected (?P<wanted>\S+)\.|(?P<choice>\S+) was expected)",
        "{name}{at} is {type}, where {wanted} is needed",
    ),
    (
        r"Function (?P<name>\S+) did not receive correct arguments:\s*Actual: +\((?P<types>.*)\)",
        "{function}{at} cannot be used on {types}",
    ),
    (r"built-in function for given function (?P<name>[^(]+)\((?P<types>.*?)\)\.", "{function}{at} cannot be used on {types}"),
    (
        r'Could not convert "(?P<name>.*)" to (?P<type>\w+)',
        'the text "{name}"{at} cannot be converted to {type}; both sides of a comparison must be of one type',
    ),
    (
        r'parsing (?P<type>\w+)\. Given: "(?P<name>.*)"\. Expected format: (?P<form>.+)',
        '"{name}"{at} is not a {type}; write {form}',
    ),
    (r"Divide by zero|Modulo by zero", "the query divides by zero"),
    (r"is not within INT(?P<name>\d+) range", "a whole number of the query is too large; the engine has {name} bits"),
    (
        r"Cannot order by (?P<name>.+?)\. Order by \S+ is not supported",
        "{name}{at} is a list, a map, a node or a path, by which the embedded engine cannot order; order by a text or a number",
    ),
    (r"Non-binary comparison", "the embedded engine compares two values at a time; write a < b AND b < c"),
    (r"Invalid struct field name: (?P<name>\S+?)\.?$", "the map has no key {name}{at}, where Neo4j would give null"),
    (
        r"Casting between NODE and NODE|Casting between REL and REL",
        "the embedded engine cannot compare a node or relationship with those of a list; compare n.uri or r.id",
    ),
    (r"LIST_FILTER requires the result type", "the condition of a list comprehension must be true or false"),
    (r"has data type ANY but LIST was expected", "null stands where the embedded engine needs a list; leave it out"),
    (r"Step of range cannot be 0", "the step of range must not be 0"),
    (r"number of rows to skip/limit must be", "SKIP and LIMIT take whole numbers >= 0"),
    (r"Expression in WITH must be aliased", "each expression in WITH needs a name; write: expression AS name"),
    (r"nested aggregation", "an aggregate function such as count cannot contain another one; compute the inner one in a WITH"),
    (
        r"with type AGGREGATE_FUNCTION",
        "an aggregate function such as count cannot be in WHERE; write WITH count(x) AS n WHERE n > 1",
    ),
    (
        r"Bind relationship (?P<name>\S+) to relationship with same name",
        "the relationship {name} is in two patterns{at}, which the embedded engine does not support; rename one of them",
    ),
    (r"(?P<name>\S+) is reserved for system usage", "{name}{at} is a property of the engine's own and cannot be read"),
    (
        r"Lambda paramName (?P<name>\S+) cannot",
        "a list comprehension inside another cannot use the outer one's variable {name} on the embedded engine; "
        "use UNWIND for one",
    ),
    (
        r"In WITH clause, ORDER BY must be followed",
        "ORDER BY in a WITH needs a LIMIT on the embedded engine, and collect after it keeps no order; use list_sort(collect(x))",
    ),
    (
        r"index=(?P<name>-?\d+) is out of range",
        "a list has no item at position {name} (counted from 1), where Neo4j would give null; test size(list) first",
    ),
    (
        r"vector with ANY type|Data type of expression \S+ should not be modified",
        "the embedded engine cannot tell the type of an empty list, or of a list or map of nulls, in this query; give it an item "
        "that is not null, or leave it out",
    ),
    (
        r"Assertion failed",
        "the embedded engine cannot evaluate a value of this query, as happens with a map of nulls or a CASE that chooses among "
        "nodes; write it in another way",
    ),
    (
        r"'utf-8' codec can't decode",
        "the query cuts a text within a character, as split does with an empty separator; give it a separator",
    ),
    (
        r"Parameter (?P<name>\S+) not found",
        "the query's parameter {name} has no value; give it with the query, on the command line with --param {name}=VALUE",
    ),
)
"""Messages of the engine, as patterns, and the sentence for each; ``at`` is the position of ``name`` in the query."""

_SYNTAX = re.compile(r"(?:[Ii]nput|no viable alternative)\b.*\(line: (\d+), offset: (\d+)\)", re.DOTALL)
_KIND = re.compile(r"^(?:\w+ exception: )+")


def failure(kind: str, message: str, timeout: float, query: str, tokens: Sequence[Token], sent: str) -> Exception:
    """Return the error for a failure of this kind and message reported by a worker.

    ``query`` is as the user wrote it, with its ``tokens``, and ``sent`` as the engine got it.
    """
    line = _KIND.sub("", " ".join(message.split("\n", 1)[0].split()))[:500]
    if kind == "timeout":
        return timed_out(timeout)
    if kind == "memory":
        return GraphError("the query exceeded its memory limit; narrow it down, or return fewer rows at once")
    if kind == "size":
        return GraphError(f"one row of the result is larger than {MAX_BYTES >> 20} MiB; return less of it")
    if kind == "write":
        return QueryRefused(f"the engine refused to do more than read ({line})")
    if kind == "engine":
        return GraphError(f"the engine failed ({line}); load the graph again if this happens with every query")
    if match := _SYNTAX.search(message):
        return QueryInvalid(_syntax_error(match, query, sent))
    for pattern, sentence in _SENTENCES:
        if match := re.search(pattern, _KIND.sub("", message)):
            return QueryInvalid(sentence.format(**_placeholders(match, query, tokens)))
    return QueryInvalid(f"the query cannot be run: {line}")


def _placeholders(match: re.Match[str], query: str, tokens: Sequence[Token]) -> dict[str, str]:
    """Return the values of the placeholders in the sentence for a message; ``match`` is that of its pattern."""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    name = groups.get("name", "").strip(".,")
    matching = [token for token in tokens if token.name.lower() == name.lower() or token.text[1:-1] == name]
    token = matching[0] if matching else None
    start = token.start if token else query.find(name) if name else -1
    if "type" in groups and len(matching) > 1:  # any of them may be meant
        start = -1
    display_name = name if token is None or token.kind == "string" else token.name
    return {
        "name": display_name,
        "at": f" ({place(query, start)})" if start >= 0 else "",
        "function": f"the {'function' if name.isidentifier() else 'operator'} {display_name if token else name.lower()}",
        "type": groups["type"].lower() if "form" in groups else _type(groups.get("type", "")),
        "types": " and ".join(_type(part) for part in groups.get("types", "").split(",") if part) or "nothing",
        "wanted": _type(groups.get("wanted") or groups.get("choice", "")),
        "form": groups.get("form", "").strip("()."),
    }


def _type(name: str) -> str:
    """Return an engine's type, or a choice of types, in words."""
    if name.startswith("("):
        return "a node, a relationship or a map"
    return _TYPES.get(re.split(r"[(\[]", name)[0] if not name.endswith("[]") else "LIST", "a whole number")


def _syntax_error(match: re.Match[str], query: str, sent: str) -> str:
    """Return the sentence for a syntax error, with its position if the query was not rewritten before that position."""
    lines = sent.split("\n")
    row, column = int(match[1]) - 1, int(match[2])
    offset = sum(len(line) + 1 for line in lines[:row]) + column
    if offset >= len(query.rstrip(" ;\n")):
        return "the query has a syntax error: it ends too early"
    next_text = re.match(r"\w+|.", query[offset:], re.DOTALL)
    location = f" at {place(query, offset)}, near {next_text[0]!r}," if next_text and query.startswith(sent[:offset]) else ""
    return f"the query has a syntax error{location} or a form of Cypher that the embedded engine does not have"

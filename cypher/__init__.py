"""Every Cypher query that tacit runs, one documented file each, and functions to read them.

A query is in ``<name>.cypher`` when both engines support it, otherwise in ``neo4j/<name>.cypher`` and
``embedded/<name>.cypher``; ``linked/`` has variants that go through events and links too. The first sentence of a query's comment
is its documentation. Values are always parameters. What cannot be a parameter in Cypher is put into the text: names, written
`` `RELATION` `` or `` `LABEL` `` (``'LABEL'`` where the engine needs a string), by :meth:`Query.naming` with well-formed names
only; the upper bound of a path, written ``..6``, by :meth:`Query.within`; a file to copy, written ``'/dev/fd/0'``, by
:meth:`Query.reading`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

Dialect = Literal["neo4j", "embedded"]

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_PARAMETER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Query:
    """One query.

    Attributes:
        name: its file's path in this package, without the suffix, e.g. ``neo4j/hop_distances``.
        text: the Cypher text without its comments.
        summary: the first sentence of its comment.
        parameters: the names of its ``$parameters``, sorted.
    """

    name: str
    text: str
    summary: str
    parameters: tuple[str, ...]

    def naming(self, **names: str) -> Query:
        """Return the query with `` `KEY` `` and ``'KEY'`` replaced by each name given as ``KEY=name``, with the same quotes.

        Raises:
            ValueError: a name is not letters, digits and underscores, or the query does not contain the key.
        """
        text = self.text
        for key, name in names.items():
            if not _NAME.fullmatch(name) or f"`{key}`" not in text.replace("'", "`"):
                raise ValueError(f"{name!r} cannot replace {key} in the query {self.name}")
            text = text.replace(f"`{key}`", f"`{name}`").replace(f"'{key}'", f"'{name}'")
        return replace(self, text=text)

    def within(self, hops: int) -> Query:
        """Return the query with its path bound ``..6`` replaced by ``hops``."""
        return replace(self, text=self.text.replace("..6", f"..{int(hops)}"))

    def reading(self, descriptor: int) -> Query:
        """Return the query with the open file of this number in place of ``'/dev/fd/0'``."""
        return replace(self, text=self.text.replace("'/dev/fd/0'", f"'/dev/fd/{int(descriptor)}'"))


@cache
def query(name: str, dialect: Dialect | None = None) -> Query:
    """Return the query ``name``: the one for ``dialect`` if there is one, otherwise the one that both engines share.

    Raises:
        LookupError: there is no such query.
    """
    for candidate in (f"{dialect}/{name}", name) if dialect else (name,):
        file = _FOLDER / f"{candidate}.cypher"
        if file.is_file():
            return _parse(candidate, file.read_text(encoding="utf-8"))
    raise LookupError(f"unknown query {name!r}")


def names() -> tuple[str, ...]:
    """Return the names of all queries, sorted; those of one engine are ``neo4j/<name>`` and ``embedded/<name>``."""
    return tuple(sorted(file.relative_to(_FOLDER).with_suffix("").as_posix() for file in _FOLDER.rglob("*.cypher")))


def cookbook() -> dict[str, Query]:
    """Return the queries of the cookbook by their names without the folder, sorted."""
    return {name.removeprefix("explore/"): query(name) for name in names() if name.startswith("explore/")}


def _parse(name: str, source: str) -> Query:
    lines = source.splitlines()
    comment = " ".join(line.strip().removeprefix("//").strip() for line in lines if line.strip().startswith("//"))
    text = "\n".join(line for line in lines if not line.strip().startswith("//")).strip().rstrip(";")
    summary = re.split(r"(?<=[.?!])\s", comment, maxsplit=1)[0]
    return Query(name, text, summary, tuple(sorted(set(_PARAMETER.findall(_STRING.sub("''", text))))))

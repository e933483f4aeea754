"""The parts of rdflib that the RDF reader stands on: its N-Triples grammar one line at a time, and where its parsers stopped."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Triple = tuple[Any, Any, Any]


class LineParser:
    """rdflib's N-Triples grammar, one line a call; blank nodes keep their own labels, so nothing is remembered between lines."""

    def __init__(self) -> None:
        import rdflib
        from rdflib.plugins.parsers.ntriples import W3CNTriplesParser

        class SameNames(dict[str, Any]):
            def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002
                return rdflib.BNode(key)

        self._names = SameNames()
        self._parser: Any = W3CNTriplesParser(sink=self)  # type: ignore[arg-type]
        self._found: Triple | None = None

    def triple(self, head: Any, predicate: Any, tail: Any) -> None:
        """Take what the parser found (the method that rdflib calls)."""
        self._found = (head, predicate, tail)

    def __call__(self, text: str) -> Triple | None:
        self._found = None
        self._parser.line = text
        try:
            self._parser.parseline(self._names)
        except Exception:  # ParseError, and ValueError or OverflowError from escapes
            return None
        return self._found


def syntax_problem(error: Exception) -> tuple[int, str]:
    """Return line and reason of a parser's error."""
    line = getattr(error, "lines", None)
    if line is not None:
        return int(line) + 1, "syntax error"
    get_line = getattr(error, "getLineNumber", None)
    return (int(get_line() or 1) if get_line is not None else 1), "syntax error"


@contextmanager
def quiet_rdflib() -> Iterator[None]:
    """Keep rdflib from logging tracebacks about literals that do not fit their datatype; they are texts to us."""
    logger = logging.getLogger("rdflib.term")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def is_blank(term: Any) -> bool:
    """Whether ``term`` is a blank node."""
    import rdflib

    return isinstance(term, rdflib.BNode)


def is_literal(term: Any) -> bool:
    """Whether ``term`` is a literal."""
    import rdflib

    return isinstance(term, rdflib.Literal)

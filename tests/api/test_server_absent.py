"""A server that is not there, and URLs that are none: one sentence, soon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tacit.graph.errors import GraphUnavailable

Tacit = Callable[..., Any]


@pytest.mark.parametrize(("url", "status"), [("bolt://127.0.0.1:9", 1), ("http://localhost", 2), ("bolt://[", 2), ("", 2)])
def test_no_server(tacit: Tacit, url: str, status: int) -> None:
    for words in (["info", url], ["hops", url, "dog", "bone"], ["cypher", url, "RETURN 1 AS one"]):
        outcome = tacit(*words, "--user", "neo4j", "--password", "secret-word")
        assert outcome.status == status
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
        assert "secret-word" not in outcome.err


def test_credentials_reach_the_server_and_no_later_command(tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def refuse(*given: Any) -> None:
        asked.append(given)
        raise GraphUnavailable("nobody is there")

    for name in ("NEO4J_USERNAME", "NEO4J_USER", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tacit.graph.neo4j.open_neo4j", refuse)
    url = "bolt://localhost:9"
    tacit("hops", url, "dog", "bone", "--user", "me", "--password", "secret", "--database", "other")
    tacit("info", url, "--user", "you")
    tacit("check", url, "--database", "third")
    tacit("info", url)
    assert asked == [
        (url, *given) for given in (("me", "secret", "other"), ("you", None, None), (None, None, "third"), (None,) * 3)
    ]

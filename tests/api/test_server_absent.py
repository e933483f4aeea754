"""A server that is not there, and URLs that are none: one sentence, soon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tacit = Callable[..., Any]


@pytest.mark.parametrize(("url", "status"), [("bolt://127.0.0.1:9", 1), ("http://localhost", 2), ("bolt://[", 2), ("", 2)])
def test_no_server(tacit: Tacit, url: str, status: int) -> None:
    for words in (["info", url], ["hops", url, "dog", "bone"], ["cypher", url, "RETURN 1 AS one"]):
        outcome = tacit(*words, "--user", "neo4j", "--password", "secret-word")
        assert outcome.status == status
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
        assert "secret-word" not in outcome.err

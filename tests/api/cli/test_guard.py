"""The command ``guard``: its verdicts, exit statuses and JSON, for texts, files, names and stdin."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.graph.query.allowed_statements import BENIGN
from tests.graph.query.refused_statements import HOSTILE

Tacit = Callable[..., Any]


def test_guard_accepts_a_read_only_query(tacit: Tacit, tmp_path: Path) -> None:
    outcome = tacit("guard", "MATCH (c:Concept) RETURN c.text LIMIT 10")
    assert (outcome.status, outcome.out) == (0, "")
    file = tmp_path / "kinds.cypher"
    file.write_text("MATCH (c:Concept) RETURN c.text LIMIT 10;\n", encoding="utf-8")
    assert tacit("guard", file, "--json").json == {"allowed": True, "kind": None, "reason": None}
    assert tacit("guard", "used_for", "--engine", "embedded").status == 0
    for query in list(BENIGN.values())[::20]:
        assert tacit("guard", query).status == 0, query


@pytest.mark.parametrize("name", sorted(HOSTILE)[::5])
def test_a_hostile_query_is_refused_with_the_reason(tacit: Tacit, name: str) -> None:
    outcome = tacit("guard", HOSTILE[name])
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("tacit: ")
    assert outcome.err.count("\n") == 1


def test_guard_prints_json(tacit: Tacit) -> None:
    outcome = tacit("guard", "CALL apoc.load.json('http://127.0.0.1:1/x') YIELD value RETURN value", "--json")
    assert outcome.status == 2
    verdict = json.loads(outcome.out)
    assert (verdict["allowed"], verdict["kind"]) == (False, "refused")
    assert "apoc.load.json" in verdict["reason"]
    outcome = tacit("guard", "RETURN (1 AS x", "--json")
    assert (outcome.status, json.loads(outcome.out)["kind"]) == (2, "invalid")


def test_a_query_on_stdin(tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    give(b"RETURN 1 AS x\n")
    assert tacit("guard", "-").status == 0
    give(b"LOAD CSV FROM 'file:///x' AS line RETURN line")
    assert tacit("guard", "-").status == 2
    give(b"\xff\xfe")
    assert "not UTF-8" in tacit("guard", "-").err


def test_costly_parameters_are_refused(tacit: Tacit) -> None:
    query = "MATCH (c:Concept) WHERE c.text =~ $pattern RETURN c.text"
    assert tacit("guard", query, "--param", "pattern=do.*").status == 0
    assert tacit("guard", query, "--param", "pattern=(a+)+b").status == 2

"""The command ``cypher``: texts, files and names; parameters; the three ways to print; limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api.cli.cypher import find_query, parse_parameters
from tacit.cypher import cookbook
from tacit.graph.errors import InputError

Tacit = Callable[..., Any]

QUERY = "MATCH (a:Concept {text: $of})-[r:IsA]->(b:Concept) RETURN b.text AS kind, r.weight AS weight ORDER BY kind"


def test_a_query_is_given_as_text(tacit: Tacit, sample_graph: str) -> None:
    rows = tacit("cypher", sample_graph, QUERY, "--param", "of=dog", "--json").json
    assert [row["kind"] for row in rows] == ["animal", "pet"]
    assert list(rows[0]) == ["kind", "weight"]
    table = tacit("cypher", sample_graph, QUERY, "--param", "of=dog").out.splitlines()
    assert table[0].split() == ["kind", "weight"]
    assert [row.split()[0] for row in table[2:]] == ["animal", "pet"]
    printed = tacit("cypher", sample_graph, QUERY, "--param", "of=dog", "--csv").out
    assert [row[0] for row in csv.reader(io.StringIO(printed))] == ["kind", "animal", "pet"]


def test_a_query_from_a_file(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "kinds.cypher"
    file.write_text(f"// What kinds of thing is it?\n{QUERY};\n", encoding="utf-8")
    assert len(tacit("cypher", sample_graph, file, "-p", "of=dog", "--json").json) == 2
    file.write_bytes(b"\xff\xfe\x00bad")
    assert tacit("cypher", sample_graph, file).status == 2


def test_the_cookbook_is_listed(tacit: Tacit) -> None:
    rows = tacit("cypher", "--list", "--json").json
    assert [row["name"] for row in rows] == sorted(cookbook())
    assert len(rows) >= 15
    assert all(row["summary"].endswith((".", "?")) and "$" not in row["summary"] for row in rows)
    assert all(name in tacit("cypher", "--list").out for name in cookbook())
    assert tacit("cypher", "--list", "--csv").out.count("\n") == len(rows) + 1


def test_cookbook_queries_name_their_missing_parameters(tacit: Tacit, sample_graph: str) -> None:
    for name, query in cookbook().items():
        if query.parameters:
            outcome = tacit("cypher", sample_graph, name)
            assert outcome.status == 2
            assert all(f"--param {parameter}=" in outcome.err for parameter in query.parameters)
        else:
            assert tacit("cypher", sample_graph, name, "--json").status == 0
        parameters = [f"--param={parameter}=1" for parameter in query.parameters]
        assert tacit("cypher", sample_graph, name, *parameters, "--param", "extra=1").status == 2


def test_parameters_are_json_or_text() -> None:
    pairs = ["a=1", "b=1.5", "c=dog", 'd=["x", 1]', "e=true", "f=null", "$g=", "h=x=y", 'i="1"', "j=NaN", f"k={2**70}", "l= dog "]
    assert parse_parameters(pairs) == {
        "a": 1, "b": 1.5, "c": "dog", "d": ["x", 1], "e": True, "f": None, "g": "", "h": "x=y", "i": "1", "j": "NaN",
        "k": str(2**70), "l": " dog ",
    }  # fmt: skip


def test_deeply_nested_parameters_are_an_input_error() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        parse_parameters(["x=" + "[" * 100_000])


@given(st.text())
def test_any_text_parses_as_a_parameter_or_is_an_input_error(text: str) -> None:
    try:
        values = parse_parameters([text])
    except InputError:
        return
    assert len(values) == 1
    assert next(iter(values)).isidentifier()


def test_misspelt_query_names_get_suggestions(tacit: Tacit, sample_graph: str) -> None:
    name = next(iter(cookbook()))
    assert find_query(f"explore/{name}")[1] is find_query(name)[1] is not None
    outcome = tacit("cypher", sample_graph, name + "x")
    assert f"did you mean {name}" in outcome.err


def test_limits(tacit: Tacit, sample_graph: str) -> None:
    outcome = tacit("cypher", sample_graph, "MATCH (a:Concept) RETURN a.uri AS uri ORDER BY uri", "--limit", 3, "--json")
    assert len(outcome.json) == 3
    assert outcome.err == "there are more rows than the 3 shown; raise --limit for more\n"
    endless = (
        "MATCH (a:Concept), (b:Concept), (c:Concept), (d:Concept) WHERE a.text + b.text < c.text + d.text RETURN count(*) AS n"
    )
    outcome = tacit("cypher", sample_graph, endless, "--timeout", 0.5)
    assert outcome.status == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert "time" in outcome.err


def test_no_rows(tacit: Tacit, sample_graph: str) -> None:
    query = "MATCH (a:Concept {text: 'flibbertigibbet'}) RETURN a.text AS text"
    assert (tacit("cypher", sample_graph, query).out, tacit("cypher", sample_graph, query).err) == ("", "no rows\n")
    assert tacit("cypher", sample_graph, query, "--json").json == []
    assert tacit("cypher", sample_graph, query, "--csv").out == "text\n"


@pytest.mark.parametrize("value", ["dog'}) DETACH DELETE n //", '"', "`", "\\", "$of", "{}", "//"])
def test_parameters_are_never_part_of_the_query(tacit: Tacit, sample_graph: str, value: str) -> None:
    rows = tacit("cypher", sample_graph, "RETURN $of AS text", "--param", f"of={value}", "--json").json
    assert rows == [{"text": value if value != "{}" else {}}]

"""The queries of the code: each is documented, used, run with exactly its parameters, and safe to fill in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tacit.cypher import Query, names, query

GRAPH = Path(__file__).parents[2] / "graph"
OWN = [name for name in names() if not name.startswith("explore/")]


@pytest.mark.parametrize("name", OWN)
def test_every_query_is_documented(name: str) -> None:
    rows = query(name)
    assert rows.name == name
    assert rows.summary.endswith(".")
    assert len(rows.summary) > 10
    assert rows.text
    assert "//" not in rows.text
    assert query(name) is rows


def test_queries_of_a_dialect_take_precedence() -> None:
    assert query("hop_distances", "neo4j").name == "neo4j/hop_distances"
    assert query("tails", "neo4j") == query("tails", "embedded") == query("tails")
    with pytest.raises(LookupError, match="unknown query 'hop_distances'"):
        query("hop_distances")


def test_names_are_filled_in_only_when_well_formed() -> None:
    statement = query("create_assertions", "neo4j")
    assert "[r:`IsA`]" in statement.naming(RELATION="IsA", LABEL="Concept").text
    for name in ("Is A", "IsA`]-() DELETE r //", "", "IsA`", "ü", "1a"):
        with pytest.raises(ValueError, match="cannot replace"):
            statement.naming(RELATION=name)
    with pytest.raises(ValueError, match="cannot replace"):
        statement.naming(NOWHERE="IsA")


def test_the_path_bound_is_substituted() -> None:
    for dialect in ("neo4j", "embedded"):
        statement = query("hop_distances", dialect)  # type: ignore[arg-type]
        assert "..6" in statement.text
        assert "..2" in statement.within(2).text
        assert "..6" not in statement.within(2).text


def test_an_open_file_is_named_by_its_number() -> None:
    assert "FROM '/dev/fd/7' (" in query("copy_nodes", "embedded").reading(7).text


def test_hints_do_not_allow_scans_of_an_index() -> None:
    hints = [line for name in OWN for line in query(name).text.splitlines() if "USING INDEX" in line]
    assert len(hints) > 5
    assert [line for line in hints if "USING INDEX SEEK" not in line] == []


def test_parameters_are_found_outside_strings() -> None:
    assert query("tails").parameters == ("heads", "relations")
    assert query("manifest").parameters == ()


def calls() -> Iterator[tuple[str, str | None, tuple[str, ...] | None]]:
    """Yield each query that the code names, with its dialect and the parameters that it is asked with, where the code says."""
    for path in sorted(GRAPH.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function == "_ask":
                keywords = tuple(sorted(str(keyword.arg) for keyword in node.keywords))
                for name in named(node.args[0]):
                    yield name, None, keywords
            elif function == "query":
                dialect = node.args[1] if len(node.args) > 1 else None
                for name in named(node.args[0]):
                    yield name, dialect.value if isinstance(dialect, ast.Constant) else None, None  # type: ignore[misc]


def named(argument: ast.expr) -> list[str]:
    """Return the names that a literal, or a literal with a varying part, can mean."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.JoinedStr):
        start = "".join(part.value for part in argument.values[:1] if isinstance(part, ast.Constant))  # type: ignore[misc]
        end = "".join(part.value for part in argument.values[-1:] if isinstance(part, ast.Constant))  # type: ignore[misc]
        return [name for name in OWN if name.startswith(start) and name.endswith(end) and (name != start + end)]
    return []


def test_every_query_is_used_and_every_use_has_a_query() -> None:
    used: set[str] = set()
    for name, dialect, _ in calls():
        alternatives = [name] if dialect is None else [f"{dialect}/{name}", name]
        both = [f"{dialect_name}/{name}" for dialect_name in ("neo4j", "embedded")]
        existing = [candidate for candidate in [*alternatives, *both] if candidate in names()]
        assert existing, f"the code asks {name}, and there is no such query"
        used.update(candidate for candidate in existing if candidate in OWN)
    for loop in ("create_concepts", "create_events", "create_manifest", "create_type"):
        used.add(f"embedded/{loop}")
    assert used == set(OWN)


def test_queries_are_run_with_all_parameters() -> None:
    checked = 0
    for name, _, keywords in calls():
        if keywords is None:
            continue
        for candidate in (name, f"neo4j/{name}", f"embedded/{name}"):
            if candidate in OWN:
                assert query(candidate).parameters == keywords, candidate
                checked += 1
    assert checked >= 15


def test_row_queries_are_run_with_all_parameters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is not asked by keyword is recorded while every kind of work is done on the embedded engine."""
    from tacit.graph import open_graph
    from tacit.graph.embedded.engine import Engine

    from tests.graph.example_rows import DOG, FOOD, SMALL

    seen: dict[str, tuple[str, ...]] = {}
    execute = Engine._execute

    def record(self: Engine, statement: Query, parameters: dict[str, object] | None, *arguments: object) -> object:
        seen[statement.name] = tuple(sorted(parameters or ()))
        return execute(self, statement, parameters, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "_execute", record)
    with open_graph(tmp_path / "g", engine="store", create=True) as graph:
        graph.load(SMALL)
        graph.hop_distances([DOG], [FOOD])
        list(graph.assertions())
    ours = {name: parameters for name, parameters in seen.items() if name in OWN}
    assert {name: query(name).parameters for name in ours} == ours
    assert {"embedded/hop_distances", "embedded/scan", "embedded/copy_assertions", "write_manifest"} <= set(ours)

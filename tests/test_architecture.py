"""The arrows between the folders, and what importing them may bring in."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARROWS = {
    "api": {"api", "reasoning", "loaders", "graph", "cypher"},
    "reasoning": {"reasoning", "graph"},
    "loaders": {"loaders", "graph"},
    "graph": {"graph", "cypher"},
    "cypher": {"cypher"},
}
HEAVY = {"torch", "transformers", "spacy", "fastapi", "pydantic", "numba", "neo4j", "ladybug", "pyarrow", "rdflib"}


def imported(path: Path) -> set[str]:
    """Return the root folders that the module at ``path`` imports from."""
    folder = path.relative_to(ROOT).parent
    package = ["tacit", *(() if folder == Path("api/front") else folder.parts)]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            names |= {".".join([*base, node.module or alias.name]) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("tacit.")}


@pytest.mark.parametrize("folder", ARROWS)
def test_imports_follow_the_arrows(folder: str) -> None:
    against = {
        f"{path.relative_to(ROOT)} imports {target}"
        for path in (ROOT / folder).rglob("*.py")
        for target in imported(path) - ARROWS[folder]
    }
    assert not against


def test_imports_are_found_by_the_search() -> None:
    assert {"graph"} <= imported(ROOT / "loaders" / "conceptnet.py") | imported(ROOT / "reasoning" / "metrics" / "grounding.py")
    assert "loaders" in {target for path in (ROOT / "api").glob("*.py") for target in imported(path)}


def probed(path: Path) -> list[str]:
    """Return where the module asks a graph for an attribute by its name, or anything for a method of the graph protocols."""
    from tacit.graph import protocol

    methods = {name for value in vars(protocol).values() if getattr(value, "_is_protocol", False) for name in vars(value)}
    checks = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            checked_object, name = ast.unparse(node.args[0]).lower(), node.args[1]
            on_graph = checked_object.rpartition(".")[2].strip("_") in ("graph", "store", "index", "engine")
            if on_graph or (isinstance(name, ast.Constant) and name.value in methods - {"url", "directory"}):
                checks.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
    return checks


@pytest.mark.parametrize("folder", ["graph", "reasoning", "api"])
def test_graph_abilities_are_tested_by_protocols_only(folder: str) -> None:
    assert [line for path in sorted((ROOT / folder).rglob("*.py")) for line in probed(path)] == []


def test_attribute_probing_is_found_by_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "one.py").write_text("hasattr(self._store, 'x')\ngetattr(given, 'scan', None)\ngetattr(model, 'layers', 0)\n")
    assert [line.partition(" ")[0] for line in probed(tmp_path / "one.py")] == ["one.py:1", "one.py:2"]


def test_importing_the_packages_is_light() -> None:
    program = "import sys, tacit, tacit.graph, tacit.loaders, tacit.reasoning, tacit.api, tacit.api.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not HEAVY & set(loaded)


@pytest.mark.parametrize(
    ("program", "refused"),
    [
        ("from tacit.api.server import app, service, listening", ("tacit.api.terminal", "tacit.api.cli", "typer", "rich")),
        ("from tacit.api.agents import create_server, mount", ("tacit.api.terminal", "tacit.api.cli", "typer")),
        ("from tacit.api import Client, AsyncClient", ("tacit.api.terminal", "tacit.api.cli", "typer", "fastapi", "numba")),
        ("from tacit.api import score_file", ("tacit.api.cli", "typer", "rich", "fastapi", "torch", "spacy", "ray")),
    ],
)
def test_programs_import_nothing_of_the_command_line(program: str, refused: tuple[str, ...]) -> None:
    output = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    assert not {name for name in output.stdout.split() if f"{name}.".startswith(tuple(f"{module}." for module in refused))}


def test_no_module_of_the_service_or_the_client_names_the_command_line() -> None:
    """Imports within functions count too; rich itself may come with httpx, which has a command line of its own."""
    wrong = {"terminal", "cli", "typer", "rich"}
    for folder in ("server", "client", "agents"):
        for path in (ROOT / "api" / folder).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    assert not wrong & {*(node.module or "").split("."), *(name.name for name in node.names)}, path
                elif isinstance(node, ast.Import):
                    assert not wrong & {name.name.partition(".")[0] for name in node.names}, path

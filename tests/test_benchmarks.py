"""Benchmarks: what the programs import is still there, and the tables of their report follow from the figures that ship."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"


def names_imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield modules and names that a program imports from elsewhere, at its head or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from ((node.module, alias.name) for alias in node.names)


def files_of(module: str) -> list[Path]:
    """Return the file of a module of tacit or of a program's neighbour; nothing for modules of others."""
    first, *rest = module.split(".")
    home = ROOT.joinpath(*(rest or ["api", "front"])) if first == "tacit" else FOLDER.joinpath(first, *rest)
    return [path for path in (home.with_suffix(".py"), home / "__init__.py") if path.is_file()]


@cache
def names_in(path: Path) -> set[str]:
    """Return the names that a module defines or imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_what_benchmarks_import_is_there() -> None:
    # the programs are read and not run: to import them all takes seconds
    seen, gone = set(), []
    for program in sorted(FOLDER.rglob("*.py")):
        for module, name in names_imported(program):
            files = files_of(module)
            if files or module.startswith("tacit"):
                seen.add(program)
                if not files_of(f"{module}.{name}") and not any(name in names_in(file) for file in files):
                    gone.append(f"{program.name}: {module}.{name}")
    assert len(seen) > 20
    assert not gone


def needs_arguments(program: Path) -> bool:
    """Return whether a program declares an argument that cannot be left out."""
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            positional = not ast.unparse(node.args[0]).startswith("'-")
            if keywords.get("required") == "True" or (positional and keywords.get("nargs") not in ("'?'", "'*'")):
                return True
    return False


def test_what_make_bench_runs_without_arguments_needs_none() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    not_alone = {name for line in re.findall(r"^(?:ON_DATA|ALONE) := (.*)$", makefile, re.MULTILINE) for name in line.split()}
    programs = [path for path in FOLDER.glob("*.py") if not any(path.stem == name.split(",")[0] for name in not_alone)]
    assert len(programs) > 10
    assert [path.name for path in programs if needs_arguments(path)] == []


def test_the_tables_of_the_pages_follow_from_what_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    pages = importlib.import_module("agreement").pages()
    stale = [
        page
        for page, name, table in pages
        if f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" not in (ROOT / page).read_text(encoding="utf-8")
    ]
    assert len(pages) == 5
    assert not stale, "put them right with: python benchmarks/agreement.py --pages"

"""Benchmarks: those that `make bench` runs need no arguments, and the tables of the pages follow from the figures that ship."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"


def needs_arguments(program: Path) -> bool:
    """Return whether a program declares an argument that cannot be left out."""
    for node in ast.walk(ast.parse(program.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            positional = not ast.unparse(node.args[0]).startswith("'-")
            if keywords.get("required") == "True" or (positional and keywords.get("nargs") not in ("'?'", "'*'")):
                return True
    return False


def test_programs_that_make_bench_runs_without_arguments_need_none() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    not_alone = {name for line in re.findall(r"^(?:ON_DATA|ALONE) := (.*)$", makefile, re.MULTILINE) for name in line.split()}
    programs = [path for path in FOLDER.glob("*.py") if not any(path.stem == name.split(",")[0] for name in not_alone)]
    assert len(programs) > 10
    assert [path.name for path in programs if needs_arguments(path)] == []


def test_tables_of_the_pages_match_the_shipped_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    pages = importlib.import_module("agreement").pages()
    stale = [
        page
        for page, name, table in pages
        if f"<!-- {name} -->\n{table}\n<!-- end of {name} -->" not in (ROOT / page).read_text(encoding="utf-8")
    ]
    assert len(pages) == 5
    assert not stale, "put them right with: python benchmarks/agreement.py --pages"

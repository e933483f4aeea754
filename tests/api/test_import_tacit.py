"""What ``import tacit`` gives, and what is said where another project of that name is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import tacit
from tacit.api.client import Client
from tacit.api.main import run
from tacit.graph import open_graph
from tacit.reasoning import Reasoner, load_metric


def test_the_front_gives_the_names_that_most_programs_need() -> None:
    assert tacit.open_graph is open_graph
    assert tacit.load_metric is load_metric
    assert tacit.Reasoner is Reasoner
    assert tacit.Client is Client
    assert tacit.__version__ == version("tacit-kg")
    assert sorted(tacit.__all__) == ["Client", "Reasoner", "__version__", "load_metric", "open_graph"]
    assert set(tacit.__all__) <= set(dir(tacit))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'tacit' has no attribute 'open_grph'"):
        _ = tacit.open_grph  # type: ignore[attr-defined,unused-ignore]


def test_the_other_project_named_tacit_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "tacit").mkdir()
    (tmp_path / "tacit" / "__init__.py").write_text("THEIRS = True\n", encoding="utf-8")
    (tmp_path / "tacit-0.3.0.dist-info").mkdir()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from tacit.api.main import main; main()"
    outcome = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True)
    assert outcome.stdout == f"tacit {version('tacit-kg')}\n"
    assert outcome.stderr == (
        "tacit: the package tacit 0.3.0, another project, is installed here too and shares the import name with tacit-kg; "
        "run: pip uninstall --yes tacit && pip install --force-reinstall --no-deps tacit-kg\n"
    )


def test_no_other_project_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().err == ""

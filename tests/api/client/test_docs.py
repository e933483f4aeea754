"""What docs/client.md shows is what happens: its programs are run against a service, and print what they say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tacit.api.server import create_app
from tacit.graph import open_graph, open_index
from tacit.reasoning import Reasoner

from tests.api.service_callers import at_socket

DOCUMENT = (Path(__file__).parents[3] / "docs" / "client.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def address(sample_graph: str) -> Iterator[str]:
    with (
        open_graph(sample_graph) as store,
        open_index(store) as index,
        at_socket(create_app(Reasoner(index, ["grounding"]))) as url,
    ):
        yield url


def test_the_documentation_has_example_programs() -> None:
    assert len(PROGRAMS) == 2


@pytest.mark.parametrize("program", PROGRAMS, ids=["plain", "awaited"])
def test_example_programs_print_their_documented_output(
    program: str, address: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments = re.findall(r"^(?: *print\(.*\)  )?# (.*)$", program, re.MULTILINE)
    (tmp_path / "demo-graph").mkdir()
    shutil.copy(sample / "dialogues.jsonl", tmp_path / "demo-graph")
    monkeypatch.chdir(tmp_path)
    exec(compile(program.replace("http://127.0.0.1:8000", address), "docs/client.md", "exec"), {})  # noqa: S102
    assert comments
    assert capsys.readouterr().out.splitlines() == comments

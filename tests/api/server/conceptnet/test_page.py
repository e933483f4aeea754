"""What docs/conceptnet-api.md shows is what is answered."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.api.server.conftest import Running, serving
from tests.doc_pages import ROOT, pattern

PAGE = (ROOT / "docs" / "conceptnet-api.md").read_text(encoding="utf-8")
CURLS = [
    part.rstrip("\n").split("\n")
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]
[PROGRAM] = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def server(sample_graph: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """``tacit serve --conceptnet-api`` over a copy of the sample graph, since other tests add vectors to its index."""
    folder = tmp_path_factory.mktemp("conceptnet")
    graph = shutil.copytree(sample_graph, folder / "graph", ignore=shutil.ignore_patterns("index"))
    with serving(str(graph), "--conceptnet-api", TACIT_CACHE=str(folder / "cache")) as running:
        yield running


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("shown", CURLS, ids=[line for line, *_ in CURLS])
def test_a_request_is_answered_as_shown(server: Running, shown: list[str]) -> None:
    line, *output = shown
    words = [word.replace("localhost:8000", f"127.0.0.1:{server.port}") for word in shlex.split(line)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    assert re.fullmatch(pattern(tuple(output)), printed, re.DOTALL), printed


def test_the_example_program_prints_its_documented_output(
    server: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = pytest.importorskip("conceptnet_client", reason="needs pip install -e '.[dev]'")
    monkeypatch.setattr(client.api, "BASE_URL", "")  # set by the program; put back afterwards
    exec(compile(PROGRAM.replace("http://localhost:8000", server.url), "docs/conceptnet-api.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", PROGRAM, re.MULTILINE)

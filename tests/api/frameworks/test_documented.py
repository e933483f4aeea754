"""The programs of docs/frameworks.md run with the frameworks that are installed, and print what the page says.

Where a framework is missing, its program is skipped; ``make frameworks`` runs all of them.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.doc_pages import CUT, ROOT, Block, blocks, program

BLOCKS = [block for block in blocks() if block.page == "docs/frameworks.md" and block.language == "python"]
FRAMEWORKS = ("inspect_ai", "deepeval", "mlflow", "opentelemetry")


def missing(block: Block) -> list[str]:
    """Return the frameworks that a program imports and that are not installed."""
    return [name for name in FRAMEWORKS if re.search(rf"^from {name}|{name}_", block.text, re.M) and find_spec(name) is None]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.location)
def test_example_programs_print_their_documented_output(
    block: Block, graph: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if missing(block):
        assert not os.environ.get("TACIT_TEST_FRAMEWORKS"), missing(block)
        pytest.skip(f"needs {', '.join(missing(block))}; run: make frameworks")
    Path("demo-graph").mkdir()
    Path("demo-graph/graph").symlink_to(graph)
    for other_block in BLOCKS:
        if other_block.file is not None:
            Path(other_block.file).write_text(other_block.text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    text, output = program(block)
    monkeypatch.delitem(sys.modules, "tacit_assert", raising=False)
    capsys.readouterr()
    exec(compile(text, block.location, "exec"), {"__name__": "__main__"})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(output), printed
    for line, wanted in zip(printed, output, strict=True):
        assert re.fullmatch(".*".join(re.escape(part) for part in wanted.strip().split(CUT)), line.strip()), line


@pytest.mark.parametrize("package", ["inspect-ai", "deepeval", "mlflow-skinny", "opentelemetry-sdk"])
def test_the_page_names_the_versions_that_are_tested(package: str) -> None:
    text = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    pins = (ROOT / "constraints-frameworks.txt").read_text(encoding="utf-8")
    (pinned,) = re.findall(rf"^{package.replace('-', '[-_]')}==(\S+)$", pins, re.M)
    assert f"{package} {pinned}" in text
    if os.environ.get("TACIT_TEST_FRAMEWORKS"):
        assert version(package) == pinned

"""The notebooks of the docs run without an error, and give the outputs that are stored in them.

``python -m tests.test_notebooks`` runs them all and stores their outputs, after a change of a notebook or of what it shows.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tacit.api.main import run

from tests.doc_pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
_SECONDS = 120
_COMPARED = ("text/html", "image/svg+xml", "text/plain")
_CHANGING = re.compile(r"0x[0-9a-f]{6,}|/[^\s'\"<]*?(?=demo-graph)|<style scoped>.*?</style>", re.DOTALL)  # addresses, folders


def read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, 4)


def execute(book: Any, folder: Path) -> Any:
    """Run a notebook in ``folder``, in a kernel of this environment."""
    from nbclient import NotebookClient

    NotebookClient(book, timeout=_SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return book


def shown(cell: Any) -> list[str]:
    """Return what a cell shows, apart from pictures of matplotlib, whose bytes depend on its version, and progress."""
    texts = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            texts += [output["text"]] if output["name"] == "stdout" else []
        elif "data" in output and "image/png" not in output["data"]:
            kind = next((key for key in _COMPARED if key in output["data"]), None)
            texts += [] if kind is None else [str(output["data"][kind])]
    return [_CHANGING.sub("", text) for text in texts if text.strip()]


def stored(book: Any) -> Any:
    """Return a notebook without what changes from run to run."""
    for cell in book.cells:
        cell.get("metadata", {}).pop("execution", None)
        if "outputs" in cell:
            cell["outputs"] = [entry for entry in cell["outputs"] if entry.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data or "image/svg+xml" in data:
                data.pop("text/plain", None)
    return book


@pytest.fixture(scope="module")
def demo(sample_graph: str, sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the notebooks read of the demo."""
    folder = tmp_path_factory.mktemp("notebooks")
    fill(folder, sample, Path(sample_graph))
    return folder


def fill(folder: Path, sample: Path, graph: Path) -> None:
    """Put the sample's graph and dialogues where ``tacit demo`` puts them."""
    (folder / "demo-graph").mkdir()
    (folder / "demo-graph" / "graph").symlink_to(graph)
    shutil.copy(sample / "dialogues.jsonl", folder / "demo-graph")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gives_the_outputs_that_are_stored_in_it(name: str, demo: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    stored_outputs = read(FOLDER / f"{name}.ipynb")
    book = execute(read(FOLDER / f"{name}.ipynb"), demo)
    for index, (now, before) in enumerate(zip(book.cells, stored_outputs.cells, strict=True)):
        assert shown(now) == shown(before), f"cell {index}: {now.source[:80]}"


METER = """
import tacit.api.terminal.progress as progress
progress._SILENT_SECONDS = 0.0
meter = progress.Meter("<file>", 4, unit="items", noun="items")
meter.__enter__()
meter.add(1)
"""


@pytest.mark.slow
def test_progress_is_shown_in_the_output_of_a_cell_until_the_work_is_done(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(METER)])
    [drawn] = execute(book, tmp_path).cells[0].outputs
    assert '<div>&lt;file&gt; <progress value="0.2500"></progress> <small>1 item, ' in drawn["data"]["text/html"]
    book.cells[0]["source"] = METER + "meter.__exit__(None, None, None)"
    [drawn] = execute(book, tmp_path).cells[0].outputs
    assert drawn["data"]["text/html"] == ""


def main() -> None:
    """Run all notebooks and store their outputs."""
    import nbformat

    sample = ROOT / "api" / "sample"
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "sample-graph"
        run(["load", "conceptnet", str(sample / "conceptnet.csv"), "--into", str(graph), "--quiet"])
        run(["load", "atomic2020", str(sample / "atomic2020.tsv"), "--into", str(graph), "--quiet"])
        fill(Path(folder), sample, graph)
        for name in NAMES:
            nbformat.write(stored(execute(read(FOLDER / f"{name}.ipynb"), Path(folder))), FOLDER / f"{name}.ipynb")
            print(f"{name}: stored")


if __name__ == "__main__":
    main()

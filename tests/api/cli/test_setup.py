"""``tacit setup``: from nothing to a graph that answers, over a real HTTP server, from a folder, after interruptions."""

from __future__ import annotations

import gzip
import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph
from tacit.loaders import all_sources

Tacit = Callable[..., Any]

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "api" / "sample"


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files under the official names, whose checksums are taken for the published ones."""
    folder = tmp_path / "official"
    folder.mkdir()
    table = dict(all_sources())
    (folder / table["conceptnet"].file).write_bytes(gzip.compress((SAMPLE / "conceptnet.csv").read_bytes()))
    rows = (SAMPLE / "atomic2020.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    with zipfile.ZipFile(folder / table["atomic2020"].file, "w") as packed:
        for index, name in enumerate(("train.tsv", "dev.tsv", "test.tsv")):
            packed.writestr(f"atomic2020_data-feb2021/{name}", "".join(rows[index::3]))
    for name in ("conceptnet", "atomic2020"):
        body = (folder / table[name].file).read_bytes()
        table[name] = replace(table[name], size=len(body), sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setattr("tacit.loaders.download.all_sources", lambda: table)
    return folder


@pytest.fixture
def server(official: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server with the official files, and the paths that were requested."""
    requested: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            requested.append(self.path)
            super().do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(official)))
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.server_port}", requested
    listener.shutdown()
    listener.server_close()
    thread.join()


def loads(home: Path) -> list[tuple[str, str]]:
    with open_graph(home / "graph", engine="store") as store:
        return [(entry.loader, entry.file) for entry in store.manifest().loads]


TABLES = [
    ("conceptnet", "conceptnet-assertions-5.7.0.csv.gz"),
    ("atomic2020", "train.tsv"),
    ("atomic2020", "dev.tsv"),
    ("atomic2020", "test.tsv"),
]


def test_setup_builds_a_graph_once(
    tacit: Tacit, tmp_path: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, requested = server
    home = tmp_path / "home"
    outcome = tacit("setup", "--directory", home, "--mirror", url)
    assert outcome.status == 0, outcome.err
    assert requested == ["/conceptnet-assertions-5.7.0.csv.gz", "/atomic2020_data-feb2021.zip"]
    assert f"export TACIT_GRAPH={home / 'graph'}" in outcome.err
    assert loads(home) == TABLES
    with open_graph(home / "graph", progress=False) as graph:
        digest = graph.manifest().digest
        assert [path.name for path in (home / "graph" / "index").iterdir()] == [digest]
    assert digest in outcome.out

    monkeypatch.setattr("tacit.graph.embedded.load.load", lambda *_: pytest.fail("loaded twice"))
    again = tacit("setup", "--directory", home, "--mirror", url)
    assert again.status == 0
    assert "conceptnet is loaded already" in again.err
    assert "atomic2020 is loaded already" in again.err
    assert digest in again.out
    assert len(requested) == 2

    monkeypatch.setenv("TACIT_GRAPH", str(home / "graph"))  # as the command says
    assert tacit("hops", "dog", "bone", "--json").status == 0


def test_an_interrupted_setup_continues(
    tacit: Tacit, tmp_path: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.graph.embedded import load

    url, requested = server
    home = tmp_path / "home"
    written = []
    write = load._write

    def stopped(*args: object) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(args)
        write(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(load, "_write", stopped)
        assert tacit("setup", "--directory", home, "--mirror", url).status == 130
    assert loads(home) == TABLES[:2]
    assert tacit("setup", "--directory", home, "--mirror", url).status == 0
    assert loads(home) == TABLES
    assert len(requested) == 2


def test_setup_reads_files_from_a_read_only_folder(tacit: Tacit, tmp_path: Path, official: Path) -> None:
    home = tmp_path / "home"
    before = sorted(path.name for path in official.iterdir())
    outcome = tacit("setup", "--directory", home, "--files", official, "--quiet")
    assert outcome.status == 0, outcome.err
    assert loads(home) == TABLES
    assert sorted(path.name for path in official.iterdir()) == before

    (official / "atomic2020_data-feb2021.zip").unlink()
    outcome = tacit("setup", "--directory", tmp_path / "other", "--files", official)
    assert outcome.status == 1
    assert outcome.err.startswith(f"tacit: there is no atomic2020_data-feb2021.zip in {official}; get https://")
    assert not (tmp_path / "other" / "graph").exists()

    (official / "atomic2020_data-feb2021.zip").write_bytes(b"another file")
    outcome = tacit("setup", "--directory", tmp_path / "other", "--files", official)
    assert outcome.status == 1
    assert "atomic2020_data-feb2021.zip has 12 bytes instead of" in outcome.err


def test_without_a_network_setup_says_which_files_to_provide(
    tacit: Tacit, tmp_path: Path, official: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.loaders.download.time.sleep", lambda _: None)  # between attempts
    home = tmp_path / "home"
    for name in ("conceptnet", "atomic2020"):
        source = all_sources()[name]
        outcome = tacit("setup", "--directory", home, "--mirror", "http://127.0.0.1:9")
        assert outcome.status == 1
        assert outcome.err.count("\n") == 1
        folder = home / "downloads" / source.file
        assert f"get {source.url} (" in outcome.err
        assert f"put it at {folder}, and run the command again" in outcome.err
        folder.write_bytes((official / source.file).read_bytes())
    assert tacit("setup", "--directory", home, "--mirror", "http://127.0.0.1:9").status == 0
    assert loads(home) == TABLES

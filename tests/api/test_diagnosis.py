"""What tacit doctor finds: packages, settings, graph, index, models, and the command for what is missing."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tacit.api import diagnosis
from tacit.api.diagnosis import Check, Diagnosis, diagnose

Tacit = Callable[..., Any]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without settings, and no cache of models."""
    monkeypatch.delenv("TACIT_CONFIG", raising=False)
    monkeypatch.delenv("TACIT_GRAPH", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(diagnosis: Diagnosis, name: str) -> Check:
    [check] = [check for check in diagnosis.checks if check.name == name]
    return check


def test_without_a_graph_the_default_scoring_can_run(tacit: Tacit) -> None:
    diagnosis = diagnose()
    assert diagnosis.ready
    assert named(diagnosis, "tacit").facts["version"] == metadata.version("tacit-kg")
    assert (named(diagnosis, "graph").state, named(diagnosis, "graph").command) == ("missing", "tacit setup")
    judge = named(diagnosis, "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf")
    assert (judge.state, judge.command, judge.facts["there"]) == ("missing", "tacit fetch judge", False)
    outcome = tacit("doctor")
    assert outcome.status == 0
    assert outcome.out.splitlines()[-1] == f"Ready: tacit score FILE runs {', '.join(diagnosis.metrics)}."


def test_a_graph_and_its_index(sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tmp_path / "copy"
    shutil.copytree(sample_graph, graph, ignore=shutil.ignore_patterns("index"))
    monkeypatch.setenv("TACIT_GRAPH", str(graph))
    diagnosis = diagnose()
    assert diagnosis.ready
    assert named(diagnosis, "graph").facts | {"digest": ""} == {
        "url": str(graph), "named_by": "TACIT_GRAPH", "assertions": 814, "digest": "",
    }  # fmt: skip
    assert (named(diagnosis, "index").state, named(diagnosis, "index").facts["index"]) == ("missing", "none")
    from tacit.api.main import run

    assert run(named(diagnosis, "index").command.split()[1:]) == 0
    assert named(diagnose(), "index").facts["index"] == "fresh"
    digest = named(diagnosis, "graph").facts["digest"]
    [index] = (graph / "index").glob(digest)
    index.rename(graph / "index" / "0123456789abcdef")
    assert named(diagnose(), "index").facts["index"] == "stale"


def test_a_missing_graph_is_wrong(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_GRAPH", str(tmp_path / "full" / "graph"))
    outcome = tacit("doctor", "--json")
    assert (outcome.status, outcome.err) == (1, "")
    answer = json.loads(outcome.out)
    assert answer["ready"] is False
    [graph] = [check for check in answer["checks"] if check["name"] == "graph"]
    assert (graph["state"], graph["command"]) == ("wrong", f"tacit setup --directory {tmp_path / 'full'}")
    assert "named by TACIT_GRAPH" in graph["detail"]
    assert tacit("doctor").out.splitlines()[-1] == "Not ready: tacit score FILE cannot run; see the lines marked WRONG."


def test_settings(tmp_path: Path, sample_graph: str) -> None:
    settings = tmp_path / "tacit.toml"
    settings.write_text(f'graph = "{sample_graph}"\nmetrics = ["length"]\n')
    diagnosis = diagnose()
    assert (diagnosis.metrics, diagnosis.ready) == (("length",), True)
    assert named(diagnosis, "graph").facts["named_by"] == "tacit.toml"
    settings.write_text('metrics = ["cross-encoder"]\n')
    diagnosis = diagnose()
    assert not diagnosis.ready
    assert named(diagnosis, "default").detail == "cross-encoder, which tacit.toml names, lacks an encoder trained on ratings"
    for text in ("metrics = ['vibes']", "[options.grounding]\nmax_hops = 99", "graphs = 'x'"):
        settings.write_text(text)
        diagnosis = diagnose()
        assert named(diagnosis, "settings").state == "wrong"
        assert named(diagnosis, "settings").detail.startswith("tacit.toml: ")


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version

    def without(name: str) -> str:
        if name in ("fastapi", "rdflib"):
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(diagnosis.metadata, "version", without)  # type: ignore[attr-defined]
    diagnosed = diagnose()
    assert named(diagnosed, "serve").command == "pip install 'tacit-kg[serve]'"
    assert named(diagnosed, "serve").detail.startswith("not installed: fastapi; installed: ")
    assert named(diagnosed, "packages").state == "wrong", "rdflib is always needed"
    assert not diagnosed.ready


def test_a_scheme_that_no_graph_has(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text('graph = "http://x"\n')
    part = named(diagnose(), "graph")
    assert (part.state, part.detail[: part.detail.index(";")]) == ("wrong", "the scheme http:// is not supported")


def test_settings_that_cannot_be_read_say_nothing_of_the_graph(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text("graph = \n")
    part = named(diagnose(), "graph")
    assert (part.detail, part.command) == ("not known: TACIT_GRAPH names none, and the settings cannot be used", "")


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    held.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


def test_servers_that_do_not_answer(silent_server: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_SECONDS", 0.3)
    part = named(diagnose(graph="bolt://someone:secret@127.0.0.1:1"), "graph")
    assert part.state == "wrong"
    assert part.detail.startswith("bolt://127.0.0.1:1 (named by --graph) does not answer: ")
    part = named(diagnose(graph=f"bolt://someone:secret@127.0.0.1:{silent_server}"), "graph")
    assert part.state == "wrong"
    assert "gave no answer in 0.3 seconds" in part.detail
    assert "secret" not in json.dumps(part.to_dict())


@pytest.mark.neo4j
def test_a_neo4j_server_that_answers(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "_SECONDS", 20.0)  # a server that was just started compiles its first queries
    diagnosed = diagnose(graph=neo4j_url)
    assert (named(diagnosed, "graph").state, named(diagnosed, "graph").facts["assertions"]) == ("ok", 0)


def test_no_network_and_no_heavy_package(sample_graph: str) -> None:
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('the network was used')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from tacit.api.diagnosis import diagnose\n"
        f"assert diagnose(graph={sample_graph!r}).ready\n"
        "heavy = {'torch', 'transformers', 'spacy', 'fastapi', 'ray', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

"""The mistakes of a first day: what is typed, the exit status, and the one sentence that comes back.

``⟨…⟩`` stands for a path that depends on the machine.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.api.main import run
from tacit.api.scoring.work_folder import WorkFolder

from tests.api.conftest import Outcome

Type = Callable[[str], Outcome]

GOOD = '{"id": "dog", "history": ["My dog is sad."], "response": "Take him for a walk."}\n'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of two assertions, with its index."""
    folder = tmp_path_factory.mktemp("day") / "my-graph"
    rows = "".join(
        f"/a/[{head},{tail}]\t/r/Desires\t{head}\t{tail}\t"
        '{"dataset": "/d/test", "license": "cc:zero/1.0", "sources": [], "weight": 2.0}\n'
        for head, tail in (("/c/en/dog", "/c/en/walk"), ("/c/en/dog", "/c/en/bone"))
    )
    (folder.parent / "assertions.csv").write_text(rows)
    assert run(["load", "conceptnet", str(folder.parent / "assertions.csv"), "--into", str(folder), "--quiet"]) == 0
    assert run(["index", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def type_(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Type:
    """Type a command in a folder with ``my-graph`` and ``talk.jsonl``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_DEBUG", raising=False)
    Path("my-graph").symlink_to(graph)
    Path("talk.jsonl").write_text(GOOD)

    def typed(line: str) -> Outcome:
        capsys.readouterr()
        status = run(line.split()[1:])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err.replace(os.fspath(tmp_path.resolve()), "⟨here⟩"))

    return typed


def assert_fails_with(outcome: Outcome, status: int, sentence: str) -> None:
    """The command left with ``status``, printed no data, and said ``sentence`` and nothing else."""
    assert (outcome.status, outcome.out) == (status, ""), outcome
    assert re.fullmatch(re.escape(sentence).replace("…", ".*"), outcome.err.strip()), outcome.err


def test_a_file_of_another_loader_is_refused(type_: Type) -> None:
    Path("atomic.tsv").write_text("PersonX eats\txWant\tto drink\n")
    assert_fails_with(
        type_("tacit load conceptnet atomic.tsv --into new-graph --quiet"), 2,
        "tacit: atomic.tsv has no row that can be loaded: …; this looks like ATOMIC-2020 (three tab-separated columns); "
        "load it with: tacit load atomic2020 atomic.tsv --into GRAPH",
    )  # fmt: skip
    assert not Path("new-graph").exists()


def test_a_truncated_input_keeps_the_rows_before_its_end(type_: Type) -> None:
    whole = gzip.compress(GOOD.encode() * 40, 0)
    Path("cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    assert_fails_with(
        type_("tacit score cut.jsonl.gz --metrics length --output scores.jsonl --quiet"), 1,
        "tacit: cut.jsonl.gz ends early, at record 20 (truncated gzip): the 19 rows before that are kept in "
        "⟨here⟩/scores.jsonl.partial; get the complete file and run the same command with --resume",
    )  # fmt: skip
    Path("cut.jsonl.gz").write_bytes(whole)
    assert type_("tacit score cut.jsonl.gz --metrics length --output scores.jsonl --quiet --resume").status == 0
    assert len(Path("scores.jsonl").read_text().splitlines()) == 40


def test_a_metric_is_misspelt(type_: Type) -> None:
    assert_fails_with(
        type_("tacit score talk.jsonl --graph my-graph --metrics groundin"), 2,
        "tacit: unknown metric 'groundin'; did you mean grounding?",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("tacit score talk.jsonl --metrics xyz", "unknown metric 'xyz'; choose from grounding, commonsense, …"),
        (
            "tacit score talk.jsonl --metrics grounding -O grounding.max_hop=3",
            "the metric grounding has no option 'max_hop'; did you mean max_hops?",
        ),
        (
            "tacit cypher my-graph usd_for",
            "'usd_for' is neither a query of the cookbook nor a file; did you mean used_for?",
        ),
        ("tacit cypher my-graph used_for --param concept", "--param concept has no value; write --param concept=VALUE"),
        (
            "tacit cypher my-graph used_for --param 1=2",
            "--param 1=2 does not begin with the name of a parameter; …",
        ),
        (
            "tacit keys list keys.txt",
            "the keys at keys.txt cannot be read: no such file or directory; make the file with: tacit keys add …",
        ),
    ],
)
def test_the_error_says_what_to_type(type_: Type, line: str, sentence: str) -> None:
    assert_fails_with(type_(line), 2, f"tacit: {sentence}")


def test_an_option_has_the_wrong_type(type_: Type) -> None:
    assert_fails_with(
        type_("tacit score talk.jsonl --graph my-graph -O grounding.max_hops=abc"), 2,
        "tacit: the option max_hops of grounding must be a whole number from 0 to 6, not 'abc'",
    )  # fmt: skip


def test_a_path_without_a_graph_is_reported(type_: Type) -> None:
    assert_fails_with(
        type_("tacit neighbours mygraph dog"), 2,
        "tacit: there is no graph at mygraph; make one with: tacit load conceptnet FILE --into mygraph",
    )  # fmt: skip


def test_a_missing_graph_option_is_reported(type_: Type) -> None:
    assert_fails_with(
        type_("tacit score talk.jsonl --metrics grounding"), 2,
        "tacit: the metric grounding needs a graph; give one with --graph or TACIT_GRAPH, "
        "or use a metric that needs none: --metrics coherence",
    )  # fmt: skip


def test_a_dialogue_has_one_turn_and_a_response_is_null(type_: Type) -> None:
    Path("talk.jsonl").write_text('{"id": "a", "turns": ["only one"]}\n{"id": "b", "history": [], "response": null}\n' + GOOD)
    outcome = type_("tacit score talk.jsonl --metrics length --quiet")
    assert outcome.status == 0
    assert [(row["id"], row.get("error")) for row in outcome.rows] == [
        ("a", "turns holds one text; a response needs a turn before it"),
        ("b", "response is missing"),
        ("dog", None),
    ]


def test_columns_are_renamed_by_option(type_: Type) -> None:
    Path("talk.csv").write_text("prompt,answer\nMy dog is sad.,Take him for a walk.\n")
    assert_fails_with(
        type_("tacit score talk.csv --metrics length"), 2,
        "tacit: talk.csv has the columns prompt, answer; wanted are history (or context) and response, or turns, or messages",
    )  # fmt: skip


def test_an_extra_is_not_installed(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sacrebleu", "sacrebleu.metrics"):
        monkeypatch.setitem(sys.modules, module, None)
    outcome = type_("tacit score talk.jsonl --metrics chrf")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "tacit: sacrebleu is not installed; run: pip install 'tacit-kg[baselines]'\n"


def test_neo4j_is_not_running(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    outcome = type_(f"tacit info bolt://127.0.0.1:{port}")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(f"tacit: bolt://127.0.0.1:{port} does not answer")
    assert outcome.err.count("\n") == 1


def test_a_concept_is_unknown(type_: Type) -> None:
    assert_fails_with(
        type_("tacit paths my-graph dog flibbertigibbet"), 2,
        "tacit: 'flibbertigibbet' is not a concept of my-graph; try another word, --language, or a concept URI such as /c/en/dog",
    )  # fmt: skip


def test_an_interrupted_run_resumes(type_: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("talk.jsonl").write_text(GOOD * 5)
    command = "tacit score talk.jsonl --metrics length --shard-lines 2 --output scores.jsonl --quiet"
    with monkeypatch.context() as patch:
        keep = WorkFolder.store

        def keep_two(work: WorkFolder, part: Any) -> None:
            if part.number < 2:
                keep(work, part)
            else:
                raise KeyboardInterrupt  # Ctrl-C, which the processes of pytest-xdist ignore

        patch.setattr(WorkFolder, "store", keep_two)
        stopped = type_(command)
    assert_fails_with(
        stopped, 130,
        "stopped; 4 rows are kept in ⟨here⟩/scores.jsonl.partial; continue with the same command and --resume",
    )  # fmt: skip
    assert type_(f"{command} --resume").status == 0
    assert [json.loads(line)["scores"]["length"] for line in Path("scores.jsonl").read_text().splitlines()] == [5.0] * 5


def test_a_metric_with_references_has_none(type_: Type) -> None:
    pytest.importorskip("sacrebleu")
    outcome = type_("tacit score talk.jsonl --metrics chrf")
    assert outcome.status == 0
    assert outcome.rows[0]["scores"] == {"chrf": None}
    assert "chrf scored no item: it compares with references, and no record has any; add reference or ref" in outcome.err

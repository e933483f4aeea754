"""The installed program as a process of its own: exit statuses, signals, pipes, encodings, tracebacks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENDLESS = "MATCH (a:Concept), (b:Concept), (c:Concept), (d:Concept) WHERE a.text + b.text < c.text + d.text RETURN count(*) AS n"


def program() -> list[str]:
    """How to start the installed program with this interpreter."""
    script = Path(sys.executable).parent / "tacit"
    path = str(script) if script.exists() else shutil.which("tacit")
    return [path] if path else [sys.executable, "-c", "from tacit.api.main import main; main()"]


def tacit(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    environment = {**os.environ, **options.pop("env", {})}  # type: ignore[dict-item]
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*program(), *words], capture_output=True, text=True, timeout=120, env=environment, **options
    )


def heed_interrupts() -> None:
    """Let a child feel SIGINT even where the tests run in a shell's background, which ignores it for all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_success_exits_with_0(sample_graph: str) -> None:
    assert tacit("index", sample_graph, "--quiet").returncode == 0
    done = tacit("hops", sample_graph, "dog", "bone", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '[{"source": "dog", "target": "bone", "hops": 1}]\n'


def test_input_errors_exit_with_2(tmp_path: Path) -> None:
    done = tacit("info", str(tmp_path / "missing"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("debug", ["", "0", "1"])
def test_a_traceback_only_on_demand(debug: str, tmp_path: Path) -> None:
    done = tacit("info", str(tmp_path / "missing"), env={"TACIT_DEBUG": debug})
    assert done.returncode == 2
    assert ("Traceback" in done.stderr) is (debug == "1")
    assert done.stderr.splitlines()[-1].startswith("tacit: ")


def test_an_internal_error_is_one_sentence_with_exit_status_1() -> None:
    code = (
        "import tacit.api.cli.commands as c\n"
        "def command(_):\n    raise ZeroDivisionError('division\\nby zero')\n"
        "c.command = command\n"
        "from tacit.api.main import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "info"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == "tacit: unexpected ZeroDivisionError: division by zero (a fault in tacit; TACIT_DEBUG=1 shows the traceback)\n"
    )


def test_unencodable_characters_are_replaced(sample_graph: str) -> None:
    words = ["cypher", sample_graph, "RETURN $text AS text", "--param", "text=犬"]
    done = tacit(*words, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0
    assert "\\u72ac" in done.stdout
    done = tacit(*words, "--json", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert json.loads(done.stdout) == [{"text": "犬"}]


def test_piped_output_has_no_colours(sample_graph: str) -> None:
    done = tacit("info", sample_graph, env={"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"})
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_a_closed_pipe_is_no_error(sample_graph: str) -> None:
    query = "MATCH (a:Concept), (b:Concept) RETURN a.uri, b.uri"
    words = [*program(), "cypher", sample_graph, query, "--limit", "60000", "--csv"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "a.uri,b.uri\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 1


def test_an_interrupt_prints_no_traceback(sample_graph: str) -> None:
    words = [*program(), "cypher", sample_graph, ENDLESS, "--timeout", "60"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts) as process:
        while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():  # until the query has its worker
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
    assert time.monotonic() - started < 10


def test_an_interrupted_score_leaves_no_file(sample: Path, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    words = [
        *program(),
        "score",
        "-",
        "--graph",
        sample_graph,
        "-m",
        "grounding",
        "--output",
        str(out),
        "--batch-size",
        "1",
        "--quiet",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=heed_interrupts) as process:
        assert process.stdin is not None
        process.stdin.write((sample / "dialogues.jsonl").read_bytes())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".scores.jsonl.*.part")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not out.exists()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"stopped after 0 rows; only a run from a file into a file (--output) keeps them for --resume\n"
    assert list(tmp_path.iterdir()) == []


def test_heavy_libraries_are_not_imported_for_the_help() -> None:
    heavy = ["numpy", "numba", "pyarrow", "ladybug", "neo4j", "rdflib", "spacy", "rich", "orjson", "httpx", "pydantic"]
    code = (
        "import sys\nfrom tacit.api.main import run\n"
        "status = run(sys.argv[1:])\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\nsys.exit(status)"
    )
    for words in ([], ["score", "--help"], ["load", "conceptnet", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "[]\n")


def test_one_item_is_scored_without_heavy_libraries_that_it_does_not_need(sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"history": ["I have a dog."], "response": "Does it like to walk?"}\n')
    heavy = ["numba", "scipy", "pyarrow", "ladybug", "neo4j", "rdflib", "torch", "jinja2", "httpx", "requests"]
    code = (
        "import sys\nfrom tacit.api.main import run\n"
        "status = run(sys.argv[1:])\n"
        f"print([name for name in {heavy} if name in sys.modules])\nsys.exit(status)"
    )
    words = ["score", str(file), "--graph", sample_graph, "--metrics", "grounding", "--quiet"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    row, loaded = done.stdout.splitlines()
    assert json.loads(row)["scores"]["grounding"] > 0
    assert loaded == "[]"

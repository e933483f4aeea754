"""The command ``tacit mcp``: what it needs, where it listens, and what a person sees who starts it by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tacit.api.cli.serve import address_in
from tacit.graph.errors import InputError

from tests.api.agents.conftest import METRICS
from tests.api.conftest import Tacit
from tests.api.conftest import tacit as tacit
from tests.api.server.conftest import PROGRAM


@pytest.mark.parametrize("missing", ["mcp.server.lowlevel", "mcp_types", "fastapi"])
def test_a_missing_extra_is_named(missing: str, tacit: Tacit, sample_graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("tacit.api.agents", "tacit.api.server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    outcome = tacit("mcp", sample_graph, *METRICS)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == f"tacit: {missing.partition('.')[0]} is not installed; run: pip install 'tacit-kg[mcp]'\n"


def test_errors_say_what_to_do(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    for words, sentence in (
        (["missing"], "missing"),
        (
            [sample_graph, "--keys", tmp_path / "keys"],
            "--keys needs --http, since there is only one client without it",
        ),
        ([sample_graph, "--http", "a b"], "--http a b is not [HOST:]PORT; give e.g. 8000, 127.0.0.1:8000 or [::1]:8000"),
        ([sample_graph, "--http", "0.0.0.0:0"], "other machines can reach this service on 0.0.0.0; give --keys FILE"),
    ):
        outcome = tacit("mcp", *words)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
        assert sentence in outcome.err


def test_addresses_are_checked() -> None:
    assert address_in("8000") == ("127.0.0.1", 8000)
    assert address_in("localhost:80") == ("localhost", 80)
    assert address_in("[::1]:0") == ("::1", 0)
    for wrong in ("", ":80", "::1:80", "host:", "host", "1.2.3.4:65536", "http://localhost:80"):
        with pytest.raises(InputError, match="is not \\[HOST:\\]PORT"):
            address_in(wrong)


def test_an_interrupt_ends_it_at_once(sample_graph: str) -> None:
    """Also while it reads from stdin, as in a terminal."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "mcp", sample_graph, "--metrics", "length"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        process.wait(20)
        assert time.monotonic() - started < 10
    finally:
        process.kill()
        process.wait()

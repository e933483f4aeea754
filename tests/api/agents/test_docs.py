"""What docs/agents.md shows is what happens: its session is run and prints what it says, and its lines of configuration parse."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.api.server.conftest import PROGRAM

DOCUMENT = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
[SESSION] = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
[TRANSCRIPT] = re.findall(r"^```text\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
LINES = re.findall(r"^\| (.+?) \| (.*`.*`.*) \|$", DOCUMENT, re.MULTILINE)


def test_the_documented_session_is_real(sample_graph: str, tmp_path: Path) -> None:
    shutil.copytree(sample_graph, tmp_path / "demo-graph" / "graph")
    command = tmp_path / "bin" / "tacit"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(PROGRAM)} "$@"\n', encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    session = subprocess.run(
        [sys.executable, "-c", SESSION], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert session.stdout == TRANSCRIPT


def test_configuration_examples_parse() -> None:
    seen = []
    for program, text in LINES:
        for line in re.findall(r"`([^`]+)`", text):
            if line.startswith("{"):
                [server] = json.loads(line)["mcpServers"].values()
            elif line.startswith("code "):
                server = json.loads(shlex.split(line)[2])
            elif line.startswith("url ="):
                server = tomllib.loads(line)
            elif line.startswith("tacit: {"):
                assert re.search(r"cmd: /path/to/tacit, args: \[mcp, /path/to/graph\]", line)
                seen.append(program)
                continue
            elif line.split()[0] in ("claude", "codex", "gemini"):
                words = shlex.split(line)
                assert words[1:3] == ["mcp", "add"]
                assert words[-3:] == ["/path/to/tacit", "mcp", "/path/to/graph"] or "http://127.0.0.1:8000/mcp" in words
                seen.append(program)
                continue
            else:
                continue
            assert server.get("args") == ["mcp", "/path/to/graph"] or server["url"] == "http://127.0.0.1:8000/mcp"
            seen.append(program)
    programs = {"Claude Code", "Codex", "Gemini CLI", "VS Code", "Claude Desktop", "Goose"}
    assert programs <= set(seen)


@pytest.mark.parametrize("sentence", re.findall(r"^    (.+)$", DOCUMENT.partition("## A session")[0], re.MULTILINE))
def test_descriptions_are_short(sentence: str) -> None:
    assert len(sentence) < 200

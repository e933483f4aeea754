"""The demo: it runs, tells the commands that it runs, and those commands can be typed again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]


@pytest.mark.slow
def test_demo(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = tacit("demo")
    assert first.status == 0, first.err
    assert "\x1b" not in first.out
    commands = [shlex.split(line[2:]) for line in first.out.splitlines() if line.startswith("$ tacit ")]
    assert {words[1] for words in commands} == {"load", "neighbours", "hops", "paths", "tails", "cypher", "score", "explain"}
    for words in commands:
        again = tacit(*words[1:])
        assert again.status == 0
        if words[1] not in ("load", "score"):
            assert again.out in first.out
    assert "grounding" in first.out
    assert [path.name for path in tmp_path.iterdir()] == ["demo-graph"]
    second = tacit("demo")
    assert second.status == 0
    assert "     599           0" not in first.out

"""The demo: it runs, tells the commands that it runs, and those commands can be typed again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tacit.api.cli import demo
from tacit.reasoning import registry

Tacit = Callable[..., Any]


@pytest.mark.slow
def test_demo(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = tacit("demo")
    assert first.status == 0, first.err
    assert "\x1b" not in first.out
    assert first.out.count("\n") < 270
    commands = [shlex.split(line[2:]) for line in first.out.splitlines() if line.startswith("$ tacit ")]
    assert len(commands) == 22
    kinds = {"load", "neighbours", "hops", "paths", "triples", "tails", "cypher", "score", "explain", "infer", "choose"}
    assert {words[1] for words in commands} == kinds
    for words in commands:
        again = tacit(*words[1:])
        assert again.status == 0
        if words[1] not in ("load", "score"):
            assert again.out in first.out
    assert "grounding" in first.out
    assert [path.name for path in tmp_path.iterdir()] == ["demo-graph"]
    assert {"dog.svg", "report.html", "scores.jsonl"} <= {path.name for path in (tmp_path / "demo-graph").iterdir()}


@pytest.mark.slow
def test_demo_all_shows_more(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = {name: registry.KINDS[name] for name in ("grounding", "length", "chrf")}
    kinds["accent"] = replace(registry.KINDS["accent"], packages=("no_such_package",))
    monkeypatch.setattr(registry, "KINDS", kinds)
    monkeypatch.setattr(demo, "_show_features", lambda directory, *_: _loaded(tacit, directory))
    shown = tacit("demo", "--all")
    assert shown.status == 0, shown.err
    for phrase in (
        "dinner/bad",
        "illness/4",
        "$ tacit cypher demo-graph/graph hubs",
        "--metrics chrf",
        "left out: accent; tacit metrics says what they need",
    ):
        assert phrase in shown.out


def _loaded(tacit: Tacit, directory: Path) -> None:
    for kind, file in (("conceptnet", "conceptnet.csv"), ("atomic2020", "atomic2020.tsv")):
        assert tacit("load", kind, directory / file, "--into", directory / "graph", "--quiet").status == 0

"""Completion in the shell: bash, zsh and fish get names of metrics and their options, and leave files to the shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Tacit = Callable[..., Any]


@pytest.fixture
def complete(tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], set[str]]:
    """What a shell is offered for the last word of a line."""

    def ask(shell: str, line: str) -> set[str]:
        words = line.split(" ")
        monkeypatch.setenv("_TACIT_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", "\n".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_WORD_TO_COMPLETE", words[-1])
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        outcome = tacit("complete")
        return set(outcome.out.replace('"', " ").split())

    return ask


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_metrics_and_their_options(complete: Callable[[str, str], set[str]], shell: str) -> None:
    assert {"grounding", "grade"} <= complete(shell, "tacit score f.jsonl --metrics gr")
    assert "length" not in complete(shell, "tacit score f.jsonl --metrics gr")
    for command in ("evaluate f.jsonl -m", "explain f.jsonl --metrics", "serve graph --metrics"):
        assert "length,grade" in complete(shell, f"tacit {command} length,gr")
    for command in ("choose f.json --judges", "serve graph --judges"):
        assert "graph,similarity" in complete(shell, f"tacit {command} graph,s")
    assert "length,length" not in complete(shell, "tacit score f.jsonl -m length,le")
    assert "grounding.max_hops=" in complete(shell, "tacit score f.jsonl -O grounding.ma")
    assert complete(shell, "tacit score f.jsonl -O accent.dtype=b") >= {"accent.dtype=bfloat16"}
    assert "t5.beams=" in complete(shell, "tacit evaluate-tuples f.json -O t5.be")
    assert complete(shell, "tacit evaluate-tuples f.json --extractor cs") >= {"cskb"}
    assert "evaluate" in complete(shell, "tacit eva")


def test_the_shell_completes_file_names(complete: Callable[[str, str], set[str]]) -> None:
    assert complete("bash", "tacit score dia") == set()  # with "complete -o default" bash then offers files
    assert complete("zsh", "tacit score dia") == {"_files"}


def test_the_help_lists_shell_completion(tacit: Tacit) -> None:
    assert "--install-completion" in tacit("--help").out


def test_completion_scripts_exist_for_each_shell(tacit: Tacit) -> None:
    assert "#compdef tacit" in tacit("--show-completion", "zsh").out
    assert "complete -o default -F" in tacit("--show-completion", "bash").out
    assert "complete --command tacit" in tacit("--show-completion", "fish").out
    wrong = tacit("--show-completion", "tcsh")
    assert (wrong.status, wrong.out) == (2, "")
    assert "give one of bash, zsh" in wrong.err

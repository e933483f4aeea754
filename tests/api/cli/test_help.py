"""tacit help: topics, commands, and the environment variables that the code reads."""

from __future__ import annotations

import ast
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tacit.api.cli.commands import command, command_names
from tacit.api.cli.help import complete_topics, topics
from tacit.api.config import Settings
from tacit.reasoning.registry import METRIC_REGISTRY

ROOT = Path(__file__).parents[3]
TOPICS = {"config", "cypher", "environment", "exit-codes", "files", "graph", "metrics", "options", "signatures"}
VARIABLE = re.compile(r"(?:TACIT|NEO4J)_[A-Z0-9_]+")

Tacit = Callable[..., Any]


def test_the_list_names_every_topic_and_command(tacit: Tacit) -> None:
    outcome = tacit("help")
    assert (outcome.status, outcome.err) == (0, "")
    assert set(topics()) == TOPICS
    shown = outcome.out.partition("COMMANDS")
    assert set(re.findall(r"^    ([\w-]+)  ", shown[0], re.MULTILINE)) == TOPICS
    assert set(command_names()) <= {*re.findall(r"[\w-]+", shown[2])}


@pytest.mark.parametrize("topic", sorted(TOPICS))
def test_every_topic_is_shown_and_fits_a_terminal(topic: str, tacit: Tacit) -> None:
    outcome = tacit("help", topic)
    assert (outcome.status, outcome.err) == (0, "")
    first, *lines = outcome.out.splitlines()
    name, _, summary = first.partition(" - ")
    assert (name, summary) == (topic, topics()[topic])
    assert summary
    assert max(map(len, lines)) <= 79
    assert not [line for line in lines if "{" in line and "metrics}" in line]
    assert all(line == line.upper() for line in lines if line and not line.startswith("    ")), "headings are in capitals"


@pytest.mark.parametrize("words", [[], ["train"], ["create"], ["load"], ["keys"]])
def test_a_group_lists_the_whole_summary_of_each_command(words: list[str], tacit: Tacit) -> None:
    group: Any = command()
    for word in words:
        group = group.commands[word]
    shown = " ".join(tacit(*words, "--help").out.split())
    for name, below in group.commands.items():
        first_sentence = " ".join((below.help or "").partition("\n\n")[0].split()).removesuffix(".")
        assert f" {name} {first_sentence}" in shown


def test_the_help_shows_no_python_types(tacit: Tacit) -> None:
    assert "<" not in tacit("hops", "--help").out.partition("Options:")[0]
    assert "NAME <conceptnet|" in tacit("fetch", "--help").out


def test_every_command_that_a_topic_names_exists(tacit: Tacit) -> None:
    for topic in TOPICS:
        text = " ".join(tacit("help", topic).out.split())
        named = set(re.findall(r"\btacit ([a-z][a-z-]+)", text))
        assert named - {"takes", "reads", "in"} <= {*command_names()}, topic
        for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help"}:
            assert option in _options(), (topic, option)


def _options() -> set[str]:
    def of(group: Any) -> Iterator[str]:
        for below in getattr(group, "commands", {}).values():
            yield from of(below)
        for param in group.params:
            yield from (*param.opts, *param.secondary_opts)

    return {*of(command())}


def read_variables() -> set[str]:
    """Return the environment variables of tacit and Neo4j that the code names by a text of its own."""
    variables = set()
    for folder in ("api", "graph", "loaders", "reasoning", "cypher"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value):
                    variables.add(node.value)
    return variables


def test_every_variable_that_the_code_reads_is_in_the_help_and_on_the_page(tacit: Tacit) -> None:
    read = read_variables()
    assert {"TACIT_GRAPH", "TACIT_CACHE", "TACIT_NEO4J_RETRY_SECONDS", "NEO4J_PASSWORD"} <= read
    listed = set(VARIABLE.findall(tacit("help", "environment").out))
    assert listed == read
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8").partition("## Environment variables")[2]
    assert set(VARIABLE.findall(page)) == read
    others = {"HF_HOME", "HF_HUB_OFFLINE", "NUMBA_CACHE_DIR", "NO_COLOR", "PAGER"}
    assert all(name in page and name in tacit("help", "environment").out for name in others)


def test_the_help_lists_every_metric(tacit: Tacit) -> None:
    text = tacit("help", "metrics").out
    assert all(re.search(rf"^    {name} +\w", text, re.MULTILINE) for name in METRIC_REGISTRY.names())
    assert text.endswith("COMMAND\n    tacit metrics --help shows the command metrics.\n")


def test_every_settings_key_is_in_the_help(tacit: Tacit) -> None:
    keys = tacit("help", "config").out.partition("KEYS")[2]
    assert all(re.search(rf"^    {key}\b", keys, re.MULTILINE) for key in (field.name for field in fields(Settings)))


@pytest.mark.parametrize("words", [["hops"], ["load"], ["load", "conceptnet"], ["train", "coherence"]])
def test_help_command_and_help_option_print_the_same(words: list[str], tacit: Tacit) -> None:
    assert tacit("help", *words).out == tacit(*words, "--help").out


def test_unknown_topics_get_a_suggestion(tacit: Tacit) -> None:
    assert tacit("help", "enviroment").err == "tacit: no help on 'enviroment'; did you mean environment?\n"
    assert tacit("help", "xyzzy").err == "tacit: no help on 'xyzzy'; tacit help lists the topics\n"
    assert tacit("help", "train", "coherent").err == "tacit: tacit train has no command 'coherent'; did you mean coherence?\n"


def test_topics_are_completed() -> None:
    assert complete_topics("ex") == ["exit-codes", "export", "explain"]


@pytest.mark.parametrize(("pager", "marked"), [("sed s/^/|/", True), ("", False), ("no-such-pager", False)])
def test_a_long_text_on_a_terminal_goes_through_the_pager(pager: str, marked: bool) -> None:
    out = on_terminal(["help", "metrics"], PAGER=pager)
    assert "\033[1mWHICH METRIC\033[0m" in out
    assert out.startswith("|metrics - ") == marked


def test_short_text_skips_the_pager_and_no_color_is_respected() -> None:
    out = on_terminal(["help", "options"], PAGER="sed s/^/|/", NO_COLOR="1")
    assert out.startswith("options - ")
    assert "\033" not in out


def on_terminal(words: list[str], **environment: str) -> str:
    """Return what tacit prints on a terminal of 24 lines."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LINES", "PAGER")}
    program = [sys.executable, "-c", "from tacit.api.main import main; main()", *words]
    with subprocess.Popen(
        program, stdin=theirs, stdout=theirs, stderr=theirs, env={**inherited, "LINES": "24", "TERM": "xterm", **environment}
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # the other end was closed
            pass
        process.wait()
    os.close(ours)
    assert process.returncode == 0
    return b"".join(parts).decode().replace("\r\n", "\n")

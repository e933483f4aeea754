"""Commands with a tacit.toml: precedence, what they say of it, and wrong values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, sample: Path, sample_graph: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with settings, and a file of dialogues."""
    monkeypatch.delenv("TACIT_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph").symlink_to(sample_graph)
    (tmp_path / "talk.jsonl").write_text((sample / "dialogues.jsonl").read_text(encoding="utf-8"))
    write(tmp_path, 'graph = "graph"\nmetrics = ["grounding", "length"]\n[options.grounding]\nmax_hops = 3\n')
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "tacit.toml").write_text(text)


def signatures(outcome: Any) -> dict[str, str]:
    assert outcome.status == 0, outcome.err
    signature: dict[str, str] = json.loads(outcome.out.splitlines()[0])["signature"]
    return signature


@pytest.mark.usefixtures("here")
def test_settings_apply_to_score_and_are_reported_once(tacit: Tacit) -> None:
    outcome = tacit("score", "talk.jsonl")
    signature = signatures(outcome)
    assert list(signature) == ["grounding", "length"]
    assert "|hops:3|" in signature["grounding"]
    notice = "settings of tacit.toml: graph graph, metrics grounding length, grounding.max_hops=3"
    assert [line for line in outcome.err.splitlines() if "tacit.toml" in line] == [notice]
    assert "tacit.toml" not in tacit("score", "talk.jsonl", "--quiet").err


def test_the_settings_line_starts_with_the_graph(tacit: Tacit, here: Path) -> None:
    (here / "rated.jsonl").write_text('{"history": ["a"], "response": "b", "rating": 1}\n')
    assert "settings of tacit.toml: graph graph, metrics grounding length, grounding" in tacit("evaluate", "rated.jsonl").err


def test_the_same_scores_as_with_options(tacit: Tacit, here: Path) -> None:
    by_file = tacit("score", "talk.jsonl", "--json").out
    write(here, "")
    by_options = tacit(
        "score", "talk.jsonl", "--json", "--graph", "graph", "-m", "grounding,length", "-O", "grounding.max_hops=3"
    )  # fmt: skip
    assert by_options.out == by_file
    assert "tacit.toml" not in by_options.err


@pytest.mark.usefixtures("here")
def test_command_line_options_override_settings(tacit: Tacit) -> None:
    outcome = tacit("score", "talk.jsonl", "-m", "grounding", "-O", "grounding.max_hops=2")
    assert "|hops:2|" in signatures(outcome)["grounding"]
    assert list(signatures(outcome)) == ["grounding"]
    assert "settings of tacit.toml: graph graph\n" in outcome.err
    assert tacit("score", "talk.jsonl", "--graph", "nowhere").status == 2


def test_environment_variables_override_settings(tacit: Tacit, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_GRAPH", str(here / "nowhere"))
    assert "there is no graph at" in tacit("score", "talk.jsonl").err
    assert "there is no graph at" in tacit("hops", "dog", "doctor").err


def test_a_load_goes_into_the_default_graph(tacit: Tacit, here: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, 'graph = "new"\n')
    loaded = tacit("load", "atomic2020", sample / "atomic2020.tsv")
    assert loaded.status == 0
    assert "settings of tacit.toml: graph new\n" in loaded.err
    monkeypatch.setenv("TACIT_GRAPH", str(here / "other"))
    assert tacit("load", "atomic2020", sample / "atomic2020.tsv").status == 0
    assert tacit("info", here / "other", "--json").json["digest"] == tacit("info", here / "new", "--json").json["digest"]


@pytest.mark.usefixtures("here")
def test_options_of_metrics_that_do_not_run_are_ignored(tacit: Tacit) -> None:
    outcome = tacit("score", "talk.jsonl", "-m", "length")
    assert list(signatures(outcome)) == ["length"]
    assert "max_hops" not in outcome.err


def test_settings_are_found_from_a_subfolder(tacit: Tacit, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    outcome = tacit("score", "../talk.jsonl")
    assert "|hops:3|" in signatures(outcome)["grounding"]
    assert "settings of ../tacit.toml: graph ../graph," in outcome.err


def test_every_command_with_a_graph_takes_it(tacit: Tacit, here: Path) -> None:
    for words in (["info"], ["check"], ["hops", "dog", "doctor"], ["cypher", "MATCH (n:Concept) RETURN count(n) AS n"],
                  ["triples", "--between", "dog", "--and", "bone"], ["metrics"]):  # fmt: skip
        outcome = tacit(*words, "--json")
        assert outcome.status == 0, (words, outcome.err)
    for words in (["filter", "talk.jsonl"], ["explain", "talk.jsonl"], ["compare", "talk.jsonl", "talk.jsonl"]):
        outcome = tacit(*words)
        assert outcome.status == 0, (words, outcome.err)
        assert outcome.err.count("settings of tacit.toml: graph graph") == 1, (words, outcome.err)
    (here / "rated.jsonl").write_text(
        "".join(f'{{"history": ["Hello."], "response": "A {"very " * n}nice day.", "rating": {n}}}\n' for n in range(5))
    )
    outcome = tacit("evaluate", "rated.jsonl", "--json")
    assert [row["metric"] for row in json.loads(outcome.out)] == ["grounding", "length"]
    assert "settings of tacit.toml" in outcome.err


def test_a_picture_shows_the_first_metric_of_the_settings(tacit: Tacit, here: Path) -> None:
    outcome = tacit("explain", "talk.jsonl", "--output", "one.svg")
    assert outcome.status == 0, outcome.err
    assert "<svg" in (here / "one.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["hops", "dog", "bone"], ["info"], ["filter", "talk.jsonl"]])
def test_a_missing_graph_is_reported_with_the_settings_file(words: list[str], tacit: Tacit, here: Path) -> None:
    write(here, 'graph = "gone"\n')
    outcome = tacit(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"tacit: tacit.toml: graph: there is no graph at {here / 'gone'}; name another" in outcome.err


def test_credentials_in_a_url_are_not_shown(tacit: Tacit, here: Path) -> None:
    write(here, 'graph = "bolt://someone:secret@127.0.0.1:1"\nmetrics = ["length"]\n')
    outcome = tacit("score", "talk.jsonl")
    assert outcome.status == 0
    assert "graph bolt://127.0.0.1:1, metrics length" in outcome.err
    assert "secret" not in outcome.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("graphs = 'x'", "tacit: tacit.toml: graphs is not a key there; did you mean graph?"),
        ("metrics = ['vibes']", "tacit: tacit.toml: metrics: unknown metric 'vibes'"),
        ("metrics = ['length', 'length']", "tacit: tacit.toml: metrics: length is there twice; name it once"),
        ("[options.vibes]", "tacit: tacit.toml: options.vibes: unknown metric 'vibes'"),
        (
            "metrics = ['grounding']\n[options.grounding]\nmax_hop = 1",
            "tacit: tacit.toml: options.grounding.max_hop: the metric grounding has no option 'max_hop'; did you mean max_hops?",
        ),
        (
            "metrics = ['grounding']\n[options.grounding]\nmax_hops = 'three'",
            "tacit: tacit.toml: options.grounding.max_hops: the option max_hops of grounding must be a whole number from 0 to 6",
        ),
    ],
)
def test_wrong_settings_are_one_sentence(text: str, sentence: str, tacit: Tacit, here: Path) -> None:
    write(here, text)
    outcome = tacit("score", "talk.jsonl")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(sentence)
    assert outcome.err.count("\n") == 1


def test_help_works_with_invalid_settings(tacit: Tacit, here: Path) -> None:
    write(here, "grap = 1")
    for words in (["--help"], ["score", "--help"], ["hops", "--help"], ["--version"]):
        assert tacit(*words).status == 0

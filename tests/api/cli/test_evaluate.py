"""The command ``evaluate``: its rows are those of the metric and of scipy, its tables fit, and no row is lost silently."""

from __future__ import annotations

import io
import json
import math
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tacit.graph import open_graph, open_index
from tacit.loaders import Judgement, read_judgements
from tacit.reasoning import BatchScoring, Evidence, Item, MetricKind, Score, Signature, load_metric, registry

Tacit = Callable[..., Any]

TEXTS = [
    (["My dog was alone the whole day."], "Take him for a walk.", 4.5), (["I am hungry."], "Let us cook dinner then.", 4.0),
    (["I am hungry."], "The piano is out of tune.", 1.5), (["My dog sleeps.", "Where?"], "On the sofa, it likes it there.", 3.5),
    (["My head hurts."], "You should see a doctor.", 4.0), (["My head hurts."], "Bones!", 2.0), (["A dog barks."], "A cat.", 2.5),
    (["I cook for friends."], "What do you cook? I like soup and bread, and friends who bring wine with them.", 3.0),
]  # fmt: skip


class Tiny(BatchScoring):
    """The share of letters that are vowels; a response without letters cannot be judged."""

    name = "tiny"

    def __init__(self) -> None:
        self.signature = Signature(self.name, (), 1)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:  # noqa: ARG002
        return [Score(self.value(item.response), Evidence(), self.signature) for item in items]

    @staticmethod
    def value(response: str) -> float:
        letters = [letter for letter in response.lower() if letter.isalpha()]
        return sum(letter in "aeiou" for letter in letters) / len(letters) if letters else math.nan


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a metric that needs nothing."""
    module = types.ModuleType("tacit.reasoning.tiny_for_tests")
    module.make = lambda graph=None: Tiny()  # type: ignore[attr-defined]  # noqa: ARG005
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        registry.METRIC_REGISTRY,
        "own",
        {**registry.KINDS, "tiny": MetricKind(home="tiny_for_tests:make", summary="vowels", range="0 or more", better="")},
    )
    return "tiny"


FOUR_REPEATED = (
    "flat: 4 rows with the history, response and system of another, each a rating of its own; if they are of several people, "
    "give one row a response with their list in ratings\n"
)


def rows_of(texts: Sequence[tuple[list[str], str, Any]], **more: Any) -> list[dict[str, Any]]:
    return [{"history": history, "response": response, "rating": rating, **more} for history, response, rating in texts]


def file_of(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """A file of rated responses."""
    return file_of(tmp_path / "talk.jsonl", rows_of(TEXTS))


def test_correlations_equal_scipy_on_the_scores_of_the_metric(tacit: Tacit, tmp_path: Path, sample_graph: str) -> None:
    texts = [*TEXTS, *((["Well.", *history], response, rating) for history, response, rating in TEXTS)]
    rated = file_of(tmp_path / "talk.jsonl", rows_of(texts))
    outcome = tacit("evaluate", rated, "-m", "grounding", "--graph", sample_graph, "--json", "--resamples", 500)
    [row] = outcome.json
    with open_graph(sample_graph) as store, open_index(store) as graph:
        metric = load_metric("grounding", graph)
        pairs = [(metric.score(history, response).value, rating) for history, response, rating in texts]
    scores, ratings = zip(*((score, rating) for score, rating in pairs if not math.isnan(score)), strict=True)
    assert (row["metric"], row["dataset"], row["system"], row["n"]) == ("grounding", "talk", None, 12)
    for kind, correlation in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        assert set(row[kind]) == {"value", "low", "high", "p"}
        assert row[kind]["value"] == pytest.approx(correlation(scores, ratings).statistic, abs=1e-12)
        assert row[kind]["p"] == pytest.approx(correlation(scores, ratings).pvalue)
        assert row[kind]["low"] <= row[kind]["value"] <= row[kind]["high"]
    assert row["signature"] == str(metric.signature)
    assert row["left_out"] == {"errors": 0, "unscored": 4}
    assert row["bootstrap"] == {"level": 0.95, "over": "conversations", "resamples": 500, "seed": 0}


def test_evaluate_prints_one_row_per_metric_and_data_set(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    named = file_of(
        tmp_path / "named.jsonl",
        [
            {"dataset": f"set_{number % 2}", "model": f"model {number % 3}", "history": "", "response": text, "ratings": [rating]}
            for number, (_, text, rating) in enumerate((TEXTS * 3)[:18])
        ],
    )  # fmt: skip
    plain = file_of(tmp_path / "plain.jsonl", rows_of(TEXTS))
    base = ["evaluate", plain, named, "-m", tiny, "-m", "length", "--json", "--resamples", 100, "--quiet"]
    outcome = tacit(*base)
    rows = outcome.json
    assert outcome.err == ""
    whole = [(row["dataset"], row["metric"]) for row in rows if row["system"] is None]
    assert whole == [(dataset, metric) for dataset in ("plain", "set_0", "set_1") for metric in (tiny, "length")]
    for row in rows:
        if row["system"] is None and row["dataset"] != "plain":
            parts = [part for part in rows if (part["dataset"], part["metric"]) == (row["dataset"], row["metric"])][1:]
            assert [part["system"] for part in parts] == ["model 0", "model 1", "model 2"]
            assert sum(part["n"] for part in parts) == row["n"] == 9
            assert len(row["ranking"]["systems"]) == 3
            assert row["ranking"]["spearman"]["value"] is not None
        assert ("against" in row) == (row["system"] is None and row["metric"] == "length")
    assert rows[1]["against"]["metric"] == tiny
    assert set(rows[1]["against"]["difference"]["pearson"]) == {"value", "low", "high", "p"}
    assert tacit(*base, "--seed", 1).out != outcome.out
    assert tacit("evaluate", plain, named, "-m", f"{tiny},length", *base[7:]).out == outcome.out


def test_tables_fit_the_terminal_and_show_the_rows(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    rows = [
        row | {"dataset": "empatheticdialogues_EVAL", "system": system}
        for system, shift in (("transformer_generator", 0), ("transformer_ranker", 1), ("a human being", 2))
        for row in rows_of([(history, text, rating + shift) for history, text, rating in TEXTS[shift:]])
    ]
    file = file_of(tmp_path / "long.jsonl", rows)
    outcome = tacit("evaluate", file, "-m", tiny, "-m", "length", "--resamples", 200)
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= 100
    returned_rows = tacit("evaluate", file, "-m", tiny, "-m", "length", "--resamples", 200, "--json").json
    for row in returned_rows:
        name = f" {row['metric']}" if row["system"] is None else f"  {row['system']}"
        values = [f"{row[kind]['value']:.3f}".replace("0.", ".") for kind in ("pearson", "spearman", "kendall")]
        assert any(line.startswith(name) and all(value in line for value in values) for line in lines), (name, values)
    assert "200 resamples of conversations (seed 0)" in outcome.out
    [best] = [line for line in lines if line.startswith(" a human being")]
    assert lines.index(best) < next(n for n, line in enumerate(lines) if line.startswith(" transformer_ranker"))
    assert "over the systems' means" in outcome.out
    assert f"against {tiny}" in outcome.out
    assert "signature tiny|v:1" in outcome.err


def test_a_second_file_does_not_change_the_first_ones_intervals(tacit: Tacit, tmp_path: Path) -> None:
    opening = ["Hi!", "Hello.", "How are you?"]  # with a judgement of its own, it would join all that begin with it
    talks = [([*opening, f"Fine. Any news {number}?"], "No. " * (number % 5), number % 3) for number in range(1, 25)]
    first = file_of(tmp_path / "first.jsonl", rows_of(talks))
    second = file_of(tmp_path / "second.jsonl", rows_of([(opening, "Fine.", 3)]))
    base = ["-m", "length", "--json", "--resamples", 100]
    alone = tacit("evaluate", first, *base).json
    assert alone[0]["conversations"] == 24
    assert tacit("evaluate", first, second, *base).json[:1] == alone


def test_systems_are_ranked_by_all_their_ratings(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    rows = [
        {"system": system, "history": f"Turn {number}", "response": text, "rating": rating}
        for number, (system, text, rating) in enumerate([("a", "Yes, sir.", 4), ("b", "Oh!", 5), ("b", "...", 1)] * 12)
    ]
    file = file_of(tmp_path / "systems.jsonl", rows)
    for metrics in (["length", tiny], [tiny, "length"]):
        shown = tacit("evaluate", file, *(word for name in metrics for word in ("-m", name)), "--resamples", 100).out
        table = shown[shown.index("systems, best first") :].splitlines()
        assert table[3].split()[:3] == ["a", "12", "4.000"]
        assert table[4].split()[:3] == ["b", "24", "3.000"]
        assert table[4].count("n 12") == 1  # tiny cannot judge the dots
    [ranking, _] = [
        row["ranking"] for row in tacit("evaluate", file, "-m", tiny, "-m", "length", "--json").json if row["system"] is None
    ]
    assert [(entry["system"], entry["n"], entry["human"]) for entry in ranking["systems"]] == [("a", 12, 4), ("b", 12, 3)]


def test_every_row_is_counted(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "mixed.jsonl"
    good = [json.dumps(row) for row in rows_of(TEXTS)]
    bad = [
        "not json", '{"history": "a", "response": "b", "rating": NaN}', '{"history": "a", "response": "b"}',
        '{"history": "a", "response": "b", "rating": "good"}',
    ]  # fmt: skip
    odd = [
        json.dumps({"history": [], "response": "Hello.", "rating": 1}), json.dumps({"history": "a", "response": "", "rating": 2}),
        json.dumps({"history": "a", "response": "word " * 10_000, "rating": 3}),
        json.dumps({"history": "元気ですか", "response": "はい、元気です。", "rating": 4}),
        json.dumps({"history": "👋", "response": "🎉🎉", "rating": 5}),
        json.dumps({"history": "a", "response": "\ud800", "rating": 1}),
    ]  # fmt: skip
    file.write_text("\n".join([*good, *bad, *odd]) + "\n", encoding="utf-8")
    outcome = tacit("evaluate", file, "-m", tiny, "--json", "--resamples", 100)
    [row] = outcome.json
    assert row["n"] == 8 + 3  # an empty history, ten thousand words, and Japanese can be judged
    assert row["left_out"] == {"errors": 5, "unscored": 2}
    for reason in (
        "row 9: not JSON",
        "row 10: rating is nan",
        "row 11: no rating",
        "row 12: rating is not a number",
        "surrogate",
    ):
        assert reason in outcome.err
    shown = tacit("evaluate", file, "-m", tiny, "--resamples", 100)
    assert (
        "mixed, tiny: no interval, since there are fewer than 10 conversations; left out: 5 faulty rows, 2 responses" in shown.out
    )
    strict = tacit("evaluate", file, "-m", tiny, "--strict")
    assert (strict.status, strict.out) == (2, "")
    assert "row 9" in strict.err


def test_odd_texts_are_judged_or_counted_as_unscored(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    texts = [([], "A dog.", 1.0), (["a dog"], "", 2.0), (["a dog"], "a bone " * 5_000, 3.0), (["犬"], "骨 🦴", 4.0), *TEXTS]
    file = file_of(tmp_path / "odd.jsonl", rows_of(texts))
    [row] = tacit("evaluate", file, "-m", "grounding", "--graph", sample_graph, "--json", "--resamples", 100).json
    assert (row["n"], row["left_out"]) == (
        7,
        {"errors": 0, "unscored": 5},
    )  # no history, blank, Japanese, and two without concepts


@pytest.mark.parametrize(
    ("texts", "note", "repeated"),
    [
        ([(["a"], text, 3.0) for _, text, _ in TEXTS], "every response has the same rating", ""),
        ([(["a"], "same", float(number)) for number in range(5)], "every response has the same score", FOUR_REPEATED),
        (TEXTS[:2], "fewer than 3 judged responses", ""),
        ([(["a"], "?!", float(number)) for number in range(5)], "fewer than 3 judged responses", FOUR_REPEATED),
    ],
)
def test_undefined_correlations_are_null_with_a_note(
    tacit: Tacit, tiny: str, tmp_path: Path, texts: list[tuple[list[str], str, float]], note: str, repeated: str
) -> None:
    file = file_of(tmp_path / "flat.jsonl", rows_of(texts))
    outcome = tacit("evaluate", file, "-m", tiny, "--json", "--quiet")
    [row] = outcome.json
    assert outcome.err == repeated
    assert row["note"] == note
    for kind in ("pearson", "spearman", "kendall"):
        assert row[kind] == {"value": None, "low": None, "high": None, "p": None}
    shown = tacit("evaluate", file, "-m", tiny, "--plot", tmp_path / "flat.png")
    assert shown.status == 0
    assert f"flat, tiny: {note}" in shown.out


def test_pictures_are_written_atomically(tacit: Tacit, tiny: str, rated: Path, tmp_path: Path) -> None:
    png, svg = tmp_path / "p.png", tmp_path / "p.SVG"
    base = ["evaluate", rated, "-m", tiny, "-m", "length", "--resamples", 100, "--json"]
    outcome = tacit(*base, "--plot", png, "--plot", svg)
    assert outcome.status == 0
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert b"<svg" in svg.read_bytes()
    assert f"plot written to {png}" in outcome.err
    before = png.read_bytes(), svg.read_bytes()
    tacit(*base, "--plot", png, "--plot", svg)
    assert (png.read_bytes(), svg.read_bytes()) == before
    for file in (tmp_path / "p.pdf", tmp_path / "p", tmp_path / "none" / "p.png", tmp_path):
        refused = tacit(*base, "--plot", file)
        assert (refused.status, refused.out) == (2, "")
        assert refused.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.SVG", "p.png", "talk.jsonl"]


def test_files_with_equal_names_are_distinguished_and_equal_data_sets_joined(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    first = file_of(tmp_path / "x" / "talk.jsonl", rows_of(TEXTS))
    second = file_of(tmp_path / "y" / "talk.jsonl", rows_of(TEXTS[:5]))
    base = ["evaluate", "-m", tiny, "--json", "--resamples", 100]
    rows = tacit(*base, first, second).json
    assert [(row["dataset"], row["n"]) for row in rows] == [("x/talk", 8), ("y/talk", 5)]
    file_of(first, rows_of(TEXTS, dataset="shared", system="s"))
    file_of(second, rows_of(TEXTS[:5], dataset="shared", system="t"))
    outcome = tacit(*base, first, second)
    assert [(row["dataset"], row["system"], row["n"]) for row in outcome.json] == [
        ("shared", None, 13),
        ("shared", "s", 8),
        ("shared", "t", 5),
    ]
    assert "the data set shared is in 2 files, which are merged" in outcome.err
    assert "of another" not in outcome.err
    file_of(first, [*rows_of(TEXTS), *rows_of(TEXTS[:3])])
    assert "x/talk: 3 rows with the history, response and system of another" in tacit(*base, first, second).err
    twice = tacit(*base, first, second, first.parent / ".." / "x" / "talk.jsonl")
    assert twice.status == 2
    assert "is given twice" in twice.err


def test_files_without_ratings_beside_a_valid_one(tacit: Tacit, tiny: str, rated: Path, tmp_path: Path) -> None:
    empty = file_of(tmp_path / "empty.jsonl", [])
    broken = file_of(tmp_path / "broken.jsonl", [{"history": "a", "response": "b"}] * 12)
    rows = tacit("evaluate", empty, rated, broken, "-m", tiny, "--json", "--resamples", 100).json
    assert {row["dataset"]: (row["n"], row["left_out"]["errors"]) for row in rows} == {
        "talk": (8, 0),
        "empty": (0, 0),
        "broken": (0, 12),
    }
    for files in ([broken], [empty], [empty, broken]):
        outcome = tacit("evaluate", *files, "-m", tiny)
        assert (outcome.status, outcome.out) == (2, "")
        assert "no judgement" in outcome.err


def test_both_ratings_of_deco_are_evaluated(tacit: Tacit, tiny: str, tmp_path: Path) -> None:
    rows = [
        {"history": "a</UTT>", "response": text, "source": "PersonaChat", "event_cs": rating, "general_cs": 5 - rating}
        for _, text, rating in TEXTS
    ]  # fmt: skip
    file = tmp_path / "deco.json"
    file.write_text(json.dumps(rows))
    base = ["evaluate", file, "-m", tiny, "--json", "--resamples", 100]
    event, general = tacit(*base).json[0], tacit(*base, "--rating", "general_cs").json[0]
    assert event["dataset"] == general["dataset"] == "deco"
    assert event["pearson"]["value"] == pytest.approx(-general["pearson"]["value"])
    assert tacit(*base, "--rating", "some_cs").status == 2


def test_options_reach_the_metric_and_stdin_is_read(
    tacit: Tacit, sample_graph: str, rated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = ["-m", "grounding", "--graph", sample_graph, "--json", "--resamples", 100, "-O", "grounding.max_hops=1"]
    [row] = tacit("evaluate", rated, *base).json
    assert "|hops:1|" in row["signature"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(rated.read_bytes())))
    [same] = tacit("evaluate", "-", *base).json
    assert same | {"dataset": "talk"} == row
    assert same["dataset"] == "stdin"


@pytest.mark.parametrize(
    "words",
    [
        ["FILE", "-m", "nonsense"], ["FILE", "-m", "length", "-m", "length"],
        ["FILE", "-m", ""],
        ["FILE", "-m", "grounding"], ["nowhere.jsonl", "-m", "length"], ["-m", "length"],
        ["FILE", "-m", "length", "--resamples", "99"], ["FILE", "-m", "length", "--seed", "-1"],
        ["FILE", "-m", "length", "-O", "length.width=3"],
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence(tacit: Tacit, rated: Path, words: list[str]) -> None:
    outcome = tacit("evaluate", *(rated if word == "FILE" else word for word in words))
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.strip()


@pytest.mark.slow
def test_published_judgements(tacit: Tacit, data_dir: Path) -> None:
    """Length against people on every published file, held to scipy."""
    length = load_metric("length")
    files = sorted(path for path in (data_dir / "judgements").iterdir() if "cskb" not in path.name)
    rows = tacit("evaluate", *files, "-m", "length", "--json", "--resamples", 200).json
    whole = {row["dataset"]: row for row in rows if row["system"] is None}
    assert sum(row["n"] for row in whole.values()) == 3475
    for file in files:
        judgements = [row for row in read_judgements(file) if isinstance(row, Judgement)]
        for dataset in {row.dataset for row in judgements}:
            part = [row for row in judgements if row.dataset == dataset]
            scores = [score.value for score in length.score_batch([(row.history, row.response) for row in part])]
            expected = stats.spearmanr(scores, [row.rating for row in part])
            assert whole[dataset]["spearman"]["value"] == pytest.approx(expected.statistic)
            assert np.isfinite(whole[dataset]["spearman"]["low"])

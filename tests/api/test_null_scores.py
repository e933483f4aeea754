"""Where a metric cannot judge: null and a note in the row, and a number in no table, mean, quantile, correlation or picture."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tacit.api.scoring.statistics import MAX_NOTES, Tally
from tacit.reasoning import ItemScores, Score, Signature
from tacit.reasoning.base import no_score

from tests.api.conftest import Tacit

HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
RESPONSES = {
    "good": "Let's make a soup with the carrots.",
    "german": "Ich habe heute leider gar keinen Hunger.",
    "mash": "asdf qwer zxcv",
    "good too": "I like to cook dinner for my friends.",
    "no concept": "Hmm, me too!",
    "stuffed": "soup dinner carrot cook kitchen knife",
}
REASONS = {
    "german": "the response cannot be judged: it is not in English",
    "mash": "the response cannot be judged: it has typed keys in place of words",
    "no concept": "the response mentions no concept of the graph",
    "stuffed": "the response cannot be judged: it is a row of keywords, not a sentence",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    lines = (json.dumps({"id": name, "history": HISTORY, "response": text}) for name, text in RESPONSES.items())
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_rows_the_table_and_the_report_say_what_was_not_judged(
    tacit: Tacit, file: Path, sample_graph: str, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    done = tacit("score", file, "--graph", sample_graph, "--metrics", "grounding,length", "--json", "--html", page)
    assert done.status == 0, done.err
    assert {row["id"]: row["notes"]["grounding"] for row in done.rows if "notes" in row} == REASONS
    assert [row["id"] for row in done.rows if row["scores"]["grounding"] is None] == list(REASONS)
    judged = [row["scores"]["grounding"] for row in done.rows if row["scores"]["grounding"] is not None]
    (line,) = [
        line.split()
        for line in done.err.splitlines()
        if line.split()[:1] == ["grounding"] and not {"judge", "percentiles:"} & set(line.split())
    ]
    assert line[1:4] == ["2", "4", f"{sum(judged) / 2:.4g}"] or pytest.approx(sum(judged) / 2, abs=1e-3) == float(line[3])
    assert "grounding could not judge 4 items: the response cannot be judged: it is not in English (1); " in done.err
    assert "length could not" not in done.err
    report = page.read_text(encoding="utf-8")
    assert "Not judged: 4 items. the response cannot be judged: it is not in English (1); " in report
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", report[report.index("<h2>Scores</h2>") :])
    assert cells[:4] == ["grounding", "2", "4", f"{sum(judged) / 2:.3f}"]
    assert "nan" not in re.sub(r"<(style|script).*?</\\1>", "", report, flags=re.DOTALL).lower()


def test_what_is_not_judged_is_in_no_correlation_and_counted(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    good = [
        ("Let's make a soup with the carrots.", 5.0),
        ("The library is closed today.", 1.0),
        ("A dog wants a walk in the park.", 2.0),
    ]
    bad = [("Ich habe heute leider gar keinen Hunger.", 5.0), ("asdf qwer zxcv", 5.0)]
    correlations = []
    for name, texts in (("good", good), ("all", good + bad)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps({"history": HISTORY, "response": text, "rating": rating}) for text, rating in texts))
        words = ("evaluate", path, "--metrics", "grounding", "--graph", sample_graph, "--resamples", 100)
        (row,) = tacit(*words, "--json").json
        correlations.append(row)
    assert correlations[0]["pearson"] == correlations[1]["pearson"]
    assert [(row["n"], row["left_out"]["unscored"]) for row in correlations] == [(3, 0), (3, 2)]
    assert "2 responses that it cannot judge" in tacit(*words).out


def test_counts_of_notes_are_bounded_and_add_up() -> None:
    signature = Signature("m", (), 1)
    whole, half = Tally(), Tally()
    for number in range(3 * MAX_NOTES):
        row = ItemScores(number, {"m": no_score(f"reason {number}", signature)})
        (whole if number % 2 else half).add(row)
    whole.add(ItemScores("x", {"m": Score(0.5, no_score("", signature).evidence, signature)}))
    whole.merge(Tally.from_dict(json.loads(json.dumps(half.to_dict()))))
    assert (whole.not_judged("m"), whole.judged["m"], whole.mean("m")) == (3 * MAX_NOTES, 1, 0.5)
    assert len(whole.unjudged["m"]) <= MAX_NOTES + 1

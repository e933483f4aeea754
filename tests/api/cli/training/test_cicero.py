"""``tacit train cicero`` on a small file, its models in ``tacit infer`` and ``tacit choose``, and wrong usage in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tacit.reasoning.metrics.judgement import MODEL_FILE

from tests.api.conftest import Tacit
from tests.reasoning.metrics.accent.tiny_judges import save_judge
from tests.reasoning.models.tiny_t5 import save_tiny_t5

RECORD = {
    "ID": "c-1", "Dialogue": ["A: I cooked dinner for you .", "B: Thank you !"], "Target": "I cooked dinner for you .",
    "Question": "What is or could be the motivation of target?",
    "Choices": ["The speaker feeds the listener with joy today .", "The speaker swims ."], "Correct Answers": [0],
}  # fmt: skip


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with instances, a tiny model and a recipe."""
    folder = tmp_path_factory.mktemp("cicero")
    (folder / "cicero.json").write_text(json.dumps(RECORD) + "\n", encoding="utf-8")
    (folder / "talk.jsonl").write_text('{"turns": ["hi"]}\n', encoding="utf-8")
    (folder / "recipe.toml").write_text('rate = 1e-2\noptimizer = "adamw"\n', encoding="utf-8")
    save_tiny_t5(folder / "t5", [json.dumps(RECORD).replace('"', " "), *RECORD["Choices"]])  # type: ignore[list-item]
    return folder


def test_a_trained_model_answers_beside_the_graph_and_judges_choices(tacit: Tacit, inputs: Path, sample_graph: Path) -> None:
    common = ["--model", inputs / "t5", "--recipe", inputs / "recipe.toml", "--epochs", "30", "--json", "-q"]
    for task in ("generate", "choose"):
        outcome = tacit("train", "cicero", inputs / "cicero.json", "--task", task, "--output", inputs / task, *common)
        [entry] = outcome.rows
        assert (outcome.status, entry["task"], entry["kind"], entry["examples"]) == (0, task, "seq2seq", 1)
        assert entry["last_loss"] < entry["first_loss"]
        card = (inputs / task / "README.md").read_text(encoding="utf-8")
        assert f"tacit train cicero cicero.json --task {task} --output {task} --model t5" in card.replace(str(inputs) + "/", "")
        assert str(inputs) not in card
        assert "- `cicero.json`, 1 instances, sha256 `" in card
    infer = ["infer", inputs / "cicero.json", "--graph", sample_graph, "-q"]
    [row] = tacit(*infer, "--model", inputs / "generate", "--json").rows
    *_, last = row["turns"][0]["answers"]["motivation"]
    assert (last["origin"], "edge" in last) == ("model", False)
    assert last["text"]
    assert f"    {last['text']}: model" in tacit(*infer, "--model", inputs / "generate").out
    assert "model:" not in tacit(*infer).out
    choose = ["choose", inputs / "cicero.json", "--graph", sample_graph, "--json", "-q", "--model"]
    for task in ("generate", "choose"):
        [row] = tacit(*choose, inputs / task).rows
        assert list(row["choices"][0]["shares"]) == ["answers", "graph", "trained"]


def test_choose_uses_a_trained_probe(tacit: Tacit, tmp_path: Path, sample_graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [RECORD | {"ID": f"c-{number}", "Target": f"day {number}"} for number in range(10)]
    instances = tmp_path / "some.json"
    instances.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model = save_judge(tmp_path / "model", layers=2, more=["yes no", ": yes", ": no"])
    train = ["train", "choice-probe", instances, "--model", model, "--output", tmp_path / "probe"]
    outcome = tacit(*train, "--json", "-q")
    assert outcome.status == 0, outcome.err
    [entry] = outcome.rows
    assert (entry["instances"], entry["dialogues"], entry["pairs"], entry["ordered"]) == (10, 10, 10, 1.0)
    card = (tmp_path / "probe" / "README.md").read_text(encoding="utf-8")
    assert "tacit train choice-probe some.json --model model --output probe" in card.replace(f"{tmp_path}/", "")
    assert "- `some.json`, 10 instances, sha256 `" in card
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "probe", "some.json"]

    choose = ["choose", instances, "--judge", "answers", "--json", "-q", "--answers", "1", "--model", model]
    judged = tacit(*choose, "--judge", "probe", "--probe", tmp_path / "probe").rows
    assert [row["chosen"] for row in judged] == [[0]] * 10
    assert list(judged[0]["choices"][0]["shares"]) == ["answers", "probe"]
    [row, *_] = tacit(*choose, "--judge", "yes-no").rows
    assert list(row["choices"][0]["shares"]) == ["answers", "yes-no"]
    with_graph = ["choose", instances, "--graph", sample_graph, "--json", "-q", "--model", model]
    [row, *_] = tacit(*with_graph, "--probe", tmp_path / "probe").rows
    assert list(row["choices"][0]["shares"]) == ["graph", "probe"]
    [row, *_] = tacit(*with_graph).rows
    assert list(row["choices"][0]["shares"]) == ["answers", "graph", "yes-no"]
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    default = ["choose", instances, "--graph", sample_graph, "--json"]
    outcome = tacit(*default)
    assert list(outcome.rows[0]["choices"][0]["shares"]) == ["answers", "graph"]
    assert "yes-no" not in outcome.err
    fetched = shutil.copytree(model, tmp_path / "cache" / "models" / MODEL_FILE)  # a folder in inputs of a file
    monkeypatch.setattr("tacit.reasoning.metrics.judgement.has_default", fetched.exists)
    outcome = tacit(*default)
    assert list(outcome.rows[0]["choices"][0]["shares"]) == ["answers", "graph", "yes-no"]
    assert f"yes-no by {MODEL_FILE}" in outcome.err
    named = ["choose", instances, "--judge", "probe", "--probe", tmp_path / "probe", "--json", "-q"]
    assert tacit(*named).rows == tacit(*named, "--model", fetched).rows
    for words, sentence in (
        ([*choose, "--judge", "probe"], "make one with: tacit train choice-probe"),
        ([*choose, "--probe", tmp_path / "probe"], "the judge probe is not named"),
        ([*choose, "--judge", "probe", "--probe", model], "there is no probe at"),
    ):
        outcome = tacit(*words)
        assert outcome.status in (1, 2), words
        assert sentence in outcome.err, (words, outcome.err)


def test_train_choice_head_fits_heads_of_judges(tacit: Tacit, tmp_path: Path, sample_graph: Path) -> None:
    rows = [
        RECORD | {"ID": f"c-{number}", "Dialogue": [f"A: {number} .", "B: Thank you !"], "Target": f"{number} ."}
        for number in range(20)
    ]
    shared = RECORD | {"Dialogue": ["A: I cooked some dinner for you."], "Target": "I cooked some dinner for you."}
    instances, known = tmp_path / "some.json", tmp_path / "known.jsonl"
    instances.write_text("".join(json.dumps(row) + "\n" for row in [*rows, shared]), encoding="utf-8")
    known.write_text('{"turns": ["I cooked some dinner for you .", "Fine ."]}\n', encoding="utf-8")
    train = ["train", "choice-head", instances, "--graph", sample_graph, "--output", tmp_path / "head", "--json", "-q"]
    outcome = tacit(*train, "--exclude", known)
    assert outcome.status == 0, outcome.err
    [entry] = outcome.rows
    assert (entry["instances"], entry["judges"], entry["excluded"]) == (20, ["answers", "graph"], ["known.jsonl"])
    card = (tmp_path / "head" / "README.md").read_text(encoding="utf-8")
    assert "- `some.json`, 21 instances, sha256 `" in card
    assert "known.jsonl were left out" in card
    assert sorted(path.name for path in tmp_path.iterdir()) == ["head", "known.jsonl", "some.json"]
    choose = ["choose", instances, "--graph", sample_graph, "--json", "-q", "--answers", "1"]
    fitted = tacit(*choose, "--head", tmp_path / "head").rows
    assert [row["chosen"] for row in fitted] == [[0]] * 21
    assert f"head:{entry['digest']}" in fitted[0]["signature"]
    assert fitted[0]["scores"] != tacit(*choose).rows[0]["scores"]
    assert "there is no head at" in tacit(*choose, "--head", tmp_path / "none").err
    for setting, sentence in (
        ('judges = ["jury"]', "unknown judge 'jury'; choose from answers, graph, "),
        ('judges = ["graph", "graph"]', "the judge graph is named twice; name it once"),
        ('judges = "graph"', 'judges is "graph"; it must be a list'),
        ('judges = ["graph"]\nencoder = "default"', "the judge similarity is not named"),
    ):
        (tmp_path / "wrong.toml").write_text(setting, encoding="utf-8")
        outcome = tacit(*train[:-3], tmp_path / "other", "--recipe", tmp_path / "wrong.toml", "-q")
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1), outcome
        assert sentence in outcome.err
        assert not (tmp_path / "other").exists()


def test_wrong_usage_is_one_sentence(tacit: Tacit, inputs: Path, sample_graph: Path) -> None:
    train = ["train", "cicero", "--task", "choose", "--output", inputs / "out", "-q"]
    infer = ["infer", inputs / "cicero.json", "--graph", sample_graph, "-q"]
    for words, sentence in (
        ([*train, inputs / "talk.jsonl", "--model", inputs / "t5"], "talk.jsonl has no instance of CICERO"),
        ([*train, inputs / "cicero.json", "--model", inputs / "none"], "there is no model folder"),
        (
            [*train, inputs / "cicero.json", "--model", inputs / "t5", "--recipe", "none"],
            "the recipe none does not exist",
        ),
        ([*infer, "--model", inputs / "t5"], "has no cicero.json of tacit train cicero"),
        ([*infer, "--model", inputs / "none"], "there is no model folder"),
        (["infer", inputs / "cicero.json", "--graph", inputs / "none"], "there is no graph"),
        ([*infer, "--question", "why"], "unknown question 'why'"),
        (["choose", inputs / "cicero.json", "--judge", "trained", "-q"], "the judge trained needs a model"),
    ):
        outcome = tacit(*words)
        assert outcome.status in (1, 2), words
        assert sentence in outcome.err, (words, outcome.err)
        messages = [line for line in outcome.err.splitlines() if not line.startswith(("records of", "  line"))]
        assert len(messages) == 1, outcome.err

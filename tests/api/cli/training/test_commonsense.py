"""``tacit train commonsense``: what it writes and says, what it refuses, and that nothing half-written is left."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tacit.api.cli.training.run import Run
from tacit.graph import atomic
from tacit.reasoning.metrics.commonsense.regressor import FILE, load_regressor
from tacit.reasoning.training import recipe
from tacit.reasoning.training.checkpoints import checkpoints_of
from tacit.reasoning.training.recipe import CommonsenseRecipe, NetworkRecipe

from tests.api.conftest import Tacit

QUICK = ("--quiet",)
WORDS = ["dog", "bone", "food", "pet", "cat", "puppy", "walk", "park", "eat", "run", "house", "sleep", "ball", "play"]


@pytest.fixture(autouse=True)
def _few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit one network for 20 epochs, since no test here asks how good a model is."""
    quick = CommonsenseRecipe(folds=2, resamples=50, networks=NetworkRecipe(members=1, epochs=20, patience=5))
    monkeypatch.setitem(recipe.RECIPES, "commonsense", {"default": quick})


def recipe_file(folder: Path, text: str) -> str:
    """Write a recipe, and return its path."""
    (folder / "recipe.toml").write_text(text, encoding="utf-8")
    return str(folder / "recipe.toml")


def judgements(folder: Path, name: str = "rated.jsonl", rows: Sequence[dict[str, Any]] = (), number: int = 60) -> str:
    """Write made-up judgements: long responses are rated better."""
    rng = random.Random(0)
    returned_rows = []
    for index in range(number):
        history = " ".join(rng.choices(WORDS, k=4))
        response = " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
        returned_rows.append({"id": index, "history": [history], "response": response, "rating": 1 + len(response.split()) / 3})
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in [*returned_rows, *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_training_writes_a_folder_with_model_and_card(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = judgements(tmp_path)
    output = tmp_path / "model"
    chosen = recipe_file(tmp_path, 'licence = "mine"')
    outcome = tacit("train", "commonsense", file, "--graph", sample_graph, "-o", str(output), *QUICK, "--recipe", chosen)
    assert outcome.status == 0, outcome.err
    assert "rated" in outcome.out
    assert "2-fold cross-validation, conversations kept together" in outcome.out
    assert sorted(path.name for path in output.iterdir()) == ["README.md", FILE]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    model = load_regressor(output)
    assert model.facts["data"][0]["judgements"] == 60
    card = (output / "README.md").read_text(encoding="utf-8")
    assert model.digest in card
    assert "| licence of the data | mine |" in card
    assert str(tmp_path) not in card + json.dumps(dict(model.facts))
    assert f"tacit train commonsense rated.jsonl --graph {Path(sample_graph).name} -o model --recipe FILE" in card
    assert "folds = 2" in card
    assert 'licence = "mine"' in card
    scored = tacit(
        "score",
        file,
        "--graph",
        sample_graph,
        "--metrics",
        "commonsense",
        "-O",
        f"commonsense.model={output}",
        "--json",
        "--explain",
    )
    assert scored.status == 0, scored.err
    for line in scored.out.splitlines():
        row = json.loads(line)
        if row["scores"]["commonsense"] is None:
            continue
        pieces = row["evidence"]["commonsense"]["pieces"]
        assert sum(piece["share"] for piece in pieces) == pytest.approx(row["scores"]["commonsense"], abs=1e-6)
        assert [piece["name"] for piece in pieces[1:]] == ["one-hop pairs", "two-hop pairs", "words"]
        assert f"model:{model.digest}" in row["signature"]["commonsense"]


def test_the_result_as_json(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    first, second = judgements(tmp_path, "a.jsonl"), judgements(tmp_path, "b.jsonl", number=40)
    output = tmp_path / "m"
    chosen = recipe_file(tmp_path, 'count = "triples"\nfolds = 0\nshares = [0.6, 0.2, 0.2]\nrounds = 3\n')
    words = ("--graph", sample_graph, "-o", str(output), "--json", *QUICK, "--recipe", chosen)
    outcome = tacit("train", "commonsense", first, second, *words)
    assert outcome.status == 0, outcome.err
    row = json.loads(outcome.out)
    assert row["features"] == ["one_hop", "two_hop", "length"]
    assert row["count"] == "triples"
    assert row["plan"] == {"shares": [0.6, 0.2, 0.2], "rounds": 3}
    assert [score["dataset"] for score in row["scores"]] == ["a", "b"]
    assert set(row["scores"][0]["spearman"]) == {"value", "low", "high", "p"}
    assert len(load_regressor(output).weights) == 2


def test_equal_seeds_give_equal_files_and_replace_old_ones(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = judgements(tmp_path)
    output = tmp_path / "model"
    digests = []
    for seed in ("0", "0", "1"):
        outcome = tacit(
            "train", "commonsense", file, "--graph", sample_graph, "-o", str(output), *QUICK, "--seed", seed, "--json"
        )
        assert outcome.status == 0, outcome.err
        digests.append(json.loads(outcome.out)["digest"])
    assert digests[0] == digests[1] != digests[2]
    assert load_regressor(output).digest == digests[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "rated.jsonl"]


def test_dialogues_without_ratings_are_an_input_error(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl.gz"
    rng = random.Random(1)
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        for index in range(40):
            turns = [" ".join([f"n{index}", *rng.choices(WORDS, k=5)]) for _ in range(4)]
            stream.write(json.dumps({"id": index, "turns": turns}) + "\n")
        stream.write("{}\n")
    output = tmp_path / "model"
    words = ("--graph", sample_graph, "-o", str(output), "--recipe", recipe_file(tmp_path, "contrast = true"))
    outcome = tacit("train", "commonsense", str(file), *words, *QUICK, "--json")
    assert outcome.status == 0, outcome.err
    assert "line 41" in outcome.err
    row = json.loads(outcome.out)
    assert (row["contrast"], row["judgements"], row["conversations"]) == (True, 240, 40)
    assert (load_regressor(output).lowest, load_regressor(output).highest) == (0, 1)
    assert "No ratings were used" in (output / "README.md").read_text(encoding="utf-8")


def test_invalid_rows_are_reported_and_skipped(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"history": [], "response": "x", "rating": None},
        {"history": ["x"], "response": "y" * 200_001, "rating": 1},
        {"history": [], "response": "", "rating": 2},
        {"history": ["🐶"], "response": "是的 " + "la " * 10_000, "rating": 3},
    ]
    file = judgements(tmp_path, rows=bad)
    with Path(file).open("a", encoding="utf-8") as stream:
        stream.write('{"history": ["x"], "response": "y", "rating": NaN}\nno json\n')
    outcome = tacit("train", "commonsense", file, "--graph", sample_graph, "-o", str(tmp_path / "m"), *QUICK, "--json")
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out)["judgements"] == 62
    assert outcome.err.count("\n  line ") == 4
    strict = tacit("train", "commonsense", file, "--graph", sample_graph, "-o", str(tmp_path / "m"), "--strict", *QUICK)
    assert strict.status == 2
    assert "row 61" in strict.err


def wrong(tacit: Tacit, sample_graph: str, *words: str) -> str:
    """Return the sentence with which a command is refused as wrong input."""
    refused = tacit("train", "commonsense", *QUICK, *words, "--graph", sample_graph)
    assert (refused.status, refused.out) == (2, "")
    lines = [line for line in refused.err.splitlines() if line.startswith("tacit: ")]
    assert len(lines) == 1, refused.err
    return lines[0]


def test_wrong_input_is_one_sentence(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = judgements(tmp_path)
    output = str(tmp_path / "m")
    same = tmp_path / "same.jsonl"
    rows = [{"history": [str(index)], "response": "x", "rating": 3} for index in range(40)]
    same.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    short_file = judgements(tmp_path, "few.jsonl", number=5)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    assert "all ratings are 3" in wrong(tacit, sample_graph, str(same), "-o", output)
    assert "5 judgements are too few" in wrong(tacit, sample_graph, short_file, "-o", output)
    assert "has no judgement" in wrong(tacit, sample_graph, str(empty), "-o", output)
    assert "there is no file" in wrong(tacit, sample_graph, str(tmp_path / "none"), "-o", output)
    assert "given twice" in wrong(tacit, sample_graph, file, file, "-o", output)
    for text, sentence in (
        ("folds = 0\nshares = [0.5, 0.5]", "with a sum of 1"), ("folds = 0\nshares = [0.8, 0.1, 0.2]", "with a sum of 1"),
        ("folds = 100", "cannot be divided into 100 folds"), ("fold = 5", "did you mean folds?"),
        ("[networks]\nmembers = 1.5", "networks.members is 1.5; it must be a whole number"),
    ):  # fmt: skip
        assert sentence in wrong(tacit, sample_graph, file, "-o", output, "--recipe", recipe_file(tmp_path, text))
    assert "holds something other than a commonsense regressor" in wrong(tacit, sample_graph, file, "-o", str(tmp_path))
    assert "there is no folder" in wrong(tacit, sample_graph, file, "-o", str(tmp_path / "no" / "where"))
    assert not (tmp_path / "m").exists()


def test_a_missing_graph_or_language_model_is_an_input_error(
    tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    file, output = judgements(tmp_path), str(tmp_path / "m")
    neural = recipe_file(tmp_path, 'variant = "neural"')
    refused = tacit("train", "commonsense", file, "-o", output, *QUICK)
    assert refused.status == 2
    assert "the variant symbolic counts triples of a graph; name one with --graph" in refused.err
    refused = tacit("train", "commonsense", file, "-o", output, "--recipe", neural, *QUICK)
    assert refused.status == 1
    assert "need a causal language model, and none is named" in refused.err
    refused = tacit("train", "commonsense", file, "-o", output, "--recipe", neural, "--model", str(tmp_path), *QUICK)
    assert refused.status == 1
    assert refused.err.count("tacit: ") == 1


def test_a_crash_leaves_the_old_output(tacit: Tacit, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, output = judgements(tmp_path), tmp_path / "model"
    command = ["train", "commonsense", file, "--graph", sample_graph, "-o", str(output), *QUICK]
    assert tacit(*command).status == 0

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before, checkpoints = files(), checkpoints_of(output)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "flush", fail)
        assert tacit(*command, "--seed", "1").status == 2
    with monkeypatch.context() as patch:
        patch.setattr(Run, "write", fail)
        assert tacit(*command, "--seed", "1").status == 2
    assert {path: data for path, data in files().items() if path.parent != checkpoints} == before
    assert checkpoints.is_dir()
    assert tacit(*command, "--seed", "1").status == 0
    assert not checkpoints.exists()


def test_a_regressor_with_losses_of_a_language_model(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    from tests.reasoning.models.tiny_causal import save_tiny_causal

    file, output, folder = judgements(tmp_path), tmp_path / "m", save_tiny_causal(tmp_path / "lm")
    outcome = tacit(
        "train",
        "commonsense",
        file,
        "--graph",
        sample_graph,
        "-o",
        str(output),
        "--recipe",
        recipe_file(tmp_path, 'variant = "all"'),
        "--model",
        str(folder),
        "--json",
        *QUICK,
    )
    assert outcome.status == 0, outcome.err
    row = json.loads(outcome.out)
    assert row["language_model"]["signature"].startswith("lm@")
    assert row["language_model"]["id"] is None
    score = ["score", file, "--graph", sample_graph, "--metrics", "commonsense", "-O", f"commonsense.model={output}", "--json"]
    refused = tacit(*score)
    assert refused.status == 1
    assert "reads losses of a causal language model (trained with lm@" in refused.err
    scored = tacit(*score, "-O", f"commonsense.language_model={folder}")
    assert scored.status == 0, scored.err
    assert (
        f"language_model:{row['language_model']['signature']}"
        in json.loads(scored.out.splitlines()[0])["signature"]["commonsense"]
    )

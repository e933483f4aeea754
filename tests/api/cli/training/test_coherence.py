"""``tacit train coherence`` on two small corpora: a checkpoint with its card, that scores, and what cannot be trained on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

from tests.api.conftest import Tacit
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

SMALL = "terms = 500\nedges = 200\nmax_pairs = 150\n"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two corpora, one of them in two files, with judgements and a tiny encoder."""
    folder = tmp_path_factory.mktemp("coherence")
    save_tiny_encoder(folder / "encoder", modes=("mean",))
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    for seed, (name, topic) in enumerate((("pets-train.jsonl", "pets"), ("pets-dev.jsonl.gz", "pets"), ("sea.jsonl", "sea"))):
        lines = "".join(json.dumps({"turns": turns}) + "\n" for turns in tiny_dialogues(40, seed=seed, only=topic))
        (folder / name).write_bytes(gzip.compress(lines.encode()) if name.endswith("gz") else lines.encode())
    first = tiny_dialogues(40, seed=2, only="sea")[3]
    seen = {"history": list(first[:2]), "response": "no", "rating": 1}
    (folder / "judged.jsonl").write_text(json.dumps(seen) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def words(inputs: Path) -> list[Any]:
    """A command that trains quickly."""
    files = [inputs / name for name in ("pets-train.jsonl", "pets-dev.jsonl.gz", "sea.jsonl")]
    return ["train", "coherence", *files, "--encoder", inputs / "encoder", "--recipe", inputs / "small.toml"]


def test_a_checkpoint_is_trained_and_scores(tacit: Tacit, words: list[Any], inputs: Path) -> None:
    model = inputs / "model"
    (inputs / "mine.toml").write_text(SMALL + 'licence = "CDLA"\n', encoding="utf-8")
    recipe = ("--recipe", inputs / "mine.toml")
    facts = tacit(*words, "-o", model, "--exclude", inputs / "judged.jsonl", *recipe, "--json").json
    assert [row["file"] for row in facts["data"]] == ["pets-train.jsonl", "pets-dev.jsonl.gz", "sea.jsonl"]
    assert set(facts["corpora"]) == {"pets", "sea"}
    assert facts["left out"]["excluded"] > 0
    assert set(facts["areas of parts trained without the corpus"]) == {"similarity", "association", "selection", "repetition"}
    names = sorted(str(path.relative_to(model)) for path in model.rglob("*") if path.is_file())
    arrays = [f"associations/{name}" for name in ("offsets.npy", "targets.npy", "terms.marisa", "weights.npy")]
    assert names == ["README.md", *arrays, "coherence.json", "selection.safetensors"]
    card = (model / "README.md").read_text(encoding="utf-8")
    assert facts["digest"] in card
    assert "CDLA" in card
    assert str(inputs) not in card
    (inputs / "items.jsonl").write_text('{"history": ["i have a dog"], "response": "give it a bone"}\n', encoding="utf-8")
    options = ["-O", f"coherence.checkpoint={model}", "-O", f"coherence.encoder={inputs / 'encoder'}"]
    scored = tacit("score", inputs / "items.jsonl", "--metrics", "coherence", *options, "--json", "--explain").rows[0]
    assert f"checkpoint:{facts['digest']}" in scored["signature"]["coherence"]
    names = [piece["name"] for piece in scored["evidence"]["coherence"]["pieces"]]
    assert names == ["bias", "similarity", "association", "selection", "repetition"]


def test_training_again_replaces_the_checkpoint_and_shows_it(tacit: Tacit, words: list[Any], inputs: Path) -> None:
    first = tacit(*words, "-o", inputs / "again", "--json").json
    shown = tacit(*words, "-o", inputs / "again", "--seed", 1)
    assert shown.status == 0, shown.err
    assert "selection tells true from false" in shown.out
    assert first["digest"] not in (inputs / "again" / "README.md").read_text(encoding="utf-8")
    assert not list(inputs.glob(".again*"))


def test_coherence_is_trained_on_treebank_paragraphs(tacit: Tacit, words: list[Any], inputs: Path) -> None:
    """The same turns as JSON lines give the same associations, head and weights."""
    word = "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"
    rows = [
        ("" if inputs else "# newpar\n") + f"# text = {turn}\n{word}"
        for turns in tiny_dialogues(40, seed=2, only="sea")
        for inputs, turn in enumerate(turns)
    ]
    (inputs / "bank").mkdir()
    (inputs / "bank" / "sea.conllu.gz").write_bytes(gzip.compress("".join(rows).encode()))
    responses = {}
    for name, file in (("lines", inputs / "sea.jsonl"), ("paragraphs", inputs / "bank" / "sea.conllu.gz")):
        arguments = [file if word == inputs / "sea.jsonl" else word for word in words]
        responses[name] = tacit(*arguments, "-o", inputs / name, "--json").json
    assert responses["paragraphs"]["data"][-1]["file"] == "sea.conllu.gz"
    assert responses["paragraphs"]["corpora"] == responses["lines"]["corpora"]
    headers = [json.loads((inputs / name / "coherence.json").read_text(encoding="utf-8")) for name in responses]
    assert headers[0]["files"] == headers[1]["files"]
    assert headers[0]["weights"] == headers[1]["weights"]
    assert "- `sea.conllu.gz`: 40 paragraphs, sha256" in (inputs / "paragraphs" / "README.md").read_text(encoding="utf-8")


def test_the_command_of_a_card_contains_no_local_paths(tacit: Tacit, words: list[Any], inputs: Path) -> None:
    typed = [str(word) for word in (*words, "-o", inputs / "fresh")]
    facts = tacit(*typed, "--json").json
    assert facts["command"] == (
        "tacit train coherence pets-train.jsonl pets-dev.jsonl.gz sea.jsonl --encoder encoder --recipe small.toml -o fresh"
    )
    card = (inputs / "fresh" / "README.md").read_text(encoding="utf-8")
    assert str(inputs) not in card
    assert "sea.jsonl --encoder encoder -o fresh --recipe FILE" in card
    assert SMALL.splitlines()[0] in card


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["{inputs}/pets-train.jsonl"], "is given twice"),
        (["{inputs}/judged.jsonl"], "has no dialogue"),
        (["{inputs}/nothing.jsonl"], "nothing.jsonl"),
        (["--exclude", "{inputs}/bad.jsonl"], "neither judgements nor dialogues"),
        (["--exclude", "-"], "cannot read standard input"),
        (["--exclude", "{inputs}/cut.jsonl.gz"], "cut.jsonl.gz ends early, at record "),
        (["--exclude", "{inputs}/sea.jsonl"], "distinct dialogues of sea are left"),
        (["--encoder", "{inputs}/nothing"], "no model folder"),
        (["-o", "{inputs}/encoder"], "holds something other"),
        (["-o", "{inputs}/no/where"], "there is no folder"),
    ],
)
def test_unusable_training_data_is_refused(
    tacit: Tacit, words: list[Any], inputs: Path, change: list[str], sentence: str
) -> None:
    (inputs / "bad.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    (inputs / "cut.jsonl.gz").write_bytes(gzip.compress((inputs / "judged.jsonl").read_bytes())[:-9])
    output = [] if "-o" in change else ["-o", inputs / "none"]
    result = tacit(*words, *output, *(word.format(inputs=inputs) for word in change), "--quiet")
    assert result.status in (1, 2)
    assert sentence in result.err.splitlines()[-1]
    assert "Traceback" not in result.err
    assert not (inputs / "none").exists()
    assert not list(inputs.glob(".none*"))

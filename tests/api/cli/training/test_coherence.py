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
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def words(place: Path) -> list[Any]:
    """A command that trains quickly."""
    files = [place / name for name in ("pets-train.jsonl", "pets-dev.jsonl.gz", "sea.jsonl")]
    return ["train", "coherence", *files, "--encoder", place / "encoder", "--recipe", place / "small.toml"]


def test_a_checkpoint_is_trained_and_scores(tacit: Tacit, words: list[Any], place: Path) -> None:
    model = place / "model"
    (place / "mine.toml").write_text(SMALL + 'licence = "CDLA"\n', encoding="utf-8")
    recipe = ("--recipe", place / "mine.toml")
    told = tacit(*words, "-o", model, "--exclude", place / "judged.jsonl", *recipe, "--json").json
    assert [row["file"] for row in told["data"]] == ["pets-train.jsonl", "pets-dev.jsonl.gz", "sea.jsonl"]
    assert set(told["corpora"]) == {"pets", "sea"}
    assert told["left out"]["excluded"] > 0
    assert set(told["areas of parts trained without the corpus"]) == {"similarity", "association", "selection", "repetition"}
    names = sorted(str(path.relative_to(model)) for path in model.rglob("*") if path.is_file())
    arrays = [f"associations/{name}" for name in ("offsets.npy", "targets.npy", "terms.marisa", "weights.npy")]
    assert names == ["README.md", *arrays, "coherence.json", "selection.safetensors"]
    card = (model / "README.md").read_text(encoding="utf-8")
    assert told["digest"] in card
    assert "CDLA" in card
    assert str(place) not in card
    (place / "items.jsonl").write_text('{"history": ["i have a dog"], "response": "give it a bone"}\n', encoding="utf-8")
    options = ["-O", f"coherence.checkpoint={model}", "-O", f"coherence.encoder={place / 'encoder'}"]
    scored = tacit("score", place / "items.jsonl", "--metrics", "coherence", *options, "--json", "--explain").rows[0]
    assert f"checkpoint:{told['digest']}" in scored["signature"]["coherence"]
    names = [piece["name"] for piece in scored["evidence"]["coherence"]["pieces"]]
    assert names == ["bias", "similarity", "association", "selection", "repetition"]


def test_training_again_replaces_the_checkpoint_and_shows_it(tacit: Tacit, words: list[Any], place: Path) -> None:
    first = tacit(*words, "-o", place / "again", "--json").json
    shown = tacit(*words, "-o", place / "again", "--seed", 1)
    assert shown.status == 0, shown.err
    assert "selection tells true from false" in shown.out
    assert first["digest"] not in (place / "again" / "README.md").read_text(encoding="utf-8")
    assert not list(place.glob(".again*"))


def test_paragraphs_of_a_treebank_are_learnt_from_as_dialogues(tacit: Tacit, words: list[Any], place: Path) -> None:
    """The same turns as JSON lines give the same associations, head and weights."""
    word = "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"
    rows = [
        ("" if place else "# newpar\n") + f"# text = {turn}\n{word}"
        for turns in tiny_dialogues(40, seed=2, only="sea")
        for place, turn in enumerate(turns)
    ]
    (place / "bank").mkdir()
    (place / "bank" / "sea.conllu.gz").write_bytes(gzip.compress("".join(rows).encode()))
    told = {}
    for name, file in (("lines", place / "sea.jsonl"), ("paragraphs", place / "bank" / "sea.conllu.gz")):
        given = [file if word == place / "sea.jsonl" else word for word in words]
        told[name] = tacit(*given, "-o", place / name, "--json").json
    assert told["paragraphs"]["data"][-1]["file"] == "sea.conllu.gz"
    assert told["paragraphs"]["corpora"] == told["lines"]["corpora"]
    headers = [json.loads((place / name / "coherence.json").read_text(encoding="utf-8")) for name in told]
    assert headers[0]["files"] == headers[1]["files"]
    assert headers[0]["weights"] == headers[1]["weights"]
    assert "- `sea.conllu.gz`: 40 paragraphs, sha256" in (place / "paragraphs" / "README.md").read_text(encoding="utf-8")


def test_the_command_of_a_card_names_no_folder(tacit: Tacit, words: list[Any], place: Path) -> None:
    typed = [str(word) for word in (*words, "-o", place / "fresh")]
    told = tacit(*typed, "--json").json
    assert told["command"] == (
        "tacit train coherence pets-train.jsonl pets-dev.jsonl.gz sea.jsonl --encoder encoder --recipe small.toml -o fresh"
    )
    card = (place / "fresh" / "README.md").read_text(encoding="utf-8")
    assert str(place) not in card
    assert "sea.jsonl --encoder encoder -o fresh --recipe FILE" in card
    assert SMALL.splitlines()[0] in card


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (["{place}/pets-train.jsonl"], "is given twice"),
        (["{place}/judged.jsonl"], "has no dialogue"),
        (["{place}/nothing.jsonl"], "nothing.jsonl"),
        (["--exclude", "{place}/bad.jsonl"], "neither judgements nor dialogues"),
        (["--exclude", "-"], "cannot read standard input"),
        (["--exclude", "{place}/cut.jsonl.gz"], "cut.jsonl.gz ends early, at record "),
        (["--exclude", "{place}/sea.jsonl"], "distinct dialogues of sea are left"),
        (["--encoder", "{place}/nothing"], "no model folder"),
        (["-o", "{place}/encoder"], "holds something other"),
        (["-o", "{place}/no/where"], "there is no folder"),
    ],
)
def test_what_cannot_be_trained_on_is_said(tacit: Tacit, words: list[Any], place: Path, change: list[str], sentence: str) -> None:
    (place / "bad.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    (place / "cut.jsonl.gz").write_bytes(gzip.compress((place / "judged.jsonl").read_bytes())[:-9])
    output = [] if "-o" in change else ["-o", place / "none"]
    found = tacit(*words, *output, *(word.format(place=place) for word in change), "--quiet")
    assert found.status in (1, 2)
    assert sentence in found.err.splitlines()[-1]
    assert "Traceback" not in found.err
    assert not (place / "none").exists()
    assert not list(place.glob(".none*"))

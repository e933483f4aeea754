"""The commands ``evaluate-tuples`` and ``train accent``, as people and programs call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..reasoning.tiny_t5 import save_tiny_t5
from .conftest import Tacit

ROWS = [
    {
        "history": "I lost my dog . </UTT>",
        "response": "That is sad . I hope you find him .",
        "tuples_single": [],
        "tuples_pair": [["PersonX loses PersonX's dog", "oReact", "PersonY be sad"]],
    },
    {
        "history": "Hi . </UTT>",
        "response": "I am moving to Paris to marry my boyfriend .",
        "tuples_single": [["PersonX moves to Paris", "xIntent", "PersonX marries PersonX's boyfriend"]],
        "tuples_pair": [],
    },
    {"history": "Hi . </UTT>", "response": "Yes .", "tuples_single": [], "tuples_pair": []},
]


@pytest.fixture
def deco(tmp_path: Path) -> Path:
    path = tmp_path / "deco.json"
    path.write_text(json.dumps(ROWS), encoding="utf-8")
    return path


def test_a_table_for_people(tacit: Tacit, deco: Path) -> None:
    pytest.importorskip("sacrebleu")
    done = tacit("evaluate-tuples", deco, "--encoder", "none")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].split()[:4] == ["relation", "human", "extracted", "both"]
    intent = next(line.split() for line in lines if line.startswith("xIntent"))
    assert intent[1:6] == ["1", "1", "1", "1.000", "1.000"]
    assert "3 dialogues; 2 human tuples" in done.out
    assert "extractor rules-3" in done.err


def test_json_and_a_file_for_programs(tacit: Tacit, deco: Path, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    found = tmp_path / "found.jsonl"
    done = tacit(
        "evaluate-tuples", deco, "--encoder", "none", "--json", "--quiet", "-o", found, "-O", "cache_size=9", "--kind", "pair"
    )
    assert done.json["extractor"].startswith("rules-3;pipeline=")
    assert done.json["relations"][0]["relation"] == "micro"
    assert done.json["relations"][0]["human"] == 1
    assert done.err == ""
    rows = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert rows[2]["tuples"] == []
    assert {"head", "relation", "tail", "kind", "head_at", "tail_at"} == set(rows[0]["tuples"][0])


def test_what_is_wrong_is_said_in_a_sentence(tacit: Tacit, deco: Path) -> None:
    for words, sentence in (
        (("nothing.json",), "there is no file nothing.json"),
        ((deco, "--extractor", "cskb"), "the extractor cskb needs a graph; give one with --graph"),
        ((deco, "-O", "beams"), "--option beams is not NAME=VALUE, e.g. cache_size=1000"),
        ((deco, "-O", "beams=3"), "the extractor rules has no option 'beams'; it has pipeline, cache_size"),
        ((deco, "-o", deco), "is the input; write to another file"),
    ):
        done = tacit("evaluate-tuples", *words)
        assert done.status == 2, sentence
        assert sentence in done.err
        assert done.err.count("\n") == 1


def test_a_model_is_trained_and_then_extracts(tacit: Tacit, deco: Path, tmp_path: Path) -> None:
    for package in ("torch", "transformers", "sacrebleu"):
        pytest.importorskip(package)
    base = save_tiny_t5(tmp_path / "base", [str(row) for row in ROWS])
    words = ("train", "accent", deco, "--model", base, "-o", tmp_path / "out", "--epochs", 1, "--nones", 1, "--device", "cpu")
    done = tacit(*words, "--json", "--quiet")
    assert (done.json["tuples"], done.json["nones"]) == (2, 12)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "`deco.json`, 3 dialogues with 2 tuples, sha256" in card
    assert "tacit train accent deco.json --model base -o out" in card
    assert str(tmp_path) not in card
    scored = tacit(
        "evaluate-tuples", deco, "--extractor", "t5", "-O", f"model={tmp_path / 'out'}", "-O", "beams=1", "--encoder", "none",
        "--json", "--quiet",
    )  # fmt: skip
    assert done.json["digest"] in scored.json["extractor"]


def test_training_is_refused_before_it_costs_anything(tacit: Tacit, deco: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("all of it")
    for words, sentence in (
        ((deco, "--model", "x", "-o", mine), "holds something other than an extractor"),
        ((deco, deco, "--model", "x", "-o", tmp_path / "out"), "is given twice"),
        ((deco, "--model", tmp_path / "none", "-o", tmp_path / "out"), "there is no model folder"),
    ):
        done = tacit("train", "accent", *words)
        assert done.status in (1, 2)
        assert sentence in done.err

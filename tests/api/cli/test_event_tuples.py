"""The commands ``score-tuples``, ``merge-cache``, ``evaluate-tuples`` and ``train accent``."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph
from tacit.reasoning import load_metric

from tests.api.conftest import Tacit
from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.models.tiny_t5 import save_tiny_t5

pytest.importorskip("transformers")


ATOMIC = (
    ("PersonX buys a dog", "xWant", "to feed the dog"),
    ("PersonX buys a dog", "xReact", "happy"),
    ("PersonX goes to the beach", "xWant", "to swim"),
    ("PersonX goes to the beach", "xReact", "happy"),
    ("PersonX is hungry", "Causes", "PersonX goes to food"),
)
LINES = (
    '{"head": "PersonX buys a dog", "relation": "xReact", "tail": "PersonX is happy", "id": 7}',
    "",
    '{"head": "PersonX buys a dog", "relation": "xLikes", "tail": "bones"}',
    '{"head": "PersonX buys a dog", "tail": "bones"}',
    "[1]",
    "{",
    '{"head": " ", "relation": "xWant", "tail": "to go"}',
    '{"head": "Köpek", "relation": "xWant", "tail": "çok güzel 😀"}',
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, a tiny encoder and a retriever that was trained on them by its command."""
    from tacit.api.main import run

    folder = tmp_path_factory.mktemp("tuples")
    rows = "".join("\t".join(row) + "\n" for row in ATOMIC)
    (folder / "atomic.tsv").write_text(rows, encoding="utf-8")
    (folder / "tuples.jsonl").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    save_tiny_encoder(folder / "encoder", modes=["mean"])
    graph = str(folder / "graph")
    assert run(["load", "atomic2020", str(folder / "atomic.tsv"), "--into", graph, "--quiet", "--json"]) == 0
    command = ["train", "retriever", graph, "--output", str(folder / "model"), "--encoder", str(folder / "encoder")]
    (folder / "recipe.toml").write_text("batch_size = 4\nparts = 4\n", encoding="utf-8")
    assert run([*command, "--steps", "3", "--recipe", str(folder / "recipe.toml"), "--json", "--quiet"]) == 0
    return folder


def words(inputs: Path, *more: object) -> list[object]:
    return [
        "score-tuples", inputs / "tuples.jsonl", "--graph", inputs / "graph", "-O", f"encoder={inputs / 'encoder'}",
        "-O", f"model={inputs / 'model'}", *more,
    ]  # fmt: skip


def test_every_line_gets_a_score_or_an_error_in_order(tacit: Tacit, inputs: Path) -> None:
    done = tacit(*words(inputs))
    assert done.status == 0
    rows = done.rows
    assert len(rows) == len(LINES) - 1
    assert rows[0]["id"] == 7
    assert rows[0]["score"] == pytest.approx(1.0, abs=1e-3)
    (closest,) = rows[0]["closest"]
    assert (closest["tail"], closest["origin"], closest["source"], closest["head"]) == (
        "happy", "graph", "atomic2020", "PersonX buys a dog",
    )  # fmt: skip
    assert [row.get("error", "")[:30] for row in rows[1:6]] == [
        "there is no relation 'xLikes' ", "relation is missing; expected ", "not a JSON object", rows[4]["error"][:30],
        "head is empty",
    ]  # fmt: skip
    assert "not JSON" in rows[4]["error"]
    assert {close["origin"] for close in rows[6]["closest"]} == {"nearest"}
    assert "not scored" in done.err
    assert "signature blend(known:compatibility-2(graph;" in done.err


def test_the_default_scorer_is_that_of_accent(tacit: Tacit, inputs: Path) -> None:
    with open_graph(inputs / "graph") as graph:
        metric = load_metric("accent", graph, encoder=inputs / "encoder", model=inputs / "model")
        scorer = dict(metric.signature.parts)["scorer"]
    assert scorer.startswith("blend(")
    assert f"signature {scorer}\n" in tacit(*words(inputs)).err


@pytest.mark.parametrize("scorer", ["compatibility", "retriever", "blend"])
def test_scores_do_not_depend_on_batches_or_file_formats(tacit: Tacit, inputs: Path, tmp_path: Path, scorer: str) -> None:
    expected = tacit(*words(inputs, "--scorer", scorer, "--quiet")).rows
    assert all(0 <= row["score"] <= 1 for row in expected if "score" in row)
    small = tacit(*words(inputs, "--scorer", scorer, "--quiet", "--batch-size", 1)).rows
    assert [row.get("score") for row in small] == pytest.approx([row.get("score") for row in expected], abs=1e-5)
    out = tmp_path / "out.jsonl.gz"
    done = tacit(*words(inputs, "--scorer", scorer, "--output", out))
    assert done.out == ""
    with gzip.open(out, "rt", encoding="utf-8") as file:
        assert [json.loads(line) for line in file] == expected


def test_relations_of_the_graph_are_known_to_compatibility(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(
        '{"head": "PersonX is hungry", "relation": "Causes", "tail": "PersonX go to food"}\n', encoding="utf-8"
    )
    done = tacit(
        "score-tuples", tmp_path / "one.jsonl", "--graph", inputs / "graph", "-O", f"encoder={inputs / 'encoder'}", "-O",
        f"model={inputs / 'model'}", "--scorer", "compatibility", "--quiet",
    )  # fmt: skip
    assert done.rows[0]["score"] == pytest.approx(1.0, abs=1e-3)


def test_similar_heads_are_suggested(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(
        '{"head": "PersonX buys a puppy", "relation": "xReact", "tail": "happy"}\n', encoding="utf-8"
    )
    done = tacit(
        "score-tuples", tmp_path / "one.jsonl", "--graph", inputs / "graph", "-O", f"encoder={inputs / 'encoder'}", "-O",
        f"model={inputs / 'model'}", "--quiet", "-O", "accent.nearest=1", "-O", "threshold=-1",
    )  # fmt: skip
    closest = done.rows[0]["closest"][0]
    assert closest["origin"] == "nearest"
    assert closest["head"] in {head for head, _, _ in ATOMIC}
    assert -1 <= closest["head_similarity"] <= 1


def test_errors_are_one_sentence(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n[]\n", encoding="utf-8")
    bad = [
        "score-tuples",
        tmp_path / "bad.jsonl",
        "--graph",
        inputs / "graph",
        "-O",
        f"encoder={inputs / 'encoder'}",
        "-O",
        f"model={inputs / 'model'}",
    ]
    for command, sentence in (
        (["score-tuples", "nothing.jsonl", "--graph", inputs / "graph"], "there is no file nothing.jsonl"),
        (["score-tuples", inputs / "tuples.jsonl", "--graph", tmp_path / "none"], "there is no graph at"),
        (
            words(inputs, "--scorer", "kg-bert", "-O", f"model={inputs / 'encoder'}"),
            "not a AutoModelForSequenceClassification",
        ),
        (words(inputs, "--strict"), ":3: there is no relation 'xLikes'"),
        (words(inputs, "--output", inputs / "tuples.jsonl"), "is the input; write to another file"),
        (bad, "has no tuple that can be scored; the first error: line 1: head is missing"),
        (
            [
                "score-tuples",
                inputs / "tuples.jsonl",
                "--graph",
                inputs / "graph",
                "-O",
                f"encoder={inputs / 'encoder'}",
            ],
            "was trained on vectors of",
        ),
    ):
        done = tacit(*command)
        assert done.status in (1, 2), sentence
        assert sentence in done.err


def test_train_retriever_writes_a_card(inputs: Path) -> None:
    card = (inputs / "model" / "README.md").read_text(encoding="utf-8")
    assert "4 triples with 2 heads" in card
    assert "tacit train retriever GRAPH --output FOLDER --recipe FILE" in card
    assert "steps = 3\nbatch_size = 4\nrate = 0.001\nparts = 4\n" in card
    assert str(inputs) not in card
    assert "CC BY 4.0" in (inputs / "model" / "LICENSE").read_text(encoding="utf-8")


def test_invalid_trainings_are_refused_before_they_start(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("keep me")
    for name, options in (("retriever", []), ("comet", ["--model", "x"]), ("kg-bert", ["--model", "x"])):
        done = tacit("train", name, inputs / "graph", "--output", tmp_path / "taken", *options)
        assert done.status == 2
        assert "holds something other than" in done.err


def test_comet_is_trained_from_a_causal_model_and_generates(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    base, comet = save_tiny_causal(tmp_path / "base", positions=160, kind="llama"), tmp_path / "comet"
    (tmp_path / "recipe.toml").write_text("steps = 2\nbatch_size = 2\nlayers = 1\n", encoding="utf-8")
    settings = ("--recipe", tmp_path / "recipe.toml", "--dtype", "bfloat16", "--json")
    done = tacit("train", "comet", inputs / "graph", "--output", comet, "--model", base, *settings)
    assert done.status == 0
    assert (done.json["triples"], done.json["steps"]) == (len(ATOMIC), 2)
    card = (comet / "README.md").read_text(encoding="utf-8")
    assert 'layers = 1\ndtype = "bfloat16"\n' in card
    assert "the top 1 layers" in card
    rows = tacit(*words(inputs, "--scorer", "comet-loss", "-O", f"comet={comet}", "--quiet")).rows
    alone = tacit(*words(inputs, "--scorer", "comet-loss", "-O", f"comet={comet}", "--quiet", "--batch-size", 1)).rows
    scores = [row["score"] for row in rows if "score" in row]
    assert scores == pytest.approx([row["score"] for row in alone if "score" in row], abs=1e-5)
    assert all(0 < score < 1 for score in scores)
    origins = [
        tail["origin"] for row in tacit(*words(inputs, "-O", f"comet={comet}", "--quiet")).rows for tail in row.get("closest", ())
    ]
    assert {"graph", "comet"} <= set(origins)


JUDGED = "head,relation,tail,label\n" + "".join(
    f"PersonX has {number} dogs,xWant,to {('swim', 'feed the dogs')[number % 3 != 0]},{int(number % 3 != 0)}\n"
    for number in range(24)
)


def test_a_probe_is_trained_and_judges(tacit: Tacit, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    model = save_tiny_causal(tmp_path / "model", positions=4096, kind="llama")
    (tmp_path / "judged.csv").write_text(JUDGED + "PersonX sings,gWant,to stop,1\n")
    train = ("train", "llm-probe", tmp_path / "judged.csv", "--model", model, "--licence", "MIT")
    done = tacit(*train, "--output", tmp_path / "probe", "--json")
    assert done.status == 0
    assert (done.json["tuples"], done.json["heads"]) == (24, 24)
    assert not list(tmp_path.glob(".probe*"))
    assert done.json["files"][0]["file"] == "judged.csv"
    assert "judged.csv without a judged tuple:\n  line 26: there is no relation 'gWant' between events" in done.err
    card = (tmp_path / "probe" / "README.md").read_text(encoding="utf-8")
    assert str(tmp_path) not in card
    assert "| licence of the data | MIT |" in card
    assert "tacit train llm-probe judged.csv --model model" in card

    command = (
        "score-tuples",
        inputs / "tuples.jsonl",
        "--graph",
        inputs / "graph",
        "--scorer",
        "llm-probe",
        "-O",
        f"model={model}",
    )
    judged = tacit(*command, "-O", f"probe={tmp_path / 'probe'}")
    scores = [row["score"] for row in judged.rows if "score" in row]
    assert len(scores) == 2
    assert all(0 < score < 1 for score in scores)
    assert f"signature llm-probe-2({done.json['digest']}:model@" in judged.err
    alone = tacit(*command, "-O", f"probe={tmp_path / 'probe'}", "--quiet", "--batch-size", 1).rows
    assert [row["score"] for row in alone if "score" in row] == pytest.approx(scores, abs=1e-5)
    none = tacit(*command[:-2])
    assert none.status in (1, 2)
    assert "get it with: tacit fetch judge" in none.err
    halved = tacit(*command, "-O", f"probe={tmp_path / 'probe'}", "-O", "dtype=bfloat16")
    assert "dtype=bfloat16" in halved.err
    assert [row["score"] for row in halved.rows if "score" in row] == pytest.approx(scores, abs=0.05)
    for more, reason in (((), "was trained on qwen"), (("-O", f"probe={tmp_path / 'none'}"), "there is no probe at")):
        refused = tacit(*command, *more)
        assert refused.status != 0
        assert reason in refused.err
    assert tacit(*train, "--output", inputs / "model").err.count("holds something other than a probe") == 1
    strict = tacit(*train, "--output", tmp_path / "other", "--strict")
    assert "judged.csv:26: there is no relation 'gWant'" in strict.err
    assert not (tmp_path / "other").exists()


def test_the_metric_takes_a_probe(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    model = save_tiny_causal(tmp_path / "model", positions=4096)
    (tmp_path / "judged.csv").write_text(JUDGED)
    assert tacit("train", "llm-probe", tmp_path / "judged.csv", "--model", model, "-o", tmp_path / "probe").status == 0
    (tmp_path / "talk.jsonl").write_text(
        json.dumps({"history": ["I bought a dog."], "response": "You should feed the dog."}) + "\n"
    )
    options = (f"accent.model={model}", f"accent.probe={tmp_path / 'probe'}", "accent.scorer=llm-probe", "accent.dtype=bfloat16")
    done = tacit(
        "score", tmp_path / "talk.jsonl", "--graph", inputs / "graph", "--metrics", "accent", "--explain", "--json",
        *(word for option in options for word in ("-O", option)),
    )  # fmt: skip
    assert done.status == 0
    assert "llm-probe-2(" in done.out + done.err
    values = [
        (piece["name"], piece["value"]) for piece in pieces(json.loads(done.out.splitlines()[0])) if piece.get("kind") == "tuple"
    ]
    rows = [dict(zip(("head", "relation", "tail"), re.split(" -|-> ", name), strict=True)) for name, _ in values]
    (tmp_path / "found.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    alone = tacit(
        "score-tuples", tmp_path / "found.jsonl", "--graph", inputs / "graph", "--scorer", "llm-probe", "-O", f"model={model}",
        "-O", f"probe={tmp_path / 'probe'}", "-O", "dtype=bfloat16",
    )  # fmt: skip
    assert values
    assert [row["score"] for row in alone.rows] == pytest.approx([value for _, value in values], abs=0.02)


def pieces(data: Any) -> list[dict[str, Any]]:
    """Everything in an explained score that has a kind."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [*([data] if isinstance(data, dict) and "kind" in data else []), *(piece for part in inner for piece in pieces(part))]


def test_generated_tails_are_merged_into_the_graph(tacit: Tacit, inputs: Path, tmp_path: Path) -> None:
    from tacit.graph import open_graph
    from tacit.graph.model import Assertion
    from tacit.reasoning.metrics.accent.tails.tail_cache import journal_of

    graph = tmp_path / "graph"
    assert tacit("load", "atomic2020", inputs / "atomic.tsv", "--into", graph, "--json").status == 0
    with open_graph(graph) as store:
        journal = journal_of(store)
        assert journal is not None
        journal.append([Assertion("/e/PersonX_sings", "xWant", "/e/to_dance", source="comet:m", rank=0, score=-1.0)])
    assert tacit("merge-cache", graph, "--json").json == {"new": 1, "duplicate": 0, "skipped": 0}
    assert "0 generated tails were added to the graph" in tacit("merge-cache", graph).err
    assert "to dance" in tacit("tails", graph, "PersonX sings").out


# The commands ``evaluate-tuples`` and ``train accent``, as people and programs call them.


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


def test_text_output_is_a_table(tacit: Tacit, deco: Path) -> None:
    pytest.importorskip("sacrebleu")
    done = tacit("evaluate-tuples", deco, "--encoder", "none")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].split()[:4] == ["relation", "human", "extracted", "both"]
    intent = next(line.split() for line in lines if line.startswith("xIntent"))
    assert intent[1:6] == ["1", "1", "1", "1.000", "1.000"]
    assert "3 dialogues; 2 human tuples" in done.out
    assert "extractor rules-4" in done.err


def test_json_and_output_file(tacit: Tacit, deco: Path, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    output = tmp_path / "found.jsonl"
    done = tacit("evaluate-tuples", deco, "--encoder", "none", "--json", "--quiet", "-o", output, "--kind", "pair")
    assert done.json["extractor"].startswith("rules-4;pipeline=")
    assert done.json["relations"][0]["relation"] == "micro"
    assert done.json["relations"][0]["human"] == 1
    assert done.err == ""
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert rows[2]["tuples"] == []
    assert {"head", "relation", "tail", "kind", "head_at", "tail_at"} == set(rows[0]["tuples"][0])


def test_errors_about_event_tuples_are_one_sentence(tacit: Tacit, deco: Path) -> None:
    for words, sentence in (
        (("nothing.json",), "there is no file nothing.json"),
        ((deco, "--extractor", "cskb"), "the extractor cskb needs a graph; give one with --graph"),
        ((deco, "-O", "beams"), "--option beams is not rules.NAME=VALUE; the options of rules are pipeline"),
        ((deco, "-O", "rules.beams=3"), "rules has no option 'beams'; it has pipeline"),
        ((deco, "-O", "rules.pipeline=3"), "the option pipeline of rules must be a text or null, not 3"),
        ((deco, "--extractor", "t5", "-O", "t5.beams=many"), "the option beams of t5 must be a whole number, not 'many'"),
        ((deco, deco), "is given twice; give each file once"),
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
    words = ("train", "accent", deco, "--model", base, "-o", tmp_path / "out", "--epochs", 1)
    (tmp_path / "recipe.toml").write_text("none_examples = 1\n", encoding="utf-8")
    words = (*words, "--recipe", tmp_path / "recipe.toml", "--device", "cpu")  # type: ignore[assignment]
    done = tacit(*words, "--json", "--quiet")
    assert (done.json["tuples"], done.json["none_examples"]) == (2, 12)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "`deco.json`, 3 dialogues with 2 tuples, sha256" in card
    assert "tacit train accent deco.json --model base -o out" in card
    assert str(tmp_path) not in card
    scored = tacit(
        "evaluate-tuples", deco, "--extractor", "t5", "-O", f"t5.model={tmp_path / 'out'}", "-O", "beams=1", "--encoder", "none",
        "--json", "--quiet",
    )  # fmt: skip
    assert done.json["digest"] in scored.json["extractor"]


def test_invalid_accent_trainings_are_refused_before_they_start(tacit: Tacit, deco: Path, tmp_path: Path) -> None:
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

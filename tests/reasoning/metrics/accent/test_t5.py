"""The extractor ``t5``: its prompts, what is read from answers, and a tiny model that learns a handful of tuples by heart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.item import Item
from tacit.reasoning.metrics.accent.events import RELATIONS, Kind
from tacit.reasoning.metrics.accent.extractors.t5 import (
    CLAUSES,
    LEAST_LENGTH,
    T5Extractor,
    answer,
    as_tuple,
    make,
    prompt,
    read_answer,
    within,
)
from tacit.reasoning.training import accent
from tacit.reasoning.training.accent import TrainedExtractor, examples_of, train_extractor
from tacit.reasoning.training.loop import Plan
from tacit.reasoning.training.recipe import ExtractorRecipe

from tests.reasoning.models.tiny_t5 import save_tiny_t5

pytest.importorskip("torch")
pytest.importorskip("transformers")


@dataclass
class Row:
    """A dialogue with its human tuples."""

    history: Sequence[str]
    response: str
    tuples: Sequence[Sequence[str]]


ROWS = (
    Row(["do you swim ?"], "i was tired so i slept", [("PersonX is tired", "xEffect", "PersonX sleeps")]),
    Row(["i found gold"], "wow , great", [("PersonX finds gold", "oReact", "PersonY feels great")]),
    Row(["hello", "you there ?"], "i bought bread to eat", [("PersonX buys bread", "xIntent", "PersonX eats")]),
    Row([], "yes", []),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 with random weights that knows the words of the examples."""
    examples = examples_of(ROWS, none_examples=3, seed=1)
    words = [text for example in examples for text in example]
    return save_tiny_t5(tmp_path_factory.mktemp("tiny") / "t5", words)


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainedExtractor, list[tuple[int, int, float]]]:
    folder = tmp_path_factory.mktemp("trained") / "model"
    seen: list[tuple[int, int, float]] = []
    facts = train_extractor(
        ROWS, base, folder, ExtractorRecipe(none_examples=3, epochs=80, batch_size=13, rate=4e-3, seed=1),
        progress=lambda done, total, loss: seen.append((done, total, loss)),
        facts={"files": [{"file": "by-hand.json", "dialogues": len(ROWS), "tuples": 5, "sha256": None}]},
    )  # fmt: skip
    return folder, facts, seen


@pytest.fixture(scope="module")
def extractor(trained: tuple[Path, TrainedExtractor, Any]) -> T5Extractor:
    return make(model=trained[0], device="cpu")


def test_the_prompt_has_the_layout_of_the_paper() -> None:
    item = Item(["Hi .", "Are you ok ?"], "Yes !")
    assert prompt("xNeed", item) == (
        "Extract event1 and event2 from the text where event2 needs to be true for event1 to take place. "
        "Utterance: Hi .</UTT>Are you ok ?</UTT>Yes !"
    )
    assert prompt("isAfter", Item([], "Yes !")).endswith("Utterance: Yes !")
    assert set(CLAUSES) == set(RELATIONS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("event1: PersonX buys bread; event2: PersonX eats", ("PersonX buys bread", "PersonX eats")),
        (" event1: a ;event2: b ", ("a", "b")),
        ("event1: a event2: b; c", ("a", "b; c")),
        ("None", None),
        ("none", None),
        ("", None),
        ("event1: a", None),
        ("event1: ; event2: b", None),
        ("event1: a; event2: .", None),
        ("event2: a; event1: b", None),
    ],
)
def test_generated_answers_are_parsed(text: str, wanted: tuple[str, str] | None) -> None:
    assert read_answer(text) == wanted


def test_tuples_round_trip_through_answers() -> None:
    assert read_answer(answer(" PersonX be sad ", "PersonX cries")) == ("PersonX be sad", "PersonX cries")


def test_the_kind_of_a_tuple_follows_from_the_turn_of_its_head() -> None:
    item = Item(["i lost my old dog"], "that makes me sad and i will cry")
    assert as_tuple("oReact", "PersonX loses PersonX's dog", "PersonY be sad", item).kind is Kind.PAIR
    assert as_tuple("xEffect", "PersonX be sad", "PersonX cries", item) == (
        "PersonX is sad",
        "xEffect",
        "PersonX cries",
        Kind.SINGLE,
        None,
        None,
    )


def test_long_inputs_lose_their_oldest_turns_then_their_end() -> None:
    def size(text: str) -> int:
        return len(text.split())

    item = Item(["a " * 60, "b " * 10], "c " * 20)
    short = within(item, size, LEAST_LENGTH)
    assert short.history == item.history[1:]
    assert short.response == item.response
    assert within(Item([], "c " * 10_000), size, LEAST_LENGTH).response.split() == ["c"] * (LEAST_LENGTH // 2)
    assert len(within(Item([], "😀" * 10_000), len, LEAST_LENGTH).response) == LEAST_LENGTH // 2


def test_training_examples_are_all_tuples_and_some_negatives() -> None:
    examples = examples_of(ROWS, none_examples=2, seed=0)
    assert sum(example.target == "None" for example in examples) == 2 * len(RELATIONS)
    assert ("PersonX is tired", "PersonX sleeps") in [read_answer(example.target) for example in examples]
    assert examples == examples_of(ROWS, none_examples=2, seed=0)
    assert examples != examples_of(ROWS, none_examples=2, seed=1)
    first_examples = examples_of(ROWS[:1], none_examples=5)
    assert (
        sum(example.target == "None" for example in first_examples) == len(RELATIONS) - 1
    )  # its own relation has no dialogue without it
    with pytest.raises(InputError, match="no event tuple to train on"):
        examples_of(ROWS[3:])
    with pytest.raises(InputError, match="none_examples is -1"):
        examples_of(ROWS, none_examples=-1)


def test_training_reports_progress_and_writes_a_log(trained: tuple[Path, TrainedExtractor, list[tuple[int, int, float]]]) -> None:
    folder, facts, seen = trained
    assert facts.tuples == 3
    assert facts.loss < 0.2 < seen[0][2]
    assert [done for done, _, _ in seen] == list(range(1, seen[-1][1] + 1))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"- `by-hand.json`, {len(ROWS)} dialogues with 5 tuples\n" in card
    assert f"{facts.loss:.4f}" in card
    assert {"config.json", "model.safetensors", "tokenizer.json", "accent.json", "README.md"} <= {
        p.name for p in folder.iterdir()
    }
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]


def test_a_trained_model_extracts_learnt_tuples(extractor: T5Extractor) -> None:
    event_tuples = extractor.extract_batch([Item(row.history, row.response) for row in ROWS])
    for row, tuples in zip(ROWS, event_tuples, strict=True):
        assert [event_tuple[:3] for event_tuple in tuples] == [tuple(event_tuple) for event_tuple in row.tuples]


def test_batches_equal_single_items_and_generate_once(extractor: T5Extractor, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Item(row.history, row.response) for row in ROWS]
    alone = make(model=extractor.files.folder, device="cpu", batch_tokens=1)
    assert [alone.extract_batch([item])[0] for item in items] == extractor.extract_batch(items)
    requests: list[str] = []
    answered = alone._answer
    monkeypatch.setattr(alone, "_answer", lambda texts: requests.extend(texts) or answered(texts))
    alone.extract_batch([*items, *items])
    assert requests == []


@pytest.mark.parametrize("response", ["", "  ", "😀", "word " * 10_000, "ありがとう"])
def test_any_text_is_accepted(extractor: T5Extractor, response: str) -> None:
    event_tuples = extractor.extract_batch([Item(["hello"] * 50, response)])
    assert len(event_tuples) == 1
    if not response.strip():
        assert event_tuples == [[]]
    assert extractor.extract_batch([]) == []


def test_equal_seeds_give_equal_models_even_after_a_kill(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accent, "Plan", partial(Plan, keep_every=2))
    steps: list[int] = []

    def die(step: int, _: int, __: float) -> None:
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    def train(name: str, seed: int, progress: Any = None) -> TrainedExtractor:
        return train_extractor(
            ROWS, base, tmp_path / name, ExtractorRecipe(none_examples=1, epochs=2, seed=seed), progress=progress
        )

    whole, other = train("whole", 7), train("other", 8)
    with pytest.raises(KeyboardInterrupt):
        train("died", 7, die)
    resumed = train("died", 7, die)
    assert steps[:4] == [1, 2, 3, 3]
    assert (resumed.digest, resumed.loss) == (whole.digest, whole.loss)
    assert whole.digest != other.digest
    assert not list(tmp_path.glob(".*"))


def test_the_signature_names_model_and_options(extractor: T5Extractor, trained: tuple[Path, TrainedExtractor, Any]) -> None:
    assert extractor.signature == f"t5-1;model=model@{trained[1].digest}"
    assert make(model=trained[0], beams=1, no_repeat=0, device="cpu").signature.endswith(";beams=1;norepeat=0")


def test_old_models_are_replaced_but_other_folders_are_not(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("all of it")
    with pytest.raises(InputError, match="holds something other than an extractor"):
        train_extractor(ROWS, base, other, ExtractorRecipe(epochs=1))
    with pytest.raises(InputError, match="there is no folder"):
        train_extractor(ROWS, base, tmp_path / "no" / "where", ExtractorRecipe(epochs=1))
    first = train_extractor(ROWS, base, tmp_path / "out", ExtractorRecipe(none_examples=0, epochs=1))
    second = train_extractor(ROWS, base, tmp_path / "out", ExtractorRecipe(none_examples=0, epochs=2))
    assert first.digest != second.digest
    assert make(model=tmp_path / "out", device="cpu").files.digest == second.digest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beams": 0}, "beams is 0; it must be >= 1"),
        ({"no_repeat": -1}, "no_repeat is -1"),
        ({"max_length": 10}, "max_length is 10; it must be >= 96"),
    ],
)
def test_wrong_options_are_named(base: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(model=base, device="cpu", **options)


def test_a_missing_model_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="there is no model folder"):
        make(model=tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"has no config\.json"):
        make(model=tmp_path / "empty")

"""Cross-encoders of ratings: learnt from responses or tuples, resumed, used as a metric and as a tuple scorer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning import load_metric
from tacit.reasoning.models.cross_encoder import SCALE, open_cross_encoder
from tacit.reasoning.training.cross_encoder import Example, train_cross_encoder
from tacit.reasoning.training.recipe import RatingRecipe

from tests.reasoning.models.tiny_encoder import save_tiny_encoder

pytest.importorskip("transformers")

WORDS = ("dog", "bone", "food", "sea", "beach", "weekend")
EXAMPLES = [
    Example(f"the {word} {number}", "i like the dog" if good else "i swam in the sea", 4.0 + good, "own", str(number))
    for number, word in enumerate(WORDS * 4)
    for good in (0, 1)
]
RECIPE = RatingRecipe(steps=60, batch_size=8, rate=3e-3, checkpoint_every=5)


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = save_tiny_encoder(tmp_path_factory.mktemp("body") / "tiny", width=32)
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # too small a model to learn with dropout
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(body: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("trained") / "rater"
    return output, train_cross_encoder(EXAMPLES, body, output, RECIPE)


def test_predictions_are_in_the_units_of_the_ratings(trained: tuple[Path, dict[str, Any]]) -> None:
    folder, facts = trained
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "predicts a rating.\n" in card  # without facts for it
    assert "    tacit train cross-encoder\n" in card
    assert (facts["ratings"], facts["held_out"]) == (44, 4)  # two of 24 conversations are left out
    assert facts["pearson"] > 0.9
    metric = load_metric("cross-encoder", model=str(folder))
    items = [(["the dog 1"], "i like the dog"), (["the dog 1"], "i swam in the sea")]
    good, bad = (score.value for score in metric.score_batch(items))
    assert good == pytest.approx(5, abs=0.3)
    assert bad == pytest.approx(4, abs=0.3)
    assert [metric.score(*item).value for item in items] == pytest.approx([good, bad], abs=1e-5)
    assert metric.score(*items[0], explain=True).evidence.pieces[0].share == pytest.approx(good, abs=1e-5)


def test_an_interrupted_training_ends_with_the_same_weights(
    trained: tuple[Path, dict[str, Any]], body: Path, tmp_path: Path
) -> None:
    def die(step: int, _: int, __: float) -> None:
        if step == 12:
            raise KeyboardInterrupt

    facts = {"command": "c", "use": "u", "files": []}
    with pytest.raises(KeyboardInterrupt):
        train_cross_encoder(EXAMPLES, body, tmp_path / "rater", RECIPE, facts=facts, progress=die)
    trained_facts = train_cross_encoder(EXAMPLES, body, tmp_path / "rater", RECIPE, facts=facts)
    assert trained_facts["began_at"] == 10
    pairs = [(example.first, example.second) for example in EXAMPLES[:6]]
    whole, resumed = (open_cross_encoder(folder).predict(pairs) for folder in (trained[0], tmp_path / "rater"))
    np.testing.assert_allclose(resumed, whole, atol=1e-5)


def test_ratings_of_several_sets_are_standardised_within_each(body: Path, tmp_path: Path) -> None:
    other = [example._replace(dataset="other", rating=10 * example.rating) for example in EXAMPLES]
    facts = train_cross_encoder(
        [*EXAMPLES, *other], body, tmp_path / "both", RECIPE, facts={"command": "", "use": "", "files": []}
    )
    assert facts["pearson"] > 0.9  # 4 and 5 in one set are 40 and 50 in the other
    assert json.loads((tmp_path / "both" / "config.json").read_text(encoding="utf-8"))[SCALE] == [0.0, 1.0]


def test_without_held_out_ratings_there_is_no_agreement(body: Path, tmp_path: Path) -> None:
    facts = train_cross_encoder(EXAMPLES, body, tmp_path / "all", RatingRecipe(steps=1, held_out=0.0))
    assert (facts["ratings"], facts["held_out"], facts["pearson"], facts["spearman"]) == (len(EXAMPLES), 0, None, None)


def test_invalid_input_is_refused(body: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few"):
        train_cross_encoder(EXAMPLES[:3], body, tmp_path / "few")
    with pytest.raises(InputError, match="all ratings of own are 1; give ratings that differ"):
        train_cross_encoder([example._replace(rating=1.0) for example in EXAMPLES], body, tmp_path / "same")
    with pytest.raises(ModelError, match=r"not a cross-encoder|is not a AutoModel|cannot be opened"):
        load_metric("cross-encoder", model=str(body))
    with pytest.raises(InputError, match="needs a model; train one on ratings with tacit train cross-encoder"):
        load_metric("cross-encoder")

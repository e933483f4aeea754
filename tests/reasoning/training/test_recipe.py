"""Recipes: what ships can be read back, and a wrong file is refused in one sentence that names the key."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning.training.card import again
from tacit.reasoning.training.recipe import (
    RECIPES,
    CoherenceRecipe,
    CometRecipe,
    GradeRecipe,
    TripleRecipe,
    number_of_steps,
    open_recipe,
    recipe_text,
)

EVERY = [(command, name) for command, named in RECIPES.items() for name in named]


@pytest.mark.parametrize(("command", "name"), EVERY, ids=str)
def test_every_recipe_is_read_back_from_its_text(command: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text(recipe_text(command, name), encoding="utf-8")
    assert open_recipe(command, str(file)) == RECIPES[command][name] == open_recipe(command, name)
    file.write_text(RECIPES[command][name].to_toml(), encoding="utf-8")
    assert open_recipe(command, str(file)) == RECIPES[command][name]


def test_omitted_keys_have_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("terms = 7\n[head]\nepochs = 2\n", encoding="utf-8")
    recipe: CoherenceRecipe = open_recipe("coherence", str(tmp_path / "r.toml"), seed=5)
    assert (recipe.terms, recipe.head.epochs, recipe.seed) == (7, 2, 5)
    assert recipe.head.width == CoherenceRecipe().head.width
    assert CoherenceRecipe.from_dict(asdict(recipe)) == recipe


def test_recipes_stored_in_models_may_have_renamed_and_removed_keys() -> None:
    recipe = CoherenceRecipe.recorded({"copies": 0.5, "average": False, "terms": 5, "head": {"hidden": 0, "width": 3}})
    assert (recipe.copy_share, recipe.terms, recipe.head.width) == (0.5, 5, 3)
    with pytest.raises(InputError, match="copies is not a key there"):
        CoherenceRecipe.from_dict({"copies": 0.5})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("epoch = 2", "epoch is not a key there; did you mean epochs?"),
        ("zzz = 2", "zzz is not a key there; the keys are epochs, steps, batch_size"),
        ('epochs = "2"', 'epochs is "2"; it must be a number'),
        ("epochs = 0", "epochs is 0; it must be > 0"),
        ("epochs = nan", "epochs is NaN; it must be a number"),
        ("steps = 1.5", "steps is 1.5; it must be a whole number"),
        ("steps = true", "steps is true; it must be a whole number"),
        ("steps = [1]", "steps is [1]; it must be a whole number"),
        ('dtype = "half"', "dtype is \"half\"; it must be one of 'float32' or 'bfloat16'"),
        ("seed = -1", "seed is -1; it must be >= 0"),
        ("[seed]\nx = 1", "seed is "),
        ("steps: 1", "is not TOML: "),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "r.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        open_recipe("comet", str(file))
    assert sentence in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[network]\nlimit = [1]", "network.limit is not a key there; did you mean limits?"),
        ("network = 3", "network is 3; it must be a table"),
        ("[network]\nlimits = [1, 0]", "network.limits[1] is 0; it must be >= 1"),
        ("[network]\nlimits = [1, 1, 1, 1]", "network.limits has 4 numbers; it must have at most three"),
    ],
)
def test_a_wrong_table_is_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "r.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        open_recipe("grade", str(tmp_path / "r.toml"))
    assert sentence in str(error.value)


def test_options_override_recipe_values() -> None:
    assert open_recipe("comet", None, epochs=2, seed=None, dtype="bfloat16") == CometRecipe(epochs=2.0, dtype="bfloat16")
    with pytest.raises(InputError, match=r"^--epochs is 0; it must be > 0"):
        open_recipe("comet", None, epochs=0)
    with pytest.raises(InputError, match="does not exist; give a TOML file, or one of the names frozen, tuned, paper"):
        open_recipe("grade", "tune")
    for command, name, sentence in (("grades", None, "there are no recipes of 'grades'"), ("grade", "x", "no recipe 'x'")):
        with pytest.raises(InputError, match=sentence):
            recipe_text(command, name)


def test_steps_follow_from_epochs() -> None:
    assert number_of_steps(TripleRecipe(epochs=2.5, batch_size=10), 100) == 25
    assert number_of_steps(TripleRecipe(steps=3), 100) == 3
    assert number_of_steps(TripleRecipe(epochs=0.001), 10) == 1


def test_local_folders_are_recorded_by_their_names(tmp_path: Path) -> None:
    recipe = GradeRecipe(encoder=str(tmp_path), tuned="bert-base-uncased")
    assert (recipe.portable().encoder, recipe.portable().tuned) == (tmp_path.name, "bert-base-uncased")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("tacit train coherence a b -o x --for other --licence CDLA", "tacit train coherence a b -o x --recipe FILE"),
        ("tacit train grade a --graph=g --seed=3 --recipe my.toml -o x", "tacit train grade a --graph=g -o x --recipe FILE"),
        ("tacit train commonsense a --contrast -o x", "tacit train commonsense a -o x --recipe FILE"),
    ],
)
def test_the_command_of_a_card_has_the_recipe_in_place_of_its_settings(command: str, expected: str) -> None:
    assert again(command) == expected


def test_invalid_values_are_refused_in_python() -> None:
    wrong: Any = "3"
    with pytest.raises(InputError, match='epochs is "3"'):
        GradeRecipe(epochs=wrong).check()


def test_the_recipe_of_the_paper_has_its_keywords() -> None:
    # the released code keeps keywords above 0.15 with idf = log10(...), and ours is the natural logarithm
    recipe = RECIPES["grade"]["paper"]
    assert isinstance(recipe, GradeRecipe)
    network = recipe.network
    assert network.threshold == pytest.approx(0.15 / math.log10(math.e), abs=1e-4)
    assert (network.hidden, network.head, network.pooling) == (300, (1024, 512, 128), "first")
    RECIPES["grade"]["paper"].check()

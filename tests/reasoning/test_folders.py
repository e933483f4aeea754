"""Folders of trained models: whole or not there, and what stood there stays when anything goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning.folders import check_folder, whole_folder


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    with whole_folder(tmp_path / "model") as fresh:
        assert not (tmp_path / "model").exists()
        (fresh / "weights").write_text("old")
    return tmp_path / "model"


def test_a_new_model_takes_the_place_of_the_old_one_whole(model: Path) -> None:
    with whole_folder(model) as fresh:
        (fresh / "more").write_text("new")
        assert texts(model) == {"weights": "old"}
    assert texts(model.parent) == {"model/more": "new"}


def test_what_fails_while_it_is_made_leaves_the_old_one(model: Path) -> None:
    def fail_half_way() -> None:
        with whole_folder(model) as fresh:
            (fresh / "weights").write_text("half")
            fresh.write_text("a folder is no file")

    with pytest.raises(IsADirectoryError):
        fail_half_way()
    assert texts(model.parent) == {"model/weights": "old"}


@pytest.mark.parametrize("failure", [OSError("the disk is full"), KeyboardInterrupt()])
def test_what_fails_while_it_is_put_in_place_leaves_the_old_one(
    model: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise failure
        return rename(self, target)

    def replace_model() -> None:
        with whole_folder(model) as fresh:
            (fresh / "weights").write_text("new")

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(type(failure)):
        replace_model()
    assert texts(model.parent) == {"model/weights": "old"}


def test_a_folder_of_something_else_is_not_taken(model: Path) -> None:
    check_folder(model, "weights", "a model")
    check_folder(model.parent / "none-yet", "weights", "a model")
    with pytest.raises(InputError, match="holds something other than a model; give a new folder for --output"):
        check_folder(model, "other", "a model")
    with pytest.raises(InputError, match=r"there is no folder .* to write model in; make it first"):
        check_folder(model.parent / "none" / "model", "weights", "a model")

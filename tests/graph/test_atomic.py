"""Atomic files and folders: after an interruption at any time, the old or the new one is there, complete."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import atomic
from tacit.graph.atomic import check_folder, new_folder, recover, write_file
from tacit.graph.errors import InputError

OLD = {"weights": "old", "inner/more": "old"}
NEW = {"weights": "new", "config": "new"}
STEPS = [(os, "rename"), (os, "replace"), (os, "fsync"), (os, "mkdir"), (os, "unlink"), (shutil, "rmtree")]


class Killed(BaseException):
    """The process is dead: nothing that it does from now on has an effect."""


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write_folder(folder: Path, files: dict[str, str]) -> None:
    with new_folder(folder) as fresh:
        for name, text in files.items():
            (fresh / name).parent.mkdir(exist_ok=True)
            (fresh / name).write_text(text)


def read_folder(folder: Path) -> dict[str, str]:
    recover(folder)
    return texts(folder)


@contextmanager
def each_step(do: Callable[[int], None]) -> Iterator[list[str]]:
    """Call ``do`` with the number of the step, from 1, before everything that changes the disk; give the names of the steps."""
    steps: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for module, name in STEPS:

            def step(real: Callable[..., Any], name: str, *arguments: Any, **named: Any) -> Any:
                steps.append(name)
                do(len(steps))
                return real(*arguments, **named)

            patch.setattr(module, name, partial(step, getattr(module, name), name))
        yield steps


def failing(at: int, how: str) -> Callable[[int], None]:
    def do(number: int) -> None:
        if how == "killed" and number >= at:
            raise Killed
        if how == "interrupted" and number == at:
            raise KeyboardInterrupt
        if how == "failed" and number == at:
            raise OSError(errno.EIO, "Input/output error")

    return do


def steps_of(write: Callable[[Path], None], path: Path) -> range:
    with each_step(lambda _: None) as steps:
        write(path)
    assert "rename" in steps or "replace" in steps
    return range(1, len(steps) + 1)


@pytest.mark.parametrize("how", ["killed", "interrupted", "failed"])
def test_a_folder_is_complete_wherever_its_replacement_is_interrupted(tmp_path: Path, how: str) -> None:
    write_folder(tmp_path / "model", OLD)
    seen = set()
    for at in steps_of(lambda path: write_folder(path, NEW), tmp_path / "model"):
        home = tmp_path / f"{how}-{at}"
        home.mkdir()
        write_folder(home / "model", OLD)
        with suppress(Killed, KeyboardInterrupt, OSError), each_step(failing(at, how)):
            write_folder(home / "model", NEW)
        folder_read = read_folder(home / "model")
        assert folder_read in (OLD, NEW), at
        seen.add(folder_read == NEW)
        write_folder(home / "model", NEW)
        assert texts(home) == {f"model/{name}": text for name, text in NEW.items()}, f"left behind after step {at}"
    assert seen == {True, False}


def test_readers_always_find_a_complete_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", OLD)
    for at in steps_of(lambda path: write_folder(path, NEW), tmp_path / "model"):
        write_folder(tmp_path / "model", OLD)
        contents: list[dict[str, str]] = []

        def read(number: int, at: int = at, contents: list[dict[str, str]] = contents) -> None:
            if number == at:
                contents.append(read_folder(tmp_path / "model"))

        with each_step(read):
            write_folder(tmp_path / "model", NEW)
        assert contents in ([OLD], [NEW])
        assert texts(tmp_path) == {f"model/{name}": text for name, text in NEW.items()}


@pytest.mark.parametrize("how", ["killed", "interrupted", "failed"])
def test_a_file_is_complete_wherever_its_replacement_is_interrupted(tmp_path: Path, how: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"old")
    for at in steps_of(lambda path: write_file(path, b"new"), path):
        path.write_bytes(b"old")
        with suppress(Killed, KeyboardInterrupt, OSError), each_step(failing(at, how)):
            write_file(path, b"new")
        assert path.read_bytes() in (b"old", b"new")
        if how != "killed":
            assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_fifo_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "link").symlink_to(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (fifo, tmp_path / "link"):
            write_file(path, b"new")
            assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert fifo.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "link"]


def test_a_failed_write_leaves_the_old_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", OLD)

    def fail_half_way() -> None:
        with new_folder(tmp_path / "model") as fresh:
            (fresh / "weights").write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match=r"model cannot be written: No space left on device; free some space, or write els"):
        fail_half_way()
    assert texts(tmp_path) == {f"model/{name}": text for name, text in OLD.items()}


def test_a_second_writer_is_told_to_wait(tmp_path: Path) -> None:
    with new_folder(tmp_path / "model") as fresh:
        (fresh / "weights").write_text("first")
        with pytest.raises(InputError, match=r"another process is writing to .*model; wait for it, or give another folder$"):
            write_folder(tmp_path / "model", NEW)
    assert texts(tmp_path / "model") == {"weights": "first"}


def test_a_foreign_folder_is_not_replaced(tmp_path: Path) -> None:
    model = tmp_path / "model"
    write_folder(model, OLD)
    check_folder(model, "weights", "a model")
    check_folder(tmp_path / "none-yet", "weights", "a model")
    with pytest.raises(InputError, match="holds something other than a model; give a new folder for --output"):
        check_folder(model, "other", "a model")
    with pytest.raises(InputError, match=r"there is no folder .* to write model in; make it first"):
        check_folder(tmp_path / "none" / "model", "weights", "a model")


def test_a_symbolic_link_to_a_model_is_preserved(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", OLD)
    (tmp_path / "latest").symlink_to("model")
    write_folder(tmp_path / "latest", NEW)
    assert (tmp_path / "latest").is_symlink()
    assert texts(tmp_path / "model") == NEW


def test_a_second_writer_is_refused_until_the_first_has_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, flush, refusals = tmp_path / "m", atomic.flush, []

    def also_try(path: Path) -> None:
        with pytest.raises(InputError, match="another process is writing"), atomic.new_folder(target):
            raise AssertionError("the second writer was let in")
        refusals.append(target.exists())
        flush(path)

    monkeypatch.setattr(atomic, "flush", also_try)
    with atomic.new_folder(target) as part:
        (part / "model").write_bytes(b"1")
    assert set(refusals) == {False, True}  # before and after the model was put in place
    assert (target / "model").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_backup_left_by_a_kill_is_not_restored_over_a_new_model(tmp_path: Path) -> None:
    for name in ("m", ".m.old"):
        (tmp_path / name).mkdir()
    atomic.recover(tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    (tmp_path / "m").rename(tmp_path / "elsewhere")
    atomic.recover(tmp_path / "m")
    assert not (tmp_path / "m").exists()

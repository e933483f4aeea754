"""The folder of an unfinished run: killed at any call to the disk, with its journal cut anywhere, it ends in the same bytes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.api.scoring.plan import Plan, ScoredShard
from tacit.api.scoring.rows import OutputFormat
from tacit.api.scoring.statistics import Tally
from tacit.api.scoring.work_folder import WorkFolder
from tacit.graph.errors import InputError

SHARDS = 4

PARTS = [
    ScoredShard(
        number,
        bytes([65 + number]) * (3 + number) + b"\n",
        Tally(number, judged={"length": number}, sums={"length": 0.5}),
        str(number),
    )
    for number in range(SHARDS)
]
PLAN = Plan("in.jsonl", ("length",), {"length": {}}, form=OutputFormat.JSONL)


def write_all(target: Path) -> Tally:
    """What a run does once its metrics are open, with shards that are scored already."""
    work = WorkFolder(target, PLAN.identity("digest", {"length": "length|v:1"}), resume=True)
    for part in PARTS:
        if part.number not in work.done:
            work.store(part)
    return work.finish(SHARDS, PLAN)


def killed_at(moment: int, target: Path) -> bool:
    """Run :func:`write_all` in a process that is killed at its ``moment``-th call to the disk; False when it came to its end."""
    process = os.fork()
    if process == 0:
        left = iter(range(moment))

        def lethal(call: Callable[..., Any]) -> Callable[..., Any]:
            def called(*words: Any, **named: Any) -> Any:
                if next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*words, **named)

            return called

        for name in ("fsync", "write", "ftruncate", "unlink", "replace", "rmdir"):
            setattr(os, name, lethal(getattr(os, name)))
        write_all(target)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    counted = write_all(whole)
    moments = 0
    while True:
        target = tmp_path / f"{moments}.jsonl"
        if not killed_at(moments, target):
            break
        assert not target.exists() or target.read_bytes() == whole.read_bytes()
        killed_at(moments // 2, target)  # and once more, on its way back
        assert write_all(target) == counted
        assert target.read_bytes() == whole.read_bytes()
        assert [path.name for path in tmp_path.iterdir() if path != whole] == [target.name]
        target.unlink()
        moments += 1
    assert moments > 3 * SHARDS


def test_a_journal_truncated_anywhere_is_resumed(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    write_all(whole)
    for length in range(0, 700, 23):  # from nothing to more than there is
        target = tmp_path / "out.jsonl"
        work = WorkFolder(target, PLAN.identity("digest", {"length": "length|v:1"}), resume=True)
        for part in PARTS[:3]:
            work.store(part)
        work.close()
        journal = work.folder / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:length])
        write_all(target)
        assert target.read_bytes() == whole.read_bytes()


def test_a_shard_of_another_size_is_scored_again(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    work = WorkFolder(target, PLAN.identity("digest", {}), resume=True)
    work.store(PARTS[0])
    work.store(PARTS[1])
    work.close()
    (work.folder / "00000000.part").write_bytes(b"")
    again = WorkFolder(target, PLAN.identity("digest", {}), resume=True)
    assert list(again.done) == [1]
    again.close()
    with pytest.raises(InputError, match="unfinished run"):
        WorkFolder(target, PLAN.identity("digest", {}), resume=False)

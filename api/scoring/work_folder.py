"""The work folder of a scoring run, ``OUT.partial``: the shards of an unfinished run, and a journal.

The first line of the journal identifies the run (input, metrics, signatures, options); each further line names a complete shard
with its counts and the digest of its records. A killed run is resumed with the shards that the journal does not name. A run whose
input ended early may be resumed with another input: shards with the same records are kept.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...graph.atomic import disk_full_errors, lock, new_file, write_file
from ...graph.errors import DamagedInput, InputError
from ..terminal.screen import count
from .plan import Plan, ScoredShard, Shard
from .rows import OutputFormat, heading, write_parquet
from .statistics import Tally

_JOURNAL = "journal.jsonl"
_DRAFT = "whole"  # the output while it is written; it is in this folder so that a kill leaves nothing outside
_PART = re.compile(r"\.?(\d{8,})\.part(\.\d+\.part)?")
_FORMAT = 1
_DIFFERENCES = {
    "input": "another input file",
    "metrics": "other metrics",
    "signatures": "metrics of other signatures",
    "options": "other options",
    "--explain": "another --explain",
    "--strict": "another --strict",
    "format": "another format",
    "--shard-lines": "another --shard-lines",
    "--column": "another --column",
}


class WorkFolder:
    """The work folder of one run, locked against other processes."""

    def __init__(self, target: Path, identity: dict[str, Any], *, resume: bool) -> None:
        """Open the folder beside ``target`` for the run that ``identity`` describes; see :meth:`Plan.identity`."""
        self.folder = target.with_name(f"{target.name}.partial")
        self.done: dict[int, Tally] = {}  # the counts of each stored shard, by number
        self.digests: dict[int, str | None] = {}  # of the records of each stored shard
        self.replaced = False  # resumed with another input, with which the shards have to be compared
        self._damaged = False
        self._target = target
        try:
            self.folder.mkdir(exist_ok=True)
            self._journal = lock(self.folder / _JOURNAL, flags=os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except BlockingIOError:
            raise InputError(f"another run is writing {self._target}; wait for it, or write to another file") from None
        except OSError as error:
            raise InputError(f"{self.folder} cannot be used as a folder ({error.strerror}); move away what is there") from error
        try:
            self._begin({"tacit": _FORMAT, **identity}, resume)
        except BaseException:
            os.close(self._journal)
            raise

    def _begin(self, identity: dict[str, Any], resume: bool) -> None:
        """Read the journal or start one."""
        earlier, size = self._read()
        if earlier is not None and resume:
            self._check_identity(earlier, identity)
        elif self.done:
            rows = count(sum(tally.rows for tally in self.done.values()))
            raise InputError(
                f"{self.folder} has {rows} rows of an unfinished run; continue with --resume, or delete the folder to start over"
            )
        if earlier is None or not resume:
            size = 0
        os.ftruncate(self._journal, size)
        self._clean(keep=True)
        if not size:
            self._log(identity)
        self._input = identity["input"]

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        """Return the identity in the journal (None: none), and the size of its complete lines in bytes; fills :attr:`done`."""
        identity: dict[str, Any] | None = None
        size = 0
        with (self.folder / _JOURNAL).open("rb") as journal:
            for line in journal:
                try:
                    row = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    row = None
                if not isinstance(row, dict):  # an incomplete last line of a killed run, or not a journal
                    if identity is None and line.endswith(b"\n"):
                        raise self._unknown()
                    break
                size += len(line)
                if identity is None:
                    identity = row
                    if identity.get("tacit") != _FORMAT:
                        raise self._unknown()
                    continue
                if "part" not in row:
                    self._damaged = row.get("damaged", False)
                    identity["input"] = row.get("input", identity.get("input"))
                    continue
                with suppress(OSError):
                    if self._path(row["part"]).stat().st_size == row["bytes"]:
                        self.done[row["part"]] = Tally.from_dict(row["tally"])
                        self.digests[row["part"]] = row.get("sha256")
        return identity, size

    def _unknown(self) -> InputError:
        return InputError(f"{self.folder} has no run that this version can resume; move it away to start over")

    def _clean(self, *, keep: bool = False) -> None:
        """Delete the shards, or with ``keep`` only files of incomplete shards; other files stay."""
        (self.folder / _DRAFT).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            match = _PART.fullmatch(path.name)
            if match and not (keep and int(match[1]) in self.done and path == self._path(int(match[1]))):
                path.unlink()

    def _check_identity(self, earlier: dict[str, Any], identity: dict[str, Any]) -> None:
        """Raise InputError if the run of the journal differs from this one; another input is allowed after a damaged one."""
        for key, difference in _DIFFERENCES.items():
            if key == "input" and self._damaged and earlier.get(key) != identity[key]:
                self.replaced = True
                continue
            if earlier.get(key) != identity[key]:
                raise InputError(
                    f"{self.folder} is of a run with {difference}; repeat the command of that run, or delete the folder to start "
                    "over"
                )

    def store(self, part: ScoredShard) -> None:
        """Store one shard, then add it to the journal."""
        write_file(self._path(part.number), part.data)
        self._log({"part": part.number, "bytes": len(part.data), "tally": part.tally.to_dict(), "sha256": part.digest})
        self.done[part.number], self.digests[part.number] = part.tally, part.digest

    def compare(self, shards: Iterable[Shard | int]) -> None:
        """Delete stored shards whose records are not those of ``shards``, the shards of the new input."""
        new_digests: dict[int, str] = {}
        with suppress(DamagedInput):  # the new input may end early too
            new_digests.update((shard.number, shard.digest) for shard in shards if isinstance(shard, Shard))
        for number in [number for number, stored_digest in self.digests.items() if new_digests.get(number) != stored_digest]:
            self._path(number).unlink(missing_ok=True)
            del self.done[number], self.digests[number]
        self._log({"input": self._input, "damaged": False})
        self.replaced = False

    def damaged(self) -> None:
        """Log that the input ends early, so that the run may be resumed with another input."""
        self._log({"damaged": True})

    def _log(self, row: dict[str, Any]) -> None:
        with disk_full_errors(self.folder):
            os.write(self._journal, json.dumps(row).encode() + b"\n")
            os.fsync(self._journal)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.part"

    def finish(self, shards: int, plan: Plan) -> Tally:
        """Merge the shards into the output atomically, delete the folder, and return the counts."""
        tally = Tally()
        for number in range(shards):
            tally.merge(self.done[number])
        paths = [self._path(number) for number in range(shards)]
        with new_file(self._target, draft=self.folder / _DRAFT) as fresh, fresh.open("wb") as file:
            if plan.form is OutputFormat.PARQUET:
                write_parquet(paths, plan.names, plan.with_evidence, file)
            else:
                if plan.form.delimited:
                    file.write(heading(plan.names, plan.with_evidence, plan.form).encode())
                for path in paths:
                    with path.open("rb") as data:
                        shutil.copyfileobj(data, file, 1 << 20)
                if plan.form is OutputFormat.GZIP and not file.tell():
                    import gzip

                    file.write(gzip.compress(b"", 6, mtime=0))
        self.discard()
        return tally

    def discard(self) -> None:
        """Delete the run's files, and the folder if it is empty then."""
        with suppress(OSError):
            self._clean()
            (self.folder / _JOURNAL).unlink()
            self.folder.rmdir()
        self.close()

    def close(self) -> None:
        """Unlock the folder; may be called twice."""
        if self._journal >= 0:
            os.close(self._journal)
            self._journal = -1

    @property
    def rows(self) -> int:
        """Number of rows in stored shards."""
        return sum(tally.rows for tally in self.done.values())

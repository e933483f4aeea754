"""The folder beside the output, ``OUT.partial``, in which the shards of an unfinished run are kept, and a journal of them.

The journal's first line says what the run is (input, metrics, signatures, options); each further line names a shard that is on
disk, whole, with its counts and the digest of its records. A run that was killed, at any moment, goes on with the shards that the
journal does not name. A run that ended because its input ends early may go on with another file in the input's place: the shards
whose records are the same are kept.
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

from ...graph.errors import DamagedInput, InputError
from ..tally import Tally
from ..terminal.output import telling_of_full_disks, whole
from ..terminal.text import count
from .plan import Part, Plan
from .rows import Form, write_parquet
from .shards import Shard

try:
    import fcntl
except ImportError:  # Windows: two runs that write to one file are not kept apart
    fcntl = None  # type: ignore[assignment]

_JOURNAL = "journal.jsonl"
_WHOLE = "whole"  # what becomes the output, so that a kill while it is written leaves nothing beside this folder
_PART = re.compile(r"\.?(\d{8,})\.part(\.\d+\.part)?")
_FORMAT = 1
_CALLED = {
    "input": "another input file",
    "metrics": "other metrics",
    "signatures": "metrics of other signatures",
    "options": "other options",
    "--explain": "another --explain",
    "--strict": "another --strict",
    "format": "another format",
    "--shard-lines": "another --shard-lines",
}


class Work:
    """The work folder of one run; nobody else can have it open.

    Attributes:
        folder: where it is.
        done: what each shard that is kept counts, by its number.
        digests: of the records of each shard that is kept, by its number.
        replaced: the run goes on with another input, so that shards have to be compared with it.
    """

    def __init__(self, target: Path, identity: dict[str, Any], *, resume: bool) -> None:
        """Open the folder beside ``target`` for the run that ``identity`` describes; see :meth:`Plan.identity`.

        Raises:
            InputError: another run is at work there, or left shards, and ``resume`` is not asked for or would go on with
                something else.
        """
        self.folder = target.with_name(f"{target.name}.partial")
        self.done: dict[int, Tally] = {}
        self.digests: dict[int, str | None] = {}
        self.replaced = False
        self._damaged = False
        self._target = target
        try:
            self.folder.mkdir(exist_ok=True)
            self._journal = os.open(self.folder / _JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be used as a folder ({error.strerror}); move away what is there") from error
        try:
            self._begin({"tacit": _FORMAT, **identity}, resume)
        except BaseException:
            os.close(self._journal)
            raise

    def _begin(self, identity: dict[str, Any], resume: bool) -> None:
        """Take up what the journal names, or begin it."""
        if fcntl is not None:
            try:
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"another run is writing {self._target}; wait for it, or write to another file") from None
        begun, size = self._read()
        if begun is not None and resume:
            self._refuse_another(begun, identity)
        elif self.done:
            rows = count(sum(tally.rows for tally in self.done.values()))
            raise InputError(
                f"{self.folder} holds {rows} rows of an unfinished run; go on with --resume, or delete the folder to start over"
            )
        if begun is None or not resume:
            size = 0
        os.ftruncate(self._journal, size)
        self._sweep(keep=True)
        if not size:
            self._note(identity)
        self._input = identity["input"]

    def _read(self) -> tuple[dict[str, Any] | None, int]:
        """What the journal was begun with (None: nothing), and how many of its bytes are whole lines; fills :attr:`done`."""
        begun: dict[str, Any] | None = None
        size = 0
        with (self.folder / _JOURNAL).open("rb") as journal:
            for line in journal:
                try:
                    row = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    row = None
                if not isinstance(row, dict):  # the last line of a run that was killed, or no journal at all
                    if begun is None and line.endswith(b"\n"):
                        raise self._unknown()
                    break
                size += len(line)
                if begun is None:
                    begun = row
                    if begun.get("tacit") != _FORMAT:
                        raise self._unknown()
                    continue
                if "part" not in row:
                    self._damaged = row.get("damaged", False)
                    begun["input"] = row.get("input", begun.get("input"))
                    continue
                with suppress(OSError):
                    if self._path(row["part"]).stat().st_size == row["bytes"]:
                        self.done[row["part"]] = Tally.from_dict(row["tally"])
                        self.digests[row["part"]] = row.get("sha256")
        return begun, size

    def _unknown(self) -> InputError:
        return InputError(f"{self.folder} holds no work that this version can go on with; move it away to start over")

    def _sweep(self, *, keep: bool = False) -> None:
        """Delete the shards, or (``keep``) what is no whole shard, and nothing else."""
        (self.folder / _WHOLE).unlink(missing_ok=True)
        for path in self.folder.iterdir():
            match = _PART.fullmatch(path.name)
            if match and not (keep and int(match[1]) in self.done and path == self._path(int(match[1]))):
                path.unlink()

    def _refuse_another(self, begun: dict[str, Any], identity: dict[str, Any]) -> None:
        for key, called in _CALLED.items():
            if key == "input" and self._damaged and begun.get(key) != identity[key]:
                self.replaced = True
                continue
            if begun.get(key) != identity[key]:
                raise InputError(
                    f"{self.folder} was begun with {called}; give what it was begun with, or delete the folder to start over"
                )

    def keep(self, part: Part) -> None:
        """Put one shard on disk, then into the journal."""
        with whole(self._path(part.number)) as file:
            file.write(part.data)
        self._note({"part": part.number, "bytes": len(part.data), "tally": part.tally.to_dict(), "sha256": part.digest})
        self.done[part.number], self.digests[part.number] = part.tally, part.digest

    def compare(self, shards: Iterable[Shard | int]) -> None:
        """Keep only the shards whose records are those of ``shards``, and go on as a run of the input that these come from."""
        now: dict[int, str] = {}
        with suppress(DamagedInput):  # it ends early, too: what is before that counts
            now.update((shard.number, shard.digest) for shard in shards if isinstance(shard, Shard))
        for number in [number for number, digest in self.digests.items() if now.get(number) != digest]:
            self._path(number).unlink(missing_ok=True)
            del self.done[number], self.digests[number]
        self._note({"input": self._input, "damaged": False})
        self.replaced = False

    def damaged(self) -> None:
        """Note that the input ends early, so that the run may go on with another file in its place."""
        self._note({"damaged": True})

    def _note(self, row: dict[str, Any]) -> None:
        with telling_of_full_disks(self.folder):
            os.write(self._journal, json.dumps(row).encode() + b"\n")
            os.fsync(self._journal)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.part"

    def finish(self, shards: int, plan: Plan) -> Tally:
        """Put the ``shards`` together as the output, which appears whole, delete the folder, and return what was counted."""
        tally = Tally()
        for number in range(shards):
            tally.merge(self.done[number])
        paths = [self._path(number) for number in range(shards)]
        with whole(self._target, draft=self.folder / _WHOLE) as file:
            if plan.form is Form.PARQUET:
                write_parquet(paths, plan.names, plan.shown, file)
            else:
                for path in paths:
                    with path.open("rb") as data:
                        shutil.copyfileobj(data, file, 1 << 20)
                if plan.form is Form.GZIP and not file.tell():
                    import gzip

                    file.write(gzip.compress(b"", 6, mtime=0))
        self.discard()
        return tally

    def discard(self) -> None:
        """Delete what the run has made there, and the folder when nothing else is in it."""
        with suppress(OSError):
            self._sweep()
            (self.folder / _JOURNAL).unlink()
            self.folder.rmdir()
        self.close()

    def close(self) -> None:
        """Let others have the folder; closing twice is harmless."""
        if self._journal >= 0:
            os.close(self._journal)
            self._journal = -1

    @property
    def rows(self) -> int:
        """Rows on disk."""
        return sum(tally.rows for tally in self.done.values())

"""Whether a database file is the one that was written: its checksums lie beside it in ``graph.lbug.sums``.

A load writes them before its file takes the place of the old one, and the old file's stay beside them until it has, so that a
crash in between leaves a file that is vouched for. A file without checksums (of an older version, or copied without them) is
opened in a process with a memory limit first, because damaged lengths in it may ask for any amount of memory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from ..errors import GraphError
from ..storage import WHOLE, Record, damage_of, read_checked, record_of, write_checked

FORMAT = 1
SUMS = ".sums"
DRAFT = ".loading"
"""Ends the names of files that take the place of others; a load removes those that are left of a load before."""

_ATTEMPTS = 3
_PROBE_SECONDS = 60.0
_PROBE_MEMORY = 2 << 30
_PROBE = """
import sys
file, memory, reserved = sys.argv[1], int(sys.argv[2]), 1 << 43
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (reserved + memory, reserved + memory))
except (ImportError, OSError, ValueError):
    pass
import ladybug
database = ladybug.Database(file, read_only=True, buffer_pool_size=256 << 20, max_num_threads=1, max_db_size=reserved)
ladybug.Connection(database).execute("MATCH (m:Manifest) RETURN m.assertions").get_all()
"""


def announce(file: Path, database: Path) -> None:
    """Write the checksums of ``file``, which is ``database`` or is about to take its place, beside those that are there."""
    try:
        before = _records(database)
    except (OSError, ValueError):
        before = []
    _write(database, [record_of(file), *before[:1]])


def settle(database: Path) -> None:
    """Forget the checksums of the file that was replaced."""
    _write(database, _records(database)[:1])


def _write(database: Path, records: list[Record]) -> None:
    fresh = Path(f"{database}{DRAFT}{SUMS}")
    write_checked(fresh, {"format": FORMAT, "files": records})
    fresh.replace(f"{database}{SUMS}")


def _records(database: Path) -> list[Record]:
    content = read_checked(Path(f"{database}{SUMS}"))
    if content.get("unchecked"):
        raise ValueError("it has no checksum")
    if content.get("format") != FORMAT:
        raise ValueError(f"format {content.get('format')} is not {FORMAT}")
    records: list[Any] = content["files"]
    return records


def verify(database: Path, *, whole: bool | None = None) -> bool:
    """Check ``database`` against its checksums; return False where it has none.

    Args:
        whole: verify all of it (True) or a sample (False); None verifies files whole up to :data:`~tacit.graph.storage.WHOLE`.

    Raises:
        GraphError: it is damaged, or its checksums are.
    """
    damage = None
    for _ in range(_ATTEMPTS):  # a load may replace both files meanwhile
        try:
            records = _records(database)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError) as error:
            raise GraphError(
                f"{database}{SUMS} is damaged ({error}), so nothing shows whether the graph is; load the graph again into a new "
                "folder, or delete that file to open the graph as it is and run tacit check"
            ) from None
        for record in records:
            every = record["size"] <= WHOLE if whole is None else whole
            found = damage_of(database, record, whole=every)
            if found is None:
                return True
            damage = found if damage is None or record is records[0] else damage
    raise GraphError(
        f"{database} is damaged ({damage}); load the graph again into a new folder, or restore a backup of the folder"
    )


def probe(database: Path) -> None:
    """Open a database without checksums in a process of its own that may use two gigabytes and a minute.

    Raises:
        GraphError: it cannot be opened within these limits.
    """
    command = [sys.executable, "-P", "-c", _PROBE, str(database), str(_PROBE_MEMORY)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        reason = f"opening it takes more than {_PROBE_SECONDS:g} seconds"
    else:
        if done.returncode == 0:
            return
        lines = done.stderr.strip().splitlines()
        reason = lines[-1][:200] if lines and done.returncode > 0 else f"opening it ends a process with status {done.returncode}"
    raise GraphError(f"{database} is damaged ({reason}); load it again into a new folder, or restore a backup of the folder")

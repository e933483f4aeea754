"""Integrity of a database file: its checksums are in ``graph.lbug.sums`` in the same folder, with the graph's manifest.

A load writes the checksums of the new file before it replaces the old one, and keeps those of the old file until then, so that
there are checksums for whichever file a crash leaves. A file without checksums (of an older version, or copied without them) is
first opened in a process with a memory limit, because damaged lengths in it could request any amount of memory.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import GraphError
from ..storage import WHOLE, Record, damage_of, read_checked, record_of, write_checked

DATABASE = "graph.lbug"
FORMAT = 1
SUMS = ".sums"
DRAFT = ".loading"
"""Suffix of temporary files that replace others; a load removes those left by a killed load."""

_ATTEMPTS = 3
_PROBE_SECONDS = 60.0
_PROBE_MEMORY = 2 << 30  # bytes
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


def write_sums(file: Path, database: Path, manifest: Mapping[str, Any] | None = None) -> None:
    """Write the checksums of ``file``, which is or will replace ``database``, and keep the previous ones after them.

    ``manifest`` has the properties of the manifest in the file, so that it can be read without the engine.
    """
    try:
        previous = _records(database)
    except (OSError, ValueError):
        previous = []
    _write(database, [record_of(file) | ({"manifest": dict(manifest)} if manifest else {}), *previous[:1]])


def drop_old_sums(database: Path) -> None:
    """Remove the checksums of the file that was replaced."""
    _write(database, _records(database)[:1])


def _write(database: Path, records: list[Record]) -> None:
    draft = Path(f"{database}{DRAFT}{SUMS}")
    write_checked(draft, {"format": FORMAT, "files": records})
    draft.replace(f"{database}{SUMS}")


def _records(database: Path) -> list[Record]:
    content = read_checked(Path(f"{database}{SUMS}"))
    if content.get("format") != FORMAT:
        raise ValueError(f"format {content.get('format')} is not {FORMAT}")
    records: list[Any] = content["files"]
    return records


def verify(database: Path, *, whole: bool | None = None) -> Record | None:
    """Check ``database`` against its checksums and return their record; None when there are none.

    Args:
        database: the database file.
        whole: verify all blocks (True) or a sample (False); None verifies all for files up to :data:`~tacit.graph.storage.WHOLE`.
    """
    damage = None
    for _ in range(_ATTEMPTS):  # a load may replace both files meanwhile
        try:
            records = _records(database)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError) as error:
            raise GraphError(
                f"{database}{SUMS} is damaged ({error}), so the graph cannot be verified; load the graph again into a new "
                "folder, or delete that file to open the graph as it is and run tacit check"
            ) from None
        for record in records:
            all_blocks = record["size"] <= WHOLE if whole is None else whole
            problem = damage_of(database, record, whole=all_blocks)
            if problem is None:
                return record
            damage = problem if damage is None or record is records[0] else damage
    raise GraphError(
        f"{database} is damaged ({damage}); load the graph again into a new folder, or restore a backup of the folder"
    )


def probe(database: Path) -> None:
    """Open a database without checksums in a separate process, limited to two gigabytes and a minute."""
    command = [sys.executable, "-P", "-c", _PROBE, str(database), str(_PROBE_MEMORY)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        reason = f"opening it takes more than {_PROBE_SECONDS:g} seconds"
    else:
        status, errors = process.returncode, process.stderr.strip().splitlines()
        if status == 0:
            return
        reason = errors[-1][:200] if errors and status > 0 else f"opening it ends a process with status {status}"
    raise GraphError(f"{database} is damaged ({reason}); load it again into a new folder, or restore a backup of the folder")

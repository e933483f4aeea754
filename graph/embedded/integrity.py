"""Whether a database file is the one that was written: its checksums lie beside it in ``graph.lbug.sums``.

A load writes them before its file takes the place of the old one, and the old file's stay beside them until it has, so that a
crash in between leaves a file that is vouched for. Graphs made before there were checksums have none and open without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..checksums import WHOLE, Record, damage_of, read_checked, record_of, write_checked
from ..errors import GraphError

FORMAT = 1
SUMS = ".sums"

_ATTEMPTS = 3


def announce(draft: Path, database: Path) -> None:
    """Write the checksums of ``draft``, which is about to take the place of ``database``, beside those that are there."""
    try:
        before = _records(database)
    except (OSError, ValueError):
        before = []
    _write(draft, database, [record_of(draft), *before[:1]])


def settle(draft: Path, database: Path) -> None:
    """Forget the checksums of the file that was replaced."""
    _write(draft, database, _records(database)[:1])


def _write(draft: Path, database: Path, records: list[Record]) -> None:
    fresh = Path(f"{draft}{SUMS}")
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
        whole: verify all of it (True) or a sample (False); None verifies files whole up to :data:`~tacit.graph.checksums.WHOLE`.

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

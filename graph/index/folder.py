"""Folders that appear whole or not at all, however many processes build them and whenever one of them is killed.

A builder works in a hidden folder beside the final place and holds a lock on it, which the system drops when the process dies.
One rename puts it in place; hidden folders that nobody holds any more are swept away by the next builder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..checksums import unseal
from ..errors import GraphError

try:
    import fcntl
except ImportError:  # Windows: no lock, and so no sweeping
    fcntl = None  # type: ignore[assignment]

_MARK = ".building-"


@contextmanager
def whole_folder(directory: Path, kind: str, format: int, digest: str) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``directory`` when the block ends well, and is deleted otherwise.

    The block has to :func:`~tacit.graph.checksums.seal` it. A sound folder of the same kind, format and digest that another
    process put there meanwhile stays, since it holds the same.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    sweep(directory.parent)
    folder = Path(tempfile.mkdtemp(prefix=_MARK, dir=directory.parent))
    lock = _hold(folder)
    try:
        yield folder
        folder.chmod(0o755)
        _replace(folder, directory, lambda: _sound(directory, kind, format, digest))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def sweep(parent: Path) -> None:
    """Delete what killed builders left in ``parent``."""
    for folder in parent.glob(f"{_MARK}*"):
        if fcntl is None:
            return
        with suppress(OSError):
            lock = _hold(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _hold(folder: Path) -> int | None:
    """Return a descriptor that holds the lock on ``folder``, None when another process holds it or there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _replace(folder: Path, directory: Path, sound: Callable[[], bool]) -> None:
    """Move ``folder`` to ``directory`` unless what lies there is ``sound``.

    What lies there is moved aside first, since only empty folders give way.
    """
    for _ in range(100):
        try:
            folder.replace(directory)
        except OSError:
            if not directory.exists():
                raise
            if sound():
                return
            aside = Path(tempfile.mkdtemp(prefix=_MARK, dir=directory.parent))
            with suppress(OSError):
                directory.replace(aside / "old")
            shutil.rmtree(aside, ignore_errors=True)
        else:
            return
    raise GraphError(f"{directory} could not be replaced; close the programs that are building it and try again")


def _sound(directory: Path, kind: str, format: int, digest: str) -> bool:
    try:
        unseal(directory, kind, format, digest=digest, whole=True)
    except GraphError:
        return False
    return True

"""Checksums of files, so that damage is found before it is read as data.

CRC-32 over blocks of one megabyte, about 10 GB/s: files are verified whole whenever they are opened up to :data:`WHOLE` bytes in
all, larger ones by a sample of their blocks, and whole by ``tacit check``. They find damage (flipped bits, cut or swapped
files), not forgery.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .errors import GraphError, GraphNotFound

BLOCK = 1 << 20
WHOLE = 512 << 20
SAMPLE = 64
"""Blocks that are verified of files that are not verified whole: the first, the last, and others spread evenly."""

HEADER = "header.json"

Record = dict[str, Any]
"""What is known of one file: ``size`` in bytes and ``crc32``, one number a block."""


def record_of(path: Path) -> Record:
    """Return the record of the file at ``path``."""
    with path.open("rb") as file:
        sums = [_crc32(block) for block in iter(lambda: file.read(BLOCK), b"")]
    return {"size": path.stat().st_size, "crc32": sums}


def damage_of(path: Path, record: Mapping[str, Any], *, whole: bool) -> str | None:
    """Return what is wrong with the file at ``path`` in a few words, None when it is as its ``record`` says.

    ``whole``: verify all blocks, not a sample of them.
    """
    try:
        with path.open("rb") as file:
            size, expected = file.seek(0, 2), record["crc32"]
            if size != record["size"] or len(expected) != -(-size // BLOCK):
                return f"it has {size:,} bytes instead of {record['size']:,}"
            for number in range(len(expected)) if whole else _sample(len(expected)):
                file.seek(number * BLOCK)
                if _crc32(file.read(BLOCK)) != expected[number]:
                    return f"its bytes from {number * BLOCK:,} on do not match their checksum"
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    return None


def _sample(blocks: int) -> Iterable[int]:
    if blocks <= SAMPLE:
        return range(blocks)
    return sorted({round(place * (blocks - 1) / (SAMPLE - 1)) for place in range(SAMPLE)})


def _crc32(data: bytes) -> int:
    from isal import isal_zlib

    return int(isal_zlib.crc32(data))


# JSON files that hold their own checksum


def write_checked(path: Path, content: Mapping[str, Any]) -> None:
    """Write ``content`` to ``path`` as one line of JSON, and its checksum as a second line."""
    line = json.dumps(content, ensure_ascii=False)
    path.write_text(f"{line}\n{_crc32(line.encode()):08x}\n", encoding="utf-8")


def read_checked(path: Path) -> dict[str, Any]:
    """Return what :func:`write_checked` wrote to ``path``; of a file without a checksum, its JSON object with ``unchecked``.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged.
    """
    line, _, rest = path.read_bytes().partition(b"\n")
    if rest and rest != b"%08x\n" % _crc32(line):
        raise ValueError("it does not match its checksum")
    content = json.loads(line)
    if not isinstance(content, dict) or not (rest or "format" in content):
        raise ValueError("it is not a header")
    if not rest:
        content["unchecked"] = True
    return content


# folders of files under one header


def seal(folder: Path, kind: str, format: int, digest: str, facts: Mapping[str, Any]) -> None:
    """Write the header of ``folder``, whose files are all there: their records, and ``facts`` beside them."""
    files = {path.name: record_of(path) for path in sorted(folder.iterdir()) if path.is_file()}
    write_checked(folder / HEADER, {"kind": kind, "format": format, "digest": digest, "files": files, **facts})


def unseal(folder: Path, kind: str, format: int, *, digest: str | None = None, whole: bool | None = None) -> dict[str, Any]:
    """Return the header of ``folder`` after its files are verified.

    Args:
        kind: what the folder has to be, e.g. ``index``; format: in which format.
        digest: of the graph that it has to belong to; None takes any.
        whole: verify all of every file (True), a sample of every file (False), or (None) whole up to :data:`WHOLE` bytes.

    Raises:
        GraphNotFound: there is no such folder, or no header in it.
        GraphError: it is of another format or graph, or damaged.
    """
    again = f"delete {folder}, and it is built again when the graph is next used"
    try:
        header = read_checked(folder / HEADER)
    except (FileNotFoundError, NotADirectoryError):
        raise GraphNotFound(f"there is no {kind} at {folder}; it is built when the graph is next used") from None
    except (OSError, ValueError) as error:
        raise GraphError(f"the header of the {kind} at {folder} cannot be read ({error}); {again}") from None
    if header.get("format") != format or header.get("kind") != kind:
        raise GraphError(f"the {kind} at {folder} has format {header.get('format')}, not {format}; {again}")
    if header.get("unchecked"):
        raise GraphError(f"the header of the {kind} at {folder} has no checksum; {again}")
    if digest is not None and header["digest"] != digest:
        raise GraphError(f"the {kind} at {folder} belongs to another graph; {again}")
    if whole is None:
        whole = verified_whole(header)
    for name, record in header["files"].items():
        damage = damage_of(folder / name, record, whole=whole)
        if damage:
            raise GraphError(f"{folder / name} is damaged ({damage}); {again}")
    return header


def verified_whole(header: Mapping[str, Any]) -> bool:
    """Return whether the files under ``header`` are small enough to be verified whole whenever they are opened."""
    return sum(int(record["size"]) for record in header["files"].values()) <= WHOLE


# Folders that appear whole or not at all, however many processes build them and whenever one of them is killed.
#
# A builder works in a hidden folder beside the final place and holds a lock on it, which the system drops when the process
# dies. One rename puts it in place; hidden folders that nobody holds any more are swept away by the next builder.

try:
    import fcntl
except ImportError:  # Windows: no lock, and so no sweeping
    fcntl = None  # type: ignore[assignment]

_MARK = ".building-"


@contextmanager
def whole_folder(directory: Path, kind: str, format: int, digest: str) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``directory`` when the block ends well, and is deleted otherwise.

    The block has to :func:`~tacit.graph.storage.seal` it. A sound folder of the same kind, format and digest that another
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

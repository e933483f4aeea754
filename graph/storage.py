"""Checksums of files, folders of files that are created atomically, and the user's cache folder.

Checksums are CRC-32 over blocks of one megabyte, about 10 GB/s: files of up to :data:`WHOLE` bytes in total are verified in full
whenever they are opened, larger ones by a sample of their blocks, and in full by ``tacit check``. Checksums detect damage
(flipped bits, truncated or swapped files), not forgery.

A folder is built in a hidden temporary folder in the same parent folder, under a lock that the system releases when the process
dies. One rename moves it into place. Temporary folders without a lock are deleted by the next process that builds one. Unlike
:func:`.atomic.new_folder`, which refuses a second writer, several processes may build the same folder: its digest determines
its content, so the first that finishes serves all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .atomic import lock
from .errors import GraphError, GraphNotFound

BLOCK = 1 << 20
"""Bytes per checksum."""
WHOLE = 512 << 20
"""Most bytes of files that are verified in full whenever they are opened."""
SAMPLE = 64
"""Blocks that are verified of larger files: the first, the last, and others at equal intervals."""
HEADER = "header.json"
_PREFIX = ".building-"

Record = dict[str, Any]
"""Size and checksums of one file: ``size`` in bytes, and ``crc32``, one number per block."""


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record_of(path: Path) -> Record:
    """Return the size and checksums of the file at ``path``."""
    with path.open("rb") as file:
        checksums = [_crc32(block) for block in iter(lambda: file.read(BLOCK), b"")]
    return {"size": path.stat().st_size, "crc32": checksums}


def damage_of(path: Path, record: Mapping[str, Any], *, whole: bool) -> str | None:
    """Return a short description of the damage to the file at ``path``, None when it matches its ``record``.

    ``whole`` verifies all blocks instead of a sample.
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
    return sorted({round(number * (blocks - 1) / (SAMPLE - 1)) for number in range(SAMPLE)})


def _crc32(data: bytes) -> int:
    from isal import isal_zlib

    return int(isal_zlib.crc32(data))


# JSON files with a checksum


def write_checked(path: Path, content: Mapping[str, Any]) -> None:
    """Write ``content`` to ``path`` as one line of JSON, with its checksum as the second line."""
    line = json.dumps(content, ensure_ascii=False)
    path.write_text(f"{line}\n{_crc32(line.encode()):08x}\n", encoding="utf-8")


def read_checked(path: Path) -> dict[str, Any]:
    """Return what :func:`write_checked` wrote; raise ValueError if the checksum is missing or wrong."""
    line, _, checksum = path.read_bytes().partition(b"\n")
    if checksum != b"%08x\n" % _crc32(line):
        raise ValueError("it does not match its checksum" if checksum else "it has no checksum")
    content: dict[str, Any] = json.loads(line)
    return content


# folders with a header


def seal(folder: Path, kind: str, format: int, digest: str, facts: Mapping[str, Any]) -> None:
    """Write the header of ``folder`` once its other files are complete: their checksums, and ``facts``."""
    files = {path.name: record_of(path) for path in sorted(folder.iterdir()) if path.is_file()}
    write_checked(folder / HEADER, {"kind": kind, "format": format, "digest": digest, "files": files, **facts})


def unseal(folder: Path, kind: str, format: int, *, digest: str | None = None, whole: bool | None = None) -> dict[str, Any]:
    """Return the header of ``folder`` after its files are verified.

    Args:
        folder, kind, format: the folder, its kind, e.g. ``index``, and the version of its format.
        digest: digest of the graph that it must belong to; None accepts any.
        whole: verify every file in full (True) or by a sample (False); None verifies up to :data:`WHOLE` bytes in full.

    Raises:
        GraphNotFound: there is no such folder, or no header in it.
        GraphError: it is damaged, of another format, or of another graph.
    """
    advice = f"delete {folder}, and it is built again when the graph is next used"
    try:
        header = read_checked(folder / HEADER)
    except (FileNotFoundError, NotADirectoryError):
        raise GraphNotFound(f"there is no {kind} at {folder}; it is built when the graph is next used") from None
    except (OSError, ValueError) as error:
        raise GraphError(f"the header of the {kind} at {folder} cannot be read ({error}); {advice}") from None
    if header.get("format") != format or header.get("kind") != kind:
        raise GraphError(f"the {kind} at {folder} has format {header.get('format')}, not {format}; {advice}")
    if digest is not None and header["digest"] != digest:
        raise GraphError(f"the {kind} at {folder} belongs to another graph; {advice}")
    if whole is None:
        whole = verified_whole(header)
    for name, record in header["files"].items():
        damage = damage_of(folder / name, record, whole=whole)
        if damage:
            raise GraphError(f"{folder / name} is damaged ({damage}); {advice}")
    return header


def verified_whole(header: Mapping[str, Any]) -> bool:
    """Return whether the files under ``header`` are small enough to be verified in full whenever they are opened."""
    return sum(int(record["size"]) for record in header["files"].values()) <= WHOLE


# folders that are created atomically
@contextmanager
def whole_folder(directory: Path, kind: str, format: int, digest: str) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``directory`` when the block ends without an exception, and is deleted otherwise.

    The block must call :func:`~tacit.graph.storage.seal` on it. A sound folder of the same kind, format and digest that another
    process created meanwhile stays, since its content is the same.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    sweep(directory.parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory.parent))
    descriptor = lock(folder, flags=os.O_RDONLY)
    try:
        yield folder
        folder.chmod(0o755)
        _replace(folder, directory, kind, format, digest)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def sweep(parent: Path) -> None:
    """Delete the temporary folders of killed processes in ``parent``."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # a process is still building it
            descriptor = lock(folder, flags=os.O_RDONLY, required=True)
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


def _replace(folder: Path, directory: Path, kind: str, format: int, digest: str) -> None:
    """Move ``folder`` to ``directory`` unless there is a sound folder of this kind, format and digest.

    The folder there is moved away first, since a rename replaces only empty folders.
    """
    for _ in range(100):
        try:
            folder.replace(directory)
        except OSError:
            if not directory.exists():
                raise
            with suppress(GraphError):
                unseal(directory, kind, format, digest=digest, whole=True)
                return
            temporary = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory.parent))
            with suppress(OSError):
                directory.replace(temporary / "old")
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            return
    raise GraphError(f"{directory} could not be replaced; close the programs that are building it and try again")


# the cache


def cache_folder(name: str) -> Path:
    """Return the folder ``name`` in ``TACIT_CACHE``, else in the user's cache folder; it may not exist yet."""
    folder = os.environ.get("TACIT_CACHE")
    if folder:
        return Path(folder) / name
    import platformdirs

    return Path(platformdirs.user_cache_dir("tacit")) / name

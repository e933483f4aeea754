"""Downloads of the official files: resumed after an interruption, verified, and moved into place only when complete.

The bytes so far are in ``<file>.part``, with the server's validator in ``<file>.part.etag``, so that a later run resumes only
while the server still has the same file. The tables in an archive are unpacked into a folder next to it. Size and checksum are
verified where they are known, wherever the file comes from; every file must be complete by its own checksums and have the
expected format.

The files themselves are described in ``sources.json``.
"""

from __future__ import annotations

import errno
import functools
import os
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

import httpx
import orjson

from ..graph.errors import FetchError, InputError, LoadError
from ..graph.storage import file_sha256
from .formats import detect
from .io import HEAD_BYTES, ByteSource

Progress = Callable[[int, int | None], None]
"""Called with the bytes on disk so far and the total, None when the server does not give it."""

_CHUNK = 1 << 18
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)


class _Retryable(Exception):
    """A temporary failure, after which the download can be tried again."""


def fetch(
    name: str,
    directory: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
    attempts: int = 5,
    pause: float = 1.0,
) -> tuple[Path, ...]:
    """Download the official file ``name`` into ``directory`` and return the files to load.

    A file that exists and passes its checks is not downloaded again. :func:`verified` tells whether a checksum was known.

    Args:
        name: a key of :func:`tacit.loaders.download.all_sources`.
        directory: destination folder; created when it does not exist.
        progress: called after each chunk.
        base_url: a mirror to use instead of the official address: ``<base_url>/<file>``.
        attempts: number of attempts; each resumes where the last one stopped.
        pause: seconds before the second attempt, doubled for each later one.

    Raises:
        InputError: the name is unknown.
        FetchError: the server cannot be reached or refuses, the file differs from what was published, the disk is full, or the
            file can only be downloaded by hand.
    """
    source = find_source(name)
    if source.by_hand:
        raise FetchError(
            f"{source.title}: it cannot be downloaded automatically; download {source.file} by hand from {source.url}"
        )
    url = f"{base_url.rstrip('/')}/{source.file}" if base_url else source.url
    folder = Path(directory)
    target = folder / source.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (target.exists() and _problem(target, source) is None):
            _download(url, source, target, progress, attempts, pause)
        return _unpack(target, source, folder) if source.members else (target,)
    except OSError as error:
        part = _part_path(target)
        if target.parent.is_dir() and not part.exists():
            _validator_path(part).unlink(missing_ok=True)
        advice = ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "; free space there or give another --directory"
            if part.exists():
                advice += "; the bytes so far are kept, and running the command again resumes the download"
        raise FetchError(f"{url} cannot be saved to {folder} ({error.strerror or error}){advice}") from None


def local_files(name: str, directory: str | os.PathLike[str], into: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the files to load of the official file ``name`` in ``directory``, which is only read; archives are unpacked
    ``into``."""
    source = find_source(name)
    path = Path(directory) / source.file
    try:
        if not path.is_file():
            raise FetchError(f"there is no {source.file} in {directory}; get {source.url} and put it there")
        problem = _problem(path, source)
        if problem is not None:
            raise FetchError(f"{path} {problem}; get {source.url} again and put it there")
        if not source.members:
            return (path,)
        Path(into).mkdir(parents=True, exist_ok=True)
        return _unpack(path, source, Path(into))
    except OSError as error:
        raise FetchError(f"{error.filename or path} cannot be used ({error.strerror or error}); give another folder") from None


def verified(name: str, path: str | os.PathLike[str]) -> tuple[bool, str]:
    """Return whether a checksum is known for the official file ``name`` in the folder ``path``, and its sha256."""
    source = find_source(name)
    return source.sha256 is not None, source.sha256 or file_sha256(Path(path) / source.file)


def _download(url: str, source: Source, target: Path, progress: Progress | None, attempts: int, pause: float) -> None:
    part = _part_path(target)
    failure = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _attempt(url, part, progress)
            break
        except _Retryable as error:
            failure = str(error)
    else:
        resume_hint = f"; the {part.stat().st_size:,} bytes so far are kept" if part.exists() else ""
        raise FetchError(f"{url} could not be downloaded ({failure}){resume_hint}; check the network and run the command again")
    problem = _problem(part, source)
    _validator_path(part).unlink(missing_ok=True)
    if problem is not None:
        part.unlink()
        raise FetchError(f"{url} {problem}; the download was deleted, run the command again or ask its provider")
    part.replace(target)


def _attempt(url: str, part: Path, progress: Progress | None) -> None:
    """Request the missing bytes of ``part`` and append them; raise _Retryable for a failure that may pass."""
    offset = part.stat().st_size if part.exists() else 0
    validator = _validator_path(part).read_text() if offset and _validator_path(part).exists() else ""
    headers = {"Accept-Encoding": "identity"}
    if offset and validator:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code == 416:
                if response.headers.get("Content-Range") == f"bytes */{offset}":
                    return  # all bytes are there: an earlier run ended before it verified them
                part.unlink(missing_ok=True)
                raise _Retryable("the server's file has changed")
            if response.status_code in (408, 425, 429) or response.status_code >= 500:
                raise _Retryable(f"the server answered {response.status_code}")
            if response.status_code not in (200, 206):
                raise FetchError(f"{url} cannot be downloaded: the server answered {response.status_code}; check the address")
            resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
            if response.status_code == 206 and not resumed:
                part.unlink(missing_ok=True)
                raise _Retryable("the server sent another part than requested")
            if not resumed:
                offset = 0
                _write_validator(part, response.headers)
            _save(response, part, offset, progress)
    except httpx.InvalidURL as error:
        raise FetchError(f"{url} is not a valid address: {error}; check --base-url") from None
    except httpx.HTTPError as error:
        raise _Retryable(str(error) or type(error).__name__) from None


def _save(response: httpx.Response, part: Path, offset: int, progress: Progress | None) -> None:
    length = response.headers.get("Content-Length", "")
    total = offset + int(length) if length.isdigit() else None
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - offset > free:
        raise OSError(errno.ENOSPC, f"{total - offset:,} bytes are missing, and {free:,} are free")
    with part.open("ab" if offset else "wb") as file:
        for chunk in response.iter_raw():
            file.write(chunk)
            offset += len(chunk)
            if progress is not None:
                progress(offset, total)
    if total is not None and offset < total:
        raise _Retryable("the connection ended early")


def _part_path(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _validator_path(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _write_validator(part: Path, headers: Mapping[str, str]) -> None:
    """Keep a value for If-Range: a strong ETag, or the date of the last change; without either the download starts over."""
    etag = headers.get("ETag", "")
    _validator_path(part).write_text(etag if etag.startswith('"') else headers.get("Last-Modified", ""))


def _problem(path: Path, source: Source) -> str | None:
    """Return how ``path`` differs from what was published, None when no difference is known."""
    size = path.stat().st_size
    if source.size is not None and size != source.size:
        return f"has {size:,} bytes instead of {source.size:,}"
    if source.sha256 is not None and (digest := file_sha256(path)) != source.sha256:
        return f"has the sha256 {digest} instead of {source.sha256}"
    if source.members:
        is_archive = zipfile.is_zipfile(path) or (_is_tar(source.file) and tarfile.is_tarfile(path))
        return None if is_archive else f"is not {'an' if _is_tar(source.file) else 'a zip'} archive{_looks_like(path)}"
    if source.sha256 is not None:
        return None
    stream = ByteSource(path)
    try:
        stream.check()
        next(stream.chunks(), None)
        detected = detect(stream.head)
    except LoadError:
        return "is a damaged gzip file"
    finally:
        stream.close()
    return None if detected is not None and detected.kind == source.name else f"is not {source.title}{_looks_like(path)}"


def _looks_like(path: Path) -> str:
    """Return what a wrong file looks like, as the end of a sentence."""
    with path.open("rb") as file:
        detected = detect(file.read(HEAD_BYTES))
    return f" but looks like {detected.what}" if detected is not None else ""


def _unpack(archive: Path, source: Source, folder: Path) -> tuple[Path, ...]:
    """Unpack the tables of ``archive`` into ``folder/NAME`` under their base names, each atomically; return their paths."""
    targets = {member: folder / source.name / member for member in source.members}
    missing = dict(targets)
    try:
        for name, size, open_entry in _entries(archive):
            target = missing.pop(name, None)
            if target is not None and not (target.exists() and target.stat().st_size == size):
                target.parent.mkdir(exist_ok=True)
                part = _part_path(target)
                try:
                    with open_entry() as incoming, part.open("wb") as outgoing:
                        shutil.copyfileobj(incoming, outgoing, _CHUNK)
                    part.replace(target)
                finally:
                    part.unlink(missing_ok=True)
            if not missing:
                break
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise FetchError(f"{archive} cannot be unpacked: {error}; delete it and run the command again") from None
    if missing:
        raise FetchError(f"{archive} does not contain {next(iter(missing))}; delete it and run the command again")
    return tuple(targets.values())


def _is_tar(file: str) -> bool:
    return file.endswith((".tar", ".tar.gz", ".tgz"))


def _entries(archive: Path) -> Iterator[tuple[str, int, Callable[[], IO[bytes]]]]:
    """Yield base name, size and opener of each file in a zip or tar archive; a tar archive is read no further than asked."""
    if _is_tar(archive.name):
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile():
                    yield Path(member.name).name, member.size, functools.partial(_open_member, tar, member)
        return
    with zipfile.ZipFile(archive) as archive_file:
        for entry in archive_file.infolist():
            if "__MACOSX" not in entry.filename:
                yield Path(entry.filename).name, entry.file_size, functools.partial(archive_file.open, entry)


def _open_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member)
    assert file is not None  # a regular file
    return file


@dataclass(frozen=True, slots=True)
class Source:
    """One official download.

    Attributes:
        name: its name for ``tacit fetch``.
        title: a description of one line.
        url: its address.
        file: its name on disk.
        size: bytes, None where it was not published.
        sha256: hexadecimal digest, None where it was not published.
        checksum_origin: where size and digest come from.
        rows: number of lines, None where it is unknown.
        members: files to unpack from it, when it is a zip or tar archive.
        licence, homepage, citation: as given by its authors.
        by_hand: whether the address is a page from which people download the file.
    """

    name: str
    title: str
    url: str
    file: str
    size: int | None
    sha256: str | None
    checksum_origin: str | None
    rows: int | None
    members: tuple[str, ...]
    licence: str
    homepage: str
    citation: str
    by_hand: bool = False


@functools.cache
def all_sources() -> dict[str, Source]:
    """Return every official file by name."""
    table = orjson.loads((resources.files(__package__) / "sources.json").read_bytes())
    return {name: Source(name=name, **(fields | {"members": tuple(fields["members"])})) for name, fields in table.items()}


def find_source(name: str) -> Source:
    """Return the official file with this name.

    Raises:
        InputError: the name is unknown.
    """
    if name not in all_sources():
        raise InputError(f"{name!r} is not one of the official files; choose {', '.join(all_sources())}")
    return all_sources()[name]

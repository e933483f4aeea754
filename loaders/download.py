"""Downloads of the official files: resumed where they stopped, verified, and in place only when whole.

The bytes so far stand in ``<file>.part`` with the server's validator beside them, so that a later run goes on only while the
server still has the same file. An archive's tables are unpacked next to it. Size and checksum are verified where they are known,
wherever the file comes from; any file must be whole as far as its own checksums tell, and look like what it should be.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import os
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import httpx
import orjson

from ..graph.errors import FetchError, InputError, LoadError
from .guess import guess
from .io import HEAD_BYTES, ByteSource

#: Called with bytes on disk so far and the total, None when the server does not say.
Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 18
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)


class _Again(Exception):
    """A failure that may pass: the attempt can be repeated."""


def fetch(
    name: str,
    directory: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
    attempts: int = 5,
    pause: float = 1.0,
) -> tuple[Path, ...]:
    """Download the official file ``name`` into ``directory`` and return the files that are ready to load.

    A file that is there and passes its checks is not downloaded again.

    Args:
        name: a key of :func:`tacit.loaders.download.all_sources`.
        directory: where to; made when it does not exist.
        progress: called after each piece.
        base_url: where to look instead of the official place (a mirror): ``<base_url>/<file>``.
        attempts: how often to try before giving up; every attempt goes on where the last one stopped.
        pause: seconds before the second attempt, doubled for each one after it.

    Raises:
        InputError: the name is unknown.
        FetchError: the server cannot be reached or refuses, the file is not what was published, or the disk is full.

    Whether the file could be compared with a checksum :func:`verified` says.
    """
    wanted = find_source(name)
    url = f"{base_url.rstrip('/')}/{wanted.file}" if base_url else wanted.url
    folder = Path(directory)
    target = folder / wanted.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (target.exists() and _problem(target, wanted) is None):
            _download(url, wanted, target, progress, attempts, pause)
        return _unpack(target, wanted) if wanted.members else (target,)
    except OSError as error:
        if target.parent.is_dir() and not _part(target).exists():
            _validator(_part(target)).unlink(missing_ok=True)
        kept = (
            "; what has come so far is kept, and running the command again goes on from there" if _part(target).exists() else ""
        )
        room = f"; free space there or give another --directory{kept}" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise FetchError(f"{url} cannot be saved to {folder} ({error.strerror or error}){room}") from None


def verified(name: str, path: str | os.PathLike[str]) -> tuple[bool, str]:
    """Return whether a checksum is known for the official file ``name``, so that :func:`fetch` compared them, and its sha256.

    Args:
        name: a key of :func:`tacit.loaders.download.all_sources`; path: the folder that it was downloaded into.
    """
    wanted = find_source(name)
    return wanted.sha256 is not None, wanted.sha256 or _sha256(Path(path) / wanted.file)


def _download(url: str, wanted: Source, target: Path, progress: Progress | None, attempts: int, pause: float) -> None:
    part = _part(target)
    last = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _attempt(url, part, progress)
            break
        except _Again as error:
            last = str(error)
    else:
        kept = f"; the {part.stat().st_size:,} bytes so far are kept" if part.exists() else ""
        raise FetchError(f"{url} could not be downloaded ({last}){kept}; check the network and run the command again")
    problem = _problem(part, wanted)
    _validator(part).unlink(missing_ok=True)
    if problem is not None:
        part.unlink()
        raise FetchError(f"{url} {problem}; the download was thrown away, run the command again or ask its provider")
    part.replace(target)


def _attempt(url: str, part: Path, progress: Progress | None) -> None:
    """Ask for what is missing of ``part`` and append it.

    Raises:
        _Again: the connection failed or broke, or the server is overloaded.
        FetchError: the server refuses.
    """
    have = part.stat().st_size if part.exists() else 0
    validator = _validator(part).read_text() if have and _validator(part).exists() else ""
    headers = {"Accept-Encoding": "identity"}
    if have and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    try:
        with (
            httpx.Client(timeout=_TIMEOUT, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code == 416:  # what we have is not a beginning of what the server has
                part.unlink(missing_ok=True)
                raise _Again("the server's file has changed")
            if response.status_code in (408, 425, 429) or response.status_code >= 500:
                raise _Again(f"the server answered {response.status_code}")
            if response.status_code not in (200, 206):
                raise FetchError(f"{url} cannot be downloaded: the server answered {response.status_code}; check the address")
            resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if response.status_code == 206 and not resumed:
                part.unlink(missing_ok=True)
                raise _Again("the server sent another part than asked for")
            if not resumed:
                have = 0
                _remember_validator(part, response.headers)
            _save(response, part, have, progress)
    except httpx.InvalidURL as error:
        raise FetchError(f"{url} is not an address: {error}") from None
    except httpx.HTTPError as error:
        raise _Again(str(error) or type(error).__name__) from None


def _save(response: httpx.Response, part: Path, have: int, progress: Progress | None) -> None:
    length = response.headers.get("Content-Length", "")
    total = have + int(length) if length.isdigit() else None
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - have > free:
        raise OSError(errno.ENOSPC, f"{total - have:,} bytes are to come, and {free:,} are free")
    with part.open("ab" if have else "wb") as file:
        for chunk in response.iter_raw():
            file.write(chunk)
            have += len(chunk)
            if progress is not None:
                progress(have, total)
    if total is not None and have < total:
        raise _Again("the connection ended early")


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _validator(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _remember_validator(part: Path, headers: Mapping[str, str]) -> None:
    """Keep what If-Range can compare: a strong ETag, else the date of the last change; without either a resume starts anew."""
    etag = headers.get("ETag", "")
    _validator(part).write_text(etag if etag.startswith('"') else headers.get("Last-Modified", ""))


def _problem(path: Path, wanted: Source) -> str | None:
    """Return how ``path`` differs from what was published, None when it does not, as far as that is known."""
    size = path.stat().st_size
    if wanted.size is not None and size != wanted.size:
        return f"has {size:,} bytes instead of {wanted.size:,}"
    if wanted.sha256 is not None and (digest := _sha256(path)) != wanted.sha256:
        return f"has the sha256 {digest} instead of {wanted.sha256}"
    if wanted.members:
        return None if zipfile.is_zipfile(path) else f"is not a zip archive{_looks(path)}"
    if wanted.sha256 is not None:
        return None
    source = ByteSource(path)
    try:
        source.check()
        next(source.chunks(), None)
        found = guess(source.head)
    except LoadError:
        return "is a damaged gzip file"
    finally:
        source.close()
    return None if found is not None and found.kind == wanted.name else f"is not {wanted.title}{_looks(path)}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _looks(path: Path) -> str:
    """What a wrong file looks like, as the rest of a sentence."""
    with path.open("rb") as file:
        found = guess(file.read(HEAD_BYTES))
    return f" but looks like {found.what}" if found is not None else ""


def _unpack(archive: Path, wanted: Source) -> tuple[Path, ...]:
    """Take the wanted tables out of ``archive``, by their base names, each in place only when whole."""
    files = []
    try:
        with zipfile.ZipFile(archive) as packed:
            inside = {Path(entry.filename).name: entry for entry in packed.infolist() if "__MACOSX" not in entry.filename}
            for member in wanted.members:
                if member not in inside:
                    raise FetchError(f"{archive} holds no {member}; delete it and run the command again")
                target = archive.parent / wanted.name / member
                files.append(target)
                if target.exists() and target.stat().st_size == inside[member].file_size:
                    continue
                target.parent.mkdir(exist_ok=True)
                part = _part(target)
                try:
                    with packed.open(inside[member]) as incoming, part.open("wb") as outgoing:
                        shutil.copyfileobj(incoming, outgoing, _CHUNK)
                    part.replace(target)
                finally:
                    part.unlink(missing_ok=True)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise FetchError(f"{archive} cannot be unpacked: {error}; delete it and run the command again") from None
    return tuple(files)


# The official files as data: where they are, how large, under which licence, and how to cite them.
#
# ``size`` and ``sha256`` are None where nobody published them; nothing is made up. The facts stand in ``sources.json``.


@dataclass(frozen=True, slots=True)
class Source:
    """One official download.

    Attributes:
        name: what ``tacit fetch`` calls it; title: what it is, in a line.
        url: where it is; file: its name on disk.
        size: bytes, None when unknown; sha256: hex digest, None when unknown; checksum_origin: who says so.
        rows: lines in it, None when unknown.
        members: files to take out of it, when it is a zip archive.
        licence, homepage, citation: as its authors give them.
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


@functools.cache
def all_sources() -> dict[str, Source]:
    """Return every official file by name."""
    table = orjson.loads((resources.files(__package__) / "sources.json").read_bytes())
    return {name: Source(name=name, **(facts | {"members": tuple(facts["members"])})) for name, facts in table.items()}


def find_source(name: str) -> Source:
    """Return the official file called ``name``.

    Raises:
        InputError: there is none of that name.
    """
    if name not in all_sources():
        raise InputError(f"{name!r} is not one of the official files; choose {', '.join(all_sources())}")
    return all_sources()[name]

"""Downloads from a real HTTP server on this machine that resumes, breaks off, changes its file, sends wrong data and refuses."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import socket
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tacit.graph.errors import FetchError, InputError
from tacit.loaders import all_sources, fetch, find_source
from tacit.loaders.download import Source, verified

BODY = bytes(range(256)) * 8000


@dataclass
class Behaviour:
    """How the server is to act: what it serves, how many bytes it sends before it breaks off, what it answers instead."""

    body: bytes = BODY
    etag: str | None = '"one"'
    breaks: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    ranges: bool = True
    requests: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Behaviour]:
    behaviour = Behaviour()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.requests.append(dict(self.headers.items()))
            if behaviour.statuses:
                self.send_response(behaviour.statuses.pop(0))
                self.end_headers()
                return
            body, ranges = behaviour.body, re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            current = behaviour.etag is not None and self.headers.get("If-Range") == behaviour.etag
            start = int(ranges[1]) if ranges and current and behaviour.ranges else 0
            if start >= len(body) > 0:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            if behaviour.etag is not None:
                self.send_header("ETag", behaviour.etag)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            end = start + behaviour.breaks.pop(0) if behaviour.breaks else len(body)
            self.wfile.write(body[start:end])

        def log_message(self, format: str, *args: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    behaviour.url = f"http://127.0.0.1:{listener.server_port}/files"
    yield behaviour
    listener.shutdown()
    listener.server_close()
    thread.join()


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Source]]:
    """The table of official files, with sizes and checksums of what the test server has."""
    table = dict(all_sources())
    table["conceptnet"] = replace(table["conceptnet"], size=len(BODY), sha256=hashlib.sha256(BODY).hexdigest())
    monkeypatch.setattr("tacit.loaders.download.all_sources", lambda: table)
    return iter([table])


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("expected")
def test_a_file_is_downloaded_once(tmp_path: Path, server: Behaviour) -> None:
    seen: list[tuple[int, int | None]] = []
    (path,) = fetch(
        "conceptnet", tmp_path / "new" / "folder", base_url=server.url, progress=lambda done, total: seen.append((done, total))
    )
    assert path.read_bytes() == BODY
    assert leftovers(path.parent) == ["conceptnet-assertions-5.7.0.csv.gz"]
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert fetch("conceptnet", path.parent, base_url=server.url) == (path,)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("expected")
def test_a_broken_connection_is_resumed(tmp_path: Path, server: Behaviour) -> None:
    server.breaks = [300_000, 700_000, 0]
    server.statuses = [503]
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url, pause=0)
    assert path.read_bytes() == BODY
    assert leftovers(tmp_path) == [path.name]
    ranges = [request.get("Range") for request in server.requests]
    assert ranges[:2] == [None, None]
    assert ranges[2:] == ["bytes=300000-", "bytes=1000000-", "bytes=1000000-"]


@pytest.mark.usefixtures("expected")
def test_a_later_run_resumes_the_download(tmp_path: Path, server: Behaviour) -> None:
    server.breaks = [300_000]
    with pytest.raises(FetchError, match="300,000 bytes so far are kept"):
        fetch("conceptnet", tmp_path, base_url=server.url, attempts=1)
    assert leftovers(tmp_path) == ["conceptnet-assertions-5.7.0.csv.gz.part", "conceptnet-assertions-5.7.0.csv.gz.part.etag"]
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url)
    assert path.read_bytes() == BODY
    assert server.requests[-1]["If-Range"] == '"one"'


@pytest.mark.parametrize("change", ["etag", "no etag", "no ranges"])
@pytest.mark.usefixtures("expected")
def test_downloads_that_cannot_be_resumed_restart(tmp_path: Path, server: Behaviour, change: str) -> None:
    server.body, server.breaks = b"an older file " * 100_000, [300_000]
    if change == "no etag":
        server.etag = None
    with pytest.raises(FetchError):
        fetch("conceptnet", tmp_path, base_url=server.url, attempts=1)
    server.body = BODY
    server.etag = {"etag": '"two"', "no etag": None, "no ranges": '"one"'}[change]
    server.ranges = change != "no ranges"
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url, attempts=1)
    assert path.read_bytes() == BODY


@pytest.mark.usefixtures("expected")
def test_a_complete_partial_file_is_not_downloaded_again(tmp_path: Path, server: Behaviour) -> None:
    part = tmp_path / "conceptnet-assertions-5.7.0.csv.gz.part"
    part.write_bytes(BODY)
    part.with_name(part.name + ".etag").write_text('"one"')
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url, pause=0)
    assert path.read_bytes() == BODY
    assert len(server.requests) == 1
    assert leftovers(tmp_path) == ["conceptnet-assertions-5.7.0.csv.gz"]


@pytest.mark.usefixtures("expected")
def test_a_partial_file_that_is_too_long_restarts(tmp_path: Path, server: Behaviour) -> None:
    part = tmp_path / "conceptnet-assertions-5.7.0.csv.gz.part"
    part.write_bytes(BODY + b"more")
    part.with_name(part.name + ".etag").write_text('"one"')
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url, pause=0)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize("body", [BODY[:-1], BODY[:-1] + b"!", b""])
@pytest.mark.usefixtures("expected")
def test_a_file_with_a_wrong_checksum_is_not_stored(tmp_path: Path, server: Behaviour, body: bytes) -> None:
    server.body = body
    with pytest.raises(FetchError, match=r"bytes instead of|sha256"):
        fetch("conceptnet", tmp_path, base_url=server.url)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("expected")
def test_an_existing_file_with_a_wrong_checksum_is_replaced(tmp_path: Path, server: Behaviour) -> None:
    (tmp_path / "conceptnet-assertions-5.7.0.csv.gz").write_bytes(b"older")
    (path,) = fetch("conceptnet", tmp_path, base_url=server.url)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (403, 1), (500, 3), (429, 3)])
def test_http_errors_are_one_sentence(tmp_path: Path, server: Behaviour, status: int, requests: int) -> None:
    server.statuses = [status] * 10
    with pytest.raises(FetchError, match=f"answered {status}") as caught:
        fetch("numberbatch", tmp_path, base_url=server.url, attempts=3, pause=0)
    assert server.url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.requests) == requests
    assert leftovers(tmp_path) == []


def test_offline_is_one_sentence_with_the_address(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(FetchError) as caught:
        fetch("numberbatch", tmp_path, base_url=url, attempts=2, pause=0)
    message = str(caught.value)
    assert message.startswith(f"{url}/numberbatch-en-19.08.txt.gz could not be downloaded")
    assert "check the network" in message
    assert "\n" not in message


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://[", "http://host:port"])
def test_invalid_addresses_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(FetchError):
        fetch("numberbatch", tmp_path, base_url=url, attempts=1)


def test_an_invalid_folder_is_refused(tmp_path: Path, server: Behaviour) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FetchError, match="cannot be saved"):
        fetch("numberbatch", tmp_path / "file", base_url=server.url)


def archive(*members: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members:
            packed.writestr(name, text)
    return buffer.getvalue()


def unknown(name: str, expected: Iterator[dict[str, Source]]) -> None:
    """As if nobody knew the size and checksum of the file."""
    table = next(expected)
    table[name] = replace(table[name], size=None, sha256=None)


def test_only_the_tables_of_an_archive_are_extracted(
    tmp_path: Path, server: Behaviour, expected: Iterator[dict[str, Source]]
) -> None:
    folder = "atomic2020_data-feb2021/"
    unknown("atomic2020", expected)
    server.body = archive(
        *((folder + name, f"a\txWant\t{name}\n") for name in ("train.tsv", "dev.tsv", "test.tsv", "README.md")),
        ("../../evil.tsv", "evil"),
        ("__MACOSX/" + folder + "train.tsv", "resource fork"),
    )
    files = fetch("atomic2020", tmp_path, base_url=server.url)
    assert [path.relative_to(tmp_path).as_posix() for path in files] == [
        "atomic2020/train.tsv",
        "atomic2020/dev.tsv",
        "atomic2020/test.tsv",
    ]
    assert files[0].read_text() == "a\txWant\ttrain.tsv\n"
    assert leftovers(tmp_path) == ["atomic2020", "atomic2020_data-feb2021.zip"]
    assert leftovers(tmp_path / "atomic2020") == ["dev.tsv", "test.tsv", "train.tsv"]
    assert fetch("atomic2020", tmp_path, base_url=server.url) == files


@pytest.mark.parametrize("body", [b"<html>sign in</html>", archive(("train.tsv", "a"))])
def test_invalid_or_incomplete_archives_are_refused(
    tmp_path: Path, server: Behaviour, body: bytes, expected: Iterator[dict[str, Source]]
) -> None:
    server.body = body
    unknown("atomic2020", expected)
    with pytest.raises(FetchError, match=r"not a zip archive but looks like an HTML page|does not contain dev\.tsv"):
        fetch("atomic2020", tmp_path, base_url=server.url)


def test_a_damaged_archive_leaves_no_partial_table(
    tmp_path: Path, server: Behaviour, expected: Iterator[dict[str, Source]]
) -> None:
    body = bytearray(archive(*((name, "PersonX eats\txWant\tto rest\n" * 1000) for name in ("train.tsv", "dev.tsv", "test.tsv"))))
    body[60] ^= 0x10
    server.body = bytes(body)
    unknown("atomic2020", expected)
    with pytest.raises(FetchError, match="cannot be unpacked"):
        fetch("atomic2020", tmp_path, base_url=server.url)
    assert leftovers(tmp_path / "atomic2020") == []


def test_the_triples_in_a_tar_archive_are_unpacked(tmp_path: Path, server: Behaviour) -> None:
    line = b'{"head": "X eats", "relation": "xWant", "tail": "to rest", "split": "train", "p_valid_model": 0.9}\n'
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in (
            ("../evil", b"x"),
            ("downloaded/README", b"y"),
            ("downloaded/ATOMIC10X.jsonl", line),
            ("z", b"z" * 9),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    server.body = packed.getvalue()
    (path,) = fetch("atomic10x", tmp_path, base_url=server.url)
    assert path == tmp_path / "atomic10x" / "ATOMIC10X.jsonl"
    assert path.read_bytes() == line
    assert fetch("atomic10x", tmp_path, base_url=server.url) == (path,)
    assert leftovers(tmp_path) == ["atomic10x", "symbolic-knowledge-distillation.tar.gz"]
    for body, words in (
        (b"<html>sign in</html>", "is not an archive but looks like an HTML page"),
        (packed.getvalue()[:120], "cannot be unpacked|does not contain|is not an archive"),
        (gzip.compress(b""), "does not contain|is not an archive"),
    ):
        shutil.rmtree(tmp_path)
        server.body = body
        with pytest.raises(FetchError, match=words):
            fetch("atomic10x", tmp_path, base_url=server.url)


def test_cskg_is_recognised_by_its_heading(tmp_path: Path, server: Behaviour) -> None:
    server.body = gzip.compress(b"id\tnode1\trelation\tnode2\tnode1;label\na\t/c/en/a\t/r/IsA\t/c/en/b\ta\n")
    assert fetch("cskg", tmp_path, base_url=server.url) == (tmp_path / "cskg.tsv.gz",)
    (tmp_path / "cskg.tsv.gz").unlink()
    server.body = gzip.compress(b"PersonX eats\txWant\tto rest\n")
    with pytest.raises(FetchError, match="is not CSKG"):
        fetch("cskg", tmp_path, base_url=server.url)


@pytest.mark.parametrize("name", ["glucose", "peacok"])
def test_manual_downloads_are_explained(tmp_path: Path, name: str) -> None:
    wanted = find_source(name)
    with pytest.raises(FetchError, match=rf"cannot be downloaded automatically; download {wanted.file} by hand from https://"):
        fetch(name, tmp_path)
    assert leftovers(tmp_path) == []


VECTORS = b"2 25\n" + b"".join(b"/c/en/%s " % word + b" ".join([b"0.5"] * 25) + b"\n" for word in (b"dog", b"cat"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (gzip.compress(VECTORS), None),
        (gzip.compress(VECTORS)[:-3], "is a damaged gzip file"),
        (b"<html>sign in</html>", "is not ConceptNet Numberbatch .* but looks like an HTML page"),
        (gzip.compress(b"PersonX eats\txWant\tto rest\n"), "is not ConceptNet Numberbatch"),
    ],
    ids=["vectors", "cut", "web page", "another file"],
)
def test_a_file_without_known_checksum_is_checked_by_its_content(
    tmp_path: Path, server: Behaviour, body: bytes, words: str | None
) -> None:
    server.body = body
    if words is None:
        (path,) = fetch("numberbatch", tmp_path, base_url=server.url)
        assert verified("numberbatch", tmp_path) == (False, hashlib.sha256(path.read_bytes()).hexdigest())
        return
    with pytest.raises(FetchError, match=words):
        fetch("numberbatch", tmp_path, base_url=server.url)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("name", ["conceptnet", "atomic2020"])
def test_files_of_mirrors_are_verified(tmp_path: Path, server: Behaviour, name: str) -> None:
    server.body = archive(*((member, "PersonX eats\txWant\tto rest\n") for member in ("train.tsv", "dev.tsv", "test.tsv")))
    with pytest.raises(FetchError, match="bytes instead of"):
        fetch(name, tmp_path, base_url=server.url)
    assert leftovers(tmp_path) == []


def test_too_little_disk_space_is_reported_before_downloading(
    tmp_path: Path, server: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.loaders.download.shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(FetchError, match=r"2,048,000 bytes are missing, and 1 are free\); free space there or give another"):
        fetch("numberbatch", tmp_path, base_url=server.url)
    assert leftovers(tmp_path) == []


def test_the_table_of_official_files() -> None:
    files = ["conceptnet", "atomic2020", "numberbatch", "judge", "cskg", "atomic10x", "glucose", "peacok"]
    assert list(all_sources()) == files
    for facts in all_sources().values():
        assert facts.url.startswith("https://")
        assert facts.url.endswith(facts.file) is not facts.by_hand
        assert facts.licence
        assert facts.citation
        assert facts.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", facts.sha256)
        assert (facts.sha256 is None) == (facts.checksum_origin is None)
    with pytest.raises(InputError, match="choose conceptnet, atomic2020, numberbatch"):
        find_source("wordnet")

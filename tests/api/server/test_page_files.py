"""The page's files over HTTP: what a browser may keep, when a copy of its own is good, and what is never given."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tacit.api.server import app
from tacit.api.server import app as application

from tests.api.server.conftest import InProcessClient

NAMES = sorted(path.name for path in (Path(application.__file__).parents[1] / "page").iterdir() if path.is_file())


@pytest.mark.parametrize("path", ["/", "/docs", *(f"/static/{name}" for name in NAMES)])
def test_page_files_are_cached_and_revalidated(ask: InProcessClient, path: str) -> None:
    whole = ask("GET", path)
    assert whole.status_code == 200
    assert whole.headers["cache-control"] == "no-cache"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.content
    for known in (whole.headers["etag"], f'"old", W/{whole.headers["etag"]}'):
        same = ask("GET", path, headers={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["cache-control"]) == (304, b"", "no-cache")
        assert same.headers["etag"] == whole.headers["etag"]
    assert ask("GET", path, headers={"If-None-Match": '"old"'}).content == whole.content


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the page's folder, from which applications serve it."""
    shutil.copytree(Path(application.__file__).parents[1] / "page", tmp_path / "page")
    (tmp_path / "explanation").mkdir()  # of the style of pictures
    monkeypatch.setattr(app, "files", lambda _: tmp_path)
    return tmp_path / "page"


def test_etags_depend_on_content_alone(folder: Path, service: Callable[..., InProcessClient]) -> None:
    ask = service()
    style = folder / "style.css"
    first, times = ask("GET", "/static/style.css"), style.stat()
    known = {"If-None-Match": first.headers["etag"]}
    os.utime(style, (0, 0))  # an image that was built anew
    assert ask("GET", "/static/style.css", headers=known).status_code == 304
    style.write_bytes(first.content.replace(b"calm", b"loud"))
    os.utime(style, ns=(times.st_atime_ns, times.st_mtime_ns))  # as large and as old as before
    changed = ask("GET", "/static/style.css", headers=known)
    assert (changed.status_code, b"loud" in changed.content) == (200, True)


def test_no_file_outside_the_page_folder_is_served(ask: InProcessClient) -> None:
    for path in ("/static/../api.py", "/static/%2e%2e/keyring.py", "/static//etc/passwd", "/static/"):
        assert ask("GET", path).status_code == 404
    assert ask("POST", "/static/app.js").status_code == 405


def test_the_page_has_a_content_security_policy(ask: InProcessClient) -> None:
    for path in ("/", "/docs"):
        assert "default-src 'none'" in ask("GET", path).headers["content-security-policy"]

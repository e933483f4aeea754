"""The page at ``/``, the API's page at ``/docs``, and their files; browsers keep them and ask each time whether they changed.

A file's ETag is of its bytes, so a copy is good as long as they are, in a new container too, and no version mixes with another.
"""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def mount_page(app: FastAPI) -> None:
    """Serve the page, where it is there."""
    folder = Path(str(files("tacit.api"))) / "page"
    if not (folder / "index.html").is_file():
        return
    kept = _Files(directory=folder)

    async def page(name: str, request: Request) -> Response:
        response = await kept.get_response(name, request.scope)
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @app.get("/", include_in_schema=False)
    async def start(request: Request) -> Response:
        return await page("index.html", request)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await page("docs.html", request)

    app.mount("/static", kept, name="static")


class _Files(StaticFiles):
    """The files of a folder."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Give a file, or say that the copy at hand is good."""
        headers = {
            "Cache-Control": "no-cache",  # keep it, but ask before it is used
            "ETag": f'"{hashlib.sha256(Path(full_path).read_bytes()).hexdigest()[:32]}"',
        }
        response = FileResponse(full_path, status_code, headers, stat_result=stat_result)
        same = self.is_not_modified(response.headers, Headers(scope=scope))
        return NotModifiedResponse(response.headers) if same else response

"""Models by id: fetched once from a hub, found in the cache afterwards, and missing in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.reasoning.models.tiny_causal import save_tiny_causal

pytest.importorskip("transformers")

COMMIT = "0" * 39 + "1"
PROGRAM = """
import sys
from tacit.graph.errors import TacitError
from tacit.reasoning.models.causal_lm import open_causal
for model in sys.argv[1:]:
    try:
        opened = open_causal(model)
        print(opened.signature, round(float(opened.losses([["i have a dog"]])[0]), 4))
    except TacitError as error:
        print(type(error).__name__, error)
"""


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's interface as fetching a model's files asks for, over one folder, named ``owner/tiny``."""

    folder: Path
    requests: list[str]

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.requests.append(path)
        names = sorted(entry.name for entry in self.folder.iterdir())
        if path.startswith("/api/models/owner/tiny"):
            files = [*names, "onnx/model.safetensors", "flax_model.msgpack"]
            tree = [{"type": "file", "path": name, "size": 1, "oid": name} for name in files]
            info = {"id": "owner/tiny", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            self.reply(json.dumps(tree if "/tree/" in path else info).encode(), body)
        elif path.startswith("/owner/tiny/resolve/") and (name := path.split("/")[-1]) in names:
            self.reply((self.folder / name).read_bytes(), body, name)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def reply(self, data: bytes, body: bool, name: str = "") -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        if name:
            self.send_header("ETag", f'"{name}-1"')
            self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    Hub.folder = save_tiny_causal(tmp_path / "served")
    Hub.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def opened(models: list[str], endpoint: str, cache: Path) -> list[str]:
    """What a process says of each of some models; its last lines, since fetching may show its progress before."""
    variables = {"HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(cache), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    variables |= {"HF_HUB_OFFLINE": "0", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *models],
        capture_output=True,
        text=True,
        env=os.environ | variables,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_model_is_fetched_once(hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{hub.server_port}"
    models = ["owner/other", "owner/tiny", "owner/tiny", str(tmp_path / "served")]
    nothing, fetched, again, from_folder = opened(models, endpoint, tmp_path / "cache")
    assert nothing.startswith(f"ModelError {endpoint} has no model 'owner/other' (status 404)")
    assert fetched.startswith("owner/tiny@")
    assert not [path for path in Hub.requests if "onnx" in path or "msgpack" in path]
    assert again == fetched
    assert Hub.requests.count("/owner/tiny/resolve/main/config.json") == 1  # the cache is enough
    assert from_folder == fetched.replace("owner/tiny@", "served@")

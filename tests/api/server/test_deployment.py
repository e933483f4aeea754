"""The page of the docs and the files to deploy with: commands print what is shown, compose.yaml and Dockerfile hold together."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from tacit.api.main import run
from tacit.api.server import Settings

from tests.api.server.conftest import Running
from tests.doc_pages import pattern

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


def curls() -> list[tuple[str, tuple[str, ...]]]:
    """Every ``curl`` of the page with the output that is shown."""
    commands = []
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *output = part.rstrip("\n").split("\n")
            if line.startswith("curl "):
                commands.append((line, tuple(output)))
    return commands


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize(("line", "output"), curls(), ids=[line[:60] for line, _ in curls()])
def test_the_documentation_shows_real_answers(running: Running, line: str, output: tuple[str, ...]) -> None:
    words = [word.replace("localhost:8000", f"127.0.0.1:{running.port}") for word in shlex.split(line)]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    assert re.fullmatch(pattern(output), printed, re.DOTALL), printed


def test_the_documentation_names_every_limit() -> None:
    named = {name for cell in re.findall(r"^\| (`[a-z_`, ]+`) \|", PAGE, re.MULTILINE) for name in re.findall(r"[a-z_]+", cell)}
    assert {field.name for field in fields(Settings)} - {"log_text"} <= named


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """compose.yaml, read."""
    return dict(yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8")))


def test_compose_runs_both_with_health_checks_and_volumes(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"neo4j", "tacit"}
    for name, service in compose["services"].items():
        assert service["healthcheck"]["test"], name
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in compose["volumes"] or volume.endswith(":ro")
    assert compose["services"]["tacit"]["depends_on"] == {"neo4j": {"condition": "service_healthy"}}
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["tacit"]["ports"])
    assert "ports" not in compose["services"]["neo4j"]


def test_compose_contains_no_password_and_requires_one(compose: dict[str, Any]) -> None:
    passwords = [
        compose["services"]["neo4j"]["environment"]["NEO4J_AUTH"],
        compose["services"]["tacit"]["environment"]["NEO4J_PASSWORD"],
    ]
    assert all(re.fullmatch(r"(neo4j/)?\$\{NEO4J_PASSWORD:\?[^}]+\}", password) for password in passwords)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    variables = set(re.findall(r"(?<!\$)\$\{([A-Z0-9_]+)", (ROOT / "compose.yaml").read_text(encoding="utf-8")))
    assert variables == set(re.findall(r"^#? ?([A-Z0-9_]+)=", example, re.MULTILINE))
    assert re.search(r"^NEO4J_PASSWORD=$", example, re.MULTILINE)
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_compose_uses_options_that_the_service_has(compose: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    words = compose["services"]["tacit"]["command"]
    assert run([words[0], "--help"]) == 0
    known = capsys.readouterr().out
    assert all(word in known for word in words if word.startswith("--"))
    [keys] = [volume for volume in compose["services"]["tacit"]["volumes"] if volume.startswith("${TACIT_KEYS:-./keys}:")]
    assert words[words.index("--keys") + 1] == f"{keys.split(':')[-2]}/tacit-keys"  # a folder: see the replacing of a key file


def test_the_comment_of_compose_names_its_variables(
    compose: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = (ROOT / "compose.yaml").read_text(encoding="utf-8").partition("name: tacit")[0]
    [added] = re.findall(r"tacit (keys add \S+ \".*?\")", head)
    [loaded] = re.findall(r"tacit (load .*)", head)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys").mkdir()
    assert run(shlex.split(added)) == 0
    file = tmp_path / "keys" / "tacit-keys"
    file.chmod(0o644)  # chmod -R a+rX keys
    assert run(["keys", "add", str(file), "another"]) == 0
    assert file.stat().st_mode & 0o777 == 0o644  # the service, a user of its own, reads it still
    assert f"{compose['services']['tacit']['command'][1]}" == shlex.split(loaded)[-1]
    assert run([*shlex.split(loaded)[:2], "--help"]) == 0
    assert "--into" in capsys.readouterr().out


def test_the_image_copies_existing_files_and_stops_by_sigterm() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for name in line.split()}
    assert {"graph", "loaders", "reasoning", "api", "cypher", "pyproject.toml", "constraints.txt"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    assert re.search(r"^USER tacit$", text, re.MULTILINE)
    assert "STOPSIGNAL SIGTERM" in text
    assert re.search(r"^EXPOSE 8000$", text, re.MULTILINE)  # as tacit serve has it, and the ports and the check in compose.yaml
    assert "TACIT_CACHE=/var/cache/tacit " in text
    assert "VOLUME /var/cache/tacit" in text
    [extras] = re.findall(r"'\.\[([a-z0-9,]+)\]'", text)
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras == "mcp"  # tacit serve and tacit mcp run in it
    assert "tacit-kg[serve]" in offered[extras]
    assert ".env" in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

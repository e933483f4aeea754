"""The README's examples: each one that shows output is run, and prints what the README shows."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import pytest
from tacit.api.main import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
CUT = "…"


def console_examples() -> list[tuple[str, list[str]]]:
    """Return (command, lines of output) for every ``tacit`` command in a ``console`` block that is shown with its output."""
    examples: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            if command.startswith("tacit ") and any(line.strip() for line in output):
                examples.append((command, output))
    return examples


EXAMPLES = console_examples()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["demo"]) == 0
    return folder


def pattern(output: list[str]) -> str:
    """Return a pattern for ``output``, in which a line that ends in ``…`` stands for what it begins with and all that follows."""
    text = "\n".join(line.rstrip() for line in output).strip()
    return ".*".join(re.escape(part) for part in text.split(CUT))


def test_the_readme_shows_output() -> None:
    assert {shlex.split(command)[1] for command, _ in EXAMPLES} >= {"hops", "paths", "cypher", "score", "tails"}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_readme_shows_what_is_printed(
    command: str, output: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(shlex.split(command)[1:]) == 0
    printed = capsys.readouterr().out.strip()
    assert re.fullmatch(pattern(output), printed, re.DOTALL), printed


@pytest.mark.slow
def test_the_python_example_prints_what_it_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    said = re.findall(r"^ *print\(.*?\)  # (.*)$", program, re.MULTILINE)
    monkeypatch.chdir(folder)
    exec(compile(textwrap.dedent(program), "README.md", "exec"), {})  # noqa: S102
    assert said
    assert capsys.readouterr().out.splitlines() == said

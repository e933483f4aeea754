"""The page of all commands with all options is made from the commands themselves.

Run as a script (``python -m tests.api.cli.test_reference_page > docs/commands.md``), this file prints the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from tacit.api.cli.commands import _COMMANDS, command

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"
SERVER = {"--user", "--password", "--database"}
HEAD = """# All commands

Every command with all of its arguments and options, as `tacit COMMAND --help` shows them. Commands that take a graph also have
`--user NAME`, `--password TEXT` and `--database NAME` for a Neo4j server (better set `NEO4J_USERNAME`, `NEO4J_PASSWORD` and
`NEO4J_DATABASE`).

## Exit status

- **0**: success; also where some records could not be used, which the output and stderr name (`--strict` makes them an error).
- **1**: another error: a server that does not answer, a damaged graph or model, a missing package, a file of dialogues or ratings
  that ends early; and the answer "no" of `tacit compare --fail-under` and `tacit doctor`.
- **2**: wrong input or usage: an unknown option, a missing file or graph, a file in the wrong format, a damaged file given to
  `tacit load`, a record with `--strict`; also a refused query of `tacit guard`, and damage found by `tacit check`.
- **130**: interrupted with Ctrl+C.

An error is one sentence on stderr that begins with `tacit:`; `TACIT_DEBUG=1` shows the traceback too.
"""


def page() -> str:
    """Return the page as Markdown."""
    group = command()
    lines = [HEAD]
    for heading, names in _COMMANDS.items():
        lines.append(f"## {heading}\n")
        for name in names:
            lines += _entries(group.commands[name], f"tacit {name}")
    return "\n".join(lines).rstrip() + "\n"


def _entries(command: Any, name: str) -> Iterator[str]:
    if hasattr(command, "commands"):
        for own, below in command.commands.items():
            yield from _entries(below, f"{name} {own}")
        return
    context = click.Context(command, info_name=name, terminal_width=10_000, max_content_width=10_000)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"### {name}\n\n    {name} {usage}\n"
    yield "\n\n".join(" ".join(part.split()) for part in _escaped(command.help or "").split("\n\n")) + "\n"
    rows = [record for param in command.params if not SERVER & {*param.opts} and (record := param.get_help_record(context))]
    if rows:
        yield "| | |\n|---|---|"
        yield from (f"| `{_cell(words)}` | {_cell(_escaped(' '.join(text.split())))} |" for words, text in rows)
        yield ""


def _escaped(text: str) -> str:
    return re.sub(r"([<>*_])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def test_the_page_of_commands_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "docs/commands.md is out of date; write it anew with: python -m tests.api.cli.test_reference_page > docs/commands.md"
    )


def test_every_long_option_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = set(re.findall(r"--[a-z][a-z-]+", text))

    def options(click_command: Any) -> Iterator[str]:
        for below in getattr(click_command, "commands", {}).values():
            yield from options(below)
        for param in click_command.params:
            yield from (name for name in param.opts if name.startswith("--") and not param.hidden)

    for heading in _COMMANDS.values():
        for name in heading:
            assert {*options(command().commands[name])} - shown <= SERVER | {"--help"}


if __name__ == "__main__":
    print(page(), end="")

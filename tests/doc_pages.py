"""The examples in README and docs: found in the Markdown, with what each is and what it is said to print."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
CUT = "…"

_FENCE = re.compile(
    r"(?:^<!-- (?:not run: (?P<why>.*?)|file: (?P<file>\S+)) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_INDENTED = re.compile(r"^    (tacit .*)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block: page, first line, language, text, why it is not run (None: it is), and the file that it stands for."""

    page: str
    line: int
    language: str
    text: str
    why_not: str | None
    file: str | None

    @property
    def location(self) -> str:
        """Page and line, for the names of tests."""
        return f"{self.page}:{self.line}"


class Command(NamedTuple):
    """A command line as a page shows it, and the lines that it is said to print; none where only the command is shown."""

    location: str
    line: str
    output: tuple[str, ...]
    why_not: str | None = None


def blocks() -> list[Block]:
    """Every fenced block of every page."""
    blocks_of_page = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start("language")) + 1
            blocks_of_page.append(
                Block(path.relative_to(ROOT).as_posix(), line, match["language"], match["text"], match["why"], match["file"])
            )
    return blocks_of_page


def commands() -> list[Command]:
    """Every ``tacit`` command in a ``console`` or ``sh`` block, or indented by four, with its output where that is shown."""
    return [*_in_blocks(), *_indented()]


def _in_blocks() -> Iterator[Command]:
    for block in blocks():
        if block.language not in ("console", "sh", "bash"):
            continue
        text = block.text.replace("\\\n", " ")
        if block.language != "console":
            text = "".join(f"$ {line}\n" for line in text.splitlines() if line.strip() and not line.startswith("#"))
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, *output = part.rstrip("\n").split("\n")
            if line.startswith("tacit "):
                shown = tuple(output) if any(output_line.strip() for output_line in output) else ()
                yield Command(block.location, line, shown, block.why_not)


def _indented() -> Iterator[Command]:
    for path in PAGES:
        text = re.sub(r"^```.*?^```$", lambda fence: "\n" * fence[0].count("\n"), path.read_text(encoding="utf-8"),
                      flags=re.DOTALL | re.MULTILINE)  # fmt: skip
        for match in _INDENTED.finditer(text):
            location = f"{path.relative_to(ROOT).as_posix()}:{text.count(chr(10), 0, match.start()) + 1}"
            yield Command(location, match[1], ())


def pattern(output: tuple[str, ...]) -> str:
    """Return a pattern for ``output``, in which a line that ends in ``…`` stands for what it begins with and all that follows."""
    text = "\n".join(line.rstrip() for line in output).strip()
    return ".*".join(re.escape(part) for part in text.split(CUT))


def program(block: Block) -> tuple[str, list[str]]:
    """A Python block, and the lines that its ``print(…)  # …`` are said to print."""
    text = textwrap.dedent(block.text)
    return text, re.findall(r"^ *print\(.*?\)  # (.*)$", text, re.MULTILINE)

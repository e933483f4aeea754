"""Lets the site hold what lies outside docs/: the README, the cards of models, the changelog, each beside the pages that name it.

Links such as ``../CHANGELOG.md`` work in the repository as they stand; on the site they lead to copies under ``outside/``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\(((?:\.\./)+|)([\w./-]+?(?:\.(?:md|json|py|svg|png|ipynb)|LICENSE))(#[\w-]+)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add every file outside that a page names, and those that these name in turn."""
    seen: set[Path] = set()
    waiting = [(path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "docs").glob("*.md"))]
    while waiting:
        path, text = waiting.pop()
        for _, _, _, target in _targets(path, text):
            if target in seen or target.is_relative_to(ROOT / "docs"):
                continue
            seen.add(target)
            name = f"outside/{target.relative_to(ROOT).as_posix()}"
            files.append(
                File.generated(config, name, content=target.read_bytes() if target.suffix != ".md" else target.read_text("utf-8"))
            )
            if target.suffix == ".md":
                waiting.append((target, target.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at the copies."""
    uri = page.file.src_uri
    here = ROOT / (uri.removeprefix("outside/") if uri.startswith("outside/") else f"docs/{uri}")
    for whole, link, anchor, target in _targets(here, markdown):
        place = target.relative_to(ROOT)
        new = place.relative_to("docs") if place.is_relative_to("docs") else Path("outside") / place
        up = "../" * uri.count("/")
        markdown = markdown.replace(whole, f"]({up}{new.as_posix()}{anchor})") if link else markdown
    return markdown


def _targets(path: Path, text: str) -> list[tuple[str, str, str, Path]]:
    """Each link as it is written, its path, its anchor, and the file in the repository that it leads to."""
    found = []
    for match in _LINK.finditer(text):
        target = (path.parent / (match[1] + match[2])).resolve()
        if target.is_file() and target.is_relative_to(ROOT):
            found.append((match[0], match[1] + match[2], match[3] or "", target))
    return found

"""The command ``help``: short texts on topics, which are in ``api/topics/``, and the help of commands."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from ...graph.errors import InputError, did_you_mean
from ...reasoning.registry import METRIC_REGISTRY
from .options import argument

_WIDTH = 78


def topics() -> dict[str, str]:
    """Return the topics in alphabetical order, each with its summary."""
    from importlib.resources import files

    folder = files("tacit.api") / "topics"
    names = sorted(file.name.removesuffix(".txt") for file in folder.iterdir() if file.name.endswith(".txt"))
    return {name: topic_text(name).partition("\n")[0].partition(" - ")[2] for name in names}


def topic_text(name: str) -> str:
    """Return the text of a topic; in the text on metrics with the list of those that are known."""
    from importlib.resources import files

    text = (files("tacit.api") / "topics" / f"{name}.txt").read_text(encoding="utf-8")
    return text.replace("{metrics}\n", _metrics()) if name == "metrics" else text


def _metrics() -> str:
    """Return each metric with its summary."""
    from textwrap import wrap

    names = METRIC_REGISTRY.names()
    column = max(map(len, names)) + 3
    lines: list[str] = []
    for name in names:
        summary = METRIC_REGISTRY.summary(name).replace("`", "") or "of a plugin that cannot be used; tacit metrics says why"
        first = f"    {name:<{column}}"
        lines += wrap(first + summary, _WIDTH, subsequent_indent=" " * len(first), drop_whitespace=True)
    return "".join(f"{line}\n" for line in lines)


def complete_topics(incomplete: str) -> list[str]:
    """Complete topics and commands for the shell."""
    return [name for name in (*topics(), *_command_names()) if name.startswith(incomplete)]


def help_on(
    topic: Annotated[
        list[str] | None, argument("TOPIC", "A topic, or the words of a command.", autocompletion=complete_topics)
    ] = None,
) -> None:
    """Show the help on a topic or a command; without TOPIC, list the topics.

    Topics: config, cypher, environment, exit-codes, files, graph, metrics, options, signatures. On a terminal a long text is
    shown by PAGER, by default less.
    """
    page(help_text(topic or ()))


def help_text(words: Sequence[str]) -> str:
    """Return the help on a topic or a command, given as its words; without words the list of topics."""
    if not words:
        return "".join(f"{line}\n" for line in _list())
    known_topics = topics()
    name = words[0]
    if len(words) == 1 and name in known_topics:
        text = topic_text(name)
        return f"{text}\nCOMMAND\n    tacit {name} --help shows the command {name}.\n" if name in _command_names() else text
    if name in _command_names():
        return _of_command(words)
    all_names = [*known_topics, *_command_names()]
    raise InputError(f"no help on {' '.join(words)!r}; {did_you_mean(name, all_names, 'tacit help lists the topics')}")


def _list() -> Iterator[str]:
    """Yield the lines of the list of topics and commands."""
    from textwrap import wrap

    yield "TOPICS"
    known_topics = topics()
    column = max(map(len, known_topics)) + 3
    for name, summary in known_topics.items():
        yield f"    {name:<{column}}{summary}"
    yield ""
    yield "COMMANDS"
    yield from wrap(", ".join(_command_names()), _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    yield ""
    yield "tacit help TOPIC shows a topic, tacit help COMMAND the help of a command."


def _command_names() -> tuple[str, ...]:
    from .commands import command_names

    return command_names()


def _of_command(words: Sequence[str]) -> str:
    """Return the help of a command, which may be in a group."""
    from .commands import command

    group: Any = command(words)
    context = group.context_class(group, info_name="tacit", **group.context_settings)
    for index, word in enumerate(words):
        commands = getattr(group, "commands", {})
        if word not in commands:
            path = f"tacit {' '.join(words[:index])}"
            raise InputError(f"{path} has no command {word!r}; {did_you_mean(word, commands, f'see: {path} --help')}")
        group = commands[word]
        context = group.context_class(group, info_name=word, parent=context)
    return f"{context.get_help()}\n"


def page(text: str) -> None:
    """Print a text; on a terminal with bold headings, and by a pager where it is longer than the screen."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()) or os.environ.get("TERM") == "dumb":
        sys.stdout.write(text)
        return
    import shlex
    import subprocess

    styled = text if os.environ.get("NO_COLOR") else "".join(_styled(line) for line in text.splitlines(keepends=True))
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if text.count("\n") >= shutil.get_terminal_size().lines and pager and shutil.which(pager[0]):
        environment = {"LESS": "FRX", **os.environ}  # as git: end at the end of one screen, show styles, leave the text on screen
        subprocess.run(pager, input=styled.encode(errors="replace"), env=environment, check=False)
    else:
        sys.stdout.write(styled)


def _styled(line: str) -> str:
    """Return a heading in bold, and other lines as they are."""
    heading = line.rstrip("\n")
    return f"\033[1m{heading}\033[0m\n" if heading and heading == heading.upper() and not heading.startswith(" ") else line

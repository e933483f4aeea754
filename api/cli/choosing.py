"""The command ``choose``: judges the choices of CICERO's instances."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from ...graph.errors import InputError
from ..opening import open_engine, readable
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter
from .options import Engine, EngineOption, GraphOption, Output, Pipeline, Quiet, Strict, address_of
from .settings import tell_settings

if TYPE_CHECKING:
    from ...graph.protocol import KnowledgeGraph
    from ...reasoning.inference import Chosen


class JudgeName(Enum):
    """The judges; see ``tacit.reasoning.inference.choosing.JUDGES``."""

    ANSWERS = "answers"
    GRAPH = "graph"
    SIMILARITY = "similarity"
    LIKELIHOOD = "likelihood"
    YES_NO = "yes-no"
    PROBE = "probe"
    TRAINED = "trained"


def choose(
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="CICERO's JSON lines or list, plain or gzip; - reads stdin.")
    ],
    graph: GraphOption = None,
    judge: Annotated[
        list[JudgeName] | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            show_default="answers, graph, and yes-no after tacit fetch judge",
            help="answers, graph, similarity, likelihood, yes-no, probe or trained; repeatable. An --encoder, --model or --probe "
            "adds its judge.",
        ),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option("--answers", metavar="N", min=1, show_default="half of the choices", help="How many choices are right."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="ID", show_default="none", help="A sentence encoder: an ID or folder, or default."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="ID",
            show_default="the one of tacit fetch judge, if it is there",
            help="A language model: a folder, a GGUF file or an ID; or a folder of tacit train cicero.",
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            "--probe", metavar="FOLDER", show_default="none", help="A probe of the --model, by tacit train choice-probe."
        ),
    ] = None,
    output: Output = None,
    pipeline: Pipeline = None,
    engine: EngineOption = Engine.AUTO,
    strict: Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each instance.")] = False,
    quiet: Quiet = False,
) -> None:
    """Choose among answers to questions about a turn: a score for each choice, the share of each judge, the edges of the graph.

    FILE has CICERO's instances: Dialogue, Target, Question, Choices. The output has a row an instance with "scores", one number a
    choice, "chosen", and for each choice its shares and edges, or "no edge". Right answers in FILE are not looked at.
    """
    readable(file)
    if output is not None:
        check_output(output, file)
    names = None if judge is None else [one.value for one in judge]
    if graph is None and (names is None or "graph" in names):
        raise InputError("the judge graph needs a graph; give one with --graph or TACIT_GRAPH, or name others: --judge answers")
    from contextlib import nullcontext

    from ...loaders import read_cicero
    from ...reasoning.inference import load_chooser
    from ..terminal.faults import Faults, report_faults, sound

    if model is None and (names is None or {"yes-no", "probe"} & set(names)):
        model = _fetched(tell=names is None and probe is None and not quiet)
    faults = Faults()
    address = address_of(graph)
    needed = names is None or "graph" in names
    opened = open_engine(address, engine, quiet=quiet) if address is not None and needed else nullcontext(None)
    count = 0
    tell_settings(quiet)
    with opened as source:
        found: KnowledgeGraph | None = source
        chooser = load_chooser(found, names, encoder=encoder, model=model, probe=probe, pipeline=pipeline)
        meter = Meter("choosing", None, unit="instances", noun="instances", quiet=quiet or output is None)
        with lines_to(output, apart_from=file) as write, meter:
            for row in chooser.stream(sound(read_cicero(file, strict=strict), file, faults), answers):
                count += 1
                meter.add(1)
                write(_json(row) if json or output is not None else _text(row))
    report_faults(file, faults, count, "an instance of CICERO")


def _fetched(*, tell: bool) -> str | None:
    """Return the language model that ``tacit fetch judge`` got, None without it; ``tell``: say that it is used."""
    from ...reasoning.metrics.judgement import MODEL_FILE, has_default, models_folder
    from ..terminal.screen import note

    if not has_default():
        return None
    if tell:
        note(f"yes-no by {MODEL_FILE} is among the judges and takes some seconds an instance; --judge names others")
    return str(models_folder() / MODEL_FILE)


def _json(row: Chosen) -> str:
    from ..terminal.screen import json_text

    return json_text(row.to_dict()) + "\n"


def _text(row: Chosen) -> str:
    lines = [f"{row.id}, {row.question.value}: {row.target}"]
    for place, choice in enumerate(row.choices):
        mark = "*" if place in row.chosen else " "
        shares = ", ".join(f"{name} {share:+.2f}" for name, share in choice.shares.items())
        lines.append(f"{mark} {choice.score:+.2f} {choice.text} ({shares}{'; ' if choice.note else ''}{choice.note})")
        lines += [f"        {one.speaks}: {one.text}" for one in choice.evidence]
    return "\n".join(lines) + "\n"

"""The command ``infer``: CICERO's questions about the turns of dialogues, answered from the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...graph.errors import InputError
from ..opening import open_engine, readable
from ..terminal.output import check_output, lines_to, write_file
from ..terminal.progress import Meter
from .options import Engine, EngineOption, GraphNeeded, Output, Pipeline, Quiet, Strict, address_at
from .settings import tell_settings

if TYPE_CHECKING:
    from ...graph.questions import Question
    from ...loaders import Targets
    from ...reasoning.inference import Answer, DialogueAnswers, Inference, TurnAnswers


def infer(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="Dialogues, or CICERO's records: JSON, CSV, Parquet, gzip; - reads stdin."
        ),
    ],
    graph: GraphNeeded,
    target: Annotated[
        int | None,
        typer.Option("--target", metavar="N", min=1, show_default="every turn", help="The turn to ask about, from 1."),
    ] = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ID", show_default="all", help="Only the dialogue with this ID.")
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            "--question",
            metavar="NAME",
            show_default="all five",
            help="cause, subsequent, prerequisite, motivation or reaction; repeatable.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Most answers to each question, best first.")] = 3,
    nearest: Annotated[
        int, typer.Option("--nearest", metavar="N", min=0, help="Like events to ask where the graph lacks the event; 0: none.")
    ] = 3,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="ID",
            show_default="by words",
            help="Find like events with a sentence encoder: an ID or folder, or default.",
        ),
    ] = None,
    comet: Annotated[
        str | None,
        typer.Option("--comet", metavar="ID", show_default="none", help="A COMET, asked where the graph has no answer."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="FOLDER", show_default="none", help="A model of tacit train cicero; it adds an answer."),
    ] = None,
    output: Output = None,
    svg: Annotated[
        FilePath | None,
        typer.Option("--svg", metavar="FILE.svg", show_default=False, help="Also write a picture of one dialogue's answers."),
    ] = None,
    cypher: Annotated[bool, typer.Option("--cypher", help="Show the query that finds each edge, and its parameters.")] = False,
    pipeline: Pipeline = None,
    engine: EngineOption = Engine.AUTO,
    strict: Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each dialogue.")] = False,
    quiet: Quiet = False,
) -> None:
    """Answer five questions about each turn from the graph: cause, subsequent event, prerequisite, motivation, reaction.

    Each answer comes with its edge. A record of CICERO asks its own question about its own target, unless --target or --question
    choose others. A turn without an edge has no answer.
    """
    from ...graph.questions import QUESTIONS, question_of

    readable(file)
    if output is not None:
        check_output(output, file)
    if svg is not None:
        check_output(svg, file)
    chosen_questions = [question_of(name) for name in question] if question else None
    from ...loaders import read_targets
    from ...reasoning.inference import load_inference
    from ..terminal.faults import Faults, report_faults, sound

    faults = Faults()
    count = shown = 0
    drawn: DialogueAnswers | None = None
    tell_settings(quiet)
    with open_engine(address_at(graph), engine, quiet=quiet) as source:
        inference = _opened(load_inference, source, nearest, encoder, comet, model, pipeline, quiet)
        with lines_to(output, apart_from=file) as write:
            for row in sound(read_targets(file, strict=strict), file, faults):
                count += 1
                if item is not None and row.id != item:
                    continue
                shown += 1
                if svg is not None and shown > 1:
                    raise InputError(f"{file} has several dialogues, and --svg draws one; choose it with --item ID")
                place = _place(row, target, file)
                questions = chosen_questions or (QUESTIONS if row.question is None or target is not None else [row.question])
                drawn = found = inference.answer(row.turns, place, questions, limit=limit)
                write(_json(row, found) if json or output is not None else _text(row, found))
        if cypher and count and not json:
            _show_query()
    if svg is not None and drawn is not None:
        write_file(svg, drawn.svg().encode())
    report_faults(file, faults, count, "a dialogue")
    if not shown:
        raise InputError(f"{file} has no dialogue {item!r}; its first column or field id names them")


def _opened(
    load: Any, graph: Any, nearest: int, encoder: str | None, comet: str | None, model: str | None, pipeline: str | None,
    quiet: bool,
) -> Inference:  # fmt: skip
    """Open the inference with progress for what is computed once per graph."""
    with Meter("reading the events", None, unit="assertions", noun="assertions", quiet=quiet) as meter:
        found: Inference = load(
            graph, nearest=nearest, encoder=encoder, comet=comet, model=model, pipeline=pipeline,
            progress=lambda _, number: meter.add(number),
        )  # fmt: skip
    return found


def _place(row: Targets, target: int | None, file: str) -> int | None:
    """Return the index of the turn to ask about; None: every turn."""
    if target is None:
        return row.target
    if target > len(row.turns):
        raise InputError(f"{file}, dialogue {row.id}, has {len(row.turns)} turns, so there is no turn {target}")
    return target - 1


def _json(row: Targets, found: list[TurnAnswers]) -> str:
    from ...graph.schema import dump
    from ..terminal.screen import json_text

    return json_text({"id": row.id, "turns": [dump(one) for one in found]}) + "\n"


def _text(row: Targets, found: list[TurnAnswers]) -> str:
    lines = []
    for one in found:
        lines.append(f"{row.id}, turn {one.turn + 1}: {one.text}")
        for question, answers in one.answers.items():
            lines += _answered(question, answers)
        if none := [question.value for question, answers in one.answers.items() if not answers]:
            lines.append(f"  no edge: {', '.join(none)}")
    return "\n".join(lines) + "\n"


def _answered(question: Question, answers: tuple[Answer, ...]) -> Iterator[str]:
    if answers:
        yield f"  {question.value}"
    for answer in answers:
        felt = f" ({answer.emotion})" if answer.emotion and answer.emotion not in answer.text else ""
        like = f"; {answer.likeness:.2f} like {answer.event}" if answer.origin == "nearest" else ""
        edge = answer.edge.text() if answer.edge is not None else f"{answer.relation}, {answer.origin}".removeprefix(", ")
        yield f"    {answer.text}{felt}: {edge}{like}"


def _show_query() -> None:
    from ...graph.cypher_store import claim_query

    print("the query that finds an edge, with $head, $relation and $tail from --json, is")
    print(claim_query().text.rstrip())

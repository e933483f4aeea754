"""The command ``infer``, which answers questions about turns from the graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import loaders
from ...graph.errors import InputError
from ...graph.questions import QUESTIONS, Question, question_of
from ...graph.schema import dump
from ..opening import check_files, open_engine
from ..terminal.faults import Records
from ..terminal.output import lines_to, write_file
from ..terminal.progress import Meter
from ..terminal.screen import json_text
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.inference import Answer, DialogueAnswers, TurnAnswers


def infer(
    file: Annotated[str, argument("FILE", "Dialogues, or CICERO's records: JSON, CSV, Parquet, gzip; - reads stdin.")],
    graph: opts.GraphRequired,
    target: Annotated[int | None, option("N", "The turn to ask about, from 1.", default="every turn", min=1)] = None,
    item: Annotated[str | None, option("ID", "Only the dialogue with this ID.", default="all")] = None,
    question: Annotated[
        list[str] | None,
        option("NAME", "cause, subsequent, prerequisite, motivation or reaction; repeatable.", default="all five"),
    ] = None,
    limit: Annotated[int, option("N", "Maximum number of answers to each question, best first.", min=1)] = 3,
    nearest: Annotated[int, option("N", "Number of similar events to use if the graph lacks the event; 0: none.", min=0)] = 3,
    encoder: Annotated[
        str | None, option("ID", "Find similar events with a sentence encoder: an ID or folder, or default.", default="by words")
    ] = None,
    comet: Annotated[str | None, option("ID", "A COMET, used where the graph has no answer.", default="none")] = None,
    model: Annotated[str | None, option("FOLDER", "A model of tacit train cicero; it adds an answer.", default="none")] = None,
    output: opts.Output = None,
    svg: Annotated[Path | None, option("FILE.svg", "Also write a picture of one dialogue's answers.")] = None,
    cypher: Annotated[bool, typer.Option("--cypher", help="Show the query that finds each edge, and its parameters.")] = False,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    strict: opts.Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each dialogue.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Answer five questions about each turn from the graph: cause, subsequent event, prerequisite, motivation, reaction.

    Each answer comes with its edge. A record of CICERO asks its own question about its own target, unless --target or --question
    choose others. A turn without an edge has no answer.
    """
    check_files(file, output, svg)
    chosen_questions = [question_of(name) for name in question] if question else None
    from ...reasoning.inference import load_inference

    records = Records(loaders.read_targets(file, strict=strict), file, "a dialogue")
    matching = 0
    drawn: DialogueAnswers | None = None
    print_settings(quiet)
    with open_engine(opts.address_at(graph), engine, quiet=quiet) as source:
        with Meter("reading the events", None, noun="assertions", quiet=quiet) as meter:
            inference = load_inference(
                source, nearest=nearest, encoder=encoder, comet=comet, model=model, pipeline=pipeline,
                progress=lambda _, number: meter.add(number),
            )  # fmt: skip
        with lines_to(output, apart_from=file) as write:
            for row in records:
                if item is not None and row.id != item:
                    continue
                matching += 1
                if svg is not None and matching > 1:
                    raise InputError(f"{file} has several dialogues, and --svg draws one; choose it with --item ID")
                turn = _target_index(row, target, file)
                questions = chosen_questions or (QUESTIONS if row.question is None or target is not None else [row.question])
                drawn = turns = inference.answer(row.turns, turn, questions, limit=limit)
                write(_json(row, turns) if json or output is not None else _text(row, turns))
        if cypher and records.read and not json:
            _show_query()
    if svg is not None and drawn is not None:
        write_file(svg, drawn.svg().encode())
    records.report()
    if not matching:
        raise InputError(f"{file} has no dialogue {item!r}; its first column or field id names them")


def _target_index(row: loaders.Targets, target: int | None, file: str) -> int | None:
    """Return the index of the turn to ask about; None: every turn."""
    if target is None:
        return row.target
    if target > len(row.turns):
        raise InputError(f"{file}, dialogue {row.id}, has {len(row.turns)} turns, so there is no turn {target}")
    return target - 1


def _json(row: loaders.Targets, turns: list[TurnAnswers]) -> str:
    return json_text({"id": row.id, "turns": [dump(turn) for turn in turns]}) + "\n"


def _text(row: loaders.Targets, turns: list[TurnAnswers]) -> str:
    lines = []
    for turn in turns:
        lines.append(f"{row.id}, turn {turn.turn + 1}: {turn.text}")
        for question, answers in turn.answers.items():
            lines += _answered(question, answers)
        if none := [question.value for question, answers in turn.answers.items() if not answers]:
            lines.append(f"  no edge: {', '.join(none)}")
    return "\n".join(lines) + "\n"


def _answered(question: Question, answers: tuple[Answer, ...]) -> Iterator[str]:
    if answers:
        yield f"  {question.value}"
    for answer in answers:
        emotion = f" ({answer.emotion})" if answer.emotion and answer.emotion not in answer.text else ""
        likeness = f"; {answer.likeness:.2f} like {answer.event}" if answer.origin == "nearest" else ""
        edge = answer.edge.text() if answer.edge is not None else f"{answer.relation}, {answer.origin}".removeprefix(", ")
        yield f"    {answer.text}{emotion}: {edge}{likeness}"


def _show_query() -> None:
    from ...graph.cypher_store import claim_query

    print("the query that finds an edge, with $head, $relation and $tail from --json, is")
    print(claim_query().text.rstrip())

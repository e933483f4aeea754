"""The commands ``infer``, which answers questions about turns from the graph, and ``choose``, which judges given answers.

Rows of ``choose`` for a file are kept in OUTPUT.partial, each written when it is judged, and become OUTPUT when all are.
"""

from __future__ import annotations

import json as as_json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import loaders
from ...graph.atomic import disk_full_errors
from ...graph.errors import InputError
from ...graph.questions import QUESTIONS, Instance, Question, question_of
from ...graph.schema import dump
from ..opening import check_files, open_engine
from ..terminal.faults import Records
from ..terminal.output import lines_to, write_file
from ..terminal.progress import Meter
from ..terminal.screen import json_text, note
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.inference import Answer, Chosen, DialogueAnswers, TurnAnswers


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


def complete_judges(incomplete: str) -> list[str]:
    """Complete names of judges for the shell."""
    from ...reasoning.inference.choosing import JUDGES

    return opts.complete_names(incomplete, JUDGES)


def choose(
    file: Annotated[str, argument("FILE", "CICERO's JSON lines or list, plain or gzip; - reads stdin.")],
    graph: opts.Graph = None,
    judges: Annotated[
        list[str] | None,
        option(
            "NAME,...",
            "answers, graph, similarity, likelihood, yes-no, probe or trained, separated by commas or repeated. An --encoder, "
            "--model or --probe adds its judge.",
            "--judges",
            "--judge",
            default="answers, graph, and yes-no after tacit fetch judge",
            autocompletion=complete_judges,
        ),
    ] = None,
    answers: Annotated[int | None, option("N", "How many choices are right.", default="half of the choices", min=1)] = None,
    encoder: Annotated[str | None, option("ID", "A sentence encoder: an ID or folder, or default.", default="none")] = None,
    model: Annotated[
        str | None,
        option(
            "ID",
            "A language model: a folder, a GGUF file or an ID; or a folder of tacit train cicero.",
            default="the one of tacit fetch judge, if it is there",
        ),
    ] = None,
    probe: Annotated[str | None, option("FOLDER", "A probe of the --model, by tacit train choice-probe.", default="none")] = None,
    head: Annotated[
        str | None, option("FOLDER", "Weights of judges, by tacit train choice-head.", default="the shipped one")
    ] = None,
    output: opts.Output = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run; a finished one starts again.")] = False,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    strict: opts.Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each instance.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Choose among answers to questions about a turn; each choice gets a score, with shares of judges and edges of the graph.

    FILE has CICERO's instances: Dialogue, Target, Question, Choices; right answers in it are ignored. The output has one row per
    instance with "scores", one number per choice, "chosen", and for each choice its shares and edges, or "no edge". An
    interrupted run into a file keeps its rows in OUTPUT.partial, and --resume continues from there.
    """
    check_files(file, output)
    if resume and (output is None or (output.exists() and not output.is_file())):
        raise InputError("--resume continues a run into a file; name it with --output")
    from ...reasoning.inference import load_chooser
    from ...reasoning.inference.choice_figures import number_chosen
    from ...reasoning.inference.choosing import JUDGES
    from ...reasoning.metrics.judgement import MODEL_FILE, has_default

    names = opts.judge_names(judges, list(JUDGES))
    if graph is None and (names is None or "graph" in names):
        raise InputError("the judge graph needs a graph; give one with --graph or TACIT_GRAPH, or name others: --judges answers")
    if model is None and (names is None or {"yes-no", "probe"} & set(names)) and has_default():
        model = "default"
        if names is None and probe is None and not quiet:
            note(f"yes-no by {MODEL_FILE} is among the judges and takes some seconds an instance; --judges names others")
    address = opts.address_of(graph)
    needed = names is None or "graph" in names
    opened = open_engine(address, engine, quiet=quiet) if address is not None and needed else nullcontext(None)
    print_settings(quiet)
    records = Records(loaders.read_cicero(file, strict=strict), file, "an instance of CICERO")
    rows: Iterable[Instance] = records if file == "-" else list(records)
    total = len(rows) if isinstance(rows, list) else None
    with opened as source:
        chooser = load_chooser(source, names, head=head, encoder=encoder, model=model, probe=probe, pipeline=pipeline)
        meter = Meter("choosing", total, noun="instances", quiet=quiet or output is None)
        with _rows_to(output, file, resume, str(chooser.signature)) as (done, write), meter:
            remaining = iter(rows)
            judged_before = islice(remaining, len(done))
            expected = [(row.id, row.target, number_chosen(len(row.choices), answers)) for row in judged_before]
            if expected != done:
                raise InputError(f"{_partial(output)} has rows of other instances or --answers; delete it to start over")
            for count, row in enumerate(chooser.stream(remaining, answers), len(done) + 1):
                if total is None:
                    meter.add(1)
                else:
                    meter.advance_to(count, total)
                write(f"{json_text(row.to_dict())}\n" if json or output is not None else _choice_text(row))
    records.report()


def _partial(output: Path | None) -> Path:
    """Return where the rows of an unfinished run are; ``output`` is not None."""
    assert output is not None
    return output.with_name(f"{output.name}.partial")


@contextmanager
def _rows_to(
    output: Path | None, file: str, resume: bool, signature: str
) -> Iterator[tuple[list[tuple[str, str, int]], Callable[[str], object]]]:
    """Yield what was judged before, ID, target and number of chosen choices of each row, and a function that writes a row."""
    if output is None or (output.exists() and not output.is_file()):
        with lines_to(output, apart_from=file) as write:
            yield [], write
        return
    partial = _partial(output)
    if partial.exists() and partial.stat().st_size and not resume:
        raise InputError(f"{partial} has the rows of an unfinished run; continue it with --resume, or delete it")
    done: list[tuple[str, str, int]] = []
    size = 0
    try:
        with disk_full_errors(partial), partial.open("a+b") as stream:
            stream.seek(0)
            for line in stream:
                if not line.endswith(b"\n"):  # the run was killed while it wrote this row
                    break
                try:
                    row = as_json.loads(line)
                    instance, row_signature = (row["id"], row["target"], len(row["chosen"])), row["signature"]
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"{partial} has a line that is not a row of tacit choose; delete it to start over") from None
                if row_signature != signature:
                    raise InputError(f"{partial} has rows with the signature {row_signature}; delete it to start over")
                done.append(instance)
                size += len(line)
            stream.truncate(size)

            def write(text: str) -> None:
                stream.write(text.encode())
                stream.flush()

            yield done, write
    except BaseException:
        if partial.is_file() and not partial.stat().st_size:
            partial.unlink()
        raise
    with lines_to(output, apart_from=file) as final, partial.open(encoding="utf-8", newline="") as lines:
        for text in lines:
            final(text)
    partial.unlink()


def _choice_text(row: Chosen) -> str:
    lines = [f"{row.id}, {row.question.value}: {row.target}"]
    for index, choice in enumerate(row.choices):
        mark = "*" if index in row.chosen else " "
        shares = ", ".join(f"{name} {share:+.2f}" for name, share in choice.shares.items())
        lines.append(f"{mark} {choice.score:+.2f} {choice.text} ({shares}{'; ' if choice.note else ''}{choice.note})")
        lines += [f"        {piece.direction}: {piece.text}" for piece in choice.evidence]
    return "\n".join(lines) + "\n"

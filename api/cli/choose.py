"""The command ``choose``, which judges given answers to questions about turns.

Rows for a file are kept in OUTPUT.partial, each written when it is judged, and become OUTPUT when all are.
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
from ...graph.questions import Instance
from ..opening import check_files, open_engine
from ..terminal.faults import Records
from ..terminal.output import lines_to
from ..terminal.progress import Meter
from ..terminal.screen import json_text, note
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.inference import Chosen


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

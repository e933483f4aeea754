"""The command group ``create``: data sets of questions about dialogues, made as CICERO was."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import loaders
from ...graph.errors import InputError
from ...graph.questions import Answered, without_speaker
from ..opening import check_distinct, check_files
from ..terminal.faults import Records, read_all
from ..terminal.output import lines_to
from ..terminal.progress import Meter
from ..terminal.screen import facts, json_text, print_json, show, table
from . import options as opts
from .options import argument, option
from .training.run import Device

if TYPE_CHECKING:
    from ...reasoning.creation.discriminators import Discriminator, Problem
    from ...reasoning.inference.choice_figures import MeanInterval

create = typer.Typer(cls=opts.Group, rich_markup_mode=None, help="Create a data set of questions about dialogues.")

Seed = Annotated[int, option("N", "Random seed; the same seed gives the same output.", "--seed", min=0)]


@create.callback()
def _several() -> None:
    """Create a data set of questions about dialogues, as CICERO was made (Ghosal et al., ACL 2022)."""


@create.command()
def targets(
    dialogues: Annotated[list[str], argument("DIALOGUES", "Dialogues: JSON, CSV, Parquet, gzip; - reads stdin.")],
    output: opts.Output = None,
    seed: Seed = 0,
    cosine: Annotated[float, option("X", "Cosine from which a dialogue is a duplicate; 2 keeps all.", min=0.01)] = 0.87,
    strict: opts.Strict = False,
    json: opts.JsonReport = False,
    quiet: opts.Quiet = False,
) -> None:
    """Choose dialogues, the turns to ask about, and the questions; write CICERO's records without answers, for annotators.

    Dialogues have 5 to 15 turns, 6 words a turn or more, at most 275 words, and no earlier duplicate. The report says how many
    are left out for each reason, and how often each question is asked.
    """
    opts.check_report(json, output)
    check_distinct(dialogues)
    for file in dialogues:
        check_files(file, output)
    from ...reasoning.creation.dialogue_choice import DialogueLimits, Left, choose_dialogues
    from ...reasoning.creation.dialogue_choice import counts as reasons
    from ...reasoning.creation.targets import choose_targets, generator, with_speakers
    from ...reasoning.creation.tfidf import TfIdf, words_of

    rows: list[tuple[str, tuple[str, ...]]] = []
    errors = 0
    with Meter("reading", None, noun="dialogues", quiet=quiet) as meter:
        for file in dialogues:
            records = Records(loaders.read_targets(file, strict=strict), file, "a dialogue")
            rows += _named(records, file, meter)
            records.report()
            errors += records.faults.number
    with Meter("looking for duplicates", len(rows), noun="dialogues", quiet=quiet) as meter:
        reasons_by_row = choose_dialogues([turns for _, turns in rows], DialogueLimits(cosine=cosine), progress=meter.add)
    left_out_by_reason = reasons(reasons_by_row)
    chosen = _distinct_names([row for row, reason in zip(rows, reasons_by_row, strict=True) if reason is None])
    if not chosen:
        reasons_left = ", ".join(f"{number:,} for {reason}" for reason, number in left_out_by_reason.items() if number)
        raise InputError(f"none of the {len(rows):,} dialogues of {', '.join(dialogues)} is chosen ({reasons_left}); give others")
    weights = TfIdf(words_of(without_speaker(turn)) for _, turns in chosen for turn in turns)
    kinds: Counter[str] = Counter()
    questions: Counter[str] = Counter()
    meter = Meter("choosing targets", len(chosen), noun="dialogues", quiet=quiet or output is None)
    with lines_to(output, apart_from=dialogues[0]) as write, meter:
        for name, turns in chosen:
            labelled_turns = with_speakers(turns)
            for target in choose_targets(labelled_turns, weights, generator(seed, name)):
                kinds[target.kind.value] += 1
                text = without_speaker(labelled_turns[target.turn])
                for question in target.questions:
                    questions[question.value] += 1
                    record = {"ID": name, "Dialogue": labelled_turns, "Target": text, "Question": question.text}
                    write(json_text(record) + "\n")
            meter.add(1)
    report: dict[str, Any] = {
        "read": len(rows), "kept": len(chosen), "left_out": left_out_by_reason, "targets": dict(sorted(kinds.items())),
        "questions": dict(sorted(questions.items())), "records": questions.total(), "errors": errors,
    }  # fmt: skip
    if json:
        print_json(report)
    elif not quiet:
        sys.stdout.flush()
        report_lines = [("dialogues", f"{len(rows):,}"), ("chosen", f"{len(chosen):,}")]
        report_lines += [(f"left out: {reason.value}", f"{left_out_by_reason[reason.value]:,}") for reason in Left]
        report_lines += [(f"targets: {kind}", f"{number:,}") for kind, number in sorted(kinds.items())]
        report_lines += [(f"questions: {name}", f"{number:,}") for name, number in sorted(questions.items())]
        show(facts([*report_lines, ("records", f"{questions.total():,}")]), sys.stderr)


@create.command()
def choices(
    file: Annotated[str, argument("FILE", "Records with right answers: JSON lines or a list; gzip.")],
    output: Annotated[Path, option("FILE", "Write to this file, replaced atomically.", "--output", "-o")],
    pool: Annotated[str | None, option("FILE", "Further candidates: records with ID and Candidates.", default="none")] = None,
    wrong: Annotated[int, option("N", "Wrong choices of each instance.", min=1)] = 4,
    candidates: Annotated[int, option("N", "Maximum number of answers to other dialogues among the candidates.", min=0)] = 50,
    model: Annotated[str | None, option("ID|FOLDER", "Discriminator: an encoder to fine-tune.", default="features")] = None,
    recipe: Annotated[str | None, option("FILE.toml", "Recipe of train cicero, with --model.", default="the paper's")] = None,
    device: Device = None,
    folds: Annotated[int, option("N", "Parts of the dialogues.", min=2)] = 5,
    rounds: Annotated[int, option("N", "Maximum number of rounds with swaps.", min=1)] = 10,
    swaps: Annotated[int, option("N", "Maximum number of swaps of an instance in a round.", min=1)] = 1,
    seed: Seed = 0,
    strict: opts.Strict = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Find wrong answers that are hard to tell from the right ones, by adversarial filtering; write CICERO's records.

    Candidates are an instance's own wrong choices, those of --pool, and right answers to the same question about other dialogues.
    In each round a discriminator learns from the other folds, and easy choices are swapped for harder ones, until its accuracy
    is stable. A hard choice may be right, so people have to check them.
    """
    check_files(file, output)
    if pool is not None:
        check_files(pool, output)
        check_distinct([file, pool])
    if model is None and (recipe is not None or device is not None):
        raise InputError("--recipe and --device belong to the encoder; name one with --model")
    from ...reasoning.creation.adversarial import filter_choices, make_problem, record_of

    records = Records(loaders.read_answered(file, strict=strict), file, "a right answer")
    instances = list(records)
    records.report()
    candidates_of = [] if pool is None else _pool_candidates(pool, instances, strict)
    problem = make_problem(instances, candidates_of, wrong=wrong, elsewhere=candidates, seed=seed)
    discriminator = _discriminator(problem, model, recipe, device)
    with Meter("filtering", (rounds + 3) * folds, noun="fits", quiet=quiet) as meter:
        filtered = filter_choices(
            problem, discriminator, wrong=wrong, number_of_folds=folds, rounds=rounds, swaps=swaps, seed=seed, progress=meter.add
        )
    with lines_to(output, apart_from=file) as write:
        for number in range(len(instances)):
            write(json_text(record_of(problem, filtered, number, seed)) + "\n")
    if json:
        print_json(
            {
                "instances": len(instances), "errors": records.faults.number, "discriminator": discriminator.signature,
                "rounds": [step._asdict() for step in filtered.rounds], "stable": filtered.stable,
                "before": filtered.before._asdict(), "after": filtered.after._asdict(), "chance": filtered.chance,
            }
        )  # fmt: skip
        return
    show(
        table(
            (">round", ">accuracy", ">swapped"), [(step.number, f"{step.accuracy:.3f}", step.swapped) for step in filtered.rounds]
        )
    )
    show(
        facts(
            [
                ("instances", f"{len(instances):,}"),
                ("accuracy before", _interval(filtered.before)),
                ("accuracy after", _interval(filtered.after)),
                ("chance", f"{filtered.chance:.3f}"),
                ("ended", "the accuracy is stable" if filtered.stable else f"after --rounds {rounds}, not stable yet"),
                ("discriminator", discriminator.signature),
            ]
        )
    )


def _interval(interval: MeanInterval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _pool_candidates(pool: str, instances: Sequence[Answered], strict: bool) -> list[list[str]]:
    """Return the candidates of a file for each instance."""
    by_id: dict[str, list[loaders.Candidates]] = {}
    for row in read_all(loaders.read_candidates(pool, strict=strict), pool, "a list of candidates"):
        by_id.setdefault(row.id, []).append(row)
    texts_of = [
        [text for row in by_id.get(instance.id, ()) if row.are_for(instance) for text in row.texts] for instance in instances
    ]
    if not any(texts_of):
        raise InputError(f"{pool} has no candidates for the instances; its IDs, targets and questions must be theirs")
    return texts_of


def _discriminator(problem: Problem, model: str | None, recipe: str | None, device: str | None) -> Discriminator:
    from ...reasoning.creation.discriminators import Encoder, Lexical

    if model is None:
        return Lexical(problem)
    from ...reasoning.training.recipe import CiceroRecipe, open_recipe

    settings = open_recipe("cicero", recipe)
    assert isinstance(settings, CiceroRecipe)
    return Encoder(problem, model, settings, device=device)


def _named(records: Records[loaders.Targets], file: str, meter: Meter) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the ID and the non-blank turns of each dialogue; one without an ID is named after file and line."""
    stem = "stdin" if file == "-" else Path(file).name.partition(".")[0]
    for row in records:
        meter.add(1)
        name = f"{stem}-{row.line}" if row.id == str(row.line) else row.id
        yield name, tuple(turn for turn in row.turns if turn.strip())


def _distinct_names(rows: list[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the dialogues with distinct IDs: a second ``x`` is called ``x-2``, since an ID stands for one dialogue."""
    all_names = {name for name, _ in rows}
    used: set[str] = set()
    named = []
    for name, turns in rows:
        unique, number = name, 2
        while unique in used or (unique != name and unique in all_names):
            unique, number = f"{name}-{number}", number + 1
        used.add(unique)
        named.append((unique, turns))
    return named

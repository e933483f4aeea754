"""The command ``train grade``: a GRADE checkpoint from dialogues and a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import open_engine, readable
from ...terminal.progress import Stages
from ..options import Engine, GraphNeeded, Json, Quiet, Strict, address_at
from ..settings import tell_settings
from .data import Device, Exclude, Output, RecipeFile, RecipeSeed, as_typed, sha256_of

if TYPE_CHECKING:
    from ....graph.protocol import KnowledgeGraph
    from ....reasoning.training.grade import Sources, Trained
    from ....reasoning.training.recipe import GradeRecipe

_NOUNS = {"encoding turns": "turns", "keywords": "turns", "false responses": "responses", "dialogue graphs": "pairs"}


def grade(
    dialogues: Annotated[
        list[str],
        typer.Argument(metavar="DIALOGUES...", show_default=False, help="JSON lines, plain or gzip, as for tacit score."),
    ],
    graph: GraphNeeded,
    output: Output,
    exclude: Exclude = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            show_default=False,
            help="Folder for vectors of turns and concepts, reused by later runs.",
        ),
    ] = None,
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the metric grade on dialogues, to score true responses higher than false ones.

    --recipe tuned fine-tunes an encoder that reads context and response together. An interrupted training is continued by the
    same command.
    """
    from ....graph.atomic import check_folder
    from ....reasoning.metrics.grade.checkpoint import KIND, SETTINGS, save_checkpoint
    from ....reasoning.models.hub import need

    check_folder(output, SETTINGS, KIND)
    from ....reasoning.training.recipe import open_recipe

    settings: GradeRecipe = open_recipe("grade", recipe, seed=seed)
    read, files = _read(dialogues, exclude or (), strict)
    torch = need("torch", "neural")
    from ....reasoning.training.card import grade_card as card
    from ....reasoning.training.grade import train_grade
    from ....reasoning.training.grade_data import delete_checkpoints

    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    work = output.resolve().with_name(f"{output.resolve().name}.training")
    facts = {"data": files, "licence": settings.licence, "command": as_typed("grade", dialogues, output)}
    tell_settings(quiet)
    with (
        open_engine(address_at(graph), Engine.AUTO, quiet=quiet) as opened,
        Stages(lambda stage: _NOUNS.get(stage, "steps"), quiet=quiet) as stages,
    ):
        sources = _sources(opened, settings, cache, where)
        trained = train_grade(read, sources, settings, work, stages.tell, turn_cache=cache, device=where, facts=facts)
    text = card(trained.checkpoint, path=output.name)
    digest = save_checkpoint(trained.checkpoint, output, text, trained.tokenizer)
    delete_checkpoints(work)
    _report(trained, output, digest, json)


def _sources(graph: KnowledgeGraph, recipe: GradeRecipe, cache: Path | None, device: str) -> Sources:
    """Open the inputs of the training."""
    from ....loaders import open_vectors
    from ....reasoning.metrics.grade.concepts import EncodedVectors, TableVectors
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.text.language import open_analyser
    from ....reasoning.training.grade import Sources

    opened = open_encoder(recipe.encoder, device=device)
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    table = TableVectors(open_vectors(Path(recipe.vectors)), graph) if recipe.vectors else EncodedVectors(opened, graph, cache)
    named = recipe.encoder if recipe.encoder is not None and not Path(recipe.encoder).expanduser().is_dir() else ""
    return Sources(graph, open_analyser(recipe.pipeline), opened, named, table)


def _read(files: Sequence[str], exclude: Sequence[str], strict: bool) -> tuple[list[tuple[str, ...]], list[dict[str, Any]]]:
    """Read the dialogues without judged ones, and the facts of each file for the card."""
    from ....loaders import Judgement, read_judgements
    from ....reasoning.training.grade_data import without_judged

    judged = [
        (*row.history, row.response)
        for file in exclude
        for row in read_judgements(readable(file), strict=strict)
        if isinstance(row, Judgement)
    ]
    found: list[tuple[str, ...]] = []
    described = []
    for file in files:
        before = len(found)
        found += _dialogues(readable(file), strict)
        if len(found) == before:
            raise InputError(f"{file} holds no dialogue")
        described.append({"file": Path(file).name, "dialogues": len(found) - before, "sha256": sha256_of(file)})
    return without_judged(found, judged), described


def _dialogues(file: str, strict: bool) -> Iterator[tuple[str, ...]]:
    """The dialogues of a file; of items with growing histories, the longest one."""
    from ....loaders import ItemError, read_items

    last: tuple[str, ...] = ()
    for item in read_items(file, strict=strict):
        if isinstance(item, ItemError):
            continue
        if last and item.history != last:
            yield last
        last = (*item.history, item.response)
    if last:
        yield last


def _report(trained: Trained, output: Path, digest: str, json: bool) -> None:
    """Show the checkpoint, and its ranking on development pairs."""
    from ....reasoning.metrics.grade.checkpoint import CARD
    from ...terminal.screen import facts, print_json, show, table

    said = trained.checkpoint.facts
    if json:
        print_json({"output": str(output), "card": str(output / CARD), "digest": digest, **said})
        return
    names = ("step", "loss", "dev_loss", "dev_wins_1", "dev_wins_2")
    rows = [(f"{row['step']:.0f}", *(f"{row[name]:.4f}" for name in names[1:])) for row in trained.state.curve]
    show(table((">step", ">loss", ">loss on dev", ">beats 1st false", ">beats 2nd false"), rows))
    show(facts([
        ("checkpoint", str(output)), ("card", str(output / CARD)), ("digest", digest), ("pairs", f"{said['pairs']:,}"),
        ("best after", f"step {said['best_step']:,}"),
    ]))  # fmt: skip

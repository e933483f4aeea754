"""The command ``train grade``: a GRADE checkpoint from dialogues and a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import open_engine, readable
from ...terminal.progress import Stages
from ..options import Engine, EngineOption, GraphNeeded, Json, Pipeline, Quiet, Strict, address_at
from .data import Device, Encoder, Exclude, Licence, Output, Seed, as_typed, sha256_of

if TYPE_CHECKING:
    from ....graph.protocol import KnowledgeGraph
    from ....reasoning.training.grade import Sources, Trained

_NOUNS = {"encoding turns": "turns", "keywords": "turns", "false responses": "responses", "dialogue graphs": "pairs"}


class Negatives(Enum):
    """The kind of false responses."""

    HARD = "hard"
    RANDOM = "random"


class Profile(Enum):
    """The weights of edges."""

    PAPER = "paper"
    RELEASED = "released"


def grade(
    dialogues: Annotated[
        list[str],
        typer.Argument(metavar="DIALOGUES...", show_default=False, help="JSON lines, plain or gzip, as for tacit score."),
    ],
    graph: GraphNeeded,
    output: Output,
    exclude: Exclude = None,
    encoder: Encoder = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Fine-tune a BERT-like model that reads context and response together.")
    ] = False,
    model: Annotated[
        str, typer.Option("--model", metavar="ID|FOLDER", help="The model to fine-tune, with --tune.")
    ] = "bert-base-uncased",
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", metavar="FOLDER", show_default="the encoder's", help="Concept vectors such as Numberbatch."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            show_default=False,
            help="Folder for vectors of turns and concepts, reused by later runs.",
        ),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option("--pairs", metavar="N", min=20, show_default=False, help="Train on about this many pairs.")
    ] = None,
    negatives: Annotated[
        Negatives | None,
        typer.Option(
            show_default="random, hard with --tune",
            help="False responses: similar to the true one in words and meaning, or random.",
        ),
    ] = None,
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Leave the graph branch out.")] = False,
    neighbours: Annotated[
        str, typer.Option(metavar="N1,N2", help="Number of neighbours averaged at one hop, at two, …; 0 for none.")
    ] = "10,10",
    no_hop_attention: Annotated[
        bool, typer.Option("--no-hop-attention", help="Attention without regard to the number of hops.")
    ] = False,
    profile: Annotated[
        Profile, typer.Option(help="Edge weights: 1/hops (paper), or those of the released code.")
    ] = Profile.PAPER,
    hidden: Annotated[
        int, typer.Option(metavar="N", min=4, help="Width of the graph branch and the head, a multiple of 4.")
    ] = 128,
    turns: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of last turns of the history that form the context.")
    ] = 2,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the pairs.")] = 3,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs per step.")] = 64,
    rate: Annotated[
        float | None, typer.Option(metavar="X", show_default="1e-3, 2e-5 with --tune", help="The highest learning rate.")
    ] = None,
    seed: Seed = 0,
    device: Device = None,
    licence: Licence = None,
    pipeline: Pipeline = None,
    engine: EngineOption = Engine.AUTO,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the metric grade on dialogues, to score true responses higher than false ones.

    An interrupted training is continued by the same command.
    """
    from ....reasoning.metrics.grade.checkpoint import KIND, SETTINGS, save_checkpoint
    from ....reasoning.models.hub import need
    from ....reasoning.models.modelfile import check_folder

    check_folder(output, SETTINGS, KIND)
    limits = _limits(neighbours)
    read, files = _read(dialogues, exclude or (), strict)
    torch = need("torch", "neural")
    from ....reasoning.metrics.grade.network import GradeConfig
    from ....reasoning.training.card import grade_card as card
    from ....reasoning.training.grade import Recipe, train_grade
    from ....reasoning.training.grade_data import delete_checkpoints

    if hidden % 4:
        raise InputError(f"--hidden {hidden} is not a multiple of 4, the number of attention heads; give one that is")
    config = GradeConfig(
        utterance="tuned" if tune else "frozen", limits=limits, profile=profile.value,
        graph=not no_graph, hop_attention=not no_hop_attention, turns=turns, hidden=hidden,
    )  # fmt: skip
    recipe = Recipe(seed, epochs, batch_size, rate or (2e-5 if tune else 1e-3))
    recipe.check()
    drawn = negatives or (Negatives.HARD if tune else Negatives.RANDOM)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    work = output.resolve().with_name(f"{output.resolve().name}.training")
    facts = {"data": files, "licence": licence, "command": as_typed("grade", dialogues, output)}
    with (
        open_engine(address_at(graph), engine, quiet=quiet) as opened,
        Stages(lambda stage: _NOUNS.get(stage, "steps"), quiet=quiet) as stages,
    ):
        sources = _sources(opened, encoder, vectors, cache, pipeline, where, model if tune else None)
        trained = train_grade(
            read, sources, config, recipe, work, stages.tell, negatives=drawn.value, most=pairs, turn_cache=cache,
            device=where, facts=facts,
        )  # fmt: skip
    text = card(trained.checkpoint, path=output.name)
    digest = save_checkpoint(trained.checkpoint, output, text, trained.tokenizer)
    delete_checkpoints(work)
    _report(trained, output, digest, json)


def _sources(
    graph: KnowledgeGraph, encoder: str | None, vectors: Path | None, cache: Path | None, pipeline: str | None, device: str,
    tuned: str | None,
) -> Sources:  # fmt: skip
    """Open the inputs of the training."""
    from ....loaders import open_vectors
    from ....reasoning.metrics.grade.concepts import EncodedVectors, TableVectors
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.text.language import open_analyser
    from ....reasoning.training.grade import Sources

    opened = open_encoder(encoder, device=device)
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    table = TableVectors(open_vectors(vectors), graph) if vectors else EncodedVectors(opened, graph, cache)
    named = encoder if encoder is not None and not Path(encoder).expanduser().is_dir() else ""
    return Sources(graph, open_analyser(pipeline), opened, named, table, tuned)


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


def _limits(text: str) -> tuple[int, ...]:
    """Parse ``N1,N2,…``."""
    try:
        limits = tuple(int(part) for part in text.split(","))
    except ValueError:
        limits = (-1,)
    if limits == (0,):
        return ()
    if min(limits) < 1 or len(limits) > 3:
        raise InputError(f"--neighbours {text} must be one to three numbers > 0 such as 10,10, or 0")
    return limits


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

"""The commands ``train retriever``, ``train comet`` and ``train kg-bert``: what ACCENT judges event tuples by, from a loaded
graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...metrics import address_of
from ...opening import open_store
from ...terminal.options import Database, Dtype, Graph, Json, Password, Quiet, User
from ...terminal.progress import Meter
from ..tuples import Making
from .output import name_of, say

if TYPE_CHECKING:
    from ....reasoning.accent.scorers.opening import Opener

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", show_default=False, help="For the model and its card.")]
Base = Annotated[str, typer.Option("--model", metavar="ID|FOLDER", show_default=False, help="What it begins as.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of all that is drawn; one seed, one model.")]
Device = Annotated[str | None, typer.Option(metavar="NAME", show_default=False, help="Where it is trained.")]
Epochs = Annotated[float, typer.Option(metavar="X", help="How often every triple is learnt from, where --steps does not say.")]
Steps = Annotated[int | None, typer.Option(metavar="N", min=1, show_default=False, help="Batches to learn from.")]


def retriever(
    graph: Graph,
    output: Output,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Batches to learn from.")] = 2500,
    batch_size: Annotated[int, typer.Option(metavar="N", min=2, help="Triples of one relation in a batch.")] = 512,
    rate: Annotated[float, typer.Option(metavar="X", help="The highest learning rate.")] = 1e-3,
    parts: Annotated[int, typer.Option(metavar="N", min=1, help="Bytes that each text is kept in.")] = 48,
    pool: Annotated[int, typer.Option(metavar="N", min=1, help="Tails kept for each relation at most.")] = 20_000,
    seed: Seed = 0,
    encoder: Annotated[
        str | None, typer.Option(metavar="ID|FOLDER", show_default="all-MiniLM-L6-v2", help="The sentence encoder.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Train the compact model that judges tails of events that a graph does not know."""
    from ....reasoning.accent.scorers.compact import FILE, to_bytes
    from ....reasoning.accent.tuples import RELATIONS
    from ....reasoning.encoder import DEFAULT_ENCODER
    from ....reasoning.modelfile import check_folder, new_folder
    from ....reasoning.training.card import licence_text, retriever_card
    from ....reasoning.training.loop import checkpoints_of, forget
    from ....reasoning.training.retriever import Recipe, train_retriever

    recipe = Recipe(steps, batch_size, rate, parts, pool, seed)
    recipe.check()
    check_folder(output, FILE, "a tail retriever")
    with _opened(graph, user, password, database, quiet, encoder) as (opener, making):
        triples = opener.table.triples(RELATIONS)
        making.done()

        def vectors(texts: Any) -> Any:
            opener.vectors.add(texts, lambda number: making.tell("embedding", number))
            making.done()
            return opener.vectors.known(texts)

        name = (name_of(encoder) if encoder else DEFAULT_ENCODER, opener.encoder.signature)
        facts = {"graph": opener.table.digest, "sources": opener.table.sources}
        with Meter("training", steps, unit="steps", noun="steps", quiet=quiet) as meter:
            model = train_retriever(
                triples, RELATIONS, vectors, recipe, encoder=name, facts=facts, checkpoints=checkpoints_of(output),
                progress=lambda step, total, _: meter.reach(step, total),
            )  # fmt: skip
    data = to_bytes(model)
    with new_folder(output) as fresh:
        (fresh / "README.md").write_bytes(retriever_card(model, len(data)).encode())
        (fresh / "LICENSE").write_bytes(licence_text("retriever").encode())
        (fresh / FILE).write_bytes(data)
    forget(output)
    say(output, json, {"digest": model.digest, "bytes": len(data), **model.facts})


def comet(
    graph: Graph,
    output: Output,
    model: Annotated[str, typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default=False, help="What it begins as.")],
    epochs: Epochs = 3.0,
    steps: Steps = None,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="Triples in a batch.")] = 32,
    rate: Annotated[float, typer.Option(metavar="X", help="The highest learning rate.")] = 5e-5,
    layers: Annotated[
        int | None, typer.Option(metavar="N", min=1, show_default="all", help="Top layers of a causal model that learn.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Numbers to work with.")] = Dtype.FLOAT32,
    seed: Seed = 0,
    checkpoint_every: Annotated[int, typer.Option(metavar="N", min=0, help="Steps between checkpoints; 0 keeps none.")] = 500,
    device: Device = None,
    json: Json = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Train a COMET, which writes tails of events, on what a graph says; a run that died goes on when it is called again.

    It begins as a sequence-to-sequence model, or as a causal one.
    """
    from ....reasoning.training.comet import train_comet

    options = (epochs, steps, batch_size, rate, seed, checkpoint_every)
    train = partial(train_comet, layers=layers, half=dtype is Dtype.BFLOAT16)
    _train(train, graph, output, model, options, device, json, quiet, (user, password, database))


def kg_bert(
    graph: Graph,
    output: Output,
    model: Base,
    epochs: Epochs = 3.0,
    steps: Steps = None,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="True triples in a batch, each with a made-up one.")] = 32,
    rate: Annotated[float, typer.Option(metavar="X", help="The highest learning rate.")] = 5e-5,
    seed: Seed = 0,
    checkpoint_every: Annotated[int, typer.Option(metavar="N", min=0, help="Steps between checkpoints; 0 keeps none.")] = 500,
    device: Device = None,
    json: Json = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Train a KG-BERT, which tells true triples from made-up ones, on what a graph says."""
    from ....reasoning.training.kgbert import train_kgbert

    options = (epochs, steps, batch_size, rate, seed, checkpoint_every)
    _train(train_kgbert, graph, output, model, options, device, json, quiet, (user, password, database))


def _train(
    train: Any, graph: str, output: Path, model: str, options: tuple[Any, ...], device: str | None, json: bool, quiet: bool,
    access: tuple[str | None, str | None, str | None],
) -> None:  # fmt: skip
    """Train a model of transformers on the triples of a graph's events."""
    from ....reasoning.training.loop import Plan, check_output

    epochs, steps, batch_size, rate, seed, checkpoint_every = options
    if not epochs > 0:
        raise InputError(f"{epochs:g} epochs make no sense; give a number above 0")
    check_output(output)
    with _opened(graph, *access, quiet, None) as (opener, making):
        triples = sorted(set(opener.table.triples(opener.table.relations)))
        digest = opener.table.digest
        making.done()
    planned = steps or max(1, round(epochs * len(triples) / batch_size))
    plan = Plan(planned, batch_size, rate, seed, checkpoint_every)
    plan.check()
    with Meter("training", planned, unit="steps", noun="steps", quiet=quiet) as meter:

        def progress(step: int, total: int, _: float) -> None:
            meter.reach(step, total)

        found = train(triples, model, output, plan, graph=digest, device=device, progress=progress)
    say(output, json, {"graph": digest, "steps": planned, **found})


@contextmanager
def _opened(
    graph: str, user: str | None, password: str | None, database: str | None, quiet: bool, encoder: str | None
) -> Iterator[tuple[Opener, Making]]:
    """Give what opens the parts of ACCENT over a graph, and what shows their making."""
    from ....reasoning.accent.scorers.opening import Opener

    address = address_of(graph, user, password, database)
    assert address is not None
    with open_store(address) as store, Making(quiet) as making:
        yield Opener(store, encoder=encoder, progress=making.tell), making

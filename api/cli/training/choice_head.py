"""The command ``train choice-head``: fits the heads of ``tacit choose``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....graph.errors import InputError
from ...opening import open_engine
from ...terminal.progress import Stages
from ..choosing import Judge
from ..options import Engine, EngineOption, GraphOption, Json, Quiet, Strict, address_of
from .cicero import read_instances
from .data import Exclude, Licence, Output, Seed, as_typed, say, turns_of

if TYPE_CHECKING:
    from ....reasoning.training.choice_head import Measured


def choice_head(
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCES...", show_default=False, help="CICERO's JSON lines or lists with right answers, plain or gzip."
        ),
    ],
    output: Output,
    graph: GraphOption = None,
    judge: Judge = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="ID", show_default="none", help="A sentence encoder: an ID or folder, or default."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID", show_default="none", help="A language model: a folder, a GGUF file or an ID."),
    ] = None,
    exclude: Exclude = None,
    licence: Licence = None,
    engine: EngineOption = Engine.AUTO,
    seed: Seed = 0,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit how far each judge of tacit choose counts, and the words that the judge answers reads, to right and wrong choices.

    tacit choose --head FOLDER uses them. There is a head for each choice of the judges, with answers always among them. An
    interrupted run continues when the command is run again.
    """
    from contextlib import nullcontext

    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.inference.answer_only import FormModel
    from ....reasoning.inference.head import FILE, Heads

    check_folder(output, FILE, "a head for choices")
    rows, files = read_instances(instances, strict)
    from ....reasoning.inference import load_chooser
    from ....reasoning.training.card import choice_head_card
    from ....reasoning.training.choice_head import CONTROL, Measured, apart_from, enough_groups, measure, train_heads

    rows = [one for one in rows if 0 < len(one.correct) < len(one.choices)]
    if exclude:
        rows = apart_from(rows, [list(turns_of(file)) for file in exclude])
    enough_groups(rows)  # too few are told before a model is opened
    names = None if judge is None else list(dict.fromkeys([CONTROL, *(one.value for one in judge)]))
    address = address_of(graph)
    if address is None and names is None:
        raise InputError("the judge graph needs a graph; give one with --graph or TACIT_GRAPH, or name judges: --judge answers")
    told = {
        "files": files, "licence": licence, "excluded": [Path(file).name for file in exclude or ()],
        "command": as_typed("choice-head", [*instances, "--output", str(output)], output),
    }  # fmt: skip
    values = output.resolve().with_name(f".{output.name}.values.jsonl")
    parts: dict[str, Measured] = {}
    models = []
    used = address is not None and (names is None or "graph" in names)
    with (
        open_engine(address, engine, quiet=quiet) if used and address is not None else nullcontext(None) as source,
        Stages(lambda stage: "folds" if stage == "fitting" else "instances", quiet=quiet) as stages,
    ):
        chooser = load_chooser(source, names, head=Heads(FormModel({}, {}), {}, {}), encoder=encoder, model=model)
        for name, one in chooser.judges.items():
            if name != CONTROL:
                parts[name] = Measured(one.features, measure(one, rows, values, stages.tell))
                models.append(f"{name} {one.signature}")
        heads = train_heads(rows, parts, seed=seed, facts={**told, "models": models}, progress=stages.tell)
    with new_folder(output) as fresh:
        (fresh / FILE).write_bytes(heads.to_bytes())
        (fresh / "README.md").write_bytes(choice_head_card(heads, path=output.name).encode())
    values.unlink(missing_ok=True)
    shown = {name: f"exact {one['exact'][0]:.3f}, AUC {one['auc'][0]:.3f}" for name, one in heads.facts["measured"].items()}
    made = {"digest": heads.digest, "instances": heads.facts["instances"], "dialogues": heads.facts["dialogues"]}
    say(output, json, made | (dict(heads.facts) if json else shown))

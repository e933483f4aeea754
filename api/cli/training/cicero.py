"""The trainings of models of CICERO's questions: ``cicero``, which answers or chooses, ``choice-probe`` and ``choice-head``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ....graph.errors import InputError
from ...opening import open_engine
from .. import options as opts
from ..options import argument, option
from .data import excluded_turns, read_instances
from .run import Exclude, LanguageModel, Run, TrainingResult, training

if TYPE_CHECKING:
    from ....reasoning.training.choice_head import JudgeFeatures

Instances = Annotated[list[str], argument("INSTANCES", "CICERO's JSON lines or lists, plain or gzip.")]
SolvedInstances = Annotated[list[str], argument("INSTANCES", "CICERO's JSON lines or lists with right answers, plain or gzip.")]


@training("cicero", options="output recipe epochs seed device strict")
def cicero(
    run: Run,
    instances: Instances,
    task: Annotated[Literal["generate", "choose"], option("NAME", "generate (write answers) or choose (among them).")],
    model: Annotated[
        str, option("ID|FOLDER|FILE.gguf", "The initial model: sequence-to-sequence or causal; for choose also an encoder.")
    ],
) -> TrainingResult:
    """Fine-tune a model on CICERO: to answer questions about a turn, or to choose among answers; an interrupted run is continued.

    tacit infer --model FOLDER writes answers with it, tacit choose --model FOLDER judges by it. The recipe is that of the
    paper, for models of several hundred million weights; a small model needs a higher rate.
    """
    from ....reasoning.training.cicero import train_cicero

    rows, files = read_instances(instances, run.strict)
    with run.steps() as progress:
        return TrainingResult(
            train_cicero(
                rows, model, run.output, run.recipe, task=task, device=run.device,
                facts={"files": files, "command": run.command}, progress=progress,
            )
        )  # fmt: skip


@training(
    "choice-probe", holds=("choice-probe.safetensors", "a probe for choices"), nouns={"reading": "instances", "fitting": "layers"}
)
def choice_probe(run: Run, instances: SolvedInstances, model: LanguageModel) -> TrainingResult:
    """Train a probe of a language model that tells right from wrong answers to CICERO's questions; the model stays as it is.

    tacit choose --model MODEL --probe FOLDER judges by it. An interrupted run continues when the command is run again.
    """
    rows, files = read_instances(instances, run.strict)
    from ....reasoning.training.card import choice_probe_card
    from ....reasoning.training.choice_probe import pairs_of, train_choice_probe

    recipe = run.recipe
    pairs_of(rows)  # the error about too few comes before the model is opened
    causal = run.open_language_model(model, recipe.dtype)
    facts = {"files": files, "licence": recipe.licence, "recipe": asdict(recipe), "command": run.command}
    probe = train_choice_probe(rows, causal, run.checkpoints, seed=recipe.seed, facts=facts, progress=run.stages.report)
    shown_facts = ("ordered", "interval", "yes_alone", "penalty", "instances", "dialogues", "pairs", "seed")
    return run.write_probe(probe, choice_probe_card, shown_facts)


@training(
    "choice-head",
    holds=("choice-head.json", "a head for choices"),
    options="output recipe seed strict",
    nouns=lambda stage: "folds" if stage == "fitting" else "instances",
)
def choice_head(
    run: Run,
    instances: SolvedInstances,
    graph: opts.Graph = None,
    exclude: Exclude = None,
    engine: opts.EngineChoice = "auto",
) -> TrainingResult:
    """Fit the weights of the judges of tacit choose, and the words that the judge answers reads, to right and wrong choices.

    tacit choose --head FOLDER uses them. There is a head for each choice of the judges, with answers always among them. An
    interrupted run continues when the command is run again.
    """
    from ....reasoning.inference.head import FILE, Heads
    from ....reasoning.inference.judges import FormModel

    rows, files = read_instances(instances, run.strict)
    from ....reasoning.inference import load_chooser
    from ....reasoning.training.card import choice_head_card
    from ....reasoning.training.choice_head import (
        CONTROL,
        JudgeFeatures,
        conversation_groups,
        measure,
        train_heads,
        without_dialogues,
    )  # fmt: skip

    rows = [instance for instance in rows if 0 < len(instance.correct) < len(instance.choices)]
    if exclude:
        rows = without_dialogues(rows, excluded_turns(exclude, run.strict))
    conversation_groups(rows)  # the error about too few comes before a model is opened
    recipe = run.recipe
    control = () if CONTROL in recipe.judges else (CONTROL,)
    names = [*control, *recipe.judges] if recipe.judges else None
    address = opts.address_of(graph)
    if address is None and names is None:
        raise InputError("the judge graph needs a graph; give one with --graph or TACIT_GRAPH, or judges in the recipe")
    facts = {
        "files": files, "licence": recipe.licence, "excluded": [Path(file).name for file in exclude or ()],
        "recipe": asdict(recipe.portable()), "command": run.command,
    }  # fmt: skip
    parts: dict[str, JudgeFeatures] = {}
    models = []
    needs_graph = address is not None and (names is None or "graph" in names)
    with open_engine(address, engine, quiet=run.quiet) if needs_graph and address is not None else nullcontext(None) as source:
        chooser = load_chooser(source, names, head=Heads(FormModel({}, {}), {}, {}), encoder=recipe.encoder, model=recipe.model)
        for name, judge in chooser.judges.items():
            if name != CONTROL:
                parts[name] = JudgeFeatures(judge.features, measure(judge, rows, run.checkpoints, run.stages.report))
                models.append(f"{name} {judge.signature}")
        heads = train_heads(rows, parts, seed=recipe.seed, facts={**facts, "models": models}, progress=run.stages.report)
    run.write({FILE: heads.to_bytes(), "README.md": choice_head_card(heads, path=run.output.name)})
    fitted = heads.facts
    sizes = {"digest": heads.digest, "instances": fitted["instances"], "dialogues": fitted["dialogues"]}
    measured = {
        name: f"exact {numbers['exact'][0]:.3f}, AUC {numbers['auc'][0]:.3f}" for name, numbers in fitted["measured"].items()
    }
    return TrainingResult(sizes | dict(fitted), [*sizes.items(), *measured.items()])

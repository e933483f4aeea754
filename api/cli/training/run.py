"""What the training commands share: their options, and a runner that opens the recipe, trains, and shows the result.

A training is a function with the decorator :func:`training`. Its arguments are the command's own options, its docstring the
help; the decorator adds the options that it names, such as ``--output``, and ``--json`` and ``--quiet``.
"""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ....graph.atomic import check_folder, new_folder
from ...terminal.progress import Meter, Stages, waiting
from ...terminal.screen import facts, print_json, show
from .. import options as opts
from ..options import argument, option
from ..settings import typed_words

if TYPE_CHECKING:
    from ....reasoning.models.causal_lm import CausalModel
    from ....reasoning.models.linear_probe import Probe

DialogueFiles = Annotated[list[str], argument("DIALOGUES", "JSON lines with turns, or treebanks (.conllu); plain or gzip.")]
Exclude = Annotated[
    list[str] | None,
    option(
        "FILE",
        "Judgements or dialogues of an evaluation; dialogues that share turns with them are left out. Repeatable.",
        "--exclude",
    ),
]
Encoder = Annotated[str | None, option("ID|FOLDER", "The frozen sentence encoder.", "--encoder", default="all-MiniLM-L6-v2")]
Device = Annotated[str | None, option("NAME", "Device for models, e.g. cpu or cuda:0.", default="cuda, else cpu")]
LanguageModel = Annotated[str, option("ID|FOLDER|FILE.gguf", "The language model.", "--model")]
Licence = Annotated[str | None, option("TEXT", "Licence of the data, for the card.")]
Model = Annotated[str, option("ID|FOLDER", "The initial model.", "--model")]
Seed = Annotated[int, option("N", "Random seed of the training.", min=0, max=2**32 - 1)]


def _shared(
    output: Annotated[Path, option("FOLDER", "Folder for the model and its card.", "--output", "-o")],
    recipe: Annotated[
        str | None,
        option(
            "FILE.toml|NAME",
            "Settings of the training; tacit train recipe prints them. Other options replace theirs.",
            "--recipe",
        ),
    ] = None,
    epochs: Annotated[int | None, option("N", "Passes over the training data.", "--epochs", default="the recipe's")] = None,
    passes: Annotated[float | None, option("X", "Passes over the triples.", "--epochs", default="the recipe's")] = None,
    steps: Annotated[int | None, option("N", "Number of batches.", "--steps", default="the recipe's")] = None,
    precision: Annotated[
        opts.Dtype | None, typer.Option("--dtype", show_default="the recipe's", help="Precision of the computation.")
    ] = None,
    seed: Annotated[int | None, option("N", "Random seed of the training.", "--seed", default="the recipe's")] = None,
    device: Device = None,
    strict: opts.Strict = False,
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Declare the options that trainings share; :func:`training` gives a command those that it names."""


_SHARED = inspect.signature(_shared, eval_str=True).parameters
_REPLACING = {"seed": "seed", "epochs": "epochs", "passes": "epochs", "steps": "steps", "precision": "dtype"}
"""Shared options that replace keys of the recipe, and these keys."""
_DISPLAY = ("--json", "--quiet", "-q")


@dataclass
class Run:
    """A run of a training command: its common options, and the progress display."""

    output: Path
    recipe: Any  # the settings, None for a training without recipes
    device: str | None
    strict: bool
    json: bool
    quiet: bool
    command: str  # for the card, without local folders
    stages: Stages  # progress of work in several stages

    @contextmanager
    def steps(self, total: int | None = None) -> Iterator[Callable[..., None]]:
        """Show the steps of a training; yields a callback for the step, the number of steps and anything more."""
        with Meter("training", total, noun="steps", quiet=self.quiet) as meter:
            yield lambda step, steps, *_: meter.advance_to(step, steps)

    @property
    def checkpoints(self) -> Path:
        """The folder for checkpoints, with which the same command continues an interrupted run; :meth:`write` deletes it."""
        from ....reasoning.training.checkpoints import checkpoints_of

        return checkpoints_of(self.output)

    def write(self, files: Mapping[str, bytes | str]) -> None:
        """Write files to the output folder, which is replaced atomically, and delete its checkpoints."""
        from ....reasoning.training.checkpoints import delete_checkpoints

        with new_folder(self.output) as fresh:
            for name, content in files.items():
                (fresh / name).write_bytes(content.encode() if isinstance(content, str) else content)
        delete_checkpoints(self.output)

    def open_language_model(self, model: str, dtype: str) -> CausalModel:
        """Open a causal language model."""
        from ....reasoning.models.causal_lm import open_causal

        with waiting("opening the model", quiet=self.quiet):
            return open_causal(model, device=self.device, dtype=dtype)

    def write_probe(self, probe: Probe, card: Callable[..., str], shown: Sequence[str], **more: Any) -> TrainingResult:
        """Write a probe with its card; return its facts, of which a terminal shows those that are named."""
        self.write({probe.kind.file: probe.to_bytes(), "README.md": card(probe, path=self.output.name)})
        summary = {"digest": probe.digest, "language_model": probe.model, "layer": probe.layer, **more}
        return TrainingResult(summary | dict(probe.facts), [*summary.items(), *((name, probe.facts[name]) for name in shown)])


@dataclass
class TrainingResult:
    """The result of a training."""

    facts: Mapping[str, Any]  # for JSON
    shown: Sequence[tuple[str, Any]] | None = None  # on a terminal; by default the facts
    before: Sequence[Any] = ()  # what a terminal shows first: tables, or text

    def show(self, run: Run) -> None:
        """Print it."""
        card = str(run.output / "README.md")
        if run.json:
            print_json({"output": str(run.output), "card": card, **self.facts})
            return
        for part in self.before:
            if isinstance(part, str):
                print(part)
            else:
                show(part)
        rows = [(name.replace("_", " "), value) for name, value in self.shown or self.facts.items()]
        texts = [(name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in rows]
        show(facts([("model", str(run.output)), ("card", card), *texts]))


def training(
    name: str,
    *,
    holds: tuple[str, str] | None = ("config.json", "a model"),
    options: str = "output recipe seed device strict",
    nouns: Mapping[str, str] | Callable[[str], str] | None = None,
) -> Callable[[Callable[..., TrainingResult | None]], Callable[..., None]]:
    """Make a function the command ``tacit train NAME``.

    Its first argument is the :class:`Run`; it returns what it made, or None after showing it itself.

    Args:
        holds: a file of every folder of this kind of model, and the kind with its article; the output folder must be new or such
            a one. None: the function checks its output.
        options: the shared options of the command.
        nouns: what is counted in each stage; ``steps`` where nothing else is said.
    """

    def decorate(function: Callable[..., TrainingResult | None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own_parameters = [
            parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(inspect.signature(function).parameters.values())[1:]
        ]
        names = [*options.split(), "json", "quiet"]
        shared_parameters = [_SHARED[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names]
        noun = nouns if callable(nouns) else lambda stage: (nouns or {}).get(stage, "steps")

        def command(**arguments: Any) -> None:
            recipe = None
            if "recipe" in arguments:
                from ....reasoning.training.recipe import open_recipe

                values = {key: arguments[option] for option, key in _REPLACING.items() if option in arguments}
                recipe = open_recipe(name, arguments["recipe"], **values)
            output = arguments["output"]
            if holds is not None:
                check_folder(output, *holds)
            with Stages(noun, quiet=arguments["quiet"]) as stages:
                run = Run(
                    output, recipe, arguments.get("device"), arguments.get("strict", False), arguments["json"],
                    arguments["quiet"], as_typed(typed_words(), output), stages,
                )  # fmt: skip
                result = function(run, **{parameter.name: arguments[parameter.name] for parameter in own_parameters})
            if result is not None:
                result.show(run)

        command.__doc__, command.__name__ = function.__doc__, function.__name__
        command.__signature__ = inspect.Signature([*own_parameters, *shared_parameters])  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own_parameters, *shared_parameters]}
        return command

    return decorate


def as_typed(words: Sequence[str], output: Path) -> str:
    """Return a command line for a card, with files and folders reduced to their names; ``output`` may not exist yet."""
    return shlex.join(["tacit", *(_without_folders(word, output) for word in words if word not in _DISPLAY)])


def _without_folders(word: str, output: Path) -> str:
    option, mark, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = os.sep in value and (Path(value).exists() or Path(value) == output)
    return f"{option}{mark}{Path(value).name}" if is_path else word


def name_of(model: str) -> str:
    """Return a model's id, or the name of its file or folder without the path."""
    return Path(model).name if Path(model).exists() else model

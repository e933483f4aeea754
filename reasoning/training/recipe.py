"""Recipes: the settings of each training, as a dataclass that gives defaults, ranges, help and the keys of recipe files.

A recipe file is TOML. Keys that it leaves out have the defaults; ``tacit train recipe NAME`` prints a recipe with all keys. The
recipe of a trained model is in its card, so that the model can be trained again from it. pydantic checks types and ranges.
"""

# ruff: noqa: RUF009 (the defaults are fields)

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le

from ...graph.errors import InputError
from ...graph.schema import Unfit, load_strictly

FORMER = {"copies": "copy_share", "elsewhere": "cross_corpus_weights", "most": "max_keywords"}
"""Former names of keys, which the facts of shipped models still have."""

Count = Annotated[int, Ge(1)]
Natural = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]
Dtype = Literal["float32", "bfloat16"]

_SIGNS = {Ge: (">=", "ge"), Gt: (">", "gt"), Le: ("<=", "le")}
_COLUMN = 32


def setting(default: Any, help: str) -> Any:
    """A field of a recipe; its type gives the range, and ``help`` says in one line what it is."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Recipe:
    """Base of the recipes; ``key: type = setting(default, help)`` adds a key, a field of another recipe's type a table."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid", "allow_inf_nan": False}

    def check(self, prefix: str = "") -> None:
        """Raise :class:`InputError`, whose message begins with ``prefix``, when a value has the wrong type or is out of range."""
        self._loaded(asdict(self), prefix)

    def portable(self) -> Self:
        """Return the recipe with local files and folders reduced to their names."""
        values = {key.name: getattr(self, key.name) for key in fields(self)}
        local = {
            name: Path(value).name
            for name, value in values.items()
            if isinstance(value, str) and Path(value).expanduser().exists()
        }
        return replace(self, **local)

    def to_toml(self, *, help: bool = False) -> str:
        """Return the recipe as TOML, one key a line; with ``help``, with what each key is and its range."""
        lines, tables, types = [], [], _types(type(self))
        for key in fields(self):
            name, value, description = key.name, getattr(self, key.name), key.metadata["help"]
            if isinstance(value, Recipe):
                comment = f"  # {description}" if help else ""
                tables.append(f"\n[{name}]{comment}\n{value.to_toml(help=help)}")
            elif help:
                line = f"# {name} =" if value is None else f"{name} = {_toml(value)}"
                limits = _range(types[name])
                lines.append(f"{line:<{_COLUMN}}  # {description}{f'; {limits}' if limits else ''}")
            elif value is not None:
                lines.append(f"{name} = {_toml(value)}")
        return "\n".join(lines) + "\n" + "".join(tables)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return a recipe with the keys of ``data``, and the defaults of the class for others; see :meth:`changed`."""
        return cls().changed(data)

    @classmethod
    def recorded(cls, data: Mapping[str, Any]) -> Self:
        """Return the recipe in the facts of a model, which may have former names of keys, and keys that were removed since."""
        types = _types(cls)
        values: dict[str, Any] = {}
        for name, value in ((FORMER.get(name, name), value) for name, value in data.items()):
            if name in types:
                values[name] = asdict(types[name].recorded(value)) if is_dataclass(types[name]) else value
        return cls.from_dict(values)

    def changed(self, data: Mapping[str, Any], prefix: str = "") -> Self:
        """Return the recipe, checked, with the values of ``data`` as TOML or JSON has them; errors begin with ``prefix``."""
        recipe = self._loaded(_merged(asdict(self), data), prefix)
        recipe.check(prefix)
        return recipe

    @classmethod
    def _loaded(cls, values: Mapping[str, Any], prefix: str) -> Self:
        """Return the recipe with these values, after pydantic checked them."""
        try:
            return load_strictly(cls, values)
        except Unfit as error:
            raise InputError(f"{prefix}{error.key} {error}") from None


def open_recipe(command: str, name_or_file: str | None, **options: Any) -> Any:
    """Return the recipe of ``tacit train COMMAND`` in a TOML file, or of that name (None: the first), with ``options`` that
    are not None."""
    named = RECIPES[command]
    first = next(iter(named.values()))
    if name_or_file is None or name_or_file in named:
        recipe = first if name_or_file is None else named[name_or_file]
    else:
        try:
            data = tomllib.loads(Path(name_or_file).expanduser().read_text(encoding="utf-8"))
        except OSError as error:
            reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            names = f", or one of the names {', '.join(named)}" if len(named) > 1 else ""
            raise InputError(f"the recipe {name_or_file} {reason}; give a TOML file{names}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"the recipe {name_or_file} is not TOML: {error}; see tacit train recipe {command}") from error
        recipe = first.changed(data, f"{name_or_file}: ")
    return recipe.changed({name: value for name, value in options.items() if value is not None}, "--")


def recipes() -> list[tuple[str, str]]:
    """Return the trainings that take a recipe, each with the names of its recipes, the default first."""
    return [(command, ", ".join(named)) for command, named in RECIPES.items()]


def recipe_text(command: str, name: str | None = None) -> str:
    """Return a recipe that ships as commented TOML, by default the first of a training."""
    named = RECIPES.get(command)
    if named is None:
        raise InputError(f"there are no recipes of {command!r}; choose from {', '.join(RECIPES)}")
    name = next(iter(named)) if name is None else name
    if name not in named:
        raise InputError(f"train {command} has no recipe {name!r}; choose from {', '.join(named)}")
    return f"# tacit train {command}: the recipe {name!r}\n{named[name].to_toml(help=True)}"


def _merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` with ``changes``, tables key by key."""
    tables = {
        name: _merged(values[name], new)
        for name, new in changes.items()
        if isinstance(new, dict) and isinstance(values.get(name), Mapping)
    }
    return {**values, **changes, **tables}


def _types(recipe: type[Recipe]) -> dict[str, Any]:
    """The type of each key, with its range."""
    hints = get_type_hints(recipe, include_extras=True)
    return {key.name: hints[key.name] for key in fields(recipe)}


def _range(kind: Any) -> str:
    """The range of a type as words, e.g. ``>= 0 and <= 1``, or the allowed texts; empty without either."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(_toml, get_args(kind)))
    limits = [(limit, *_SIGNS[type(limit)]) for limit in getattr(kind, "__metadata__", ())]
    if limits:
        return " and ".join(f"{sign} {getattr(limit, name)}" for limit, sign, name in limits)
    return next(filter(None, map(_range, get_args(kind))), "")


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)


# The recipe of each training.


@dataclass(frozen=True)
class ExtractorRecipe(Recipe):
    """Settings of ``train accent``, as by the authors of ACCENT."""

    epochs: Count = setting(50, "passes over the examples")
    batch_size: Count = setting(4, "examples in a step")
    rate: Positive = setting(5e-5, "the highest learning rate, which falls linearly to 0")
    none_examples: Natural = setting(5, "examples of the answer None per relation")
    max_length: Annotated[int, Ge(96)] = setting(512, "longest prompt in tokens; longer ones are cut")
    seed: Seed = setting(42, "of the None examples, the order and dropout")


@dataclass(frozen=True)
class RetrieverRecipe(Recipe):
    """Settings of ``train retriever``."""

    steps: Count = setting(2500, "number of batches")
    batch_size: Annotated[int, Ge(2)] = setting(512, "triples of one relation in a batch")
    rate: Positive = setting(1e-3, "the highest learning rate")
    parts: Count = setting(48, "bytes per text after quantisation")
    pool: Count = setting(20_000, "largest number of tails per relation")
    seed: Seed = setting(0, "of weights, batches and the pool")


@dataclass(frozen=True)
class TripleRecipe(Recipe):
    """Settings of ``train kg-bert``."""

    epochs: Positive = setting(3.0, "passes over the triples, without steps")
    steps: Count | None = setting(None, "number of batches, in place of epochs")
    batch_size: Count = setting(32, "triples in a batch (for KG-BERT, each with a corrupted one)")
    rate: Positive = setting(5e-5, "the highest learning rate")
    checkpoint_every: Natural = setting(500, "steps between checkpoints; 0 keeps none")
    seed: Seed = setting(0, "of order, dropout and random choices")


@dataclass(frozen=True)
class CometRecipe(TripleRecipe):
    """Settings of ``train comet``."""

    layers: Count | None = setting(None, "train only this many top layers of a causal model; else all")
    dtype: Dtype = setting("float32", "precision of the computation")


@dataclass(frozen=True)
class RatingRecipe(Recipe):
    """Settings of ``train cross-encoder``."""

    epochs: Positive = setting(3.0, "passes over the ratings, without steps")
    steps: Count | None = setting(None, "number of batches, in place of epochs")
    batch_size: Count = setting(16, "ratings in a batch")
    rate: Positive = setting(2e-5, "the highest learning rate")
    rating: Literal["event_cs", "general_cs"] = setting("event_cs", "the rating of DECO to learn")
    held_out: Annotated[float, Ge(0), Le(0.9)] = setting(
        0.1, "share of the conversations that is left out, for the reported agreement"
    )
    checkpoint_every: Natural = setting(500, "steps between checkpoints; 0 keeps none")
    seed: Seed = setting(0, "of the conversations left out, order and dropout")


def number_of_steps(recipe: TripleRecipe | RatingRecipe, examples: int) -> int:
    """Return the number of batches for so many examples: the recipe's, else from its epochs."""
    return recipe.steps or max(1, round(recipe.epochs * examples / recipe.batch_size))


@dataclass(frozen=True)
class CiceroRecipe(Recipe):
    """Settings of ``train cicero``; the defaults are those of Ghosal et al. (ACL 2022)."""

    epochs: Count = setting(5, "passes over the examples")
    batch_size: Count = setting(4, "examples in a step")
    rate: Positive = setting(5e-6, "the learning rate")
    optimizer: Literal["adafactor", "adamw"] = setting("adafactor", "the optimizer, with a constant rate")
    source: Annotated[int, Ge(32)] = setting(512, "longest input in tokens; the context of a longer one loses turns")
    subtasks: str = setting("all", "of generation: all, or names with commas, such as cause,subsequent-clipped")
    answers: Literal["all", "single"] = setting("all", "of choices: all right ones, or a single one")
    checkpoint_every: Natural = setting(500, "steps between checkpoints; 0 keeps none")
    licence: str | None = setting(None, "licence of the model, for the card")
    seed: Seed = setting(0, "of a new output's weights, the order and dropout")


@dataclass(frozen=True)
class ResponderRecipe(Recipe):
    """Settings of ``train responder``; the weights of the losses and one distractor are those of Wolf et al. (2019)."""

    steps: Count = setting(1_000, "number of batches")
    batch_size: Count = setting(8, "responses in a batch, each with its distractors")
    distractors: Natural = setting(1, "false responses to each history, turns of other dialogues; 0: language modelling alone")
    language_weight: NonNegative = setting(2.0, "of the language modelling loss")
    choice_weight: NonNegative = setting(1.0, "of the multiple-choice loss")
    evaluation_turns: Count = setting(200, "held-out turns whose perplexity is measured before and after")
    longest: Annotated[int, Ge(16)] = setting(256, "most tokens of a history with a response; the history loses its beginning")
    layers: Count | None = setting(None, "number of trained layers, counted from the output; else two in five")
    rate: Positive = setting(6.25e-5, "the highest learning rate")
    dtype: Dtype | None = setting(None, "precision of the computation; else bfloat16 on a GPU, float32 on a CPU")
    checkpoint_every: Natural = setting(100, "steps between checkpoints; 0 keeps none")
    licence: str | None = setting(None, "licence of the model, for the card")
    seed: Seed = setting(0, "of the held-out dialogues, the distractors and the order")


@dataclass(frozen=True)
class HeadRecipe(Recipe):
    """Settings of the response selection head of ``coherence``."""

    width: Count = setting(128, "dimension of the common space")
    epochs: Count = setting(5, "passes over all pairs")
    batch: Count = setting(256, "pairs in a step")
    rate: Positive = setting(1e-3, "the highest learning rate")
    decay: NonNegative = setting(0.01, "weight decay")
    dropout: Share = setting(0.2, "of pooled vectors")


@dataclass(frozen=True)
class CoherenceRecipe(Recipe):
    """Settings of ``train coherence``."""

    terms: Count = setting(30_000, "number of terms: the most frequent words and pairs of words")
    edges: Count = setting(1_200_000, "largest number of associations")
    max_pairs: Count = setting(200_000, "largest number of turn pairs to train the head on")
    copy_share: NonNegative = setting(0.1, "near copies of recent turns per true response, when the parts are weighted")
    similarity_factor: NonNegative = setting(2.0, "the fitted weight of similarity is multiplied by this")
    cross_corpus_weights: bool = setting(True, "with several corpora, fit the weights to parts trained without the corpus too")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of the held-out dialogues, the head's weights, the order and random choices")
    head: HeadRecipe = field(default_factory=HeadRecipe, metadata={"help": "the response selection head"})


@dataclass(frozen=True)
class NetworkRecipe(Recipe):
    """Settings of the networks of ``commonsense``."""

    hidden: tuple[Count, ...] = setting((4,), "neurons of each hidden layer")
    alpha: NonNegative = setting(1.0, "weight of the L2 penalty, which keeps a model of few judgements smooth")
    members: Annotated[int, Ge(1), Le(100)] = setting(5, "number of networks that are averaged")
    activation: Literal["tanh", "relu"] = setting("tanh", "of the hidden layers")
    learning_rate: Positive = setting(0.01, "of Adam")
    epochs: Count = setting(500, "largest number of passes")
    patience: Count = setting(20, "epochs without a better validation score after which fitting stops")
    validation: Annotated[float, Gt(0), Le(0.9)] = setting(0.1, "share of the training part for early stopping")


@dataclass(frozen=True)
class CommonsenseRecipe(Recipe):
    """Settings of ``train commonsense``."""

    variant: Literal["symbolic", "neural", "all"] = setting(
        "symbolic", "features: triples and length, a language model's losses, or all"
    )
    count: Literal["pairs", "triples"] = setting("pairs", "count pairs of connected concepts, or distinct triples")
    contrast: bool = setting(False, "train on dialogues without ratings: own responses (1) against random ones (0)")
    rating: Literal["event_cs", "general_cs"] = setting("event_cs", "the rating of DECO to use")
    pipeline: str | None = setting(None, "spaCy pipeline, a name or folder; else the one that ships")
    folds: Natural = setting(10, "folds of the cross-validation; 0: random splits")
    shares: tuple[Positive, ...] = setting((0.8, 0.1, 0.1), "of random splits: training, early stopping, test")
    rounds: Count = setting(10, "number of random splits")
    resamples: Count = setting(10_000, "bootstrap resamples for the 95% intervals")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of folds, networks, background sample and bootstrap")
    networks: NetworkRecipe = field(default_factory=NetworkRecipe, metadata={"help": "the networks; the score is their mean"})


@dataclass(frozen=True)
class GradeNetworkRecipe(Recipe):
    """The network of ``grade``: the settable part of :class:`tacit.reasoning.metrics.grade.network.GradeConfig`."""

    graph: bool = setting(True, "with a graph branch")
    limits: tuple[Count, ...] = setting((10, 10), "neighbours averaged at one hop, at two, at three; [] for none")
    hop_attention: bool = setting(True, "graph attention is weighted by hops")
    profile: Literal["paper", "released"] = setting("paper", "edge weights: 1/hops, or those of the released code")
    turns: Count = setting(2, "last turns of the history that form the context")
    hidden: Count = setting(128, "width of nodes, a multiple of heads")
    layers: Count = setting(3, "of graph attention")
    heads: Count = setting(4, "of graph attention")
    head: tuple[Count, ...] = setting((128, 64), "widths of the hidden layers of the head")
    pair: Count = setting(128, "width of a text in the frozen branch")
    pooling: Literal["mean", "first"] = setting("mean", "of the tokens of a tuned encoder")
    threshold: NonNegative = setting(0.15, "smallest tf-idf of a keyword")
    max_keywords: Count = setting(16, "largest number of keywords of a dialogue")


@dataclass(frozen=True)
class GradeRecipe(Recipe):
    """Settings of ``train grade``."""

    encoder: str | None = setting(None, "the frozen sentence encoder, an id or folder; else all-MiniLM-L6-v2")
    tuned: str | None = setting(None, "a BERT-like model to fine-tune, which reads context and response together; else none")
    vectors: str | None = setting(None, "folder of concept vectors such as Numberbatch; else those of the encoder")
    pipeline: str | None = setting(None, "spaCy pipeline, a name or folder; else the one that ships")
    negatives: Literal["hard", "random"] = setting(
        "random", "false responses: similar to the true one in words and in meaning, or random"
    )
    pairs: Annotated[int, Ge(20)] | None = setting(None, "train on about this many pairs; else on all")
    epochs: Count = setting(3, "passes over the pairs")
    batch: Count = setting(64, "pairs in a step")
    rate: Positive = setting(1e-3, "the highest learning rate, after a warm-up; then it falls linearly to 0")
    warmup: Share = setting(0.1, "share of the steps in which the learning rate rises from 0")
    decay: NonNegative = setting(0.0, "weight decay")
    margin: Positive = setting(0.1, "of the ranking loss")
    clip: Positive = setting(1.0, "largest norm of the gradient")
    drop_edge: Annotated[float, Ge(0), Le(0.99)] = setting(0.1, "share of the edges dropped in training")
    evaluations_per_epoch: Count = setting(4, "evaluations on the development pairs per epoch, with a checkpoint each")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of weights, order, dropout and dropped edges")
    network: GradeNetworkRecipe = field(default_factory=GradeNetworkRecipe, metadata={"help": "the network"})

    def check(self, prefix: str = "") -> None:
        """Also check that the width of nodes can be divided among the attention heads, and the number of hops."""
        super().check(prefix)
        hidden, heads, limits = self.network.hidden, self.network.heads, self.network.limits
        if hidden % heads:
            raise InputError(f"{prefix}network.hidden is {hidden}; it must be a multiple of network.heads, {heads}")
        if len(limits) > 3:
            raise InputError(f"{prefix}network.limits has {len(limits)} numbers; it must have at most three")


@dataclass(frozen=True)
class JudgementRecipe(Recipe):
    """Settings of ``train judgement``."""

    histories: Count = setting(1_000, "largest number of histories of each corpus")
    false: Annotated[int, Ge(1), Le(6)] = setting(3, "false responses to each history, of different kinds")
    dtype: Literal["float32", "bfloat16", "float16"] = setting("bfloat16", "precision of the language model")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of the places, the kinds and the false responses")


@dataclass(frozen=True)
class ChoiceHeadRecipe(Recipe):
    """Settings of ``train choice-head``."""

    judges: tuple[str, ...] = setting(
        (), "judges of the heads, answers always among them; [] for graph, similarity with an encoder, yes-no with a model"
    )
    encoder: str | None = setting(None, "sentence encoder of the judge similarity, an id or folder; else all-MiniLM-L6-v2")
    model: str | None = setting(None, "language model of the other judges: a folder, a GGUF file or an id; else none")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of the folds")


@dataclass(frozen=True)
class ChoiceProbeRecipe(Recipe):
    """Settings of ``train choice-probe``."""

    dtype: Literal["float32", "bfloat16", "float16"] = setting("bfloat16", "precision of the language model")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: Seed = setting(0, "of the folds")


#: The settings of Huang et al. (EMNLP 2020, section 4.1) and of their released code, whose idf has base 10.
GRADE_AS_PAPER = GradeRecipe(
    tuned="bert-base-uncased",
    negatives="hard",
    epochs=5,
    batch=16,
    rate=2e-5,
    decay=0.01,
    drop_edge=0.2,
    network=GradeNetworkRecipe(hidden=300, head=(1024, 512, 128), pooling="first", threshold=round(0.15 * math.log(10), 4)),
)


@dataclass(frozen=True)
class ReferenceRecipe(Recipe):
    """Settings of ``train reference``."""

    responses: Annotated[int, Ge(100)] = setting(2_500, "number of true responses, and of random ones")
    held_out: bool = setting(False, "draw from the tenth that train coherence holds out with the same files and seed")
    batch_size: Count | None = setting(None, "responses scored together; else as the metric prefers")
    licence: str | None = setting(None, "licence of the dialogues, for the reference")
    seed: Seed = setting(0, "of the sample")


RECIPES: dict[str, dict[str, Recipe]] = {
    "accent": {"default": ExtractorRecipe()},
    "choice-head": {"default": ChoiceHeadRecipe()},
    "choice-probe": {"default": ChoiceProbeRecipe()},
    "cicero": {"paper": CiceroRecipe()},
    "coherence": {"default": CoherenceRecipe()},
    "comet": {"default": CometRecipe()},
    "commonsense": {"default": CommonsenseRecipe()},
    "cross-encoder": {"default": RatingRecipe()},
    "grade": {
        "frozen": GradeRecipe(),
        "tuned": GradeRecipe(tuned="bert-base-uncased", negatives="hard", rate=2e-5),
        "paper": GRADE_AS_PAPER,
    },
    "judgement": {"default": JudgementRecipe()},
    "kg-bert": {"default": TripleRecipe()},
    "reference": {"default": ReferenceRecipe()},
    "responder": {"default": ResponderRecipe()},
    "retriever": {"default": RetrieverRecipe()},
}
"""The recipes that ship, by command and name; the first of a command is its default."""

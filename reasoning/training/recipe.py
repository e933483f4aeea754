"""Recipes: the settings of each training, as a dataclass that gives defaults, ranges, help and the keys of recipe files.

A recipe file is TOML. Keys that it leaves out have the defaults; ``tacit train recipe NAME`` prints a recipe with all keys. The
recipe of a trained model is in its card, so that the model can be trained again from it.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, Self, get_args, get_origin, get_type_hints

from ...graph.errors import InputError

FORMER = {
    "asked": "evaluation_turns", "copies": "copy_share", "elsewhere": "cross_corpus_weights",
    "heard": "weighting_dialogues", "looks": "evaluations_per_epoch", "nones": "none_examples",
}  # fmt: skip
"""Former names of keys, which facts of trained models still have."""

_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_LISTS = {int: "a list of whole numbers", float: "a list of numbers"}
_COLUMN = 32


def setting(
    default: Any, help: str, *, low: float | None = None, above: float | None = None, high: float | None = None,
    choices: Iterable[str] = (),
) -> Any:  # fmt: skip
    """A field of a recipe.

    Args:
        default: the value when the key is left out; None where the type allows it.
        help: one line on what it is.
        low, above, high: the value (each one of a list) must be >= ``low``, > ``above`` and <= ``high``.
        choices: the allowed texts.
    """
    ranges = {"low": low, "above": above, "high": high, "choices": tuple(choices)}
    return field(default=default, metadata={"help": help, **ranges})


@dataclass(frozen=True)
class Recipe:
    """Base of the recipes; ``key: type = setting(default, help, …)`` adds a key, a field of another recipe's type a table."""

    def check(self, place: str = "") -> None:
        """Raise :class:`InputError` when a value has the wrong type or is out of its range; the message begins with ``place``."""
        for name, kind, given in _keys(type(self)):
            value = getattr(self, name)
            if isinstance(value, Recipe):
                value.check(f"{place}{name}.")
            elif not _fits(value, kind, given):
                raise InputError(f"{place}{name} is {_toml(value)}; it must be {_expected(kind, given)}")

    def portable(self) -> Self:
        """Return the recipe with local files and folders reduced to their names."""
        found = {name: getattr(self, name) for name, *_ in _keys(type(self))}
        local = {name: Path(one).name for name, one in found.items() if isinstance(one, str) and Path(one).expanduser().exists()}
        return replace(self, **local)

    def to_toml(self, *, help: bool = False) -> str:
        """Return the recipe as TOML, one key a line; with ``help``, with what each key is and its range."""
        lines, tables = [], []
        for name, _, given in _keys(type(self)):
            value = getattr(self, name)
            if isinstance(value, Recipe):
                comment = f"  # {given['help']}" if help else ""
                tables.append(f"\n[{name}]{comment}\n{value.to_toml(help=help)}")
            elif help:
                line = f"# {name} =" if value is None else f"{name} = {_toml(value)}"
                limits = _choices(given) or _limits(given)
                lines.append(f"{line:<{_COLUMN}}  # {given['help']}{f'; {limits}' if limits else ''}")
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
        kinds = {name: kind for name, kind, _ in _keys(cls)}
        found: dict[str, Any] = {}
        for name, value in ((FORMER.get(name, name), value) for name, value in data.items()):
            kind = kinds.get(name)
            table = isinstance(kind, type) and issubclass(kind, Recipe)
            found |= {name: asdict(kind.recorded(value)) if table else value} if kind is not None else {}
        return cls.from_dict(found)

    def changed(self, data: Mapping[str, Any], place: str = "") -> Self:
        """Return the recipe, checked, with the values of ``data`` as TOML or JSON has them.

        Raises:
            InputError: a key is unknown, or a value has the wrong type or is out of its range; the message begins with ``place``.
        """
        kinds = {name: kind for name, kind, _ in _keys(type(self))}
        values: dict[str, Any] = {}
        for name, value in data.items():
            if name not in kinds:
                like = [FORMER[name]] if FORMER.get(name) in kinds else get_close_matches(name, kinds, 1)
                hint = f"did you mean {like[0]!r}?" if like else f"its keys are {', '.join(kinds)}"
                raise InputError(f"{place}{name} is not a key of this recipe; {hint}")
            kind = kinds[name]
            if isinstance(kind, type) and issubclass(kind, Recipe):
                if not isinstance(value, Mapping):
                    raise InputError(f"{place}{name} is {_toml(value)}; it must be a table, [{name}]")
                values[name] = getattr(self, name).changed(value, f"{place}{name}.")
            else:
                values[name] = _converted(value, kind)
        recipe = replace(self, **values)
        recipe.check(place)
        return recipe


def open_recipe(command: str, given: str | None, **options: Any) -> Any:
    """Return the recipe of a training.

    Args:
        command: ``tacit train COMMAND``.
        given: a TOML file, or the name of one of the command's recipes; None: the first of these.
        options: values that replace those of the recipe; None replaces nothing.

    Raises:
        InputError: the file cannot be read or is not TOML, a key is unknown, or a value is out of its range.
    """
    named = RECIPES[command]
    first = next(iter(named.values()))
    if given is None or given in named:
        recipe = first if given is None else named[given]
    else:
        try:
            data = tomllib.loads(Path(given).expanduser().read_text(encoding="utf-8"))
        except OSError as error:
            reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            others = f", or one of the names {', '.join(named)}" if len(named) > 1 else ""
            raise InputError(f"the recipe {given} {reason}; give a TOML file{others}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"the recipe {given} is not TOML: {error}; see tacit train recipe {command}") from error
        recipe = first.changed(data, f"{given}: ")
    return recipe.changed({name: value for name, value in options.items() if value is not None}, "--")


def recipes() -> list[tuple[str, str]]:
    """Return the trainings that take a recipe, each with the names of its recipes, the default first."""
    return [(command, ", ".join(named)) for command, named in RECIPES.items()]


def recipe_text(command: str, name: str | None = None) -> str:
    """Return a recipe that ships as commented TOML, by default the first of a training.

    Raises:
        InputError: there is no such training, or it has no recipe of this name.
    """
    named = RECIPES.get(command)
    if named is None:
        raise InputError(f"there are no recipes of {command!r}; choose from {', '.join(RECIPES)}")
    name = next(iter(named)) if name is None else name
    if name not in named:
        raise InputError(f"train {command} has no recipe {name!r}; choose from {', '.join(named)}")
    return f"# tacit train {command}: the recipe {name!r}\n{named[name].to_toml(help=True)}"


def _keys(recipe: type[Recipe]) -> tuple[tuple[str, Any, Mapping[str, Any]], ...]:
    """Name, type and metadata of each field."""
    hints = get_type_hints(recipe)
    return tuple((one.name, hints[one.name], one.metadata) for one in fields(recipe))


def _optional(kind: Any) -> tuple[Any, bool]:
    """The type without None, and whether None was allowed."""
    parts = get_args(kind)
    return (next(part for part in parts if part is not NoneType), True) if NoneType in parts else (kind, False)


def _converted(value: Any, kind: Any) -> Any:
    """A value of TOML as the dataclasses have it: lists as tuples, whole numbers as floats where a float is wanted."""
    kind, _ = _optional(kind)
    if isinstance(value, list):
        return tuple(_converted(one, get_args(kind)[0] if get_origin(kind) is tuple else None) for one in value)
    return float(value) if kind is float and type(value) is int else value


def _fits(value: Any, kind: Any, given: Mapping[str, Any]) -> bool:
    kind, optional = _optional(kind)
    if value is None:
        return optional
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(one, get_args(kind)[0], given) for one in value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        return False
    if given["choices"]:
        return value in given["choices"]
    if kind not in (int, float):
        return True
    low, above, high = given["low"], given["above"], given["high"]
    return (
        math.isfinite(value)
        and (low is None or value >= low)
        and (above is None or value > above)
        and (high is None or value <= high)
    )


def _expected(kind: Any, given: Mapping[str, Any]) -> str:
    """What a value must be, e.g. ``a number > 0``."""
    kind, _ = _optional(kind)
    words = _LISTS[get_args(kind)[0]] if get_origin(kind) is tuple else _KINDS[kind]
    return _choices(given) or f"{words} {_limits(given)}".strip()


def _choices(given: Mapping[str, Any]) -> str:
    return "one of " + ", ".join(map(_toml, given["choices"])) if given["choices"] else ""


def _limits(given: Mapping[str, Any]) -> str:
    """The range as words, e.g. ``>= 0 and <= 1``; empty without one."""
    signs = (("low", ">="), ("above", ">"), ("high", "<="))
    return " and ".join(f"{sign} {given[name]}" for name, sign in signs if given[name] is not None)


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False, default=str)


# The recipe of each training.

_SEED: dict[str, Any] = {"low": 0, "high": 2**32 - 1}
_DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True)
class ExtractorRecipe(Recipe):
    """Settings of ``train accent``, as by the authors of ACCENT."""

    epochs: int = setting(50, "passes over the examples", low=1)
    batch_size: int = setting(4, "examples in a step", low=1)
    rate: float = setting(5e-5, "the highest learning rate, which falls linearly to 0", above=0)
    none_examples: int = setting(5, "examples of the answer None per relation", low=0)
    max_length: int = setting(512, "longest prompt in tokens; longer ones are cut", low=96)
    seed: int = setting(42, "of the None examples, the order and dropout", **_SEED)


@dataclass(frozen=True)
class RetrieverRecipe(Recipe):
    """Settings of ``train retriever``."""

    steps: int = setting(2500, "number of batches", low=1)
    batch_size: int = setting(512, "triples of one relation in a batch", low=2)
    rate: float = setting(1e-3, "the highest learning rate", above=0)
    parts: int = setting(48, "bytes per text after quantisation", low=1)
    pool: int = setting(20_000, "largest number of tails per relation", low=1)
    seed: int = setting(0, "of weights, batches and the pool", **_SEED)


@dataclass(frozen=True)
class TripleRecipe(Recipe):
    """Settings of ``train kg-bert``."""

    epochs: float = setting(3.0, "passes over the triples, without steps", above=0)
    steps: int | None = setting(None, "number of batches, in place of epochs", low=1)
    batch_size: int = setting(32, "triples in a batch (for KG-BERT, each with a corrupted one)", low=1)
    rate: float = setting(5e-5, "the highest learning rate", above=0)
    checkpoint_every: int = setting(500, "steps between checkpoints; 0 keeps none", low=0)
    seed: int = setting(0, "of order, dropout and random choices", **_SEED)

    def steps_for(self, triples: int) -> int:
        """Return the number of batches for so many triples."""
        return self.steps or max(1, round(self.epochs * triples / self.batch_size))


@dataclass(frozen=True)
class CometRecipe(TripleRecipe):
    """Settings of ``train comet``."""

    layers: int | None = setting(None, "train only this many top layers of a causal model; else all", low=1)
    dtype: str = setting("float32", "precision of the computation", choices=_DTYPES)


@dataclass(frozen=True)
class RatingRecipe(Recipe):
    """Settings of ``train cross-encoder``."""

    epochs: float = setting(3.0, "passes over the ratings, without steps", above=0)
    steps: int | None = setting(None, "number of batches, in place of epochs", low=1)
    batch_size: int = setting(16, "ratings in a batch", low=1)
    rate: float = setting(2e-5, "the highest learning rate", above=0)
    rating: str = setting("event_cs", "the rating of DECO to learn", choices=("event_cs", "general_cs"))
    held_out: float = setting(0.1, "share of the conversations that is left out, for the reported agreement", low=0, high=0.9)
    checkpoint_every: int = setting(500, "steps between checkpoints; 0 keeps none", low=0)
    seed: int = setting(0, "of the conversations left out, order and dropout", **_SEED)

    def steps_for(self, ratings: int) -> int:
        """Return the number of batches for so many ratings."""
        return self.steps or max(1, round(self.epochs * ratings / self.batch_size))


@dataclass(frozen=True)
class CiceroRecipe(Recipe):
    """Settings of ``train cicero``; the defaults are those of Ghosal et al. (ACL 2022)."""

    epochs: int = setting(5, "passes over the examples", low=1)
    batch_size: int = setting(4, "examples in a step", low=1)
    rate: float = setting(5e-6, "the learning rate", above=0)
    optimizer: str = setting("adafactor", "the optimizer, with a constant rate", choices=("adafactor", "adamw"))
    source: int = setting(512, "longest input in tokens; the context of a longer one loses turns", low=32)
    subtasks: str = setting("all", "of generation: all, or names with commas, such as cause,subsequent-clipped")
    answers: str = setting("all", "of choices: all right ones, or a single one", choices=("all", "single"))
    checkpoint_every: int = setting(500, "steps between checkpoints; 0 keeps none", low=0)
    licence: str | None = setting(None, "licence of the model, for the card")
    seed: int = setting(0, "of a new output's weights, the order and dropout", **_SEED)


@dataclass(frozen=True)
class LanguageModelRecipe(Recipe):
    """Settings of ``train language-model``."""

    steps: int = setting(200, "number of batches", low=1)
    tokens: int = setting(2_048, "tokens in a batch, including padding", low=1)
    layers: int | None = setting(None, "number of trained layers, counted from the output; else two in five", low=1)
    rate: float = setting(2e-4, "the highest learning rate", above=0)
    dtype: str | None = setting(None, "precision of the computation; else bfloat16 on a GPU, float32 on a CPU", choices=_DTYPES)
    checkpoint_every: int = setting(50, "steps between checkpoints; 0 keeps none", low=0)
    licence: str | None = setting(None, "licence of the model, for the card")
    seed: int = setting(0, "of the held-out dialogues, the windows and their order", **_SEED)


@dataclass(frozen=True)
class ResponderRecipe(Recipe):
    """Settings of ``train responder``; the weights of the losses and one distractor are those of Wolf et al. (2019)."""

    steps: int = setting(1_000, "number of batches", low=1)
    batch_size: int = setting(8, "responses in a batch, each with its distractors", low=1)
    distractors: int = setting(1, "false responses to each history, turns of other dialogues; 0: language modelling alone", low=0)
    language_weight: float = setting(2.0, "of the language modelling loss", low=0)
    choice_weight: float = setting(1.0, "of the multiple-choice loss", low=0)
    evaluation_turns: int = setting(200, "held-out turns whose perplexity is measured before and after", low=1)
    longest: int = setting(256, "most tokens of a history with a response; the history loses its beginning", low=16)
    layers: int | None = setting(None, "number of trained layers, counted from the output; else two in five", low=1)
    rate: float = setting(6.25e-5, "the highest learning rate", above=0)
    dtype: str | None = setting(None, "precision of the computation; else bfloat16 on a GPU, float32 on a CPU", choices=_DTYPES)
    checkpoint_every: int = setting(100, "steps between checkpoints; 0 keeps none", low=0)
    licence: str | None = setting(None, "licence of the model, for the card")
    seed: int = setting(0, "of the held-out dialogues, the distractors and the order", **_SEED)


@dataclass(frozen=True)
class HeadRecipe(Recipe):
    """Settings of the response selection head of ``coherence``."""

    width: int = setting(128, "dimension of the common space", low=1)
    epochs: int = setting(5, "passes over all pairs", low=1)
    batch: int = setting(256, "pairs in a step", low=1)
    rate: float = setting(1e-3, "the highest learning rate", above=0)
    decay: float = setting(0.01, "weight decay", low=0)
    dropout: float = setting(0.2, "of pooled vectors", low=0, high=1)


@dataclass(frozen=True)
class CoherenceRecipe(Recipe):
    """Settings of ``train coherence``."""

    terms: int = setting(30_000, "number of terms: the most frequent words and pairs of words", low=1)
    edges: int = setting(1_200_000, "largest number of associations", low=1)
    max_pairs: int = setting(200_000, "largest number of turn pairs to train the head on", low=1)
    copy_share: float = setting(0.1, "near copies of recent turns per true response, when the parts are weighted", low=0)
    weighting_dialogues: int = setting(300, "held-out dialogues for fitting the weights with a language model", low=2)
    similarity_factor: float = setting(2.0, "the fitted weight of similarity is multiplied by this", low=0)
    cross_corpus_weights: bool = setting(True, "with several corpora, fit the weights to parts trained without the corpus too")
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: int = setting(0, "of the held-out dialogues, the head's weights, the order and random choices", **_SEED)
    head: HeadRecipe = field(default_factory=HeadRecipe, metadata={"help": "the response selection head"})


@dataclass(frozen=True)
class NetworkRecipe(Recipe):
    """Settings of the networks of ``commonsense``."""

    hidden: tuple[int, ...] = setting((4,), "neurons of each hidden layer", low=1)
    alpha: float = setting(1.0, "weight of the L2 penalty, which keeps a model of few judgements smooth", low=0)
    members: int = setting(5, "number of networks that are averaged", low=1, high=100)
    activation: str = setting("tanh", "of the hidden layers", choices=("tanh", "relu"))
    learning_rate: float = setting(0.01, "of Adam", above=0)
    epochs: int = setting(500, "largest number of passes", low=1)
    patience: int = setting(20, "epochs without a better validation score after which fitting stops", low=1)
    validation: float = setting(0.1, "share of the training part for early stopping", above=0, high=0.9)


@dataclass(frozen=True)
class CommonsenseRecipe(Recipe):
    """Settings of ``train commonsense``."""

    variant: str = setting(
        "symbolic", "features: triples and length, a language model's losses, or all", choices=("symbolic", "neural", "all")
    )
    count: str = setting("pairs", "count pairs of connected concepts, or distinct triples", choices=("pairs", "triples"))
    contrast: bool = setting(False, "train on dialogues without ratings: own responses (1) against random ones (0)")
    rating: str = setting("event_cs", "the rating of DECO to use", choices=("event_cs", "general_cs"))
    pipeline: str | None = setting(None, "spaCy pipeline, a name or folder; else the one that ships")
    folds: int = setting(10, "folds of the cross-validation; 0: random splits", low=0)
    shares: tuple[float, ...] = setting((0.8, 0.1, 0.1), "of random splits: training, early stopping, test", above=0)
    rounds: int = setting(10, "number of random splits", low=1)
    resamples: int = setting(10_000, "bootstrap resamples for the 95% intervals", low=1)
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: int = setting(0, "of folds, networks, background sample and bootstrap", **_SEED)
    networks: NetworkRecipe = field(default_factory=NetworkRecipe, metadata={"help": "the networks, whose mean is the score"})


@dataclass(frozen=True)
class GradeNetworkRecipe(Recipe):
    """The network of ``grade``: the settable part of :class:`tacit.reasoning.metrics.grade.network.GradeConfig`."""

    graph: bool = setting(True, "with a graph branch")
    limits: tuple[int, ...] = setting((10, 10), "neighbours averaged at one hop, at two, at three; [] for none", low=1)
    hop_attention: bool = setting(True, "graph attention is weighted by hops")
    profile: str = setting("paper", "edge weights: 1/hops, or those of the released code", choices=("paper", "released"))
    turns: int = setting(2, "last turns of the history that form the context", low=1)
    hidden: int = setting(128, "width of nodes, a multiple of heads", low=1)
    layers: int = setting(3, "of graph attention", low=1)
    heads: int = setting(4, "of graph attention", low=1)
    head: tuple[int, ...] = setting((128, 64), "widths of the hidden layers of the head", low=1)
    pair: int = setting(128, "width of a text in the frozen branch", low=1)
    pooling: str = setting("mean", "of the tokens of a tuned encoder", choices=("mean", "first"))
    threshold: float = setting(0.15, "smallest tf-idf of a keyword", low=0)
    most: int = setting(16, "largest number of keywords of a turn", low=1)


@dataclass(frozen=True)
class GradeRecipe(Recipe):
    """Settings of ``train grade``."""

    encoder: str | None = setting(None, "the frozen sentence encoder, an id or folder; else all-MiniLM-L6-v2")
    tuned: str | None = setting(None, "a BERT-like model to fine-tune, which reads context and response together; else none")
    vectors: str | None = setting(None, "folder of concept vectors such as Numberbatch; else those of the encoder")
    pipeline: str | None = setting(None, "spaCy pipeline, a name or folder; else the one that ships")
    negatives: str = setting(
        "random", "false responses: similar to the true one in words and in meaning, or random", choices=("hard", "random")
    )
    pairs: int | None = setting(None, "train on about this many pairs; else on all", low=20)
    epochs: int = setting(3, "passes over the pairs", low=1)
    batch: int = setting(64, "pairs in a step", low=1)
    rate: float = setting(1e-3, "the highest learning rate, after a warm-up; then it falls linearly to 0", above=0)
    warmup: float = setting(0.1, "share of the steps in which the learning rate rises from 0", low=0, high=1)
    decay: float = setting(0.0, "weight decay", low=0)
    margin: float = setting(0.1, "of the ranking loss", above=0)
    clip: float = setting(1.0, "largest norm of the gradient", above=0)
    drop_edge: float = setting(0.1, "share of the edges dropped in training", low=0, high=0.99)
    evaluations_per_epoch: int = setting(4, "evaluations on the development pairs per epoch, with a checkpoint each", low=1)
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: int = setting(0, "of weights, order, dropout and dropped edges", **_SEED)
    network: GradeNetworkRecipe = field(default_factory=GradeNetworkRecipe, metadata={"help": "the network"})

    def check(self, place: str = "") -> None:
        """Also check that the width of nodes can be divided among the attention heads, and the number of hops."""
        super().check(place)
        hidden, heads, limits = self.network.hidden, self.network.heads, self.network.limits
        if hidden % heads:
            raise InputError(f"{place}network.hidden is {hidden}; it must be a multiple of network.heads, {heads}")
        if len(limits) > 3:
            raise InputError(f"{place}network.limits has {len(limits)} numbers; it must have at most three")


@dataclass(frozen=True)
class JudgementRecipe(Recipe):
    """Settings of ``train judgement``."""

    histories: int = setting(1_000, "largest number of histories of each corpus", low=1)
    false: int = setting(3, "false responses to each history, of different kinds", low=1, high=6)
    dtype: str = setting("bfloat16", "precision of the language model", choices=("float32", "bfloat16", "float16"))
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: int = setting(0, "of the places, the kinds and the false responses", **_SEED)


@dataclass(frozen=True)
class ChoiceProbeRecipe(Recipe):
    """Settings of ``train choice-probe``."""

    dtype: str = setting("bfloat16", "precision of the language model", choices=("float32", "bfloat16", "float16"))
    licence: str | None = setting(None, "licence of the data, for the card")
    seed: int = setting(0, "of the folds", **_SEED)


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

    responses: int = setting(2_500, "number of true responses, and of random ones", low=100)
    held_out: bool = setting(False, "draw from the tenth that train coherence holds out with the same files and seed")
    batch_size: int | None = setting(None, "responses scored together; else as the metric prefers", low=1)
    licence: str | None = setting(None, "licence of the dialogues, for the reference")
    seed: int = setting(0, "of the sample", **_SEED)


RECIPES: dict[str, dict[str, Recipe]] = {
    "accent": {"default": ExtractorRecipe()},
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
    "language-model": {"default": LanguageModelRecipe()},
    "reference": {"default": ReferenceRecipe()},
    "responder": {"default": ResponderRecipe()},
    "retriever": {"default": RetrieverRecipe()},
}
"""The recipes that ship, by command and name; the first of a command is its default."""

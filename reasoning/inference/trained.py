"""Models that ``tacit train cicero`` trained: they write answers to the five questions, or choose among given ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from ...graph.questions import Instance, Question
from ..models.cross_encoder import tokens_of, with_new_head
from ..models.hub import ModelFiles, find_model, is_seq2seq, need, open_config, open_model
from ..models.writers import CausalWriter, GenerationLimits, Seq2SeqWriter, open_writer
from .inputs import Fits, choice_input, question_input, written_choices

RECORD = "cicero.json"
"""File of a trained model's folder that says what it does."""

BEAMS = 5
SHORTEST, LONGEST = 6, 20
CHOICES_LONGEST = 256
_BATCH = 8
_ANSWER = "\nanswer:"  # a causal model needs to know where its input ends

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """What a trained model does."""

    task: str  # `generate` or `choose`
    kind: str  # `seq2seq`, `causal` or `encoder`
    answers: str  # for `choose`: `single` or `all` right choices
    source: int  # longest input in tokens

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"


class ScoringEncoder:
    """An encoder with one output, which reads a question with each choice."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return one number for each pair of question and choice, as a torch vector with gradient."""
        return self.model(**tokens_of(self.tokenizer, self.model, pairs)).logits[:, 0]


Opened = Seq2SeqWriter | CausalWriter | ScoringEncoder


class TrainedModel:
    """An open model of ``tacit train cicero``; see :func:`open_trained`."""

    def __init__(self, files: ModelFiles, record: Record, opened: Opened) -> None:
        self.files = files
        self.record = record
        self.opened = opened
        self.fits = fits_in(opened.tokenizer, record.source)
        scores = isinstance(opened, ScoringEncoder)
        self.features: tuple[str, ...] = ("score",) if scores else ("likely", "written")[: 1 + (record.task == "choose")]

    @property
    def signature(self) -> str:
        return f"trained-2({self.record.task}:{self.files.signature})"

    def answer(self, asked: Sequence[tuple[Question, str, Sequence[str]]]) -> list[str]:
        """Return an answer to each question about a target turn of a dialogue."""
        return self.write([question_input(question, target, turns, fits=self.fits) for question, target, turns in asked])

    def write(self, sources: Sequence[str]) -> list[str]:
        """Return what the model writes for inputs of :mod:`.inputs`: 5 beams, 6 to 20 tokens, no repeated bigram."""
        self.check_task("generate")
        return self._written(sources)

    def check_task(self, task: str) -> None:
        """Raise :class:`ModelError` unless the model was trained for the task."""
        if self.record.task != task:
            raise ModelError(
                f"the model {self.files.requested!r} was trained to {self.record.task}; give one of "
                f"tacit train cicero --task {task}"
            )

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the features of each choice, shape (choices, features).

        ``score``: an encoder's output. ``likely``: minus the nats per token of the choice. ``written``: 1 for choices that a
        model of the task ``choose`` wrote, else 0.
        """
        return [self._measure(instance) for instance in instances]

    def _measure(self, instance: Instance) -> Matrix:
        torch = need("torch", "neural")
        plain = question_input(instance.question, instance.target, instance.dialogue, fits=self.fits)
        if isinstance(self.opened, ScoringEncoder):
            with torch.inference_mode():
                logits: Matrix = self.opened.logits([(plain, choice) for choice in instance.choices]).double().cpu().numpy()
            return logits[:, None]
        chooses = self.record.task == "choose"
        source = choice_input(instance, fits=self.fits) if chooses else plain
        prompts = [prompt_for(self.opened, source)] * len(instance.choices)
        columns = [-self.opened.losses(prompts, list(instance.choices))]
        if chooses:
            taken = written_choices(self._written([source])[0], instance.choices)
            columns.append(np.array([float(index in taken) for index in range(len(instance.choices))]))
        return np.stack(columns, axis=1)

    def _written(self, sources: Sequence[str]) -> list[str]:
        assert not isinstance(self.opened, ScoringEncoder)
        prompts = [prompt_for(self.opened, source) for source in sources]
        order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
        texts = [""] * len(prompts)
        for start in range(0, len(order), _BATCH):
            indices = order[start : start + _BATCH]
            written = self.opened.write([prompts[index] for index in indices], BEAMS)[0][::BEAMS]
            for index, text in zip(indices, written, strict=True):
                texts[index] = text.strip()
        return texts


def prompt_for(opened: Opened, source: str) -> str:
    """Return the input of a model: for a causal one with a line after which its answer begins."""
    return source + _ANSWER if isinstance(opened, CausalWriter) else source


def fits_in(tokenizer: Any, limit: int) -> Fits:
    """Return whether a text has at most so many tokens, and room for the choice or the line that follows."""

    def fits(text: str) -> bool:
        return len(tokenizer(text, verbose=False)["input_ids"]) <= limit

    return fits


def kind_of(files: ModelFiles) -> str:
    """Return ``seq2seq``, ``causal`` or ``encoder``, by a model's configuration."""
    if files.gguf is not None:
        return "causal"
    if is_seq2seq(files):
        return "seq2seq"
    names = getattr(open_config(files), "architectures", None) or ()
    return "causal" if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names) else "encoder"


def open_for(files: ModelFiles, record: Record, *, device: str | None = None, seed: int | None = None) -> Opened:
    """Open a model for a task; a ``seed`` gives an encoder a new output, with random weights."""
    if record.kind == "encoder":
        if seed is not None:
            return ScoringEncoder(*with_new_head(files, 1, device, seed))
        return ScoringEncoder(*open_model("AutoModelForSequenceClassification", files, device=device, dtype="float32"))
    if record.task == "generate":
        return open_writer(files, device=device, limits=GenerationLimits(record.source + 8, SHORTEST, LONGEST))
    # Right choices often share bigrams with each other, so a model that chooses must be free to repeat them.
    return open_writer(files, device=device, limits=GenerationLimits(record.source + 8, 1, CHOICES_LONGEST, no_repeat=0))


def open_trained(model: str | Path, *, device: str | None = None) -> TrainedModel:
    """Open a folder that ``tacit train cicero`` wrote."""
    files = find_model(model)
    try:
        data = json.loads((files.folder / RECORD).read_text(encoding="utf-8"))
        record = Record(**{name: data[name] for name in Record.__annotations__})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the model {files.requested!r} has no {RECORD} of tacit train cicero; give a folder that it wrote"
        ) from error
    return TrainedModel(files, record, open_for(files, record, device=device))


def is_trained(model: Any) -> bool:
    """Return whether ``model`` is the folder of a model of ``tacit train cicero``, or one that is open."""
    if isinstance(model, TrainedModel):
        return True
    return isinstance(model, (str, Path)) and (Path(model).expanduser() / RECORD).is_file()

"""Training the metric ``coherence`` on dialogues: counting associations, training the selection head,
weighing the parts.

A tenth of the dialogues is held out of counting and of the head; on these the parts are weighed
(:mod:`tacit.reasoning.training.weighing`). A head tells the responses of its own corpora from others better than those of corpora
that it has not seen, and a metric is asked about both: so where there are several corpora, half of the weighing is done, by
default, with parts that were trained without the corpus that they are asked about.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coherence.association import Association
from ..coherence.checkpoint import ASSOCIATIONS, EXPECTATION, FORMAT, HEAD, HEADER, VERSION
from ..coherence.expectation import Expectation
from ..coherence.graph import AssociationGraph, graph_files, write_graph
from ..coherence.head import load_head
from ..coherence.parts import Part
from ..coherence.repetition import Repetition
from ..coherence.selection import Selection
from ..coherence.similarity import Similarity
from ..encoder import TextEncoder
from ..likelihood import CausalModel
from .associations import count_associations
from .coherence_settings import FOR_SAME, Settings
from .corpora import Dialogue, hold_out
from .selection import train_head
from .weighing import Measured, areas, contrasts, measure, weigh

#: Told the name of the step at hand, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], object]

_CHUNK = 1_024


def _silent(step: str, done: int, total: int) -> None:
    """Tell nobody."""


def train_coherence(
    corpora: Mapping[str, Sequence[Dialogue]],
    encoder: TextEncoder,
    folder: Path,
    *,
    encoder_id: str | None = None,
    learning_encoder: TextEncoder | None = None,
    language_model: CausalModel | None = None,
    language_model_id: str | None = None,
    seed: int = 0,
    settings: Settings | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Train and write a checkpoint into ``folder``, which exists and is empty; return its header.

    Args:
        corpora: distinct dialogues of two turns or more; see :func:`tacit.reasoning.training.corpora.distinct_dialogues`.
        encoder_id: what the encoder is opened by, None for the default one.
        settings: by default :data:`FOR_SAME`, as the command has it.
        learning_encoder: the same model in lower precision, for the turns that the head learns from.
        language_model: with it, expectation is a part too; see :func:`tacit.reasoning.coherence.expectation.open_language_model`.
        language_model_id: the id of the hub that it is opened by; without one, whoever scores has to name it.
        seed: of the head's weights, of order and of choices.
        facts: what the header is to say of the data.

    Raises:
        InputError: a corpus has too few dialogues to hold some out.
    """
    settings = settings or FOR_SAME
    random = np.random.default_rng(seed)
    expectation = {EXPECTATION: Expectation(language_model)} if language_model else {}
    splits = hold_out(corpora, random)
    learnt = {name: split.learnt for name, split in splits.items()}
    turns = _Turns(learnt, learning_encoder or encoder, settings.max_pairs, random, progress)
    trainer = _Trainer(turns, encoder, expectation, seed, settings, progress)
    parts, sums = trainer.parts(list(splits), folder, "")
    most = max(2, settings.heard // len(splits)) if expectation else None
    held = {name: _spread(split.held, most) for name, split in splits.items()}
    asked = {name: contrasts(dialogues, settings.copies, random) for name, dialogues in held.items()}

    told = _counted(progress, "weighing the parts", sum(len(found.items) for found in asked.values()))
    near = [measure(found, parts, 1 / len(asked), told) for found in asked.values()]
    far: list[Measured] = []
    for name, found in asked.items() if settings.elsewhere and len(asked) > 1 else ():
        with tempfile.TemporaryDirectory() as scratch:
            others, _ = trainer.parts([other for other in splits if other != name], Path(scratch), f" without {name}")
            said = {part: near[len(far)].of(part) for part in expectation}
            told = _counted(progress, f"weighing the parts without {name}", len(found.items))
            far.append(measure(found, others, 1 / len(asked), told, said))
    counts = {name: {"learnt from": _sizes(split.learnt), "weighed on": _sizes(held[name])} for name, split in splits.items()}
    graph = AssociationGraph(folder / ASSOCIATIONS, counted=settings.average)
    header = {
        "format": FORMAT, "version": VERSION, "files": sums,
        "encoder": {"id": encoder_id, "signature": dict(parts["selection"].depends)["encoder"]},
        "weights": weigh([*near, *far]),
        "facts": {
            **(facts or {}), "seed": seed, "settings": asdict(settings), "corpora": counts, "terms": len(graph),
            "edges": graph.edges, "contrasts": sum(len(found.items) for found in asked.values()), "areas": areas(near),
            "areas of parts trained without the corpus": areas(far) if far else None,
        },
    }  # fmt: skip
    if language_model:
        files = language_model.files
        header["language_model"] = {"id": language_model_id, "name": files.name, "digest": files.digest}
    (folder / HEADER).write_text(json.dumps(header, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return header


class _Turns:
    """The turns that heads learn from: pooled vectors in half precision, and the pairs of each corpus as rows of them."""

    def __init__(
        self,
        learnt: Mapping[str, Sequence[Dialogue]],
        encoder: TextEncoder,
        most: int,
        random: np.random.Generator,
        progress: Progress,
    ) -> None:
        self.learnt = learnt
        of = [(name, turns) for name, dialogues in learnt.items() for turns in dialogues]
        places = [(dialogue, number) for dialogue, (_, turns) in enumerate(of) for number in range(1, len(turns))]
        if len(places) > most:
            places = [places[place] for place in np.sort(random.choice(len(places), most, replace=False)).tolist()]
        texts: dict[str, int] = {}
        rows: dict[str, list[tuple[int, int, int]]] = {name: [] for name in learnt}
        for dialogue, number in places:
            name, turns = of[dialogue]
            before = texts.setdefault(turns[number - 2], len(texts)) if number > 1 else -1
            last, response = (texts.setdefault(turns[place], len(texts)) for place in (number - 1, number))
            rows[name].append((last, before, response))
        self.texts = list(texts)
        self.rows = {name: np.array(found, dtype=np.int64).reshape(-1, 3) for name, found in rows.items()}
        self.vectors = encoded(self.texts, encoder, progress)


class _Trainer:
    """Trains the parts on some of the corpora."""

    def __init__(
        self,
        turns: _Turns,
        encoder: TextEncoder,
        given: Mapping[str, Part],
        seed: int,
        settings: Settings,
        progress: Progress,
    ) -> None:
        """Train with ``settings``; the parts ``given`` are what they are, whatever is learnt."""
        self._turns, self._encoder, self._given = turns, encoder, given
        self._seed, self._settings, self._progress = seed, settings, progress

    def parts(self, names: Sequence[str], folder: Path, label: str) -> tuple[dict[str, Part], dict[str, str]]:
        """Train on the corpora ``names``, write what was learnt into ``folder``; return the parts, and its files' sha256."""
        settings = self._settings
        pairs = [pair for name in names for turns in self._turns.learnt[name] for pair in pairwise(turns)]
        counted = count_associations(
            pairs, terms=settings.terms, edges=settings.edges, average=settings.average,
            progress=lambda done, total: self._progress("counting" + label, done, total),
        )  # fmt: skip
        (folder / ASSOCIATIONS).mkdir()
        write_graph(folder / ASSOCIATIONS, counted.terms, counted.edges, counted.counts)
        graph = AssociationGraph(folder / ASSOCIATIONS, counted=settings.average)
        rows = np.concatenate([self._turns.rows[name] for name in names])
        head = train_head(
            self._turns.vectors, rows, seed=self._seed, settings=settings.head,
            progress=lambda done, total: self._progress("training the head" + label, done, total),
        )  # fmt: skip
        files = [HEAD, *(f"{ASSOCIATIONS}/{name}" for name in graph_files(settings.average))]
        (folder / HEAD).write_bytes(head.to_bytes())
        kept = load_head(folder / HEAD)  # with the numbers that half precision leaves
        parts: dict[str, Part] = {
            "similarity": Similarity(self._encoder), "association": Association(graph, ""),
            "selection": Selection(self._encoder, kept, ""), "repetition": Repetition(), **self._given,
        }  # fmt: skip
        return parts, {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}


def encoded(texts: Sequence[str], encoder: TextEncoder, progress: Progress = _silent) -> NDArray[np.float16]:
    """Return pooled vectors in half precision, shape (texts, 3 * width).

    Texts of like length go together, so that little is padding; long and short come mixed, so that the time left can be told.
    """
    order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    vectors = np.empty((len(texts), 3 * encoder.width), dtype=np.float16)
    told = _counted(progress, "encoding", len(texts))
    for start in (_CHUNK * np.random.default_rng(0).permutation(-(-len(order) // _CHUNK))).tolist():
        places = order[start : start + _CHUNK]
        vectors[places] = encoder.pooled([texts[place] for place in places], keep=False, progress=told)
    return vectors


def _counted(progress: Progress, step: str, total: int) -> Callable[[int], None]:
    """Return what is told how many more are done, and passes on how many that makes of ``total``."""
    done = 0

    def told(number: int) -> None:
        nonlocal done
        done += number
        progress(step, done, total)

    return told


def _spread(dialogues: Sequence[Dialogue], most: int | None) -> Sequence[Dialogue]:
    """``most`` of the dialogues, evenly spread; all where there are no more."""
    if most is None or len(dialogues) <= most:
        return dialogues
    return [dialogues[place * len(dialogues) // most] for place in range(most)]


def _sizes(dialogues: Sequence[Dialogue]) -> dict[str, int]:
    return {"dialogues": len(dialogues), "pairs": sum(len(turns) - 1 for turns in dialogues)}

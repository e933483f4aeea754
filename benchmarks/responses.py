"""Whether commonsense in training data makes better responses: the experiment of Zhou et al. (SIGDIAL 2021), with controls.

    python benchmarks/responses.py GRAPH DATA_DIR --model ID|FOLDER|GGUF [--encoder ID] [--seeds N] [--steps N] [--test N]

One responder is trained for each set of dialogues and seed, all with the same number of steps, and responds to the test dialogues
of Commonsense-Dialogues, one turn each. The sets: DailyDialog, EmpatheticDialogues, Topical-Chat; ``filtered``, the dialogues of
the three that ``tacit filter`` keeps; with Commonsense-Dialogues (``+cd``), or what the filter keeps of it (``+filtered cd``).
The controls have random dialogues of the same corpora in place of the filtered ones: as many (``size``), as many words
(``tokens``), or as many of each corpus and length in words, in bins of 20 (``matched``). ``none`` is the model before training,
``human`` and ``shuffled`` are the human responses, and those of other histories. Of Topical-Chat and Commonsense-Dialogues the
validation parts are trained on. No training set shares turns with the test. ``coherence`` does not read the graph that the filter
reads; metrics that do would favour it. With --judge FILE.gguf, accent with llm-probe judges too. "prefers" is the share of
histories at which a metric puts the response above the human one, equal ones counted half. Figures are means over the seeds with
their range. Trained models are deleted, since the corpora's licences forbid to pass them on.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tacit.graph import open_graph
from tacit.loaders import Dialogue, read_dialogues
from tacit.reasoning import load_metric
from tacit.reasoning.evaluation.generation import distinct_n, meteor, rouge_l
from tacit.reasoning.filtering import TripleFilter
from tacit.reasoning.response import Responder, open_responder
from tacit.reasoning.response.responder import Turn
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.training.corpora import distinct_dialogues
from tacit.reasoning.training.recipe import ResponderRecipe
from tacit.reasoning.training.responder import train_responder

Turns = tuple[str, ...]
CORPORA = {
    "dailydialog": ("dailydialog-train",),
    "empatheticdialogues": ("empatheticdialogues-train",),
    "topical-chat": ("topical-chat-valid-freq", "topical-chat-valid-rare"),
    "commonsense-dialogues": ("commonsense-dialogues-valid",),
}
THREE = ("dailydialog", "empatheticdialogues", "topical-chat")
CD = "commonsense-dialogues"
LENGTHS = 20
COLUMNS = ("perplexity", "METEOR", "ROUGE-L", "BERTScore", "distinct-1", "distinct-2", "words")


@dataclass
class Test:
    """What responses are compared with: the metrics, opened once, the human turns, and each metric's scores of these.

    Attributes:
        judges: by name; bertscore: None without an encoder.
    """

    turns: Sequence[Turn]
    judges: dict[str, Any]
    bertscore: Any

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the figures."""
        return (*COLUMNS, *(f"{name}{end}" for name in self.judges for end in ("", " prefers")))

    @cached_property
    def human(self) -> dict[str, list[float]]:
        """Each judge's scores of the human responses."""
        return {name: self.scores(name, [turn.text for turn in self.turns]) for name in self.judges}

    def scores(self, judge: str, texts: Sequence[str]) -> list[float]:
        """Return a judge's score of each response; NaN where it cannot judge."""
        items = [(turn.history, text) for text, turn in zip(texts, self.turns, strict=True)]
        return [score.value for score in self.judges[judge].score_batch(items)]

    def figures(self, texts: Sequence[str], perplexity: float) -> list[float]:
        """Return the figures of responses, in the order of the columns."""
        pairs = [(text, [turn.text]) for text, turn in zip(texts, self.turns, strict=True)]
        bert = float("nan")
        if self.bertscore is not None:
            items = [(turn.history, text, [turn.text]) for text, turn in zip(texts, self.turns, strict=True)]
            bert = mean([score.value for score in self.bertscore.score_batch(items)])
        values = [
            perplexity, meteor(pairs), rouge_l(pairs), bert, distinct_n(pairs, 1), distinct_n(pairs, 2),
            mean([len(text.split()) for text in texts]),
        ]  # fmt: skip
        for name, human in self.human.items():
            scores = self.scores(name, texts)
            values += [mean(scores), preference(scores, human)]
        return values

    def of(self, responder: Responder) -> list[float]:
        """Return the figures of a model."""
        texts = [text for (text,) in responder.respond([turn.history for turn in self.turns])]
        return self.figures(texts, responder.perplexity(self.turns).value)


def preference(scores: Sequence[float], others: Sequence[float]) -> float:
    """Return the share of places, without NaN, at which ``scores`` is above ``others``, equal ones counted half."""
    first, second = np.array(scores), np.array(others)
    defined = ~np.isnan(first) & ~np.isnan(second)
    return float(np.mean((first > second)[defined] + 0.5 * (first == second)[defined])) if defined.any() else np.nan


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN without any."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def read(folder: Path, names: Sequence[str], limit: int | None, random: np.random.Generator) -> list[Turns]:
    """Return the dialogues of files, or a random ``most`` of them."""
    dialogues = [
        row.turns for name in names for row in read_dialogues(folder / f"{name}.jsonl.gz")
        if isinstance(row, Dialogue) and len(row.turns) > 1
    ]  # fmt: skip
    if limit is None or len(dialogues) <= limit:
        return dialogues
    return [dialogues[index] for index in sorted(random.permutation(len(dialogues))[:limit].tolist())]


def words_in(dialogues: Sequence[Turns]) -> int:
    """Return the number of words."""
    return sum(len(turn.split()) for turns in dialogues for turn in turns)


def drawn(
    pool: Sequence[Turns], random: np.random.Generator, *, size: int | None = None, words: int | None = None
) -> list[Turns]:
    """Return random dialogues of ``pool``: ``size`` of them, or with about ``words`` words."""
    shuffled = [pool[index] for index in random.permutation(len(pool)).tolist()]
    if size is not None:
        return shuffled[:size]
    lengths = np.cumsum([words_in([turns]) for turns in shuffled])
    return shuffled[: int(np.searchsorted(lengths, words or 0)) + 1]


def matched(pool: Sequence[Turns], like: Sequence[Turns], random: np.random.Generator) -> list[Turns]:
    """Return random dialogues of ``pool``, as many of each length in words, in bins of 20, as ``by`` has, which is part of it."""
    remaining = Counter(words_in([turns]) // LENGTHS for turns in like)
    result = []
    for turns in drawn(pool, random, size=len(pool)):
        length = words_in([turns]) // LENGTHS
        if remaining[length]:
            remaining[length] -= 1
            result.append(turns)
    return result


def training_sets(
    dialogues: dict[str, list[Turns]], filtered_by_corpus: dict[str, list[Turns]], seed: int
) -> dict[str, list[Turns]]:
    """Return the training sets by name.

    Args:
        dialogues: of each corpus; filtered_by_corpus: those of them that the filter keeps.
    """
    pool = [turns for name in THREE for turns in dialogues[name]]
    filtered = [turns for name in THREE for turns in filtered_by_corpus[name]]
    sets = {name: dialogues[name] for name in THREE} | {"filtered": filtered}
    sets |= {"filtered +cd": [*filtered, *dialogues[CD]], "filtered +filtered cd": [*filtered, *filtered_by_corpus[CD]]}
    for kind in ("size", "tokens", "matched"):
        random = np.random.default_rng([seed, 2])
        if kind == "matched":
            three = [turns for name in THREE for turns in matched(dialogues[name], filtered_by_corpus[name], random)]
            cd = matched(dialogues[CD], filtered_by_corpus[CD], random)
        elif kind == "size":
            three, cd = drawn(pool, random, size=len(filtered)), drawn(dialogues[CD], random, size=len(filtered_by_corpus[CD]))
        else:
            three, cd = (
                drawn(candidates, random, words=words_in(like))
                for candidates, like in ((pool, filtered), (dialogues[CD], filtered_by_corpus[CD]))
            )
        sets |= {f"random, {kind}": three, f"random, {kind} +cd": [*three, *dialogues[CD]]}
        sets[f"random, {kind} +random cd"] = [*three, *cd]
    return sets


def line(name: str, dialogues: str, figures: Sequence[Sequence[float]]) -> str:
    """Return one line of the table: means over the seeds, and ranges where there are several."""
    cells = []
    for column, (middle, low, high) in enumerate(zip(np.mean(figures, 0), np.min(figures, 0), np.max(figures, 0), strict=True)):
        digits = {"perplexity": 2, "words": 1}.get((*COLUMNS, *[""] * len(figures[0]))[column], 3)
        span = f" ({low:.{digits}f} to {high:.{digits}f})" if len(figures) > 1 else ""
        cells.append("–" if np.isnan(middle) else f"{middle:.{digits}f}{span}")
    return f"| {name} | {dialogues} | {' | '.join(cells)} |"


def main() -> None:
    """Train, respond and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--encoder", help="encoder of BERTScore: an ID or folder")
    parser.add_argument("--judge", help="the model of accent's llm-probe, which judges beside coherence")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--layers", type=int, help="trained layers; by default two in five")
    parser.add_argument("--rate", type=float, default=6.25e-5)
    parser.add_argument("--longest", type=int, default=128, help="most tokens of a history with its response")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"))
    parser.add_argument("--pool", type=int, help="dialogues of each corpus, at random; else all")
    parser.add_argument("--test", type=int, default=200, help="test dialogues")
    parser.add_argument("--sets", nargs="*", help="only these training sets")
    arguments = parser.parse_args()
    folder = arguments.data / "dialogues"
    tests = read(folder, ["commonsense-dialogues-test"], arguments.test, np.random.default_rng(0))
    random = np.random.default_rng(1)
    turns = []
    for dialogue in tests:
        index = int(random.integers(1, len(dialogue)))
        turns.append(Turn(dialogue[:index], dialogue[index]))
    dialogues, left_out = distinct_dialogues(
        {name: read(folder, files, arguments.pool, random) for name, files in CORPORA.items()},
        [turn for dialogue in tests for turn in dialogue],
    )
    with open_graph(arguments.graph) as graph:
        triple_filter = TripleFilter(graph, load_pipeline())
        print(f"{triple_filter.signature}; left out: {left_out}")
        filtered = {
            name: [turns for turns, matches in zip(of_corpus, triple_filter.matches(of_corpus), strict=True) if matches]
            for name, of_corpus in dialogues.items()
        }
        judges = {"coherence": load_metric("coherence")}
        if arguments.judge:
            judges["accent"] = load_metric("accent", graph, scorer="llm-probe", model=arguments.judge)
        test = Test(turns, judges, load_metric("bertscore", encoder=arguments.encoder) if arguments.encoder else None)
        compare(test, dialogues, filtered, arguments)


def compare(
    test: Test, dialogues_by_corpus: dict[str, list[Turns]], filtered: dict[str, list[Turns]], arguments: argparse.Namespace
) -> None:
    """Train on each set, and print the table."""
    for metric in (*test.judges.values(), *([test.bertscore] if test.bertscore else [])):
        print(metric.signature)
    setting = f"{arguments.steps} steps of {arguments.batch}, {arguments.seeds} seeds; {Path(arguments.model).name}"
    print(f"{len(test.turns)} test turns, {setting}")
    print(f"\n| trained on | dialogues, words | {' | '.join(test.columns)} |\n|{'---|' * (len(test.columns) + 2)}", flush=True)
    references, nan = [turn.text for turn in test.turns], float("nan")
    print(line("human", "", [test.figures(references, nan)]))
    print(line("shuffled", "", [test.figures([*references[1:], references[0]], nan)]), flush=True)
    print(line("none", "0", [test.of(open_responder(arguments.model))]), flush=True)
    names = arguments.sets or list(training_sets(dialogues_by_corpus, filtered, 0))
    for name in names:
        started, figures, sizes = time.perf_counter(), [], ""
        for seed in range(arguments.seeds):
            dialogues = training_sets(dialogues_by_corpus, filtered, seed)[name]
            sizes = f"{len(dialogues):,}, {words_in(dialogues):,}"
            recipe = ResponderRecipe(
                steps=arguments.steps, batch_size=arguments.batch, seed=seed, checkpoint_every=0, evaluation_turns=1,
                layers=arguments.layers,
                rate=arguments.rate, longest=arguments.longest, dtype=arguments.dtype,
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as temporary:
                train_responder({"set": dialogues}, arguments.model, Path(temporary) / "responder", recipe)
                responder = open_responder(Path(temporary) / "responder", seed=seed)
                figures.append(test.of(responder))
        print(f"{line(name, sizes, figures)} <!-- {time.perf_counter() - started:,.0f} s -->", flush=True)


if __name__ == "__main__":
    main()

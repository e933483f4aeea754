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
        found = [
            perplexity, meteor(pairs), rouge_l(pairs), bert, distinct_n(pairs, 1), distinct_n(pairs, 2),
            mean([len(text.split()) for text in texts]),
        ]  # fmt: skip
        for name, human in self.human.items():
            scores = self.scores(name, texts)
            found += [mean(scores), preference(scores, human)]
        return found

    def of(self, responder: Responder) -> list[float]:
        """Return the figures of a model."""
        texts = [one for (one,) in responder.respond([turn.history for turn in self.turns])]
        return self.figures(texts, responder.perplexity(self.turns).value)


def preference(scores: Sequence[float], others: Sequence[float]) -> float:
    """Return the share of places, without NaN, at which ``scores`` is above ``others``, equal ones counted half."""
    one, other = np.array(scores), np.array(others)
    known = ~np.isnan(one) & ~np.isnan(other)
    return float(np.mean((one > other)[known] + 0.5 * (one == other)[known])) if known.any() else np.nan


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN without any."""
    found = [value for value in values if not np.isnan(value)]
    return float(np.mean(found)) if found else float("nan")


def read(folder: Path, names: Sequence[str], most: int | None, random: np.random.Generator) -> list[Turns]:
    """Return the dialogues of files, or a random ``most`` of them."""
    found = [
        row.turns for name in names for row in read_dialogues(folder / f"{name}.jsonl.gz")
        if isinstance(row, Dialogue) and len(row.turns) > 1
    ]  # fmt: skip
    if most is None or len(found) <= most:
        return found
    return [found[place] for place in sorted(random.permutation(len(found))[:most].tolist())]


def words_in(dialogues: Sequence[Turns]) -> int:
    """Return the number of words."""
    return sum(len(turn.split()) for turns in dialogues for turn in turns)


def drawn(
    pool: Sequence[Turns], random: np.random.Generator, *, size: int | None = None, words: int | None = None
) -> list[Turns]:
    """Return random dialogues of ``pool``: ``size`` of them, or with about ``words`` words."""
    shuffled = [pool[place] for place in random.permutation(len(pool)).tolist()]
    if size is not None:
        return shuffled[:size]
    lengths = np.cumsum([words_in([turns]) for turns in shuffled])
    return shuffled[: int(np.searchsorted(lengths, words or 0)) + 1]


def matched(pool: Sequence[Turns], by: Sequence[Turns], random: np.random.Generator) -> list[Turns]:
    """Return random dialogues of ``pool``, as many of each length in words, in bins of 20, as ``by`` has, which is part of it."""
    wanted = Counter(words_in([turns]) // LENGTHS for turns in by)
    found = []
    for turns in drawn(pool, random, size=len(pool)):
        length = words_in([turns]) // LENGTHS
        if wanted[length]:
            wanted[length] -= 1
            found.append(turns)
    return found


def training_sets(kept: dict[str, list[Turns]], chosen: dict[str, list[Turns]], seed: int) -> dict[str, list[Turns]]:
    """Return the training sets by name.

    Args:
        kept: the dialogues of each corpus; chosen: those that the filter keeps.
    """
    pool = [turns for name in THREE for turns in kept[name]]
    filtered = [turns for name in THREE for turns in chosen[name]]
    sets = {name: kept[name] for name in THREE} | {"filtered": filtered}
    sets |= {"filtered +cd": [*filtered, *kept[CD]], "filtered +filtered cd": [*filtered, *chosen[CD]]}
    for kind in ("size", "tokens", "matched"):
        random = np.random.default_rng([seed, 2])
        if kind == "matched":
            three = [turns for name in THREE for turns in matched(kept[name], chosen[name], random)]
            cd = matched(kept[CD], chosen[CD], random)
        elif kind == "size":
            three, cd = drawn(pool, random, size=len(filtered)), drawn(kept[CD], random, size=len(chosen[CD]))
        else:
            three, cd = (drawn(of, random, words=words_in(by)) for of, by in ((pool, filtered), (kept[CD], chosen[CD])))
        sets |= {f"random, {kind}": three, f"random, {kind} +cd": [*three, *kept[CD]]}
        sets[f"random, {kind} +random cd"] = [*three, *cd]
    return sets


def line(name: str, dialogues: str, found: Sequence[Sequence[float]]) -> str:
    """Return one line of the table: means over the seeds, and ranges where there are several."""
    cells = []
    for place, (middle, low, high) in enumerate(zip(np.mean(found, 0), np.min(found, 0), np.max(found, 0), strict=True)):
        digits = {"perplexity": 2, "words": 1}.get((*COLUMNS, *[""] * len(found[0]))[place], 3)
        span = f" ({low:.{digits}f} to {high:.{digits}f})" if len(found) > 1 else ""
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
    given = parser.parse_args()
    folder = given.data / "dialogues"
    tests = read(folder, ["commonsense-dialogues-test"], given.test, np.random.default_rng(0))
    random = np.random.default_rng(1)
    turns = []
    for one in tests:
        place = int(random.integers(1, len(one)))
        turns.append(Turn(one[:place], one[place]))
    kept, left = distinct_dialogues(
        {name: read(folder, files, given.pool, random) for name, files in CORPORA.items()},
        [turn for one in tests for turn in one],
    )
    with open_graph(given.graph) as graph:
        chosen_by = TripleFilter(graph, load_pipeline())
        print(f"{chosen_by.signature}; left out: {left}")
        chosen = {
            name: [turns for turns, matches in zip(some, chosen_by.matches(some), strict=True) if matches]
            for name, some in kept.items()
        }
        judges = {"coherence": load_metric("coherence")}
        if given.judge:
            judges["accent"] = load_metric("accent", graph, scorer="llm-probe", model=given.judge)
        test = Test(turns, judges, load_metric("bertscore", encoder=given.encoder) if given.encoder else None)
        compare(test, kept, chosen, given)


def compare(test: Test, kept: dict[str, list[Turns]], chosen: dict[str, list[Turns]], given: argparse.Namespace) -> None:
    """Train on each set, and print the table."""
    for metric in (*test.judges.values(), *([test.bertscore] if test.bertscore else [])):
        print(metric.signature)
    print(f"{len(test.turns)} test turns, {given.steps} steps of {given.batch}, {given.seeds} seeds; {Path(given.model).name}")
    print(f"\n| trained on | dialogues, words | {' | '.join(test.columns)} |\n|{'---|' * (len(test.columns) + 2)}", flush=True)
    references, nan = [turn.text for turn in test.turns], float("nan")
    print(line("human", "", [test.figures(references, nan)]))
    print(line("shuffled", "", [test.figures([*references[1:], references[0]], nan)]), flush=True)
    print(line("none", "0", [test.of(open_responder(given.model))]), flush=True)
    names = given.sets or list(training_sets(kept, chosen, 0))
    for name in names:
        started, found, sizes = time.perf_counter(), [], ""
        for seed in range(given.seeds):
            dialogues = training_sets(kept, chosen, seed)[name]
            sizes = f"{len(dialogues):,}, {words_in(dialogues):,}"
            recipe = ResponderRecipe(
                steps=given.steps, batch_size=given.batch, seed=seed, checkpoint_every=0, evaluation_turns=1, layers=given.layers,
                rate=given.rate, longest=given.longest, dtype=given.dtype,
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as place:
                train_responder({"set": dialogues}, given.model, Path(place) / "responder", recipe)
                responder = open_responder(Path(place) / "responder", seed=seed)
                found.append(test.of(responder))
        print(f"{line(name, sizes, found)} <!-- {time.perf_counter() - started:,.0f} s -->", flush=True)


if __name__ == "__main__":
    main()

"""Compiles the searches of the index and the resampling, and keeps the machine code on disk, as a program of its own.

:mod:`tests.conftest` starts it while the processes of ``pytest -n`` collect their tests, each of which would compile all of it.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tacit.graph.index import build_from_rows, open_index_directory, searches
from tacit.graph.model import Assertion
from tacit.reasoning.evaluation import resampling


def main() -> None:
    """Ask every kind of question once."""
    searches.LOADING_SECONDS = searches.COMPILING_SECONDS = -1.0
    words = [f"/c/en/{word}" for word in "abcd"]
    rows = [Assertion(first, "IsA", second) for first, second in pairwise(words)]
    with TemporaryDirectory() as folder, open_index_directory(build_from_rows(rows, Path(folder) / "index")) as index:
        index.hop_pairs(words, words, 3)
        index.hop_distances(words, words, 3)
        for hops in (1, 2):
            index.neighbours(words[0], hops)
            index.neighbours(words[0], hops, 4, ["IsA"])
            index.neighbours_of_ids(index.ids(words), hops, 4)
            index.triples_between(words, words, hops)
            index.count_triples_many([(words, words)], hops)
        index.paths(words[0], words[3])
    numbers = np.random.default_rng(0).random(20)
    resampling.correlations(numbers, numbers[::-1].copy(), resamples=10)
    resampling.lines(numbers, numbers[::-1].copy(), resamples=10)


if __name__ == "__main__":
    main()

"""When the index uses NumPy searches and when compiled ones, and the message while functions are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tacit.graph import compiling
from tacit.graph.index import IndexGraph, build_from_rows, open_index_directory
from tacit.graph.index.compiled_searches import CompiledSearches
from tacit.graph.index.numpy_searches import NumpySearches
from tacit.graph.model import Assertion

ROWS = [
    Assertion("/c/en/dog", "IsA", "/c/en/animal", 2.0),
    Assertion("/c/en/cat", "IsA", "/c/en/animal", 1.0),
    Assertion("/c/en/dog", "Desires", "/c/en/bone", 1.0),
]


@pytest.fixture
def index(tmp_path: Path) -> IndexGraph:
    return open_index_directory(build_from_rows(ROWS, tmp_path / "index"))


def _asked(index: IndexGraph) -> type:
    """Return the kind of searches that answer a query."""
    with index.searches.using(sources=10) as searches:
        return type(searches)


def test_first_queries_use_numpy(index: IndexGraph) -> None:
    program = """
import sys
from tacit.graph.index import open_index_directory
index = open_index_directory(sys.argv[1])
def answers():
    return (
        index.hop_distances(["dog", "cat"], ["bone", "animal"]).tolist(), index.hop_pairs(["/c/en/cat"], ["/c/en/bone"]).tolist(),
        index.neighbours("dog", 2), index.neighbours_of_ids(index.ids(["dog"])).tolist(), index.paths("cat", "bone"),
        index.count_triples(["dog", "cat"], ["dog", "cat"], 2), index.triples_between(["dog"], ["cat", "bone"], 2),
    )
plain = answers()
print("numba" in sys.modules)
index.searches.compile()
print("numba" in sys.modules, answers() == plain, plain[0], plain[1])
"""
    done = subprocess.run([sys.executable, "-c", program, str(index.directory)], check=True, capture_output=True, text=True)
    assert done.stdout == "False\nTrue True [[1, 1], [3, 1]] [3]\n"


@pytest.mark.parametrize(
    ("spent", "announced", "kind"),
    [
        (0.0, True, NumpySearches), (0.6, True, CompiledSearches), (0.6, False, NumpySearches), (5.1, False, CompiledSearches),
    ],
)  # fmt: skip
def test_compiled_searches_replace_numpy_after_their_start_up_time(
    spent: float, announced: bool, kind: type, index: IndexGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.graph.index.compiled_searches.kept_on_disk", lambda: announced)
    assert _asked(index) is NumpySearches
    index.searches._spent = spent
    assert _asked(index) is kind
    assert index.hop_distances(["dog"], ["cat"]).tolist() == [[2]]


def test_a_large_query_is_compiled_at_once(index: IndexGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.graph.index.compiled_searches.kept_on_disk", lambda: True)
    assert index.hop_pairs(["/c/en/dog"] * 10_000, ["/c/en/cat"] * 10_000).tolist() == [2] * 10_000
    assert _asked(index) is CompiledSearches


def test_other_threads_continue_during_compilation(index: IndexGraph) -> None:
    index.searches._spent = 100.0
    with index.searches._switching:
        assert _asked(index) is NumpySearches
    assert _asked(index) is CompiledSearches


def test_compiling_is_announced_once_and_its_result_kept(tmp_path: Path) -> None:
    module = tmp_path / "searching.py"
    module.write_text(
        "from tacit.graph import compiling\ncompiling.ANNOUNCED_AFTER = -1.0\n"
        "@compiling.compiled\ndef one(x):\n    return x + 1\n"
        "@compiling.compiled\ndef two(x):\n    return one(x) + 1\n"
        "print(two(1))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for delay in (1, 0):
        done = subprocess.run([sys.executable, str(module)], check=True, capture_output=True, text=True, env=environment)
        assert done.stdout == "3\n"
        assert done.stderr.count("tacit: compiling searches for this processor") == delay
        assert done.stderr.count("\n") == delay


def test_without_a_writable_cache_searches_are_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = compiling.njit  # type: ignore[attr-defined]

    def refusing(**options: bool) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)  # type: ignore[call-overload]

    monkeypatch.setattr(compiling, "njit", refusing)
    assert compiling.compiled(lambda x: x + 1)(1) == 2

"""Selection by pattern: against a comparison of every assertion with the pattern, in small and in large blocks, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph import Assertion, Pattern
from tacit.graph.errors import InputError
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.index import patterns as selecting
from tacit.graph.index.graph import IndexGraph

from tests.graph.backends import opened
from tests.graph.example_rows import ANIMAL, BONE, CAT, DOG, MEAT, SMALL

_URIS = [
    "/c/en/dog", "/c/en/do", "/c/en/dog_house", "/c/de/hund", "/c/en/犬", "/c/en/ß", "/c/e/x", "/c/en/a0", "http://example.org/dog",
]  # fmt: skip
_SENSES = ["", "n", "n/wn/animal", "v", "no"]

rows = st.builds(
    Assertion,
    head=st.sampled_from(_URIS),
    relation=st.sampled_from(["IsA", "UsedFor", "RelatedTo"]),
    tail=st.sampled_from(_URIS),
    weight=st.sampled_from([0.5, 1.0, 2.0]),
    source=st.sampled_from(["conceptnet", "rdf"]),
    dataset=st.sampled_from(["", "/d/one", "/d/one/en", "/d/onetwo", "two.csv"]),
    license=st.just("cc0"),
    contributors=st.sampled_from(["", "/s/a", "/s/a/b | /s/c", "/s/ab"]),
    head_sense=st.sampled_from(_SENSES),
    tail_sense=st.sampled_from(_SENSES),
    rank=st.none(),
    score=st.none(),
)
uris = st.none() | st.sampled_from(
    [*_URIS, "/c/en", "/c/de", "/c/e", "/c", "/c/en/dog/n", "/c/en/dog/n/wn", "/c/en/do/v", "/c/nl", "/c/en/cat", "dog", ""]
)
patterns = st.builds(
    Pattern,
    start=uris,
    end=uris,
    node=uris,
    other=uris,
    relations=st.none() | st.frozensets(st.sampled_from(["IsA", "UsedFor", "Nothing"])),
    dataset=st.none() | st.sampled_from(["/d/one", "/d/one/en", "/d/two.csv", "/d/rdf", "/d", "/d/none", ""]),
    contributor=st.none() | st.sampled_from(["/s/a", "/s/a/b", "/s/c", "/s/none", ""]),
)


def begins(uri: str, wanted: str) -> bool:
    """Whether the parts of ``wanted`` are the first parts of ``uri``."""
    parts = wanted.split("/")
    return bool(wanted) and uri.split("/")[: len(parts)] == parts


def fits(row: Assertion, pattern: Pattern) -> bool:
    """Whether an assertion matches, by its fields."""
    head, tail = "/".join(filter(None, (row.head, row.head_sense))), "/".join(filter(None, (row.tail, row.tail_sense)))
    dataset = row.dataset if row.dataset.startswith("/d/") else "/d/" + (row.dataset or row.source)

    def one(uri: str, wanted: str | None) -> bool:
        return wanted is None or begins(uri, wanted)

    return (
        one(head, pattern.start)
        and one(tail, pattern.end)
        and ((one(head, pattern.node) and one(tail, pattern.other)) or (one(tail, pattern.node) and one(head, pattern.other)))
        and (pattern.relations is None or row.relation in pattern.relations)
        and one(dataset, pattern.dataset)
        and (pattern.contributor is None or any(one(uri, pattern.contributor) for uri in row.contributors.split(" | ")))
    )


def expected(graph: list[Assertion], pattern: Pattern) -> list[Assertion]:
    """The assertions between two different concepts that match, each once, in order."""
    distinct = {row.fingerprint()[0]: row for row in reversed(graph) if row.head != row.tail}
    return sorted((row for row in distinct.values() if fits(row, pattern)), key=lambda row: row.order)


@pytest.mark.parametrize(("block", "sorted_at_once"), [(1 << 20, 10_000), (1, 0)], ids=["whole", "in blocks"])
def test_patterns_select_matching_assertions(block: int, sorted_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "_BLOCK", block)
    monkeypatch.setattr(selecting, "_SORTED_AT_ONCE", sorted_at_once)

    @given(st.lists(rows, max_size=40), st.lists(patterns, min_size=1, max_size=8), st.integers(1, 7))
    def checked(graph: list[Assertion], pattern_list: list[Pattern], limit: int) -> None:
        with TemporaryDirectory() as folder, open_index_directory(build_from_rows(graph, Path(folder) / "index")) as index:
            for pattern in [*pattern_list, Pattern()]:
                wanted = expected(graph, pattern)
                assert index.select(pattern, 0, 1_000) == wanted
                pages = [index.select(pattern, offset, limit) for offset in range(0, len(wanted) + limit, limit)]
                assert [row for page in pages for row in page] == wanted
                assert index.relations_in(pattern) == sorted({row.relation for row in wanted})
                assert index.select(pattern, 0, 0) == index.select(pattern, len(wanted), 5) == []
            for uri in ("/c/en", "/c/en/dog", "/c", "/c/en/cat", "/c/en/dog/n", ""):
                uris = [index.uri(int(node)) for node in index.ids_below(uri)]
                assert uris == [candidate for candidate in sorted(index.uris()) if begins(candidate, uri)]

    checked()


@pytest.fixture(params=["index-from-embedded", "index-from-neo4j"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexGraph]:
    """The index of the small graph, built from either engine."""
    with opened(request.param, SMALL, tmp_path) as index:
        assert isinstance(index, IndexGraph)
        yield index


def test_patterns_by_hand(small: IndexGraph) -> None:
    def found(pattern: Pattern, offset: int = 0, limit: int = 10) -> list[tuple[str, str, str]]:
        return [(row.head, row.relation, row.tail) for row in small.select(pattern, offset, limit)]

    assert found(Pattern(node=BONE)) == [
        (BONE, "AtLocation", DOG), (DOG, "Desires", BONE), (BONE, "RelatedTo", MEAT), (DOG, "RelatedTo", BONE),
    ]  # fmt: skip
    assert found(Pattern(node=BONE), 1, 2) == [(DOG, "Desires", BONE), (BONE, "RelatedTo", MEAT)]
    assert found(Pattern(node=DOG, other=BONE, relations=frozenset(["Desires"]))) == [(DOG, "Desires", BONE)]
    assert found(Pattern(start="/c/en/dog/n")) == [(DOG, "IsA", ANIMAL)]
    assert found(Pattern(end=f"{ANIMAL}/n")) == [(DOG, "IsA", ANIMAL)]
    assert found(Pattern(end=ANIMAL)) == [(CAT, "IsA", ANIMAL), (DOG, "IsA", ANIMAL)]
    assert found(Pattern(start="/c/de")) == [("/c/de/hund", "Synonym", "/c/en/hound")]
    assert found(Pattern(dataset="/d/conceptnet/4")) == found(Pattern(contributor="/s/b")) == [(DOG, "Desires", BONE)]
    assert found(Pattern(node="/e/PersonX_eats_[]")) == found(Pattern(start=DOG, end=DOG)) == []


def test_negative_numbers_are_refused(small: IndexGraph) -> None:
    for offset, limit in ((-1, 1), (0, -1)):
        with pytest.raises(InputError, match=">= 0"):
            small.select(Pattern(), offset, limit)

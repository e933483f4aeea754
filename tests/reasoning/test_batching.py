"""Which texts run together: every text once, within the room there is, and at no more cost than any other way to cut the list."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from tacit.reasoning.models.encoder import CALL, together

LENGTHS = st.lists(st.integers(0, 12), max_size=9)
ROOM = st.integers(1, 60)


def cost(batches: list[list[int]], most: int) -> float:
    """Tokens that are run, padding included, and what the calls cost; by the lengths in each batch."""
    return sum(max(batch) * len(batch) + most * CALL for batch in batches)


@given(LENGTHS, ROOM)
def test_every_text_is_in_one_batch_that_has_room_for_it(lengths: list[int], most: int) -> None:
    batches = together(lengths, most)
    places = [place for batch in batches for place in batch]
    assert sorted(places) == list(range(len(lengths)))
    assert [lengths[place] for place in places] == sorted(lengths, reverse=True)
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= most for batch in batches)


@given(LENGTHS.map(lambda lengths: [length + 1 for length in lengths]), st.integers(13, 60))
def test_no_cut_between_lengths_is_cheaper(lengths: list[int], most: int) -> None:
    given = sorted(lengths, reverse=True)
    batches = [[lengths[place] for place in batch] for batch in together(lengths, most)]
    between = [place for place in range(1, len(given)) if given[place] != given[place - 1]]
    for count in range(len(between) + 1):
        for cuts in combinations(between, count):
            stretches = [given[start:end] for start, end in zip((0, *cuts), (*cuts, len(given)), strict=True)]
            other = sum(max(one, default=0) * len(one) - (-len(one) // max(most // max(one, default=1), 1)) * most * CALL
                        for one in stretches)  # fmt: skip
            assert cost(batches, most) <= other + 1e-9


def test_texts_of_very_different_lengths_run_apart_and_of_like_length_together() -> None:
    assert together([4, 100, 5, 98], 1000) == [[1, 3], [2, 0]]
    assert together([7] * 5, 14) == [[0, 1], [2, 3], [4]]
    assert together([], 10) == []

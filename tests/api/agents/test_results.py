"""Results as text: JSON in lines, pages that are together the whole, and details that are left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api.agents.results import PAGE, layout, page, without
from tacit.graph.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=20), inner, max_size=8),
    max_leaves=30,
)


@given(JSON)
def test_the_layout_is_the_same_json(value: Any) -> None:
    assert json.loads(layout(value)) == value


def test_a_row_that_fits_has_one_line() -> None:
    rows = [{"text": f"concept {number}", "weight": 1.5} for number in range(100)]
    lines = layout({"concept": "/c/en/dog", "neighbours": rows}).split("\n")
    assert lines[:3] == ["{", '"concept":"/c/en/dog",', '"neighbours":[']
    assert [json.loads(line.rstrip(",")) for line in lines[3:-2]] == rows
    assert layout({"hops": [{"hops": 1}]}) == '{"hops":[{"hops":1}]}'


@given(st.integers(0, 40), st.integers(1, 9_000), st.integers(0, 5))
def test_pages_concatenate_to_the_whole_text(lines: int, length: int, last_length: int) -> None:
    text = "\n".join("x" * length for _ in range(lines)) + "y" * last_length
    parts, offset = [], 0
    while True:
        shown, following = page(text, offset)
        assert len(shown) <= PAGE
        parts.append(shown)
        if following is None:
            break
        assert following > offset
        assert shown.endswith("\n") or length > PAGE // 2
        offset = following
    assert "".join(parts) == text


def test_an_offset_beyond_the_end_is_refused() -> None:
    assert page("", 0) == ("", None)
    with pytest.raises(InputError, match="offset must be < 3, the number of characters of this result, not 3"):
        page("abc", 3)


def test_omitted_keys_are_removed_at_every_depth() -> None:
    assert without({"a": 1, "b": [{"a": 2, "c": {"a": 3}}]}, ("a",)) == {"b": [{"c": {}}]}

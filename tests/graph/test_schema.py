"""The JSON of types: names, order, what is left out, numbers that are not finite, and malformed rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, isnan, nan
from typing import NamedTuple

import pytest
from tacit.graph.errors import InputError
from tacit.graph.schema import Json, Nullable, dump, json_or_text, load, shape


@shape("end", "start", "length")
class Span(NamedTuple):
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


ZERO = Span(0, 0)


@shape("label=name", "value", "start=span.start", "note", "parts", "doubled", optional=["note", "start"])
@dataclass(frozen=True, slots=True)
class Node(Json):
    name: str
    value: Nullable
    span: Span = ZERO
    note: str = ""
    parts: tuple[Node, ...] = ()

    def doubled(self) -> Nullable:
        return 2 * self.value


@dataclass(frozen=True)
class Plain(Json):
    spans: dict[str, Span]
    node: Node | None = None


def test_a_shape_has_fields_properties_and_methods_in_its_order() -> None:
    row = Node("a", 1.5, Span(2, 5), "", (Node("b", nan),)).to_dict()
    child = {"label": "b", "value": None, "start": 0, "parts": [], "doubled": None}
    assert row == {"label": "a", "value": 1.5, "start": 2, "parts": [child], "doubled": 3.0}
    assert [*row] == ["label", "value", "start", "parts", "doubled"]
    assert dump(Node("a", inf, note="n"))["note"] == "n"
    assert dump(Node("a", inf))["value"] is None
    assert Plain({"x": Span(1, 3)}).to_dict() == {"spans": {"x": {"end": 3, "start": 1, "length": 2}}, "node": None}


def test_rows_are_read_back() -> None:
    node = Node("a", 1.5, note="n", parts=(Node("b", 2.0),))
    assert Node.from_dict(node.to_dict() | {"further": 1}) == node
    assert isnan(Node.from_dict({"label": "b", "value": None}).value)
    assert load(list[Span], [{"start": 1, "end": 3, "length": 2}]) == [Span(1, 3)]
    assert Plain.from_dict(Plain({"x": Span(1, 3)}, node).to_dict()) == Plain({"x": Span(1, 3)}, node)


@pytest.mark.parametrize("row", [{}, [], {"label": "a"}, {"label": 1, "value": 1}, {"label": "a", "value": 1, "parts": [{}]}])
def test_a_malformed_row_is_a_value_error(row: object) -> None:
    with pytest.raises(ValueError, match=r"^not the JSON of Node: .+") as caught:
        load(Node, row)
    assert "\n" not in str(caught.value)


def test_the_first_use_is_thread_safe() -> None:
    for number in range(5):
        kind = shape("y", "x")(NamedTuple(f"Pair{number}", [("x", int), ("y", int)]))  # type: ignore[arg-type]
        with ThreadPoolExecutor(4) as pool:
            assert [*pool.map(lambda _, kind=kind: dump(kind(1, 2)), range(8))] == [{"y": 2, "x": 1}] * 8


def test_a_text_is_its_json_or_itself() -> None:
    assert [json_or_text(text) for text in ("3", "[1, null]", '"3"', "dog", "NaN", "-Infinity", "")] == [
        3, [1, None], "3", "dog", "NaN", "-Infinity", "",
    ]  # fmt: skip
    with pytest.raises(InputError, match="nested too deeply"):
        json_or_text("[" * 100_000)

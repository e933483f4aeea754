"""The picture of paths: every node and relation is there once where it should be, nothing overlaps, bad input is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path as FilePath
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.api.main import run
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion, Path
from tacit.reasoning import draw_paths

from tests.reasoning.explanation.example_explanations import RELATIONS, SVG, WORDS, boxes, frame, overlaps


def path(*nodes: str, relation: str = "IsA", back: bool = False) -> Path:
    rows = [Assertion(two, relation, start) if back else Assertion(start, relation, two) for start, two in pairwise(nodes)]
    return Path(nodes, tuple(rows))


def texts(svg: str) -> list[str]:
    return [box.text for box in boxes(svg)]


@st.composite
def some_paths(draw: st.DrawFn) -> list[Path]:
    names = [f"/c/en/{number}_{draw(WORDS)}" for number in range(6)]
    return draw(
        st.lists(
            st.builds(
                lambda nodes, relation, back: path(*nodes, relation=relation, back=back),
                st.lists(st.sampled_from(names), min_size=1, max_size=5),
                st.sampled_from(RELATIONS),
                st.booleans(),
            ),
            min_size=1,
            max_size=14,
        )
    )


@settings(max_examples=60, deadline=None)
@given(some_paths(), st.sampled_from([320, 640, 960]))
def test_labels_do_not_overlap_and_the_picture_is_deterministic(paths: list[Path], width: int) -> None:
    svg = draw_paths(paths, width=width)
    rectangles, whole = boxes(svg), frame(svg)
    assert not overlaps(rectangles)
    assert all(box.left > 0 and box.right < whole.right + 0.1 and box.bottom < whole.bottom for box in rectangles)
    assert svg == draw_paths(paths, width=width)


def test_paths_between_two_nodes_share_their_boxes() -> None:
    drawn = draw_paths([path("/c/en/dog", "/c/en/pet", "/c/en/vet"), path("/c/en/dog", "/c/en/animal", "/c/en/vet", back=True)])
    assert sorted(texts(drawn)) == ["IsA", "IsA", "IsA", "IsA", "animal", "dog", "pet", "vet"]
    assert drawn.count('role="img" aria-label="2 paths from dog to vet"') == 1


def test_an_arrow_points_from_head_to_tail() -> None:
    def tips(svg: str) -> list[tuple[float, float]]:
        """Of each arrowhead the x of its tip and of its back."""
        marks = [mark.attrib["d"] for mark in ElementTree.fromstring(svg).iter(f"{SVG}path") if mark.attrib["d"].endswith("Z")]
        return [(float(mark[1:].split(" ")[0]), float(mark.split("L")[1].split(" ")[0])) for mark in marks]

    [(tip, back)] = tips(draw_paths([("dog", "IsA", "pet")]))
    assert tip > back
    [(tip, back)] = tips(draw_paths([path("/c/en/dog", "/c/en/pet", back=True)]))
    assert tip < back


def test_assertions_and_rows_of_a_query_are_paths_of_one_hop() -> None:
    drawn = draw_paths([Assertion("/c/en/dog", "Desires", "/c/en/bone"), ("/e/personx_eats", "xWant", "to <sleep>")])  # type: ignore[list-item]
    assert set(texts(drawn)) == {"dog", "Desires", "bone", "personx eats", "xWant", "to <sleep>"}


def test_paths_beyond_the_limit_are_counted() -> None:
    drawn = draw_paths([("dog", "IsA", f"thing {number}") for number in range(5)], limit=3)
    assert "and 2 more" in texts(drawn)
    assert "thing 3" not in texts(drawn)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "there is no path to draw"),
        ([("dog", "IsA")], {}, "neither a path nor a head"),
        (["dog"], {}, "neither a path nor a head"),
        ([("dog", "IsA", None)], {}, "neither a path nor a head"),
        ([("dog", "IsA", "pet")], {"width": 10}, "from 320 to 2400 pixels, not 10"),
        ([("dog", "IsA", "pet")], {"limit": 0}, "limit must be from 1 to 50, not 0"),
    ],
)
def test_invalid_input_is_refused(rows: list[object], options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw_paths(rows, **options)  # type: ignore[arg-type]


def test_the_command_writes_the_picture(sample_graph: str, tmp_path: FilePath, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "paths.svg"
    assert run(["paths", sample_graph, "dog", "doctor", "--limit", "2", "--svg", str(file)]) == 0
    assert "dog -IsA-> pet" in capsys.readouterr().out
    assert {"dog", "doctor", "pet"} <= set(texts(file.read_text(encoding="utf-8")))
    assert run(["paths", sample_graph, "dog", "doctor", "--max-hops", "1", "--svg", str(tmp_path / "no.svg")]) == 2
    assert "so there is no picture" in capsys.readouterr().err
    assert not (tmp_path / "no.svg").exists()

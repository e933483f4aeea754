"""Related terms and relatedness, by hand over vectors of three numbers, and against cosines of scipy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from tacit.api.server.conceptnet import related as module
from tacit.api.server.conceptnet.related import Relatedness, open_related
from tacit.graph import Graph
from tacit.graph.errors import InputError
from tacit.graph.index.open import vectors_folder
from tacit.loaders import Vectors

from tests.api.server.conceptnet.conftest import VECTORS
from tests.api.server.conceptnet.shapes import ANSWER, ERROR, RELATED, RELATEDNESS, differences
from tests.api.server.conceptnet.test_routes import get
from tests.api.server.conftest import InProcessClient


def names(answer: dict[str, Any]) -> list[str]:
    """The terms of an answer of the right shape."""
    assert differences(answer, RELATED) == []
    return [entry["@id"] for entry in answer["related"]]


def test_related_terms(related: InProcessClient) -> None:
    response = get(related, "/related/c/en/example?limit=3")
    assert response["@id"] == "/c/en/example"
    assert response["related"] == [
        {"@id": "/c/en/example", "weight": 1.0},
        {"@id": "/c/fr/exemple", "weight": 0.981},
        {"@id": "/c/en/sample", "weight": 0.96},
    ]
    assert names(get(related, "/related/c/en/example?filter=/c/fr")) == ["/c/fr/exemple"]
    assert names(get(related, "/related/c/en/example?filter=/c/en/sample")) == ["/c/en/sample"]
    assert names(get(related, "/related/c/en/example?filter=/c/en/sample/.")) == ["/c/en/sample"]
    assert names(get(related, "/related/c/en/example?filter=/c/nl")) == []
    assert len(names(get(related, "/related/c/en/example"))) == len(VECTORS)
    assert names(get(related, "/related/c/en/example/n?limit=1")) == ["/c/en/example"]
    assert names(get(related, "/related/c/en/example?limit=0")) == []


def test_a_list_of_terms(related: InProcessClient) -> None:
    both = np.array(VECTORS["/c/en/example"]) + 0.5 * np.array(VECTORS["/c/en/story"])
    response = get(related, "/related/list/en/example,story@0.5?filter=/c/fr")
    assert response["related"] == [
        {"@id": "/c/fr/exemple", "weight": round(1 - cosine(both, VECTORS["/c/fr/exemple"]), 3)}
    ]  # fmt: skip
    for wrong, status in (("/list/en/a@x", 400), ("/list/en/a@nan", 400), ("/list/en", 404), ("/r/IsA", 404), ("/list", 404)):
        answer = get(related, f"/related{wrong}")
        assert differences(answer, {**ANSWER, "@id": str, "error": ERROR}) == []
        assert answer["error"]["status"] == status
    assert get(related, f"/related/list/en/{','.join(['a'] * 101)}")["error"]["status"] == 400


def test_a_term_without_a_vector_has_that_of_its_neighbours(related: InProcessClient) -> None:
    game, sport = (np.array(VECTORS[f"/c/en/{word}"]) for word in ("game", "sport"))
    wanted = round(1 - cosine(game + sport, game), 3)  # both edges weigh 2.0
    response = get(related, "/relatedness?node1=/c/en/football&node2=/c/en/game")
    assert differences(response, RELATEDNESS) == []
    assert (response["value"], response["@id"]) == (wanted, "/relatedness?node1=/c/en/football&node2=/c/en/game")
    assert names(get(related, "/related/c/en/qwertz")) == names(get(related, "/related/c/en")) == []


def test_relatedness(related: InProcessClient) -> None:
    assert get(related, "/relatedness?node1=/c/en/example&node2=/c/en/sample")["value"] == 0.96
    assert get(related, "/relatedness?node2=/c/en/example&node1=/c/en/teach")["value"] == -1.0
    assert get(related, "/relatedness?node1=/c/en/example&node2=/c/en/story")["value"] == 0.0
    assert get(related, "/relatedness?node1=/c/en/example/n&node2=/c/en/example")["value"] == 1.0
    assert get(related, "/relatedness?node1=/c/en/example")["error"] == {
        "status": 400, "details": "Arguments should be called node1 and node2.",
    }  # fmt: skip
    for uri, two in (
        ("/c/en/qwertz", "/c/en/example"),
        ("example", "/c/en/example"),
        ("/c/en", "/c/en/example"),
        ("a/b/c/d", ""),
    ):
        answer = get(related, f"/relatedness?node1={uri}&node2={two}")
        assert answer["error"] == {"status": 400, "details": f"Couldn't look up '{uri}' or '{two}' (or both)."}


def test_without_vectors_the_error_says_what_to_do(public: InProcessClient) -> None:
    for path in ("/related/c/en/example", "/relatedness?node1=/c/en/example&node2=/c/en/sample"):
        error = get(public, path, 501)["error"]
        assert error["status"] == 501
        assert "tacit index GRAPH --vectors FILE" in error["details"]


def test_damaged_vectors_and_those_of_another_graph_are_refused(
    with_vectors: Graph, serving_app: Callable[..., InProcessClient], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index = with_vectors.index
    assert index is not None
    vectors = Vectors(np.zeros((2, 3), np.float16), np.ones(2, np.bool_), "", "", "", tmp_path / "names.txt")
    with pytest.raises(InputError, match=r"2 vectors .* build them again with tacit index GRAPH --vectors"):
        Relatedness(index, vectors)
    monkeypatch.setattr(index, "directory", tmp_path)
    vectors_folder(index).mkdir()
    (vectors_folder(index) / "vectors.json").write_text("{}")
    with pytest.raises(InputError, match="are damaged or of an earlier version; build them again"):
        serving_app(with_vectors)


@pytest.mark.parametrize(("count", "block"), [(1 << 20, 1), (0, 1 << 14), (0, 3)], ids=["count", "converted", "in blocks"])
def test_cosines_equal_scipy(count: int, block: int, with_vectors: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_CACHED_BYTES", count)
    monkeypatch.setattr(module, "_BLOCK", block)
    assert with_vectors.index is not None
    related = open_related(with_vectors.index)
    assert related is not None

    @given(
        st.lists(st.tuples(st.sampled_from(sorted(VECTORS)), st.sampled_from([0.5, 1.0, 2.0])), min_size=1, max_size=4),
        st.integers(1, 9),
    )
    def checked(terms: list[tuple[str, float]], limit: int) -> None:
        mean = sum(weight * np.array(VECTORS[term]) for term, weight in terms)
        if np.linalg.norm(mean) < 1e-3:  # opposite terms
            return
        wanted = {uri: 1 - cosine(mean, vector) for uri, vector in VECTORS.items()}
        nearest = related.nearest(terms, limit)
        assert [value for _, value in nearest] == pytest.approx(sorted(wanted.values(), reverse=True)[:limit], abs=1e-3)
        assert [value for uri, value in nearest] == pytest.approx([wanted[uri] for uri, _ in nearest], abs=1e-3)

    checked()

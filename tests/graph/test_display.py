"""HTML of a graph, a path and the rows of a query for notebooks: complete, with every text escaped."""

from __future__ import annotations

from tacit.graph import open_graph
from tacit.graph.model import Assertion, Path, QueryResult
from tacit.reasoning import load_metric

EVIL = "<script>alert(1)</script>"


def test_a_path_shows_its_nodes_and_the_directions_of_its_assertions() -> None:
    path = Path(("/c/en/dog", "/c/en/bone", "/c/en/teeth"), (
        Assertion("/c/en/dog", "Desires", "/c/en/bone"), Assertion("/c/en/teeth", "UsedFor", "/c/en/bone"),
    ))  # fmt: skip
    assert path._repr_html_() == (
        '<span><b title="/c/en/dog">dog</b> ―<small>Desires</small>→ <b title="/c/en/bone">bone</b> '
        '←<small>UsedFor</small>― <b title="/c/en/teeth">teeth</b></span>'
    )


def test_rows_of_a_query_are_a_table_of_at_most_twenty() -> None:
    html = QueryResult(("who", EVIL), tuple((number, EVIL) for number in range(25)), truncated=True)._repr_html_()
    assert html.count("<tr>") == 21
    assert "25 rows, and more beyond the limit; the first 20 are shown" in html
    assert "<script>" not in html
    assert "<small>1 row</small>" in QueryResult(("n",), ((None,),))._repr_html_()


def test_a_graph_shows_its_sizes_and_where_it_came_from(sample_graph: str) -> None:
    with open_graph(sample_graph) as graph:
        html = graph._repr_html_()
        counts = graph.counts()
        digest = graph.manifest().digest
    assert f">{counts.assertions:,}<" in html
    assert digest in html
    assert "conceptnet: conceptnet.csv, atomic2020: atomic2020.tsv" in html


def test_a_score_shows_its_evidence(sample_graph: str) -> None:
    with open_graph(sample_graph) as graph:
        score = load_metric("grounding", graph).score(["It is raining."], "Take an umbrella.", explain=True)
    html = score._repr_html_()
    assert html.startswith("<pre>grounding 1.000")
    assert "rain -CausesDesire-&gt; umbrella" in html

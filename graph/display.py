"""HTML of graphs, paths and results of queries, which notebooks show in place of their ``repr``.

All texts of a graph are escaped. There are no scripts and no styles other than of the element itself, so that the page's own
colours stay, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .model import Path, QueryResult
from .names import text_of
from .protocol import KnowledgeGraph

_ROWS = 20
_RELATIONS = 8


def path_html(path: Path) -> str:
    """Return a path on one line: nodes in bold, and the relations with arrows from head to tail between them."""
    parts = [_node(path.nodes[0])]
    for start, assertion, end in zip(path.nodes, path.assertions, path.nodes[1:], strict=False):
        name = f"<small>{escape(assertion.relation)}</small>"
        parts += [f"―{name}→" if assertion.head == start else f"←{name}―", _node(end)]
    return f"<span>{' '.join(parts)}</span>"


def result_html(result: QueryResult) -> str:
    """Return the rows of a query as a table, at most 20 of them, with the number of rows."""
    number = len(result.rows)
    summary = f"{number:,} row{'' if number == 1 else 's'}" + (", and more beyond the limit" if result.truncated else "")
    if number > _ROWS:
        summary += f"; the first {_ROWS} are shown"
    return _table(result.columns, result.rows[:_ROWS]) + f"<p><small>{summary}</small></p>"


def graph_html(graph: KnowledgeGraph) -> str:
    """Return the sizes of a graph, its most frequent relations, and the files that were loaded."""
    counts, manifest = graph.counts(), graph.manifest()
    relations = [f"{name} {number:,}" for name, number in list(counts.relations.items())[:_RELATIONS]]
    if len(counts.relations) > _RELATIONS:
        relations.append(f"and {len(counts.relations) - _RELATIONS} more")
    rows = [
        ("graph", graph.url),
        ("concepts", f"{counts.concepts:,}"),
        ("events", f"{counts.events:,}"),
        ("assertions", f"{counts.assertions:,}"),
        ("relations", ", ".join(relations)),
        ("loaded", ", ".join(f"{load.loader}: {load.file}" for load in manifest.loads)),
        ("digest", manifest.digest),
    ]
    return _table((), rows)


def _node(uri: str) -> str:
    return f'<b title="{escape(uri)}">{escape(text_of(uri))}</b>'


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = f"<thead><tr>{_cells(columns, 'th')}</tr></thead>" if columns else ""
    return f"<table>{head}<tbody>{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</tbody></table>"


def _cells(values: Iterable[Any], name: str = "td") -> str:
    style = ' style="text-align: left"'
    return "".join(f"<{name}{style}>{'' if value is None else escape(str(value))}</{name}>" for value in values)

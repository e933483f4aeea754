"""Fixtures of the tests of queries: an embedded graph with the rows that allowed statements run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tacit.graph.query import close_workers

from tests.conftest import Stored
from tests.graph.query.allowed_statements import ROWS


@pytest.fixture(scope="module")
def graph(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the graph; its workers end with the module."""
    folder = stored(ROWS, tmp_path_factory.mktemp("queries") / "graph")
    yield folder
    close_workers(folder)

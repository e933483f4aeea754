"""The relation table: complete and consistent."""

from __future__ import annotations

import pytest
from tacit.graph.names import check_relation
from tacit.graph.relations import ATOMIC_RELATIONS, RELATIONS


def test_the_datasets_relations_are_there() -> None:
    assert len(ATOMIC_RELATIONS) == len(set(ATOMIC_RELATIONS)) == 23
    assert len(RELATIONS) == 66
    assert next(iter(RELATIONS)) == "RelatedTo"
    assert set(ATOMIC_RELATIONS) <= set(RELATIONS)


@pytest.mark.parametrize("name", RELATIONS)
def test_every_row_is_well_formed(name: str) -> None:
    assert check_relation(name) == name
    assert RELATIONS[name]

"""The relation table: complete, consistent, and readable once filled in."""

from __future__ import annotations

import pytest
from tacit.graph.model import Assertion
from tacit.graph.names import check_relation
from tacit.graph.relations import ATOMIC_RELATIONS, CONCEPTNET_RELATIONS, RELATIONS, verbalise

SYMMETRIC = {"RelatedTo", "Synonym", "Antonym", "DistinctFrom", "LocatedNear", "SimilarTo", "EtymologicallyRelatedTo"}


def test_the_datasets_relations_are_there() -> None:
    assert len(ATOMIC_RELATIONS) == len(set(ATOMIC_RELATIONS)) == 23
    assert set(ATOMIC_RELATIONS) | set(CONCEPTNET_RELATIONS) == set(RELATIONS)
    shared = {name for name, relation in RELATIONS.items() if len(relation.datasets) == 2}
    assert shared == set(ATOMIC_RELATIONS) & set(CONCEPTNET_RELATIONS)
    assert shared == {"AtLocation", "CapableOf", "Causes", "Desires", "HasProperty", "NotDesires"}
    assert {name for name, relation in RELATIONS.items() if relation.symmetric} == SYMMETRIC


@pytest.mark.parametrize("name", RELATIONS)
def test_every_row_is_well_formed(name: str) -> None:
    relation = RELATIONS[name]
    assert relation.name == check_relation(name)
    assert relation.template.count("{head}") == relation.template.count("{tail}") == 1
    assert relation.template.format(head="", tail="").count("{") == 0
    assert relation.meaning


@pytest.mark.parametrize(
    ("head", "relation", "tail", "sentence"),
    [
        ("/c/en/knife", "UsedFor", "/c/en/cut", "knife is used for cut"),
        ("/c/en/hot_dog", "IsA", "/c/en/food", "hot dog is a kind of food"),
        ("/e/PersonX_eats_[]", "xWant", "/e/to_sleep", "PersonX eats ___; as a result, PersonX wants to sleep"),
        ("/c/en/paris", "dbpedia_knownFor", "/c/en/food", "paris dbpedia known for food"),
        ("/c/en/{tail}", "IsA", "/c/en/{0}", "{tail} is a kind of {0}"),
    ],
)
def test_assertions_read_as_sentences(head: str, relation: str, tail: str, sentence: str) -> None:
    assert verbalise(Assertion(head, relation, tail)) == sentence

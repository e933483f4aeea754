"""Options of metrics: a value of another type or out of range is one sentence, for every option of every metric."""

from __future__ import annotations

from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning import METRICS, load_metric, metric_kind, metric_options
from tacit.reasoning.plugins import check_option, option_types
from tacit.reasoning.registry import EXTRACTOR_REGISTRY, SCORER_REGISTRY, open_extractor

OPTIONS = [(metric, option) for metric in METRICS for option in metric_options(metric)]


@pytest.mark.parametrize(("metric", "option"), OPTIONS, ids=map(".".join, OPTIONS))
def test_every_option_has_a_type_and_refuses_others(metric: str, option: str) -> None:
    kind = metric_kind(metric)
    types = option_types(kind.maker(), option)
    if {"int", "float"} & set(types):
        low, high = kind.range_of(option)
        assert (low, high) != (None, None)
        for value in ([] if low is None else [low - 1]) + ([] if high is None else [high + 1]):
            with pytest.raises(InputError, match=rf"the option {option} of {metric} must be .* not -?\d"):
                check_option(metric, kind, option, value)
    wrong: dict[str, list[Any]] = {
        "int": ["abc", 2.5, True], "float": ["abc", float("nan"), False], "bool": ["yes", 1], "str": [3, 0.5, True],
        "Sequence[str]": [[1]], "None": [], "object": [],
    }  # fmt: skip
    right: dict[str, list[Any]] = {
        "int": [3],
        "float": [0.5, 1],
        "bool": [True],
        "str": [*kind.choices_of(option), "x"][:1],
        "Sequence[str]": [["x"]],
        "None": [None],
    }
    allowed = [repr(value) for type_name in types for value in right.get(type_name, [])]
    for type_name in types:
        for value in wrong[type_name]:
            if (
                repr(value) not in allowed
                and not ("str" in types and isinstance(value, str))
                and not ({"int", "float"} & set(types) and type(value) in (int, float))
            ):
                with pytest.raises(InputError, match=f"the option {option} of {metric} must be "):
                    check_option(metric, kind, option, value)
    with pytest.raises(InputError, match=f"the option {option} of {metric} must be "):
        check_option(metric, kind, option, {"a": 1})
    check_option(metric, kind, option, metric_options(metric)[option])


def test_option_errors_in_words() -> None:
    for value, text in (("abc", "'abc'"), (99, "99"), (None, "None")):
        with pytest.raises(InputError) as caught:
            load_metric("grounding", "anywhere", max_hops=value)
        assert str(caught.value) == f"the option max_hops of grounding must be a whole number from 0 to 6, not {text}"
    with pytest.raises(InputError, match="the option lowercase of bleu must be true or false, not 'yes'"):
        load_metric("bleu", lowercase="yes")


ENUMERATIONS: dict[tuple[str, str], list[str]] = {
    ("accent", "dtype"): ["float32", "bfloat16", "float16"],
    ("judgement", "dtype"): ["float32", "bfloat16", "float16"],
    ("overall", "dtype"): ["float32", "bfloat16", "float16"],
    ("accent", "extractor"): list(EXTRACTOR_REGISTRY.own),
    ("accent", "scorer"): list(SCORER_REGISTRY.own),
    ("accent", "profile"): ["tacit", "paper"],
    ("accent", "tuples"): ["all", "single", "pair"],
    ("grade", "profile"): ["paper", "released"],
    ("fed", "scope"): ["follow-up", "dialogue"],
}


@pytest.mark.parametrize(("metric", "option"), ENUMERATIONS, ids=map(".".join, ENUMERATIONS))
def test_enumerations_name_their_values_before_anything_is_opened(metric: str, option: str) -> None:
    for value in ENUMERATIONS[metric, option]:
        check_option(metric, metric_kind(metric), option, value)
    allowed = ", ".join(ENUMERATIONS[metric, option])
    null = " or null" if metric_options(metric)[option] is None else ""
    with pytest.raises(InputError) as caught:
        load_metric(metric, "no/graph", **{option: "best"})
    assert str(caught.value) == f"the option {option} of {metric} must be one of {allowed}{null}, not 'best'"


def test_enumerations_of_extractors() -> None:
    with pytest.raises(InputError) as caught:
        open_extractor("t5", model="no/model", dtype="int8")
    assert str(caught.value) == "the option dtype of t5 must be one of float32, bfloat16, float16, not 'int8'"

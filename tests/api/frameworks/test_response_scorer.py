"""The core of the adapters: values equal those of the library, arguments are checked at once, threads share one graph."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tacit import Reasoner
from tacit.api.frameworks.response_scorer import ResponseScorer, in_words, metadata_of
from tacit.graph import InputError

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE


def test_scores_equal_those_of_the_library(graph: str) -> None:
    judge = ResponseScorer(["grounding", "length"], graph=graph, threshold=0.5)
    grounding, length = judge(HISTORY, RESPONSE)
    with Reasoner(graph, ["grounding", "length"]) as reasoner:
        own = reasoner.score(HISTORY, RESPONSE, explain=True)
    assert (grounding.value, length.value) == (own["grounding"].value, 6.0)
    assert [metric.signature for metric in (grounding, length)] == [str(score.signature) for score in own.values()]
    assert grounding.passed is True
    assert grounding.label == "pass"
    assert length.passed is None
    assert length.label == ""
    assert EDGE in grounding.explanation
    assert in_words([grounding, length]).splitlines()[-1] == "length 6.000"
    assert str(own["grounding"].signature) not in grounding.explanation
    judge.close()
    assert judge(HISTORY, RESPONSE)[0].value == grounding.value


def test_the_percentile_is_in_the_metadata() -> None:
    (result,) = ResponseScorer("association", threshold=0)(HISTORY, RESPONSE)
    assert result.percentile is not None
    assert json.loads(json.dumps(metadata_of([result]))) == {
        "metric": "association", "percentile": result.percentile, "signature": result.signature, "label": "pass",
    }  # fmt: skip


def test_lower_is_better_metrics_pass_below_the_threshold() -> None:
    judge = ResponseScorer("repetition", threshold=0.2)
    (result,) = judge(["I like tea.", "Tea is good."], "Tea is good.")
    assert result.value is not None
    assert result.value > 0.2
    assert result.label == "fail"
    (other,) = judge(["I like tea."], "My brother lives in Rome.")
    assert (other.value, other.label) == (0.0, "pass")


def test_a_response_without_words_has_no_value(graph: str) -> None:
    result, length = ResponseScorer(["grounding", "length"], graph=graph, threshold=0.5)(HISTORY, "?!")
    assert (result.value, result.passed, result.label, result.note) == (None, None, "not_judged", NO_WORDS)
    assert result.explanation == f"grounding none: {NO_WORDS}"
    assert metadata_of([result, length]) == {
        "metric": "grounding", "percentile": None, "signature": result.signature, "note": NO_WORDS, "label": "not_judged",
        "others": [{"metric": "length", "value": 0.0, "percentile": None, "signature": length.signature}],
    }  # fmt: skip


def test_options_reach_the_metrics(graph: str) -> None:
    (short,) = ResponseScorer("grounding", graph=graph, options={"grounding": {"max_hops": 1}})(HISTORY, RESPONSE)
    assert "|hops:1|" in short.signature


def test_references_reach_the_metrics() -> None:
    pytest.importorskip("rouge_score", reason="needs pip install 'tacit-kg[baselines]'")
    judge = ResponseScorer("rouge_l")
    assert judge(HISTORY, RESPONSE, [RESPONSE])[0].value == 1.0
    assert judge(HISTORY, RESPONSE)[0].value is None


def test_the_default_metrics_are_those_of_tacit_score(graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.reasoning import default_metrics

    monkeypatch.setenv("TACIT_GRAPH", graph)
    judge = ResponseScorer()
    assert judge.graph == graph
    assert judge.metrics == default_metrics(graph).names
    assert judge.headline == judge.metrics[0]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"metrics": "groundng"}, "did you mean grounding"),
        ({"metrics": []}, "give the name of one"),
        ({"metrics": [3]}, "give the name of one"),
        ({"metrics": "grounding"}, "needs a graph; give its path as graph, or set TACIT_GRAPH"),
        ({"metrics": "length", "threshold": 3}, "neither end of the range of length is better"),
        ({"metrics": "repetition", "threshold": "high"}, "the threshold is 'high'; give a finite number"),
        ({"metrics": "repetition", "threshold": float("nan")}, "give a finite number"),
        ({"metrics": "repetition", "threshold": True}, "give a finite number"),
    ],
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        ResponseScorer(arguments.pop("metrics"), **arguments)  # type: ignore[arg-type]


def test_a_wrong_option_is_refused_by_the_first_response(graph: str) -> None:
    with pytest.raises(InputError, match="max_hop"):
        ResponseScorer("grounding", graph=graph, options={"grounding": {"max_hop": 1}})(HISTORY, RESPONSE)


def test_threads_share_one_graph(graph: str) -> None:
    judge = ResponseScorer(["grounding", "repetition"], graph=graph)
    responses = [RESPONSE, "Dogs like to play.", "?!", "I will call the police."] * 4
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda response: judge(HISTORY, response), responses))
    assert together == [judge(HISTORY, response) for response in responses]


def test_adapters_are_imported_lazily() -> None:
    program = "import sys, tacit.api.frameworks.response_scorer, tacit.api.frameworks.promptfoo_assert; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not {"torch", "spacy", "pydantic", "numba", "inspect_ai", "deepeval", "mlflow", "opentelemetry"} & set(loaded)


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("inspect_scorer", "inspect_ai", "inspect"),
        ("deepeval_metrics", "deepeval", "deepeval"),
        ("mlflow_scorer", "mlflow", "mlflow"),
        ("otel_events", "opentelemetry", "otel"),
    ],
)
def test_without_its_framework_an_adapter_names_the_extra(module: str, package: str, extra: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import tacit.api.frameworks.{module}"
    outcome = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True).stderr
    assert outcome.splitlines()[-1].endswith(f"MissingExtra: {package} is not installed; run: pip install 'tacit-kg[{extra}]'")

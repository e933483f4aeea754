"""Metrics and tuple scorers of other packages: those of docs/plugins.md are installed and used, and broken ones are named."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tacit.graph import InputError, PluginError
from tacit.reasoning import Reasoner, load_metric
from tacit.reasoning.plugins import _entry_points
from tacit.reasoning.registry import KINDS, METRIC_REGISTRY, SCORER_REGISTRY

from tests.doc_pages import blocks

FILES = {block.file: block.text for block in blocks() if block.page == "docs/plugins.md" and block.file}
SHARES = (0.5, 1 / 3)  # of "oa!?" and "dog", by hand

Tacit = Callable[..., Any]
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package as pip leaves it: its modules, and a folder with its metadata and entry points."""
    site = tmp_path / "site-packages"
    site.mkdir()
    before = set(sys.modules)

    def add(name: str, points: dict[str, dict[str, str]], modules: dict[str, str]) -> None:
        info = site / f"{name.replace('-', '_')}-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        lines = [line for group, own in points.items() for line in (f"[{group}]", *(f"{key} = {own[key]}" for key in own))]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for file, text in modules.items():
            (site / file).write_text(text)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "path", [*(path for path in sys.path if path != str(site)), str(site)])
        _entry_points.cache_clear()

    yield add
    _entry_points.cache_clear()
    for module in set(sys.modules) - before:
        if getattr(sys.modules[module], "__file__", None) and str(site) in str(sys.modules[module].__file__):
            del sys.modules[module]


@pytest.fixture
def vowels(install: Install) -> None:
    """The package that the page shows."""
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    install(project["name"], project["entry-points"], {name: text for name, text in FILES.items() if name.endswith(".py")})


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps({"history": ["Hi."], "response": text}) + "\n" for text in ("oa!?", "dog")))
    return file


@pytest.mark.usefixtures("vowels")
def test_the_command_line_scores_with_a_metric_of_another_package(tacit: Tacit, talk: Path) -> None:
    rows = tacit("score", talk, "-m", "vowels,length", "-q", "--json").rows
    assert [row["scores"]["vowels"] for row in rows] == pytest.approx(SHARES)
    assert rows[0]["signature"]["vowels"] == "vowels|letters:aeiou|plugin:tacit-vowels 0.1|v:1"
    (row, _) = tacit("score", talk, "-m", "vowels", "-O", "vowels.letters=!?", "-q", "--json").rows
    assert (row["scores"]["vowels"], row["signature"]["vowels"]) == (0.5, "vowels|letters:!?|plugin:tacit-vowels 0.1|v:1")
    assert "must be a text, not 3" in tacit("score", talk, "-m", "vowels", "-O", "vowels.letters=3").err
    explanation = tacit("explain", talk, "-m", "vowels").out
    assert "vowels 0.500" in explanation


def test_a_metric_that_needs_no_graph_may_take_none(install: Install, tmp_path: Path) -> None:
    text = FILES["tacit_vowels.py"]
    assert "def make(graph, *, letters" in text
    install("tacit-vowels", {"tacit.metrics": {"vowels": "tacit_vowels:METRIC"}}, {
        "tacit_vowels.py": text.replace("def make(graph, *, letters", "def make(*, letters"),
    })  # fmt: skip
    for graph in (None, tmp_path / "none"):
        assert load_metric("vowels", graph, letters="!?").score([], "oa!?").value == 0.5


@pytest.mark.usefixtures("vowels")
def test_metrics_lists_it_with_its_package(tacit: Tacit) -> None:
    rows = {row["name"]: row for row in tacit("metrics", "--json").json}
    assert list(rows) == [*KINDS, "vowels"]
    assert (rows["vowels"]["plugin"], rows["vowels"]["ready"], rows["length"]["plugin"]) == ("tacit-vowels 0.1", True, "")
    assert "from tacit-vowels 0.1" in " ".join(tacit("metrics").out.split())
    (option,) = tacit("metrics", "vowels", "--json").json["options"]
    assert (option["name"], option["type"], option["default"]) == ("letters", "text", "aeiou")


@pytest.mark.usefixtures("vowels")
def test_the_service_scores_with_it() -> None:
    from tacit.api.server import create_app

    app = create_app(Reasoner(None, ["vowels"]))

    async def ask() -> tuple[httpx.Response, httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
            items = [{"history": [], "response": "oa!?"}]
            return await client.post("/v1/score", json={"items": items}), await client.get("/v1/info")

    scored, info = asyncio.run(ask())
    (row,) = scored.json()["items"]
    assert row["scores"] == {"vowels": 0.5}
    assert row["signature"]["vowels"] == info.json()["metrics"]["vowels"]["signature"]
    assert "plugin:tacit-vowels 0.1" in row["signature"]["vowels"]
    assert info.json()["metrics"]["vowels"]["summary"] == "The share of vowels in the response."


@pytest.mark.usefixtures("vowels")
def test_tuples_are_scored_by_a_scorer_of_another_package(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "tuples.jsonl"
    file.write_text('{"head": "PersonX eats", "relation": "xWant", "tail": "to sleep"}\n')
    done = tacit("score-tuples", file, "--graph", sample_graph, "--scorer", "brief")
    assert [row["score"] for row in done.rows] == [0.5]
    assert "signature brief(1)@tacit-vowels-0.1" in done.err
    metric = load_metric("accent", sample_graph, scorer="brief")
    assert "scorer:brief(1)@tacit-vowels-0.1|" in str(metric.signature)


KIND = "from tacit.reasoning import MetricKind\nKIND = MetricKind(home={}, summary='It.', range='any', better='')\n"
SCORER = "from tacit.reasoning import ScorerKind\nKIND = ScorerKind(home=lambda opener: S(), summary='It.')\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import nowhere\n", "cannot be imported (ModuleNotFoundError: No module named 'nowhere')"),
        ("KIND = 3\n", "is a int; its entry point must refer to a tacit.reasoning.MetricKind"),
        (KIND.format("'bad_metric:make'"), "has home = 'bad_metric:make'; it must be a function"),
        (KIND.format("lambda graph: 1 / 0"), "cannot be opened (ZeroDivisionError: division by zero)"),
        (KIND.format("lambda graph: object()").replace("better=''", "better='', packages=('no.such',)"), "BatchScoring"),
        (KIND.format("lambda graph: object()"), "must be a tacit.reasoning.BatchScoring that is named 'bad'"),
    ],
)
def test_a_broken_metric_is_a_sentence_that_names_its_package(
    install: Install, tacit: Tacit, talk: Path, text: str, sentence: str
) -> None:
    install("tacit-bad", {"tacit.metrics": {"bad": "bad_metric:KIND"}}, {"bad_metric.py": text})
    done = tacit("score", talk, "-m", "bad")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "the metric bad of tacit-bad 0.1 " in done.err
    assert sentence in done.err
    listed = tacit("metrics")
    assert listed.status == 0
    assert "length" in listed.out
    assert sentence in listed.err or "bad " in listed.out  # what fails when it is opened is listed
    assert len(tacit("score", talk, "-m", "length", "-q").rows) == 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [("[]", "PluginError: it returns 0 results"), ("[1.0 for _ in shares]", "results (float)"), ("1 / 0", "ZeroDivisionError: ")],
)
def test_a_metric_that_fails_on_items_is_named_in_their_rows(
    install: Install, tacit: Tacit, talk: Path, wrong: str, sentence: str
) -> None:
    text = FILES["tacit_vowels.py"].replace("[Score(share, Evidence(), self.signature) for share in shares]", wrong)
    install("tacit-bad", {"tacit.metrics": {"vowels": "bad_vowels:METRIC"}}, {"bad_vowels.py": text})
    rows = tacit("score", talk, "-m", "vowels,length", "-q", "--json").rows
    assert [row["error"].partition("(")[0] for row in rows] == ["the metric vowels of tacit-bad 0.1 fails on it "] * 2
    assert sentence in rows[0]["error"]


def test_tacits_own_names_cannot_be_taken(install: Install, tacit: Tacit) -> None:
    install("tacit-thief", {"tacit.metrics": {"length": "thief:KIND"}}, {"thief.py": KIND.format("print")})
    assert load_metric("length").score([], "one two").value == 2
    assert METRIC_REGISTRY.kinds() == dict(KINDS)
    install("tacit-blend", {"tacit.tuple_scorers": {"blend": "thief:KIND"}}, {})
    assert SCORER_REGISTRY.kind("blend").plugin == ""
    assert "the tuple scorer blend of tacit-blend 0.1 is ignored" in tacit("metrics").err
    assert "the metric length of tacit-thief 0.1 is ignored, since tacit has a metric of that name" in tacit("metrics").err


def test_of_two_packages_with_one_name_neither_is_used(install: Install) -> None:
    for name in ("one", "two"):
        install(f"tacit-{name}", {"tacit.metrics": {"same": f"{name}_same:KIND"}}, {f"{name}_same.py": KIND.format("print")})
    with pytest.raises(PluginError, match=r"tacit-one 0.1 and tacit-two 0.1 both have a metric same; uninstall one of them"):
        load_metric("same")


def test_a_signature_that_cannot_name_the_package_is_refused(install: Install) -> None:
    text = FILES["tacit_vowels.py"].replace('    name = "vowels"\n', '    name = "vowels"\n    signature = "mine"\n')
    text = text.replace('self.letters, self.signature = letters, Signature(self.name, (("letters", letters),), 1)', "pass")
    install("tacit-own", {"tacit.metrics": {"vowels": "own_vowels:METRIC"}}, {"own_vowels.py": text})
    with pytest.raises(PluginError, match=r"the metric vowels of tacit-own 0.1 .* sets self.signature in __init__"):
        load_metric("vowels")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("class S: pass\n", "has no signature"),
        ("class S:\n signature = 's'; relations = None\n def score(self, tuples): return []\n", "returns 0 scores for 1 tuples"),
        ("class S:\n signature = 's'; relations = None\n def score(self, tuples): raise KeyError(1)\n", "fails (KeyError: 1)"),
    ],
)
def test_a_broken_scorer_is_a_sentence_that_names_its_package(
    install: Install, tacit: Tacit, sample_graph: str, tmp_path: Path, text: str, sentence: str
) -> None:
    install("tacit-bad", {"tacit.tuple_scorers": {"bad": "bad_scorer:KIND"}}, {"bad_scorer.py": text + SCORER})
    file = tmp_path / "tuples.jsonl"
    file.write_text('{"head": "PersonX eats", "relation": "xWant", "tail": "to sleep"}\n')
    done = tacit("score-tuples", file, "--graph", sample_graph, "--scorer", "bad", "--quiet")
    assert done.status == 1
    assert f"the tuple scorer bad of tacit-bad 0.1 {sentence}" in done.err
    assert "Traceback" not in done.err


def test_entry_points_are_read_only_when_a_name_is_not_tacits_own(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    def entry_points(*, group: str) -> list[Any]:
        requests.append(group)
        return []

    _entry_points.cache_clear()
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    load_metric("length")
    SCORER_REGISTRY.kind("blend")
    assert requests == []
    with pytest.raises(InputError, match="unknown metric 'vowels'; choose from grounding, "):
        load_metric("vowels")
    assert requests == ["tacit.metrics"]
    _entry_points.cache_clear()

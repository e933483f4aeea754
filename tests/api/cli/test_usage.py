"""Wrong usage of every command: exit status 2, nothing on stdout, one sentence on stderr; and help for every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tacit.api.cli.commands import command
from tacit.api.cli.lookups import spread
from tacit.graph import open_graph, open_index
from tacit.graph.errors import GraphUnavailable
from tacit.reasoning.training.recipe import RECIPES

Tacit = Callable[..., Any]

COMMANDS = [
    ["setup"], ["load", "conceptnet"], ["load", "atomic2020"], ["load", "rdf"], ["load", "triples"], ["fetch"], ["sources"],
    ["info"], ["index"], ["export"],
    ["link"],
    ["neighbours"], ["hops"], ["paths"],
    ["triples"], ["tails"], ["heads"], ["cypher"], ["score"], ["filter"], ["evaluate"], ["evaluate-tuples"], ["score-tuples"],
    ["merge-cache"], ["check"], ["metrics"], ["train", "reference"], ["train", "pipeline"],
    ["train", "commonsense"], ["train", "grade"], ["train", "coherence"], ["train", "accent"],
    ["train", "responder"], ["train", "cicero"],
    ["train", "retriever"], ["train", "comet"], ["train", "kg-bert"], ["train", "llm-probe"], ["train", "cross-encoder"],
    ["train", "judgement"], ["train", "choice-head"], ["train", "choice-probe"], ["train", "recipe"], ["demo"],
    ["doctor"], ["help"],
    ["guard"], ["explain"], ["compare"], ["infer"], ["choose"], ["respond"], ["perplexity"], ["prompts"],
    ["create", "targets"], ["create", "choices"],
    ["serve"], ["mcp"], ["keys", "add"], ["keys", "list"], ["keys", "remove"],
]  # fmt: skip

WRONG = [
    ["tails", "GRAPH", "PersonX cooks dinner for PersonY", "xwant"],
    ["score", "FILE", "-m", "length", "-o", "scores.csv.gz"],
    ["score", "FILE", "-m", "length", "-o", "scores.csv", "--text"],
    ["score", "FILE", "-m", "length", "--format", "csv", "--json"],
    ["score", "FILE", "-m", "length", "--column", "history"],
    ["score", "FILE", "-m", "length", "--column", "story=x"],
    ["score", "FILE", "-m", "length", "--column", "id=x", "--column", "id=y"],
    ["evaluate", "FILE", "-m", "length", "--column", "story=x"],
    ["nonsense"],
    ["--nonsense"],
    ["setup", "--files", "missing"],
    ["setup", "--directory", "out", "--mirror", "mirror.example.org"],
    ["load"],
    ["load", "wordnet", "f", "--into", "g"],
    ["load", "conceptnet", "--into", "g"],
    ["load", "conceptnet", "FILE"],
    ["load", "conceptnet", "FILE", "--into", "g", "--min-weight", "heavy"],
    ["load", "conceptnet", "FILE", "--into", "g", "--relation", "usedfor"],
    ["load", "conceptnet", "FILE", "--into", "g", "--relation", "Is A"],
    ["load", "conceptnet", "missing.csv", "--into", "g"],
    ["load", "conceptnet", "FOLDER", "--into", "g"],
    ["load", "conceptnet", "FILE", "missing.csv", "--into", "g"],
    ["load", "conceptnet", "https://example.org/assertions.csv.gz", "--into", "g"],
    ["load", "atomic2020", "FILE", "--into", "g", "--language", "en"],
    ["load", "rdf", "FILE", "--into", "g", "--mapping", "missing.json"],
    ["load", "triples", "FILE", "--into", "g"],
    ["load", "triples", "FILE", "--into", "g", "--mapping", "missing.toml"],
    ["load", "triples", "FILE", "--into", "g", "--mapping", "cskq"],
    ["load", "triples", "FILE", "--into", "g", "--mapping", "cskg"],
    ["load", "triples", "missing.tsv", "--into", "g", "--mapping", "cskg"],
    ["fetch"],
    ["fetch", "wordnet"],
    ["fetch", "conceptnet", "--mirror", "mirror.example.org"],
    ["info"],
    ["info", "missing"],
    ["info", "GRAPH", "extra"],
    ["index"],
    ["index", "missing"],
    ["index", "GRAPH", "--vectors", "missing.txt"],
    ["export", "GRAPH"],
    ["export", "GRAPH", "out", "--format", "word"],
    ["export", "missing", "out"],
    ["check"],
    ["check", "missing"],
    ["link"],
    ["link", "missing"],
    ["link", "GRAPH", "extra"],
    ["metrics", "nonsense"],
    ["train", "reference"],
    ["train", "reference", "missing.jsonl"],
    ["neighbours", "GRAPH"],
    ["neighbours", "missing", "dog"],
    ["neighbours", "GRAPH", "dog", "--hop", "0"],
    ["neighbours", "GRAPH", "dog", "--hop", "7"],
    ["neighbours", "GRAPH", "dog", "--hop", "two"],
    ["neighbours", "GRAPH", "dog", "--limit", "-1"],
    ["neighbours", "GRAPH", "dog", "--relation", "Is`A"],
    ["neighbours", "GRAPH", "dog", "--relation", "usedfor"],
    ["neighbours", "GRAPH", "dog", "--engine", "steam"],
    ["neighbours", "GRAPH", "flibbertigibbet"],
    ["neighbours", "GRAPH", ""],
    ["hops", "GRAPH", "dog"],
    ["hops", "GRAPH", "dog", "bone", "--max-hops", "9"],
    ["paths", "GRAPH", "dog"],
    ["paths", "GRAPH", "dog", "flibbertigibbet"],
    ["paths", "GRAPH", "dog", "bone", "--limit", "many"],
    ["triples", "GRAPH", "--between", "dog"],
    ["triples", "GRAPH", "--and", "dog"],
    ["triples", "GRAPH", "--between", "--and", "dog"],
    ["triples", "GRAPH", "--between", "dog", "--and", "flibbertigibbet", "gobbledygook"],
    ["triples", "GRAPH", "--between", "dog", "--and", "bone", "--hops", "3"],
    ["triples", "--between", "dog", "--and", "bone"],
    ["tails", "GRAPH"],
    ["tails", "GRAPH", "PersonX juggles with nothing at all"],
    ["tails", "GRAPH", "..."],
    ["tails", "GRAPH", "PersonX cooks dinner for PersonY", "x`Want"],
    ["heads", "GRAPH"],
    ["heads", "GRAPH", ""],
    ["heads", "GRAPH", "flibbertigibbet"],
    ["cypher"],
    ["cypher", "GRAPH"],
    ["guard"],
    ["guard", ""],
    ["guard", "MATCH (n) DETACH DELETE n"],
    ["guard", "RETURN $n AS n", "--param", "1"],
    ["guard", "RETURN 1 AS n", "--engine", "memgraph"],
    ["cypher", "GRAPH", ""],
    ["cypher", "GRAPH", "no_such_query"],
    ["cypher", "GRAPH", "missing.cypher"],
    ["cypher", "GRAPH", "MATCH (n"],
    ["cypher", "GRAPH", "MATCH (n) RETURN m"],
    ["cypher", "GRAPH", "MATCH (n) DETACH DELETE n"],
    ["cypher", "GRAPH", "RETURN 1 AS one", "--param", "novalue"],
    ["cypher", "GRAPH", "RETURN 1 AS one", "--param", "a=1", "--param", "a=2"],
    ["cypher", "GRAPH", "RETURN 1 AS one", "--limit", "-1"],
    ["cypher", "GRAPH", "RETURN 1 AS one", "--timeout", "0"],
    ["cypher", "GRAPH", "RETURN 1 AS one", "--json", "--csv"],
    ["cypher", "missing", "RETURN 1 AS one"],
    ["score"],
    ["score", "missing.jsonl", "--graph", "GRAPH"],
    ["score", "FILE", "--graph", "missing", "--quiet"],
    ["score", "FILE", "--graph", "GRAPH", "--metrics", "vibes"],
    ["score", "FILE", "--graph", "GRAPH", "--metrics", ""],
    ["score", "FILE", "--graph", "GRAPH", "--metrics", "grounding,grounding"],
    ["score", "FILE", "--graph", "GRAPH", "--batch-size", "0"],
    ["score", "FILE", "--graph", "GRAPH", "--output", "FILE"],
    ["score", "FILE", "--graph", "GRAPH", "--output", "FOLDER"],
    ["score", "FILE", "--graph", "GRAPH", "--output", "missing/out.jsonl"],
    ["score", "FILE", "--graph", "GRAPH", "--text", "--json"],
    ["doctor", "extra"],
    ["help", "nonsense"],
    ["help", "train", "nonsense"],
    ["help", "environment", "nonsense"],
    ["doctor", "--graph"],
    ["choose"],
    ["choose", "missing.json", "--graph", "GRAPH"],
    ["choose", "FILE", "--graph", "missing"],
    ["choose", "FILE"],
    ["choose", "FILE", "--graph", "GRAPH", "--judges", "jury"],
    ["choose", "FILE", "--graph", "GRAPH", "--answers", "0"],
    ["infer"],
    ["infer", "missing.jsonl", "--graph", "GRAPH"],
    ["infer", "FILE", "--graph", "missing"],
    ["infer", "FILE", "--graph", "GRAPH", "--target", "0"],
    ["infer", "FILE", "--graph", "GRAPH", "--question", "why"],
    ["train", "pipeline", "FOLDER"],
    ["train", "pipeline", "missing", "--output", "out"],
    ["train", "pipeline", "FOLDER", "--output", "out"],
    ["filter"],
    ["filter", "FILE"],
    ["filter", "missing.jsonl", "--graph", "GRAPH"],
    ["evaluate"],
    ["evaluate", "FILE"],
    ["evaluate", "FILE", "--metrics", "vibes"],
    ["evaluate", "missing.jsonl", "--metrics", "length"],
    ["evaluate", "FILE", "--metrics", "length"],
    ["evaluate-tuples"],
    ["evaluate-tuples", "missing.json"],
    ["score-tuples"],
    ["score-tuples", "missing.jsonl", "--graph", "GRAPH"],
    ["merge-cache"],
    ["merge-cache", "missing"],
    ["train", "commonsense"],
    ["train", "commonsense", "missing.jsonl", "--graph", "GRAPH", "--output", "out"],
    ["train", "grade"],
    ["train", "grade", "missing.jsonl", "--graph", "GRAPH", "--output", "out"],
    ["train", "coherence"],
    ["train", "coherence", "missing.jsonl", "--output", "out"],
    ["train", "responder"],
    ["train", "responder", "missing.jsonl", "--output", "out"],
    ["train", "responder", "missing.jsonl", "--model", "x", "--output", "out"],
    ["train", "cicero"],
    ["train", "cicero", "missing.json", "--task", "choose", "--model", "FOLDER", "--output", "out"],
    ["train", "cicero", "missing.json", "--task", "guess", "--model", "FOLDER", "--output", "out"],
    ["train", "choice-probe"],
    ["train", "choice-probe", "missing.json", "--model", "FOLDER", "--output", "out"],
    ["train", "choice-head"],
    ["train", "choice-head", "missing.json", "--graph", "GRAPH", "--output", "out"],
    ["train", "choice-head", "FILE", "--graph", "GRAPH", "--output", "FOLDER/none/out"],
    ["train", "accent"],
    ["train", "accent", "missing.json", "--model", "FOLDER", "--output", "out"],
    ["train", "retriever"],
    ["train", "retriever", "missing", "--output", "out"],
    ["train", "comet"],
    ["train", "comet", "missing", "--model", "FOLDER", "--output", "out"],
    ["train", "kg-bert"],
    ["train", "kg-bert", "missing", "--model", "FOLDER", "--output", "out"],
    ["train", "recipe", "grades"],
    ["train", "recipe", "grade", "tune"],
    ["train", "comet", "missing", "--model", "FOLDER", "--output", "out", "--recipe", "missing.toml"],
    ["train", "grade", "FILE", "--graph", "GRAPH", "--output", "out", "--seed", "-1"],
    ["train", "llm-probe"],
    ["train", "llm-probe", "FILE", "--output", "out"],
    ["train", "llm-probe", "missing.csv", "--model", "x", "--output", "out"],
    ["train", "llm-probe", "FILE", "--model", "x", "--output", "FOLDER/none/out"],
    ["train", "cross-encoder"],
    ["train", "cross-encoder", "missing.jsonl", "--model", "x", "--output", "out"],
    ["train", "cross-encoder", "FILE", "--model", "x", "--output", "FOLDER/none/out"],
    ["train", "judgement"],
    ["train", "judgement", "missing.jsonl", "--model", "x", "--output", "out"],
    ["demo", "--directory", "FILE"],
    ["compare"],
    ["compare", "FILE"],
    ["compare", "missing.jsonl", "FILE", "--metrics", "length"],
    ["explain"],
    ["explain", "GRAPH"],
    ["respond"],
    ["respond", "missing.jsonl", "--model", "x"],
    ["respond", "FILE", "--model", "x", "--samples", "0"],
    ["respond", "FILE", "--model", "x", "--rerank", "grounding"],
    ["respond", "FILE", "--model", "x", "--metrics", "nothing", "--graph", "GRAPH"],
    ["perplexity"],
    ["perplexity", "missing.jsonl", "--model", "x"],
    ["prompts"],
    ["prompts", "missing.jsonl"],
    ["prompts", "FILE", "--json"],
    ["create", "targets"],
    ["create", "targets", "missing.jsonl"],
    ["create", "targets", "FILE", "FILE"],
    ["create", "targets", "FILE", "--json"],
    ["create", "choices"],
    ["create", "choices", "FILE"],
    ["create", "choices", "missing.jsonl", "--output", "out"],
    ["create", "choices", "FILE", "--output", "out", "--folds", "1"],
    ["create", "choices", "FILE", "--output", "missing/out"],
    ["serve"],
    ["serve", "missing", "--port", "0"],
    ["serve", "GRAPH", "--port", "70000"],
    ["serve", "GRAPH", "--host", "0.0.0.0"],
    ["serve", "GRAPH", "--metrics", "nothing"],
    ["serve", "GRAPH", "--limit", "items=0"],
    ["serve", "GRAPH", "--keys", "missing"],
    ["serve", "GRAPH", "--host", "no-such-host.invalid"],
    ["mcp"],
    ["mcp", "missing"],
    ["mcp", "GRAPH", "--http", "70000"],
    ["mcp", "GRAPH", "--http", "localhost"],
    ["mcp", "GRAPH", "--http", "0.0.0.0:8000"],
    ["mcp", "GRAPH", "--http", "0", "--keys", "missing"],
    ["mcp", "GRAPH", "--http", "no-such-host.invalid:80"],
    ["mcp", "GRAPH", "--keys", "missing"],
    ["mcp", "GRAPH", "--no-auth"],
    ["mcp", "GRAPH", "--host-name", "tacit.example.org"],
    ["mcp", "GRAPH", "--metrics", "nothing"],
    ["mcp", "GRAPH", "--limit", "items=0"],
    ["keys", "add", "FILE"],
    ["keys", "add", "FILE", "alice"],
    ["keys", "add", "missing/keys", "alice"],
    ["keys", "list", "missing"],
    ["keys", "remove", "missing", "alice"],
]


@pytest.fixture(scope="module", autouse=True)
def _indexed(sample_graph: str) -> None:
    """Build the sample's index, so that no command has that to tell beside its own sentence."""
    with open_graph(sample_graph) as store:
        open_index(store).close()


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_usage_is_one_sentence(
    words: list[str], tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    file = tmp_path / "dialogues.jsonl"
    file.write_bytes((sample / "dialogues.jsonl").read_bytes())
    places = {"GRAPH": sample_graph, "FOLDER": "folder", "FILE": str(file)}
    outcome = tacit(*(places.get(word, word) for word in words))
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("tacit: ")
    assert outcome.err.endswith("\n")
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err
    assert "a fault in tacit" not in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dialogues.jsonl", "folder"]
    assert file.read_bytes() == (sample / "dialogues.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            ["load", "conceptnet", "x", "--graph", "y"],
            "no such option: --graph; give the graph as --into GRAPH; see: tacit load conceptnet",
        ),
        (["hops", "--graph", "y"], "no such option: --graph; give the graph as the argument GRAPH; see: tacit hops"),
        (["demo", "--graph", "y"], "no such option: --graph; see: tacit demo"),
        (["metrics", "--graf", "y"], "no such option: --graf; did you mean --graph? see: tacit metrics"),
        (["neighbors"], "no such command 'neighbors'; did you mean 'neighbours'? see: tacit"),
    ],
)
def test_a_wrong_name_gets_advice(tacit: Tacit, words: list[str], advice: str) -> None:
    assert tacit(*words).err == f"tacit: {advice} --help\n"


def test_wrong_usage_is_tried_for_every_command() -> None:
    tried = {tuple(words[: 2 if words[0] in ("load", "train", "keys", "create") else 1]) for words in WRONG}
    assert {tuple(words) for words in COMMANDS} - {("sources",)} <= tried


@pytest.mark.parametrize("words", [[], *COMMANDS], ids=" ".join)
def test_help(words: list[str], tacit: Tacit) -> None:
    outcome = tacit(*words, "--help")
    assert outcome.status == 0
    assert outcome.err == ""
    assert outcome.out.startswith(f"Usage: tacit {' '.join(words)}".rstrip())
    assert "--help" in outcome.out


def test_trainings_with_a_recipe_have_at_most_ten_options(tacit: Tacit) -> None:
    shared = {"--help", "--user", "--password", "--database"}  # the last three belong to --graph
    for words in (["train", name] for name in RECIPES):
        options = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", tacit(*words, "--help").out, re.MULTILINE)) - shared
        assert len(options) <= 10, (words, options)


def test_recipes_are_listed_and_printed(tacit: Tacit) -> None:
    listed = tacit("train", "recipe").out
    assert "coherence" in listed
    assert "frozen, tuned, paper" in listed
    assert "similarity_factor = 2.0" in tacit("train", "recipe", "coherence").out


def test_no_arguments_show_the_help(tacit: Tacit) -> None:
    assert tacit().out == tacit("--help").out


def test_every_command_is_listed(tacit: Tacit) -> None:
    shown = {line.split()[0] for line in tacit("--help").out.splitlines() if line.startswith("  ") and line.split()}
    assert set(command().commands) <= shown
    below = {name: set(getattr(group, "commands", {})) for name, group in command().commands.items()}
    assert {words[0] for words in COMMANDS} == set(below)
    assert {words[-1] for words in COMMANDS if words[0] == "train"} - {"train"} == below["train"]


def test_every_command_argument_and_option_has_a_help_text() -> None:
    def without(click_command: Any, path: str) -> Iterator[str]:
        for name, below in getattr(click_command, "commands", {}).items():
            yield from without(below, f"{path} {name}")
        if not (click_command.help or "").strip():
            yield path
        for param in click_command.params:
            text = (param.help or "").strip()
            if len(text.split()) < 2 or not text.rstrip("]").endswith((".", "TACIT_GRAPH, tacit.toml", "NEO4J_USERNAME")):
                yield f"{path} {'/'.join(param.opts)}: {text}"

    assert [*without(command(), "tacit")] == []


def test_version(tacit: Tacit) -> None:
    from importlib.metadata import version

    assert tacit("--version").out == f"tacit {version('tacit-kg')}\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("g --between dog cat --and bone", "g --between dog --between cat --and bone"),
        ("g --between dog --between cat --and bone", "g --between dog --between cat --and bone"),
        ("g --between=dog cat --and=bone tree", "g --between=dog --between cat --and=bone --and tree"),
        ("g --and a b --hops 2 --between c", "g --and a --and b --hops 2 --between c"),
        ("--between a b --json g", "--between a --between b --json g"),
        ("--hops 2 g --between a --and b -- c", "--hops 2 g --between a --and b -- c"),
    ],
)
def test_several_words_after_an_option(typed: str, meant: str) -> None:
    assert spread(typed.split(), ("--between", "--and")) == meant.split()


def test_metrics_and_options_have_one_syntax_on_every_command() -> None:
    """One spelling and one help text, taken from one place."""

    def commands(group: Any) -> Any:
        for name, click_command in group.commands.items():
            yield from commands(click_command) if hasattr(click_command, "commands") else [(name, click_command)]

    declared = {
        name: {option.opts[0]: (option.opts[:2], option.metavar, option.help) for option in click_command.params}
        for name, click_command in commands(command())
        if any("--metrics" in option.opts for option in click_command.params)
    }
    assert set(declared) == {"score", "explain", "evaluate", "compare", "respond", "serve", "mcp", "reference"}
    for name, own in declared.items():
        assert own["--metrics"][:2] == (["--metrics", "-m"], "NAME,..."), name
        assert own["--option"] == declared["score"]["--option"], name
    assert declared["score"]["--option"][:2] == (["--option", "-O"], "METRIC.NAME=VALUE")


# A server that is not there, and URLs that are none: one sentence, soon.


@pytest.mark.parametrize(("url", "status"), [("bolt://127.0.0.1:9", 1), ("http://localhost", 2), ("bolt://[", 2), ("", 2)])
def test_no_server(tacit: Tacit, url: str, status: int) -> None:
    for words in (["info", url], ["hops", url, "dog", "bone"], ["cypher", url, "RETURN 1 AS one"]):
        outcome = tacit(*words, "--user", "neo4j", "--password", "secret-word")
        assert outcome.status == status
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
        assert "secret-word" not in outcome.err


def test_credentials_reach_the_server_but_not_later_commands(tacit: Tacit, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[Any, ...]] = []

    def refuse(*credentials: Any) -> None:
        requests.append(credentials)
        raise GraphUnavailable("nobody is there")

    for name in ("NEO4J_USERNAME", "NEO4J_USER", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tacit.graph.neo4j.Neo4jGraph", refuse)
    url = "bolt://localhost:9"
    tacit("hops", url, "dog", "bone", "--user", "me", "--password", "secret", "--database", "other")
    tacit("info", url, "--user", "you")
    tacit("check", url, "--database", "third")
    tacit("info", url)
    assert requests == [
        (url, *credentials)
        for credentials in (("me", "secret", "other"), ("you", None, None), (None, None, "third"), (None,) * 3)
    ]

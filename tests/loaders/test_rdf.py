"""RDF in and out: labels, mappings, literals, broken documents, and export that reads back as the same assertions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError, LoadError
from tacit.graph.model import Assertion, QueryResult
from tacit.graph.names import concept_uri, event_uri
from tacit.loaders import read_rdf, write_rdf, write_result_rdf
from tacit.loaders.rdf import RdfReader

NT = """\
# a comment
<http://ex.org/Dog> <http://ex.org/isA> <http://ex.org/HouseAnimal> .
<http://ex.org/x1> <http://www.w3.org/2004/02/skos/core#broader> <http://ex.org/Dog> .
<http://ex.org/x1> <http://www.w3.org/2000/01/rdf-schema#label> "Hund"@de .
<http://ex.org/x1> <http://www.w3.org/2000/01/rdf-schema#label> "Little puppy"@en-GB .
<http://ex.org/x1> <http://ex.org/eats> "dog food"@en .
<http://ex.org/x1> <http://ex.org/age> "2"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://ex.org/x1> <http://ex.org/owner> _:b1 .
<http://conceptnet.io/c/en/dog/n> <http://conceptnet.io/r/UsedFor> <http://conceptnet.io/c/en/hunting> .
"""

TURTLE = """\
@prefix ex: <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:Dog ex:isA ex:HouseAnimal .
ex:x1 skos:broader ex:Dog ; rdfs:label "Hund"@de, "Little puppy"@en-GB ; ex:eats "dog food"@en ; ex:age 2 ; ex:owner [] .
<http://conceptnet.io/c/en/dog/n> <http://conceptnet.io/r/UsedFor> <http://conceptnet.io/c/en/hunting> .
"""

TRIPLES = {
    ("/c/en/dog", "isA", "/c/en/house_animal"),
    ("/c/en/little_puppy", "broader", "/c/en/dog"),
    ("/c/en/dog", "UsedFor", "/c/en/hunting"),
}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> tuple[set[tuple[str, str, str]], RdfReader]:
    reader = read_rdf(path, **options)
    rows = list(reader)
    report = reader.report
    assert report.kept == len(rows)
    assert report.read == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())
    return {(row.head, row.relation, row.tail) for row in rows}, reader


@pytest.fixture(params=["nt", "ttl", "rdf"])
def document(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"a.{request.param}"
    if request.param == "rdf":
        rdflib.Graph().parse(data=TURTLE, format="turtle").serialize(path, format="xml")
        return path
    return write(path, NT if request.param == "nt" else TURTLE)


def test_a_document_reads_alike_in_every_format(document: Path) -> None:
    triples, reader = read(document)
    assert triples == TRIPLES
    dropped = {reason: count for reason, count in reader.report.dropped.items() if "comment" not in reason}
    assert dropped == {"label": 2, "literal": 2, "blank node": 1}
    rows = list(read_rdf(document))
    assert {row.head_sense for row in rows if row.relation == "UsedFor"} == {"n"}
    assert {row.source for row in rows} == {"rdf"}


def test_literals_and_languages(document: Path) -> None:
    triples, _ = read(document, literals=True, language="de")
    assert triples >= {("/c/de/hund", "eats", "/c/en/dog_food"), ("/c/de/hund", "age", "/c/de/2")}


@pytest.mark.parametrize("kind", ["dict", "toml", "json"])
def test_mappings(document: Path, tmp_path: Path, kind: str) -> None:
    table = {"http://www.w3.org/2004/02/skos/core#broader": "IsA", "http://ex.org/isA": "", "*": ""}
    mapping: Any = table
    if kind == "toml":
        mapping = write(tmp_path / "m.toml", "[predicates]\n" + "".join(f'"{k}" = "{v}"\n' for k, v in table.items()))
    elif kind == "json":
        mapping = write(tmp_path / "m.json", json.dumps(table))
    triples, reader = read(document, mapping=mapping)
    assert triples == {("/c/en/little_puppy", "IsA", "/c/en/dog")}
    assert reader.entry().options["mapping"] == table


@pytest.mark.parametrize(
    "mapping",
    [{"http://a": "Is A"}, {"http://a": 7}, {"*": "IsA"}, "missing.toml", "bad.toml", "bad.json", "list.json"],
)
def test_bad_mappings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapping: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bad.toml", "= 7")
    write(tmp_path / "bad.json", "{")
    write(tmp_path / "list.json", "[1]")
    with pytest.raises(InputError):
        read_rdf(write(tmp_path / "a.nt", NT), mapping=mapping)


@pytest.mark.parametrize(
    ("name", "format", "good"),
    [
        ("a.nt", None, True),
        ("a.nt.gz", None, True),
        ("a", "N-Triples", True),
        ("a", None, False),
        ("a.nt", "json-ld", False),
        ("a.csv", None, False),
    ],
)
def test_formats(tmp_path: Path, name: str, format: str | None, good: bool) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(NT.encode()) if name.endswith("gz") else NT.encode())
    if good:
        assert read(path, format=format)[0] == TRIPLES
    else:
        with pytest.raises(InputError, match="turtle, nt or xml"):
            read_rdf(path, format=format)


@pytest.mark.parametrize(
    "line",
    [
        "garbage", "<http://a> <http://b> .", "<http://a> <http://b> <http://c>", '<http://a> "b" <http://c> .', "\0",
        '<http://a> <http://b> "c .', '<http://a> <http://b> "\\U99999999" .', "<no scheme> <http://b> <http://c> .",
        "<http://a> <http://b> <http://c> . <http://d>",
    ],
)  # fmt: skip
def test_broken_ntriples_lines(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "a.nt", NT + line + "\n" + "<http://ex.org/a> <http://ex.org/b> <http://ex.org/c> .\n")
    triples, reader = read(path)
    assert triples == TRIPLES | {("/c/en/a", "b", "/c/en/c")}
    assert [(reject.line) for reject in reader.report.rejects] == [10]
    with pytest.raises(LoadError, match=r"a\.nt:10: "):
        list(read_rdf(path, strict=True))


def test_ill_typed_literals_and_odd_iris_log_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(
        tmp_path / "a.nt",
        '<http://a/x> <http://a/b> "x"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        "<http://a/x{y}> <http://a/b> <http://a/c> .\n",
    )
    assert read(path, literals=True)[0] == {("/c/en/x", "b", "/c/en/x"), ("/c/en/x{y}", "b", "/c/en/c")}
    assert not caplog.records


def test_relations_with_the_names_of_links_are_rejected(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nt", NT + "<http://ex.org/a> <http://ex.org/Mentions> <http://ex.org/c> .\n")
    triples, reader = read(path)
    assert triples == TRIPLES
    [reject] = reader.report.rejects
    assert (reject.line, reject.reason) == (10, "relation with a name that tacit keeps for links")


@pytest.mark.parametrize("name", ["a.ttl", "cut.ttl", "a.rdf", "cut.rdf"])
def test_nothing_of_a_document_with_a_syntax_error_is_read(tmp_path: Path, name: str) -> None:
    if name.endswith(".ttl"):
        text, error = TURTLE, "ex:Dog ex:isA ; ; ]\n"
    else:
        text = rdflib.Graph().parse(data=TURTLE, format="turtle").serialize(format="xml")
        text, error = text.replace("</rdf:RDF>", ""), "</rdf:Whatever>"
    broken = text[: len(text) * 2 // 3] if name.startswith("cut") else text + error
    line = "" if name == "cut.ttl" else f":{broken.rstrip().count(chr(10)) + 1}"  # rdflib does not say where Turtle ends early
    path = write(tmp_path / name, broken)
    with pytest.raises(LoadError, match=rf"{name}{line}: syntax error, after which the rest cannot be read, so nothing"):
        next(read_rdf(path))


def test_external_entities_are_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "the secret")
    document = (
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:ex="http://ex.org/"><rdf:Description rdf:about="http://ex.org/a"><ex:says>&e;</ex:says></rdf:Description></rdf:RDF>'
    )
    assert not any("secret" in triple[2] for triple in read(write(tmp_path / "a.rdf", document), literals=True)[0])


# ---- export

_texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
_names = _texts.filter(lambda text: text.replace("/", " ").replace("_", " ").strip() != "")


def _named(make: Any) -> st.SearchStrategy[str]:
    def attempt(text: str) -> str | None:
        try:
            return str(make(text))
        except InputError:
            return None

    return _names.map(attempt).filter(lambda uri: uri is not None)  # type: ignore[return-value]


_concepts = _named(concept_uri) | st.sampled_from(["/c/en/silo\\", "/c/ja/犬", "/c/en/100%"])
_ends = st.tuples(_concepts, _concepts) | st.tuples(_named(event_uri), _named(event_uri))
_assertions = st.builds(
    lambda ends, **fields: Assertion(head=ends[0], tail=ends[1], **fields),
    ends=_ends,
    relation=st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True),
    weight=st.floats(0, 1e6) | st.sampled_from([0.1, 1.5849625007211562, 1e-300]),
    source=st.sampled_from(["conceptnet", "comet:bart"]),
    dataset=_texts | st.just(""),
    license=st.sampled_from(["", "cc:by/4.0"]),
    contributors=_texts | st.sampled_from(["", 'a "b"\n\tc\\']),
    head_sense=st.sampled_from(["", "n", "n/wn/animal"]),
    tail_sense=st.sampled_from(["", "v"]),
    rank=st.none() | st.integers(0, 9),
    score=st.none() | st.floats(-1e9, 0),
)


@pytest.mark.parametrize("format", ["nt", "turtle", "xml"])
def test_exported_rdf_is_read_back(tmp_path_factory: pytest.TempPathFactory, format: str) -> None:
    folder = tmp_path_factory.mktemp("rdf")

    @settings(max_examples=30, deadline=None)
    @given(st.lists(_assertions, max_size=6))
    def check(rows: list[Assertion]) -> None:
        path = folder / "out"
        assert write_rdf(rows, path, format) == len(rows)
        reader = read_rdf(path, format=format, strict=True)
        assert sorted(reader, key=repr) == sorted(rows, key=repr)

    check()


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.rdf"])
def test_rdflib_reads_plain_edges_and_labels(tmp_path: Path, name: str) -> None:
    rows = [
        Assertion("/c/en/hot_dog", "IsA", "/c/en/food", 2.0),
        Assertion("/c/en/hot_dog", "IsA", "/c/en/food", 1.0, dataset="/d/x"),
    ]
    write_rdf(iter(rows), tmp_path / name)
    graph = rdflib.Graph().parse(tmp_path / name)
    dog, food = rdflib.URIRef("http://conceptnet.io/c/en/hot_dog"), rdflib.URIRef("http://conceptnet.io/c/en/food")
    assert (dog, rdflib.URIRef("urn:tacit:relation:IsA"), food) in graph
    assert (dog, rdflib.RDFS.label, rdflib.Literal("hot dog", lang="en")) in graph
    assert len(set(graph.subjects(rdflib.RDF.type, rdflib.RDF.Statement))) == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_failed_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.nt", "old")

    def rows() -> Any:
        yield Assertion("/c/en/a", "IsA", "/c/en/b")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rdf(rows(), path)
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.nt"]
    with pytest.raises(InputError, match="cannot be written"):
        write_rdf([], tmp_path / "no" / "folder" / "a.nt")


def test_query_results_with_edges(tmp_path: Path) -> None:
    rows = (("/c/en/dog", "IsA", {"uri": "/c/en/animal", "text": "animal"}, 2), ("/e/x", "xWant", "/e/y", 1.5))
    assert write_result_rdf(QueryResult(("head", "relation", "tail", "weight"), rows), tmp_path / "a.nt") == 2
    assert [row[:4] for row in read_rdf(tmp_path / "a.nt")] == [
        ("/c/en/dog", "IsA", "/c/en/animal", 2.0),
        ("/e/x", "xWant", "/e/y", 1.5),
    ]


@pytest.mark.parametrize("name", ["a.nt", "a.ttl", "a.rdf"])
@pytest.mark.parametrize("head", ["dog", None, "/c/en/dog"])
def test_query_results_without_edges(tmp_path: Path, name: str, head: Any) -> None:
    columns = ("head", "relation", "tail", "a b", "flag", "list", "missing")
    result = QueryResult(columns, ((head, "not a relation", 'x\n"y', 1.5, True, [1, {"k": None}], None),))
    assert write_result_rdf(result, tmp_path / name) == 1
    graph = rdflib.Graph().parse(tmp_path / name)
    (row,) = graph.subjects(rdflib.RDF.type, rdflib.URIRef("urn:tacit:vocabulary:Row"))
    values = {str(predicate).rsplit(":", 1)[1]: value for _, predicate, value in graph.triples((row, None, None))}
    assert str(values["tail"]) == 'x\n"y'
    assert float(str(values["a_b"])) == 1.5
    assert bool(values["flag"]) is True
    assert json.loads(str(values["list"])) == [1, {"k": None}]
    assert "missing" not in values
    assert str(values.get("head")) == {"dog": "dog", None: "None", "/c/en/dog": "http://conceptnet.io/c/en/dog"}[head]

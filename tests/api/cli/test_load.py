"""Loading, looking at, indexing and writing out a graph through the command line."""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tacit.api.terminal import progress
from tacit.cypher import Query
from tacit.graph import GraphError, open_graph, open_index
from tacit.graph.embedded.engine import Engine
from tacit.graph.index.open import vectors_folder
from tacit.loaders import all_sources, read_rdf
from tacit.loaders.conceptnet import ConceptNetReader

Tacit = Callable[..., Any]

LINE = '/a/[/r/{r}/,/c/{l}/{h}/,/c/{l}/{t}/]\t/r/{r}\t/c/{l}/{h}\t/c/{l}/{t}\t{{"dataset": "{d}", "weight": {w}}}\n'


def line(head: str, relation: str, tail: str, weight: float = 1.0, language: str = "en", dataset: str = "/d/a") -> str:
    """One line in ConceptNet's format."""
    return LINE.format(h=head, r=relation, t=tail, w=weight, l=language, d=dataset)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A few lines that the filters tell apart, and two that nobody can read."""
    path = tmp_path / "assertions.csv.gz"
    rows = [
        line("dog", "IsA", "animal", 2.0),
        line("dog", "HasA", "fur", 0.5),
        "no assertion\n",
        line("chien", "IsA", "animal", 2.0, "fr"),
        line("cat", "IsA", "animal", 3.0, dataset="/d/b"),
        "\t\t\t\t\n",
    ]
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(rows)
    return path


@pytest.mark.parametrize(
    ("options", "heads"),
    [
        ([], {"dog IsA", "dog HasA", "cat IsA"}),
        (["--language", "fr"], {"chien IsA"}),
        (["--language", "fr", "--language", "en"], {"dog IsA", "dog HasA", "cat IsA", "chien IsA"}),
        (["--language", "all"], {"dog IsA", "dog HasA", "cat IsA", "chien IsA"}),
        (["--relation", "HasA"], {"dog HasA"}),
        (["--min-weight", "1"], {"dog IsA", "cat IsA"}),
        (["--dataset", "/d/b"], {"cat IsA"}),
    ],
)
def test_filters(tacit: Tacit, file: Path, tmp_path: Path, options: list[str], heads: set[str]) -> None:
    outcome = tacit("load", "conceptnet", file, "--into", tmp_path / "g", *options, "--json")
    report = outcome.json["files"][0]
    assert report["read"] == 6
    assert report["kept"] == report["new"] == len(heads)
    assert report["read"] == report["kept"] + sum(report["dropped"].values()) + sum(report["rejected"].values())
    assert [(reject["file"], reject["line"]) for reject in report["rejects"]] == [(str(file), 3), (str(file), 6)]
    with open_graph(str(tmp_path / "g")) as graph:
        assert {f"{row.head.split('/')[-1]} {row.relation}" for row in graph.assertions()} == heads
        assert outcome.json["digest"] == graph.manifest().digest


def test_text_report(tacit: Tacit, file: Path, tmp_path: Path) -> None:
    outcome = tacit("load", "conceptnet", file, "--into", tmp_path / "g")
    assert outcome.status == 0
    assert f"{file}:3: " in outcome.err
    assert f"{file}:6: " in outcome.err
    assert "digest" in outcome.out
    row = next(row for row in outcome.out.splitlines() if row.startswith(str(file)))
    assert row.split()[1:7] == ["6", "3", "1", "2", "3", "0"]


def test_strict_ends_at_the_first_bad_line(tacit: Tacit, file: Path, tmp_path: Path) -> None:
    outcome = tacit("load", "conceptnet", file, "--into", tmp_path / "g", "--strict")
    assert outcome.status == 2
    assert outcome.out == ""
    assert f"{file}:3: " in outcome.err
    assert outcome.err.count("\n") == 1


def test_loads_add_up_and_can_be_repeated(tacit: Tacit, sample: Path, tmp_path: Path, sample_graph: str) -> None:
    graph = tmp_path / "g"
    first = tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph, "--json").json
    second = tacit("load", "atomic2020", sample / "atomic2020.tsv", "--into", graph, "--json").json
    again = tacit("load", "conceptnet", sample / "conceptnet.csv", sample / "conceptnet.csv", "--into", graph, "--json").json
    assert first["digest"] != second["digest"] == again["digest"]
    assert [(r["new"], r["duplicate"]) for r in again["files"]] == [(0, r["kept"]) for r in again["files"]]
    assert again["assertions"] == first["files"][0]["new"] + second["files"][0]["new"]
    info = tacit("info", graph, "--json").json
    assert [entry["loader"] for entry in info["loads"]] == ["conceptnet", "atomic2020"]
    assert info["digest"] == tacit("info", sample_graph, "--json").json["digest"]


def test_keep_none(tacit: Tacit, tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text("PersonX eats\txReact\tnone\nPersonX eats\txReact\tfull\n")
    without = tacit("load", "atomic2020", file, "--into", tmp_path / "a", "--json").json
    with_none = tacit("load", "atomic2020", file, "--into", tmp_path / "b", "--keep-none", "--json").json
    assert (without["assertions"], with_none["assertions"]) == (1, 2)


def test_rdf_with_a_mapping(tacit: Tacit, tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("@prefix e: <http://e.org/> . e:dog e:kindOf e:animal ; e:skip e:this .")
    (tmp_path / "m.json").write_text(json.dumps({"http://e.org/kindOf": "IsA", "*": ""}))
    outcome = tacit("load", "rdf", tmp_path / "a.ttl", "--into", tmp_path / "g", "--mapping", tmp_path / "m.json", "--json")
    assert outcome.json["assertions"] == 1
    assert tacit("neighbours", tmp_path / "g", "dog", "--relation", "IsA", "--json").json[0]["text"] == "animal"


LINKS = "thing,link,other\nhamster,kind of,pet\ncat,calms,child\nx,y\n"
LINKS_MAPPING = """
[columns]
head = "thing"
relation = "link"
tail = "other"
[relations.map]
"kind of" = "IsA"
[relations.add.calms]
meaning = "A calms B"
"""


def test_triples_by_a_mapping(tacit: Tacit, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(LINKS.replace("x,y\n", "x,,z\n"))
    (tmp_path / "m.toml").write_text(LINKS_MAPPING)
    command = ("load", "triples", tmp_path / "links.csv", "--into", tmp_path / "g", "--mapping", tmp_path / "m.toml", "--json")
    first = tacit(*command).json
    report = first["files"][0]
    assert (report["read"], report["kept"], report["new"], report["rejected"]) == (3, 2, 2, {"no relation": 1})
    assert [(entry["line"], entry["excerpt"]) for entry in report["rejects"]] == [(4, "x  z")]
    again = tacit(*command).json
    assert (again["files"][0]["new"], again["files"][0]["duplicate"], again["digest"]) == (0, 2, first["digest"])
    info = tacit("info", tmp_path / "g")
    assert "calms" in info.out
    assert "A calms B" in info.out
    [load] = tacit("info", tmp_path / "g", "--json").json["loads"]
    assert load["relations"] == [{"name": "calms", "meaning": "A calms B", "symmetric": False, "inverse": ""}]
    assert [entry["text"] for entry in tacit("neighbours", tmp_path / "g", "cat", "--relation", "calms", "--json").json] == [
        "child"
    ]
    assert tacit("neighbours", tmp_path / "g", "cat", "--relation", "soothes").status == 2


def test_unknown_relations_leave_no_graph(tacit: Tacit, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("thing,link,other\na,IsA,b\ncat,calms,child\n")
    (tmp_path / "m.toml").write_text(LINKS_MAPPING.partition("[relations.map]")[0])
    outcome = tacit(
        "load", "triples", tmp_path / "links.csv", "--into", tmp_path / "g", "--mapping", tmp_path / "m.toml", "--quiet"
    )
    assert outcome.status == 2
    assert outcome.err.startswith(f"tacit: {tmp_path}/links.csv has a relation that tacit does not know: 'calms' (1 row, ")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "g").exists()


def test_triples_by_a_mapping_that_ships_into_neo4j(tacit: Tacit, tmp_path: Path, neo4j_url: str) -> None:
    line = {"head": "X eats", "relation": "xWant", "tail": "to rest", "split": "train", "p_valid_model": 0.75}
    (tmp_path / "x.jsonl").write_text("".join(json.dumps({**line, "p_valid_model": score}) + "\n" for score in (0.75, 0.25)))
    for new in (1, 0):
        report = tacit("load", "triples", tmp_path / "x.jsonl", "--into", neo4j_url, "--mapping", "atomic10x", "--json").json
        assert (report["files"][0]["new"], report["files"][0]["dropped"]) == (new, {"p_valid_model below 0.5": 1})
    [row] = tacit("tails", neo4j_url, "PersonX eats", "--json").json
    assert (row["relation"], row["tail_text"], row["weight"], row["source"]) == ("xWant", "to rest", 0.75, "atomic10x")


def test_info(tacit: Tacit, sample_graph: str) -> None:
    info = tacit("info", sample_graph, "--json").json
    with open_graph(sample_graph) as graph:
        counts = graph.counts()
    assert info["concepts"] == counts.concepts
    assert info["events"] == counts.events
    assert info["assertions"] == counts.assertions == sum(info["relations"].values())
    assert list(info["relations"].items()) == list(counts.relations.items())
    text = tacit("info", sample_graph).out
    assert info["digest"] in text
    assert f"{info['assertions']:,}" in text
    assert "conceptnet.csv" in text


def test_info_names_a_load_that_was_killed(tacit: Tacit, sample: Path, tmp_path: Path) -> None:
    graph = tmp_path / "g"
    command = ("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    assert tacit(*command).status == 0
    assert tacit("info", graph, "--json").json["unfinished"] == []
    (graph / "graph.lbug.loading.spool").mkdir()  # what a killed load leaves
    (graph / "graph.lock").write_text("conceptnet other.csv")
    assert tacit("info", graph, "--json").json["unfinished"] == ["conceptnet other.csv"]
    assert "conceptnet other.csv: this load was killed and wrote nothing to the graph; run it again" in tacit("info", graph).err
    with (graph / "graph.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert tacit("info", graph, "--json").json["unfinished"] == [], "it is running"
    assert tacit(*command).status == 0
    assert tacit("info", graph, "--json").json["unfinished"] == []
    assert sorted(path.name for path in graph.iterdir()) == ["graph.lbug", "graph.lbug.sums", "graph.lock"]


@pytest.mark.neo4j
def test_info_names_a_load_that_stopped_halfway_on_neo4j(
    tacit: Tacit, sample: Path, neo4j_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("load", "conceptnet", sample / "conceptnet.csv", "--into", neo4j_url)
    monkeypatch.setattr("tacit.graph.neo4j.load.BATCH", 100)
    begun = ConceptNetReader.__next__

    def interrupted(self: ConceptNetReader) -> Any:
        if self.report.kept > 250:
            raise KeyboardInterrupt
        return begun(self)

    with monkeypatch.context() as patch:
        patch.setattr(ConceptNetReader, "__next__", interrupted)
        patch.setattr(ConceptNetReader, "__iter__", lambda self: self)
        stopped = tacit(*command)
    assert stopped.status == 130
    assert f"stopped; {neo4j_url} has the rows that were sent so far; run the same command again to add the rest" in stopped.err
    facts = tacit("info", neo4j_url, "--json").json
    assert facts["unfinished"] == [f"conceptnet {sample / 'conceptnet.csv'}"]
    assert facts["assertions"] > 0
    assert "was interrupted, and some of its rows are in the graph" in tacit("info", neo4j_url).err
    assert tacit(*command).status == 0
    assert tacit("info", neo4j_url, "--json").json["unfinished"] == []


def test_an_interrupted_load_leaves_nothing_and_says_how_to_continue(
    tacit: Tacit, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.graph.embedded.load._write", interrupt)
    graph = tmp_path / "new" / "g"
    outcome = tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    assert outcome.status == 130
    assert f"stopped; nothing of the current file was written to {graph}; run the same command again" in outcome.err
    assert not graph.parent.exists()


def test_a_full_disk_is_one_sentence_and_leaves_no_temporary_file(
    tacit: Tacit, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tmp_path / "g"
    assert tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph).status == 0
    before = (graph / "graph.lbug").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def engine_is_full(self: Engine, *_: object) -> None:
        raise GraphError(f"the query copy_nodes failed in {self.display_path} (IO exception: No space left on device)")

    for target, name, failure in ((pa.ipc, "new_stream", full), (shutil, "copyfile", full), (Engine, "append", engine_is_full)):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, failure)
            outcome = tacit("load", "atomic2020", sample / "atomic2020.tsv", "--into", graph)
        assert outcome.status == 1
        assert outcome.err.startswith(f"tacit: the disk of {graph} is full (")
        assert "free some space there and run the load again" in outcome.err
        assert "loading" not in outcome.err
        assert outcome.err.count("\n") == 1
        assert sorted(path.name for path in graph.iterdir()) == ["graph.lbug", "graph.lbug.sums", "graph.lock"]
        assert (graph / "graph.lbug").read_bytes() == before


def test_no_error_names_a_temporary_file(tacit: Tacit, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Engine, *_: object) -> None:
        self.rows(Query("copy_nodes", f"COPY Concept FROM '{self.file}'", "", ()))

    monkeypatch.setattr(Engine, "append", fail)
    outcome = tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", tmp_path / "g")
    assert outcome.status == 1
    assert str(tmp_path / "g") in outcome.err
    assert ".loading" not in outcome.err
    assert not (tmp_path / "g").exists()


def test_index_is_built_once(tacit: Tacit, sample: Path, tmp_path: Path) -> None:
    graph = tmp_path / "g"
    tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    assert tacit("info", graph, "--json").json["index"] is None
    assert "none; tacit index" in tacit("info", graph).out
    built = tacit("index", graph, "--json")
    assert "built the index" in built.err
    again = tacit("index", graph, "--json")
    assert again.err == ""
    assert again.json == built.json
    assert tacit("info", graph, "--json").json["index"] == {"path": built.json["index"], "bytes": built.json["bytes"]}
    assert built.json["index"] in tacit("index", graph).out


def test_check_says_what_is_damaged(tacit: Tacit, sample: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    folder = Path(tacit("index", graph, "--json").json["index"])
    sound = tacit("check", graph, "--json").json
    assert sound["sound"] is True
    assert [(part["name"], part["sound"], part["problem"], part["note"]) for part in sound["parts"]] == [
        (name, True, None, "") for name in ("file", "assertions", "index")
    ]
    (folder / "names.marisa").write_bytes((folder / "names.marisa").read_bytes()[::-1])
    outcome = tacit("check", graph)
    assert outcome.status == 2
    assert "names.marisa is damaged (its bytes from 0 on do not match their checksum); delete" in outcome.err
    database = graph / "graph.lbug"
    data = bytearray(database.read_bytes())
    data[len(data) // 2] ^= 1
    database.write_bytes(data)
    outcome = tacit("check", graph, "--json")
    assert outcome.status == 2
    report = json.loads(outcome.out)
    assert report["sound"] is False
    assert [(part["name"], part["sound"]) for part in report["parts"]] == [("file", False)]
    assert "load the graph again into a new folder" in report["parts"][0]["problem"]
    for words in (
        ("info", graph),
        ("neighbours", graph, "dog"),
        ("load", "conceptnet", sample / "conceptnet.csv", "--into", graph),
    ):
        outcome = tacit(*words)
        assert outcome.status == 1
        assert f"{database} is damaged" in outcome.err
    assert tacit("check", tmp_path / "nothing").status == 2


def test_check_compares_the_assertions_with_the_manifest(tacit: Tacit, sample: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    engine = Engine(graph / "graph.lbug", writable=True)
    engine.command("MATCH (a:Concept {text: 'dog'})-[r:IsA]->() SET r.weight = 77.0")
    engine.close()
    (graph / "graph.lbug.sums").unlink()
    outcome = tacit("check", graph, "--json")
    assert outcome.status == 2
    file, assertions = json.loads(outcome.out)["parts"]
    assert "has no checksums beside it" in file["note"]
    assert "do not match the checksum in its manifest" in assertions["problem"]
    outcome = tacit("hops", graph, "dog", "bone")
    assert outcome.status == 1
    assert "do not match the checksum in its manifest" in outcome.err


def test_index_with_vectors(tacit: Tacit, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = tmp_path / "numberbatch.txt"
    vectors.write_text("3 2\n/c/en/dog 0.6 0.8\n/c/en/cat 1.0 0.0\n/c/en/flibbertigibbet 0.0 1.0\n")
    outcome = tacit("index", sample_graph, "--vectors", vectors, "--json")
    assert outcome.json["vectors"]["found"] == 2
    assert outcome.json["vectors"]["dimensions"] == 2
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)  # as if it had taken long
    answer = tacit("index", sample_graph, "--vectors", vectors)
    assert f"{vectors}: 100% (70 bytes of 70 bytes), 3 vectors" in answer.err
    assert f"2 of {outcome.json['vectors']['concepts']:,} concepts, 2 numbers each" in answer.out
    assert tacit("index", sample_graph, "--vectors", vectors, "--quiet").err == ""


def test_graphs_with_a_shared_index_have_their_own_vectors(
    sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))  # an index of an equal graph in the user's cache would be taken
    shutil.copytree(sample_graph, tmp_path / "copy")
    folders = []
    for path in (sample_graph, tmp_path / "copy"):
        with open_graph(path) as graph:
            with open_index(graph) as own:
                assert vectors_folder(own) == own.directory / "vectors"
            with open_index(graph, directory=tmp_path / "shared") as shared:
                folders.append(vectors_folder(shared))
    assert folders[0] != folders[1]
    assert folders[0].parent == folders[1].parent


@pytest.mark.parametrize("format", ["turtle", "nt", "xml"])
def test_rdf_export_holds_the_graph(tacit: Tacit, sample_graph: str, tmp_path: Path, format: str) -> None:
    out = tmp_path / f"out.{format}"
    written = tacit("export", sample_graph, out, "--format", format, "--json").json["written"]
    with open_graph(sample_graph) as graph:
        expected = {(row.head, row.relation, row.tail) for row in graph.assertions()}
    assert written >= len(expected)
    assert {(row.head, row.relation, row.tail) for row in read_rdf(out, format=format)} == expected


def test_the_suffix_of_an_export_chooses_its_format(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    for name, format in (("g.ttl", "turtle"), ("g.nt.gz", "nt"), ("g.rdf", "xml"), ("g.jsonl", "jsonl"), ("g", "jsonl")):
        assert tacit("export", sample_graph, tmp_path / name, "--json").json["format"] == format
    assert (tmp_path / "g.ttl").read_text(encoding="utf-8").startswith("@prefix")
    assert tacit("export", sample_graph, tmp_path / "h.ttl", "--format", "jsonl", "--json").json["format"] == "jsonl"


@pytest.mark.parametrize("suffix", ["jsonl", "nt", "ttl"])
def test_an_export_with_the_name_of_a_gzip_file_is_one(tacit: Tacit, sample_graph: str, tmp_path: Path, suffix: str) -> None:
    plain, packed = tmp_path / f"g.{suffix}", tmp_path / f"g.{suffix}.gz"
    for out in (plain, packed):
        assert tacit("export", sample_graph, out).status == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_jsonl_export_holds_the_graph(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    outcome = tacit("export", sample_graph, out)
    rows = [json.loads(row) for row in out.read_text(encoding="utf-8").splitlines()]
    with open_graph(sample_graph) as graph:
        expected = sorted((row.head, row.relation, row.tail, row.weight) for row in graph.assertions())
    assert sorted((row["head"], row["relation"], row["tail"], row["weight"]) for row in rows) == expected
    assert outcome.out == f"{len(expected)} assertions written to {out}\n"


def test_an_export_to_standard_output(tacit: Tacit, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tacit("export", sample_graph, "out.nt", "--format", "nt")
    outcome = tacit("export", sample_graph, "-", "--format", "nt")
    assert outcome.out == (tmp_path / "out.nt").read_text(encoding="utf-8")
    assert outcome.err.endswith(" assertions written to -\n")
    for wrong in ("--json", "--format=csv-import"):
        assert tacit("export", sample_graph, "-", wrong).status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out.nt"]


@pytest.mark.parametrize("format", ["jsonl", "nt", "turtle"])
def test_an_export_into_a_pipe(sample_graph: str, tmp_path: Path, format: str) -> None:
    fifo, out = tmp_path / "fifo", "/dev/stdout"
    os.mkfifo(fifo)
    program = [sys.executable, "-c", "from tacit.api.main import main; main()", "export", sample_graph]
    piped = subprocess.run([*program, out, "--format", format], capture_output=True, check=True)
    assert piped.stderr.decode().endswith(" assertions written to /dev/stdout\n")
    with subprocess.Popen([*program, fifo, "--format", format], stdout=subprocess.PIPE) as process:
        content = fifo.read_bytes()
    assert process.returncode == 0
    assert fifo.is_fifo()
    assert len(content.splitlines()) == len(piped.stdout.splitlines()) > 100


def test_csv_import_export(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    tacit("export", sample_graph, tmp_path / "csv", "--format", "csv-import")
    assert any(path.suffix in (".csv", ".gz") for path in (tmp_path / "csv").iterdir())


def test_query_results_are_exported_as_rdf(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    query = "MATCH (a:Concept {text: $of})-[r:HasA]->(b:Concept) RETURN a.uri AS head, 'HasA' AS relation, b.uri AS tail"
    outcome = tacit("export", sample_graph, tmp_path / "q.nt", "--query", query, "--param", "of=dog", "--format", "nt", "--json")
    assert outcome.json["written"] == 1
    assert [(row.head, row.tail) for row in read_rdf(tmp_path / "q.nt")] == [("/c/en/dog", "/c/en/fur")]
    answer = tacit("export", sample_graph, tmp_path / "q.ttl", "--query", "MATCH (a:Concept) RETURN a.uri", "--limit", 3)
    assert "more than 3 rows" in answer.err
    for wrong in (["--query", query, "--format", "jsonl"], ["--param", "of=dog"]):
        assert tacit("export", sample_graph, tmp_path / "never", *wrong).status == 2
    assert not (tmp_path / "never").exists()


def test_sources_are_listed(tacit: Tacit) -> None:
    rows = tacit("sources", "--json").json
    assert {row["name"] for row in rows} >= {"conceptnet", "atomic2020", "numberbatch"}
    text = tacit("sources").out
    assert all(row["url"] in text for row in rows)


def test_fetch_offline_is_one_sentence(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setattr("tacit.loaders.download.time.sleep", lambda _: None)  # between attempts
    outcome = tacit("fetch", "atomic2020", "--directory", tmp_path)
    assert outcome.status == 1
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err


def test_fetch_says_whether_a_file_was_verified(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "numberbatch-en-19.08.txt.gz"
    file.write_bytes(gzip.compress(b"2 25\n/c/en/dog" + b" 0.5" * 25 + b"\n"))
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    outcome = tacit("fetch", "numberbatch", "--directory", tmp_path, "--quiet")  # it is there already
    assert outcome.out == f"{file}\n"
    assert outcome.err.startswith(f"not verified: no checksum of {file.name} is published; the sha256 of this copy is {sha256}")
    known = {"numberbatch": replace(all_sources()["numberbatch"], sha256=sha256)}
    monkeypatch.setattr("tacit.loaders.download.all_sources", lambda: known)
    assert tacit("fetch", "numberbatch", "--directory", tmp_path).err == f"verified: {file.name} has the sha256 {sha256}\n"


def test_fetch_judge_puts_the_model_where_the_metric_looks(tacit: Tacit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    row = next(row for row in tacit("metrics", "--json").json if row["name"] == "judgement")
    assert (row["ready"], row["get"]) == (False, "tacit fetch judge")
    model = b"a model"
    known = {"judge": replace(all_sources()["judge"], sha256=hashlib.sha256(model).hexdigest(), size=len(model))}
    monkeypatch.setattr("tacit.loaders.download.all_sources", lambda: known)
    requests: list[str] = []

    def answer(url: str, part: Path, _progress: object) -> None:
        requests.append(url)
        part.write_bytes(model)

    monkeypatch.setattr("tacit.loaders.download._attempt", answer)
    assert tacit("fetch", "judge").out == f"{tmp_path / 'models' / known['judge'].file}\n"
    assert requests == [known["judge"].url]
    assert next(row for row in tacit("metrics", "--json").json if row["name"] == "judgement")["ready"]

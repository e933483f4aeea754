"""The format detected in a wrong file, and the message of a reader that keeps nothing of it."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.loaders import read_atomic, read_conceptnet, read_rdf, read_triples
from tacit.loaders.formats import detect
from tacit.loaders.mapping import parse_mapping

CONCEPTNET = '/a/[/r/IsA/,/c/en/a/,/c/en/b/]\t/r/IsA\t/c/en/a\t/c/en/b\t{"weight": 1.0}\n'
ATOMIC = "PersonX eats\txWant\tto rest\nPersonX eats\txReact\tnone\n"
NT = "# a comment\n<http://a/x> <http://a/y> <http://a/z> .\n"


def read_cskg(path: Path) -> Any:
    columns = {"head": "node1", "relation": "relation", "tail": "node2"}
    return read_triples(path, parse_mapping({"name": "test", "columns": columns}))


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("a", "b")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (CONCEPTNET.encode(), "ConceptNet 5.7"),
        (b"\xef\xbb\xbf" + CONCEPTNET.encode(), "ConceptNet 5.7"),
        (ATOMIC.encode(), "ATOMIC-2020"),
        (b"head\trelation\ttail\n" + ATOMIC.encode(), "ATOMIC-2020"),
        (b"PersonX eats @@ xWant\tto rest| to sleep|\n", "ATOMIC-2020"),
        (b"PersonX eats @@ xWant [GEN]\n", "queries for a model"),
        (b"516782 300\n", "word vectors"),
        (b"dog " + b"0.5 -1e-3 " * 30 + b"\n", "word vectors"),
        (NT.encode(), "N-Triples"),
        (b"@prefix e: <http://e/> .\ne:a e:b e:c .\n", "Turtle"),
        (b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="x"></rdf:RDF>', "RDF/XML"),
        (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "HTML page"),
        (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', "error message of a download server"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n", "git lfs pull"),
        (b'{"turns": ["hello", "hi"]}\n{"turns": []}\n', "dialogues"),
        (b'{"a": 1}\n{"a": 2}\n', "JSON lines"),
        (b'[\n  {"a": 1}\n]\n', "JSON"),
        (b"head,relation,tail\na,b,c\n", "CSV table of 3 columns"),
        (b"a\tb\nc\td\n", "2 tab-separated columns; load it with: tacit load triples {file} --mapping FILE.toml --into GRAPH"),
        (
            b"id\tnode1\trelation\tnode2\tnode1;label\n",
            "CSKG (edges as KGTK); load it with: tacit load triples {file} --mapping cskg",
        ),
        (b'{"head": "", "relation": "", "tail": "", "split": "", "p_valid_model": 1}\n', "--mapping atomic10x"),
        (b"unique_id,story,1_specificNL,1_generalNL\na,b,c,d\n", "GLUCOSE"),
        (b"PAR1\0\0", "a Parquet file; load it with: tacit load triples"),
        (b"Once upon a time\nthere was a dog.\n", "plain text"),
        (gzip.compress(b"x", mtime=0), "gzip file inside"),
        (archive(), "zip archive"),
        (b"BZh91AY&SY", "bunzip2"),
        ("hello".encode("utf-16"), "UTF-16"),
        (bytes(range(256)) * 4, "binary"),
        (b"\x7fELF" + b"\0" * 100, "binary"),
    ],
)
def test_formats_are_detected_by_the_first_lines(head: bytes, words: str) -> None:
    kind = detect(head)
    assert kind is not None
    assert words in f"{kind.what}; {kind.advice}"


def test_html_is_not_taken_for_a_table(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("<html><body>Not found</body></html>")
    with (
        read_cskg(tmp_path / "file") as reader,
        pytest.raises(InputError, match=r"has no column .*; it looks like an HTML page, such"),
    ):
        reader.begin()


def test_an_empty_file_has_no_format() -> None:
    assert detect(b"") is None
    assert detect(b" \n\n") is None


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (read_conceptnet, ATOMIC, r"none of its 2 lines .*this looks like ATOMIC-2020 .*: tacit load atomic2020 \S*file --into"),
        (read_atomic, CONCEPTNET, "looks like ConceptNet 5.7 .*: tacit load conceptnet"),
        (read_conceptnet, CONCEPTNET.replace("/en/", "/de/"), r"was kept: 1 of its 1 rows were left out \(language 1\)"),
        (read_conceptnet, "", "is empty"),
        (read_atomic, "PersonX eats\txReact\tnone\n", r"left out \(none tail 1\); check the options$"),
        (lambda path: read_rdf(path, format="nt"), "@prefix a: <http://a/> .\na:b a:c a:d .\n", "--format turtle"),
        (lambda path: read_rdf(path, format="turtle"), '{"a": 1}', "syntax error.*looks like JSON$"),
        (read_cskg, "node1,relation,node2\n", r"is empty|none of its 0 lines has the expected format$"),
        (read_cskg, "{broken\n", r"line 1: not JSON \(.*\)\)$"),
    ],
)
def test_a_file_without_usable_rows_is_an_error(tmp_path: Path, read: Callable[[Path], Any], content: str, words: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with read(path) as reader, pytest.raises(LoadError, match=words) as caught:
        reader.begin()
    assert "\n" not in str(caught.value)

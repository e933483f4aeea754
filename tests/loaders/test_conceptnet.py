"""ConceptNet lines: what is kept, dropped and rejected, and why; compared with a check field by field on mutated lines."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.graph.model import Assertion
from tacit.loaders import read_conceptnet
from tacit.loaders.conceptnet import ConceptNetReader, relation_name

INFO = {
    "dataset": "/d/conceptnet/4/en",
    "license": "cc:by/4.0",
    "sources": [{"contributor": "/s/contributor/omcs/a"}],
    "weight": 2.0,
}


def line(relation: str = "/r/IsA", head: str = "/c/en/dog", tail: str = "/c/en/animal", info: Any = None, **changes: Any) -> str:
    extra = info if isinstance(info, str) else json.dumps(INFO | changes if info is None else info, ensure_ascii=False)
    return f"/a/[{relation}/,{head}/,{tail}/]\t{relation}\t{head}\t{tail}\t{extra}"


def write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"".join((text.encode() if isinstance(text, str) else text) + b"\n" for text in lines))
    return path


def read(path: Path, **options: Any) -> tuple[list[Assertion], ConceptNetReader]:
    """Read ``path``, and check that the account adds up."""
    reader = read_conceptnet(path, **options)
    rows = list(reader)
    report = reader.report
    assert report.read == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())
    assert report.kept == len(rows)
    assert len(report.rejects) == min(20, sum(report.rejected.values()))
    return rows, reader


def test_a_line_gives_all_fields(tmp_path: Path) -> None:
    rows, reader = read(write(tmp_path / "a.csv", line()))
    assert rows == [
        Assertion(
            "/c/en/dog", "IsA", "/c/en/animal", 2.0, "conceptnet", "/d/conceptnet/4/en", "cc:by/4.0", "/s/contributor/omcs/a"
        )
    ]
    entry = reader.entry()
    assert (entry.loader, entry.file, entry.options, entry.read, entry.kept) == (
        "conceptnet",
        "a.csv",
        {"languages": ["en"]},
        1,
        1,
    )
    assert reader.bytes_read == reader.bytes_total == (tmp_path / "a.csv").stat().st_size


@pytest.mark.parametrize(
    ("uri", "concept", "sense"),
    [
        ("/c/en/dog", "/c/en/dog", ""),
        ("/c/en/dog/n", "/c/en/dog", "n"),
        ("/c/en/dog/n/", "/c/en/dog", "n"),
        ("/c/en/dog/n/wn/animal", "/c/en/dog", "n/wn/animal"),
        ("/c/en/dog/n/wp/band/rock", "/c/en/dog", "n/wp/band/rock"),
        ("/c/en/silo\\", "/c/en/silo\\", ""),
        ("/c/en/日本", "/c/en/日本", ""),
    ],
)
def test_senses_fold_into_the_concept(tmp_path: Path, uri: str, concept: str, sense: str) -> None:
    rows, _ = read(write(tmp_path / "a.csv", line(head=uri), line(tail=uri)))
    assert [(row.head, row.head_sense) for row in rows] == [(concept, sense), ("/c/en/dog", "")]
    assert [(row.tail, row.tail_sense) for row in rows] == [("/c/en/animal", ""), (concept, sense)]


@pytest.mark.parametrize(
    ("uri", "name"),
    [("/r/IsA", "IsA"), ("/r/dbpedia/genre", "dbpedia_genre"), ("/r/Is-A", None), ("/r/1st", None), ("/r/" + "a" * 70, None)],
)
def test_relation_names(tmp_path: Path, uri: str, name: str | None) -> None:
    assert relation_name(uri) == name
    rows, reader = read(write(tmp_path / "a.csv", line(relation=uri)))
    assert [row.relation for row in rows] == ([] if name is None else [name])
    assert dict(reader.report.rejected) == ({} if name else {"malformed relation": 1})


def test_sources_are_compact(tmp_path: Path) -> None:
    sources = [{"activity": "/s/a", "contributor": "/s/c"}, {"activity": "/s/a"}, {"process": "/s/p"}]
    rows, _ = read(write(tmp_path / "a.csv", line(sources=sources), line(sources=[])))
    assert [row.contributors for row in rows] == ["/s/c | /s/a | /s/p", ""]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "blank line"),
        (line(relation="/r/ExternalURL", tail="http://dbpedia.org/resource/Dog"), "external URL"),
        (line(relation="/r/ExternalURL", head="/c/fr/chien", tail="http://dbpedia.org/"), "external URL"),
        (line(head="/c/fr/chien"), "language"),
        (line(tail="/c/fr/chien/n"), "language"),
        (line(tail="/c/enm/hund"), "language"),
        (line(tail="/c/e/hund"), "language"),
        (line(relation="/r/PartOf"), "relation"),
        (line(weight=0.5), "weight"),
        (line(dataset="/d/wiktionary/en"), "dataset"),
        (line(dataset="/d/conceptnet/40"), "dataset"),
    ],
)
def test_filters_drop_and_count_rows(tmp_path: Path, text: str, reason: str) -> None:
    rows, reader = read(
        write(tmp_path / "a.csv", line(), text, line()),
        relations=["/r/IsA", "UsedFor", "dbpedia/genre"],
        min_weight=1.0,
        datasets=["conceptnet/4"],
    )
    assert len(rows) == 2
    assert dict(reader.report.dropped) == {reason: 1}
    assert reader.entry().options == {
        "languages": ["en"],
        "relations": ["IsA", "UsedFor", "dbpedia_genre"],
        "min_weight": 1.0,
        "datasets": ["/d/conceptnet/4"],
    }


def test_languages(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", line(), line(head="/c/fr/chien"), line(head="/c/fr/chien", tail="/c/fr/animal"), line(tail="/c/zh/狗")
    )
    assert len(read(path, languages=None)[0]) == 4
    assert len(read(path, languages=["fr"])[0]) == 1
    assert len(read(path, languages=["fr", "en"])[0]) == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no tabs at all", "not five tab-separated fields"),
        (line().replace("\t", " "), "not five tab-separated fields"),
        (line() + "\tmore", "not five tab-separated fields"),
        ("\t\t\t\t", "first field is not an assertion URI"),
        (line().removeprefix("/a/"), "first field is not an assertion URI"),
        (line(relation="IsA"), "second field is not a relation URI"),
        (line(relation="/r/"), "second field is not a relation URI"),
        (line(head="dog"), "third field is not a concept URI"),
        (line(head="/c/en/"), "third field is not a concept URI"),
        (line(head="/c/en"), "third field is not a concept URI"),
        (line(head="/c//dog"), "third field is not a concept URI"),
        (line(head="/c/en//n"), "third field is not a concept URI"),
        (line(head="/c/en/hot dog"), "third field is not a concept URI"),
        (line(tail="http://example.org/"), "fourth field is not a concept URI"),
        (line(info="[]"), "fifth field is not a JSON object"),
        (line(info=""), "fifth field is not a JSON object"),
        (line(info="{"), "fifth field is not a JSON object"),
        (line(info="{}}"), "broken JSON"),
        (line(info='{"weight": 1.0,}'), "broken JSON"),
        (line(info='{"weight": NaN}'), "broken JSON"),
        (line(info='{"weight": "2"}'), "weight is not a finite number >= 0"),
        (line(info='{"weight": true}'), "weight is not a finite number >= 0"),
        (line(info='{"weight": -1}'), "weight is not a finite number >= 0"),
        (line(info='{"weight": null}'), "weight is not a finite number >= 0"),
        (line(dataset=7), "unexpected JSON"),
        (line(sources="omcs"), "unexpected JSON"),
        (line(sources=None), "unexpected JSON"),
        (line(sources=[{"contributor": 7}]), "unexpected JSON"),
        (line(license="a\0b"), "NUL byte"),
        (line().replace("dog", "d\0g"), "NUL byte"),
        (line().replace("dog", "d\x07g"), "control character"),
        (line().replace("dog", "d\rg"), "control character"),
        (line().encode().replace(b"animal", b"anim\xe4l"), "not UTF-8"),
        (line().encode().replace(b"animal", b"anim\xed\xa0\x80"), "not UTF-8"),
        (line().encode().replace(b"animal", b"\xf5\x80\x80\x80"), "not UTF-8"),
        (line().encode("utf-16"), "not UTF-8"),
    ],
)
def test_broken_lines_are_rejected_with_their_place(tmp_path: Path, text: str | bytes, reason: str) -> None:
    path = write(tmp_path / "a.csv", line(), text, line())
    rows, reader = read(path)
    assert len(rows) == 2
    assert reader.report.rejected == {reason: 1} or text == line().encode("utf-16")
    reject = reader.report.rejects[0]
    assert (reject.file, reject.line, reject.reason) == (str(path), 2, reason)
    assert str(reject).startswith(f"{path}:2: {reason}")
    assert str(reject).isprintable()
    assert reader.entry().dropped[f"rejected: {reason}"] == 1
    strict = read_conceptnet(path, strict=True)
    assert next(strict) == rows[0]
    with pytest.raises(LoadError, match=r"a\.csv:2: "):
        next(strict)


def test_windows_line_ends_a_byte_order_mark_and_no_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"\xef\xbb\xbf" + line().encode() + b"\r\n\r\n" + line(tail="/c/en/pet").encode() + b"\r\n" + line().encode()
    )
    rows, reader = read(path)
    assert [row.tail for row in rows] == ["/c/en/animal", "/c/en/pet", "/c/en/animal"]
    assert reader.report.dropped == {"blank line": 1}


@pytest.mark.parametrize(
    "options",
    [
        {"languages": []},
        {"languages": ["e/n"]},
        {"relations": ["Is A"]},
        {"min_weight": -1},
        {"min_weight": float("nan")},
        {"datasets": ["/"]},
    ],
)
def test_malformed_filters_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_conceptnet(write(tmp_path / "a.csv", line()), **options)


def test_one_language_may_be_given_as_a_string(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "a.csv", line()), languages="en")[0]) == 1


def test_many_blocks_keep_line_numbers(tmp_path: Path) -> None:
    lines = [line(head=f"/c/en/dog_{number}", weight=number % 7) for number in range(6000)]
    for broken in (1, 2500, 2501, 5999):
        lines[broken] = "broken"
    rows, reader = read(write(tmp_path / "a.csv", *lines))
    assert len(rows) == 5996
    assert [reject.line for reject in reader.report.rejects] == [2, 2501, 2502, 6000]


# ---- 100,000 mutated lines

_PIECES = [
    b"\t",
    b"\n",
    b"\0",
    b"\r",
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"/c/",
    b"/r/",
    b"{",
    b"}",
    b'"',
    b"\\u0000",
    b"\\ud800",
    b" ",
    b"",
    b"1e999",
    b"http://",
]


def _mutated(rng: random.Random, text: bytes) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        kind, offset = rng.randrange(5), rng.randrange(len(data) + 1)
        if kind == 0 and data:
            data[offset % len(data)] = rng.randrange(256)
        elif kind == 1:
            data[offset:offset] = rng.choice(_PIECES)
        elif kind == 2:
            del data[offset : offset + rng.choice((1, 1, 5, 60))]
        elif kind == 3:
            del data[offset:]
        else:
            data[offset:offset] = data[offset : offset + rng.randrange(40)]
    return bytes(data)


def expected(data: bytes) -> str:
    """Return why a line is left out for its form or language, checked field by field; empty when it is not."""
    data = data.removesuffix(b"\r")
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    control = next((byte for byte in data if byte < 0x20 and byte != 0x09), None)
    fields = data.split(b"\t")
    if not data or control is not None or len(fields) != 5:
        return (
            "blank line" if not data else {None: "not five tab-separated fields", 0: "NUL byte"}.get(control, "control character")
        )
    ends = [uri.split(b"/", 4) for uri in fields[2:4]]
    concepts = [
        len(parts) > 3 and parts[:2] == [b"", b"c"] and parts[2] and parts[3] and b" " not in uri
        for uri, parts in zip(fields[2:4], ends, strict=True)
    ]
    faults = {
        "first field is not an assertion URI": not fields[0].startswith(b"/a/"),
        "second field is not a relation URI": not fields[1].startswith(b"/r/") or fields[1] == b"/r/",
        "fifth field is not a JSON object": not (fields[4][:1] == b"{" and fields[4][-1:] == b"}"),
        "external URL": fields[1] == b"/r/ExternalURL",
        "third field is not a concept URI": not concepts[0],
        "fourth field is not a concept URI": not concepts[1],
        "language": any(parts[2:3] != [b"en"] for parts in ends),
    }
    return next((reason for reason, fault in faults.items() if fault), "")


def test_relations_with_names_of_labels_and_links_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    names = ("Mentions", "Manifest", "Concept", "Event", "sameevent")
    path.write_text("".join(line(relation=f"/r/{name}") + "\n" for name in ("IsA", *names)))
    rows, reader = read(path)
    assert [row.relation for row in rows] == ["IsA"]
    assert reader.report.rejected == {"relation with a name that tacit keeps for links or labels": len(names)}
    assert [reject.line for reject in reader.report.rejects] == [2, 3, 4, 5, 6]


@pytest.mark.slow
def test_a_hundred_thousand_mutated_lines_are_all_accounted_for(tmp_path: Path) -> None:
    rng = random.Random(20240229)
    seeds = [
        line().encode(),
        line(head="/c/en/dog/n/wn/animal", relation="/r/dbpedia/genre", surfaceText="[[a dog]] is [[an animal]]").encode(),
        line(head="/c/ja/犬", tail="/c/ru/собака", surfaceText="犬 は 動物").encode(),
        line(relation="/r/ExternalURL", tail="http://dbpedia.org/resource/Dog").encode(),
    ]
    path = tmp_path / "mutated.csv"
    path.write_bytes(b"\n".join(_mutated(rng, rng.choice(seeds)) for _ in range(100_000)))
    rows, reader = read(path)
    report = reader.report
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    assert report.read == len(lines)
    faults = report.dropped + report.rejected
    reasons = Counter(map(expected, lines))
    left = reasons.pop("")  # of these, the JSON and the relation are checked too
    assert len(rows) > 5_000
    assert not reasons - faults
    assert set(faults - reasons) <= {
        "broken JSON",
        "unexpected JSON",
        "weight is not a finite number >= 0",
        "NUL byte",
        "malformed relation",
    }
    assert (faults - reasons).total() == left - len(rows)
    for row in rows:
        assert row.head.startswith("/c/en/")
        assert row.tail.startswith("/c/en/")
        assert "\0" not in "".join(row[:3])
        assert row.weight >= 0

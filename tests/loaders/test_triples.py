"""Tables and JSON files as assertions by a mapping: every format, the mappings that ship, and what ends or shortens a load."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph import Assertion, InputError, LoadError
from tacit.graph.names import concept_uri, event_uri
from tacit.loaders import Mapping, read_triples, shipped_mappings
from tacit.loaders.mapping import parse_mapping

COLUMNS = {"head": "h", "relation": "r", "tail": "t"}


def mapping(**tables: Any) -> Mapping:
    """A mapping of the columns h, r and t, with further keys."""
    columns = {**COLUMNS, **tables.pop("columns", {})}
    return parse_mapping({"name": "test", "columns": columns, **tables})


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A writer of one file."""

    def write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# one table in every format

ROWS = [
    {"h": "Dog", "r": "IsA", "t": "pet animal", "w": "2.5", "l": "en", "c": "cc0"},
    {"h": "chien", "r": "IsA", "t": 'un "animal"', "w": "1", "l": "fr", "c": ""},
    {"h": "a, b", "r": "RelatedTo", "t": "犬", "w": "", "l": "ja-JP", "c": "mine"},
]
EXPECTED = [
    Assertion("/c/en/dog", "IsA", "/c/en/pet_animal", 2.5, "test", "data", "cc0"),
    Assertion("/c/fr/chien", "IsA", '/c/fr/un_"animal"', 1.0, "test", "data", "all"),
    Assertion("/c/ja/a,_b", "RelatedTo", "/c/ja/犬", 1.0, "test", "data", "mine"),
]
FULL = mapping(columns={"weight": "w", "language": "l", "license": "c"}, license="all", dataset="data")


def as_csv(rows: Sequence[dict[str, Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_tsv(rows: Sequence[dict[str, Any]]) -> bytes:
    names = list(rows[0])
    return "".join("\t".join(cells) + "\n" for cells in [names, *([row[name] for name in names] for row in rows)]).encode()


def as_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_list(rows: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(rows, indent=1, ensure_ascii=False).encode()


def as_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return bytes(sink.getvalue())


FORMATS: dict[str, Callable[[Sequence[dict[str, Any]]], bytes]] = {
    "csv": as_csv, "semicolons": lambda rows: as_csv(rows, ";"), "tsv": as_tsv, "lines": as_lines, "list": as_list,
    "parquet": as_parquet,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_one_table_in_every_format(written: Callable[..., Path], form: str) -> None:
    content = FORMATS[form](ROWS)
    reader = read_triples(written(content, "data"), FULL)
    assert list(reader) == EXPECTED
    assert (reader.report.read, reader.report.kept) == (3, 3)
    entry = reader.entry()
    assert (entry.loader, entry.file, entry.options["mapping"]) == ("triples", "data", "test")
    if form != "parquet":
        assert list(read_triples(written(gzip.compress(content), "data.gz"), FULL)) == EXPECTED
        assert list(read_triples(written(b"\xef\xbb\xbf" + content, "data"), FULL)) == EXPECTED


def test_the_checksum_is_that_of_the_file(written: Callable[..., Path]) -> None:
    import hashlib

    for form in ("csv", "parquet"):
        content = FORMATS[form](ROWS)
        reader = read_triples(written(content), FULL)
        assert len(list(reader)) == 3
        assert reader.entry().sha256 == hashlib.sha256(content).hexdigest()


WORDS = st.text(st.characters(codec="utf-8", exclude_characters='\0\t\r\n"', exclude_categories=("Cs", "Cc")), max_size=12)
TABLE = st.lists(
    st.fixed_dictionaries(
        {
            "h": WORDS,
            "r": st.sampled_from(["IsA", "is a", "part", "xWant", "/r/UsedFor", "Calms", "calmed", "near", ""]),
            "t": WORDS,
            "w": st.floats(0, 1e6).map(repr) | st.sampled_from(["", "-1", "x", "nan"]),
            "l": st.sampled_from(["en", "de", "EN-us", "", "?"]),
            "p": st.floats(-1, 1).map(repr),
        }
    ),
    min_size=1,
    max_size=12,
)
RULES: dict[str, Any] = {
    "license": "all",
    "columns": {"weight": "w", "language": "l"},
    "relations": {
        "prefixes": ["/r/"],
        "map": {"is a": "IsA", "part": {"relation": "HasA", "reversed": True}},
        "add": {
            "Calms": {"meaning": "A calms B", "inverse": "calmed", "nodes": "event"},
            "near": {"meaning": "A is near B", "symmetric": True},
        },
    },
    "drop": [{"column": "p", "below": -0.5}],
}
DIRECT = {  # relation of the table -> relation, whether it is turned round, whether its ends are events
    "IsA": ("IsA", False, False), "is a": ("IsA", False, False), "part": ("HasA", True, False),
    "xWant": ("xWant", False, True), "/r/UsedFor": ("UsedFor", False, False), "Calms": ("Calms", False, True),
    "calmed": ("Calms", True, True), "near": ("near", False, False),
}  # fmt: skip


def directly(row: dict[str, str]) -> Assertion | None:
    """The assertion of a row of ``TABLE``, written without the reader."""
    if float(row["p"]) < -0.5 or not row["r"] or (row["w"] and not (row["w"][0].isdigit() and float(row["w"]) >= 0)):
        return None
    relation, turned, events = DIRECT[row["r"]]
    language = {"": "en", "EN-us": "en"}.get(row["l"], row["l"])
    if not events and language == "?":
        return None
    ends = []
    for name in (row["h"], row["t"]):
        try:
            ends.append(event_uri(name) if events else concept_uri(name, language))
        except InputError:
            return None
    if turned or (relation == "near" and ends[1] < ends[0]):
        ends.reverse()
    return Assertion(ends[0], relation, ends[1], abs(float(row["w"])) if row["w"] else 1.0, "test", "data", "all")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TABLE, st.sampled_from(sorted(FORMATS)))
def test_mapping_a_random_table_equals_direct_construction(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], form: str
) -> None:
    rows = [row for row in rows if not any(row[end].strip().startswith(("/c/", "/e/")) for end in ("h", "t"))]
    if not rows:
        return
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(FORMATS[form](rows))
    tables = json.loads(json.dumps(RULES))
    if form != "parquet":
        tables["file"] = {"format": {"lines": "json", "list": "json", "semicolons": "csv"}.get(form, form)}
        if form == "semicolons":
            tables["file"]["delimiter"] = ";"
    reader = read_triples(path, mapping(**tables, dataset="data"))
    assert list(reader) == [entry for entry in map(directly, rows) if entry is not None]
    report = reader.report
    assert report.read == len(rows) == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())


# names


def rows_of(path: Path, rules: Mapping | str) -> list[tuple[str, str, str]]:
    return [(row.head, row.relation, row.tail) for row in read_triples(path, rules)]


def test_uris_are_kept_and_identifiers_have_texts(written: Callable[..., Path]) -> None:
    path = written("h,r,t,ht,tt\n/c/en/dog/n/wn/animal,IsA,Q5,ignored,human|person\n/e/PersonX_eats_[],xWant,at:rest,,to rest\n")
    rules = mapping(columns={"head_text": "ht", "tail_text": "tt"}, nodes={"alternatives": "|"})
    first, second = read_triples(path, rules)
    assert (first.head, first.head_sense, first.tail) == ("/c/en/dog", "n/wn/animal", "/c/en/human")
    assert (second.head, second.relation, second.tail) == ("/e/PersonX_eats_[]", "xWant", "/e/to_rest")


def test_names_are_replaced_and_left_out(written: Callable[..., Path]) -> None:
    path = written("h,r,t\nSomeone_A runs,xWant,NONE\nSomeone_A runs,xWant,Someone_B helps\nx,IsA, \nx,IsA,/\n")
    rules = mapping(nodes={"replace": {"Someone_A": "PersonX", "Someone_B": "PersonY"}, "none": ["none"]})
    reader = read_triples(path, rules)
    assert [(row.head, row.tail) for row in reader] == [("/e/PersonX_runs", "/e/PersonY_helps")]
    assert reader.report.dropped == {"no name": 3}


def test_one_relation_for_all_rows(written: Callable[..., Path]) -> None:
    rules = parse_mapping({"name": "test", "columns": {"head": "h", "tail": "t"}, "relations": {"always": "Synonym"}})
    assert rows_of(written("h,t\nbig,large\n"), rules) == [("/c/en/big", "Synonym", "/c/en/large")]


def test_a_table_without_a_heading(written: Callable[..., Path]) -> None:
    rules = mapping(file={"format": "tsv", "names": ["h", "r", "t"]})
    assert rows_of(written('"dog"\tIsA\tanimal\n'), rules) == [('/c/en/"dog"', "IsA", "/c/en/animal")]


def test_nested_fields(written: Callable[..., Path]) -> None:
    rules = mapping(columns={"head": "edge.start", "tail": "edge.end.name", "weight": "w"})
    lines = as_lines([{"edge": {"start": "a", "end": {"name": "b"}}, "r": "IsA", "w": 2}, {"edge": 3, "r": "IsA", "w": 1.5}])
    reader = read_triples(written(lines, "x.jsonl"), rules)
    assert [(row.head, row.tail, row.weight) for row in reader] == [("/c/en/a", "/c/en/b", 2.0)]
    assert reader.report.dropped == {"no name": 1}


def test_rows_that_are_left_out_or_rejected(written: Callable[..., Path]) -> None:
    rows: list[dict[str, Any]] = [
        {"h": "a", "r": "IsA", "t": "b", "s": "train", "p": 0.9},
        {"h": "a", "r": "IsA", "t": "b", "s": "test", "p": 0.9},
        {"h": "a", "r": "IsA", "t": "b", "s": "train", "p": 0.4999},
        {"h": "a", "r": "IsA", "t": "b", "s": "train", "p": 0.5},
        {"h": "a", "r": "IsA", "t": "b", "s": "train", "p": None},
        {"h": "a", "r": "IsA", "t": "b", "s": "train", "p": True},
        {"h": "a", "r": "Antonym", "t": "b", "s": "train", "p": 1},
        {"h": "a", "r": "", "t": "b", "s": "train", "p": 1},
        {"h": ["a"], "r": "IsA", "t": "b", "s": "train", "p": 1},
        {"h": "a\0", "r": "IsA", "t": "b", "s": "train", "p": 1},
        {"h": "a" * 5000, "r": "IsA", "t": "b", "s": "train", "p": 1},
        {"h": 7, "r": "IsA", "t": "b", "s": "train", "p": 1, "w": math.inf},  # not JSON
    ]
    rules = mapping(
        relations={"drop": ["Antonym"]}, drop=[{"column": "s", "any_of": ["test", "dev"]}, {"column": "p", "below": 0.5}]
    )
    reader = read_triples(written(as_lines(rows) + b"[1, 2\n", "x.jsonl"), rules)
    assert [row.head for row in reader] == ["/c/en/a", "/c/en/a"]
    report = reader.report
    assert report.dropped == {"s is test or dev": 1, "p below 0.5": 1, "relation left out by the mapping": 1}
    rejected: Counter[str] = Counter()
    for reason, number in report.rejected.items():
        rejected[reason.partition(" (")[0]] += number  # in brackets are the words of the JSON parser
    assert rejected == {
        "p is not a number": 2, "no relation": 1, "a list in a column": 1, "NUL byte": 1, "URI longer than 4,096 bytes": 1,
        "not JSON": 2,
    }  # fmt: skip
    assert report.read == 13 == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())
    with pytest.raises(LoadError, match=r"x\.jsonl:5: p is not a number.*with strict reading"):
        list(read_triples(written(as_lines(rows), "x.jsonl"), rules, strict=True))


# what ends a load


def test_unknown_relations_are_refused_by_name(written: Callable[..., Path]) -> None:
    path = written("h,r,t\na,IsA,b\na,kind of,b\na,flibbers,b\na,kind of,c\na,/r/UsedFor,c\n")
    with pytest.raises(LoadError) as caught:
        list(read_triples(path, mapping()))
    message = str(caught.value)
    assert message.startswith(
        f"{path} has relations that tacit does not know: 'kind of' (2 rows, the first in line 3; did you mean "
    )
    assert (
        "IsA?), 'flibbers' (1 row, the first in line 4), '/r/UsedFor' (1 row, the first in line 6; did you mean UsedFor?)"
        in message
    )
    assert "in the mapping, map to known ones in [relations.map]" in message
    with pytest.raises(
        LoadError, match=r"has a relation that tacit does not know: 'is a' \(1 row, the first in line 2; did you mean IsA"
    ):
        read_triples(written("h,r,t\na,is a,b\n"), mapping()).begin()


@pytest.mark.parametrize(
    "relation", ["Is`A", "IsA}]->() DELETE", "dbpedia_x`y", "dbpedia_", "IsA\n", "a" * 200, "isa", "ISA", "IsA IsA", "🐕"]
)
def test_only_names_in_the_table_become_relations(written: Callable[..., Path], relation: str) -> None:
    path = written(as_lines([{"h": "a", "r": relation, "t": "b"}]), "x.jsonl")
    if relation.strip() == "IsA":  # white space around a name is no part of it
        assert rows_of(path, mapping()) == [("/c/en/a", "IsA", "/c/en/b")]
        return
    with pytest.raises(LoadError, match="that tacit does not know"):
        list(read_triples(path, mapping()))


def test_unknown_relations_among_many_take_little_memory(written: Callable[..., Path]) -> None:
    path = written("h,r,t\n" + "".join(f"a,rel {number},b\n" for number in range(3_000)))
    with pytest.raises(LoadError, match=r"'rel 4' \(1 row, the first in line 6[^)]*\) and 995 more; in the mapping"):
        list(read_triples(path, mapping()))


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_column_is_reported(written: Callable[..., Path], form: str) -> None:
    path = written(FORMATS[form](ROWS), "x")
    with pytest.raises(
        InputError,
        match=r"x has no column or field 'W' \(\[columns\] weight of the mapping\); it has h, r, t, w, l, c; did you mean w\?",
    ):
        list(read_triples(path, mapping(columns={"weight": "W"})))
    with pytest.raises(InputError, match=r"no column or field 'score' \(\[\[drop\]\] 1 of the mapping\)"):
        list(read_triples(path, mapping(drop=[{"column": "score", "below": 1}])))


def test_duplicate_column_names_are_refused(written: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"has two columns 'h' \(\[columns\] head of the mapping\); rename one of them"):
        list(read_triples(written("h,r,t,h\na,IsA,b,c\n"), mapping()))


def test_rows_of_the_wrong_width(written: Callable[..., Path]) -> None:
    reader = read_triples(written("h,r,t\na,IsA,b,c\na,IsA\na,IsA,b\n\n"), mapping())
    assert len(list(reader)) == 1
    assert reader.report.rejected == {"4 cells under 3 columns": 1}
    assert reader.report.dropped == {"no name": 1}
    assert reader.report.rejects[0].location.endswith(":2")


def test_invalid_utf8_is_rejected(written: Callable[..., Path]) -> None:
    reader = read_triples(written(b"h,r,t\n\xff,IsA,b\na,IsA,b\n"), mapping())
    assert len(list(reader)) == 1
    assert reader.report.rejected == {"not UTF-8": 1}


def test_a_damaged_file_is_not_used(written: Callable[..., Path]) -> None:
    path = written(gzip.compress(as_csv(ROWS * 500))[:-200], "x.csv.gz")
    with pytest.raises(LoadError, match="is damaged"):
        read_triples(path, FULL).begin()
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(read_triples(written(as_parquet(ROWS)[:-9], "x.parquet"), FULL))


# The mappings that ship, on files of exactly the published forms.

CSKG = (
    "id\tnode1\trelation\tnode2\tnode1;label\tnode2;label\trelation;label\trelation;dimension\tsource\tsentence\n"
    "/c/en/piano-/r/UsedFor-/c/en/music-0000\t/c/en/piano\t/r/UsedFor\t/c/en/music\tpiano\tmusic\tused for\tutility\tCN\t"
    "[[a piano]] is for [[music]]\n"
    "x-0000\t/c/en/piano_keyboard/n/wn/artifact\t/r/PartOf\t/c/en/clavier/n/wn/artifact\tclavier|fingerboard\tforte-piano|piano\t"
    "is a part of|part of\tpart-whole\tCN|WN\t[[piano keyboard]] is a part of [[piano]]\n"
    "x-0001\tfn:noise_makers\tfn:HasLexicalUnit\tfn:lu:noise_makers:piano\tnoise makers\tpiano\thas lexical unit\tlexical\tFN\t\n"
    "x-0002\tat:personx_'d_better_go\tat:xAttr\tat:avoidant\tpersonx 'd better go|'d better go\tavoidant\t"
    "person x has attribute\tquality\tAT\t\n"
    'x-0003\twn:clock.n.01\tmw:MayHaveProperty\twn:green.s.01\t"clock\tgreen\tmay have property\t\tVG\tI1\n'
    "x-0004\t/c/en/wolf\t/r/dbpedia/genus\t/c/en/canis\twolf\tcanis\tgenus\t\tCN\t\n"
)
RECALLS = dict.fromkeys(("rec_0.5", "rec_0.6", "rec_0.7", "rec_0.8", "rec_0.9"), True)
TENX = "".join(
    json.dumps({"head": head, "relation": relation, "tail": tail, "split": split, **RECALLS, "p_valid_model": score}) + "\n"
    for head, relation, tail, split, score in [
        ("X is visiting a friend", "xNeed", " to know their address", "train", 0.9812),
        ("X is visiting a friend", "HinderedBy", "X has no car", "val", 0.5),
        ("X is visiting a friend", "xWant", "to eat the door", "test", 0.12),
    ]
)
GLUCOSE_HEAD = ["unique_id", "selected_sentence_index", "worker_id", "worker_quality_assessment", "story"] + [
    f"{dimension}_{kind}"
    for dimension in range(1, 11)
    for kind in ("specificNL", "specificStructured", "generalNL", "generalStructured")
] + ["number_filled_in", "selected_sentence"]  # fmt: skip
PEACOK = {
    "i am a singer": {
        "head_third": "he is a singer",
        "head_person": "personx is a singer",
        "attributes": {
            "good at singing": {"relation": "characteristic", "attr_third": "good at singing"},
            "practise every day": {"relation": "routine_habit", "attr_third": "practises every day"},
        },
    },
    "i am a chef": {"head_third": "he is a chef", "attributes": {"open a restaurant, soon": {"relation": "goal_plan"}}},
}
PEACOK_SPLIT = ["i am a singer\tcharacteristic\tgood at singing", 'i am a chef\texperience_relationship\tcooked for my "family"']


def glucose() -> bytes:
    cells = dict.fromkeys(GLUCOSE_HEAD, "escaped") | {
        "unique_id": "cbee2b5a__0", "story": "It was bedtime, at last.****The kid fell asleep.", "worker_quality_assessment": "3",
        "1_generalNL": "Someone_A doesn't want to  go to sleep >Causes/Enables> Someone_A finally falls asleep",
        "2_generalNL": "Someone_A is tired >Motivates> Someone_A sleeps",
        "3_generalNL": "Someone_A is in bed >Enables> Someone_B rests",
        "7_generalNL": "Someone_A sleeps >Causes> Someone_A feel(s) happy", "8_generalNL": "a > b > c > d",
        "10_generalNL": "Someone_A sleeps >Results in> Someone_A is rested", "number_filled_in": "6",
    }  # fmt: skip
    return as_csv([cells])


def test_cskg(written: Callable[..., Path]) -> None:
    reader = read_triples(written(gzip.compress(CSKG.encode()), "cskg.tsv.gz"), "cskg")
    common: dict[str, Any] = {"source": "cskg", "license": "cc:by-sa/4.0"}
    assert list(reader) == [
        Assertion("/c/en/piano", "UsedFor", "/c/en/music", dataset="CN", **common),
        Assertion("/c/en/piano_keyboard", "PartOf", "/c/en/clavier", dataset="CN|WN", head_sense="n/wn/artifact",
                  tail_sense="n/wn/artifact", **common),
        Assertion("/c/en/noise_makers", "HasLexicalUnit", "/c/en/piano", dataset="FN", **common),
        Assertion("/e/PersonX_'d_better_go", "xAttr", "/e/avoidant", dataset="AT", **common),
        Assertion('/c/en/"clock', "MayHaveProperty", "/c/en/green", dataset="VG", **common),
        Assertion("/c/en/wolf", "dbpedia_genus", "/c/en/canis", dataset="CN", **common),
    ]  # fmt: skip
    assert {relation.name for relation in reader.entry().relations} == {"HasLexicalUnit", "MayHaveProperty"}


def test_atomic10x(written: Callable[..., Path]) -> None:
    reader = read_triples(written(TENX, "ATOMIC10X.jsonl"), "atomic10x")
    assert list(reader) == [
        Assertion("/e/PersonX_is_visiting_a_friend", "xNeed", "/e/to_know_their_address", 0.9812, "atomic10x", "train"),
        Assertion("/e/PersonX_is_visiting_a_friend", "HinderedBy", "/e/PersonX_has_no_car", 0.5, "atomic10x", "val"),
    ]
    assert reader.report.dropped == {"p_valid_model below 0.5": 1}


def test_glucose(written: Callable[..., Path]) -> None:
    reader = read_triples(written(glucose(), "GLUCOSE_training_data_final.csv"), "glucose")
    assert [(row.head, row.relation, row.tail) for row in reader] == [
        ("/e/PersonX_doesn't_want_to_go_to_sleep", "Causes", "/e/PersonX_finally_falls_asleep"),
        ("/e/PersonX_is_tired", "Motivates", "/e/PersonX_sleeps"),
        ("/e/PersonX_is_in_bed", "Enables", "/e/PersonY_rests"),
        ("/e/PersonX_sleeps", "Causes", "/e/PersonX_feel(s)_happy"),
        ("/e/PersonX_sleeps", "Causes", "/e/PersonX_is_rested"),
    ]
    assert reader.report.dropped == {"no name": 4}
    assert reader.report.rejected == {"not head, relation and tail": 1}
    assert reader.report.read == 10


def test_peacok(written: Callable[..., Path]) -> None:
    assert rows_of(written(json.dumps(PEACOK), "peacok_kg.json"), "peacok") == [
        ("/e/i_am_a_singer", "characteristic", "/e/good_at_singing"),
        ("/e/i_am_a_singer", "routine_habit", "/e/practise_every_day"),
        ("/e/i_am_a_chef", "goal_plan", "/e/open_a_restaurant,_soon"),
    ]
    assert rows_of(written(json.dumps(PEACOK_SPLIT, indent=4), "neural_kg_data_test.json"), "peacok-split") == [
        ("/e/i_am_a_singer", "characteristic", "/e/good_at_singing"),
        ("/e/i_am_a_chef", "experience_relationship", '/e/cooked_for_my_"family"'),
    ]


def test_every_mapping_that_ships_is_tested() -> None:
    assert shipped_mappings() == ["atomic10x", "cskg", "glucose", "peacok", "peacok-split"]


def test_a_json_list_without_an_end_ends_the_load(written: Callable[..., Path]) -> None:
    row = {"h": "dog", "r": "IsA", "t": "pet"}
    path = written(as_list([row, {**row, "h": "cat"}])[:-30], "data.json")
    with pytest.raises(LoadError, match=r"data\.json is truncated \(the JSON list has no end\); download or copy it again$"):
        list(read_triples(path, mapping()))


PIECES = st.sampled_from(
    [
        b"h,r,t\n", b"h\tr\tt\n", b'{"h": "a", "r": "IsA", "t": "b"}\n', b'{"h": 1}', b"[", b"]", b"{", b"}", b'"', b",", b"\t",
        b"\n", b"a,IsA,b\n", b"a\tIsA\tb\n", b"\xff", b"\0", b"PAR1", b"\x1f\x8b", b"\r", b";",
        b'{"h": {"x": [1]}, "r": "IsA", "t": null}\n',
    ]
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PIECES | st.binary(max_size=6), max_size=12).map(b"".join), st.sampled_from(["", "*", "*.h.*"]))
def test_any_bytes_give_rows_rejects_or_one_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes, rows: str) -> None:
    path = tmp_path_factory.getbasetemp() / "anything"
    path.write_bytes(content)
    reader = read_triples(path, mapping(file={"rows": rows}) if rows else mapping())
    try:
        returned_rows = list(reader)
    except (InputError, LoadError) as error:
        error_text = str(error)
    else:
        error_text, report = "", reader.report
        assert report.kept == len(returned_rows)
        assert report.read == report.kept + sum(report.dropped.values()) + sum(report.rejected.values())
    assert "\n" not in error_text

"""What a mapping may contain, and the one sentence for each mistake in it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph import InputError
from tacit.graph.relations import AddedRelation
from tacit.loaders import mapping as mappings
from tacit.loaders import open_mapping, shipped_mappings
from tacit.loaders.mapping import Rule

THREE = '[columns]\nhead = "h"\nrelation = "r"\ntail = "t"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("head", "is not TOML: Expected '=' after a key in a key/value pair (at end of document)"),
        ("[columns]\nhead = \n", "is not TOML: Invalid value (at line 2, column 8)"),
        (THREE + 'head = "x"\n', "is not TOML: a key is given twice (at line 5, column 11)"),
        ("", "[columns] head is missing; name the column or JSON field of the head"),
        (
            THREE.replace('relation = "r"\n', ""),
            "[columns] relation is missing; name the column or JSON field of the relation, or [relations] always, the relation "
            "of every row",
        ),
        ('[columns]\nhed = "h"\n', "[columns] hed is not a key there; did you mean head?"),
        (
            THREE + "[nodes]\nx = 1\n",
            "[nodes] x is not a key there; the keys are kind, alternatives, replace, none",
        ),
        ("heads = 1\n" + THREE, "heads is not a key there; the keys are name, license, language, dataset, file, columns, nodes, "
         "relations, drop"),
        (THREE + "weight = 3\n", "[columns] weight is 3; it must be a text"),
        (THREE + 'triple = ["x"]\n', "[columns] has head and triple; give head, relation and tail, or triple alone"),
        (
            '[columns]\ntriple = ["x"]\n',
            "[columns] between is missing; it says what stands between head, relation and tail in the cells of triple",
        ),
        (THREE.replace('"t"', '"h"'), "[columns] head and tail are both 'h'; they must be different columns"),
        (THREE + '[relations]\nalways = "IsA"\n', "[relations] always and [columns] relation are both given; leave one out"),
        ("columns = 3\n", "columns is 3; it must be a table"),
        ("language = \"?\"\n" + THREE, "language is '?'; it must be a language code such as en"),
        ("name = \"a b\"\n" + THREE, "name is 'a b'; it must be up to 64 letters, digits and . : + - _"),
        ('place = "x"\n' + THREE, "place is not a key there; the keys are name, license, language, "
         "dataset, file, columns, nodes, relations, drop"),
        (THREE + '[file]\nformat = "xls"\n', "[file] format is \"xls\"; it must be one of 'csv', 'tsv', 'json' or 'parquet'"),
        (THREE + '[file]\ndelimiter = "ab"\n', "[file] delimiter is 'ab'; it must be one character, such as a semicolon"),
        (THREE + '[file]\nformat = "tsv"\ndelimiter = ";"\n', "[file] delimiter is for csv, not for tsv; leave it out"),
        (THREE + '[file]\nformat = "csv"\nrows = "*"\n', "[file] rows is for json, not for csv; leave it out"),
        (THREE + '[file]\nrows = "a.*"\n', "[file] rows is 'a.*'; it must begin with *, which stands for every key of the file's "
         "object"),
        (THREE + '[file]\nnames = ["a", "a"]\n', "[file] names has a name twice; give every column a name of its own"),
        (THREE + '[nodes]\nkind = "events"\n', "[nodes] kind is \"events\"; it must be one of 'concept' or 'event'"),
        (THREE + "[nodes]\nnone = [1]\n", "[nodes] none[0] is 1; it must be a text"),
        (
            THREE + '[relations.map]\n"is a" = "IzA"\n',
            '[relations.map] "is a" is IzA, which is not a relation of tacit and not added; did you mean IsA?',
        ),
        (
            THREE + '[relations.map]\n"x" = "a`b"\n',
            '[relations.map] x is "a`b", which is not a relation of tacit and not added; add it with [relations.add.NAME]',
        ),
        (THREE + "[relations.map]\nx = 3\n", "[relations.map] x is 3; it must be a table"),
        (THREE + "[relations.map.x]\nreversed = true\n", "[relations.map.x] relation is missing"),
        (
            THREE + '[relations.map]\nx = { relation = "IsA", reversed = "yes" }\n',
            '[relations.map.x] reversed is "yes"; it must be true or false',
        ),
        (
            THREE + '[relations]\ndrop = ["x"]\n[relations.map]\nx = "IsA"\n',
            "[relations] drop and [relations.map] both have 'x'; leave one out",
        ),
        (
            THREE + '[relations.add.isa]\nmeaning = "A is a B"\n',
            "[relations.add.isa]: tacit has the relation IsA already; remove the table, or choose another name than isa",
        ),
        (
            THREE + '[relations.add.Calms]\nmeaning = "to calm"\n',
            "[relations.add.Calms] meaning is 'to calm'; it must name the head as A and the tail as B, e.g. 'A calms B'",
        ),
        (
            THREE + '[relations.add."a`b"]\nmeaning = "A b B"\n',
            "[relations.add.\"a`b\"]: 'a`b' is not a relation name; relations consist of letters, digits and underscores, e.g. "
            "UsedFor",
        ),
        (
            THREE + '[relations.add.Calms]\nmeaning = "A calms B"\nsymmetric = true\ninverse = "CalmedBy"\n',
            "[relations.add.Calms] inverse is 'CalmedBy'; a symmetric relation has none, and an added one cannot be one",
        ),
        (THREE + '[[drop]]\ncolumn = "x"\n', "[[drop]] 1 must have exactly one of below, above and any_of"),
        (THREE + '[[drop]]\ncolumn = "x"\nbelow = 1\n[[drop]]\nbelow = 1\n', "[[drop]] 2 column is missing"),
        (THREE + '[[drop]]\ncolumn = "x"\nbelow = nan\n', "[[drop]] 1 has a limit that is not finite; give a number"),
        (THREE + '[[drop]]\ncolumn = "x"\nbelow = "one"\n', '[[drop]] 1 below is "one"; it must be a number'),
    ],
)  # fmt: skip
def test_errors_in_mappings_are_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_mapping(path)
    reason = str(caught.value)
    assert reason in (f"{path}: {message}", f"the mapping {path} {message}")
    assert "\n" not in reason


def test_a_missing_mapping_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no mapping cskx; give a TOML file or the name of one that ships \(did you mean cskg\?\)"
    ):
        open_mapping("cskx")
    with pytest.raises(InputError, match=r"the names are atomic10x, cskg, glucose, peacok, peacok-split\)"):
        open_mapping(tmp_path / "zzz")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        open_mapping(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    with pytest.raises(InputError, match="is not UTF-8"):
        open_mapping(tmp_path / "latin.toml")


def test_a_mapping_of_five_lines(tmp_path: Path) -> None:
    (tmp_path / "pets.toml").write_text(THREE, encoding="utf-8")
    mapping = open_mapping(tmp_path / "pets.toml")
    assert (mapping.name, mapping.language, mapping.license, mapping.added) == ("pets", "en", "", ())
    assert mapping.rule("IsA") == Rule("IsA", False, "concept")
    assert mapping.rule("xWant") == Rule("xWant", False, "event")
    assert mapping.rule("Causes") == Rule("Causes", False, "concept"), "a relation of both datasets"
    assert mapping.rule("dbpedia_genus") == Rule("dbpedia_genus", False, "concept")
    for unknown in ("isa", "Is A", "", "dbpedia_", "dbpedia_a`b", "IsA "):
        assert mapping.rule(unknown) is None


def test_relations_by_prefix_map_and_addition(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        THREE + '[nodes]\nkind = "event"\n[relations]\nprefixes = ["/r/", "at:"]\n'
        '[relations.map]\nbig = { relation = "HasProperty", reversed = true, nodes = "concept" }\n'
        '[relations.add.Calms]\nmeaning = "A calms B"\ninverse = "CalmedBy"\n'
        '[relations.add.Near]\nmeaning = "A is near B"\nsymmetric = true\nnodes = "concept"\n',
        encoding="utf-8",
    )
    mapping = open_mapping(tmp_path / "m.toml")
    assert mapping.rule("/r/IsA") == mapping.rule("at:IsA") == mapping.rule("IsA") == Rule("IsA", False, "event")
    assert mapping.rule("/r/at:IsA") is None, "one prefix is taken off"
    assert mapping.rule("big") == Rule("HasProperty", True, "concept")
    assert mapping.rule("Calms") == Rule("Calms", False, "event")
    assert mapping.rule("/r/CalmedBy") == Rule("Calms", True, "event")
    assert mapping.rule("Near") == Rule("Near", False, "concept", True)
    assert mapping.added == (AddedRelation("Calms", "A calms B", False, "CalmedBy"), AddedRelation("Near", "A is near B", True))


def test_the_digest_depends_on_the_meaning_of_a_mapping(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name / "m.toml" for name in "abc")
    for path, text in ((first, THREE), (second, f"# a comment\n{THREE}"), (third, THREE + 'weight = "w"\n')):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    assert open_mapping(first).digest == open_mapping(second).digest != open_mapping(third).digest
    assert open_mapping(first) == open_mapping(second)


@pytest.mark.parametrize("name", shipped_mappings())
def test_mappings_that_ship_can_be_opened(name: str) -> None:
    mapping = open_mapping(name)
    assert open_mapping(mapping) is mapping
    assert mapping.name == name.removesuffix("-split")


KEYS = sorted({one.name for kind in (mappings.Mapping, mappings.FileForm, mappings.Columns, mappings.Nodes, mappings.Relations,
               mappings.Target, mappings.Addition, mappings.Drop) for one in fields(kind)})  # fmt: skip
SCALARS = (
    st.text(max_size=4) | st.integers() | st.floats() | st.booleans() | st.dates() | st.sampled_from(["IsA", "h", "A calms B"])
)
TABLES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400)
@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), TABLES, max_size=5), st.booleans())
def test_any_toml_table_is_a_mapping_or_one_sentence(table: dict[str, Any], complete: bool) -> None:
    if complete:
        table = {**table, "columns": {"head": "h", "relation": "r", "tail": "t"}}
    try:
        mapping = mappings.parse_mapping(table, "my.toml", "my")
    except InputError as error:
        message = str(error)
        assert message.startswith("my.toml: ")
        assert "\n" not in message
    else:
        assert mapping.rule("IsA") is not None or "IsA" in mapping.relations.drop

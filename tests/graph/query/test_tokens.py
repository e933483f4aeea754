"""The tokens of a query, on texts of every kind."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import QueryInvalid, QueryRefused
from tacit.graph.query import check
from tacit.graph.query.tokens import tokenize

PLAIN = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029")
PIECES = [
    "'",
    '"',
    "`",
    "``",
    "\\",
    "/*",
    "*/",
    "//",
    "\n",
    "\r\n",
    " ",
    "$",
    ";",
    "\\u0027",
    "\\'",
    "=~",
    "..",
    "::",
    "1",
    ".5",
    "1e3",
    "0x1F",
]
CYPHER = st.lists(
    st.one_of(
        st.sampled_from([*PIECES, "MATCH", "SET", "(", ")", "{", "}", "[", "]", "n", ".", ",", "CALL", "AS", "|", "*"]), PLAIN
    ),
    max_size=30,
).map("".join)


@given(CYPHER)
def test_any_text_is_tokenized_or_refused(text: str) -> None:
    try:
        tokens = tokenize(text)
    except QueryRefused:
        return
    position = 0
    for token in tokens:
        between = text[position : token.start]
        assert not between.strip() or between.lstrip().startswith(("//", "/*"))
        assert text[token.start : token.end] == token.text
        assert token.start >= position
        position = token.end
    assert [token.kind for token in tokens].index("end") == len(tokens) - 1
    assert position == len(text)


@given(CYPHER)
def test_any_text_is_accepted_or_refused(text: str) -> None:
    for dialect in ("neo4j", "embedded"):
        with suppress(QueryRefused, QueryInvalid):
            check(text, dialect)  # type: ignore[arg-type]


@given(st.text(PLAIN, max_size=40))
def test_any_text_is_harmless_in_strings_names_and_comments(text: str) -> None:
    if "\\u" in text:
        return
    single = text.replace("\\", "\\\\").replace("'", "\\'")
    double = text.replace("\\", "\\\\").replace('"', '\\"')
    name = text.replace("`", "``") or "x"
    block = text.replace("*/", "* /").removesuffix("*")
    query = f"// {text}\nMATCH (`{name}`) /*{block} */ RETURN '{single}' AS a, \"{double}\" AS `{name}`, $`{name}` AS p // {text}"
    check(query, "neo4j")
    check(query, "embedded")
    strings = [token.text for token in tokenize(query) if token.kind == "string"]
    assert strings == [f"'{single}'", f'"{double}"']
    assert [token.name for token in tokenize(query) if token.kind in ("quoted", "parameter")] == [text or "x"] * 3


@given(
    st.text(PLAIN, max_size=20),
    st.sampled_from(["SET n.x = 1", "CREATE (m)", "DETACH DELETE n", "FOREACH (x IN [1] | SET n.x = 1)"]),
)
def test_tokens_after_a_string_are_read(text: str, clause: str) -> None:
    if "\\u" in text:
        return
    single = text.replace("\\", "\\\\").replace("'", "\\'")
    with pytest.raises(QueryRefused):
        check(f"MATCH (n) WHERE n.x = '{single}' {clause}")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("1..3", ["number", "symbol", "number"]),
        ("1.5", ["number"]),
        ("[..3]", ["symbol", "symbol", "number", "symbol"]),
        (".5", ["number"]),
        ("a.b", ["word", "symbol", "word"]),
        ("-[:X*1..2]->", ["symbol"] * 3 + ["word", "symbol", "number", "symbol", "number"] + ["symbol"] * 3),
        ("'a\\'b'", ["string"]),
        ('"a\'b"', ["string"]),
        ("`a``b`", ["quoted"]),
        ("$x $`y z` $1", ["parameter"] * 3),
        ("0x1F 0o17 1e3 1.5E-3", ["number"] * 4),
        ("/**/ a /* /* */ b // c */", ["word", "word"]),
    ],
)
def test_tokens(text: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokenize(text)] == [*kinds, "end"]

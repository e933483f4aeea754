"""The validator of users' queries: what it accepts and refuses, and its messages."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.cypher import Dialect
from tacit.graph.errors import QueryRefused
from tacit.graph.query import check
from tacit.graph.query.costs import explosive
from tacit.graph.query.tokens import FUNCTIONS, HARD, PROCEDURES
from tacit.graph.query.validator import Checker

from tests.graph.query.allowed_statements import BENIGN, ONLY_EMBEDDED, ONLY_NEO4J
from tests.graph.query.refused_statements import COSTLY, HOSTILE

DIALECTS: tuple[Dialect, ...] = ("neo4j", "embedded")
KEYWORDS = sorted(HARD | {"CALL", "UNION", "MATCH", "RETURN"})


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE)
def test_hostile_statement_is_refused_in_one_sentence(query: str, dialect: Dialect) -> None:
    with pytest.raises(QueryRefused) as refusal:
        check(query, dialect)
    message = str(refusal.value)
    assert "\n" not in message
    assert len(message) < 400


@pytest.mark.parametrize("query", COSTLY.values(), ids=COSTLY)
def test_uninterruptible_queries_are_refused_for_neo4j_only(query: str) -> None:
    with pytest.raises(QueryRefused):
        check(query, "neo4j")
    if "reduce" not in query:  # which the embedded engine does not know
        check(query, "embedded")


@pytest.mark.parametrize("query", BENIGN.values(), ids=BENIGN)
def test_benign_query_passes_on_both(query: str) -> None:
    for dialect in DIALECTS:
        check(query, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_of_one_engine_pass_there(dialect: Dialect) -> None:
    for query in (ONLY_NEO4J if dialect == "neo4j" else ONLY_EMBEDDED).values():
        check(query, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("word", KEYWORDS)
def test_keyword_passes_wherever_it_is_a_name_or_text(word: str, dialect: Dialect) -> None:
    for spelling in (word, word.lower(), word.title()):
        for query in (
            f"RETURN '{spelling} (n) {spelling}' AS x, \"{spelling}\" AS y // {spelling}\n",
            f"/* {spelling} */ MATCH (n) RETURN n.{spelling} AS x",
            f"MATCH (`{spelling}`:Concept) RETURN `{spelling}`.text AS `{spelling} x`",
            f"MATCH (n:{spelling})-[:{spelling}|IsA]->(m) WHERE m:{spelling} RETURN n.text AS {spelling} ORDER BY {spelling}",
            f"RETURN {{{spelling}: 1, other: ${spelling}}} AS x",
            f"WITH {{a: 1, {spelling}: 2}} AS m RETURN m.{spelling} + 1 AS x",
        ):
            check(query, dialect)


BEFORE = [
    "",
    "MATCH (n) ",
    "MATCH (n) WITH n ",
    "MATCH (n) WITH * ",
    "MATCH (n) WHERE n.x = 1 ",
    "MATCH (n) WHERE n:% ",
    "MATCH ((a)-->(b))+ ",
    "MATCH ((a)-->(b))* ",
    "MATCH ((a)-->(b)){1,2} ",
    "MATCH (n) WHERE n.x IS :: LIST<INTEGER> ",
    "MATCH (n) WHERE n.x IS NOT NULL ",
    "MATCH (n) WITH n ORDER BY n.x ASC ",
    "MATCH (n) WITH n LIMIT 1 ",
    "UNWIND [1] AS x ",
    "CALL { MATCH (n) RETURN n } ",
    "CALL db.labels() YIELD label ",
    "CALL db.labels() YIELD * ",
    "MATCH (n) RETURN n UNION ",
    "MATCH (n) WITH [x IN [1] | x] AS l ",
    "MATCH (n) WITH CASE WHEN true THEN 1 ELSE 2 END AS x ",
    "RETURN 1 AS x; ",
]
AFTER = ["n", "(n)", "n.x = 1", "(:Concept {uri: 'x'})", "CSV FROM 'x' AS y", "'x'", "`n`", "[n]", "$x"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("word", sorted(HARD))
def test_a_keyword_where_a_clause_can_start_is_refused(word: str, dialect: Dialect) -> None:
    for before in BEFORE:
        for after in AFTER:
            with pytest.raises(QueryRefused):
                check(f"{before}{word} {after}", dialect)


@given(st.sampled_from(KEYWORDS), st.lists(st.sampled_from([" ", "\n", "\t", "/* x */", "// x\n"]), min_size=1, max_size=4))
def test_keywords_are_found_behind_blanks_and_comments(word: str, blanks: list[str]) -> None:
    gap = "".join(blanks)
    with pytest.raises(QueryRefused):
        check(f"MATCH (n){gap}{word}{gap}{word}{gap}n")


def test_the_error_names_the_position() -> None:
    with pytest.raises(QueryRefused, match=r"^SET at line 2, column 3 is refused; a query reads with MATCH, .*backticks$"):
        check("MATCH (n)\n  SET n.x = 1")
    with pytest.raises(QueryRefused, match=r"^the function apoc.load.json at line 1, column 8 is refused; "):
        check("RETURN apoc.load.json('x')")
    with pytest.raises(QueryRefused, match=r"^CALL dbms.listConfig at line 1, column 6 is refused; the procedures db.labels, "):
        check("CALL dbms.listConfig()")


def test_regular_expression_in_a_parameter_is_checked_where_it_is_known() -> None:
    query = "MATCH (n) WHERE n.text =~ $pattern RETURN n"
    check(query, "neo4j")
    check(query, "neo4j", {"pattern": "dog.*"})
    with pytest.raises(QueryRefused, match="repeat of repeats"):
        check(query, "neo4j", {"pattern": "(a+)+"})
    check(query, "embedded", {"pattern": "(a+)+"})


def test_regular_expressions_are_checked_quickly() -> None:
    query = "MATCH (n) WHERE n.text =~ $pattern RETURN n"
    for pattern in ("[" * 1_000_000, "{1" * 500_000, "\\\\" * 500_000, "(" * 1_000_000):
        started = time.process_time()
        with pytest.raises(QueryRefused, match="more than 1,000 characters"):
            check(query, "neo4j", {"pattern": pattern})
        assert time.process_time() - started < 1


def test_repeats_of_long_texts_are_refused() -> None:
    query = "MATCH (n) WHERE $text =~ '.*.*b' RETURN n"
    check(query, "neo4j", {"text": "a dog"})
    with pytest.raises(QueryRefused, match="two repeats and a text"):
        check(query, "neo4j", {"text": "a" * 100_000})
    with pytest.raises(QueryRefused, match="two repeats and a text"):
        check(query, "neo4j", {"other": [{"text": "a" * 100_000}]})
    check("MATCH (n) WHERE $text =~ '.*b' RETURN n", "neo4j", {"text": "a" * 100_000})


def test_range_by_parameter_is_checked_where_it_is_known() -> None:
    query = "RETURN [i IN range(0, $n) | i] AS l"
    check(query, "neo4j", {"n": 10})
    with pytest.raises(QueryRefused, match="a range that may be long"):
        check(query, "neo4j", {"n": 10**12})


@pytest.mark.parametrize(
    "pattern",
    [
        "dog",
        "(?i)dog.*",
        "^a|b$",
        "[a-z]+ing",
        r"\w+\s\d{4}",
        "(ab){2}",
        "(a|b)?",
        "(a+ )?b",
        "colou?r",
        "(?:the )?dog",
        r"\(a\+\)\+",
    ],
)
def test_plain_regular_expression_is_harmless(pattern: str) -> None:
    assert explosive(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+", "(a*)*b", "((a|b))*", "(a{1,9}){1,9}", r"(a)\1", "(?=a)b", "(?<x>a)", r"\Qa\E", ".*" * 4, "a?" * 20, "(?x)(a+) +"],
)
def test_explosive_regular_expression_is_found(pattern: str) -> None:
    assert explosive(pattern)


def test_word_lists_have_one_case_and_no_unsafe_functions() -> None:
    assert all(word == word.upper() for word in HARD)
    for dialect in DIALECTS:
        assert all(name == name.lower() for name in FUNCTIONS[dialect] | PROCEDURES[dialect])
        assert not re.search(r"file|csv|load|json|http|nextval|setseed|apoc|dbms", " ".join(FUNCTIONS[dialect]))


@pytest.mark.parametrize(
    ("query", "limited"),
    [
        ("MATCH (n) RETURN n", "MATCH (n) RETURN n\nLIMIT 5"),
        ("MATCH (n) RETURN n; // all", "MATCH (n) RETURN n\nLIMIT 5"),
        ("MATCH (n) RETURN n ORDER BY n.x SKIP 2", "MATCH (n) RETURN n ORDER BY n.x SKIP 2\nLIMIT 5"),
        ("MATCH (n) RETURN n LIMIT 3", "MATCH (n) RETURN n LIMIT 3"),
        ("MATCH (n) RETURN n LIMIT 900;", "MATCH (n) RETURN n LIMIT 5;"),
        ("MATCH (n) RETURN n LIMIT $x", "MATCH (n) RETURN n LIMIT $x"),
        ("MATCH (n) WITH n LIMIT 900 RETURN n", "MATCH (n) WITH n LIMIT 900 RETURN n\nLIMIT 5"),
        ("RETURN 1 AS x UNION RETURN 2 AS x", "RETURN 1 AS x UNION RETURN 2 AS x"),
        ("RETURN COUNT { MATCH (n) RETURN n LIMIT 9 } AS c", "RETURN COUNT { MATCH (n) RETURN n LIMIT 9 } AS c\nLIMIT 5"),
        ("CALL show_tables() RETURN name", "CALL show_tables() RETURN name\nLIMIT 5"),
    ],
)
def test_the_row_limit_is_pushed_down_where_results_stay_equal(query: str, limited: str) -> None:
    checker = Checker(query, "embedded")
    checker.run()
    assert checker.limited(5) == limited


@pytest.mark.parametrize(
    "query", ["RETURN range(0, {})", "MATCH (n) RETURN n LIMIT {}", "WITH [1] AS l RETURN l[{}]", "RETURN {}.0"]
)
def test_numbers_of_thousands_of_digits_are_refused(query: str) -> None:
    with pytest.raises(QueryRefused, match=r"a number of 5,00\d characters .* at most 400"):
        check(query.format("9" * 5000))

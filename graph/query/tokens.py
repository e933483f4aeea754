"""Tokens of Cypher, and the allow-list: which clauses, operators, functions and procedures a user's query may contain.

The tokenizer distinguishes a keyword from the same letters in a string, a comment or a quoted name. It is stricter than the
engines on purpose: where the two engines, or two versions of one, could see different tokens in the same text (an escape for a
quote, a control character, letters whose upper case is an ASCII letter), the text is refused. Every engine splits accepted text
into the same tokens.

Everything that is not in the allow-list is refused, including statements that a later version of an engine adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, Literal, NamedTuple

from ...cypher import Dialect
from ..errors import QueryInvalid, QueryRefused

Kind = Literal["word", "quoted", "string", "number", "parameter", "symbol", "end"]

MAX_CHARACTERS = 20_000
"""Most characters of a query."""

_SPACE = " \t\n\r\u00a0"
_SKIP = re.compile(rf"[{_SPACE}]+|//[^\n\r]*|/\*[\s\S]*?\*/")
_WORD = re.compile(r"[^\W\d]\w*")
_MAX_DIGITS = 400  # a float has at most 309 before its point
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|0[oO][0-7]+|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_STRING = re.compile(r"'(?:[^'\\]|\\[\s\S])*'|\"(?:[^\"\\]|\\[\s\S])*\"")
_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_PARAMETER = re.compile(r"\$(?:[^\W\d]\w*|[0-9]+(?!\w)|`(?:[^`]|``)+`)")
_SYMBOL = re.compile(r"=~|<>|<=|>=|!=|\.\.|::|\|\||[-()\[\]{},.;:|&!%+*/^=<>]")
_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\r(?!\n)")
_CLOSING = "\\'\"`*/\n\r"
"""Characters that can end a string, a quoted name or a comment; they may not be written as escapes."""


class Token(NamedTuple):
    """One token of a query."""

    kind: Kind  # the token's kind; `end` occurs once, after the last token
    text: str  # its characters, `query[start:end]`
    # start, end: its position in the query, in characters from 0
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name, without ``$`` and backticks, of a word, a quoted name or a parameter."""
        text = self.text.removeprefix("$") if self.kind == "parameter" else self.text
        return text[1:-1].replace("``", "`") if text.startswith("`") else text

    @property
    def upper(self) -> str:
        """A word in upper case, for comparison with keywords; empty for other kinds, so that a quoted name is never a keyword."""
        return self.text.upper() if self.kind == "word" else ""


def refused(query: str, position: int, what: str, allowed: str) -> QueryRefused:
    """Return the error that refuses ``what`` at character ``position`` (from 0) of ``query``; ``allowed`` says what to write."""
    return QueryRefused(f"{what} at {place(query, position)} is refused; {allowed}")


def place(query: str, position: int) -> str:
    """Return the line and column, both from 1, of character ``position`` (from 0)."""
    line = query.count("\n", 0, position) + 1
    return f"line {line}, column {position - query.rfind(chr(10), 0, position)}"


def tokenize(query: str) -> list[Token]:
    """Return the tokens of ``query`` without white space and comments, with an ``end`` token last."""
    if len(query) > MAX_CHARACTERS:
        raise QueryRefused(f"the query has {len(query):,} characters; the maximum is {MAX_CHARACTERS:,}; pass data as parameters")
    if control := _CONTROL.search(query):
        raise refused(query, control.start(), "a control character", "write plain text with ordinary line ends")
    for escape in _ESCAPE.finditer(query):
        if chr(int(escape[1], 16)) in _CLOSING or 0xD800 <= int(escape[1], 16) < 0xE000:
            what = f"the escape {escape[0]}"
            raise refused(query, escape.start(), what, "write the character itself or pass it as a parameter")
    tokens: list[Token] = []
    position = 0
    while position < len(query):
        if skipped := _SKIP.match(query, position):
            position = skipped.end()
            continue
        token = _read(query, position)
        tokens.append(token)
        position = token.end
    tokens.append(Token("end", "", len(query), len(query)))
    return tokens


def _read(query: str, start: int) -> Token:
    """Return the token that begins at ``start``."""
    first = query[start]
    kind: Kind
    if first in "'\"":
        kind, match, what = "string", _STRING.match(query, start), "a string without its closing quote"
    elif first == "`":
        kind, match, what = "quoted", _QUOTED.match(query, start), "a quoted name that is empty or has no closing backtick"
    elif first == "$":
        kind, match, what = "parameter", _PARAMETER.match(query, start), "a $ without a parameter's name"
    elif query.startswith("/*", start):
        raise refused(query, start, "a comment without its end", "close it with */")
    elif first.isdecimal() or (first == "." and query[start + 1 : start + 2].isdecimal() and query[start - 1 : start] != "."):
        kind, match, what = "number", _NUMBER.match(query, start), "a digit other than 0 to 9"
    elif match := _WORD.match(query, start):
        kind, what = "word", ""
    else:
        kind, match, what = "symbol", _SYMBOL.match(query, start), f"the character {first!a}"
    if match is None:
        raise refused(query, start, what, "strings, names in backticks, numbers, $parameters and Cypher's symbols are allowed")
    text, end = match[0], match.end()
    if kind == "number" and not text.isascii():
        raise refused(query, start, f"the number {text!a}", "write numbers with the digits 0 to 9")
    if kind == "number" and len(text) > _MAX_DIGITS:
        raise refused(query, start, f"a number of {len(text):,} characters", f"write numbers with at most {_MAX_DIGITS}")
    if kind == "number" and _WORD.match(query, end):
        raise refused(query, end, "a letter directly after a number", "put a space between them")
    if kind == "word" and not text.isascii() and any(letter.isascii() for letter in _case_variants(text)):
        raise refused(query, start, f"the word {text!a}", "put names with non-ASCII letters in backticks")
    return Token(kind, text, start, end)


def _case_variants(word: str) -> str:
    """Return the other cases of the non-ASCII letters of ``word``; an ASCII letter among them could complete a keyword.

    The German sharp s is allowed: it becomes two letters, and the engines compare letter by letter.
    """
    non_ascii = (letter for letter in word if not letter.isascii() and letter not in "ßẞ")
    return "".join(fold for letter in non_ascii for fold in (letter.upper(), letter.lower(), letter.casefold()))


# The allow-list


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLAUSES: Final = _words("MATCH OPTIONAL WHERE WITH UNWIND RETURN ORDER SKIP OFFSET LIMIT UNION CALL YIELD")
"""Words that begin a clause, or part of one, in a reading query."""

ALLOWED: Final = (
    "a query reads with MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION, CASE, "
    "EXISTS, COUNT and COLLECT, or explains one with EXPLAIN; put names that look like keywords in backticks"
)

HARD: Final = _words(
    """
        ALTER ANALYZE ASSERT ATTACH BEGIN CHECKPOINT COMMENT COMMIT COPY CREATE CYPHER DEALLOCATE DELETE DENY DETACH DROP
        DRYRUN ENABLE EXECUTE EXPLAIN EXPORT EXTENSION FILTER FINISH FOR FOREACH FORCE GRANT IMPORT INSERT INSTALL LET
        LOAD MERGE MACRO NEXT NODETACH PROFILE PROJECT RELOAD REMOVE RENAME REVOKE ROLLBACK SET SHOW START STOP TERMINATE
        TRANSACTION UNINSTALL UPDATE USE USING VACUUM
        """
)
"""Words that begin a statement other than reading; as a name such a word is accepted only where nothing but a name can occur."""

OPERATORS: Final = _words("AND OR XOR IN CONTAINS WHEN THEN ELSE STARTS ENDS IS AS NOT")
"""Words between two operands, or after one operand and before another."""

ENDINGS: Final = _words("END ASC ASCENDING DESC DESCENDING NORMALIZED")
"""Words after an operand that complete it."""

PREFIXES: Final = _words("NOT DISTINCT CASE WHEN WHERE ELSE")
"""Words before an operand."""

PATHS: Final = _words("ANY ALL SHORTEST WSHORTEST TRAIL ACYCLIC WALK GROUP GROUPS PATH PATHS")
"""Words of path selectors, such as ``ALL SHORTEST``; all of them only read."""

SUBQUERIES: Final = _words("EXISTS COUNT COLLECT")
"""Words before a subquery in braces."""

_SHARED: Final = _words(
    """
        abs acos all any asin atan atan2 avg ceil coalesce collect cos cot count date degrees duration exists floor id
        keys labels left length log log10 lower ltrim max min nodes none nullif percentilecont percentiledisc pi
        properties radians range relationships replace reverse right round rtrim shortest wshortest groups paths sign sin
        single size sqrt substring sum tan timestamp tolower tostring toupper trim type upper
        """
)

FUNCTIONS: Final[dict[Dialect, frozenset[str]]] = {
    "neo4j": _SHARED
    | _words(
        """
        allshortestpaths btrim char_length character_length cosh coth date.realtime date.statement date.transaction
        date.truncate datetime datetime.fromepoch datetime.fromepochmillis datetime.realtime datetime.statement
        datetime.transaction datetime.truncate duration.between duration.indays duration.inmonths duration.inseconds e
        elementid endnode exp haversin head isempty isnan last localdatetime localdatetime.realtime
        localdatetime.statement localdatetime.transaction localdatetime.truncate localtime localtime.realtime
        localtime.statement localtime.transaction localtime.truncate normalize point point.distance point.withinbbox rand
        randomuuid reduce shortestpath sinh split startnode stdev stdevp tail tanh time time.realtime time.statement
        time.transaction time.truncate toboolean tobooleanlist tobooleanornull tofloat tofloatlist tofloatornull tointeger
        tointegerlist tointegerornull tostringlist tostringornull valuetype vector.similarity.cosine
        vector.similarity.euclidean
        """
    ),
    "embedded": _SHARED
    | _words("allshortestpaths endnode head isempty last rand reduce shortestpath split startnode tail")  # see rewrite.py
    | _words(
        """
        array_append array_cat array_concat array_contains array_cosine_similarity array_cross_product array_distance
        array_dot_product array_extract array_has array_indexof array_inner_product array_position array_prepend
        array_push_back array_push_front array_slice array_squared_distance array_value bitshift_left bitshift_right
        bitwise_and bitwise_or bitwise_xor blob cardinality cast cbrt ceiling century concat concat_ws contains cost count_if
        current_date current_timestamp date_part date_trunc datepart datetrunc dayname decode element_at encode end_node
        ends_with epoch_ms even factorial gamma greatest hash histogram ifnull initcap interval is_acyclic is_trail label
        last_day lcase least levenshtein lgamma list_any_value list_append list_cat list_concat list_contains
        list_creation list_distinct list_element list_extract list_filter list_has list_has_all list_has_any list_indexof
        list_max list_min list_position list_prepend list_product list_reduce list_reverse list_reverse_sort list_slice
        list_sort list_sum list_to_string list_transform list_unique ln log2 lpad make_date map map_extract map_keys
        map_values md5 monthname negate octet_length offset pow prefix random regexp_extract regexp_extract_all
        regexp_full_match regexp_matches regexp_replace regexp_split_to_array rels repeat rpad sha256 split_part
        start_node starts_with str_split string string_split string_to_array struct_extract struct_pack substr suffix
        time_bucket to_bool to_date to_days to_double to_epoch_ms to_float to_hours to_int128 to_int16 to_int32 to_int64
        to_int8 to_interval to_microseconds to_milliseconds to_minutes to_months to_seconds to_string to_timestamp
        to_uint128 to_uint16 to_uint32 to_uint64 to_uint8 to_uuid to_years typeof ucase union_extract union_tag
        union_value uuid
        """
    ),
}
"""Functions by dialect, in lower case: none of them reads a file, keeps state or uses the network."""

PROCEDURES: Final[dict[Dialect, frozenset[str]]] = {
    "neo4j": _words(
        """
        db.labels db.relationshiptypes db.propertykeys db.schema.nodetypeproperties db.schema.reltypeproperties
        db.schema.visualization
        """
    ),
    "embedded": _words("show_tables show_connection table_info"),
}
"""Procedures by dialect, in lower case: all of them only list labels, relationship types, properties or tables."""

INSTEAD: Final[dict[Dialect, dict[str, str]]] = {
    "neo4j": {
        "array_contains": "x IN list", "cast": "toInteger, toFloat or toString", "current_timestamp": "datetime()",
        "end_node": "endNode", "label": "labels(n)[0] or type(r)", "list_contains": "x IN list",
        "list_filter": "[x IN list WHERE …]", "list_reverse": "reverse", "list_slice": "list[from..to]",
        "list_sum": "reduce(s = 0, x IN list | s + x)", "list_transform": "[x IN list | …]", "random": "rand()",
        "rels": "relationships(path)", "start_node": "startNode", "string_split": "split",
    },
    "embedded": {
        "datetime": "current_timestamp()", "elementid": "id(n)", "exp": "pow(2.718281828459045, x)",
        "toboolean": "cast(x AS BOOL)", "tofloat": "cast(x AS DOUBLE)", "tointeger": "cast(x AS INT64)",
        "tostring": "cast(x AS STRING)", "stdev": "sqrt(avg(x * x) - avg(x) * avg(x))",
    },
}  # fmt: skip
"""Functions of the other engine, and what to write instead on this one."""


class Statement:
    """A query with its tokens.

    Attributes:
        query: its text.
        tokens: its tokens, the ``end`` token last.
    """

    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens = tokenize(query)

    @cached_property
    def closing(self) -> dict[int, int]:
        """Index of the closing bracket, by index of the opening one; the brackets must be balanced."""
        opened: list[int] = []
        closing = {}
        for index, token in enumerate(self.tokens):
            if token.kind == "symbol" and token.text in "([{":
                opened.append(index)
            elif token.kind == "symbol" and token.text in ")]}":
                closing[opened.pop()] = index
        return closing

    def outside(self, start: int, end: int) -> Iterator[int]:
        """Yield the indices from ``start`` to before ``end``, without those inside brackets that open there."""
        while start < end:
            yield start
            start = self.closing.get(start, start) + 1

    def parts(self, start: int, end: int) -> list[range]:
        """Return the ranges of indices from ``start`` to before ``end`` that commas outside of brackets separate."""
        commas = [index for index in self.outside(start, end) if self.tokens[index].text == ","]
        return [range(first + 1, last) for first, last in zip([start - 1, *commas], [*commas, end], strict=True)]

    def subscripts(self, index: int) -> bool:
        """Return whether the bracket ``[`` at ``index`` subscripts the value before it, and begins no list or pattern."""
        before = self.tokens[index - 1] if index else Token("symbol", "", 0, 0)
        if before.kind in ("word", "quoted"):
            keyword = before.upper in CLAUSES | OPERATORS | PREFIXES | {"BY", "DISTINCT"}
            return not keyword or (index > 1 and self.tokens[index - 2].text == ".")
        return before.kind == "parameter" or (before.kind == "symbol" and before.text in (")", "]", "}"))

    def place(self, token: Token) -> str:
        """Return the line and column of ``token``."""
        return place(self.query, token.start)

    def refused(self, token: Token, what: str, allowed: str = ALLOWED) -> QueryRefused:
        """Return the error that refuses ``what`` at ``token``; ``allowed`` says what to write."""
        return refused(self.query, token.start, what, allowed)

    def invalid(self, token: Token, what: str, fault: str) -> QueryInvalid:
        """Return the error for a syntax error in ``what`` at ``token``."""
        return QueryInvalid(f"the query has a syntax error: {what} at {self.place(token)} {fault}")

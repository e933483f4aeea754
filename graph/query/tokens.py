"""From Cypher text to tokens, so that a keyword is told from the same letters in a string, a comment or a quoted name.

The reader is stricter than the engines on purpose: where the two engines, or two versions of one, could see different tokens in
the same text (an escape that stands for a quote, a control character, letters that only upper-case to a keyword), the text is
refused instead of guessed at. What it accepts, every engine cuts into the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..errors import QueryInvalid, QueryRefused

Kind = Literal["word", "quoted", "string", "number", "parameter", "symbol", "end"]

MAX_CHARACTERS = 20_000

_SPACE = " \t\n\r\u00a0"
_SKIP = re.compile(rf"[{_SPACE}]+|//[^\n\r]*|/\*[\s\S]*?\*/")
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]+|0[oO][0-7]+|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_STRING = re.compile(r"'(?:[^'\\]|\\[\s\S])*'|\"(?:[^\"\\]|\\[\s\S])*\"")
_QUOTED = re.compile(r"`(?:[^`]|``)+`")
_PARAMETER = re.compile(r"\$(?:[^\W\d]\w*|[0-9]+(?!\w)|`(?:[^`]|``)+`)")
_SYMBOL = re.compile(r"=~|<>|<=|>=|!=|\.\.|::|\|\||[-()\[\]{},.;:|&!%+*/^=<>]")
_ESCAPE = re.compile(r"\\u+([0-9A-Fa-f]{4})")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\r(?!\n)")
_CLOSING = "\\'\"`*/\n\r"


class Token(NamedTuple):
    """One piece of a query.

    Attributes:
        kind: what it is; ``end`` stands once, after the last.
        text: its characters as they stand in the query, ``query[start:end]``.
        start, end: where it stands.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name that a word, a quoted name or a parameter stands for."""
        text = self.text.removeprefix("$") if self.kind == "parameter" else self.text
        return text[1:-1].replace("``", "`") if text.startswith("`") else text

    @property
    def upper(self) -> str:
        """A word in capitals, as keywords are compared; empty for everything else, so that a quoted name is never a keyword."""
        return self.text.upper() if self.kind == "word" else ""


def refused(query: str, position: int, what: str, allowed: str) -> QueryRefused:
    """Return the error for ``what`` at character ``position`` (from 0) of ``query``, with what is allowed instead."""
    return QueryRefused(f"{what} at {_place(query, position)} is refused; {allowed}")


def invalid(query: str, position: int, what: str, fault: str) -> QueryInvalid:
    """Return the error for a syntax error: ``what`` at character ``position`` (from 0) of ``query``, and its ``fault``."""
    return QueryInvalid(f"the query has a syntax error: {what} at {_place(query, position)} {fault}")


def _place(query: str, position: int) -> str:
    """Return the line and column, both from 1, of character ``position`` (from 0)."""
    line = query.count("\n", 0, position) + 1
    return f"line {line}, column {position - query.rfind(chr(10), 0, position)}"


def matching(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the index of the closing bracket for each opening one, in tokens whose brackets are balanced."""
    opened: list[int] = []
    found = {}
    for index, token in enumerate(tokens):
        if token.kind == "symbol" and token.text in "([{":
            opened.append(index)
        elif token.kind == "symbol" and token.text in ")]}":
            found[opened.pop()] = index
    return found


def tokenize(query: str) -> list[Token]:
    """Return the tokens of ``query`` without white space and comments, an ``end`` token last.

    Raises:
        QueryRefused: too long, a string, comment or quoted name without end, or characters that engines could read differently.
    """
    if len(query) > MAX_CHARACTERS:
        raise QueryRefused(f"the query has {len(query):,} characters; keep it to {MAX_CHARACTERS:,} and give data as parameters")
    if found := _CONTROL.search(query):
        raise refused(query, found.start(), "a control character", "write plain text with ordinary line ends")
    for escape in _ESCAPE.finditer(query):
        if chr(int(escape[1], 16)) in _CLOSING or 0xD800 <= int(escape[1], 16) < 0xE000:
            raise refused(
                query, escape.start(), f"the escape {escape[0]}", "write the character itself or pass it as a parameter"
            )
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
        kind, found, what = "string", _STRING.match(query, start), "a string without its closing quote"
    elif first == "`":
        kind, found, what = "quoted", _QUOTED.match(query, start), "a quoted name that is empty or has no closing backtick"
    elif first == "$":
        kind, found, what = "parameter", _PARAMETER.match(query, start), "a $ without a parameter's name"
    elif query.startswith("/*", start):
        raise refused(query, start, "a comment without its end", "close it with */")
    elif first.isdecimal() or (first == "." and query[start + 1 : start + 2].isdecimal() and query[start - 1 : start] != "."):
        kind, found, what = "number", _NUMBER.match(query, start), "a digit that is not plain"
    elif found := _WORD.match(query, start):
        kind, what = "word", ""
    else:
        kind, found, what = "symbol", _SYMBOL.match(query, start), f"the character {first!a}"
    if found is None:
        raise refused(query, start, what, "strings, names in backticks, numbers, $parameters and Cypher's signs are allowed")
    text, end = found[0], found.end()
    if kind == "number" and not text.isascii():
        raise refused(query, start, f"the number {text!a}", "write numbers with the digits 0 to 9")
    if kind == "number" and _WORD.match(query, end):
        raise refused(query, end, "a letter right after a number", "put a space between them")
    if kind == "word" and not text.isascii() and any(letter.isascii() for letter in _folds(text)):
        raise refused(query, start, f"the word {text!a}", "put names with unusual letters in backticks")
    return Token(kind, text, start, end)


def _folds(word: str) -> str:
    """Return what the letters of ``word`` outside ASCII become in another case; an ASCII letter there could make a keyword.

    The German sharp s is let through: it becomes two letters, and the engines compare letter by letter.
    """
    unusual = (letter for letter in word if not letter.isascii() and letter not in "ßẞ")
    return "".join(fold for letter in unusual for fold in (letter.upper(), letter.lower(), letter.casefold()))

"""Numbers in files: one that is written as the format says is kept as it is, any other is rejected, and none is altered."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tacit.graph.names import MAX_URI
from tacit.loaders import read_atomic, read_conceptnet, read_numberbatch, read_rdf
from tacit.loaders.conceptnet import parse_details

STATEMENT = """\
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/1999/02/22-rdf-syntax-ns#Statement> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> <http://conceptnet.io/c/en/dog> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#predicate> <urn:tacit:relation:IsA> .
_:s <http://www.w3.org/1999/02/22-rdf-syntax-ns#object> <http://conceptnet.io/c/en/animal> .
_:s <urn:tacit:vocabulary:{name}> {value} .
<http://conceptnet.io/c/en/cat> <urn:tacit:relation:IsA> <http://conceptnet.io/c/en/animal> .
"""

plain = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers = (
    st.floats().map(repr)
    | st.integers(-(10**30), 10**30).map(str)
    | st.decimals(allow_nan=True).map(str)
    | st.text("0123456789._-+eExXnaifINFNA ,", max_size=12)
)


def exact(text: str) -> Fraction | None:
    """The number in decimal notation that ``text`` is, None when it is none: what the loaders are held against."""
    match = re.fullmatch(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?", text, re.ASCII)
    if match is None or not (match[2] or match[3]):
        return None
    fraction = match[3] or ""
    value = int((match[2] or "") + fraction) * Fraction(10) ** (int(match[4] or 0) - len(fraction))
    return -value if match[1] == "-" else value


def as_double(value: Fraction | None) -> float:
    """The nearest double, NaN where there is no finite one."""
    try:
        return math.nan if value is None else float(value)
    except OverflowError:
        return math.nan


@plain
@given(numbers)
@example("1_0")
@example("-5")
@example("Infinity")
@example("NaN")
@example("1e400")
@example("٣")
def test_weights_of_rdf(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.nt"
    path.write_text(STATEMENT.format(name="weight", value=json.dumps(text)), encoding="utf-8")
    reader = read_rdf(path)
    weights = [row.weight for row in reader if row.head == "/c/en/dog"]
    wanted = as_double(exact(text))
    if wanted >= 0:
        assert weights == [wanted]
        assert not reader.report.rejected
    else:
        assert weights == []
        assert reader.report.rejected == {"weight is not a finite number >= 0": 1}
        assert reader.report.rejects[0].line == 5
    assert reader.report.read == reader.report.kept + sum(reader.report.dropped.values()) + sum(reader.report.rejected.values())


@plain
@given(numbers)
@example("1_0")
@example("-0.0")
@example("1e400")
def test_weights_of_conceptnet(text: str) -> None:
    details = parse_details('{"weight": ' + text + "}")
    try:
        value = json.loads(text, parse_constant=lambda _: None, parse_float=exact, parse_int=exact)
    except (ValueError, RecursionError):
        value = None
    if as_double(value if isinstance(value, (Fraction, int)) else None) >= 0:  # type: ignore[arg-type]
        assert isinstance(details, tuple), details
        assert details[0] == as_double(value)
        assert math.copysign(1, details[0]) == 1
    else:
        assert isinstance(details, str)


@plain
@given(numbers)
@example("1_0")
@example("nan")
@example("65504")
@example("65520")
def test_values_of_numberbatch(tmp_path: Path, text: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(f"dog 1 2\ncat {text} 2\n", encoding="utf-8")
    reader = read_numberbatch(path)
    rows = {row.uri: row.values.tolist() for row in reader}
    value = as_double(exact(text))
    if abs(value) <= 65504:
        assert rows["/c/en/cat"] == [np.float32(value), 2.0]
    else:
        assert list(rows) == ["/c/en/dog"]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rank", '"1e300"', "rank is not a whole number >= 0"),
        ("rank", '"-1"', "rank is not a whole number >= 0"),
        ("rank", '"99999999999999999999"', "rank is not a whole number >= 0"),
        ("score", '"-INF"', "score is not a finite number"),
        ("score", '"1_0"', "score is not a finite number"),
        ("source", '"\\\\uD800"', "not well-formed Unicode"),
    ],
)
def test_a_statement_with_an_invalid_term_is_one_reject(tmp_path: Path, name: str, value: str, reason: str) -> None:
    path = tmp_path / "a.nt"
    path.write_text(STATEMENT.format(name=name, value=value.replace("\\\\", "\\")))
    reader = read_rdf(path)
    heads = [row.head for row in reader]
    assert heads[-1] == "/c/en/cat"
    assert reader.report.rejected == {reason: 1}
    assert reader.report.rejects[0].line == 5


def test_bad_triples_do_not_end_a_load(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.nt"
    long = "x" * MAX_URI
    path.write_text(
        '<http://a/x> <http://a/b> "\\uD800" .\n'
        "<urn:tacit:event:x_eats> <urn:tacit:relation:IsA> <http://conceptnet.io/c/en/dog> .\n"
        f"<http://conceptnet.io/c/en/{long}> <urn:tacit:relation:IsA> <http://conceptnet.io/c/en/dog> .\n"
        "<http://a/x y> <http://a/b> <http://a/c> .\n"
        '<http://a/x> <http://a/b> "x"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        "<http://conceptnet.io/c/en/dog> <urn:tacit:relation:IsA> <http://conceptnet.io/c/en/animal> .\n"
    )
    for format, lines in (("nt", slice(0, 6)), ("turtle", slice(1, 3))):
        text = "".join(path.read_text().splitlines(keepends=True)[lines])
        path.write_text(text + "<http://conceptnet.io/c/en/cat> <urn:tacit:relation:IsA> <http://conceptnet.io/c/en/animal> .\n")
        reader = read_rdf(path, format=format, literals=True)
        assert "/c/en/cat" in [row.head for row in reader if row.relation == "IsA"]
        assert reader.report.rejected["joins a concept and an event"] == 1
        assert reader.report.rejected["URI longer than 4,096 bytes"] == 1
        assert (reader.report.rejected["not well-formed Unicode"] == 1) == (format == "nt")
    output = capfd.readouterr()
    assert output.err == ""
    assert output.out == ""


def test_uris_that_are_too_long_are_rejected_by_every_loader(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for length, count in ((MAX_URI - len("/c/en/"), 1), (MAX_URI, 0), (70_000, 0)):
        term = "ü" * (length // 2) + "x" * (length % 2)
        path.write_text(f'/a/[]\t/r/IsA\t/c/en/{term}\t/c/en/dog\t{{"weight": 1}}\n', encoding="utf-8")
        reader = read_conceptnet(path)
        assert len(list(reader)) == count
        assert reader.report.rejected["URI longer than 4,096 bytes"] == 1 - count
    for head, tail in (("x" * 70_000, "to rest"), ("PersonX eats", "ü" * 2100)):
        path.write_text(f"{head}\txWant\t{tail}\n", encoding="utf-8")
        events = read_atomic(path)
        assert list(events) == []
        assert events.report.rejected == {"URI longer than 4,096 bytes": 1}

"""Mappings: TOML files that describe how to turn a table or JSON file into assertions.

======================  ===========================================================================================
table                   says
======================  ===========================================================================================
(top)                   name, licence, language and dataset of the assertions
``[file]``              the format, where the content does not show it
``[columns]``           which columns or JSON fields are head, relation, tail, weight, language, licence, dataset
``[nodes]``             how names become concepts or events
``[relations]``         which relations map to which of tacit's, which are added, which are left out
``[[drop]]``            which rows are left out
======================  ===========================================================================================

All keys are the fields of the classes here; docs/loading.md explains them. Mappings of public datasets ship in ``mappings/``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

import orjson

from ..graph.errors import InputError, did_you_mean
from ..graph.names import check_relation
from ..graph.relations import RELATIONS, SOCIAL_RELATIONS, AddedRelation
from ..graph.schema import Unfit, load_strictly
from .io import finite

Kind = Literal["concept", "event"]
Format = Literal["csv", "tsv", "json", "parquet"]

_FORBID = {"extra": "forbid"}
_NAME = re.compile(r"[\w.:+-]{1,64}")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
_BARE = re.compile(r"[\w-]+(?:\[[0-9]+\])?", re.ASCII)
_SHORTEST = 4
"""Fewest letters of an unknown relation that is looked for among the meanings of the known ones."""
_DBPEDIA = re.compile(r"dbpedia_[A-Za-z0-9_]{1,56}")


@dataclass(frozen=True)
class FileForm:
    """The table ``[file]``."""

    # `csv` (quoted), `tsv` (tabs, not quoted), `json` (lines, a list, or one object) or `parquet`; None recognises it.
    format: Format | None = None
    delimiter: str | None = None  # between the cells of `csv`; None recognises comma, semicolon and tab
    names: tuple[str, ...] = ()  # the columns of a table without a heading, or of JSON lists and tab-separated JSON texts
    # The path to the rows in one JSON object, e.g. `*.edges.*`; a star stands for every key, and the columns `*1`, `*2` … are
    # the keys at the stars.
    rows: str = ""
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Columns:
    """The table ``[columns]``: names of columns, or of JSON fields with dots between the keys; empty where there is none."""

    head: str = ""  # head, relation, tail: the triple
    relation: str = ""
    tail: str = ""
    head_text: str = ""  # head_text, tail_text: texts of head and tail, where these are identifiers
    tail_text: str = ""
    triple: tuple[str, ...] = ()  # columns whose cells have head, relation and tail in one text, in place of the three
    between: str = ""  # separator of the three parts of such a text
    weight: str = ""  # weight, language, license, dataset: values of the row that replace those of the whole file
    language: str = ""
    license: str = ""
    dataset: str = ""
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Nodes:
    """The table ``[nodes]``."""

    # What names become; None: events under the relations that ATOMIC-2020 alone has, concepts under the others.
    kind: Kind | None = None
    alternatives: str = ""  # what separates several texts of one node, of which the first is used; empty: no separator
    replace: dict[str, str] = field(default_factory=dict)  # parts of a name and what replaces them, in this order
    none: tuple[str, ...] = ()  # names that stand for no node, in any case; rows with one are left out
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Target:
    """What a relation of the file maps to: a text, or a table ``{relation = …, reversed = true, nodes = "event"}``."""

    relation: str  # one of tacit's, or an added one
    reversed: bool = False  # head and tail are swapped
    nodes: Kind | None = None  # kind of the nodes, instead of `kind` of `[nodes]`
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Addition:
    """A table ``[relations.add.NAME]``: a relation that tacit does not know."""

    meaning: str  # where A is the head and B the tail, e.g. `A calms B`
    symmetric: bool = False  # A and B can be exchanged
    inverse: str = ""  # name under which the file gives the same with head and tail exchanged
    nodes: Kind | None = None  # kind of the nodes, instead of `kind` of `[nodes]`
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Relations:
    """The table ``[relations]``."""

    always: str = ""  # the relation of every row of a file without a column for it
    prefixes: tuple[str, ...] = ()  # beginnings of the file's relations that are ignored, e.g. `/r/`
    map: dict[str, Target] = field(default_factory=dict)  # the file's relation -> tacit's
    add: dict[str, Addition] = field(default_factory=dict)  # relations that tacit does not know
    drop: tuple[str, ...] = ()  # relations whose rows are left out
    __pydantic_config__: ClassVar[Any] = _FORBID


@dataclass(frozen=True)
class Drop:
    """A table ``[[drop]]``: rows whose value in ``column`` is a number ``below`` or ``above`` a limit, or one of ``any_of``."""

    column: str
    below: float | None = None
    above: float | None = None
    any_of: tuple[str, ...] = ()
    __pydantic_config__: ClassVar[Any] = _FORBID

    def applies(self, value: Any) -> bool | None:
        """Return whether a row with this value is left out; None when the value is not a number and should be one."""
        if self.any_of:
            return ("" if value is None else str(value)) in self.any_of
        text = value.strip() if isinstance(value, str) else repr(value)
        number = None if isinstance(value, bool) else finite(text)
        if number is None:
            return None
        return number < self.below if self.below is not None else self.above is not None and number > self.above

    @property
    def reason(self) -> str:
        """The reason that the report gives, e.g. ``weight below 1``."""
        if self.below is not None:
            return f"{self.column} below {self.below:g}"
        if self.above is not None:
            return f"{self.column} above {self.above:g}"
        return f"{self.column} is {' or '.join(self.any_of)}"


@dataclass(frozen=True)
class Rule:
    """How rows of one relation are loaded: its name in the graph, whether head and tail are swapped, and their kind."""

    relation: str
    reversed: bool
    kind: Kind
    symmetric: bool = False


@dataclass(frozen=True)
class Mapping:
    """A checked mapping.

    Attributes:
        name: the source of every assertion; by default the file's name without ``.toml``.
        license, language, dataset: of every assertion; an empty dataset means the name of the data file.
        place: the mapping's file or name, for messages.
    """

    name: str = ""
    license: str = ""
    language: str = "en"
    dataset: str = ""
    file: FileForm = field(default_factory=FileForm)
    columns: Columns = field(default_factory=Columns)
    nodes: Nodes = field(default_factory=Nodes)
    relations: Relations = field(default_factory=Relations)
    drop: tuple[Drop, ...] = ()
    place: str = field(default="the mapping", compare=False, init=False)
    __pydantic_config__: ClassVar[Any] = _FORBID

    def rule(self, name: str) -> Rule | None:
        """Return the rule for a relation of the file, None when it is unknown."""
        relations = self.relations
        short = next((name.removeprefix(prefix) for prefix in relations.prefixes if name.startswith(prefix)), name)
        target = relations.map.get(name) or relations.map.get(short)
        inverses = {added.inverse: relation for relation, added in relations.add.items() if added.inverse}
        if target is None and short in inverses:
            target = Target(inverses[short], reversed=True)
        if target is None:
            if not self._exists(short):
                return None
            target = Target(short)
        added = relations.add.get(target.relation)
        kind = target.nodes or (added.nodes if added else None) or self.nodes.kind
        social: Kind = "event" if target.relation in SOCIAL_RELATIONS else "concept"
        return Rule(target.relation, target.reversed, kind or social, bool(added and added.symmetric))

    @cached_property
    def added(self) -> tuple[AddedRelation, ...]:
        """The relations that the mapping adds, for the graph's manifest."""
        return tuple(AddedRelation(name, new.meaning, new.symmetric, new.inverse) for name, new in self.relations.add.items())

    @cached_property
    def digest(self) -> str:
        """12 hexadecimal digits that identify the mapping's content."""
        rules = asdict(self) | {"place": ""}
        return hashlib.sha256(orjson.dumps(rules, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]

    def suggestion(self, name: str) -> str:
        """Return the advice for an unknown relation of the file, e.g. ``did you mean IsA?``; may be empty."""
        known = [*RELATIONS, *self.relations.add, *self.relations.map]
        pattern = re.compile(rf"\bA (?:is|are)?(?: an?| the)? *{re.escape(name.strip())}\b", re.IGNORECASE)
        match = next((relation for relation in known if _letters(relation) == _letters(name)), None)
        if match is None and len(name.strip()) >= _SHORTEST:
            match = next((relation for relation, meaning in RELATIONS.items() if pattern.search(meaning)), None)
        return f"did you mean {match}?" if match else did_you_mean(name, known, "")

    def _exists(self, relation: str) -> bool:
        return relation in RELATIONS or relation in self.relations.add or _DBPEDIA.fullmatch(relation) is not None


def shipped_mappings() -> list[str]:
    """Return the names of the mappings that ship."""
    folder = resources.files(__package__) / "mappings"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def open_mapping(mapping: Mapping | str | os.PathLike[str]) -> Mapping:
    """Return the mapping with this name (:func:`shipped_mappings`), or in this TOML file.

    Raises:
        InputError: there is none, it is not TOML, or it has a fault; the message names the file and the line or key.
    """
    if isinstance(mapping, Mapping):
        return mapping
    name = os.fspath(mapping)
    shipped = name in shipped_mappings()
    path = resources.files(__package__) / "mappings" / f"{name}.toml" if shipped else Path(name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        hint = did_you_mean(name, shipped_mappings(), f"the names are {', '.join(shipped_mappings())}")
        raise InputError(f"there is no mapping {name}; give a TOML file or the name of one that ships ({hint})") from None
    except OSError as error:
        raise InputError(f"the mapping {name} cannot be read: {error.strerror or error}") from None
    place = f"mappings/{name}.toml" if shipped else name
    try:
        table = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"the mapping {place} is not UTF-8; convert it (iconv -t UTF-8)") from None
    except tomllib.TOMLDecodeError as error:
        reason = str(error).replace("Cannot overwrite a value", "a key is given twice")
        raise InputError(f"the mapping {place} is not TOML: {reason}") from None
    return parse_mapping(table, place, name if shipped else Path(name).stem)


def parse_mapping(table: dict[str, Any], place: str = "the mapping", name: str = "") -> Mapping:
    """Return the mapping in a table, as TOML has it; ``name`` is used when it gives none."""
    try:
        mapping = load_strictly(Mapping, {"name": name, **_with_tables(table)})
    except Unfit as error:
        raise InputError(f"{place}: {_key(error.path)} {error}") from None
    object.__setattr__(mapping, "place", place)  # no key of a file, so it is not an argument
    _check(mapping)
    return mapping


def _with_tables(table: dict[str, Any]) -> dict[str, Any]:
    """Return ``table`` with the short forms written out: a text in place of a target, a name in place of a list of one."""
    table = dict(table)
    if isinstance(relations := table.get("relations"), dict) and isinstance(targets := relations.get("map"), dict):
        full_targets = {name: {"relation": target} if isinstance(target, str) else target for name, target in targets.items()}
        table["relations"] = {**relations, "map": full_targets}
    if isinstance(columns := table.get("columns"), dict) and isinstance(columns.get("triple"), str):
        table["columns"] = {**columns, "triple": [columns["triple"]]}
    return table


def _key(place: Iterable[str | int]) -> str:
    """Return a key as TOML shows it, e.g. ``[columns] head`` or ``[[drop]] 2 column``."""
    steps = list(place)
    if steps[0] == "drop" and len(steps) > 1:
        return f"[[drop]] {int(steps[1]) + 1} {'.'.join(map(str, steps[2:]))}".rstrip()
    if isinstance(steps[-1], int):
        steps[-2:] = [f"{steps[-2]}[{steps[-1]}]"]
    table, key = ".".join(_quoted(str(step)) for step in steps[:-1]), _quoted(str(steps[-1]))
    return f"[{table}] {key}" if table else key


def _quoted(key: str) -> str:
    """Return a key as TOML writes it, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _check(mapping: Mapping) -> None:
    """Raise :class:`InputError` for the first fault that the types do not show."""
    checks = (_top_faults, _column_faults, _file_faults, _relation_faults, _drop_faults)
    fault = next(chain.from_iterable(check(mapping) for check in checks), None)
    if fault is not None:
        raise InputError(f"{mapping.place}: {fault}")


def _top_faults(mapping: Mapping) -> Iterable[str]:
    if not _NAME.fullmatch(mapping.name):
        yield f"name is {mapping.name!r}; it must be up to 64 letters, digits and . : + - _"
    if not LANGUAGE.fullmatch(mapping.language):
        yield f"language is {mapping.language!r}; it must be a language code such as en"


def _column_faults(mapping: Mapping) -> Iterable[str]:
    columns, always = mapping.columns, mapping.relations.always
    triple = {name: getattr(columns, name) for name in ("head", "relation", "tail")}
    if columns.triple:
        columns_given = [name for name, value in triple.items() if value]
        if columns_given:
            yield f"[columns] has {columns_given[0]} and triple; give head, relation and tail, or triple alone"
        if always:
            yield "[relations] always and [columns] triple are both given; leave one out"
        if not columns.between:
            yield "[columns] between is missing; it says what stands between head, relation and tail in the cells of triple"
    else:
        for name, value in triple.items():
            if not value and not (name == "relation" and always):
                alternative = ", or [relations] always, the relation of every row" if name == "relation" else ""
                yield f"[columns] {name} is missing; name the column or JSON field of the {name}{alternative}"
        if columns.relation and always:
            yield "[relations] always and [columns] relation are both given; leave one out"
        if columns.between:
            yield "[columns] between is for triple; leave it out"
    used: dict[str, str] = {}
    for column in fields(columns):
        value = getattr(columns, column.name)
        if column.name not in ("triple", "between") and value:
            if value in used and {column.name, used[value]} <= {"head", "relation", "tail"}:
                yield f"[columns] {used[value]} and {column.name} are both {value!r}; they must be different columns"
            used.setdefault(value, column.name)


def _file_faults(mapping: Mapping) -> Iterable[str]:
    form = mapping.file
    if form.delimiter is not None and (len(form.delimiter) != 1 or form.delimiter in '\r\n"'):
        yield f"[file] delimiter is {form.delimiter!r}; it must be one character, such as a semicolon"
    if form.delimiter is not None and form.format not in (None, "csv"):
        yield f"[file] delimiter is for csv, not for {form.format}; leave it out"
    if form.rows and form.format not in (None, "json"):
        yield f"[file] rows is for json, not for {form.format}; leave it out"
    if form.rows and not form.rows.startswith("*"):
        yield f"[file] rows is {form.rows!r}; it must begin with *, which stands for every key of the file's object"
    if form.names and form.format == "parquet":
        yield "[file] names is for files without names; leave it out, since Parquet has them"
    if len(set(form.names)) < len(form.names):
        yield "[file] names has a name twice; give every column a name of its own"


def _relation_faults(mapping: Mapping) -> Iterable[str]:
    relations = mapping.relations
    for name, added in relations.add.items():
        table = f"[relations.add.{_quoted(name)}]"
        for new_name in (name, added.inverse):
            if new_name:
                try:
                    check_relation(new_name)
                except InputError as error:
                    yield f"{table}: {error}"
            known = next((relation for relation in RELATIONS if relation.lower() == new_name.lower()), None)
            if known is not None:
                yield f"{table}: tacit has the relation {known} already; remove the table, or choose another name than {new_name}"
        if not re.search(r"\bA\b", added.meaning) or not re.search(r"\bB\b", added.meaning):
            yield f"{table} meaning is {added.meaning!r}; it must name the head as A and the tail as B, e.g. 'A calms B'"
        if added.inverse and (added.symmetric or added.inverse in relations.add):
            yield f"{table} inverse is {added.inverse!r}; a symmetric relation has none, and an added one cannot be one"
    targets = [(f"[relations.map] {_quoted(name)}", target.relation) for name, target in relations.map.items()]
    for table, target in [*targets, *([("[relations] always", relations.always)] if relations.always else [])]:
        if not mapping._exists(target):
            hint = mapping.suggestion(target) or "add it with [relations.add.NAME]"
            yield f"{table} is {_quoted(target)}, which is not a relation of tacit and not added; {hint}"
    duplicate = next((name for name in relations.drop if name in relations.map), None)
    if duplicate is not None:
        yield f"[relations] drop and [relations.map] both have {duplicate!r}; leave one out"


def _drop_faults(mapping: Mapping) -> Iterable[str]:
    for number, condition in enumerate(mapping.drop, 1):
        limits = [condition.below is not None, condition.above is not None, bool(condition.any_of)]
        if sum(limits) != 1:
            yield f"[[drop]] {number} must have exactly one of below, above and any_of"
        if not all(math.isfinite(limit) for limit in (condition.below or 0.0, condition.above or 0.0)):
            yield f"[[drop]] {number} has a limit that is not finite; give a number"


def _letters(name: str) -> str:
    """Return the letters and digits of a relation's name, so that ``is a`` and ``/r/IsA`` can be compared with ``IsA``."""
    return re.sub(r"[\W_]", "", name.rpartition("/")[2].rpartition(":")[2].lower())

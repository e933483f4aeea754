"""Large files: shards, the work folder and its journal, runs that are killed and go on, Parquet, and the usage of all that."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api.scoring import rows as sheets
from tacit.api.scoring.plan import Plan, ScoredShard, Shard, read_shards
from tacit.api.scoring.work_folder import WorkFolder
from tacit.graph.errors import GraphUnavailable
from tacit.loaders.io import ByteSource, lines
from tacit.reasoning.reference import Reference, own_folder, quantiles_of, write_reference

from tests.api.cli.test_installed_program import program

Tacit = Callable[..., Any]


@pytest.fixture(scope="module")
def long_file(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty lines: the sample's, some that hold no item, some that hold several, and one that is blank."""
    lines = (sample / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    file = tmp_path_factory.mktemp("scale") / "long_file.jsonl"
    rows = [line for turn in range(5) for line in (*lines, "not json" if turn % 2 else "", '{"turns": ["A dog.", "A bone."]}')]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def base(long_file: Path, sample_graph: str) -> list[object]:
    """The words of a run in shards of seven lines."""
    return ["score", long_file, "--graph", sample_graph, "--metrics", "grounding", "--shard-lines", 7]


@given(
    st.lists(st.binary(max_size=20).filter(lambda data: b"\n" not in data), max_size=30),
    st.integers(1, 8),
    st.sets(st.integers(0, 6)),
)
def test_shards_are_the_lines_in_order(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], size: int, done: set[int]
) -> None:
    file = tmp_path_factory.getbasetemp() / "shards.txt"
    file.write_bytes(b"".join(b"{" + row + b"\n" for row in rows))
    shards = list(read_shards(str(file), size))
    assert all(isinstance(shard, Shard) and shard.number == index for index, shard in enumerate(shards))
    lines_of_shards = [line for shard in shards if isinstance(shard, Shard) for line in shard.lines]
    assert lines_of_shards == list(lines(ByteSource(file)))
    assert all(len(shard.lines) == size for shard in shards[:-1] if isinstance(shard, Shard))
    some = list(read_shards(str(file), size, done))
    assert some == [index if index in done else shard for index, shard in enumerate(shards)]


def test_long_lines_end_a_shard_sooner(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes((b"{" + b"x" * 600_000 + b"\n") * 5)
    assert [len(shard.lines) for shard in read_shards(str(file), 100) if isinstance(shard, Shard)] == [2, 2, 1]


def test_shards_do_not_change_the_output(tacit: Tacit, base: list[object], tmp_path: Path) -> None:
    expected = tacit(*base, "--json").out
    for size in (1, 7, 1000):
        out = tmp_path / f"{size}.jsonl"
        assert tacit(*base, "--shard-lines", size, "-o", out, "--resume").status == 0
        assert out.read_text(encoding="utf-8") == expected
    packed = tmp_path / "out.jsonl.gz"
    assert tacit(*base, "-o", packed).status == 0
    assert gzip.decompress(packed.read_bytes()).decode() == expected
    assert len(list(tmp_path.iterdir())) == 4


def fails_after(number: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run fail when it has kept ``number`` shards."""
    keep, calls = WorkFolder.store, iter(range(number))

    def keep_some(self: WorkFolder, part: ScoredShard) -> None:
        if next(calls, None) is None:
            raise error
        keep(self, part)

    monkeypatch.setattr(WorkFolder, "store", keep_some)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_an_interrupted_run_resumes(
    tacit: Tacit, base: list[object], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / f"whole-{name}", tmp_path / name
    summary = tacit(*base, "--explain", "-o", whole).err
    with monkeypatch.context() as patch:
        fails_after(3, GraphUnavailable("the server went away; start it"), patch)
        outcome = tacit(*base, "--explain", "-o", out)
        assert outcome.status == 1
        assert "continue with the same command and --resume" in outcome.err
    assert not out.exists()
    refused = tacit(*base, "--explain", "-o", out)
    assert refused.status == 2
    assert "of an unfinished run; continue with --resume" in refused.err
    for words, called in [
        (["--explain", "--metrics", "length"], "other metrics"),
        (["--explain", "-O", "grounding.max_hops=2"], "metrics of other signatures"),
        ([], "another --explain"),
        (["--explain", "--shard-lines", 8], "another --shard-lines"),
        (["--explain", "--format", "jsonl" if name.endswith("parquet") else "parquet"], "another format"),
    ][: -1 if name.endswith(".gz") else None]:  # JSON lines are the only format with gzip
        refused = tacit(*base, *words, "-o", out, "--resume")  # type: ignore[misc]
        assert refused.status == 2
        assert f"is of a run with {called}" in refused.err
        assert refused.err.count("\n") == 1
    resumed = tacit(*base, "--explain", "-o", out, "--resume")
    assert resumed.status == 0, resumed.err
    assert "rows were scored before" in resumed.err
    assert out.read_bytes() == whole.read_bytes()
    assert [line.split()[:4] for line in resumed.err.splitlines() if line.startswith("grounding ")] == [
        line.split()[:4] for line in summary.splitlines() if line.startswith("grounding ")
    ]
    assert not out.with_name(f"{name}.partial").exists()


def test_another_input_is_refused(
    tacit: Tacit, long_file: Path, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_bytes(long_file.read_bytes())
    words = ["score", file, "--graph", sample_graph, "--metrics", "grounding", "--shard-lines", 7, "-o", out]
    with monkeypatch.context() as patch:
        fails_after(2, KeyboardInterrupt(), patch)
        assert tacit(*words).status == 130
    file.write_bytes(long_file.read_bytes() + b"\n")
    refused = tacit(*words, "--resume")
    assert refused.status == 2
    assert "is of a run with another input file" in refused.err


LENGTH = ["--metrics", "length", "--shard-lines", 7]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_a_truncated_input_resumes_once_it_is_complete(tacit: Tacit, long_file: Path, name: str, tmp_path: Path) -> None:
    file, out, whole = tmp_path / "in.jsonl.gz", tmp_path / name, tmp_path / f"whole-{name}"
    packed = gzip.compress(long_file.read_bytes(), 0)
    file.write_bytes(packed)
    assert tacit("score", file, *LENGTH, "-o", whole).status == 0
    file.write_bytes(packed[: len(packed) // 2])
    for words in ([], ["--resume"]):  # still cut: nothing is lost
        cut = tacit("score", file, *LENGTH, "--quiet", "-o", out, *words)
        assert (cut.status, cut.out, cut.err.count("\n")) == (1, "", 1)
        assert "in.jsonl.gz ends early, at record " in cut.err
        assert "(truncated gzip): the " in cut.err
        assert (
            f"rows before that are kept in {out}.partial; get the complete file and run the same command with --resume" in cut.err
        )
        assert not out.exists()
    shards_before = len(list(tmp_path.glob("*.partial/*.part")))
    assert shards_before > 3
    file.write_bytes(packed)
    resumed = tacit("score", file, *LENGTH, "-o", out, "--resume")
    assert resumed.status == 0, resumed.err
    assert "rows were scored before" in resumed.err
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.jsonl.gz", name, f"whole-{name}"])


def test_rows_of_a_corrupt_file_are_scored_again_where_they_differ(tacit: Tacit, long_file: Path, tmp_path: Path) -> None:
    file, out, whole = tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    packed = bytearray(gzip.compress(long_file.read_bytes(), 0))
    file.write_bytes(packed)
    assert tacit("score", file, *LENGTH, "-o", whole).status == 0
    offset = packed.index(b"dog", len(packed) // 3)
    packed[offset : offset + 3] = b"a b"  # another number of words; only the checksum at the end tells
    file.write_bytes(packed)
    damaged = tacit("score", file, *LENGTH, "-o", out)
    assert damaged.status == 1
    assert "(corrupt gzip)" in damaged.err
    packed[offset : offset + 3] = b"dog"
    file.write_bytes(packed)
    assert tacit("score", file, *LENGTH, "-o", out, "--resume").status == 0
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_input_format_is_scored_in_shards(tacit: Tacit, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": f"i{index}", "context": "A dog.", "response": "A bone, " * index} for index in range(20)]
    file, out = tmp_path / f"in.{form}", tmp_path / "out.jsonl"
    table = pa.Table.from_pylist(rows)
    if form == "json":
        file.write_text(json.dumps(rows, indent=1))
    elif form == "csv":
        pa_csv.write_csv(table, file)
    else:
        pq.write_table(table, file)
    with monkeypatch.context() as patch:
        fails_after(1, KeyboardInterrupt(), patch)
        stopped = tacit("score", file, *LENGTH, "-o", out)
        assert stopped.status == 130
        assert "7 rows are kept in" in stopped.err
        assert "continue with the same command and --resume" in stopped.err
    assert tacit("score", file, *LENGTH, "-o", out, "--resume").status == 0
    returned_rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["scores"]["length"]) for row in returned_rows] == [(f"i{index}", 2.0 * index) for index in range(20)]


def test_an_interrupt_before_the_first_shard(
    tacit: Tacit, long_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_after(0, KeyboardInterrupt(), monkeypatch)
    stopped = tacit("score", long_file, *LENGTH, "--quiet", "-o", tmp_path / "out.jsonl")
    assert stopped.status == 130
    assert (
        stopped.err
        == "stopped; nothing is kept, since no shard was finished; use smaller shards (--shard-lines) to keep rows earlier\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file may grow beyond 2,000 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_is_one_sentence_and_leaves_no_temporary_file(tacit: Tacit, long_file: Path, tmp_path: Path) -> None:
    full = tacit("score", long_file, "--metrics", "length", "--quiet", "-o", tmp_path / "out.jsonl")
    assert (full.status, full.out, full.err.count("\n")) == (2, "", 1), full.err
    assert "cannot be written: File too large; free some space, or write elsewhere" in full.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_disk")
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_a_disk_that_fills_up_keeps_the_shards(tacit: Tacit, long_file: Path, name: str, tmp_path: Path) -> None:
    full = tacit("score", long_file, *LENGTH, "--quiet", "-o", tmp_path / name)
    assert (full.status, full.err.count("\n")) == (2, 1), full.err
    assert "rows are kept in" in full.err
    assert "for --resume" in full.err
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.partial"]
    assert {path.suffix for path in (tmp_path / f"{name}.partial").iterdir()} <= {".part", ".jsonl"}


def test_a_run_without_finished_shards_leaves_no_files(
    tacit: Tacit, base: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        fails_after(0, KeyboardInterrupt(), patch)
        assert tacit(*base, "-o", out).status == 130
    assert tacit(*base, "-o", out, "--strict").status == 2
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_write_one_file(tacit: Tacit, base: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    work = WorkFolder(out, Plan("x", (), {}).identity("", {}), resume=False)
    refused = tacit(*base, "-o", out, "--resume")
    assert refused.status == 2
    assert "another run is writing" in refused.err
    work.discard()
    assert tacit(*base, "-o", out, "--resume").status == 0


def test_a_foreign_work_folder_is_refused(tacit: Tacit, base: list[object], tmp_path: Path) -> None:
    folder = tmp_path / "out.jsonl.partial"
    folder.mkdir()
    (folder / "thesis.txt").write_text("all of it")
    assert tacit(*base, "-o", tmp_path / "out.jsonl").status == 0
    assert (folder / "thesis.txt").read_text() == "all of it"
    (folder / "journal.jsonl").write_text("dear diary\n")
    refused = tacit(*base, "-o", tmp_path / "out.jsonl", "--resume")
    assert refused.status == 2
    assert (folder / "journal.jsonl").read_text() == "dear diary\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--resume"],
        ["--engine", "ray"],
        ["--resume", "-o", os.devnull],
        ["--resume", "--text", "-o", "OUT"],
        ["--workers", "2", "-o", "OUT"],
        ["--address", "auto", "-o", "OUT"],
        ["--format", "parquet"],
        ["--text", "-o", "OUT.parquet"],
        ["--json", "-o", "OUT.parquet"],
        ["-o", os.devnull, "--format", "parquet"],
    ],
    ids=" ".join,
)
def test_invalid_arguments_are_refused(tacit: Tacit, base: list[object], words: list[str], tmp_path: Path) -> None:
    outcome = tacit(*base, *(word.replace("OUT", str(tmp_path / "out")) for word in words))
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_parquet_equals_json(tacit: Tacit, base: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["grounding", "length"]
    words = [*base, "--metrics", "length", "--explain"]
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    values = quantiles_of([4, 8, 12])
    signature = "length|words:runs-with-letter-or-digit|v:1"
    write_reference(own_folder(), "length", Reference("talk", signature, values, values, 0.5))
    rows = tacit(*words, "--json").rows
    assert {row["percentiles"]["length"] for row in rows if "scores" in row} & {33, 66.5, 100}
    monkeypatch.setattr(sheets, "GROUP_ROWS", 20)
    out = tmp_path / "out.parquet"
    assert tacit(*words, "-o", out).status == 0
    file = pq.ParquetFile(out)
    kinds = ("score", "percentile", "note", "signature")
    columns = ["id", "line", *(f"{kind}.{name}" for name in names for kind in kinds), "error", "evidence"]
    assert file.schema_arrow.names == columns
    assert file.schema_arrow.field("score.length").type == pa.float64()
    assert file.schema_arrow.field("signature.length").type == pa.dictionary(pa.int32(), pa.string())
    groups = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
    assert len(groups) > 2
    assert max(groups) <= 20
    expected = []
    for row in rows:
        flat = dict.fromkeys(columns) | {name: row.get(name) for name in ("id", "line", "error")}
        flat |= {f"score.{name}": score for name, score in row.get("scores", {}).items()}
        flat |= {f"percentile.{name}": percentile for name, percentile in row.get("percentiles", {}).items()}
        flat |= {f"note.{name}": text for name, text in row.get("notes", {}).items()}
        flat |= {f"signature.{name}": text for name, text in row.get("signature", {}).items()}
        expected.append(flat | {"evidence": row.get("evidence")})
    returned_rows = file.read().to_pylist()
    assert [row | {"evidence": row["evidence"] and json.loads(row["evidence"])} for row in returned_rows] == expected
    assert any(row["error"] for row in returned_rows)


def test_parquet_without_rows_and_without_evidence(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    for name in ("out.parquet", "out.bin"):
        assert (
            tacit(
                "score",
                tmp_path / "empty.jsonl",
                "--graph",
                sample_graph,
                "-m",
                "grounding",
                "-o",
                tmp_path / name,
                "--format",
                "parquet",
            ).status
            == 0
        )
        table = pq.read_table(tmp_path / name)
        assert (table.num_rows, table.column_names) == (
            0,
            ["id", "line", "score.grounding", "percentile.grounding", "note.grounding", "signature.grounding", "error"],
        )


def test_a_response_that_cannot_be_judged_is_null(tacit: Tacit, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"history": ["A dog."], "response": "A bone."}\n')
    assert tacit("score", tmp_path / "in.jsonl", "--metrics", "chrf", "-o", tmp_path / "out.parquet").status == 0
    (row,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert (row["score.chrf"], row["note.chrf"]) == (None, "no reference is given")


@pytest.mark.slow
def test_a_killed_process_resumes(tacit: Tacit, long_file: Path, sample_graph: str, tmp_path: Path) -> None:
    file, out, whole = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    file.write_bytes(long_file.read_bytes() * 8)
    words = ["score", file, "--graph", sample_graph, "--metrics", "grounding", "--shard-lines", 4, "--quiet", "-o"]
    journal = out.with_name("out.jsonl.partial") / "journal.jsonl"
    with subprocess.Popen([*program(), *map(str, words), str(out)], stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.read_bytes().count(b"\n") > 3:
                process.kill()
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    assert tacit(*words, out).status == 2
    assert tacit(*words, out, "--resume").status == 0
    assert tacit(*words, whole).status == 0
    assert out.read_bytes() == whole.read_bytes()

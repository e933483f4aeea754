"""Paragraphs of treebanks become dialogues; an invalid one gives an error in its place and changes nothing else."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import DamagedInput, InputError
from tacit.loaders import Dialogue, ItemError, read_paragraphs
from tacit.loaders.treebank import is_treebank

WORD = "1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_"
TREEBANK = f"""\
# newdoc id = one
# sent_id = 1
# newpar id = one-p1
# text = It rains.
{WORD}

# sent_id = 2
# text = Take an umbrella .
# text_en = not this one
{WORD}

# text = The next paragraph.
# newpar
{WORD}
1.1\tempty\t_\t_\t_\t_\t_\t_\t_\t_


# newdoc
# text = # of sentences = 1
{WORD}
"""


def sentence(text: str, *marks: str) -> str:
    return "\n".join([*marks, f"# text = {text}", WORD]) + "\n\n"


def turns_in(path: Path) -> list[tuple[str, ...]]:
    return [row.turns for row in read_paragraphs(path, strict=True) if isinstance(row, Dialogue)]


def test_sentences_of_a_paragraph_are_turns(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    assert list(read_paragraphs(path)) == [
        Dialogue(1, ("It rains.", "Take an umbrella ."), {"turns": ["It rains.", "Take an umbrella ."]}),
        Dialogue(12, ("The next paragraph.",), {"turns": ["The next paragraph."]}),
        Dialogue(18, ("# of sentences = 1",), {"turns": ["# of sentences = 1"]}),
    ]
    packed = tmp_path / "t.conllu.gz"
    packed.write_bytes(gzip.compress(TREEBANK.replace("\n", "\r\n").rstrip().encode()))
    assert turns_in(packed) == turns_in(path)


PRINTED = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
TEXTS = st.text(PRINTED, min_size=1).filter(lambda text: text.strip() == text)


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=4), max_size=5), st.sampled_from(["# newdoc", "# newpar id = 7", "#newpar"]))
def test_every_sentence_text_is_restored(
    tmp_path_factory: pytest.TempPathFactory, paragraphs: list[list[str]], mark: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.conllu"
    rows = [sentence(text, *([mark] if not index else [])) for texts in paragraphs for index, text in enumerate(texts)]
    path.write_text("".join(rows), encoding="utf-8", newline="")
    assert turns_in(path) == [tuple(texts) for texts in paragraphs]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (f"# sent_id = 2\n{WORD}\n", "no comment # text"),
        (f"# text =  \n{WORD}\n", "no comment # text"),
        ("# text = Hm.\n", "no words"),
        (f"# text = a\0b\n{WORD}\n", "NUL byte"),
    ],
)
def test_a_broken_sentence_drops_its_paragraph_only(tmp_path: Path, broken: str, reason: str) -> None:
    path = tmp_path / "t.conllu"
    path.write_text(sentence("one", "# newpar") + broken + "\n" + sentence("two") + sentence("three", "# newpar"))
    error, last = read_paragraphs(path)
    assert isinstance(error, ItemError)
    assert (error.line, reason in error.reason, error.damage) == (5, True, False)  # four lines are before it
    assert last == Dialogue(last.line, ("three",), {"turns": ["three"]})
    with pytest.raises(InputError, match=rf"t\.conllu:5: .*{reason}"):
        list(read_paragraphs(path, strict=True))


def test_invalid_unicode_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    path.write_bytes(sentence("one", "# newpar").encode() + b"# text = caf\xe9\n" + WORD.encode() + b"\n")
    [error] = read_paragraphs(path)
    assert isinstance(error, ItemError)
    assert error.reason == "not UTF-8"


def test_a_truncated_file_is_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu.gz"
    whole = "".join(sentence(f"sentence {number}", "# newpar") for number in range(5_000))
    path.write_bytes(gzip.compress(whole.encode())[:-400])
    *before, last = read_paragraphs(path)
    assert isinstance(last, ItemError)
    assert (last.damage, last.reason) == (True, "truncated gzip")
    assert [row.turns for row in before[:2] if isinstance(row, Dialogue)] == [("sentence 0",), ("sentence 1",)]
    with pytest.raises(DamagedInput, match=r"t\.conllu\.gz ends early, at line"):
        list(read_paragraphs(path, strict=True))


def test_unmarked_paragraphs_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.conllu"
    path.write_text(sentence("one") + sentence("two"))
    with pytest.raises(InputError, match=r"t\.conllu:1: .*before the first # newdoc or # newpar"):
        list(read_paragraphs(path))
    path.write_text("")
    assert list(read_paragraphs(path)) == []


@pytest.mark.parametrize(
    ("name", "treebank"),
    [("en_ewt-ud-train.conllu", True), ("a/B.CONLLU.GZ", True), ("conllu", False), ("x.conllu.jsonl", False), ("-", False)],
)
def test_treebanks_are_recognised_by_their_names(name: str, treebank: bool) -> None:
    assert is_treebank(name) is treebank


def test_the_english_web_treebank(data_dir: Path) -> None:
    path = data_dir / "treebank" / "en_ewt-dev.conllu.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    all_turns = turns_in(path)
    assert len(all_turns) == text.count("\n# newpar") == 750
    assert [turn for turns in all_turns for turn in turns] == [
        line.removeprefix("# text = ").strip() for line in text.splitlines() if line.startswith("# text = ")
    ]

"""Training the English pipeline with spaCy on a treebank of a few sentences, and the trained one that ships."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tacit.graph.errors import InputError, LoadError
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.spacy_pipeline import SHIPPED, folder_digest
from tacit.reasoning.training import pipeline as pipeline_training
from tacit.reasoning.training.pipeline import as_dialogue, evaluate, read_treebank, train_pipeline

TREEBANK = """\
# newdoc id = one
# sent_id = 1
# text = I don't like cats.
1\tI\tI\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\tVerbForm=Fin\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tlike\tlike\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_
5\tcats\tcat\tNOUN\tNNS\tNumber=Plur\t4\tobj\t4:obj\tSpaceAfter=No
5.1\tghost\tghost\tNOUN\tNN\t_\t_\t_\t4:obj\t_
6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_

# text = Dogs barked
1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t2:nsubj\t_
2\tbarked\tbark\tVERB\tVBD\tTense=Past|VerbForm=Fin\t0\troot\t0:root\tSpaceAfter=No
"""


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.conllu"
    path.write_text(TREEBANK, encoding="utf-8")
    return path


def test_sentences_keep_their_words_and_spaces(treebank: Path) -> None:
    first, second = read_treebank(treebank)
    assert first.text == "I don't like cats. "
    assert second.text == "Dogs barked"
    assert [token.text for token in first] == ["I", "do", "n't", "like", "cats", "."]
    assert [token.head.i for token in first] == [3, 3, 3, 3, 3, 3]
    assert [token.lemma_ for token in first] == ["I", "do", "not", "like", "cat", "."]
    spaced = as_dialogue(first)
    assert spaced.text == "i do n't like cats . "
    assert [token.head.i for token in spaced] == [3, 3, 3, 3, 3, 3]
    assert spaced[0].lemma_ == "I"
    assert as_dialogue(first, lemmas=True)[0].lemma_ == "i"


def test_a_word_without_a_lemma_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "tiny.conllu").write_text(TREEBANK.replace("\tcat\t", "\t_\t"), encoding="utf-8")
    assert read_treebank(tmp_path / "tiny.conllu")[0][4].lemma_ == "cats"


def test_gzip_is_read(treebank: Path, tmp_path: Path) -> None:
    packed = tmp_path / "tiny.conllu.gz"
    packed.write_bytes(gzip.compress(treebank.read_bytes()))
    assert [doc.to_json() for doc in read_treebank(packed)] == [doc.to_json() for doc in read_treebank(treebank)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\tI\n\n", "columns"),
        (TREEBANK.replace("\t4\tnsubj", "\tfour\tnsubj").encode(), ":4 is not CoNLL-U"),
        (TREEBANK.replace("\t4\tnsubj", "\t9\tnsubj").encode(), ":12 ends a sentence of 6 words with a head 9"),
        (TREEBANK.removesuffix("\n").replace("\t2\tnsubj", "\t9\tnsubj").encode(), ":16 ends a sentence of 2 words"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_broken_treebanks_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.conllu"
    path.write_bytes(content)
    with pytest.raises(LoadError, match=message) as error:
        read_treebank(path)
    assert "broken.conllu" in str(error.value)


def test_a_truncated_gzip_is_named(treebank: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.conllu.gz"
    path.write_bytes(gzip.compress(treebank.read_bytes())[:-20])
    with pytest.raises(LoadError, match=r"cut\.conllu\.gz"):
        read_treebank(path)


def test_training_is_repeatable_and_writes_a_whole_pipeline(treebank: Path, tmp_path: Path) -> None:
    digests = set()
    for run in ("first", "second"):
        steps: list[tuple[int, int]] = []
        folder = tmp_path / run

        def progress(step: int, total: int, scores: Mapping[str, float], steps: list[tuple[int, int]] = steps) -> None:
            assert {"tag_acc", "pos_acc", "lemma_acc", "dep_las"} <= set(scores)
            steps.append((step, total))

        result = train_pipeline(treebank, treebank, treebank, folder, seed=3, max_steps=4, progress=progress)
        assert steps == [(step, 4) for step in range(5)]
        assert result.sentences == 2
        assert result.words == 8
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert f"| lemmas | {100 * result.written.lemma:.1f} | {100 * result.dialogue.lemma:.1f} |" in card
        assert "CC BY-SA 4.0" in card
        assert "CC BY-SA 4.0" in (folder / "LICENSE").read_text(encoding="utf-8")
        config = (folder / "config.cfg").read_text(encoding="utf-8")
        assert "seed = 3" in config
        assert "train = null" in config
        digests.add(folder_digest(folder))
    assert len(digests) == 1
    analyser = load_pipeline(tmp_path / "first")
    assert analyser.signature.startswith(digests.pop())
    assert [token.text for token in analyser.analyse(["Dogs bark."])[0]] == ["Dogs", "bark", "."]


def test_an_interrupt_before_the_card_is_written_leaves_the_old_pipeline(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "meta.json").write_text("{}")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline_training, "write_card", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train_pipeline(treebank, treebank, treebank, tmp_path / "old", max_steps=1)
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["meta.json"]


def test_training_replaces_pipelines_only(treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(InputError, match="precious"):
        train_pipeline(treebank, treebank, treebank, tmp_path / "precious", max_steps=1)
    with pytest.raises(InputError, match="steps"):
        train_pipeline(treebank, treebank, treebank, tmp_path / "new", max_steps=0)
    empty = tmp_path / "empty.conllu"
    empty.touch()
    with pytest.raises(LoadError, match="dev split"):
        train_pipeline(treebank, empty, treebank, tmp_path / "new", max_steps=1)
    assert (tmp_path / "precious" / "thesis.txt").read_text(encoding="utf-8") == "all of it"
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_few_steps_on_the_real_treebank_learn_something(data_dir: Path, tmp_path: Path) -> None:
    sizes = {"train": 300, "dev": 40, "test": 60}
    for name, size in sizes.items():
        with gzip.open(data_dir / "treebank" / f"en_ewt-{name}.conllu.gz", "rt", encoding="utf-8") as file:
            sentences = file.read().split("\n\n")[:size]
        (tmp_path / f"{name}.conllu").write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    splits = [tmp_path / f"{name}.conllu" for name in sizes]
    result = train_pipeline(*splits, tmp_path / "pipeline", max_steps=12)  # type: ignore[call-arg, arg-type]
    assert result.sentences == 60
    assert result.written.token > 0.97
    assert result.dialogue.lemma > 0.7
    import spacy

    again = evaluate(spacy.load(tmp_path / "pipeline"), read_treebank(splits[2]))
    assert again == result


# The pipeline that ships: small, licensed, loadable by spaCy alone, and as good as its card says.


def test_the_shipped_pipeline_is_small_and_licensed() -> None:
    size = sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file())
    assert 1e6 < size < 6e6
    assert "CC BY-SA 4.0" in (SHIPPED / "LICENSE").read_text(encoding="utf-8")


def test_the_card_shows_the_measured_scores() -> None:
    scores = json.loads((SHIPPED / "scores.json").read_text(encoding="utf-8"))
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    for name, label in (("tag", "treebank tags (XPOS)"), ("lemma", "lemmas"), ("las", "labelled attachment")):
        assert f"| {label} | {100 * scores['written'][name]:.1f} | {100 * scores['dialogue'][name]:.1f} |" in card
    assert "tacit train pipeline" in card
    assert "seed" in card


def test_the_shipped_pipeline_contains_no_addresses_or_local_paths() -> None:
    for path in SHIPPED.rglob("*"):
        if path.is_file() and path.name not in ("README.md", "LICENSE"):
            content = path.read_bytes()
            assert not re.search(rb"https?://[a-z]|www\.|[a-z]@[a-z]+\.[a-z]{2}|/home/|/tmp/|/work/", content), path


@pytest.mark.slow
def test_the_shipped_scores_are_reproducible(data_dir: Path) -> None:
    import spacy

    sentences = read_treebank(data_dir / "treebank" / "en_ewt-test.conllu.gz")[:400]
    agreements = evaluate(spacy.load(SHIPPED), sentences)
    card = json.loads((SHIPPED / "scores.json").read_text(encoding="utf-8"))
    for kind, scores in (("written", agreements.written), ("dialogue", agreements.dialogue)):
        for name, value in card[kind].items():
            near = 0.1 if name == "sentence" else 0.05  # a slice of one genre has sentences of its own kind
            assert getattr(scores, name) == pytest.approx(value, abs=near), (kind, name)

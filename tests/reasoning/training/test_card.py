"""Model cards: those of the models that ship are what the templates give, and a value that is missing is an error."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from tacit.reasoning.metrics.accent.scorers.language_models import PROBE
from tacit.reasoning.metrics.accent.scorers.retrieval_model import open_retrieval_model
from tacit.reasoning.metrics.coherence.checkpoint import open_checkpoint
from tacit.reasoning.metrics.commonsense.regressor import load_regressor
from tacit.reasoning.metrics.judgement import PROBE as JUDGEMENT
from tacit.reasoning.training.card import (
    coherence_card,
    commonsense_card,
    judgement_card,
    licence_text,
    probe_card,
    render,
    retriever_card,
)

REASONING = Path(__file__).parents[3] / "reasoning"


def test_shipped_cards_are_what_the_templates_give() -> None:
    retriever = REASONING / "metrics" / "accent" / "model"
    size = (retriever / "retriever.safetensors").stat().st_size
    assert (retriever / "README.md").read_text(encoding="utf-8") == retriever_card(open_retrieval_model(), size)
    assert (retriever / "LICENSE").read_text(encoding="utf-8") == licence_text("retriever")
    checkpoint = open_checkpoint()
    cards = {
        "metrics/accent/probe": probe_card(PROBE.open(), path=None),
        "metrics/judgement_probe": judgement_card(JUDGEMENT.open(), path=None),
        "metrics/coherence/model": coherence_card(checkpoint.header, checkpoint.digest, path=None),
        "metrics/commonsense/model": commonsense_card(load_regressor(REASONING / "metrics" / "commonsense" / "model"), path=""),
    }
    for folder, card in cards.items():  # figures of agreement with people were added to these
        shipped = iter((REASONING / folder / "README.md").read_text(encoding="utf-8").split("\n"))
        lost = [line for line in card.rstrip().split("\n") if line not in shipped]
        assert not lost, folder


SHIPPED = sorted(path for path in REASONING.rglob("README.md") if "cards" not in path.parts)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.relative_to(REASONING).as_posix())
def test_huggingface_hub_reads_the_metadata_of_every_shipped_card(path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    metadata = hub.ModelCard(path.read_text(encoding="utf-8")).data
    assert metadata.library_name == metadata.tags[0] == "tacit"
    assert metadata.language == "en"
    assert metadata.license in {"mit", "cc-by-4.0", "cc-by-sa-4.0", "cdla-sharing-1.0", "other"}


@pytest.mark.parametrize(
    ("licence", "base", "metadata"),
    [
        ("CC BY-NC-SA 4.0", "some/model", {"license": "cc-by-nc-sa-4.0", "base_model": "some/model"}),
        ("topical-chat: CDLA-Sharing-1.0", "a folder", {"license": "cdla-sharing-1.0"}),
        ("a: MIT; b: CC BY 4.0", "folder", {"license": "other"}),
        (None, "folder", {"license": "other"}),
    ],
)
def test_the_metadata_names_licence_and_base_model(licence: str | None, base: str, metadata: dict[str, str]) -> None:
    hub = pytest.importorskip("huggingface_hub")
    card = render(
        "cross_encoder", name="a model", base=base, licence=licence, recipe="", digest="", use=None, files=[], command="",
        ratings=1, held_out=1, pearson=None, spearman=None, steps=0, first_loss=0.0, last_loss=0.0,
    )  # fmt: skip
    data = hub.ModelCard(card).data.to_dict()
    assert data == {"language": "en", "library_name": "tacit", "tags": ["tacit", "cross-encoder"], **metadata}


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'base' is undefined"):
        render("kgbert", name="a model")

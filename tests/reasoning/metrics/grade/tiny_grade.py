"""What the tests of GRADE share: dialogues of the small world, and a checkpoint with random weights over a tiny encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.models.encoder import TextEncoder
from tacit.reasoning.text.language import Analyser
from tacit.reasoning.text.linking import concept_linker

DIALOGUES = [
    ["My dog wants a bone.", "Give the puppy some food.", "The cat is at home.", "I love my pet."],
    ["Do you like ice cream?", "A dessert is food.", "The refrigerator holds food.", "A hot dog is food too."],
    ["I paid by credit card.", "A debit card is good to pay.", "I ride my bike.", "A bike is a vehicle."],
    ["The moon is a satellite.", "The band was great.", "I saw the tool.", "It is a saw."],
    ["My puppy sleeps at home.", "Is it a dog or a cat?", "It is a dog.", "Dogs like bones and food."],
    ["The food is cold.", "Put it in the refrigerator.", "The dessert too?", "Yes, the ice cream is there."],
    ["Where is your bike?", "At home, near the dog.", "Is the dog your pet?", "Yes, and so is the cat."],
    ["How can I pay?", "By credit card.", "I have a debit card.", "That is fine."],
]


def tiny_checkpoint(world: KnowledgeGraph, analyser: Analyser, encoder: TextEncoder, **settings: Any) -> Any:
    """Return a checkpoint with weights as torch draws them under seed 0; ``settings`` are those of its configuration."""
    import torch
    from tacit.reasoning.metrics.grade.checkpoint import Checkpoint
    from tacit.reasoning.metrics.grade.network import GradeConfig, GradeModel
    from tacit.reasoning.text.idf import IdfTable

    options: dict[str, Any] = {"limits": (2, 2), "hidden": 16, "pair": 8} | settings
    config = GradeConfig(text_width=3 * encoder.width, concept_dimension=encoder.dimension, **options)
    linker = concept_linker(world, analyser)
    idf = IdfTable.count(linker.link_batch([turn for dialogue in DIALOGUES for turn in dialogue]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GradeModel(config).eval()
    return Checkpoint(model, idf, encoder.signature, "", f"encoder:{encoder.signature}", {"seed": 0}, "0" * 12, Path())

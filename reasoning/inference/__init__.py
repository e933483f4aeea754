"""Inferences about a turn of a dialogue: CICERO's five questions answered from the graph, and choices among answers judged.

Ghosal et al., "CICERO: A Dataset for Contextualized Commonsense Inference in Dialogues" (ACL 2022). :mod:`.answers` answers
(``tacit infer``), :mod:`.choosing` chooses (``tacit choose``). Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.lazy import lazy_names

if TYPE_CHECKING:
    from .answers import Answer as Answer
    from .answers import DialogueAnswers as DialogueAnswers
    from .answers import Inference as Inference
    from .answers import TurnAnswers as TurnAnswers
    from .answers import load_inference as load_inference
    from .choosing import Chooser as Chooser
    from .choosing import Chosen as Chosen
    from .choosing import load_chooser as load_chooser

_MODULES = {".answers": "Answer DialogueAnswers Inference TurnAnswers load_inference", ".choosing": "Chooser Chosen load_chooser"}

__all__ = sorted(name for names in _MODULES.values() for name in names.split())
__getattr__, __dir__ = lazy_names(__name__, _MODULES)

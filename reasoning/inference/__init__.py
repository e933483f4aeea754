"""Inferences about a turn of a dialogue: CICERO's five questions answered from the graph, and choices among answers judged.

Ghosal et al., "CICERO: A Dataset for Contextualized Commonsense Inference in Dialogues" (ACL 2022). :mod:`.answers` answers
(``tacit infer``), :mod:`.choosing` chooses (``tacit choose``). Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Answer as Answer
    from .answers import Inference as Inference
    from .answers import TurnAnswers as TurnAnswers
    from .answers import load_inference as load_inference
    from .choosing import Chooser as Chooser
    from .choosing import Chosen as Chosen
    from .choosing import load_chooser as load_chooser

_HOMES = {
    ".answers": ("Answer", "Inference", "TurnAnswers", "load_inference"),
    ".choosing": ("Chooser", "Chosen", "load_chooser"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name], __name__), name)


def __dir__() -> list[str]:
    return list(__all__)

"""The commonsense regressor: features of a response, symbolic and neural, and the model that reads them.

After Zhou et al., "Commonsense-Focused Dialogues for Response Generation" (SIGDIAL 2021).
"""

from __future__ import annotations

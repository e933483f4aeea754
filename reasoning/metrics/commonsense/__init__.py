"""The metric ``commonsense``: symbolic and neural features of a response, and the regressor that reads them.

After Zhou et al., "Commonsense-Focused Dialogues for Response Generation" (SIGDIAL 2021).
"""

from __future__ import annotations

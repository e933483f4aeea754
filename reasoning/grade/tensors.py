"""From items to what the network reads: vectors or tokens of the texts, and dialogue graphs side by side.

Scoring and training go through the same functions, so that a model is asked as it was taught.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .dialogue_graph import DialogueGraph, Floats, batch
from .model import Graphs

Rows = Callable[[Sequence[str]], Floats]


def graph_tensors(graphs: Sequence[DialogueGraph], weights: Floats, rows: Rows) -> Graphs:
    """Return dialogue graphs as tensors; ``rows`` gives u concepts (u, 1 + K, d) or (u, d); without any there is one of zeros."""
    together = batch(graphs, weights)
    concepts = rows(together.concepts)
    if not len(concepts):
        concepts = np.zeros((1, *concepts.shape[1:]), np.float32)
    arrays = (concepts, together.nodes, together.mask, together.adjacency)
    return Graphs(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


def context_of(history: Sequence[str], turns: int) -> tuple[str, ...]:
    """Return the last ``turns`` turns, oldest first."""
    return tuple(history[max(len(history) - turns, 0) :])


def frozen_texts(
    vectors: Floats, last: Sequence[int], earlier: Sequence[Sequence[int]], response: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return what :class:`tacit.reasoning.grade.model.FrozenReading` reads.

    Args:
        vectors: of texts, shape (texts, width).
        last: for each dialogue the row of its context's last turn, -1 for none; earlier: rows of those before it.
        response: rows of the responses.
    """
    width = vectors.shape[1]
    at_last = np.zeros((len(response), width), np.float32)
    before = np.zeros((len(response), width), np.float32)
    for place, (row, rows) in enumerate(zip(last, earlier, strict=True)):
        if row >= 0:
            at_last[place] = vectors[row]
        if rows:
            before[place] = vectors[list(rows)].astype(np.float32).mean(axis=0)
    answers: NDArray[np.float32] = vectors[np.asarray(response, np.int64)].astype(np.float32)
    return torch.from_numpy(at_last), torch.from_numpy(before), torch.from_numpy(answers)


def tuned_texts(tokenizer: Any, contexts: Sequence[Sequence[str]], responses: Sequence[str], length: int) -> tuple[Tensor, ...]:
    """Return what :class:`tacit.reasoning.grade.model.TunedReading` reads, on at most ``length`` tokens.

    What is too long loses the beginning of its context first, and the end of its response beyond half of the length.
    """
    extra = tokenizer.num_special_tokens_to_add(pair=True)
    room = max(length - extra, 2)
    rows = []
    for turns, response in zip(contexts, responses, strict=True):
        before = tokenizer.encode(" ".join(turns), add_special_tokens=False, verbose=False)
        answer = tokenizer.encode(response, add_special_tokens=False, verbose=False)
        answer = answer[: max(room // 2, room - len(before))]
        before = before[max(len(before) - (room - len(answer)), 0) :]
        rows.append(_joined(tokenizer, before, answer))
    most = max(len(ids) for ids, _ in rows)
    ids = np.full((len(rows), most), tokenizer.pad_token_id or 0, np.int64)
    kinds = np.zeros_like(ids)
    mask = np.zeros_like(ids)
    for place, (row, kind) in enumerate(rows):
        ids[place, : len(row)], kinds[place, : len(row)], mask[place, : len(row)] = row, kind, 1
    sides = torch.from_numpy(kinds) if "token_type_ids" in tokenizer.model_input_names else None
    return torch.from_numpy(ids), torch.from_numpy(mask), sides  # type: ignore[return-value]


def _joined(tokenizer: Any, before: list[int], answer: list[int]) -> tuple[list[int], list[int]]:
    """Token ids of both sides with the signs between them, and which side each is on: [CLS] context [SEP] response [SEP]."""
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    first = [*([start] if start is not None else []), *before, *([end] if end is not None else [])]
    second = [*answer, *([end] if end is not None else [])]
    return first + second or [0], [0] * len(first) + [1] * len(second) or [0]

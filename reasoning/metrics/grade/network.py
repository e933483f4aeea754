"""GRADE as a network: an utterance branch, a graph branch, and the head that joins them into one score.

Numbers of equations are those of Huang et al. (EMNLP 2020). Shapes: b dialogues, n nodes in the largest graph, u distinct
concepts, v the width of v_c, g that of v_g.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .dialogue_graph import DialogueGraph, Floats, batch

# The two layers of GRADE's graph branch: where a node starts (eq. 3), and graph attention that hops weigh (eqs. 6 to 9).
#
# Numbers of equations are those of Huang et al. (EMNLP 2020). Shapes: b dialogues, n nodes in the largest graph, u distinct
# concepts, K hops of neighbours, d numbers in a concept's vector.


class NeighbourAggregation(nn.Module):
    """Where a node starts (eq. 3): h = x + sum over k of W_k mean(vectors of its N_k neighbours at k hops) + b."""

    def __init__(self, dimension: int, hops: int) -> None:
        """Make W_1 … W_hops of shape (dimension, dimension) and b."""
        super().__init__()
        self.weights = nn.ModuleList(nn.Linear(dimension, dimension, bias=False) for _ in range(hops))
        self.bias = nn.Parameter(torch.zeros(dimension))
        self.scale = dimension**0.5  # concept vectors have length one; this brings their numbers to variance one

    def forward(self, concepts: Tensor) -> Tensor:
        """Return h, shape (u, d), from own vectors and neighbours' means, shape (u, 1 + K, d)."""
        scaled = concepts * self.scale
        start: Tensor = scaled[:, 0] + self.bias
        for hop, weight in enumerate(self.weights, 1):
            start = start + weight(scaled[:, hop])
        return start


class HopAttention(nn.Module):
    """One graph attention layer (eqs. 6 to 9) with several heads, whose attention the hops weigh.

    alpha_ij = softmax over i's neighbours j of n_ij LeakyReLU(a^T [W h_i, W h_j]) with n = D^-1/2 (A + I) D^-1/2 (eqs. 7, 8),
    z_i = sum over j of alpha_ij W h_j (eq. 6), heads side by side, and h'_i = ELU(V h_i + z_i) (eq. 9).
    """

    def __init__(self, width_in: int, width: int, heads: int, *, by_hops: bool = True) -> None:
        """Make ``heads`` heads of ``width // heads`` numbers; without ``by_hops`` it is plain attention on the same edges."""
        super().__init__()
        self.heads = heads
        self.by_hops = by_hops
        self.node = nn.Linear(width_in, width, bias=False)
        self.own = nn.Linear(width_in, width)
        self.asks = nn.Parameter(torch.empty(heads, width // heads))
        self.answers = nn.Parameter(torch.empty(heads, width // heads))
        nn.init.xavier_uniform_(self.asks)
        nn.init.xavier_uniform_(self.answers)

    def forward(self, nodes: Tensor, adjacency: Tensor, mask: Tensor, at: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the nodes after the layer and the attention.

        Args:
            nodes: shape (b, n, width_in); with ``at``, shape (b, n), of places in them, shape (u, width_in): nodes that are the
                same concept are projected once then, and what ``at`` holds beyond the mask does not matter.
            adjacency: A, shape (b, n, n), symmetric, 0 where there is no edge.
            mask: bool, shape (b, n), where there is a node.

        Returns:
            Shape (b, n, width), zero beyond the mask; attention alpha, shape (b, heads, n, n), whose rows sum to 1 over a node's
            neighbours and itself, and to 0 beyond the mask.
        """
        b, n = mask.shape
        projected, own = self.node(nodes), self.own(nodes)
        if at is not None:
            projected, own = projected[at], own[at]
        projected = projected.view(b, n, self.heads, self.asks.shape[1])
        asks = (projected * self.asks).sum(-1).transpose(1, 2)
        answers = (projected * self.answers).sum(-1).transpose(1, 2)
        logits = nn.functional.leaky_relu(asks[..., :, None] + answers[..., None, :], 0.2)
        looped = adjacency + torch.eye(n, dtype=adjacency.dtype, device=adjacency.device)
        if self.by_hops:
            logits = logits * normalise(looped)[:, None]
        joined = (looped > 0) & mask[:, :, None] & mask[:, None, :]
        # A row beyond the mask has nobody to attend to: a softmax over it would be no number.
        attention = torch.softmax(logits.masked_fill(~joined[:, None], -1e9), dim=-1) * joined[:, None]
        mixed = torch.einsum("bhij,bjhw->bihw", attention, projected).flatten(2)
        after: Tensor = nn.functional.elu(own + mixed) * mask[..., None]
        return after, attention


def normalise(looped: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 of ``looped`` = A + I, shape (b, n, n), where D holds its rows' sums."""
    scale = looped.sum(-1).rsqrt()
    return scale[..., :, None] * looped * scale[..., None, :]


def drop_edges(adjacency: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Return A without about ``share`` of its edges, both directions of an edge together (DropEdge, Rong et al., ICLR 2020).

    For training alone: a score never drops an edge.
    """
    if share <= 0:
        return adjacency
    kept = torch.rand(adjacency.shape, generator=generator).to(adjacency.device).triu(1) >= share
    upper = adjacency.triu(1) * kept
    return upper + upper.transpose(1, 2)


@dataclass(frozen=True, slots=True)
class GradeConfig:
    """What a checkpoint was made as; part of its digest.

    Attributes:
        utterance: ``frozen``: the encoder stays as it is and reads every turn by itself; ``tuned``: it reads context and response
            together (eq. 1) and is trained along.
        text_width: numbers that the encoder gives for a text (frozen: mean, maximum and first token) or a token (tuned).
        concept_dimension: numbers in a concept's vector.
        limits: N_1, N_2, …, neighbours averaged at each hop; none: a concept stands for itself.
        profile: ``paper`` or ``released`` edge weights.
        graph: there is a graph branch. hop_attention: hops weigh its attention.
        turns: last turns of the history that are the context.
        hidden: width of nodes and of the head. layers, heads: of graph attention. pair: width of a text in the frozen reading.
        threshold, most: of keywords.
    """

    utterance: str = "frozen"
    text_width: int = 1152
    concept_dimension: int = 384
    limits: tuple[int, ...] = (10, 10)
    profile: str = "paper"
    graph: bool = True
    hop_attention: bool = True
    turns: int = 2
    hidden: int = 128
    layers: int = 3
    heads: int = 4
    pair: int = 128
    threshold: float = 0.15
    most: int = 16

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"limits": list(self.limits)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GradeConfig:
        """Return the configuration that :meth:`to_dict` wrote; a TypeError or ValueError says that it is none."""
        data = dict(data)
        if data.pop("neighbours_by", "weight") != "weight":  # in checkpoints of earlier versions
            raise ValueError("its neighbours were chosen by similarity, which is no longer supported")
        if set(data) != {field.name for field in fields(cls)}:
            raise ValueError("its settings are not those of a GRADE model")
        return cls(**{**data, "limits": tuple(int(limit) for limit in data["limits"])})


class Graphs(NamedTuple):
    """A batch of dialogue graphs as tensors.

    Attributes:
        concepts: (u, 1 + K, d) own vectors and neighbours' means; or (u, d), where nodes start, when it was worked out before.
        nodes: (b, n) places in it. mask: (b, n). adjacency: (b, n, n).
    """

    concepts: Tensor
    nodes: Tensor
    mask: Tensor
    adjacency: Tensor


class FrozenReading(nn.Module):
    """v_c where the encoder is frozen: v_c = [c, r, c * r, |c - r|] of projections c and r of what it says of the turns.

    The paper's encoder reads context and response together, which a frozen one has not learnt to; compared side by side, each
    text is encoded once whatever it is scored with.
    """

    def __init__(self, width: int, pair: int) -> None:
        """Project texts of ``width`` numbers to ``pair``."""
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.last, self.earlier, self.response = (nn.Linear(width, pair) for _ in range(3))
        # One projection to begin with, so that c * r starts out as a likeness of the two texts.
        self.response.load_state_dict(self.last.state_dict())
        self.dropout = nn.Dropout(0.1)

    def forward(self, last: Tensor, earlier: Tensor, response: Tensor) -> Tensor:
        """Return v_c, shape (b, 4 * pair), of vectors of shape (b, width).

        Args:
            last: of the context's last turn; earlier: the mean of those before it; zeros where there is none.
        """
        c = torch.tanh(self.last(self.dropout(self.norm(last))) + self.earlier(self.dropout(self.norm(earlier))))
        r = torch.tanh(self.response(self.dropout(self.norm(response))))
        return torch.cat([c, r, c * r, (c - r).abs()], dim=1)


class TunedReading(nn.Module):
    """v_c where the encoder is trained along (eq. 1): the mean over the tokens of context and response, read together."""

    def __init__(self, encoder: nn.Module) -> None:
        """Read with ``encoder``, a BERT-like model of transformers."""
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor | None) -> Tensor:
        """Return v_c, shape (b, width), of token ids, of what is token and what is padding, and of sides; shape (b, tokens)."""
        given = {"input_ids": ids, "attention_mask": mask} | ({} if kinds is None else {"token_type_ids": kinds})
        states = self.encoder(**given)[0]
        weights = mask[..., None].to(states.dtype)
        pooled: Tensor = (states * weights).sum(1) / weights.sum(1)
        return pooled.float()


class GradeModel(nn.Module):
    """The whole of it: score = sigmoid(head([v_c, v_g]))."""

    def __init__(self, config: GradeConfig, encoder: nn.Module | None = None) -> None:
        """Make a model with weights as torch draws them; ``encoder`` is for ``utterance="tuned"``."""
        super().__init__()
        self.config = config
        if encoder is None:
            self.reading: nn.Module = FrozenReading(config.text_width, config.pair)
            width = 4 * config.pair
        else:
            self.reading = TunedReading(encoder)
            width = config.text_width
        if config.graph:
            d, hidden = config.concept_dimension, config.hidden
            self.start = NeighbourAggregation(d, len(config.limits))
            widths = [d, *[hidden] * config.layers]
            self.attention = nn.ModuleList(
                HopAttention(before, after, config.heads, by_hops=config.hop_attention)
                for before, after in itertools.pairwise(widths)
            )
            self.pooled = nn.Linear(widths[-1], hidden)
            width += hidden
        self.first, self.second, self.third = nn.Linear(width, config.hidden), nn.Linear(config.hidden, 64), nn.Linear(64, 1)
        self.dropout = nn.Dropout(0.1)

    def reason(self, graphs: Graphs) -> tuple[Tensor, list[Tensor]]:
        """Return v_g = FC(mean of the nodes), shape (b, g) (eq. 10), and the attention of each layer, (b, heads, n, n).

        A dialogue without a keyword has the mean 0, whatever the others in its batch.
        """
        nodes, at = graphs.concepts if graphs.concepts.dim() == 2 else self.start(graphs.concepts), graphs.nodes
        seen = []
        for place, layer in enumerate(self.attention):
            nodes, attention = layer(nodes, graphs.adjacency, graphs.mask, None if place else at)
            seen.append(attention)
        if not seen:
            nodes = nodes[at] * graphs.mask[..., None]
        mean = nodes.sum(1) / graphs.mask.sum(1, keepdim=True).clamp(min=1)
        return self.pooled(mean), seen

    def judge(self, utterance: Tensor, graph: Tensor | None) -> Tensor:
        """Return the scores in (0, 1), shape (b,), of v_c, shape (b, v), and v_g, shape (b, g) (eq. 11)."""
        joined = utterance if graph is None else torch.cat([utterance, graph], dim=1)
        inner = nn.functional.elu(self.first(self.dropout(joined)))
        inner = nn.functional.elu(self.second(self.dropout(inner)))
        scores: Tensor = torch.sigmoid(self.third(inner))[:, 0]
        return scores

    def forward(self, texts: tuple[Tensor, ...], graphs: Graphs | None) -> Tensor:
        """Return the scores, shape (b,); ``texts`` are the arguments of the reading at hand."""
        return self.judge(self.reading(*texts), None if graphs is None or not self.config.graph else self.reason(graphs)[0])


# From items to what the network reads: vectors or tokens of the texts, and dialogue graphs side by side.
#
# Scoring and training go through the same functions, so that a model is asked as it was taught.

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
    """Return what :class:`tacit.reasoning.metrics.grade.network.FrozenReading` reads.

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
    """Return what :class:`tacit.reasoning.metrics.grade.network.TunedReading` reads, on at most ``length`` tokens.

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

"""GRADE's network: an utterance branch, a graph branch, the head that combines them into a score, and the preparation of their
input.

Equation numbers are those of Huang et al. (EMNLP 2020). Shapes: b dialogues, n nodes in the largest graph, u distinct concepts,
K hops of neighbours, d the length of a concept's vector, v the width of v_c, g that of v_g.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ....graph.schema import Json
from .dialogue_graph import DialogueGraph, Floats, batch

# Graph branch: initial node vectors (eq. 3), and graph attention weighted by hops (eqs. 6 to 9).


class NeighbourAggregation(nn.Module):
    """Initial node vectors (eq. 3): h = x + sum over k of W_k mean(vectors of its N_k neighbours at k hops) + b."""

    def __init__(self, dimension: int, hops: int) -> None:
        """Make W_1 … W_hops of shape (dimension, dimension) and b."""
        super().__init__()
        self.weights = nn.ModuleList(nn.Linear(dimension, dimension, bias=False) for _ in range(hops))
        self.bias = nn.Parameter(torch.zeros(dimension))
        self.scale = dimension**0.5  # concept vectors have unit length; this scales their components to variance 1

    def forward(self, concepts: Tensor) -> Tensor:
        """Return h, shape (u, d), from the concepts' own vectors and the means of their neighbours, shape (u, 1 + K, d)."""
        scaled = concepts * self.scale
        start: Tensor = scaled[:, 0] + self.bias
        for hop, weight in enumerate(self.weights, 1):
            start = start + weight(scaled[:, hop])
        return start


class HopAttention(nn.Module):
    """A graph attention layer (eqs. 6 to 9) with several heads, whose logits are weighted by hops.

    alpha_ij = softmax over i's neighbours j of n_ij LeakyReLU(a^T [W h_i, W h_j]) with n = D^-1/2 (A + I) D^-1/2 (eqs. 7, 8),
    z_i = sum over j of alpha_ij W h_j (eq. 6), heads concatenated, and h'_i = ELU(V h_i + z_i) (eq. 9).
    """

    def __init__(self, width_in: int, width: int, heads: int, *, by_hops: bool = True) -> None:
        """Make ``heads`` heads of width ``width // heads``; without ``by_hops`` it is plain attention over the same edges."""
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
        """Return the nodes, shape (b, n, width), zero at padding, and the attention, shape (b, heads, n, n).

        The attention's rows sum to 1 over a node's neighbours and itself, and to 0 at padding.

        Args:
            nodes: shape (b, n, width_in); with ``at``, of shape (b, n), the vectors of concepts, shape (u, width_in), which
                ``at`` indexes: each concept is projected once then, and the values of ``at`` at padding do not matter.
            adjacency: A, shape (b, n, n), symmetric, 0 where there is no edge.
            mask: bool, shape (b, n), false for padding.
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
        neighbours = (looped > 0) & mask[:, :, None] & mask[:, None, :]
        # A row of padding has no neighbours: its softmax over -inf would be NaN.
        attention = torch.softmax(logits.masked_fill(~neighbours[:, None], -1e9), dim=-1) * neighbours[:, None]
        mixed = torch.einsum("bhij,bjhw->bihw", attention, projected).flatten(2)
        result: Tensor = nn.functional.elu(own + mixed) * mask[..., None]
        return result, attention


def normalise(looped: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 of ``looped`` = A + I, shape (b, n, n), where D is the diagonal of row sums."""
    scale = looped.sum(-1).rsqrt()
    return scale[..., :, None] * looped * scale[..., None, :]


def drop_edges(adjacency: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Return A without a random ``share`` of its edges, in both directions (DropEdge, Rong et al., ICLR 2020); for training."""
    if share <= 0:
        return adjacency
    mask = torch.rand(adjacency.shape, generator=generator).to(adjacency.device).triu(1) >= share
    upper = adjacency.triu(1) * mask
    return upper + upper.transpose(1, 2)


_FORMER = {"most": "max_keywords"}
"""Settings that checkpoints of earlier versions have under another name."""


@dataclass(frozen=True, slots=True)
class GradeConfig(Json):
    """Configuration of a checkpoint; part of its digest."""

    # `frozen`: the encoder is not trained and encodes every turn separately; `tuned`: it reads context and response together
    # (eq. 1) and is fine-tuned.
    utterance: str = "frozen"
    text_width: int = 1152  # width of the encoder's output for a text (frozen: mean, maximum and first token) or a token (tuned)
    concept_dimension: int = 384  # length of a concept's vector
    limits: tuple[int, ...] = (10, 10)  # N_1, N_2, …, neighbours averaged at each hop; empty: only the concept's own vector
    profile: str = "paper"  # `paper` or `released` edge weights
    graph: bool = True  # there is a graph branch
    hop_attention: bool = True  # its attention is weighted by hops
    turns: int = 2  # last turns of the history that are the context
    hidden: int = 128  # width of nodes
    layers: int = 3  # layers, heads: of graph attention
    heads: int = 4
    head: tuple[int, ...] = (128, 64)  # widths of the hidden layers of the head (eq. 11)
    pair: int = 128  # width of a text in the frozen branch
    pooling: str = "mean"  # of the tuned branch's tokens, `mean` or `first`, that is [CLS]
    threshold: float = 0.15  # keywords have a higher score
    max_keywords: int = 16  # of a dialogue

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> GradeConfig:
        row = {_FORMER.get(name, name): value for name, value in row.items()}
        if set(row) != {field.name for field in fields(cls)}:
            raise ValueError("its settings are not those of a GRADE model")
        return cls(**{**row, **{name: tuple(int(value) for value in row[name]) for name in ("limits", "head")}})


class Graphs(NamedTuple):
    """A batch of dialogue graphs as tensors."""

    # (u, 1 + K, d) own vectors and neighbours' means; or (u, d), initial node vectors that were already computed.
    concepts: Tensor
    nodes: Tensor  # (b, n) indices in it
    mask: Tensor  # (b, n)
    adjacency: Tensor  # (b, n, n)


class FrozenReading(nn.Module):
    """v_c with a frozen encoder: v_c = [c, r, c * r, |c - r|] of projections c and r of the embeddings of context and response.

    The paper's encoder reads context and response together, which a frozen one was not trained for; here each text is encoded
    once, whatever it is scored with.
    """

    def __init__(self, width: int, pair: int) -> None:
        """Project embeddings of ``width`` to ``pair``."""
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.last, self.earlier, self.response = (nn.Linear(width, pair) for _ in range(3))
        # Equal projections at first, so that c * r is a similarity of the two texts.
        self.response.load_state_dict(self.last.state_dict())
        self.dropout = nn.Dropout(0.1)

    def forward(self, last: Tensor, earlier: Tensor, response: Tensor) -> Tensor:
        """Return v_c, shape (b, 4 * pair), from embeddings, shape (b, width); ``earlier`` is the mean of the turns before the
        last."""
        c = torch.tanh(self.last(self.dropout(self.norm(last))) + self.earlier(self.dropout(self.norm(earlier))))
        r = torch.tanh(self.response(self.dropout(self.norm(response))))
        return torch.cat([c, r, c * r, (c - r).abs()], dim=1)


class TunedReading(nn.Module):
    """v_c with a fine-tuned encoder (eq. 1): tokens of context and response, read together and pooled."""

    def __init__(self, encoder: nn.Module, pooling: str) -> None:
        """Read with ``encoder``, a BERT-like transformers model; ``pooling`` is ``mean`` or ``first``, the token [CLS]."""
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor | None) -> Tensor:
        """Return v_c, shape (b, width), from token ids, attention mask and token types, shape (b, tokens)."""
        arguments = {"input_ids": ids, "attention_mask": mask} | ({} if kinds is None else {"token_type_ids": kinds})
        states: Tensor = self.encoder(**arguments)[0]
        if self.pooling == "first":
            return states[:, 0].float()
        weights = mask[..., None].to(states.dtype)
        pooled: Tensor = (states * weights).sum(1) / weights.sum(1)
        return pooled.float()


class GradeModel(nn.Module):
    """The whole network: score = sigmoid(head([v_c, v_g]))."""

    def __init__(self, config: GradeConfig, encoder: nn.Module | None = None) -> None:
        """Make a model with random weights; ``encoder`` is for ``utterance="tuned"``."""
        super().__init__()
        self.config = config
        if encoder is None:
            self.reading: nn.Module = FrozenReading(config.text_width, config.pair)
            width = 4 * config.pair
        else:
            self.reading = TunedReading(encoder, config.pooling)
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
        self.head = nn.ModuleList(nn.Linear(before, after) for before, after in itertools.pairwise([width, *config.head, 1]))
        self.dropout = nn.Dropout(0.1)

    @property
    def encoder_length(self) -> int:
        """Most tokens that a fine-tuned encoder reads."""
        own: Any = self.reading
        return int(getattr(own.encoder.config, "max_position_embeddings", 512))

    def encode_graphs(self, graphs: Graphs) -> tuple[Tensor, list[Tensor]]:
        """Return v_g = ELU(FC(mean of the nodes)), shape (b, g) (eq. 10), of a zero mean without keywords, and the attention
        of each layer, (b, heads, n, n)."""
        nodes, at = graphs.concepts if graphs.concepts.dim() == 2 else self.start(graphs.concepts), graphs.nodes
        attentions = []
        for index, layer in enumerate(self.attention):
            nodes, attention = layer(nodes, graphs.adjacency, graphs.mask, None if index else at)
            attentions.append(attention)
        if not attentions:
            nodes = nodes[at] * graphs.mask[..., None]
        mean = nodes.sum(1) / graphs.mask.sum(1, keepdim=True).clamp(min=1)
        return nn.functional.elu(self.pooled(mean)), attentions

    def head_scores(self, utterance: Tensor, graph: Tensor | None) -> Tensor:
        """Return the scores in (0, 1), shape (b,), of v_c, shape (b, v), and v_g, shape (b, g) (eq. 11)."""
        inner = utterance if graph is None else torch.cat([utterance, graph], dim=1)
        for layer in self.head[:-1]:
            inner = nn.functional.elu(layer(self.dropout(inner)))
        return torch.sigmoid(self.head[-1](inner))[:, 0]

    def forward(self, texts: tuple[Tensor, ...], graphs: Graphs | None) -> Tensor:
        """Return the scores, shape (b,); ``texts`` are the arguments of the utterance branch."""
        encoded = None if graphs is None or not self.config.graph else self.encode_graphs(graphs)[0]
        return self.head_scores(self.reading(*texts), encoded)


# Input of the network, shared by scoring and training: embeddings or tokens of texts, and batches of dialogue graphs.

Rows = Callable[[Sequence[str]], Floats]


def graph_tensors(graphs: Sequence[DialogueGraph], weights: Floats, rows: Rows) -> Graphs:
    """Return dialogue graphs as tensors; ``rows`` returns (u, 1 + K, d) or (u, d) for u concepts; without any concept one row
    of zeros.
    """
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
    """Return the arguments of :class:`FrozenReading`, from embeddings, shape (texts, width), and rows of them: of the
    context's last turn, -1 for none, of the turns ``earlier``, and of the response."""
    width = vectors.shape[1]
    at_last = np.zeros((len(response), width), np.float32)
    before = np.zeros((len(response), width), np.float32)
    for index, (row, rows) in enumerate(zip(last, earlier, strict=True)):
        if row >= 0:
            at_last[index] = vectors[row]
        if rows:
            before[index] = vectors[list(rows)].astype(np.float32).mean(axis=0)
    answers: NDArray[np.float32] = vectors[np.asarray(response, np.int64)].astype(np.float32)
    return torch.from_numpy(at_last), torch.from_numpy(before), torch.from_numpy(answers)


TUNED_READING = "2"
"""The version of how :func:`tuned_texts` cuts long texts; named in the signature of metrics with a tuned encoder."""


def tuned_texts(tokenizer: Any, contexts: Sequence[Sequence[str]], responses: Sequence[str], length: int) -> tuple[Tensor, ...]:
    """Return the arguments of :class:`TunedReading`; when context and response are too long together, the longer one loses its
    beginning."""
    tokenizer.truncation_side = "left"
    encoded = tokenizer(
        [" ".join(turns) for turns in contexts], list(responses), padding=True, truncation="longest_first", max_length=length,
        return_tensors="pt", verbose=False,
    )  # fmt: skip
    return encoded["input_ids"], encoded["attention_mask"], encoded.get("token_type_ids")

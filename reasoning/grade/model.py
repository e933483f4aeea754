"""GRADE as a network: an utterance branch, a graph branch, and the head that joins them into one score.

Numbers of equations are those of Huang et al. (EMNLP 2020). Shapes: b dialogues, n nodes in the largest graph, u distinct
concepts, v the width of v_c, g that of v_g.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .layers import HopAttention, NeighbourAggregation

UTTERANCES = ("frozen", "tuned")


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

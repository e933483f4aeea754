"""The two layers of GRADE's graph branch: where a node starts (eq. 3), and graph attention that hops weigh (eqs. 6 to 9).

Numbers of equations are those of Huang et al. (EMNLP 2020). Shapes: b dialogues, n nodes in the largest graph, u distinct
concepts, K hops of neighbours, d numbers in a concept's vector.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


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

"""Hidden states, logits and losses of texts that share prefixes, read by a causal language model without padding.

The tokens of many texts stand in one row ("packed" or "varlen" batches). Attention is computed for each text on its own: over its
tokens, its prefix and what all prefixes begin with, whose keys and values are computed once. All other operations treat tokens
one by one. In half precision a matrix product depends on its shape in the third digit, so every product has the same number of
rows, whatever is read together: the result for a text is the same to the last bit in any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from .causal_lm import CausalModel
from .hub import need
from .layers import watched

Continued = Sequence[tuple[int, Sequence[int]]]
"""For each text the index of its prefix, and the token ids after it, at least one."""

_ROWS = 128  # of every matrix product in half precision: fewer take more time for a token, more waste it on short texts
_ATTENTION = "tacit_packed"  # the name under which transformers calls _attend
_CLOSE = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.02}  # relative differences from plain reading, by dtype


class Ends(NamedTuple):
    """What a model computes at the last token of each text, and the losses of its first tokens.

    Attributes:
        states: hidden states of the requested layers, float32, shape (texts, layers, width).
        logits: of the requested tokens, float64, shape (texts, tokens).
        losses: sums over the target tokens, in nats, >= 0, shape (texts,); 0 without any.
    """

    states: NDArray[np.float32]
    logits: NDArray[np.float64]
    losses: NDArray[np.float64]


class PackedReader:
    """Reads texts with one model; the beginning that its texts share is read once for all calls.

    Hidden states are recorded on the model itself, so hold its ``lock`` where others may use it.
    """

    def __init__(self, causal: CausalModel) -> None:
        """Read with ``causal``."""
        self.causal = causal
        self._start: _Node | None = None

    def ends(
        self,
        start: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        rows: Continued,
        layers: Sequence[int],
        tokens: Sequence[int] = (),
        targets: Sequence[int] = (),
    ) -> Ends:
        """Return states and logits at the end of texts, and losses of their tokens.

        Args:
            start: token ids with which all texts begin; may be empty.
            prefixes: token ids that follow ``start``; each prefix is read once.
            rows: the texts.
            layers: from 1, the one nearest to the input.
            tokens: whose logits are wanted, for the token that follows.
            targets: for each row the number of its first tokens whose losses are summed; empty for none. A token must precede
                each row, in its prefix or in ``start``.

        Raises:
            ModelError: a text has more tokens than the model reads, or the model's output is not finite.
        """
        causal = self.causal
        width = int(causal.model.config.get_text_config().hidden_size)
        states: NDArray[np.float32] = np.empty((len(rows), len(layers), width), np.float32)
        logits: NDArray[np.float64] = np.empty((len(rows), len(tokens)))
        losses: NDArray[np.float64] = np.zeros(len(rows))
        with watched(causal.model, layers) as outputs:
            for batch in self._batches(start, prefixes, rows):
                ends = [span.stop - 1 for span in batch.spans]
                for column, layer in enumerate(layers):
                    states[batch.indices, column] = outputs[layer][0, ends].float().cpu().numpy()
                if len(tokens):
                    logits[batch.indices] = causal.logits_of(batch.states[ends], tokens).cpu().numpy()
                if targets:
                    losses[batch.indices] = self._losses(batch, [rows[index][1][: targets[index]] for index in batch.indices])
        for values in (states, logits, losses):
            causal.check_finite(values)
        return Ends(states, logits, losses)

    def _losses(self, batch: _Batch, first_tokens: Sequence[Sequence[int]]) -> list[float]:
        """Return for each text of a batch the summed loss of its first tokens."""
        torch = need("torch", "neural")
        states = torch.cat([
            torch.cat([before, batch.states[span]])[: len(tokens)]
            for before, span, tokens in zip(batch.before, batch.spans, first_tokens, strict=True)
        ])  # fmt: skip
        targets = self._tensor([token for tokens in first_tokens for token in tokens])
        if self.causal.dtype != "float32":
            filler = -len(targets) % _ROWS
            states = torch.nn.functional.pad(states, (0, 0, 0, filler))
            targets = torch.nn.functional.pad(targets, (0, filler))
        losses = self.causal.losses_of(states, targets, rows=_ROWS).double()
        ends = np.cumsum([len(tokens) for tokens in first_tokens]).tolist()
        return [float(losses[start:end].sum()) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def _batches(self, start: Sequence[int], prefixes: Sequence[Sequence[int]], rows: Continued) -> Iterator[_Batch]:
        causal = self.causal
        longest = max((len(start) + len(prefixes[prefix]) + len(row) for prefix, row in rows), default=0)
        if longest > causal.max_length:
            raise ModelError(
                f"the model {causal.files.requested!r} reads {causal.max_length} tokens, and a prompt has {longest}; "
                "give a model with a longer context"
            )
        root = self._start
        if root is None or root.tokens != tuple(start):
            root = _Node(tuple(start), None)
        read = self._read_packed if self._packs else self._read_singly
        with need("torch", "neural").inference_mode():
            for nodes in _passes(root, prefixes, rows, causal.batch_tokens):
                yield from read(nodes)
                self._start = root

    def _read_packed(self, nodes: Sequence[_Node]) -> Iterator[_Batch]:
        """Read nodes in one pass."""
        spans, stop = [], 0
        for node in nodes:
            spans.append(slice(stop, stop + len(node.tokens)))
            stop += len(node.tokens)
        tokens = [token for node in nodes for token in node.tokens]
        positions = [node.before + index for node in nodes for index in range(len(node.tokens))]
        half = self.causal.dtype != "float32"
        filler = [self.causal.end] * (-stop % _ROWS) if half else []
        with _attention_by_text(self.causal.model, nodes, spans), _rows_at_a_time(self.causal.model, _ROWS if half else None):
            output = self.causal.body(
                input_ids=self._tensor([*tokens, *filler])[None],
                position_ids=self._tensor([*positions, *(0 for _ in filler)])[None],
                use_cache=False,
            )
        batch = _Batch([], [], output[0][0], [])
        for node, span in zip(nodes, spans, strict=True):
            if node.index is None:
                node.last = batch.states[span][-1:].clone()
            else:
                batch.indices.append(node.index)
                batch.spans.append(span)
                batch.before.append(next((each.last for each in reversed(node.ancestors()) if each.tokens), batch.states[:0]))
        yield batch

    def _read_singly(self, nodes: Sequence[_Node]) -> Iterator[_Batch]:
        """Read each text whole and alone, with a model whose attention cannot be replaced."""
        for node in nodes:
            if node.index is not None:
                output = self.causal.body(input_ids=self._tensor([*node.tokens_before(), *node.tokens])[None], use_cache=False)
                states, start = output[0][0], node.before
                yield _Batch([node.index], [slice(start, start + len(node.tokens))], states, [states[max(start - 1, 0) : start]])

    @cached_property
    def _packs(self) -> bool:
        """Whether the model reads packed texts as it reads each alone, tried on a few tokens."""
        causal = self.causal
        if not getattr(causal.model, "_supports_attention_backend", False):
            return False
        torch = need("torch", "neural")
        tokens = [token % causal.vocabulary for token in range(min(8, causal.max_length))]
        first = _Node(tuple(tokens[:3]), None)
        nodes = [first, _Node(tuple(tokens[3:-1]), first, 0), _Node(tuple(tokens[3:]), first, 1)]
        with torch.inference_mode():
            [packed] = self._read_packed(nodes)
            *_, alone = self._read_singly(nodes)
        found, expected = packed.states[packed.spans[1]].float(), alone.states[alone.spans[0]].float()
        return bool((found - expected).norm() <= _CLOSE[causal.dtype] * expected.norm())

    def _tensor(self, numbers: Sequence[int]) -> Any:
        return need("torch", "neural").tensor(numbers, device=self.causal.model.device, dtype=need("torch", "neural").long)


class _Batch(NamedTuple):
    """Texts read in one pass: the index of each, its tokens in the packed row, the last hidden states of the row, and for each
    text the state of the token before it, shape (1, width); without rows where no token is."""

    indices: list[int]
    spans: list[slice]
    states: Any
    before: list[Any]


class _Node:
    """Tokens to read after those of a parent: the start, a prefix, or the rest of a text.

    Attributes:
        index: of the text; None for the start and for prefixes.
        before: the number of tokens before these.
        keys: keys and values of these tokens by layer, and last: the last hidden state of the last one, shape (1, width), once
            they are read; not stored for texts.
    """

    def __init__(self, tokens: Sequence[int], parent: _Node | None, index: int | None = None) -> None:
        self.tokens = tokens
        self.parent = parent
        self.index = index
        self.before: int = parent.before + len(parent.tokens) if parent is not None else 0
        self.keys: dict[int, tuple[Any, Any]] = {}
        self.last: Any = None

    def ancestors(self) -> list[_Node]:
        """Return the nodes whose tokens stand before these, the first one first."""
        return [*self.parent.ancestors(), self.parent] if self.parent is not None else []

    def tokens_before(self) -> list[int]:
        """Return all tokens before these."""
        return [token for node in self.ancestors() for token in node.tokens]


def _passes(root: _Node, prefixes: Sequence[Sequence[int]], rows: Continued, max_tokens: int) -> Iterator[list[_Node]]:
    """Yield the nodes to read in each pass, at most ``max_tokens`` tokens or one text with its prefix."""
    owned: dict[int, list[int]] = {}
    for index, (prefix, _) in enumerate(rows):
        owned.setdefault(prefix, []).append(index)
    unread = [] if root.keys or not root.tokens else [root]
    nodes: list[_Node] = []
    size = 0
    for prefix, indices in sorted(owned.items()):
        parent = root
        if prefixes[prefix]:
            parent = _Node(prefixes[prefix], root)
            unread.append(parent)
        for index in indices:
            unread.append(_Node(rows[index][1], parent, index))
            more = sum(len(node.tokens) for node in unread)
            if nodes and size + more > max_tokens:
                yield nodes
                nodes, size = [], 0
            nodes += unread
            size += more
            unread = []
    if nodes:
        yield nodes


# What changes in a model while it reads packed texts.

_pass: ContextVar[tuple[Sequence[_Node], Sequence[slice]]] = ContextVar("_pass")


@contextmanager
def _attention_by_text(model: Any, nodes: Sequence[_Node], spans: Sequence[slice]) -> Iterator[None]:
    """Let the model compute attention by :func:`_attend` over ``nodes``, which stand at ``spans``."""
    from transformers import AttentionInterface

    AttentionInterface.register(_ATTENTION, _attend)
    usual = model.config._attn_implementation
    token = _pass.set((nodes, spans))
    model.set_attn_implementation(_ATTENTION)
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
        _pass.reset(token)


def _attend(
    module: Any, query: Any, key: Any, value: Any, _mask: Any, *, scaling: float | None = None, sliding_window: int | None = None,
    **_options: Any,
) -> tuple[Any, None]:  # fmt: skip
    """Return the attention of each node over its prefix and itself, shape (1, tokens, heads, width)."""
    torch = need("torch", "neural")
    nodes, spans = _pass.get()
    found = query.new_zeros((1, query.shape[2], query.shape[1], value.shape[3]))
    for node, span in zip(nodes, spans, strict=True):
        keys, values = key[:, :, span], value[:, :, span]
        if node.index is None:
            node.keys[module.layer_idx] = (keys.clone(), values.clone())
        before = [one.keys[module.layer_idx] for one in node.ancestors() if one.tokens]
        if before:
            keys = torch.cat([*(each for each, _ in before), keys], dim=2)
            values = torch.cat([*(each for _, each in before), values], dim=2)
        size, total = len(node.tokens), node.before + len(node.tokens)
        window = sliding_window or total
        mask = None
        if before or window < total:
            mask = torch.ones(size, total, dtype=torch.bool, device=query.device).tril(node.before)
            mask = mask.triu(node.before - window + 1)
        groups = query.shape[1] // keys.shape[1]
        keys, values = (each.repeat_interleave(groups, dim=1) if groups > 1 else each for each in (keys, values))
        part = torch.nn.functional.scaled_dot_product_attention(
            query[:, :, span], keys, values, attn_mask=mask, is_causal=mask is None, scale=scaling
        )
        found[:, span] = part.transpose(1, 2)
    return found, None


@contextmanager
def _rows_at_a_time(model: Any, rows: int | None) -> Iterator[None]:
    """Let the model's linear layers multiply matrices of ``rows`` rows each; None changes nothing."""
    if rows is None:
        yield
        return
    layers = [layer for layer in model.modules() if type(layer).__name__ in ("Linear", "Conv1D")]
    usual = [layer.__dict__.get("forward") for layer in layers]
    for layer in layers:
        layer.forward = partial(_by_rows, layer.forward, rows)
    try:
        yield
    finally:
        for layer, forward in zip(layers, usual, strict=True):
            if forward is None:
                del layer.forward
            else:
                layer.forward = forward


def _by_rows(forward: Callable[[Any], Any], rows: int, states: Any) -> Any:
    """Apply a linear layer to ``rows`` rows at a time; the number of rows must be a multiple of it, or smaller."""
    flat = states.reshape(-1, states.shape[-1])
    found = [forward(part) for part in flat.split(rows)]
    whole = found[0] if len(found) == 1 else need("torch", "neural").cat(found)
    return whole.reshape(*states.shape[:-1], whole.shape[-1])

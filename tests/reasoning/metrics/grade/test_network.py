"""The network: attention by hand, padding that nobody sees, an order that does not matter, edges dropped in training alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tacit.reasoning.metrics.grade.network import (
    GradeConfig,
    GradeModel,
    Graphs,
    HopAttention,
    NeighbourAggregation,
    TunedReading,
    drop_edges,
    normalise,
    tuned_texts,
)
from torch import Tensor

from tests.reasoning.models.tiny_encoder import save_tiny_encoder

CONFIG = GradeConfig(text_width=6, concept_dimension=8, hidden=16, pair=4)


@pytest.fixture
def model() -> GradeModel:
    torch.manual_seed(0)
    return GradeModel(CONFIG).eval()


def random_graphs(b: int = 3, n: int = 6, u: int = 5, seed: int = 1) -> Graphs:
    """Graphs with 6, 3 and 0 nodes, half of each on one side."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(n) < torch.tensor([6, 3, 0][:b])[:, None]
    edges = torch.rand(b, n, n, generator=generator).triu(1)
    edges = (edges + edges.transpose(1, 2)) * (mask[:, :, None] & mask[:, None, :])
    return Graphs(torch.randn(u, 3, 8, generator=generator), torch.randint(u, (b, n), generator=generator), mask, edges)


def texts(b: int = 3) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(2)
    return tuple(torch.randn(b, 6, generator=generator) for _ in range(3))


def test_attention_by_hand() -> None:
    torch.manual_seed(3)
    layer = HopAttention(4, 4, 2)
    nodes, adjacency = torch.randn(1, 3, 4), torch.tensor([[[0.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 0.0]]])
    after, attention = layer(nodes, adjacency, torch.ones(1, 3, dtype=torch.bool))
    weights = {name: parameter.detach().double().numpy() for name, parameter in layer.state_dict().items()}
    h = nodes[0].double().numpy()
    looped = adjacency[0].double().numpy() + np.eye(3)
    degree = looped.sum(1)
    expected = h @ weights["own.weight"].T + weights["own.bias"]
    for head in range(2):
        w_h = (h @ weights["node.weight"].T)[:, 2 * head : 2 * head + 2]
        for i in range(3):
            logits = {}
            for j in range(3):
                if looped[i, j] > 0:
                    e = weights["asks"][head] @ w_h[i] + weights["answers"][head] @ w_h[j]
                    logits[j] = looped[i, j] / np.sqrt(degree[i] * degree[j]) * (e if e > 0 else 0.2 * e)
            total = sum(np.exp(value) for value in logits.values())
            for j in range(3):
                alpha = np.exp(logits[j]) / total if j in logits else 0.0
                assert float(attention[0, head, i, j].detach()) == pytest.approx(alpha, abs=1e-6)
                expected[i, 2 * head : 2 * head + 2] += alpha * w_h[j]
    expected = np.where(expected > 0, expected, np.exp(expected) - 1)
    np.testing.assert_allclose(after[0].detach().numpy(), expected, atol=1e-5)


def test_initial_nodes_by_hand() -> None:
    torch.manual_seed(4)
    start = NeighbourAggregation(4, 2)
    concepts = torch.randn(2, 3, 4)
    first, second = (weight.state_dict()["weight"] for weight in start.weights)
    expected = 2 * (concepts[:, 0] + concepts[:, 1] @ first.T + concepts[:, 2] @ second.T) + start.bias  # 2 = root of 4
    torch.testing.assert_close(start(concepts), expected)


def test_normalisation_is_symmetric_and_by_degrees() -> None:
    looped = torch.tensor([[[1.0, 0.5], [0.5, 1.0]]])
    torch.testing.assert_close(normalise(looped), looped / 1.5)


def test_attention_is_weighted_by_hops_only_if_enabled() -> None:
    torch.manual_seed(5)
    plain = HopAttention(4, 4, 2, by_hops=False)
    nodes, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    edges = torch.ones(1, 3, 3).triu(1)
    edges = edges + edges.transpose(1, 2)
    torch.testing.assert_close(plain(nodes, edges, mask)[0], plain(nodes, edges * 0.3, mask)[0])
    plain.by_hops = True
    assert not torch.allclose(plain(nodes, edges, mask)[0], plain(nodes, edges * 0.3, mask)[0])


def test_padding_does_not_change_scores(model: GradeModel) -> None:
    graphs = random_graphs()
    before = model(texts(), graphs)
    disturbed_nodes = torch.where(graphs.mask, graphs.nodes, 4)
    concepts = torch.cat([graphs.concepts, torch.full((1, 3, 8), 1e3)])
    disturbed_nodes[~graphs.mask] = len(concepts) - 1
    noise = torch.rand_like(graphs.adjacency)
    outside = ~(graphs.mask[:, :, None] & graphs.mask[:, None, :])
    disturbed = Graphs(concepts, disturbed_nodes, graphs.mask, torch.where(outside, noise, graphs.adjacency))
    attention = model.encode_graphs(graphs)[1][0]
    assert float(attention[outside[:, None].expand_as(attention)].abs().max()) == 0
    torch.testing.assert_close(attention.sum(-1), graphs.mask[:, None].expand(3, 4, 6).float())
    # Edges beyond the mask change a node's degree, which no batch holds: only what stands beyond the mask is disturbed.
    still = disturbed._replace(adjacency=graphs.adjacency)
    torch.testing.assert_close(model(texts(), still), before, rtol=0, atol=1e-7)
    wider = Graphs(
        graphs.concepts, torch.nn.functional.pad(graphs.nodes, (0, 4), value=2), torch.nn.functional.pad(graphs.mask, (0, 4)),
        torch.nn.functional.pad(graphs.adjacency, (0, 4, 0, 4)),
    )  # fmt: skip
    torch.testing.assert_close(model(texts(), wider), before, rtol=0, atol=1e-6)


def test_batches_equal_single_items(model: GradeModel) -> None:
    graphs, graph_inputs = random_graphs(), texts()
    together = model(graph_inputs, graphs)
    for index in range(3):
        alone = Graphs(graphs.concepts, *(graph[index : index + 1] for graph in graphs[1:]))
        torch.testing.assert_close(
            model(tuple(graph[index : index + 1] for graph in graph_inputs), alone), together[index : index + 1]
        )
    assert ((together > 0) & (together < 1)).all()


def test_the_order_of_keywords_does_not_matter(model: GradeModel) -> None:
    graphs = random_graphs(b=1)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    turned = graphs._replace(nodes=graphs.nodes[:, order], adjacency=graphs.adjacency[:, order][:, :, order])
    torch.testing.assert_close(model(texts(1), turned), model(texts(1), graphs), rtol=0, atol=1e-6)


def test_edges_affect_their_own_nodes(model: GradeModel) -> None:
    graphs = random_graphs(b=1)
    without = graphs.adjacency.clone()
    without[0, 0, 3] = without[0, 3, 0] = 0
    layer = model.attention[0]
    nodes = model.start(graphs.concepts)[graphs.nodes]
    full, cut = (layer(nodes, adjacency, graphs.mask)[1] for adjacency in (graphs.adjacency, without))
    assert (full[0, :, 0, 3] > 0).all()
    assert (cut[0, :, 0, 3] == 0).all()
    assert not torch.equal(model(texts(1), graphs), model(texts(1), graphs._replace(adjacency=without)))


def test_edges_are_dropped_in_both_directions_and_by_their_share() -> None:
    edges = torch.ones(50, 12, 12).triu(1)
    edges = edges + edges.transpose(1, 2)
    dropped = drop_edges(edges, 0.3, torch.Generator().manual_seed(0))
    torch.testing.assert_close(dropped, dropped.transpose(1, 2))
    assert float(dropped.sum() / edges.sum()) == pytest.approx(0.7, abs=0.02)
    assert drop_edges(edges, 0.0, torch.Generator()) is edges


def test_scoring_drops_no_edges(model: GradeModel) -> None:
    text_inputs, graphs = texts(), random_graphs()
    assert torch.equal(model(text_inputs, graphs), model(text_inputs, graphs))


def test_ablations_have_their_shapes() -> None:
    one_hop = GradeModel(GradeConfig(text_width=6, concept_dimension=8, hidden=16, pair=4, limits=(10,)))
    assert len(one_hop.start.weights) == 1
    no_graph = GradeModel(GradeConfig(text_width=6, hidden=16, pair=4, graph=False)).eval()
    assert no_graph(texts(), None).shape == (3,)
    assert not any("attention" in name for name, _ in no_graph.named_parameters())
    with pytest.raises(ValueError, match="settings"):
        GradeConfig.from_dict({"hidden": 3})
    assert GradeConfig.from_dict(CONFIG.to_dict()) == CONFIG
    former = {"most" if name == "max_keywords" else name: value for name, value in CONFIG.to_dict().items()}
    assert GradeConfig.from_dict(former) == CONFIG


def test_the_graphs_vector_is_the_elu_of_the_projected_mean(model: GradeModel) -> None:
    graphs = random_graphs()
    nodes, at = model.start(graphs.concepts), graphs.nodes
    for index, layer in enumerate(model.attention):
        nodes, _ = layer(nodes, graphs.adjacency, graphs.mask, None if index else at)
    for dialogue, count in enumerate((6, 3, 0)):
        mean = nodes[dialogue, :count].double().sum(0).detach().numpy() / max(count, 1)
        weights = {name: parameter.detach().double().numpy() for name, parameter in model.pooled.state_dict().items()}
        projected = weights["weight"] @ mean + weights["bias"]
        expected = np.where(projected > 0, projected, np.expm1(projected))
        assert model.encode_graphs(graphs)[0][dialogue].detach().numpy() == pytest.approx(expected, abs=1e-6)


def test_the_head_has_the_widths_of_the_configuration() -> None:
    torch.manual_seed(0)
    model = GradeModel(GradeConfig(text_width=6, concept_dimension=8, hidden=16, pair=4, head=(32, 16, 8)))
    assert [tuple(layer.weight.shape) for layer in model.head] == [(32, 4 * 4 + 16), (16, 32), (8, 16), (1, 8)]  # type: ignore[arg-type]
    assert GradeConfig.from_dict(model.config.to_dict()) == model.config


class Doubling(torch.nn.Module):
    """An encoder whose state for a token is twice its id."""

    def forward(self, input_ids: Tensor, **_: Tensor) -> tuple[Tensor]:
        return (2.0 * input_ids[..., None].float().expand(-1, -1, 3),)


@pytest.mark.parametrize(("pooling", "expected"), [("first", [14.0, 8.0]), ("mean", [12.0, 8.0])])
def test_tokens_are_pooled_as_configured(pooling: str, expected: list[float]) -> None:
    read = TunedReading(Doubling(), pooling)
    ids, mask = torch.tensor([[7, 5], [4, 9]]), torch.tensor([[1, 1], [1, 0]])
    assert read(ids, mask, None).tolist() == [[value] * 3 for value in expected]


def test_the_longer_of_context_and_response_is_truncated(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(save_tiny_encoder(tmp_path / "bert"))
    contexts, responses = [["a b", "c d e f"], ["a"], []], ["x y", "u v w x y z", "z"]
    ids, mask, sides = tuned_texts(tokenizer, contexts, responses, 7)
    read = [tokenizer.decode(row[: int(length)]) for row, length in zip(ids, mask.sum(1), strict=True)]
    assert read == ["[CLS] e f [SEP] x y [SEP]", "[CLS] a [SEP] x y z [SEP]", "[CLS] [SEP] z [SEP]"]
    assert sides.tolist() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]]

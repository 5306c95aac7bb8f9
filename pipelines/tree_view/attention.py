"""What the graph network's last layer makes an article attend to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.models.folder import GRAPH_PART, MANIFEST_FILE, find_model, read_manifest
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS
from pipelines.tree_view.neighbourhood import Role


@dataclass(frozen=True, slots=True)
class Attention:
    """Shares of attention that add up to 1, each None where the network has no such edge.

    Attributes:
        own: The article's own vector.
        division: The division or law right above it.
        previous: The article before it.
        next: The one after it.
        cites: By id, the articles that it cites.
        cited_by: By id, the articles that cite it.
    """

    own: float | None
    division: float | None
    previous: float | None
    next: float | None
    cites: Mapping[str, float]
    cited_by: Mapping[str, float]

    def beside(self, role: Role) -> float | None:
        """The share of the article before or after."""
        return self.previous if role == "previous" else self.next


def read_attention(
    corpus: StatuteCorpus, position: int, model: str, say: Callable[[str], object]
) -> tuple[Attention | None, str]:
    """The attention of the article at a position in the last layer, mean over heads.

    Only what the network sees from this article is encoded.

    Args:
        corpus: The whole corpus.
        position: Of the article.
        model: Folder or name of the model.
        say: Takes lines for the user.

    Returns:
        The shares, or None where the model has none; and a sentence on where they come from, or
        why there are none.

    Raises:
        ModelError: The model cannot be loaded.
    """
    folder = find_model(model)
    name = Path(model).name
    if not (folder / MANIFEST_FILE).exists() or GRAPH_PART not in read_manifest(folder).parts:
        return None, f"Place alone: the model {name} has no graph network."
    # Imported here: a picture of the place alone should not wait for the libraries of models.
    import torch

    from components.models.graph import GraphTensors, LegislativeGraphEncoder, graph_for, node_texts
    from components.models.registry import shared_model

    network = LegislativeGraphEncoder.load(folder / GRAPH_PART)
    if network.kind not in ("gat", "gatv2"):
        return None, f"Place alone: the graph network of {name} ({network.kind}) pays no attention."
    whole = graph_for(network, corpus)
    article = whole.article_node(position)
    nodes = whole.neighbourhood([article], network.layers)
    graph = whole.part(nodes)
    articles = [corpus[int(node) - whole.n_inner] for node in nodes[graph.n_inner :]]
    encoder = shared_model(model)
    say(f"Encoding the {graph.n_nodes:,} texts that the network sees from here")
    features = encoder.encode_articles(list(node_texts(graph, articles, encoder.text_rule)))
    tensors = GraphTensors.of(graph, torch.device("cpu"))
    shares = network.attention(features, tensors).mean(dim=1).numpy()
    here = nodes.tolist().index(article)
    found: dict[str, dict[int, float]] = {kind: {} for kind in EDGE_KINDS}
    for edge in (graph.target == here).nonzero()[0]:
        source = int(graph.source[edge]) - graph.n_inner
        found[EDGE_KINDS[graph.kind[edge]]][source] = float(shares[edge])

    def only(kind: str) -> float | None:
        return next(iter(found[kind].values()), None)

    def by_id(kind: str) -> dict[str, float]:
        return {articles[source].id: share for source, share in found[kind].items()}

    attention = Attention(
        own=only("self"),
        division=only("down"),
        previous=only("previous"),
        next=only("next"),
        cites=by_id("cites"),
        cited_by=by_id("cited"),
    )
    return attention, (
        f"Percentages and line widths: the attention that the article pays in the last of "
        f"{network.layers} layers of the graph network of {name}, mean over {network.heads} heads; "
        "together they are 100%. An article without a percentage is not joined to it directly."
    )

"""An article's surroundings in its law, and what a graph network attends to from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from components.models.folder import GRAPH_PART, MANIFEST_FILE, find_model, read_manifest
from components.statutes.article import Article
from components.statutes.citations.patterns import parse_number
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS, CrossReferences, cross_references
from components.statutes.tree import LegislativeTree
from pipelines.checking import LoadingError, did_you_mean


class Citations:
    """Which articles of a corpus cite which, both ways."""

    def __init__(self, references: CrossReferences, n_articles: int) -> None:
        """Sorts the citations by either side.

        Args:
            references: Of the corpus.
            n_articles: How many articles it has.
        """
        pairs = np.array(references.pairs, dtype=np.int32).reshape(-1, 2)
        order = np.argsort(pairs[:, 1], kind="stable")
        places = np.arange(n_articles + 1)
        # One side of all pairs, and where each article's run begins in it, `[n_articles + 1]`.
        self._cited = pairs[:, 1], np.searchsorted(pairs[:, 0], places)
        self._citing = pairs[order, 0], np.searchsorted(pairs[order, 1], places)

    def cited_in(self, position: int) -> list[int]:
        """Positions of the articles that this one cites, ascending."""
        values, starts = self._cited
        found: list[int] = values[starts[position] : starts[position + 1]].tolist()
        return found

    def citing(self, position: int) -> list[int]:
        """Positions of the articles that cite this one, ascending."""
        values, starts = self._citing
        found: list[int] = values[starts[position] : starts[position + 1]].tolist()
        return found


@dataclass(frozen=True, slots=True)
class Division:
    """A law, or a division of one.

    Attributes:
        label: Title of the law, heading of the division.
        place: Its place, from 1, among the divisions of the same parent; laws count likewise.
        of: How many these are.
        articles: How many articles it has, including those in its divisions.
    """

    label: str
    place: int
    of: int
    articles: int


class LawStructure:
    """The tree of a corpus, with the number of articles under each node.

    Attributes:
        tree: The tree.
        articles_below: Articles under each node above the articles, int64 `[n_inner]`.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        """Reads where the articles are.

        Args:
            articles: In the corpus's order; their texts are not read.
        """
        self.tree = LegislativeTree(articles)
        n_inner = self.tree.n_nodes - self.tree.n_articles
        above = self.tree.ancestors[self.tree.article_node]
        self.articles_below: NDArray[np.int64] = np.bincount(
            above[(above >= 0) & (above < n_inner)], minlength=n_inner
        )

    def division(self, node: int) -> Division:
        """The law or division at a node."""
        tree = self.tree
        beside = [n for n in tree.children(int(tree.parent[node])) if tree.kind[n] != "article"]
        return Division(
            label=tree.label[node],
            place=beside.index(node) + 1,
            of=len(beside),
            articles=int(self.articles_below[node]),
        )

    def siblings(self, position: int) -> list[int]:
        """Positions of the articles directly below the same division, including this one."""
        return sorted([position, *self.tree.siblings(position)])


Role = Literal["previous", "next"]

_NAMED = 3  # articles that a message suggests


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An article in its place.

    Attributes:
        article: The article.
        path: The law, then the divisions down to the article's own.
        siblings: Articles directly below the same division in the law's order, including this one.
        previous: The article before it in its law, in whatever division.
        next: The one after it.
        cites: Articles that its text cites, in the corpus's order.
        cited_by: Articles whose text cites it, in the corpus's order.
    """

    article: Article
    path: tuple[Division, ...]
    siblings: tuple[Article, ...]
    previous: Article | None
    next: Article | None
    cites: tuple[Article, ...]
    cited_by: tuple[Article, ...]

    def role_of(self, article: Article) -> Role | None:
        """Whether an article comes right before this one, or right after it."""
        if article == self.previous:
            return "previous"
        return "next" if article == self.next else None


def find_article(corpus: StatuteCorpus, article_id: str) -> int:
    """Position of the article with this id.

    Raises:
        LoadingError: There is none; suggests ids, also if a number was given.
    """
    try:
        return corpus.position(article_id)
    except KeyError:
        number = parse_number(article_id)
        same = (
            f"'{article.id}' ({article.law}, {article.number})"
            for article in corpus
            if number is not None and parse_number(article.number) == number
        )
        named = list(islice(same, _NAMED))
        hint = (
            f" An article is given by its id: {', '.join(named)}."
            if named
            else f" The ids look like '{corpus[0].id}'."
        )
        near = "" if named else did_you_mean(article_id, corpus.ids)
        raise LoadingError(
            f"--article: no article of the corpus has the id '{article_id}'{near}.{hint}"
        ) from None


def neighbourhood(corpus: StatuteCorpus, position: int) -> Neighbourhood:
    """The neighbourhood of the article at a position, after reading the citations in every text."""
    citations = Citations(cross_references(corpus), len(corpus))
    return neighbourhood_in(LawStructure(corpus), citations, position, corpus.__getitem__)


def neighbourhood_in(
    structure: LawStructure,
    citations: Citations | None,
    position: int,
    article_at: Callable[[int], Article],
) -> Neighbourhood:
    """The neighbourhood of the article at a position, in a given structure.

    Args:
        structure: Of the whole corpus.
        citations: Of the whole corpus; None leaves them out.
        position: Of the article.
        article_at: Returns the article at a position; the text is only needed for articles shown
            with their first words.
    """
    tree = structure.tree

    def at(place: int | None) -> Article | None:
        return None if place is None else article_at(place)

    def every(places: list[int]) -> tuple[Article, ...]:
        return tuple(article_at(place) for place in places)

    return Neighbourhood(
        article=article_at(position),
        path=tuple(structure.division(node) for node in tree.path(position)[:-1]),
        siblings=every(structure.siblings(position)),
        previous=at(tree.previous(position)),
        next=at(tree.next(position)),
        cites=every(citations.cited_in(position) if citations else []),
        cited_by=every(citations.citing(position) if citations else []),
    )


@dataclass(frozen=True, slots=True)
class Attention:
    """Shares of attention that add up to 1, each None if the network has no such edge.

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
        The shares, or None if the model has none; and a sentence on where they come from, or why
        there are none.

    Raises:
        ModelError: The model cannot be loaded.
    """
    folder = find_model(model)
    name = Path(model).name
    if not (folder / MANIFEST_FILE).exists() or GRAPH_PART not in read_manifest(folder).parts:
        return None, f"Place alone: the model {name} has no graph network."
    # Imported here: a picture of the place alone should not wait for the model libraries.
    import torch

    from components.models.graph import GraphTensors, LegislativeGraphEncoder, graph_for, node_texts
    from components.models.registry import shared_model

    network = LegislativeGraphEncoder.load(folder / GRAPH_PART)
    if network.kind not in ("gat", "gatv2"):
        return None, f"Place alone: the graph network of {name} ({network.kind}) has no attention."
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

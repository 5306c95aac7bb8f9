"""Articles with their vectors, out of a store or freshly encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from components.converters.articles import article_of
from components.statutes.article import Article, indexed_text
from components.statutes.corpus import StatuteCorpus
from pipelines.binding import store_with_articles
from pipelines.files import LoadingError

_BLOCK = 1000


@dataclass(frozen=True)
class ArticleVectors:
    """Articles, one vector each.

    Attributes:
        articles: In the law's order; those of a store without their words.
        vectors: Of unit length, float32 `[n_articles, dim]`.
        model: Folder or name of the model that they come from; "" where the store does not say.
        through_graph: Whether they went through the model's graph network.
        without: Articles left out because they have no vector.
    """

    articles: list[Article]
    vectors: NDArray[np.float32]
    model: str
    through_graph: bool
    without: int


def stored_vectors(path: Path) -> ArticleVectors:
    """The vectors of a store, as they were indexed.

    Raises:
        LoadingError: There is no such store, or it holds no vectors.
        StoreError: It holds no article, or its file cannot be read.
    """
    with store_with_articles(path) as store:
        keys, vectors = store.vectors()
        if not len(keys):
            raise LoadingError(
                f"{path} holds text alone, no vectors. Index the corpus with a model: python -m "
                f"pipelines.index --corpus ... --store {path} --model DIR."
            )
        articles: list[Article] = []
        for start in range(0, len(keys), _BLOCK):
            block = map(article_of, store.fetch(keys[start : start + _BLOCK]))
            articles.extend(replace(article, text="") for article in block)
        without = store.count_documents() - len(keys)
        model = store.model
    if len(articles) != len(vectors):
        raise LoadingError(f"{path} was changed while it was read. Run the same command again.")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    path_of_model = model.path if model else ""
    through_graph = model is not None and model.through_graph
    return ArticleVectors(articles, vectors, path_of_model, through_graph, without)


def encoded_vectors(
    corpus: StatuteCorpus, model: str, say: Callable[[str], object]
) -> ArticleVectors:
    """The vectors that a model's bi-encoder gives a corpus; nothing is kept.

    Raises:
        ModelError: The model cannot be loaded.
    """
    from components.models.registry import shared_model

    encoder = shared_model(model)
    say(f"Encoding {len(corpus):,} articles with {model}")
    texts = [indexed_text(article.headings, article.text, encoder.text_rule) for article in corpus]
    with tqdm(total=len(texts), desc="Encoding", unit="text", disable=None) as bar:
        vectors: NDArray[np.float32] = encoder.encode_articles(texts, progress=bar.update).numpy()
    return ArticleVectors(corpus.articles, vectors, model, through_graph=False, without=0)

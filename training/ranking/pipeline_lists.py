"""What a ranker is given in use: the candidates of `pipelines/hybrid_rerank.yaml`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from components.models.dense_index import DenseIndex
from components.models.lexical_index import LexicalIndex
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.lexical import coverage, trust
from training.rank_fusion import FULL_COVERAGE, FUSED_FROM, RERANKED, fuse_ranks
from training.ranking.first_stage import Candidates, FirstStage

# As StatuteBM25Retriever has them by default.
_K1, _B = 1.5, 0.75


def pipeline_candidates(
    stage: FirstStage, corpus: StatuteCorpus, text_rule: TextRule
) -> Candidates:
    """The `RERANKED` best articles of each dev question by BM25 and the first stage, fused by rank.

    As in the pipeline, but for what a question cites: that stands above the re-ranked there.

    Args:
        stage: The vectors of articles and dev questions.
        corpus: The law.
        text_rule: What of an article the words are taken from.

    Returns:
        As many for each question; of a smaller law all that it has.
    """
    texts = (
        (position, indexed_text(article.headings, article.text, text_rule), article.language)
        for position, article in enumerate(corpus)
    )
    words = LexicalIndex.build(texts, k1=_K1, b=_B)
    nearest = DenseIndex(stage.articles, device="cpu").search(stage.dev.vectors, FUSED_FROM)[1]
    found = []
    for question, by_vector in zip(stage.dev.questions, nearest.tolist(), strict=True):
        by_words = words.search(question.text, FUSED_FROM)[0].tolist()
        weight = _weight_of_words(question.text, corpus[by_words[0]]) if by_words else 0.0
        found.append(fuse_ranks([by_words, by_vector], [weight, 1.0])[:RERANKED])
    return replace(stage.dev, found=np.array(found, dtype=np.int64))


def _weight_of_words(question: str, first: Article) -> float:
    text = indexed_text(first.headings, first.text)
    return trust(coverage(question, text, first.language), FULL_COVERAGE)

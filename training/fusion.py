"""python -m training.fusion: learn to fuse what words, divisions and meaning find.

    python -m training.fusion --corpus aldermere --questions aldermere --model models/demo \
        --output models/fused
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.folder import (
    FUSION_PART,
    MANIFEST_FILE,
    PartWriter,
    check_target,
    find_model,
    manifest_of,
    model_digest,
    read_manifest,
    write_model_folder,
)
from components.models.learned_fusion import (
    BM25,
    CANDIDATES,
    DENSE,
    DIVISION,
    DIVISION_WEIGHT,
    FEW_QUESTIONS,
    Example,
    LawArrays,
    LearnedFusion,
    RankedList,
    Rows,
    division_texts,
    features,
    fused_by_rank,
    weights_for,
)
from components.models.lexical_index import LexicalIndex
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import B, K1, coverage
from components.statutes.question import Question, clean_question
from components.statutes.significance import bootstrap_interval, paired_randomisation
from training.command_line import run, say, settings_from
from training.data import TrainingData, evaluated, trainings_on
from training.settings import DEV_DEPTH, FUSED_FROM, FusionSettings

FOLDS = 5
_DENSE_WEIGHTS = (1.0, 0.75, 0.5, 0.25)


# The lists


@dataclass(frozen=True)
class Found:
    """What the searches find for one question.

    Attributes:
        question: Its words.
        lists: By name.
        coverage: Share of its terms in the first article that words find.
    """

    question: str
    lists: Mapping[str, RankedList]
    coverage: float


class Searches:
    """Every list of a law, as `StatuteHybridRetriever` has them.

    Args:
        articles: In the order of the law.
        vectors: Matrices of the articles by the name of their list, float32 `[n, dim]`.
        rule: What of an article its list by words reads, as the model that made the vectors.
        placed: Articles whose places in the law are taken in place of their own ones; the control
            gives them in another order.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        vectors: Mapping[str, Tensor | NDArray[np.float32]],
        rule: TextRule = "headings_text",
        placed: Sequence[Article] | None = None,
    ) -> None:
        self.articles = articles
        places = [(each.law, each.headings) for each in (placed or articles)]
        self.law = LawArrays(
            (law, headings, len(each.text))
            for (law, headings), each in zip(places, articles, strict=True)
        )
        self._words = LexicalIndex.build(
            (
                (row, indexed_text(each.headings, each.text, rule), each.language)
                for row, each in enumerate(articles)
            ),
            k1=K1,
            b=B,
        )
        texts = (
            (headings, each.text, each.language)
            for (_, headings), each in zip(places, articles, strict=True)
        )
        self._divisions = LexicalIndex.build(division_texts(self.law, texts), k1=K1, b=B)
        self._dense = {name: DenseIndex(matrix) for name, matrix in vectors.items()}

    def find(self, question: str, vectors: Mapping[str, NDArray[np.float32]]) -> Found:
        """Search every list.

        Args:
            question: As it was asked.
            vectors: Its vector for each of the matrices, `[dim]`.
        """
        asked = clean_question(question)
        lists = {
            BM25: RankedList.of(*self._words.search(asked, FUSED_FROM)),
            DIVISION: self.law.spread(*self._divisions.search(asked, FUSED_FROM)),
        }
        for name, index in self._dense.items():
            scores, rows = index.search(vectors[name][None], FUSED_FROM)
            lists[name] = RankedList.of(rows[0], scores[0])
        covered = 0.0
        if len(best := lists[BM25].rows):
            first = self.articles[int(best[0])]
            # As the retriever covers a question: with the headings, whatever the index reads.
            text = indexed_text(first.headings, first.text)
            covered = coverage(asked, text, first.language)
        return Found(asked, lists, covered)


# Questions with their candidates


@dataclass(frozen=True)
class Asked:
    """A question with its candidates, ready to be learnt or ranked.

    Attributes:
        question: Whose articles are known.
        by_rank: Rows in the order of rank fusion, at most `DEV_DEPTH`; the first `CANDIDATES` are
            the candidates.
        example: Features and labels of the candidates.
    """

    question: Question
    by_rank: Rows
    example: Example

    @classmethod
    def of(
        cls, question: Question, found: Found, law: LawArrays, weights: Mapping[str, float],
        relevant: Rows,
    ) -> Asked:
        """Choose the candidates and compute their features."""
        own = {name: found.lists[name] for name in weights}
        rows, _ = fused_by_rank(own, weights_for(weights, found.coverage), len(law))
        first = rows[:CANDIDATES]
        table = features(law, own, first, question=found.question, coverage=found.coverage)
        return cls(question, rows[:DEV_DEPTH], Example(table, np.isin(first, relevant)))

    def learned(self, fusion: LearnedFusion) -> Rows:
        """The rows in the order of a learned fusion; behind the candidates as they were."""
        n = len(self.example.relevant)
        if not n:
            return self.by_rank
        order = np.argsort(-fusion.scores(self.example.table), kind="stable")
        return np.concatenate([self.by_rank[:n][order], self.by_rank[n:]])


def folds_of(asked: Sequence[Asked], folds: int, seed: int) -> list[list[int]]:
    """Places of the questions in each fold; those with the same words stand in the same one."""
    texts = list(dict.fromkeys(each.question.text for each in asked))
    order = np.random.default_rng([seed, 2]).permutation(len(texts)).tolist()
    fold_of = {texts[place]: number % folds for number, place in enumerate(order)}
    own = [fold_of[each.question.text] for each in asked]
    return [[place for place, each in enumerate(own) if each == fold] for fold in range(folds)]


def cross_validated(
    asked: Sequence[Asked], weights: Mapping[str, float], *, folds: int = FOLDS, seed: int = 0
) -> list[Rows]:
    """Each question's rows, in the order of a fusion that was learnt on the other folds."""
    ranked: dict[int, Rows] = {}
    for fold in folds_of(asked, folds, seed):
        held = set(fold)
        others = [each.example for place, each in enumerate(asked) if place not in held]
        fusion = LearnedFusion.learn(others, weights, seed=seed)
        ranked |= {place: asked[place].learned(fusion) for place in fold}
    return [ranked[place] for place in range(len(asked))]

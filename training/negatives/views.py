"""Views of difficulty: each rates every article as a negative of a question.

`VIEWS` says what a view is called in settings, and how it is made from a law and its questions.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import numpy as np
import torch
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi, BM25Plus
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor

from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import analyzer, segmenter, words_joined
from components.statutes.question import Question
from training.negatives.curriculum import View, ViewInputs
from training.negatives.gold import flattened
from training.objective import similarities


class TreeView:
    """Minus the tree distance to the nearest positive (CuSINeS, section 3).

    d(a) = min over p in P of depth(a) + depth(p) - 2 depth(lowest common ancestor of a and p).

    The lowest common ancestor is the common ancestor u with the smallest depth(p) - 2 depth(u), so

        d(a) = depth(a) + min over ancestors u of a of [min over p below u of depth(p) - 2 depth(u)]

    The inner minimum is written into the few nodes above the positives; the outer one is passed
    down the tree level by level. That is one pass over the divisions, however many positives there
    are, and one gather for the articles.

    Args:
        inputs: Their tree, positives, places and `cross_law` are used.
    """

    name = "tree"

    def __init__(self, inputs: ViewInputs) -> None:
        tree, device = inputs.tree, inputs.device
        self._positives = inputs.gold.positives
        self._device = device
        n_inner = tree.n_nodes - tree.n_articles
        inner_depth = tree.depth[:n_inner]
        # Nodes above the articles, sorted by depth, so that a level is one slice.
        by_depth = np.argsort(inner_depth, kind="stable")
        number = np.empty(n_inner, dtype=np.int64)
        number[by_depth] = np.arange(n_inner)
        level_ends = np.cumsum(np.bincount(inner_depth)).tolist()
        above = torch.from_numpy(number[tree.parent[by_depth[1:]]]).to(device)
        self._levels = [
            (start, end, above[start - 1 : end - 1]) for start, end in pairwise(level_ends)
        ]
        self._n_inner = n_inner
        # A division's ancestors by depth, itself included; -1 stays -1.
        ancestors = tree.ancestors[:n_inner, : len(level_ends)]
        self._ancestors = np.where(ancestors >= 0, number[ancestors], -1)
        self._parents = tree.parent[tree.article_node][inputs.places]
        self._article_parents = torch.from_numpy(number[self._parents]).to(device)
        self._leaf_depth = inner_depth[self._parents] + 1
        # Only the root is above two laws. This adds more than any distance within one law.
        depths = np.arange(len(level_ends))
        self._from_ancestor = -2.0 * depths
        if inputs.settings.cross_law == "farther":
            self._from_ancestor[0] += 2.0 * (int(tree.depth.max()) - 1)
        self._depths = torch.from_numpy(self._leaf_depth).to(device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Minus the distances, float32 `[n_rows, n_articles]`."""
        places, positives = flattened(self._positives, rows)
        row = torch.from_numpy(places).to(self._device)
        nearest = self._above_positives(len(rows), places, positives)
        for start, end, above in self._levels:
            level = nearest[:, start:end]
            torch.minimum(level, nearest[:, above], out=level)
        distance = nearest[:, self._article_parents] + self._depths
        distance[row, torch.from_numpy(positives).to(self._device)] = 0
        return distance.neg_()

    def _above_positives(
        self, n_rows: int, places: NDArray[np.int64], positives: NDArray[np.int64]
    ) -> Tensor:
        """The inner minimum, infinity for nodes above no positive, float32 `[n_rows, n_inner]`."""
        ancestors = self._ancestors[self._parents[positives]]
        steps = self._leaf_depth[positives][:, None] + self._from_ancestor
        real = ancestors >= 0
        cells = (places[:, None] * self._n_inner + ancestors)[real]
        nearest = torch.full((n_rows * self._n_inner,), torch.inf, device=self._device)
        nearest.scatter_reduce_(
            0,
            torch.from_numpy(cells).to(self._device),
            torch.from_numpy(steps[real]).to(self._device, torch.float32),
            "amin",
        )
        return nearest.view(n_rows, self._n_inner)


class SequenceView:
    """Minus the distance in position to the nearest positive (CuSINeS, section 3).

    Args:
        inputs: Their positives and places are used.
    """

    name = "sequence"

    def __init__(self, inputs: ViewInputs) -> None:
        self._positives = tuple(np.sort(inputs.places[own]) for own in inputs.gold.positives)
        self._device = inputs.device
        self._places = torch.from_numpy(inputs.places).to(inputs.device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Minus the distances, float32 `[n_rows, n_articles]`."""
        row, places = flattened(self._positives, rows)
        counts = np.bincount(row, minlength=len(rows))
        # Each question's positives between two sentinels at infinity.
        bounds = np.full((len(rows), counts.max() + 2), np.inf, dtype=np.float32)
        bounds[:, 0] = -np.inf
        bounds[row, 1 + np.arange(len(row)) - (np.cumsum(counts) - counts)[row]] = places
        known = torch.from_numpy(bounds).to(self._device)
        own = self._places.expand(len(rows), -1)
        after = torch.searchsorted(known, own.contiguous())
        to_next = known.gather(1, after).sub_(own)
        to_previous = own - known.gather(1, after.sub_(1))
        return torch.minimum(to_next, to_previous).neg_()


# Articles copied to float64 at a time: 6 MB at 768 dimensions, which fits into a cache.
_ARTICLES_AT_A_TIME = 1024
_UNIT_TOLERANCE = 1e-3
_GRID = 2.0**26


class SemanticView:
    """Similarity of question and article under a model (CuSINeS, section 3).

    Dynamic: `refresh` takes the vectors of the model as it is now.

    The last bits of a float32 matrix product depend on the block's shape, the number of threads and
    the device, and so does the order of near twins. Here components are rounded to multiples of
    2^-26, finer than what float32 sums lose, and counted in these units. In float64 every product
    and every partial sum of unit vectors is then a whole number below 2^53: exact in any order of
    addition. Autocast and TF32 do not affect float64. Dot products and distances of vectors of any
    length are plain float64.

    Args:
        inputs: Their numbers of questions and articles and `similarity` are used.
    """

    name = "semantic"

    def __init__(self, inputs: ViewInputs) -> None:
        self._similarity = inputs.settings.similarity
        self._sizes = {"questions": inputs.gold.n_questions, "articles": inputs.gold.n_articles}
        self._device = inputs.device
        self._questions = self._articles = torch.empty(0, 0, device=self._device)

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors from which difficulties are computed; they are not copied on the device.

        Args:
            questions: float32 `[n_questions, dim]`, for cosine of unit length.
            articles: float32 `[n_articles, dim]`, likewise.

        Raises:
            ValueError: There are too many or too few vectors, or they are not of unit length.
        """
        for name, vectors in (("questions", questions), ("articles", articles)):
            if len(vectors) != self._sizes[name]:
                raise ValueError(f"{len(vectors):,} vectors for {self._sizes[name]:,} {name}")
            lengths = torch.linalg.vector_norm(vectors.detach().float(), dim=1)
            # A NaN length fails this test too.
            unit = ((lengths - 1).abs() <= _UNIT_TOLERANCE).all()
            if self._similarity == "cosine" and not unit:
                raise ValueError(f"{name}: not all vectors are of unit length")
        self._questions = questions.detach().to(self._device, torch.float32)
        self._articles = articles.detach().to(self._device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The similarities, rounded once to float32, `[n_rows, n_articles]`."""
        if self._similarity != "cosine":
            chosen = self._questions[torch.from_numpy(rows).to(self._device)].double()
            return similarities(chosen, self._articles.double(), self._similarity).float()
        query = _on_grid(self._questions[torch.from_numpy(rows).to(self._device)].double())
        n_articles, dim = self._articles.shape
        scores = torch.empty(len(rows), n_articles, device=self._device)
        # Reuse one buffer for all blocks: allocating new pages takes as long as filling them.
        copies = torch.empty(_ARTICLES_AT_A_TIME, dim, dtype=torch.float64, device=self._device)
        for start in range(0, n_articles, _ARTICLES_AT_A_TIME):
            some = slice(start, start + _ARTICLES_AT_A_TIME)
            articles = self._articles[some]
            copied = _on_grid(copies[: len(articles)].copy_(articles))
            scores[:, some] = (query @ copied.T).mul_(_GRID**-2)
        return scores


def _on_grid(vectors: Tensor) -> Tensor:
    """Scale components to grid steps, in place; scaling by a power of two is exact."""
    return vectors.mul_(_GRID).round_()


Terms = Literal["lower_cased", "analysed"]
Ranking = NDArray[np.int64]


class CountedLaw:
    """The words of a law and of questions, counted once for every variant of BM25.

    Scores are rank-bm25's, as a product of sparse matrices: its `get_scores` looks every word up in
    every article, which takes a hundred times as long.

    Args:
        articles: The law.
        questions: A repeated word counts as often as it occurs. Words are analysed in the language
            of the first article.
        terms: How words are made from text. If pyvi is installed, Vietnamese words are whole.
        text_rule: Which parts of an article are searched.

    Attributes:
        asked: How often each word stands in a question, float64 `[n_questions, n_words]`.

    Raises:
        ValueError: No article has a word.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        *,
        terms: Terms,
        text_rule: TextRule = "headings_text",
    ) -> None:
        self._documents = [
            _words(indexed_text(each.headings, each.text, text_rule), terms, each.language)
            for each in articles
        ]
        counter = CountVectorizer(analyzer=list, dtype=np.float64)
        self._counts = counter.fit_transform(self._documents)
        language = articles[0].language
        self.asked = counter.transform([_words(each.text, terms, language) for each in questions])
        self._vocabulary = counter.get_feature_names_out()

    def weights(self, kind: type[BM25Okapi | BM25Plus], k1: float, b: float) -> csr_array:
        """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`:

            idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

        A question's row of `asked` times this are `get_scores`. BM25Plus adds delta * idf for each
        word of the question, to every article, those without the word included: that moves no rank
        and is left out.
        """
        statistics, counts = kind(self._documents, k1=k1, b=b), self._counts
        lengths = np.array(statistics.doc_len) / statistics.avgdl
        saturation = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr))
        idf = np.array([statistics.idf[word] for word in self._vocabulary])
        weights = idf[counts.indices] * (counts.data * (k1 + 1) / (counts.data + saturation))
        return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape).T.tocsr()

    def rankings(
        self, weights: csr_array, depth: int, rows: Sequence[int] | None = None
    ) -> list[Ranking]:
        """For every question the positions of the best articles.

        An article that shares no word with the question scores 0 and is not found.

        Args:
            weights: As `weights` gives them.
            depth: At most this many.
            rows: Of the questions; default: all.

        Returns:
            int64 `[at most depth]` for each question, best first; equal scores in the order of the
            law.
        """
        rankings: list[Ranking] = []
        for row in range(self.asked.shape[0]) if rows is None else rows:
            scores = (self.asked[[row]] @ weights).toarray()[0]
            order = np.argsort(-scores, kind="stable")
            rankings.append(order[scores[order] != 0][:depth])
        return rankings


def _words(text: str, terms: Terms, language: str | None) -> list[str]:
    if terms == "analysed":
        return analyzer(language)(text)
    if segmenter() and (language or "").partition("-")[0] == "vi":
        text = words_joined(text)
    # Compose a letter and its mark into one character: a separate mark would end the word.
    return re.findall(r"\w+", unicodedata.normalize("NFC", text).lower())


class BM25View:
    """Okapi BM25 of the question's words in the article (CuSINeS, section 3, static).

    The scores are those of rank-bm25's `BM25Okapi`, including its floor for the idf of frequent
    words.

    Args:
        inputs: Their articles, questions, `bm25_k1`, `bm25_b` and `text_rule` are used.

    Raises:
        ValueError: No article has a word.
    """

    name = "bm25"

    def __init__(self, inputs: ViewInputs) -> None:
        settings, rule = inputs.settings, inputs.settings.text_rule
        law = CountedLaw(inputs.articles, inputs.questions, terms="analysed", text_rule=rule)
        self._asked = law.asked
        self._weights = law.weights(BM25Okapi, settings.bm25_k1, settings.bm25_b)
        self._device = inputs.device

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The scores, float32 `[n_rows, n_articles]`."""
        scores = (self._asked[rows] @ self._weights).toarray()
        return torch.from_numpy(scores.astype(np.float32)).to(self._device)


class RunView:
    """The order of a run file's scores; articles that it did not find are the easiest.

    A line is `question Q0 article rank score tag`, as trec_eval reads it: the score decides. White
    space in an id is percent-encoded. Questions of the run that are not training questions are
    ignored.

    Args:
        inputs: Their ids of questions and articles and `run_file` are used.

    Raises:
        ValueError: A line cannot be read, names an article that is not in the corpus, or repeats
            one for its question (named with file and line); or the run has no article for a
            question.
        OSError: The file cannot be opened.
    """

    name = "run"

    def __init__(self, inputs: ViewInputs) -> None:
        path, gold = Path(str(inputs.settings.run_file)), inputs.gold
        self._device = inputs.device
        self._n_articles = gold.n_articles
        article_at = {article: position for position, article in enumerate(gold.article_ids)}
        row_of = {question: row for row, question in enumerate(gold.question_ids)}
        scores: list[dict[int, float]] = [{} for _ in gold.question_ids]
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    question, _, article, _, score, _ = line.split()
                    row = row_of.get(question, row_of.get(unquote(question)))
                    if row is None:
                        continue
                    position = article_at.get(article, article_at.get(unquote(article)))
                    if position is None or position in scores[row]:
                        raise ValueError(f"{article!r} is repeated, or not in the corpus")
                    scores[row][position] = float(score)
                    if not math.isfinite(scores[row][position]):
                        raise ValueError(f"score {score!r} is not finite")
                except ValueError as error:
                    raise ValueError(f"run_file: {path}:{number}: {error}") from error
        if missing := [gold.question_ids[row] for row, own in enumerate(scores) if not own]:
            raise ValueError(f"run_file: {path}: nothing is found for {missing[0]!r}")
        self._positions = [np.array(list(own), dtype=np.int64) for own in scores]
        # Only the order counts: 1, 2, ... from the lowest score, 0 for what was not found.
        self._steps = [
            np.unique(np.array(list(own.values())), return_inverse=True)[1].astype(np.int64) + 1
            for own in scores
        ]

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The rank from the lowest score up, float32 `[n_rows, n_articles]`."""
        row, positions = map(torch.from_numpy, flattened(self._positions, rows))
        _, steps = flattened(self._steps, rows)
        difficulty = torch.zeros(len(rows), self._n_articles, device=self._device)
        values = torch.from_numpy(steps).to(self._device, torch.float32)
        difficulty[row.to(self._device), positions.to(self._device)] = values
        return difficulty


VIEWS: Mapping[str, Callable[[ViewInputs], View]] = {
    "tree": TreeView,
    "sequence": SequenceView,
    "semantic": SemanticView,
    "bm25": BM25View,
    "run": RunView,
}
"""Views by the name that settings give them."""

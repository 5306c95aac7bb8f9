"""python -m training.fusion: learn to fuse what words, divisions and meaning find.

python -m training.fusion --corpus aldermere --questions aldermere --model models/demo \
        --output models/fused
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex, LongArticleIndex
from components.models.folder import (
    FUSION_PART,
    MANIFEST_FILE,
    PartWriter,
    Similarity,
    check_target,
    find_model,
    manifest_digest,
    read_manifest,
    write_model_folder,
)
from components.models.learned_fusion import (
    CANDIDATES,
    FEW_QUESTIONS,
    Example,
    LearnedFusion,
    features,
)
from components.models.lexical_index import LexicalIndex
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.fusion import (
    BM25,
    DENSE,
    DIVISION,
    DIVISION_WEIGHT,
    FUSED_FROM,
    LawArrays,
    RankedList,
    Rows,
    division_texts,
    fused_by_rank,
    weights_for,
)
from components.statutes.lexical import K1, B
from components.statutes.provisions import is_long, provision_texts
from components.statutes.question import Question, clean_question
from components.statutes.significance import paired_randomisation
from training.command_line import SettingsError, run, say, settings_from
from training.data import TrainingData, evaluated, law_vectors, texts_of, trainings_on
from training.settings import DEV_DEPTH, FusionSettings

FOLDS = 5
# What is tried as the weight of the list by meaning, where words have 1.
_DENSE_WEIGHTS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_CHOSEN_BY = "MAP@10"


# The lists


@dataclass(frozen=True)
class SearchResult:
    """What the searches find for one question.

    Attributes:
        question: Its words.
        lists: By name.
        coverage: Share of its terms in the first article that words find.
    """

    question: str
    lists: Mapping[str, RankedList]
    coverage: float

    def with_meaning(
        self, index: DenseIndex | LongArticleIndex, vector: NDArray[np.float32]
    ) -> SearchResult:
        """What the list of the question's vector, `[dim]`, says besides."""
        scores, rows = index.search(vector[None], FUSED_FROM)
        return replace(self, lists={**self.lists, DENSE: RankedList.of(rows[0], scores[0])})

    def fused(
        self, weights: Mapping[str, float], n_articles: int
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Rows and scores by rank fusion, best first.

        Args:
            weights: Of the lists, for a question whose words the law has.
            n_articles: Of the law.
        """
        return fused_by_rank(self.lists, weights_for(weights, self.coverage), n_articles)


def provision_vectors(
    articles: Sequence[Article], model: BiEncoder, store: str | None = None
) -> dict[int, NDArray[np.float32]]:
    """The vectors of the provisions of long articles, by row; see `law_vectors`."""
    texts = {
        row: provision_texts(each.headings, each.text, model.text_rule)
        for row, each in enumerate(articles)
        if is_long(each.text)
    }
    together = [text for own in texts.values() for text in own]
    vectors = law_vectors(model, model.articles_digest, together, store, "provision")
    ends = np.cumsum([len(own) for own in texts.values()])
    return dict(zip(texts, np.split(vectors, ends[:-1]), strict=True)) if texts else {}


class Searches:
    """Every list of a law, as `StatuteHybridRetriever` has them.

    Args:
        articles: In the order of the law.
        vectors: Of the articles, float32 `[n, dim]`; None where only words are searched.
        rule: What of an article its list by words reads, as the model that made the vectors.
        similarity: How the vectors are compared.
        provisions: Vectors of the provisions of long articles, by row (`LongArticleIndex`).
    """

    def __init__(
        self,
        articles: Sequence[Article],
        vectors: Tensor | NDArray[np.float32] | None,
        rule: TextRule = "headings_text",
        similarity: Similarity = "cosine",
        provisions: Mapping[int, NDArray[np.float32]] = MappingProxyType({}),
    ) -> None:
        self.articles = articles
        self.law = LawArrays((each.law, each.headings, len(each.text)) for each in articles)
        texts = [
            (row, indexed_text(each.headings, each.text, rule), each.language)
            for row, each in enumerate(articles)
        ]
        self._words = LexicalIndex.build(texts, k1=K1, b=B)
        parts = ((each.headings, each.text, each.language) for each in articles)
        self._divisions = LexicalIndex.build(division_texts(self.law, parts), k1=K1, b=B)
        self._dense = None
        if vectors is not None:
            self._dense = LongArticleIndex(vectors, None, similarity, provisions)

    def find(self, question: str, vector: NDArray[np.float32]) -> SearchResult:
        """Search every list for a question as it was asked, and its vector, `[dim]`."""
        assert self._dense is not None
        return self.by_words(question).with_meaning(self._dense, vector)

    def find_all(
        self, questions: Sequence[Question], model: BiEncoder
    ) -> list[tuple[Question, SearchResult]]:
        """Each question, and what the lists find for its words and its vector."""
        vectors = model.encode_queries([each.text for each in questions]).numpy()
        return [
            (question, self.find(question.text, vector))
            for question, vector in zip(questions, vectors, strict=True)
        ]

    def by_words(self, question: str) -> SearchResult:
        """Search the lists by words alone."""
        asked = clean_question(question)
        lists = {
            BM25: RankedList.of(*self._words.search(asked, FUSED_FROM)),
            DIVISION: self.law.spread(
                *self._divisions.search(asked, FUSED_FROM, self.law.narrow_divisions)
            ),
        }
        covered = 0.0
        if len(best := lists[BM25].rows):
            first = int(best[0])
            covered = self._words.coverage(asked, first, self.articles[first].language)
        return SearchResult(asked, lists, covered)

    def ranked(
        self, found: SearchResult, fusion: LearnedFusion
    ) -> tuple[Rows, NDArray[np.float64]]:
        """The candidates in the order of a learned fusion, and its scores, best first.

        Args:
            found: What `find` returned.
            fusion: Learned on these lists.
        """
        candidates, _ = found.fused(fusion.weights, len(self.articles))
        return fusion.ranked(
            *(self.law, found.lists, candidates), question=found.question, coverage=found.coverage
        )


# Questions with their candidates


@dataclass(frozen=True)
class CandidateTable:
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
        cls,
        question: Question,
        found: SearchResult,
        law: LawArrays,
        weights: Mapping[str, float],
        corpus: StatuteCorpus,
    ) -> CandidateTable:
        """Choose the candidates and compute their features."""
        own = {name: found.lists[name] for name in weights}
        rows, _ = fused_by_rank(own, weights_for(weights, found.coverage), len(law))
        first = rows[:CANDIDATES]
        table = features(law, own, first, question=found.question, coverage=found.coverage)
        relevant = [corpus.position(each) for each in question.relevant]
        return cls(question, rows[:DEV_DEPTH], Example(table, np.isin(first, relevant)))

    def learned(self, fusion: LearnedFusion) -> Rows:
        """The rows in the order of a learned fusion; behind the candidates as they were."""
        n = len(self.example.relevant)
        if not n:
            return self.by_rank
        order = np.argsort(-fusion.scores(self.example.table), kind="stable")
        return np.concatenate([self.by_rank[:n][order], self.by_rank[n:]])


def cross_validated(
    asked: Sequence[CandidateTable], weights: Mapping[str, float], seed: int
) -> list[Rows]:
    """Each question's rows, in the order of a fusion that was learnt on the other folds."""
    # Questions with the same words stand in one fold.
    texts = list(dict.fromkeys(each.question.text for each in asked))
    order = np.random.default_rng([seed, 2]).permutation(len(texts)).tolist()
    fold_of = {texts[place]: number % FOLDS for number, place in enumerate(order)}
    fusions = []
    for fold in range(FOLDS):
        others = [each.example for each in asked if fold_of[each.question.text] != fold]
        fusions.append(LearnedFusion.learn(others, weights, seed=seed))
    return [each.learned(fusions[fold_of[each.question.text]]) for each in asked]


# The command


def train(settings: FusionSettings) -> None:
    """Learn a fusion from the settings' files and write the settings' model folder.

    Raises:
        CorpusError: A file cannot be read.
        ModelError: The model cannot be opened, the output folder is not empty, or too few questions
            have a candidate that answers them.
        SettingsError: No question is left to learn from.
    """
    output = Path(settings.output).absolute()
    check_target(output)
    data = TrainingData.read(settings.corpus, settings.questions, dev_share=settings.dev_share)
    train = unlearnt(settings, data)
    model = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
    articles = list(data.corpus)
    texts = texts_of(articles, model.text_rule)
    vectors = law_vectors(model, model.articles_digest, texts, settings.store, "article")
    provisions = provision_vectors(articles, model, settings.store)
    searches = Searches(articles, vectors, model.text_rule, model.similarity, provisions)
    sides = {"train": train, "dev": data.dev}
    found = {split: searches.find_all(own, model) for split, own in sides.items()}
    weights = rank_weights(found["train"], data.corpus.ids, settings.select_by)
    asked = {
        split: [CandidateTable.of(*each, searches.law, weights, data.corpus) for each in own]
        for split, own in found.items()
    }
    say(f"Learning from {len(train):,} questions")
    fusion = LearnedFusion.learn(
        [each.example for each in asked["train"]], weights, seed=settings.seed
    )
    metrics = _judged(asked, fusion, data, settings)
    metrics["weights"] = weights
    _publish(settings, data, model, metrics, fusion if metrics["wins"] else None)


def unlearnt(settings: FusionSettings, data: TrainingData) -> Sequence[Question]:
    """Training questions that the model has not learnt: it scores those too well.

    Raises:
        SettingsError: It has learnt all.
    """
    learnt = trainings_on(data.questions_sha256, settings)
    if not learnt:
        return data.train
    if without := next((each for each in learnt if not each.held_out), None):
        say(f"WARNING: {without.model} has learnt these questions. Train it with --hold_out 0.3")
        return data.train
    held_out = frozenset.intersection(*(each.held_out for each in learnt))
    kept = [each for each in data.train if each.id in held_out]
    if not kept:
        raise SettingsError(f"model: {settings.model} has learnt every question of train.")
    say(f"{len(data.train) - len(kept):,} questions that the model has learnt are left out")
    return kept


def rank_weights(
    found: Sequence[tuple[Question, SearchResult]], ids: Sequence[str], metric: str
) -> dict[str, float]:
    """Weights of rank fusion, that of the list by meaning chosen by these questions.

    The one nearest to 1 that is within a standard error of the best: a few questions move it only
    where they agree.

    Args:
        found: The questions, and what each list finds.
        ids: Of the articles, by row.
        metric: What the fused ranking is judged by.
    """
    values: dict[float, NDArray[np.float64]] = {}
    for dense in _DENSE_WEIGHTS:
        ranked = (each.fused(weights_of(dense), len(ids))[0] for _, each in found)
        values[dense] = np.array(_values([question for question, _ in found], ranked, ids, metric))
    best = max(values.values(), key=lambda each: float(each.mean()))
    within = [
        dense
        for dense, own in values.items()
        if (best - own).mean() <= (best - own).std() / np.sqrt(len(found))
    ]
    chosen = min(within, key=lambda dense: abs(np.log(dense)))
    return weights_of(chosen)


def weights_of(dense: float) -> dict[str, float]:
    """Weights of the lists, given that of the list by meaning, where words have 1."""
    return {BM25: 1.0, DIVISION: DIVISION_WEIGHT, DENSE: dense}


class DevWeight:
    """Chooses, on dev, how much the list by meaning counts in rank fusion.

    Args:
        data: The law and the questions.
        rule: What of an article the model reads.
        similarity: How its vectors are compared.
    """

    def __init__(self, data: TrainingData, rule: TextRule, similarity: Similarity) -> None:
        self._dev = data.dev
        self._ids = data.corpus.ids
        self._similarity: Similarity = similarity
        searches = Searches(list(data.corpus), None, rule)
        self._by_words = [searches.by_words(each.text) for each in data.dev]

    def of(self, articles: Tensor, dev: Tensor) -> float:
        """The weight where words have 1.

        Args:
            articles: Their vectors, float32 `[n_articles, dim]`.
            dev: Those of the dev questions, `[n_dev, dim]`.
        """
        index = DenseIndex(articles.cpu(), similarity=self._similarity)
        found = [
            (question, own.with_meaning(index, vector))
            for question, own, vector in zip(
                self._dev, self._by_words, dev.cpu().numpy(), strict=True
            )
        ]
        return rank_weights(found, self._ids, _CHOSEN_BY)[DENSE]


def _values(
    questions: Sequence[Question], ranked: Iterable[Rows], ids: Sequence[str], metric: str
) -> list[float]:
    """The metric of each question."""
    found = ([ids[row] for row in rows[:DEV_DEPTH].tolist()] for rows in ranked)
    return list(evaluated(questions, found, [metric], DEV_DEPTH)[metric].values())


def _judged(
    asked: Mapping[str, Sequence[CandidateTable]],
    fusion: LearnedFusion,
    data: TrainingData,
    settings: FusionSettings,
) -> dict[str, Any]:
    """Whether the fusion beats rank fusion on questions that it has not learnt.

    Few questions are cross-validated; of many, dev decides.
    """
    few = len(asked["train"]) < FEW_QUESTIONS or not asked["dev"]
    measured = asked["train"] if few else asked["dev"]
    if few:
        ranked = cross_validated(measured, fusion.weights, settings.seed)
    else:
        ranked = [each.learned(fusion) for each in measured]
    ids, metric = data.corpus.ids, settings.select_by
    questions = [each.question for each in measured]
    learned = _values(questions, ranked, ids, metric)
    by_rank = _values(questions, (each.by_rank for each in measured), ids, metric)
    against = paired_randomisation(learned, by_rank, seed=settings.seed)
    n = f"{len(measured):,}"
    judged = {
        "metric": metric,
        "measured_on": f"{FOLDS} folds of {n} questions" if few else f"{n} of dev",
        "learned": float(np.mean(learned)),
        "by_rank": float(np.mean(by_rank)),
        **asdict(against),
        "wins": against.difference > 0,
    }
    say(
        f"{metric} over {judged['measured_on']}: learned {judged['learned']:.3f}, by ranks "
        f"{judged['by_rank']:.3f}, difference {against.difference:+.3f} (p {against.p:.4f})"
    )
    if not judged["wins"]:
        say("The learned fusion is not better: none is written, and ranks are fused as before")
    return judged


def _publish(
    settings: FusionSettings,
    data: TrainingData,
    model: BiEncoder,
    metrics: Mapping[str, Any],
    fusion: LearnedFusion | None,
) -> None:
    """Write the model folder: what the model's folder holds, and the fusion."""
    output = Path(settings.output).absolute()
    source = find_model(settings.model)
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output.parent) as folder:
        if not (source / MANIFEST_FILE).exists():
            # Another's model becomes a Lexarbor folder first: only then does it have the digest
            # that the fusion is bound to.
            source = Path(folder) / "model"
            model.save(source, articles=model.articles_digest, base_model=settings.model)
        manifest = read_manifest(source)
        parts: dict[str, Path | PartWriter] = {each: source / each for each in manifest.parts}
        parts.pop(FUSION_PART, None)
        kind = [each for each in manifest.kind if each != FUSION_PART]
        if fusion is not None:
            digest = manifest_digest(manifest)
            parts[FUSION_PART] = lambda part: fusion.save(part, digest)
            kind.append(FUSION_PART)
        own = {**metrics, "config": settings.to_dict(), "data": data.digests()}
        written = replace(
            manifest,
            kind=tuple(kind),
            base_model=settings.model,
            dense_weight=metrics["weights"][DENSE],
            metrics={**manifest.metrics, FUSION_PART: own},
        )
        write_model_folder(output, written, parts)
    say(f"Written: {settings.output}")


_DESCRIPTION = """\
Learns to fuse the lists that a question is searched by (words, divisions, meaning) from questions
with known articles, with what the tree of the law says of each candidate. Writes a model folder
that holds the model as it was and the fusion, if this finds more than rank fusion does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("fusion", _DESCRIPTION, FusionSettings, arguments)
    return run(lambda: train(settings))


if __name__ == "__main__":
    sys.exit(main())

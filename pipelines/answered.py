"""Keep answered questions with a store, and choose the weight of their list.

Earlier answers are the best guide to the next one: whoever asks the same in other words needs the
same articles. No training is needed, and a new answer counts at once. Whether the list helps
differs from law to law, so its weight is chosen on questions that are not in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from components.models.biencoder import BiEncoder
from components.models.folder import FUSION_PART, find_model, manifest_of
from components.retrievers.answered import AnsweredQuestions
from components.retrievers.hybrid import StatuteHybridRetriever
from components.retrievers.validity import ANY
from components.statutes.article import normalised
from components.statutes.corpus import read_questions
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError

_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0)
_METRIC = "MAP@10"
_TOP = 10
_MOST_ASKED = 150
_PARTS = 5
_FEWEST = 20


def read_answered(source: str | Path, ids: Sequence[str]) -> tuple[list[Question], list[Question]]:
    """The questions to keep and those that choose their weight.

    Questions of the split "train", or of no split, are kept, also those that no article answers;
    those of the split "dev" choose. If there are none of these, the kept ones choose.

    Args:
        source: file of questions, or "aldermere".
        ids: of all articles of the store.

    Raises:
        CorpusError: the questions cannot be read, or name an article that does not exist.
        LoadingError: there are fewer than 20 to keep, or to choose the weight.
    """
    questions = read_questions(source, corpus_ids=ids)
    kept = [each for each in questions if each.split in ("train", None)]
    answered = [each for each in kept if each.answerable]
    choosing = [
        each for each in questions if each.split == "dev" and each.answerable and not each.synthetic
    ]
    if not choosing:
        choosing = answered
    if min(len(answered), len(choosing)) < _FEWEST:
        raise LoadingError(
            f"--answered {source}: {len(answered)} questions of the split 'train' (or of none) "
            f"have an answer, and {len(choosing)} choose their weight. At least {_FEWEST} of "
            "each are needed: give more, or leave --answered out."
        )
    return kept, choosing


def keep_answered(
    store: StatuteDocumentStore,
    model: BiEncoder,
    answered: Sequence[Question],
    choosing: Sequence[Question],
    say: Callable[[str], object],
) -> str:
    """Embed answered questions, choose the weight of their list, and keep both with the store.

    The weight is the one of .5, 1, 2, 4 and 8 with the best MAP@10, if leaving the list out is
    worse by more than one standard error of the difference; else 0. The questions choose in five
    parts, and while a part does, its questions are not in the list.

    Args:
        store: with vectors of the model.
        model: embeds the questions.
        answered: to keep; those without an answer say only when a question has none.
        choosing: questions that choose the weight; at most 150 of them are asked.
        say: takes lines for the user.

    Returns:
        A line for the user: how many are kept, their weight, and what it was chosen by.
    """
    say(f"Encoding {len(answered):,} questions and choosing the weight of the answered ones")
    texts = [each.text for each in answered]
    vectors = model.encode_queries(texts).detach().float().cpu().numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevant = [each.relevant for each in answered]
    everything = AnsweredQuestions(texts, relevant, vectors, 1.0)
    asked = list(choosing)
    if len(asked) > _MOST_ASKED:
        asked = random.Random(0).sample(asked, _MOST_ASKED)  # noqa: S311
    assert store.model is not None
    # With weights of its own it leaves a learned fusion out, which would hide the list.
    retriever = StatuteHybridRetriever(store, store.model.path, top_k=_TOP, as_of=ANY, weights={})
    runs: dict[float, dict[str, list[str]]] = {weight: {} for weight in (0.0, *_WEIGHTS)}
    for part in (asked[first::_PARTS] for first in range(_PARTS)):
        retriever.search_answered(everything.without({normalised(each.text) for each in part}))
        for each in part:
            ranked = retriever.by_weight(each.text, runs)
            for run, ids in zip(runs.values(), ranked, strict=True):
                run[each.id] = ids
    qrels = {each.id: each.relevant for each in asked}
    scores = {
        weight: np.array(list(evaluate(run, qrels, [_METRIC], depth=_TOP)[_METRIC].values()))
        for weight, run in runs.items()
    }
    best = max(_WEIGHTS, key=lambda weight: scores[weight].mean())
    gain = scores[best] - scores[0.0]
    if gain.mean() <= gain.std(ddof=1) / len(gain) ** 0.5:
        best = 0.0
    everything.weight = best
    everything.keep(store)
    manifest = manifest_of(find_model(store.model.path))
    if best and manifest is not None and FUSION_PART in manifest.parts:
        say("In hybrid the model's learned fusion takes their place.")
    with_answer = sum(question.answerable for question in answered)
    if not best:
        return (
            f"{with_answer:,} answered questions are kept but not used: they did not help on "
            f"{len(asked)} other questions"
        )
    return (
        f"{with_answer:,} answered questions are searched too, with the weight {best:g}: MAP@10 on "
        f"{len(asked)} other questions is {scores[0.0].mean():.3f} without them and "
        f"{scores[best].mean():.3f} with them"
    )

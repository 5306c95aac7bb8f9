"""HTML of the curriculum: what one question was trained against, at three moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.converters.articles import article_of
from components.retrievers.readable import ReadableStore
from components.statutes.article import Article
from components.stores.failures import StoreError
from ui.article_text import law_attributes, words
from ui.language import Language, decimal, number
from ui.law.links import article_link
from ui.naming import article_title
from ui.runs.curves import bucket_name
from ui.runs.records import Epoch, Example, Negative
from ui.runs.run import Run
from ui.runs.run_view import run_link
from ui.texts import curves as texts_of_curves
from ui.texts.curriculum import TEXTS

_SIBLING = 2
_MAX_STEPS = 30
_DRAWN_FROM = ("biencoder", "graph")

Moment = tuple[str, Epoch, Example]


def followed(run: Run) -> tuple[Example, ...]:
    """The questions that a run follows, as they stand in its first epoch that has any."""
    return next((epoch.examples for epoch in run.shown if epoch.examples), ())


def curriculum(
    name: str,
    run: Run,
    question: int,
    store: ReadableStore,
    language: Language,
    *,
    finished: bool,
) -> str:
    """The section of a run's page on the negatives of a question.

    Args:
        name: of the run.
        run: as read.
        question: which of `followed`, from 1.
        store: where the articles' titles are looked up.
        language: of the interface.
        finished: whether the run is.
    """
    texts = TEXTS[language]
    title = f'<h3 id="curriculum">{words(texts.curriculum)}</h3>'
    examples = followed(run)
    if not examples:
        none = texts.no_examples if run.kind in _DRAWN_FROM else texts.no_curriculum
        return f"{title}<p>{words(none)}</p>"
    example = examples[question - 1]
    moments = _moments(run, example, language, finished=finished)
    ids = [*example.positives, *(n.article for _, _, each in moments for n in each.negatives)]
    articles = _articles(store, ids)
    steps = [texts.distance_note]
    if run.settings.get("cross_law", "farther") == "farther":
        steps.append(texts.other_laws_note)
    unsure = bool(articles) and not _same_law(run, store)
    note = f'<p class="quiet">{words(texts.other_version)}</p>' if unsure else ""
    columns = "".join(_moment(run, moment, example, articles, language) for moment in moments)
    return (
        f"{title}<p>{words(texts.curriculum_note)}</p><p>{words(' '.join(steps))}</p>"
        f"{_choices(name, examples, question, language)}"
        f"{_asked(example, articles, language)}"
        f'<div class="moments">{columns}</div>{note}'
    )


def _moments(run: Run, example: Example, language: Language, *, finished: bool) -> list[Moment]:
    """The first, the middle and the last of the epochs that a question is followed in."""
    texts = TEXTS[language]
    there = [
        (epoch, each)
        for epoch in run.shown
        for each in epoch.examples
        if each.question == example.question
    ]
    last = texts.moment_last if finished else texts.moment_latest
    if len(there) == 1:
        return [(texts.moment_only if finished else last, *there[0])]
    chosen = [(texts.moment_first, *there[0])]
    if len(there) > 2:
        chosen.append((texts.moment_middle, *there[len(there) // 2]))
    return [*chosen, (last, *there[-1])]


def _choices(name: str, examples: Sequence[Example], question: int, language: Language) -> str:
    texts = TEXTS[language]
    listed = []
    for place, example in enumerate(examples, start=1):
        current = ' aria-current="true"' if place == question else ""
        listed.append(
            f'<li><a href="{words(run_link(name, language, place))}"{current}>'
            f"{words(texts.question.format(number=number(place, language)))}</a>"
            f' <span dir="auto">{words(example.text)}</span></li>'
        )
    return (
        f'<nav aria-label="{words(texts.questions)}"><ul class="choices">{"".join(listed)}</ul>'
        "</nav>"
    )


def _asked(example: Example, articles: Mapping[str, Article], language: Language) -> str:
    texts = TEXTS[language]
    known = [articles[each] for each in example.positives if each in articles]
    positives = "".join(
        f"<li>{_title(each, articles, language)}</li>" for each in example.positives
    )
    return (
        f'<div class="followed"><h4{law_attributes(known[0].language if known else None)}>'
        f"<q>{words(example.text or example.question)}</q></h4>"
        f"<p>{words(texts.answered_by)}</p><ul>{positives}</ul></div>"
    )


def _moment(
    run: Run,
    moment: Moment,
    asked: Example,
    articles: Mapping[str, Article],
    language: Language,
) -> str:
    texts = TEXTS[language]
    label, epoch, example = moment
    told = [texts.epoch_of.format(epoch=number(epoch.number + 1, language))]
    if mostly := _mostly(epoch, language):
        told.append(mostly)
    known = [n.tree_distance for n in example.negatives if n.tree_distance is not None]
    if known:
        mean = decimal(sum(known) / len(known), language, 1)
        told.append(texts.mean_distance.format(distance=mean))
    laws = {articles[each].law for each in asked.positives if each in articles}
    listed = "".join(
        f"<li>{_negative(run, negative, laws, articles, language)}</li>"
        for negative in example.negatives
    )
    shown = f"<ol>{listed}</ol>" if listed else f"<p>{words(texts.nothing_drawn)}</p>"
    if 0 < len(example.negatives) < example.drawn:
        counts = {"shown": len(example.negatives), "drawn": example.drawn}
        some = texts.some_drawn.format(**{k: number(v, language) for k, v in counts.items()})
        shown += f'<p class="quiet">{words(some)}</p>'
    return (
        f'<section><h4>{words(label)}</h4><p class="quiet">{words(", ".join(told))}</p>'
        f"{shown}</section>"
    )


def _mostly(epoch: Epoch, language: Language) -> str:
    """The difficulty that more than half of an epoch's negatives have."""
    texts = TEXTS[language]
    if len(epoch.buckets) < 2 or not sum(epoch.buckets):
        return ""
    heaviest = max(epoch.buckets)
    if 2 * heaviest <= sum(epoch.buckets):
        return texts.mixed
    name = bucket_name(epoch.buckets.index(heaviest), len(epoch.buckets), language)
    return texts.mostly.format(bucket=name)


def _negative(
    run: Run,
    negative: Negative,
    laws: set[str],
    articles: Mapping[str, Article],
    language: Language,
) -> str:
    texts = TEXTS[language]
    views = texts_of_curves.TEXTS[language].view_names
    told = []
    if negative.bucket is not None and negative.bucket < run.buckets:
        told.append(bucket_name(negative.bucket, run.buckets, language))
    if negative.view:
        view = views.get(negative.view, negative.view)
        told.append(texts.hardest_in.format(view=view))
    far = ""
    if negative.tree_distance is not None:
        steps = negative.tree_distance
        said = [texts.distance.format(distance=number(steps, language))]
        if steps == _SIBLING:
            said.append(texts.sibling)
        elif laws and negative.article in articles and articles[negative.article].law not in laws:
            said.append(texts.other_law)
        far = (
            f'<span class="far"><span class="steps" style="--steps:{min(steps, _MAX_STEPS)}"'
            f' aria-hidden="true"></span> {words(", ".join(said))}</span>'
        )
    return (
        f"{_title(negative.article, articles, language)}"
        f'<span class="how">{words(", ".join(told))}</span>{far}'
    )


def _title(id: str, articles: Mapping[str, Article], language: Language) -> str:
    article = articles.get(id)
    if article is None:
        return (
            f'<span class="title"><code>{words(id)}</code></span>'
            f'<span class="law">{words(TEXTS[language].unknown_article)}</span>'
        )
    spoken = law_attributes(article.language)
    place = ", ".join((article.law, *article.headings[-1:]))
    return (
        f'<a class="title" href="{words(article_link(id, language))}"{spoken}>'
        f"{words(article_title(article.number))}</a>"
        f'<span class="law"{spoken}>{words(place)}</span>'
    )


def _articles(store: ReadableStore, ids: Sequence[str]) -> dict[str, Article]:
    try:
        documents = store.fetch(store.keys_of(dict.fromkeys(ids)))
    except StoreError:
        return {}
    return {document.id: article_of(document) for document in documents}


def _same_law(run: Run, store: ReadableStore) -> bool:
    """Whether the run is known to have been on the law that the store has."""
    publisher = getattr(store, "publisher", None)
    try:
        return publisher is not None and publisher.recorded_corpus() == run.corpus
    except StoreError:
        return False

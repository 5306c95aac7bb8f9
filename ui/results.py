"""HTML of what a search found: everything that comes from a law or a question is escaped here.

Gradio's Markdown carries the HTML, because Gradio's HTML component builds a function from its
template, which our Content-Security-Policy (no `unsafe-eval`) forbids. Markdown leaves one line of
HTML alone, so every function returns exactly one line.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from components.statutes.lexical import known_language
from ui.answer import answer_panel
from ui.article_text import article_text, law_attributes, marked_passage, word_count, words
from ui.language import Language, counted, number
from ui.law.links import article_link, division_link
from ui.naming import article_title, citation
from ui.states import state_line, state_named, wordings_list
from ui.takeaway import web_address
from ui.texts import asking, languages, stages

# Lists are cut this deep in every pipeline; the bar of the last rank is empty.
_DEPTH = 500
_QUESTION_SHOWN = 300

# What names an article, or has read it with the question, needs no second opinion.
_SURE = frozenset({"citation", "reranker"})
# How far two stages look for an article that both have found (tests/benchmarks/agreement.py).
_NEAR = 10


def message(title: str, explanation: str = "") -> str:
    """One of the page's messages in place of results or above them; both texts are escaped."""
    more = f"<p>{words(explanation)}</p>" if explanation else ""
    return f'<div class="message"><p><strong>{words(title)}</strong></p>{more}</div>'


def heard_anew(told: str) -> str:
    """The status line, each time as another element.

    Where a search ends in the words of the one before, nothing would change, and be announced.
    """
    return f'<div class="told-{secrets.token_hex(4)}">{told}</div>'


def found(answer: Mapping[str, Any], language: Language, *, unsure: bool = False) -> str:
    """What is told of results: their number, unseen, and what speaks against them, if anything."""
    texts = asking.TEXTS[language]
    told = _unseen(counted(len(answer["documents"]), texts.announced, language))
    told += not_given(answer, language)
    if "languages" in answer:
        spoken = dict.fromkeys(known_language(tag) for tag in answer["languages"])
        names = ", ".join(languages.TEXTS[language][tag] for tag in spoken if tag)
        return told + message(texts.foreign[0].format(languages=names), texts.foreign[1])
    return told + (message(*texts.unsure) if unsure else "")


def not_given(answer: Mapping[str, Any], language: Language) -> str:
    """What the question names and does not get: it is not there, or the search leaves it out."""
    texts = asking.TEXTS[language]
    follows = bool(answer["documents"])
    told = ""
    if "missing" in answer:
        title = texts.missing.format(articles="; ".join(answer["missing"]))
        told += message(title, texts.also_found if follows else "")
    if "not_followed" in answer:
        citations = "; ".join(answer["not_followed"])
        told += message(texts.not_followed[0].format(citations=citations), texts.not_followed[1])
    # An answer that is shown has this among its notices.
    if "left_out" in answer and not (follows and "answer" in answer):
        articles = "; ".join(
            f"{citation(each)} ({_begun(state_named(each, language))})"
            for each in answer["left_out"]
        )
        told += message(texts.left_out.format(articles=articles), texts.widen)
    return told


def is_unsure(answer: Mapping[str, Any]) -> bool:
    """Whether no article is among the first ten of two stages that search.

    Not where the question names an article, or a ranker has read the articles. Ask this only where
    two stages search: one that found nothing has no ranks.
    """
    return not any(
        _SURE & ranks.keys() or sum(rank <= _NEAR for rank in ranks.values()) > 1
        for ranks in (document["ranks"] for document in answer["documents"])
    )


def results(
    answer: Mapping[str, Any],
    language: Language,
    narrowed: Sequence[str] = (),
    on: date | None = None,
    limit: str = "",
) -> str:
    """Every article of an answer (`pipelines.asking.ask`), best first.

    Args:
        answer: what was found.
        language: of the interface.
        narrowed: what the search was narrowed to, in words.
        on: the day that was chosen: links lead to the articles as they were then.
        limit: what that day leaves open.
    """
    texts = asking.TEXTS[language]
    question = str(answer["question"])
    asked = question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else "")
    documents = answer["documents"]
    items = "".join(f"<li>{_article(document, language, on)}</li>" for document in documents)
    panel = answer_panel(answer["answer"], language, on) if "answer" in answer else ""
    for_what = words(texts.asked).format(
        question=f"<q><bdi>{words(asked)}</bdi></q>", ms=number(float(answer["took_ms"]), language)
    )
    how = " · ".join(f"<bdi>{words(each)}</bdi>" for each in narrowed)
    told = f'<p class="narrowed">{words(texts.narrowed).format(how=how)}</p>' if narrowed else ""
    told += f'<p class="limit">{words(limit)}</p>' if limit else ""
    return (
        f'<div class="results">{panel}'
        f'<h2 tabindex="-1">{counted(len(documents), texts.found, language)}</h2>'
        f'<p class="asked">{for_what}</p>{told}{_ranked_in_part(answer, language)}'
        f"{_take_away(texts)}"
        f'<ol class="articles">{items}</ol></div>'
    )


def breadcrumb(
    law: str,
    headings: Sequence[str],
    language: Language,
    tongue: str = "",
    on: date | None = None,
) -> str:
    """The way from the law down to a division; each step opens it.

    Args:
        law: its name.
        headings: from the top of the law.
        language: of the interface.
        tongue: attributes of the law's words.
        on: the day of which states are shown; None for today.
    """
    steps = [
        (step, division_link(law, headings[:level], language, on=on))
        for level, step in enumerate([law, *headings])
    ]
    items = "".join(
        f'<li><a href="{words(link)}">{words(step)}</a></li>' for step, link in steps if step
    )
    return f'<ol class="path"{tongue}>{items}</ol>'


def _article(document: Mapping[str, Any], language: Language, on: date | None) -> str:
    texts = asking.TEXTS[language]
    tongue = law_attributes(document.get("language"))
    link = words(article_link(str(document["id"]), language, on))
    url = web_address(document.get("source_url"))
    official = (
        f'<a href="{words(url)}" rel="noopener noreferrer">{words(texts.official)}</a>'
        if url
        else ""
    )
    text = str(document["content"] or "")
    marked = marked_passage(text, document.get("passage"))
    told = _unseen(texts.marked) if marked else ""
    return (
        f'<article><h3><a href="{link}">{words(article_title(document["number"]))}</a>'
        f" <span{tongue}>{words(document['law'])}</span></h3>"
        f"{_unseen(texts.place)}"
        f"{breadcrumb(str(document['law']), document['headings'], language, tongue, on)}"
        f"{state_line(document, language)}{wordings_list(document, language, on)}"
        f'{told}<div class="law"{tongue}>{article_text(text, marked, language)}</div>'
        f"{_read_in_part(document, language)}"
        f'<p class="source">{official}<a href="{link}">{words(texts.in_the_law)}</a>'
        f'<span class="copyable" dir="auto">{words(citation(document))}</span></p>'
        f'{_unseen(texts.found_by)}<ul class="ranks">{ranks(document["ranks"], language)}</ul>'
        "</article>"
    )


def ranks(given: Mapping[str, int], language: Language) -> str:
    """List items: of each stage its rank, as a bar too, and what that means."""
    texts = asking.TEXTS[language]
    known = [stage for stage in stages.TEXTS[language] if stage in given]
    items = []
    for stage in [*known, *(stage for stage in given if stage not in known)]:
        rank = given[stage]
        name, meaning, _ = stages.stage_texts(stage, language)
        length = max(0.0, 1.0 - math.log(max(rank, 1)) / math.log(_DEPTH))
        told = texts.rank.format(rank=number(rank, language))
        items.append(
            f'<li><span class="stage">{words(name)}</span> <span class="rank">{words(told)}</span>'
            f'<span class="bar"><span style="width:{length:.0%}"></span></span>'
            f' <span class="meaning">{words(meaning)}</span></li>'
        )
    return "".join(items)


def _begun(sentence: str) -> str:
    """A sentence as it goes on within another."""
    return sentence[:1].lower() + sentence[1:]


def _unseen(text: str) -> str:
    """For those who hear the page; an aria-label would not pass Gradio's sanitiser."""
    return f'<p class="unseen">{words(text)}</p>'


def _read_in_part(document: Mapping[str, Any], language: Language) -> str:
    """What a model did not read of an article, for each model that left something out."""
    texts = asking.TEXTS[language]
    text = str(document["content"])
    read = {}
    if "words_read" in document:
        read[texts.read_in_part] = document["words_read"]
    if "passages_read" in document:
        passages = (text[each["start"] : each["end"]] for each in document["passages_read"])
        read[texts.ranker_read_in_part] = sum(map(word_count, passages))
    told = (
        template.format(read=number(some, language), words=number(word_count(text), language))
        for template, some in read.items()
    )
    return "".join(f'<p class="in-part">{words(each)}</p>' for each in told)


def _ranked_in_part(answer: Mapping[str, Any], language: Language) -> str:
    ranking = answer.get("ranking")
    if ranking is None or ranking["n_ranked"] == ranking["n_candidates"]:
        return ""
    told = asking.TEXTS[language].ranked_in_part.format(
        ranked=number(ranking["n_ranked"], language),
        candidates=number(ranking["n_candidates"], language),
    )
    return f'<p class="in-part">{words(told)}</p>'


def _take_away(texts: asking.AskTexts) -> str:
    """Buttons that the page's script serves."""
    saved = "".join(
        f'<button class="save {kind}">{words(getattr(texts, kind))}</button>'
        for kind in ("json", "ris", "csl")
    )
    return (
        f'<p class="take-away"><span>{words(texts.save)}</span> {saved}'
        f'<button class="copy-link">{words(texts.copy_link)}</button>'
        f'<button class="print">{words(texts.print)}</button></p>'
    )

"""HTML of what a search found: everything that comes from a law or a question is escaped here.

Gradio's Markdown carries the HTML, because Gradio's HTML component builds a function from its
template, which our Content-Security-Policy (no `unsafe-eval`) forbids. Markdown leaves one line of
HTML alone, so every function returns exactly one line.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from components.statutes.lexical import known_language
from pipelines.asking import DOUBT, VERIFIED, as_written
from ui.article import (
    article_text,
    article_title,
    citation,
    law_attributes,
    marked_passage,
    state_line,
    state_named,
    web_address,
    whole_text,
    word_count,
    wordings_list,
    words,
)
from ui.language import Language, article_link, counted, division_link, number
from ui.texts.ask import (
    ANSWER_TEXTS,
    ASK_TEXTS,
    LANGUAGE_NAMES,
    STAGE_TEXTS,
    AnswerTexts,
    AskTexts,
    stage_texts,
)

# HTML of an answer: its sentences, and in words what the check found of each.
#
# As all of the page's HTML (see `ui.results`) it stands on one line.


_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def answer_panel(answer: Mapping[str, Any], language: Language, on: date | None = None) -> str:
    """An answer; empty where nothing was found.

    Args:
        answer: as `pipelines.asking.ask` gives it.
        language: of the interface.
        on: the day on which the articles that it links to are shown; None for today.
    """
    texts = ANSWER_TEXTS[language]
    if answer["state"] == "nothing found":
        return ""
    if answer["state"] == "verbatim":
        head = f'<h2 tabindex="-1">{words(texts.verbatim)}</h2>'
        body = _quoted(answer, language, on)
    else:
        head = (
            f'<h2 tabindex="-1">{words(texts.generated)}</h2>'
            f'<p class="written">{words(texts.written)}</p>'
        )
        body = "".join(
            f'<p dir="auto">{_checked(each, language, on)}</p>' for each in answer["statements"]
        )
        body += f'<ol class="sources">{_sources(answer, language, on)}</ol>'
    told = "".join(f"<li>{_notice(each, texts, language)}</li>" for each in answer["notices"])
    notices = f'<ul class="notices">{told}</ul>' if told else ""
    return f'<div class="answer">{head}{body}{notices}</div>'


def _notice(notice: Mapping[str, Any], texts: AnswerTexts, language: Language) -> str:
    code = notice["code"]
    if code in texts.counted:
        return words(counted(notice["count"], texts.counted[code], language))
    articles = "; ".join(
        f"{citation(each)} ({texts.states[each['state']]})" for each in notice.get("articles", [])
    )
    failure = _told(str(notice.get("failure", "")), texts.failures, texts)
    return words(getattr(texts, code)).format(articles=words(articles), failure=failure)


def _told(english: str, table: Mapping[str, str], texts: AnswerTexts) -> str:
    """HTML of words that are English, in the page's language where a table has them.

    What stands behind them in brackets is told as it is.
    """
    if texts is ANSWER_TEXTS["en"]:
        return words(english)
    for known in (english, english.partition(" (")[0]):
        if known in table:
            rest = english[len(known) :]
            return words(table[known]) + (
                f' <span lang="en">{words(rest.strip())}</span>' * bool(rest)
            )
    return f'<span lang="en">{words(english)}</span>'


def _quoted(answer: Mapping[str, Any], language: Language, on: date | None) -> str:
    """Passages of articles; behind the last of each stands where they are from."""
    of = {source["id"]: source for source in answer["sources"]}
    quotations = [each for statement in answer["statements"] for each in statement["quotations"]]
    return "".join(
        "".join(
            f'<blockquote class="law"{law_attributes(of[id_].get("language"))}>'
            f"{whole_text(str(each['text']))}</blockquote>"
            for each in passages
        )
        + f'<p class="from">{_place(of[id_], language, on)}</p>'
        for id_, passages in groupby(quotations, key=lambda each: each["id"])
    )


def _place(source: Mapping[str, Any], language: Language, on: date | None) -> str:
    link = words(article_link(str(source["id"]), language, on))
    state = words(ANSWER_TEXTS[language].states[source["state"]])
    law = str(source["law"])
    article = words(citation(source).removeprefix(law))
    # The law's name is in the law's language, and the rest in the page's.
    name = f"<span{law_attributes(source.get('language'))}>{words(law)}</span>" if law else ""
    return f'<a href="{link}"><bdi>{name}{article}</bdi></a> <span>({state})</span>'


def _sources(answer: Mapping[str, Any], language: Language, on: date | None) -> str:
    """Those of the sources that the answer cites, under the numbers that it gives them."""
    cited = {
        id_
        for statement in answer["statements"]
        for citation in statement["citations"]
        for id_ in citation["ids"]
    }
    return "".join(
        f'<li value="{int(source["label"])}">{_place(source, language, on)}</li>'
        for source in answer["sources"]
        if source["id"] in cited
    )


def _checked(statement: Mapping[str, Any], language: Language, on: date | None) -> str:
    """A sentence; behind each quotation, and each citation in doubt, stands what was found.

    A citation that holds is a link to the one article that it names.
    """
    texts = ANSWER_TEXTS[language]
    text, start = str(statement["text"]), int(statement["start"])
    spans = [(each["start"], each["end"]) for each in _checks(statement)]
    opened: dict[int, str] = {}
    closed: dict[int, str] = {}
    for check in _checks(statement):
        verified, cites = check["state"] == "verified", "ids" in check
        css = "verified" if verified else "doubt"
        begins = f'<span class="{css}">'
        ends = f"</span> {_said(css, _verdict(check, texts))}"
        if verified and cites:
            if len(check["ids"]) > 1 or _crossed((check["start"], check["end"]), spans):
                continue
            link = words(article_link(check["ids"][0], language, on))
            begins, ends = f'<a href="{link}">', "</a>"
        first, last = check["start"] - start, check["end"] - start
        opened[first] = opened.get(first, "") + begins
        # What begins later ends first, so that elements stay within one another.
        closed[last] = ends + closed.get(last, "")
    places = sorted({0, len(text), *opened, *closed})
    parts = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        parts += [closed.get(place, ""), opened.get(place, ""), _lines(text[place:after])]
    if statement["uncited"]:
        parts.append(f" {_said('doubt', words(texts.uncited))}")
    return "".join(parts)


def _checks(statement: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*statement["quotations"], *statement["citations"]]


def _crossed(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether another span begins or ends within this one: a link must hold no other."""
    start, end = span
    return any(
        first < end and start < last and not (first <= start and end <= last)
        for first, last in others
    )


def _lines(text: str) -> str:
    """A reply's words, line by line, on one line of HTML."""
    return "<br>".join(words(line) for line in _LINE_ENDS.split(as_written(text)))


def _said(css: str, verdict: str) -> str:
    """A verdict behind the sign that none of the reply's own words has."""
    sign = VERIFIED if css == "verified" else DOUBT
    return f'<span class="verdict {css}" dir="auto">({sign} {verdict})</span>'


def _verdict(check: Mapping[str, Any], texts: AnswerTexts) -> str:
    verdict, why = words(texts.verdicts[check["state"]]), as_written(str(check["why"]))
    if not why:
        return verdict
    return words(texts.because).format(verdict=verdict, why=_why(why, texts))


def _why(english: str, texts: AnswerTexts) -> str:
    """HTML of what speaks against a citation or quotation, with the names in it as they are."""
    if english not in texts.whys:
        for pattern, told in texts.named_whys.items():
            named = re.fullmatch(pattern, english, re.DOTALL)
            if named:
                return words(told).format_map(
                    {name: _named(name, part, texts) for name, part in named.groupdict().items()}
                )
    return _told(english, texts.whys, texts)


def _named(name: str, part: str, texts: AnswerTexts) -> str:
    if name == "why":
        return _why(part, texts)
    return words(texts.verdicts[part] if name == "state" else part)


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
    texts = ASK_TEXTS[language]
    told = _unseen(counted(len(answer["documents"]), texts.announced, language))
    told += not_given(answer, language)
    if "languages" in answer:
        spoken = dict.fromkeys(known_language(tag) for tag in answer["languages"])
        names = ", ".join(LANGUAGE_NAMES[language][tag] for tag in spoken if tag)
        return told + message(texts.foreign[0].format(languages=names), texts.foreign[1])
    return told + (message(*texts.unsure) if unsure else "")


def not_given(answer: Mapping[str, Any], language: Language) -> str:
    """What the question names and does not get: it is not there, or the search leaves it out."""
    texts = ASK_TEXTS[language]
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
    texts = ASK_TEXTS[language]
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
    texts = ASK_TEXTS[language]
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
    texts = ASK_TEXTS[language]
    known = [stage for stage in STAGE_TEXTS[language] if stage in given]
    items = []
    for stage in [*known, *(stage for stage in given if stage not in known)]:
        rank = given[stage]
        name, meaning, _ = stage_texts(stage, language)
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
    texts = ASK_TEXTS[language]
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
    told = ASK_TEXTS[language].ranked_in_part.format(
        ranked=number(ranking["n_ranked"], language),
        candidates=number(ranking["n_candidates"], language),
    )
    return f'<p class="in-part">{words(told)}</p>'


def _take_away(texts: AskTexts) -> str:
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

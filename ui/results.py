"""HTML of what a search found, and of a written answer.

Gradio's Markdown carries the HTML, because Gradio's HTML component builds a function from its
template, which our Content-Security-Policy (no `unsafe-eval`) forbids.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from types import SimpleNamespace
from typing import Any, NamedTuple

from markupsafe import Markup

from components.statutes.languages import known_language
from pipelines.asking import DOUBT, VERIFIED, as_written
from pipelines.serving.limits import MAX_QUESTION_CHARS
from pipelines.stages import DIVISION
from ui.article import Span, citation, marked_passage, state_named, word_count
from ui.frame import filled, render
from ui.language import Language, counted, language_name, number
from ui.texts import ANSWER_TEXTS, ASK_TEXTS, STAGE_TEXTS, StageTexts, stage_texts

_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def answer_panel(answer: Mapping[str, Any], language: Language, on: date | None = None) -> Markup:
    """An answer; empty where nothing was found.

    Args:
        answer: as `pipelines.asking.ask` gives it.
        language: of the interface.
        on: the day on which the articles that it links to are shown; None for today.
    """
    if answer["state"] == "nothing found":
        return Markup()
    texts = ANSWER_TEXTS[language]
    statements = answer["statements"]
    is_verbatim = answer["state"] == "verbatim"
    quotations = [each for statement in statements for each in statement["quotations"]]
    sources = {source["id"]: source for source in answer["sources"]}
    cited = {
        id_ for statement in statements for each in statement["citations"] for id_ in each["ids"]
    }
    return render(
        "answer.html",
        language,
        texts=texts,
        on=on,
        answer=answer,
        signs={"verified": VERIFIED, "doubt": DOUBT},
        quoted=[
            (sources[id_], [str(each["text"]) for each in passages])
            for id_, passages in groupby(quotations, key=lambda each: each["id"])
            if is_verbatim
        ],
        statements=[] if is_verbatim else [_parts(each, texts) for each in statements],
        cited=[source for id_, source in sources.items() if id_ in cited],
        notices=[_notice(each, texts, language) for each in answer["notices"]],
    )


def _notice(notice: Mapping[str, Any], texts: SimpleNamespace, language: Language) -> str:
    code = notice["code"]
    if code in texts.counted:
        return counted(notice["count"], texts.counted[code], language)
    articles = "; ".join(
        f"{citation(each)} ({texts.states[each['state']]})" for each in notice.get("articles", [])
    )
    failure = _translated(str(notice.get("failure", "")), texts.failures, texts)
    return filled(getattr(texts, code), articles=articles, failure=failure)


def _translated(english: str, table: Mapping[str, str], texts: SimpleNamespace) -> str:
    """English words in the page's language if a table has them, without what is in brackets."""
    if texts is ANSWER_TEXTS["en"]:
        return english
    for known in (english, english.partition(" (")[0]):
        if known in table:
            rest = english[len(known) :].strip()
            return render("translated.html", known=table[known], english=rest)
    return render("translated.html", known="", english=english)


class _Part(NamedTuple):
    """A part of a checked sentence.

    Attributes:
        kind: "text", "link", "check", the end of one of the latter, or "uncited".
        value: lines of text, an article's id, or the CSS class of a check.
        verdict: what the check found; only at its end.
    """

    kind: str
    value: Any = None
    verdict: str = ""


def _parts(statement: Mapping[str, Any], texts: SimpleNamespace) -> list[_Part]:
    """A sentence with a verdict after each quotation and each doubtful citation.

    A citation that holds is a link to the one article that it names.
    """
    text, start = str(statement["text"]), int(statement["start"])
    checks = [*statement["quotations"], *statement["citations"]]
    spans = [(each["start"], each["end"]) for each in checks]
    opened: dict[int, list[_Part]] = {}
    closed: dict[int, list[_Part]] = {}
    for check, span in zip(checks, spans, strict=True):
        css = "verified" if check["state"] == "verified" else "doubt"
        begin, end = _Part("check", css), _Part("end of check", css, _verdict(check, texts))
        if css == "verified" and "ids" in check:
            if len(check["ids"]) > 1 or _is_crossed(span, spans):
                continue
            begin, end = _Part("link", check["ids"][0]), _Part("end of link")
        first, last = (place - start for place in span)
        opened.setdefault(first, []).append(begin)
        # What begins later ends first, so that elements nest.
        closed.setdefault(last, []).insert(0, end)
    places = sorted({0, len(text), *opened, *closed})
    parts = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        lines = _LINE_ENDS.split(as_written(text[place:after]))
        parts += [*closed.get(place, []), *opened.get(place, []), _Part("text", lines)]
    return [*parts, _Part("uncited")] if statement["uncited"] else parts


def _is_crossed(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether another span begins or ends within this one: a link must not contain another."""
    start, end = span
    return any(
        first < end and start < last and not (first <= start and end <= last)
        for first, last in others
    )


def _verdict(check: Mapping[str, Any], texts: SimpleNamespace) -> str:
    verdict, why = texts.verdicts[check["state"]], as_written(str(check["why"]))
    return filled(texts.because, verdict=verdict, why=_why(why, texts)) if why else verdict


def _why(english: str, texts: SimpleNamespace) -> str:
    """What speaks against a citation or quotation, with the names in it unchanged."""
    if english not in texts.whys:
        for pattern, translation in texts.named_whys.items():
            if named := re.fullmatch(pattern, english, re.DOTALL):
                parts = named.groupdict()
                if "why" in parts:
                    parts["why"] = _why(parts["why"], texts)
                if "state" in parts:
                    parts["state"] = texts.verdicts[parts["state"]]
                return filled(translation, **parts)
    return _translated(english, texts.whys, texts)


# The depth of lists in every pipeline; the bar of the last rank is empty.
_DEPTH = 500
QUESTION_SHOWN = 300

# A stage that names an article, or reads it with the question, needs no confirmation.
_SURE = frozenset({"citation", "reranker"})
# How far two stages look for an article that both have found (tests/benchmarks/hybrid_lists.py).
_NEAR = 10


# The title and the explanation of a message; the latter may be empty.
Message = tuple[str, str]


def too_long(question: object, language: Language) -> Message | None:
    """The message for a question that is longer than is read; None for any other."""
    length = len(question.strip()) if isinstance(question, str) else 0
    if length <= MAX_QUESTION_CHARS:
        return None
    title, explanation = ASK_TEXTS[language].too_long
    counts = {"length": length, "most": MAX_QUESTION_CHARS}
    values = {name: number(count, language) for name, count in counts.items()}
    return title, explanation.format(**values)


def status(messages: Sequence[Message], announcement: str = "") -> Markup:
    """HTML of the status line.

    Args:
        messages: in place of results or above them.
        announcement: only for screen readers.
    """
    token = secrets.token_hex(4)
    return render("status.html", messages=messages, announcement=announcement, token=token)


def found(answer: Mapping[str, Any], language: Language, *, unsure: bool = False) -> Markup:
    """The status line of results: their number, and the reasons to doubt them."""
    texts = ASK_TEXTS[language]
    messages = not_given(answer, language)
    if "languages" in answer:
        languages = dict.fromkeys(known_language(tag) for tag in answer["languages"])
        names = ", ".join(language_name(tag, language) for tag in languages if tag)
        messages.append((texts.foreign[0].format(languages=names), texts.foreign[1]))
    elif unsure:
        messages.append(texts.unsure)
    return status(messages, counted(len(answer["documents"]), texts.announced, language))


def not_given(answer: Mapping[str, Any], language: Language) -> list[Message]:
    """Messages about what the question names and the results lack."""
    texts = ASK_TEXTS[language]
    follows = bool(answer["documents"])
    messages = []
    if "missing" in answer:
        title = texts.missing.format(articles="; ".join(answer["missing"]))
        messages.append((title, texts.also_found if follows else ""))
    if "not_followed" in answer:
        citations = "; ".join(answer["not_followed"])
        title, explanation = texts.not_followed
        messages.append((title.format(citations=citations), explanation))
    # An answer that is shown has this among its notices.
    if "left_out" in answer and not (follows and "answer" in answer):
        articles = []
        for each in answer["left_out"]:
            state = state_named(each, language)
            articles.append(f"{citation(each)} ({state[:1].lower()}{state[1:]})")
        messages.append((texts.left_out.format(articles="; ".join(articles)), texts.widen))
    return messages


def is_unsure(answer: Mapping[str, Any]) -> bool:
    """Whether no article is among the first ten of two stages that search.

    Not where the question names an article, or a ranker has read the articles. An article and its
    division are searched by the same words and count once. Ask this only where two stages search:
    one that found nothing has no ranks.
    """
    return not any(
        _SURE & ranks.keys()
        or sum(rank <= _NEAR for stage, rank in ranks.items() if stage != DIVISION) > 1
        for ranks in (document["ranks"] for document in answer["documents"])
    )


def results(
    answer: Mapping[str, Any],
    language: Language,
    narrowed: Sequence[str] = (),
    on: date | None = None,
    limit: str = "",
) -> Markup:
    """Every article of an answer (`pipelines.asking.ask`), best first.

    Args:
        answer: what was found.
        language: of the interface.
        narrowed: what the search was narrowed to, in words.
        on: the day that was chosen: links lead to the articles as they were then.
        limit: what that day leaves open.
    """
    question = str(answer["question"])
    documents = answer["documents"]
    return render(
        "results.html",
        language,
        texts=ASK_TEXTS[language],
        answer=answer,
        asked=question[:QUESTION_SHOWN] + ("…" if len(question) > QUESTION_SHOWN else ""),
        narrowed=narrowed,
        on=on,
        limit=limit,
        ranked_in_part=_ranked_in_part(answer, language),
        panel=answer_panel(answer["answer"], language, on) if "answer" in answer else "",
        articles=[(document, _details(document, language)) for document in documents],
    )


class _Details(NamedTuple):
    """What a result shows in addition to the article.

    Attributes:
        marked: the passage to mark.
        read_in_part: a sentence for each model that read only a part.
        ranks: each stage, its rank and the width of its bar.
    """

    marked: Span | None
    read_in_part: list[str]
    ranks: list[tuple[StageTexts, int, str]]


def _details(document: Mapping[str, Any], language: Language) -> _Details:
    ranks = document["ranks"]
    stages = [stage for stage in STAGE_TEXTS[language] if stage in ranks]
    stages += [stage for stage in ranks if stage not in stages]
    return _Details(
        marked_passage(str(document["content"] or ""), document.get("passage")),
        _read_in_part(document, language),
        [(stage_texts(each, language), ranks[each], _bar_width(ranks[each])) for each in stages],
    )


def _bar_width(rank: int) -> str:
    return f"{max(0.0, 1.0 - math.log(max(rank, 1)) / math.log(_DEPTH)):.0%}"


def _read_in_part(document: Mapping[str, Any], language: Language) -> list[str]:
    """A sentence for each model that did not read the whole article."""
    texts = ASK_TEXTS[language]
    text = str(document["content"])
    words_read = {}
    if "words_read" in document:
        words_read[texts.read_in_part] = document["words_read"]
    if "passages_read" in document:
        passages = (text[each["start"] : each["end"]] for each in document["passages_read"])
        words_read[texts.ranker_read_in_part] = sum(map(word_count, passages))
    words = number(word_count(text), language) if words_read else ""
    return [
        template.format(read=number(count, language), words=words)
        for template, count in words_read.items()
    ]


def _ranked_in_part(answer: Mapping[str, Any], language: Language) -> str:
    ranking = answer.get("ranking")
    if ranking is None or ranking["n_ranked"] == ranking["n_candidates"]:
        return ""
    return ASK_TEXTS[language].ranked_in_part.format(
        ranked=number(ranking["n_ranked"], language),
        candidates=number(ranking["n_candidates"], language),
    )

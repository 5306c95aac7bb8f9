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
from types import SimpleNamespace
from typing import Any, NamedTuple

from babel import Locale
from markupsafe import Markup

from components.statutes import excerpts, provisions
from components.statutes.article import Article
from components.statutes.definitions import Definition
from components.statutes.languages import folded, known_language
from components.statutes.lexical import analyzer, corrected
from components.statutes.provisions import Provision, Span
from components.statutes.question import QuestionError, clean_question
from pipelines.asking import DOUBT, VERIFIED, as_written
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.article import (
    BINARY,
    MEDIA_TYPES,
    NO_GLOSSARIES,
    Glossaries,
    Note,
    ShownLine,
    Step,
    article_title,
    citation,
    plain_law,
    result_title,
    short_law,
    shown_lines,
    state_sentence,
    steps_in,
)
from ui.frame import TEMPLATES, filled, render, shortened
from ui.language import (
    LANGUAGES,
    TEXTS,
    Language,
    article_link,
    counted,
    day,
    division_link,
    number,
)

_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def written_answer(answer: Mapping[str, Any], language: Language, on: date | None = None) -> Markup:
    """What a language model wrote, with what the checks found.

    Args:
        answer: as `pipelines.asking.ask` gives it.
        language: of the interface.
        on: the day on which the articles that it links to are shown; None for today.
    """
    texts = TEXTS[language].answer
    statements = answer["statements"]
    sources = {source["id"]: source for source in answer["sources"]}
    cited = {
        id_ for statement in statements for each in statement["citations"] for id_ in each["ids"]
    }
    return render(
        "answer.html",
        language,
        on=on,
        signs={"verified": VERIFIED, "doubt": DOUBT},
        statements=[_parts(each, texts) for each in statements],
        cited=[source for id_, source in sources.items() if id_ in cited],
        notices=[_notice(each, texts, language) for each in answer["notices"]],
    )


def being_written(answer: Mapping[str, Any], language: Language) -> Markup:
    """What a language model has written so far; empty if it is not writing."""
    if "writing" not in answer:
        return Markup()
    return render("writing.html", language, lines=_LINE_ENDS.split(answer["writing"]))


def _notice(notice: Mapping[str, Any], texts: SimpleNamespace, language: Language) -> str:
    code = notice["code"]
    if code in texts.counted:
        return counted(notice["count"], texts.counted[code], language)
    articles = "; ".join(
        f"{citation(each, language)} ({texts.states[each['state']]})"
        for each in notice.get("articles", [])
    )
    failure = _translated(str(notice.get("failure", "")), texts.failures, texts)
    return filled(getattr(texts, code), articles=articles, failure=failure)


def _translated(english: str, table: Mapping[str, str], texts: SimpleNamespace) -> str:
    """English words in the page's language if a table has them, without what is in brackets."""
    if texts is TEXTS["en"].answer:
        return english
    for known in (english, english.partition(" (")[0]):
        if known in table:
            rest = english[len(known) :].strip()
            return render("translated.html", known=table[known], english=rest)
    return render("translated.html", known="", english=english)


# A part of a checked sentence: "text", "link", "check", the end of one of the latter, or "uncited";
# lines of text, an article's id, or the CSS class of a check; and at its end what the check found.
_Part = tuple[str, Any, str]


def _parts(statement: Mapping[str, Any], texts: SimpleNamespace) -> list[_Part]:
    """A sentence with a verdict after each quotation and each doubtful citation.

    A citation that holds is a link to the one article that it names.
    """
    text, start = str(statement["text"]), int(statement["start"])
    checks = [*statement["quotations"], *statement["citations"]]
    spans = [(each["start"] - start, each["end"] - start) for each in checks]
    opened: dict[int, list[_Part]] = {}
    closed: dict[int, list[_Part]] = {}
    for check, (first, last) in zip(checks, spans, strict=True):
        css = "verified" if check["state"] == "verified" else "doubt"
        kind, value, verdict = "check", css, _verdict(check, texts)
        if css == "verified" and "ids" in check:
            # A link must not contain another, nor a part of one.
            crosses = any(
                begin < last and first < end and not (begin <= first and last <= end)
                for begin, end in spans
            )
            if len(check["ids"]) > 1 or crosses:
                continue
            kind, value = "link", check["ids"][0]
        opened.setdefault(first, []).append((kind, value, ""))
        # What begins later ends first, so that elements nest.
        closed.setdefault(last, []).insert(0, (f"end of {kind}", value, verdict))
    places = sorted({0, len(text), *opened, *closed})
    parts: list[_Part] = []
    for place, after in zip(places, [*places[1:], len(text)], strict=True):
        lines = _LINE_ENDS.split(as_written(text[place:after]))
        parts += [*closed.get(place, []), *opened.get(place, []), ("text", lines, "")]
    return [*parts, ("uncited", None, "")] if statement["uncited"] else parts


def _verdict(check: Mapping[str, Any], texts: SimpleNamespace) -> str:
    verdict, why = texts.verdicts[check["state"]], as_written(str(check["why"]))
    return filled(texts.because, verdict=verdict, why=_why(why, texts)) if why else verdict


def _why(english: str, texts: SimpleNamespace) -> str:
    """What speaks against a citation or quotation, with the names in it unchanged."""
    if texts is not TEXTS["en"].answer and english not in texts.whys:
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

# The title and the explanation of a message, in words or HTML; the latter may be empty.
Message = tuple[str, str]


class MessageError(Exception):
    """What was asked gets a message in place of results, the only argument."""


def asked_question(question: object, empty: Message, language: Language) -> str:
    """A question, cleaned.

    Args:
        question: what an HTTP client sent.
        empty: the message for one without words.
        language: of the interface.

    Raises:
        MessageError: it is empty or longer than is read.
    """
    length = len(question.strip()) if isinstance(question, str) else 0
    if length > MAX_QUESTION_CHARS:
        title, explanation = TEXTS[language].ask.too_long
        over = counted(length - MAX_QUESTION_CHARS, TEXTS[language].ask.characters, language)
        most = number(MAX_QUESTION_CHARS, language)
        raise MessageError((title, explanation.format(over=over, most=most)))
    try:
        return clean_question(question)
    except QuestionError:
        raise MessageError(empty) from None


def status(messages: Sequence[Message], announcement: str = "", kind: str = "note") -> Markup:
    """HTML of the status line.

    Args:
        messages: in place of results or above them.
        announcement: only for screen readers.
        kind: of the last message, which gives it its look: "note", which goes with results,
            "doubt", "nothing" or "failure". The others are notes.
    """
    values = {"messages": messages, "announcement": announcement, "kind": kind}
    return render("status.html", None, token=secrets.token_hex(4), **values)


def found(
    answer: Mapping[str, Any], language: Language, laws: Sequence[str] = (), advice: str = ""
) -> Markup:
    """The status line of results: their number, and the reasons to doubt them.

    Args:
        answer: what was found.
        language: of the interface.
        laws: names of those searched.
        advice: who helps where the law may not answer; escaped, unless it is markup.
    """
    texts = TEXTS[language].ask
    messages = not_given(answer, language)
    kind, is_foreign = "note", "languages" in answer
    is_doubted = not is_foreign and answer.get("doubtful")
    tags = answer.get("languages") or [each.get("language") for each in answer["documents"]]
    spoken = [each for each in dict.fromkeys(map(known_language, tags)) if each]
    # Few words do not tell their language; the page's is the likeliest.
    if is_foreign or (is_doubted and spoken and language not in spoken):
        known = Locale(language).languages
        names = ", ".join(known.get(tag, tag) for tag in spoken)
        messages.append(tuple(text.format(languages=names) for text in texts.foreign))
    if is_doubted:
        messages.append(refusal(texts.doubtful, answer, language, laws, advice))
        kind = "doubt"
    announced = counted(len(answer["documents"]), texts.announced, language)
    return status(messages, announced, kind)


# Laws that the page lists where it says what the collection has.
_LISTED_LAWS = 8


def listed_laws(laws: Sequence[str], language: Language) -> str:
    """The names of some laws, or their number if they are many."""
    if len(laws) > _LISTED_LAWS:
        return counted(len(laws), TEXTS[language].about.laws, language)
    return "; ".join(map(short_law, laws))


def refusal(
    message: Message, answer: Mapping[str, Any], language: Language, laws: Sequence[str], *more: str
) -> Message:
    """That the law may not answer: the field that is missing, where words name one, and what is.

    Args:
        message: of the catalogue; its title is for a question whose words name no field.
        answer: what was found.
        language: of the interface.
        laws: names of those searched.
        more: sentences to add; escaped, unless they are markup.
    """
    texts = TEXTS[language].ask
    title, explanation = message
    if field := missing_field(answer["question"], answer["documents"], language):
        number_of_laws = counted(len(laws), TEXTS[language].about.laws, language)
        title = texts.no_field.format(field=field, laws=number_of_laws)
    explanation = explanation.format(laws=listed_laws(laws, language))
    return title, Markup(" ").join(filter(None, (explanation, *more)))


def missing_field(question: str, documents: Sequence[Mapping[str, Any]], language: Language) -> str:
    """The field of law that words of a question name, if none of the articles found has them.

    If the law had these words, an article with them would have been found. Where none was found at
    all, filters may have left it out.
    """
    if not documents:
        return ""
    asked = _plain_words(question)
    found = " ".join(_plain_words(str(each["content"])) for each in documents)
    tags = {known_language(each.get("language")) for each in documents}
    for spoken in dict.fromkeys([language, *(each for each in LANGUAGES if each in tags)]):
        for field, (_, phrases) in vars(TEXTS[spoken].fields).items():
            for phrase in map(_plain_words, phrases.split(", ")):
                if phrase in asked and phrase not in found:
                    return str(getattr(TEXTS[language].fields, field)[0])
    return ""


def _plain_words(text: str) -> str:
    """The words of a text with a space on both sides of each, in small letters without accents."""
    words = re.findall(r"[^\W_]+", folded(text.casefold()))
    return f" {' '.join(words)} "


def not_given(answer: Mapping[str, Any], language: Language) -> list[Message]:
    """Messages about what the question names and the results lack."""
    texts = TEXTS[language].ask
    follows = bool(answer["documents"])
    messages = []
    if "missing" in answer:
        title = texts.missing.format(articles="; ".join(answer["missing"]))
        messages.append((title, texts.also_found if follows else texts.no_such))
    if "not_followed" in answer:
        citations = "; ".join(answer["not_followed"])
        title, explanation = texts.not_followed
        messages.append((title.format(citations=citations), explanation))
    # An answer that is shown has this among its notices.
    if "left_out" in answer and not (follows and "answer" in answer):
        messages += _left_out(answer["left_out"], language)
    return messages


def _left_out(articles: Sequence[Mapping[str, Any]], language: Language) -> list[Message]:
    """Why articles that the question names are not shown, with links to them."""
    texts = TEXTS[language].ask

    def link(article: Mapping[str, Any]) -> Markup:
        address = article_link(article["id"], language)
        return Markup('<a href="{}" dir="auto">{}</a>').format(address, citation(article, language))

    messages: list[Message] = []
    hidden = []
    for each in articles:
        if each["state"] == "repealed":
            end, replaced = day(each.get("valid_to"), language), each.get("replaced_by")
            title = texts.no_longer if end else texts.no_longer_undated
            instead = filled(texts.replaced, article=link(replaced)) if replaced else ""
            messages.append((filled(title, article=link(each), end=end), instead))
        elif each["state"] == "not yet in force":
            state = state_sentence(each, language)
            messages.append((filled("{article}. {state}.", article=link(each), state=state), ""))
        else:
            hidden.append(link(each))
    if hidden:
        articles_ = Markup("; ").join(hidden)
        messages.append((filled(texts.left_out, articles=articles_), texts.widen))
    return messages


def which_law(answer: Mapping[str, Any], language: Language, on: date | None = None) -> Markup:
    """Asks which law is meant by the number of an article that several have; else empty."""
    documents, texts = answer["documents"], TEXTS[language].ask
    of_laws, numbers = ({each[name] for each in documents} for name in ("law", "number"))
    cited_only = all(each["ranks"].keys() == {"citation"} for each in documents)
    if len(of_laws) == 1 or len(numbers) > 1 or not cited_only:
        return Markup()
    title = article_title(documents[0]["number"], language)
    number_alone = citation({**documents[0], "law": ""}, language)
    laws = counted(len(documents), TEXTS[language].about.laws, language)
    choices = []
    for each in documents:
        # The paragraph that the question names.
        provision = excerpts.provision_at(str(each["content"]), each.get("passage"))
        fragment = f"#{provision.anchor}" if provision and provision.anchor else ""
        name = f"{short_law(each['law'])}, {citation({**each, 'law': ''}, language)}"
        link = article_link(each["id"], language, on) + fragment
        choices.append((name, link, result_title(each, language), each.get("language")))
    return render(
        "choice.html",
        language,
        title=texts.which_law.format(article=title),
        text=texts.which_law_count.format(laws=laws, article=number_alone),
        choices=choices,
    )


def law_found(law: str, language: Language) -> Markup:
    """A link to a law that was named."""
    texts = TEXTS[language].ask
    choices = [(plain_law(law), division_link(law, [], language), "", None)]
    return render(
        "choice.html", language, title=texts.law_found, text=texts.law_found_text, choices=choices
    )


def results(
    answer: Mapping[str, Any],
    language: Language,
    narrowed: Sequence[str] = (),
    on: date | None = None,
    limit: str = "",
    *,
    glossaries: Glossaries = NO_GLOSSARIES,
    as_typed: str = "",
    guide: Mapping[str, Any] | None = None,
    situations: Sequence[tuple[str, str, str]] = (),
    is_plain: bool = False,
) -> Markup:
    """The guide, what the law says, what to do next, and every article found, best first.

    Where the law may not answer, the articles are folded.

    Args:
        answer: what was found, as `pipelines.asking.ask` gives it.
        language: of the interface.
        narrowed: what the search was narrowed to, in words.
        on: the day that was chosen: links lead to the articles as they were then.
        limit: what that day leaves open.
        glossaries: the words that the laws define.
        as_typed: a link to the search without corrections and expansions.
        guide: what to do, as `ui.guide.GuideShelf` shows it.
        situations: title, its language and link of each that the question may be about.
        is_plain: whether the page works without a script.
    """
    question, documents = answer["question"], answer["documents"]
    corrections = answer.get("corrections", {})
    cited_only = all(each["ranks"].keys() == {"citation"} for each in documents)
    searched = corrected(question, corrections)
    read = [_FoundArticle(document, searched, glossaries) for document in documents]
    is_quoted = not cited_only and "writing" not in answer
    quoted = _quoted(read) if is_quoted else []
    written = answer.get("answer", {"state": "", "notices": []})
    panel = written_answer(written, language, on) if written["state"] == "generated" else ""
    is_unsure = answer.get("uncalibrated", False)
    passages = [] if panel else _passages(quoted, glossaries, doubts=not is_unsure)
    # Below the passages, unless these may not be about the question.
    is_trusted = not (is_unsure or answer.get("doubtful"))
    defined = answer.get("definitions", []) if is_trusted else []
    places = {each["document"]["id"]: place for place, each in enumerate(passages, start=1)}
    return render(
        "results.html",
        language,
        answer=answer,
        guide=guide,
        situations=situations,
        is_plain=is_plain,
        asked=shortened(question, QUESTION_SHOWN),
        not_binding=not all(each.binds for each in read),
        as_typed=as_typed,
        narrowed=narrowed,
        on=on,
        today=date.today(),
        limit=limit,
        panel=panel,
        passages=passages,
        definitions=[each for each in defined if each["used_in"] in places],
        notices=[_notice(each, TEXTS[language].answer, language) for each in written["notices"]],
        # What to do next by law that may not be about the question would mislead.
        # A guide says it better.
        steps=_steps(read, quoted, glossaries) if is_trusted and guide is None else [],
        stages=list(vars(TEXTS[language].stages)),
        is_open=cited_only,
        articles=[
            each.shown(places.get(each.document["id"], 0), is_open=cited_only) for each in read
        ],
        kinds=[kind for kind in MEDIA_TYPES if kind not in BINARY],
    )


# Passages above the results, and how many of these one article may have.
_QUOTED, _OF_AN_ARTICLE = 4, 2
# The shares of the best score from which on a passage may decide too, and is near it. The scores
# are probabilities: from `_DECIDES` on a passage is trusted to decide, below `_DOUBTED` it is not.
# Chosen on questions of the demo law: docs/results/findings.md.
_POSSIBLE, _NEAR, _DOUBTED, _DECIDES = 0.15, 0.4, 0.2, 0.35
# An article of at most so many words is quoted whole where two of its passages are near.
_SHORT = 150
# About how many words of a passage stand in a result.
_RESULT_WORDS = 40


class _FoundArticle:
    """An article found, with its best passages.

    Attributes:
        document: as `pipelines.asking.found_article` makes it.
        text: of the article.
        passage: the provision that answers best; None where none is known.
        passages: the provisions that may be quoted, each with its score, best first.
        terms: those of the question.
        marks: words that the question has too.
        defined: words that the law defines.
        binds: whether it is in force, or not known not to be.
    """

    def __init__(self, document: Mapping[str, Any], question: str, glossaries: Glossaries) -> None:
        self.document = document
        self.text = text = str(document["content"] or "")
        self._language = language = document.get("language")
        self.terms = terms = frozenset(analyzer(language)(question))
        # Without ranked passages, the article's beginning is shown.
        self.passage = excerpts.provision_at(text, document.get("passage", {"start": 0, "end": 1}))
        self.passages: list[tuple[float, Provision]] = [
            (each["score"], provision)
            for each in document.get("passages", ())[:_OF_AN_ARTICLE]
            if (provision := excerpts.provision_at(text, each)) is not None
        ]
        matched = excerpts.matched_words(text, [Span(0, len(text))], terms, language)
        self.marks = [Note(span, "mark") for span in matched]
        self.article = Article(
            id=document["id"],
            law=document["law"],
            number=document["number"],
            headings=tuple(document["headings"]),
            text=text,
            language=language,
        )
        self.defined = glossaries.notes(self.article)
        self.binds = document["state"] in ("in force", "unknown")

    def excerpt(
        self, words: int | None = None, passages: Sequence[Provision] = ()
    ) -> tuple[Span, ...]:
        """The passage, or those given, with what limits them; see `excerpts.excerpt`."""
        chosen = passages or ([self.passage] if self.passage else [])
        spans: set[Span] = set()
        for each in chosen:
            spans.update(excerpts.excerpt(self.text, each, self._language, self.terms, words))
        return excerpts.merged(spans)

    def shown(self, quoted: int, *, is_open: bool) -> dict[str, Any]:
        """What a result shows.

        Args:
            quoted: its place among the passages above the results, from 1; 0 where it has none.
            is_open: whether the whole article is shown at once.
        """
        spans = () if is_open or quoted else self.excerpt(_RESULT_WORDS)
        # Of an article that was only looked up, the passage is the paragraph that is named.
        named = self.passage if is_open and "passage" in self.document else None
        anchor = named.anchor if named else ""
        return {
            "document": self.document,
            "anchor": anchor,
            # Lines of the passage that matched; none where it is quoted.
            "passage": shown_lines(self.text, spans, self.marks, run_on=True) if spans else [],
            "quoted": quoted,
            "whole": _marked(shown_lines(self.text, notes=[*self.defined, *self.marks]), anchor),
        }


class _Quotation(NamedTuple):
    """What is quoted of an article, best first, each passage with its score."""

    read: _FoundArticle
    passages: list[tuple[float, Provision]]

    @property
    def is_whole(self) -> bool:
        """Whether the article is quoted whole, because none of its passages stands out."""
        scores = [score for score, _ in self.read.passages]
        is_short = provisions.word_count(self.read.text) <= _SHORT
        return is_short and len(scores) > 1 and scores[1] >= _NEAR * scores[0]

    @property
    def is_doubted(self) -> bool:
        """Whether the article may answer, but no passage of it that is quoted."""
        n_provisions = len(provisions.provisions_of(self.read.text))
        return self.passages[0][0] < _DOUBTED and n_provisions > 1 and not self.is_whole


def _quoted(read: Sequence[_FoundArticle]) -> list[_Quotation]:
    """The passages that may decide, by article; first the article of the best one.

    Those of other articles must be possible and of the law of the best one: others are of another
    matter.
    """
    ranked = [
        (score, place, provision)
        for place, each in enumerate(read)
        if each.binds
        for score, provision in each.passages
    ]
    ranked = sorted(ranked, key=lambda each: -each[0])[:_QUOTED]
    quoted: dict[int, list[tuple[float, Provision]]] = {}
    for score, place, provision in ranked:
        best, first, _ = ranked[0]
        is_of_its_law = read[place].document["law"] == read[first].document["law"]
        if place == first or (is_of_its_law and score >= _POSSIBLE * best):
            quoted.setdefault(place, []).append((score, provision))
    return [_Quotation(read[place], chosen) for place, chosen in quoted.items()]


def _passages(
    quoted: Sequence[_Quotation], glossaries: Glossaries, *, doubts: bool
) -> list[dict[str, Any]]:
    """The passages that may decide, whole, with a doubt where scores tell of one."""
    passages = []
    explained: set[Definition] = set()
    for quotation in quoted:
        read, (_, best), is_whole = quotation.read, quotation.passages[0], quotation.is_whole
        document, whole = read.document, (Span(0, len(read.text)),)
        chosen = [provision for _, provision in quotation.passages]
        spans = whole if is_whole else read.excerpt(passages=chosen)
        # A word is explained at its first use.
        defined = glossaries.notes(read.article, spans)
        defined = [each for each in defined if each.value not in explained]
        explained.update(note.value for note in defined)
        lines = shown_lines(read.text, spans, [*defined, *read.marks])
        anchor = best.anchor if any(line.anchor == best.anchor for line in lines) else ""
        if is_whole:
            lines = _marked(lines, anchor)
        shown = {"lines": lines, "anchor": anchor, "is_doubted": doubts and quotation.is_doubted}
        passages.append({"document": document, **shown})
    return passages


def _steps(
    read: Sequence[_FoundArticle], quoted: Sequence[_Quotation], glossaries: Glossaries
) -> list[Step]:
    """What to do next by the passages that decide, where it is clear which article answers.

    That is: it ranks first overall and in two of the lists that found it, and no other article has
    a passage near its best.
    """
    if not quoted or quoted[0].read is not read[0]:
        return []
    first, passages = quoted[0].read, quoted[0].passages
    ranks = list(first.document["ranks"].values())
    others = [score for each in read[1:] if each.binds for score, _ in each.passages]
    if ranks.count(1) < min(2, len(ranks)) or max(others, default=0) >= _NEAR * passages[0][0]:
        return []
    deciding = [provision for score, provision in passages if score >= _DECIDES]
    return steps_in(first.document, deciding, first.terms, glossaries)


def _marked(lines: Sequence[ShownLine], anchor: str) -> list[ShownLine]:
    """Lines of an article; those of the paragraph with an anchor get the class "named"."""
    marked: list[ShownLine] = []
    is_named, above = False, ""
    for line in lines:
        # A list, and the words after it, belong to the paragraph above.
        if line.css == "numbered" or (not line.css and above == "numbered"):
            is_named = bool(anchor) and line.anchor == anchor
        above = line.css
        marked.append(line._replace(css=f"{line.css} named".lstrip()) if is_named else line)
    return marked


def bar_width(rank: int) -> str:
    """The width of the bar of a rank: full for the first, empty for the last of a list."""
    return f"{max(0.0, 1.0 - math.log(max(rank, 1)) / math.log(_DEPTH)):.0%}"


TEMPLATES.filters |= {"bar_width": bar_width, "word_count": provisions.word_count}

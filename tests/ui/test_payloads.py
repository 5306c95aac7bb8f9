"""Markup from a law, a question or a generator is text, whatever renders it."""

import html
import re
from html.parser import HTMLParser

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from payloads import PAYLOADS

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from pipelines.evaluation import ComponentTime, PipelineResult, StageRanking, compare
from pipelines.tree import draw_picture, neighbourhood
from ui.compare import comparison
from ui.results import results


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.links: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs if name != "lang")))
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def result_of(text: str, **more: object) -> str:
    article = {
        "id": text,
        "law": text,
        "number": text,
        "headings": [text],
        "content": f"Words. {text}",
        "ranks": {text: 2},
        "state": text,
        "valid_from": text,
        "source_url": text,
        "language": text,
    }
    answer = {"question": text, "took_ms": 1, "documents": [article], **more}
    return results(answer, "en", [text])


def answer_of(text: str) -> str:
    meta = {"law": text, "number": text}
    documents = [Document(id=each, content=f"{text} is here", meta=meta) for each in (text, "b")]
    panels = []
    for reply, inputs in ((f'"{text} is" [1] {text}', {}), (None, {"failure": text})):
        replies = [] if reply is None else [ChatMessage.from_assistant(reply)]
        checked = QuoteVerifier().run(replies, documents)["checked"]
        built = CitedAnswerBuilder().run("When?", documents, checked=checked, **inputs)["answers"]
        panels.append(result_of(text, answer={"text": built[0].data, **built[0].meta}))
    return "".join(panels)


def comparison_of(text: str) -> str:
    article = {"id": text, "law": text, "number": text, "headings": [text], "language": text}
    ranking = StageRanking(text, {text: 1}, None)
    side = PipelineResult(text, [article], None, [ranking], [ComponentTime(text, 1.0)], 1.0)
    return comparison(text, compare(side, side), "en")


@pytest.mark.parametrize("page", [result_of, answer_of, comparison_of])
def test_a_payload_adds_no_element_and_no_attribute(page):
    allowed = set(Elements(page("harmless")).found) | {("br",), ("bdi",), ("span",), ("p",)}
    for payload in PAYLOADS:
        markup = page(payload)
        read = Elements(markup)
        extra = {each for each in read.found if each not in allowed}
        assert all(set(each[1:]) <= {"class", "dir", "title", "href"} for each in extra), extra
        assert not {tag for tag, *_ in extra} & {"script", "img", "iframe", "svg", "form", "input"}
        assert all(link.startswith(("/", "https://")) for link in read.links), read.links
        assert len(markup.splitlines()) == 1
        assert " ".join(payload.split()) in " ".join(
            html.unescape(re.sub("<[^>]*>", "", markup)).split()
        )


def test_a_payload_is_words_in_a_picture():
    def drawn(text: str) -> Elements:
        fields = {"law": text, "number": "1", "headings": (text,), "text": text}
        corpus = StatuteCorpus([Article(id_, language=text, **fields) for id_ in ("a", "b")])
        return Elements(draw_picture(neighbourhood(corpus, 0), None, text))

    harmless = drawn("plain words").found
    for payload in PAYLOADS:
        picture = drawn(payload)
        assert picture.found == harmless
        assert picture.links == []

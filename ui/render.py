"""HTML of the page: everything that comes from a law or a question is escaped here.

Gradio's Markdown carries the HTML, because Gradio's HTML component builds a function from its
template, which our Content-Security-Policy (no `unsafe-eval`) forbids. Markdown leaves one line of
HTML alone, so every function returns exactly one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from ui.answer import answer_panel
from ui.article_text import article_text, marked_passage, words
from ui.collection import Collection
from ui.standing import Standing

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8})*")
_NUMBER = re.compile(r"[A-Za-z]{0,3}\.? ?\d[\w.\-/]*")

# Lists are cut this deep in every pipeline; the bar of the last rank is empty.
_DEPTH = 500
_QUESTION_SHOWN = 300

# Of each stage: its name, why it found an article in few words, and in a sentence.
STAGES = {
    "citation": ("Citation", "you named it", "Your question names the article."),
    "bm25": (
        "BM25",
        "words in common",
        "The article shares words with your question; rare words count more.",
    ),
    "dense": (
        "Dense",
        "close in meaning",
        "A language model places the article near your question in meaning.",
    ),
    "graph": (
        "Graph",
        "close in meaning and place",
        "A language model places the article, seen among its neighbours in the law, near your"
        " question.",
    ),
    "reranker": (
        "Re-ranker",
        "read with your question",
        "A second language model reads the best articles together with your question. Where it"
        " reads a part of an article only, the part that fits best is marked.",
    ),
}


def header() -> str:
    """The page's name and what it does."""
    return (
        '<div class="masthead"><h1>Lexarbor</h1>'
        "<p>Ask in your own words. Read the articles of law that answer.</p></div>"
    )


def notice(collection: Collection) -> str:
    """What the reader must know before relying on a result."""
    invented = (
        " Aldermere is an invented country, made for this demonstration:"
        " its laws have no force anywhere."
        if collection.is_aldermere
        else " The laws marked as invented have no force anywhere."
        if collection.invented
        else ""
    )
    return (
        '<p class="notice" role="note"><strong>Information, not legal advice.</strong>'
        f"{invented}</p>"
    )


def learning() -> str:
    """Where the page says how far the search has learnt the law; the script fills it in."""
    return '<div class="learning"><p class="told"></p><p class="share"></p></div>'


def standing(standing: Standing) -> dict[str, str]:
    """The standing in plain words, `told`, and its share, empty once there is no more to come."""
    if standing.state == "learnt":
        told = "The search has learnt this law. Ask again: the answers should be better now."
    elif standing.state == "failed":
        told = (
            "The search could not learn this law, and goes on as before. Whoever runs this page"
            " finds the reason in the terminal."
        )
    else:
        told = (
            "The search is still learning this law. Its answers should get better in"
            f" {standing.time_left}."
        )
    share = f"{standing.share:.0%}" if standing.state == "learning" else ""
    return {"state": standing.state, "told": told, "share": share}


def about(collection: Collection, stages: Sequence[str], *, generated: bool = False) -> str:
    """What is searched, how to read a result of these stages, and where a question goes.

    Args:
        collection: what is searched.
        stages: names as in an answer's ranks.
        generated: whether a chat generator writes answers.
    """
    question = (
        "It is searched on the machine that serves this page. The question and the articles found"
        " are then sent to the language model that whoever runs this page has chosen."
        if generated
        else "It is answered on the machine that serves this page. It is sent nowhere else, and it"
        " is not written down."
    )
    told = "".join(
        f"<div><dt>{name}</dt><dd>{sentence}</dd></div>"
        for stage, (name, _, sentence) in STAGES.items()
        if stage in stages
    )
    return (
        '<div class="about"><h2>What is searched</h2>'
        f"<p>{collection.articles:,} articles of {_plural(len(collection.laws), 'law')}.</p>"
        f"{_laws(collection.laws)}"
        "<h2>How an article was found</h2>"
        "<p>Each result says who found it, and at which place of that list."
        " The longer the bar, the nearer the top.</p>"
        f"<dl>{told}</dl>"
        f"<h2>Your question</h2><p>{question}</p></div>"
    )


def examples_heading() -> str:
    """Heading of the example questions."""
    return "<h2>Questions to try</h2>"


def message(title: str, explanation: str) -> str:
    """One of the page's messages in place of results; both texts are escaped."""
    return (
        f'<div class="message"><p><strong>{words(title)}</strong></p>'
        f"<p>{words(explanation)}</p></div>"
    )


def found(count: int) -> str:
    """The announcement of results, for those who hear the page; it is not seen."""
    return _unseen(f"{_plural(count, 'article')} found.")


def results(answer: Mapping[str, Any]) -> str:
    """Every article of an answer (`pipelines.asking.ask`), best first."""
    question = str(answer["question"])
    asked = question[:_QUESTION_SHOWN] + ("…" if len(question) > _QUESTION_SHOWN else "")
    documents = answer["documents"]
    items = "".join(f"<li>{_article(document)}</li>" for document in documents)
    panel = answer_panel(answer["answer"]) if "answer" in answer else ""
    return (
        f'<div class="results">{panel}'
        f'<h2 tabindex="-1">{_plural(len(documents), "article")} found</h2>'
        f'<p class="asked">For <q>{words(asked)}</q>, best first, in'
        f" {float(answer['took_ms']):,.0f} ms</p>"
        f'<ol class="articles">{items}</ol></div>'
    )


def _article(document: Mapping[str, Any]) -> str:
    steps = "".join(f"<li>{words(step)}</li>" for step in document["headings"])
    tongue = _language(document.get("language"))
    path = f'{_unseen("Place in the law:")}<ol class="path"{tongue}>{steps}</ol>' if steps else ""
    link = _official_link(document.get("source_url"))
    text = str(document["content"] or "")
    marked = marked_passage(text, document.get("passage"))
    told = _unseen("The part that fits your question best is marked.") if marked else ""
    return (
        f"<article><h3>{words(_title(document['number']))}"
        f" <span{tongue}>{words(document['law'])}</span></h3>{path}{_state(document)}"
        f'{told}<div class="law"{tongue}>{article_text(text, marked)}</div>'
        f'{link}{_unseen("Found by:")}<ul class="ranks">{_ranks(document["ranks"])}</ul></article>'
    )


def _unseen(text: str) -> str:
    """For those who hear the page; an aria-label would not pass Gradio's sanitiser."""
    return f'<p class="unseen">{text}</p>'


def _language(tag: object) -> str:
    return f' lang="{tag}"' if isinstance(tag, str) and _LANGUAGE.fullmatch(tag) else ""


def _title(number: object) -> str:
    printed = str(number)
    return f"Article {printed}" if _NUMBER.fullmatch(printed) else printed


def _state(document: Mapping[str, Any]) -> str:
    start, end = _day(document.get("valid_from")), _day(document.get("valid_to"))
    said = {
        "in force": ("in-force", f"In force since {start}" if start else "In force"),
        "repealed": ("repealed", f"Repealed; last day in force {end}"),
        "not yet in force": ("coming", f"Not yet in force; from {start}"),
    }.get(str(document["state"]), ("unknown", "Not known whether in force"))
    until = f", until {end}" if said[0] == "in-force" and end else ""
    return f'<p class="state {said[0]}">{words(said[1] + until)}</p>'


def _day(value: object) -> str:
    """An ISO date in words; anything else as it is."""
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        return str(value or "")
    return f"{day.day} {day:%B} {day.year}"


def _official_link(url: object) -> str:
    # Only the web: a corpus could hold javascript: or file: addresses.
    if not isinstance(url, str) or not url.lower().startswith(("https://", "http://")):
        return ""
    return (
        f'<p class="source"><a href="{words(url)}" rel="noopener noreferrer">The official text</a>'
        "</p>"
    )


def _ranks(ranks: Mapping[str, int]) -> str:
    items = []
    known = [stage for stage in STAGES if stage in ranks]
    for stage in [*known, *(stage for stage in ranks if stage not in STAGES)]:
        rank = ranks[stage]
        name, meaning, _ = STAGES.get(stage, (stage, "", ""))
        length = max(0.0, 1.0 - math.log(max(rank, 1)) / math.log(_DEPTH))
        items.append(
            f'<li><span class="stage">{words(name)}</span> <span class="rank">rank {rank:,}</span>'
            f'<span class="bar"><span style="width:{length:.0%}"></span></span>'
            f' <span class="meaning">{words(meaning)}</span></li>'
        )
    return "".join(items)


def _laws(laws: Sequence[str]) -> str:
    listed = "".join(f"<li>{words(law)}</li>" for law in laws)
    if len(laws) <= 8:
        return f"<ul>{listed}</ul>"
    return f"<details><summary>Which laws</summary><ul>{listed}</ul></details>"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

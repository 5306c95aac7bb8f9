"""The view "Compare": a Gradio Blocks around `compared_html`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from urllib.parse import parse_qs

from haystack import Pipeline
from markupsafe import Markup

from components.models.folder import ModelError
from components.retrievers.resident import ReadableStore
from components.statutes.article import normalised
from components.statutes.corpus import read_questions
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError, pipeline_names
from pipelines.evaluation import SHOWN, Comparison, compare, find
from pipelines.loading import load_pipeline
from pipelines.stages import ask_for_rankings, time_components
from ui.ask import EXAMPLES as ASK_EXAMPLES
from ui.ask import RESULTS, View, html
from ui.frame import Collection, full_title, notice, render, shortened
from ui.guard import log_failure
from ui.language import TEXTS, Language
from ui.results import QUESTION_SHOWN, MessageError, asked_question, status


def comparison(
    question: str, compared: Comparison, language: Language, right_ids: Container[str] = ()
) -> Markup:
    """HTML of the comparison: what is in common, the two lists, the time of each stage.

    Args:
        question: as it was asked.
        compared: the comparison.
        language: of the interface.
        right_ids: of the articles that answer, where the question is a known one.
    """
    sides = compared.left, compared.right
    lefts, rights = ({time.name: time.ms for time in side.times} for side in sides)
    longer, shorter = sorted((lefts, rights), key=len, reverse=True)
    rest = [side.rest_ms for side in sides]
    return render(
        "comparison.html",
        language,
        asked=shortened(question, QUESTION_SHOWN),
        in_common=_in_common(compared, language),
        compared=compared,
        most=SHOWN,
        right_ids=right_ids,
        times=[(name, lefts.get(name), rights.get(name)) for name in {**longer, **shorter}],
        longest=max(0.001, *rest, *lefts.values(), *rights.values()),
    )


@cache
def demo_answers() -> Mapping[str, frozenset[str]]:
    """The ids of the articles that answer each question about the demo law, by its text."""
    known: dict[str, frozenset[str]] = {}
    for question in read_questions("aldermere"):
        text = normalised(question.text)
        known[text] = known.get(text, frozenset()).union(question.relevant)
    return known


def _in_common(compared: Comparison, language: Language) -> str:
    most = max(len(side.articles[:SHOWN]) for side in (compared.left, compared.right))
    shared = compared.count("same", "up", "down")
    return TEXTS[language].compare.in_common.format(shared=shared, most=most)


# Those that retrieve; the articles of the others come from one of these.
_RETRIEVING = ("lexical", "dense", "hybrid", "hybrid_rerank")
_DEFAULTS = ("lexical", "hybrid")

# Asked first, so that what a component does only once is not in the reader's times.
_FIRST_QUESTION = "law"


class Compared:
    """Asks pipelines by name; each is made ready at its first question.

    They share models and indexes with each other and the rest of the process.

    Args:
        store: what is searched.
        model: in place of the one that the store records; None for that one.
        own: name or file of the pipeline that the page was started with. It is compared too where
            it is a file of the reader's own that retrieves.

    Attributes:
        names: of those that the store can serve, fewest stages first.
    """

    def __init__(
        self, store: ReadableStore, model: str | None = None, own: str | None = None
    ) -> None:
        files = {name: name for name in _RETRIEVING}
        if own is not None and own not in pipeline_names():
            # With its suffix, so that no file has the name of one of ours.
            files[f"{Path(own).stem}.yaml"] = own
        self._pipelines: dict[str, Pipeline] = {}
        # An engine has no file that other pipelines could read.
        path = str(store.database.path) if isinstance(store, StatuteDocumentStore) else ""
        for name, file in files.items() if path else ():
            with suppress(LoadingError, ModelError, StoreError):
                pipeline = load_pipeline(file, path, model)
                pipeline.metadata["name"] = name
                if "answers" not in pipeline.metadata.get("outputs", {}):
                    self._pipelines[name] = pipeline
        # One thread: the times are shown, and two comparisons at once would slow each other down.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compare")
        self._ready: set[str] = set()
        self.names = tuple(self._pipelines)

    @property
    def defaults(self) -> tuple[str, str] | None:
        """The initial choices on the left and on the right; None if there are not two."""
        if len(self.names) < 2:
            return None
        left, right, *_ = sorted(self.names, key=lambda name: name not in _DEFAULTS)
        return left, right

    def compare(self, question: str, left: str, right: str) -> Comparison:
        """Ask two pipelines one clean question; both search the same store.

        Raises:
            KeyError: a name is not in `names`.
            StoreError, ModelError: the store cannot be read, or a model not be loaded.
        """
        return self._thread.submit(self._compared, question, left, right).result()

    def _compared(self, question: str, left: str, right: str) -> Comparison:
        for name in {left, right} - self._ready:
            self._pipelines[name].warm_up()
            time_components(self._pipelines[name])
            ask_for_rankings(self._pipelines[name])
            find(self._pipelines[name], _FIRST_QUESTION)
            self._ready.add(name)
        return compare(*(find(self._pipelines[name], question) for name in (left, right)))


Compare = Callable[[str, str, str], Comparison]

_logger = logging.getLogger(__name__)


def compared_html(
    compare: Compare,
    names: Container[str],
    language: Language,
    answers: Callable[[], Mapping[str, frozenset[str]]],
    link: object,
) -> tuple[str, str]:
    """HTML of the status line and of the comparison, which is empty under a message.

    Args:
        compare: from a clean question and two names to the comparison.
        names: of the pipelines that can be compared.
        language: of the interface.
        answers: the ids of the articles that answer questions that are known, by their texts.
        link: query string with the question and the names, which may be anything.
    """
    asks, texts = TEXTS[language].ask, TEXTS[language].compare
    given = parse_qs(link) if isinstance(link, str) else {}
    question, left, right = (given.get(name, [""])[0] for name in ("q", "left", "right"))
    try:
        asked = asked_question(question, (asks.empty[0], texts.empty_explained), language)
        if left not in names or right not in names:
            raise MessageError(asks.no_choice)
        if left == right:
            raise MessageError(texts.twice)
        found = compare(asked, left, right)
        # Both sides search the same law.
        missing = "; ".join(dict.fromkeys([*found.left.missing, *found.right.missing]))
        messages = [(asks.missing.format(articles=missing), "")] if missing else []
        if not found.moved:
            return status([*messages, (texts.found_nothing, "")]), ""
        right_ids = answers().get(normalised(asked), frozenset())
        markup = comparison(asked, found, language, right_ids)
        return status(messages, _in_common(found, language)), markup
    except MessageError as error:
        return status([error.args[0]]), ""
    except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
        log_failure(_logger, "A comparison", error)
        return status([asks.failed], kind="failure"), ""


# Of the first three, words and meaning lead to different articles; the last is a citation, which
# leads everywhere to one.
EXAMPLES = tuple(ASK_EXAMPLES[place] for place in (2, 1, 4, 5))


def build_compare(
    compared: Compared, searched: Callable[[], Collection], language: Language
) -> View:
    """The view over one collection of law.

    Args:
        compared: the pipelines; shared by the views of all languages.
        searched: describes what is searched now.
        language: of the interface.
    """
    texts = TEXTS[language].compare
    defaults = compared.defaults

    def draw(collection: Collection) -> Markup:
        return render(
            "compare.html",
            language,
            notice=notice(collection, language),
            defaults=defaults,
            choices=[(name, texts.pipelines.get(name, name)) for name in compared.names],
            only_one=status([texts.only_one]),
            examples=EXAMPLES if collection.is_aldermere else (),
            shown=RESULTS,
        )

    answers = demo_answers if searched().is_aldermere else dict
    # Gradio's script names the tab by this, in place of what the document was served with.
    page = View(full_title(TEXTS[language].frame.compare), searched, draw)
    with page:
        if defaults is None:
            return page
        page.answers_by(
            partial(compared_html, compared.compare, compared.names, language, answers),
            [html("status"), html("results")],
            api_name="compare",
            # One comparison at a time; see `Compared`.
            concurrency_limit=1,
            concurrency_id="compare",
        )
    return page

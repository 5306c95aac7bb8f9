"""Addresses of the trainings: their page, and the curves on it."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from components.retrievers.readable import ReadableStore
from ui.article_text import words
from ui.collection import Collection
from ui.frame import document
from ui.language import LANGUAGES, address, language_of
from ui.law.links import with_query
from ui.notice import notice
from ui.runs.curriculum import curriculum, followed
from ui.runs.curves import charts_of, draw
from ui.runs.experiments import experiments
from ui.runs.results import Results
from ui.runs.run import read_progress, read_run
from ui.runs.run_view import CURVES, TRAINING, curves, run_list, run_summary
from ui.runs.sources import RunFolder, Sources
from ui.texts.training import TEXTS

# How long the page waits for new tables of experiments, in seconds.
_PATIENCE = 0.5
_HEADERS = {"Cache-Control": "no-cache"}
_COMMAND = "python -m training.cusines --config training/configs/demo.yaml --output models/demo"


def runs_routes(
    sources: Sources,
    results: Results,
    store: Callable[[], ReadableStore],
    searched: Callable[[], Collection],
) -> list[Route]:
    """The routes of the view of trainings, in every language.

    Names in an address are looked up among the runs that are found; none becomes a path.

    Args:
        sources: where runs lie.
        results: of experiments.
        store: what is searched at this moment; titles of articles are looked up there.
        searched: tells what is in it, for the notice.
    """
    # They are ready, then, when the first reader comes.
    results.read(patience=0)
    view = _View(sources, results, store, searched)
    return [
        Route(address(path, language), endpoint)
        for language in LANGUAGES
        for path, endpoint in ((TRAINING, view.page), (CURVES, view.curves))
    ]


class _RefusedError(Exception):
    """An address that is not answered.

    Attributes:
        status: of the answer.
        reason: name of the text that says why.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _View:
    def __init__(
        self,
        sources: Sources,
        results: Results,
        store: Callable[[], ReadableStore],
        searched: Callable[[], Collection],
    ) -> None:
        self._sources = sources
        self._results = results
        self._store = store
        self._collection = searched

    def page(self, request: Request) -> Response:
        """The page of trainings, at one of them."""
        language = language_of(request.url.path)
        texts = TEXTS[language]
        try:
            main, here = self._main(request)
        except _RefusedError as refused:
            back = f'<p><a href="{address(TRAINING, language)}">{words(texts.back)}</a></p>'
            main = (
                f'<div class="training"><h1>{words(texts.refused_title)}</h1>'
                f"<p>{words(getattr(texts, refused.reason))}</p>{back}</div>"
            )
            whole = document("training", language, texts.refused_title, main, TRAINING)
            return _html(whole, refused.status)
        return _html(document("training", language, texts.title, main, here), 200)

    def curves(self, request: Request) -> Response:
        """A curve of a run, as a picture."""
        try:
            name, chart, scheme = (_single(request, n) for n in ("run", "chart", "scheme"))
            run = read_run(_named(self._sources.runs(), name or "").folder)
        except _RefusedError as refused:
            return PlainTextResponse("Not found.\n", refused.status, _HEADERS)
        known = next((each for each in charts_of(run) if each == chart), None)
        if known is None or scheme not in ("light", "dark"):
            return PlainTextResponse("Not found.\n", 404, _HEADERS)
        language = language_of(request.url.path)
        drawn = draw(run, known, language, dark=scheme == "dark")
        return Response(_bytes(drawn), media_type="image/svg+xml", headers=_HEADERS)

    def _main(self, request: Request) -> tuple[str, str]:
        """The content of the page, and its address in English."""
        language = language_of(request.url.path)
        texts = TEXTS[language]
        name, question = _single(request, "run"), _single(request, "question")
        runs = self._sources.runs()
        steps = [("run", name)] if name is not None else []
        parts = [
            f"<h1>{words(texts.title)}</h1>",
            *(f"<p>{words(paragraph)}</p>" for paragraph in texts.explanation),
            notice(self._collection(), language),
        ]
        if runs or name is not None:
            chosen = _named(runs, name) if name is not None else runs[0]
            run = read_run(chosen.folder)
            which = _question(question, len(followed(run)))
            if question is not None:
                steps.append(("question", str(which)))
            progress = None if chosen.finished else read_progress(chosen.folder)
            parts += [
                run_list(runs, chosen, language),
                run_summary(chosen, run, progress, language),
                curves(chosen.name, run, language),
                curriculum(
                    *(chosen.name, run, which, self._store(), language), finished=chosen.finished
                ),
            ]
        else:
            _question(question, 0)
            parts.append(
                f"<p>{words(texts.no_runs)} {words(texts.no_runs_command)}</p>"
                f'<pre tabindex="0">{words(_COMMAND)}</pre>'
            )
        parts.append(experiments(self._results.read(_PATIENCE), language))
        here = with_query(TRAINING, steps) if steps else TRAINING
        return f'<div class="training">{"".join(parts)}</div>', here


def _single(request: Request, name: str) -> str | None:
    """A parameter; None where it is not given.

    Raises:
        _RefusedError: It is given more than once.
    """
    values = request.query_params.getlist(name)
    if len(values) > 1:
        raise _RefusedError(400, "bad_request")
    return values[0] if values else None


def _named(runs: list[RunFolder], name: str) -> RunFolder:
    for run in runs:
        if run.name == name:
            return run
    raise _RefusedError(404, "no_run")


def _question(value: str | None, questions: int) -> int:
    """Which question is asked for, from 1; the first where none is.

    Raises:
        _RefusedError: It is no number, or there is no such question.
    """
    if value is None:
        return 1
    if not (value.isascii() and value.isdecimal() and len(value) < 6):
        raise _RefusedError(400, "bad_request")
    if not 1 <= int(value) <= questions:
        raise _RefusedError(404, "no_question")
    return int(value)


def _html(whole: str, status: int) -> Response:
    return Response(_bytes(whole), status, _HEADERS, "text/html")


def _bytes(text: str) -> bytes:
    # Half a character, which JSON can hold, is none in UTF-8.
    return text.encode("utf-8", "replace")

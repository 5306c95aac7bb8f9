"""Every function that the site's views have, called with what no page sends."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from indexed import indexed
from law_files import article
from starlette.routing import Mount, Route

from ui.language import LANGUAGES, address, language_of
from ui.law import Places
from ui.server import Serving, build_site

STRANGE: list[Any] = [
    *(None, "", " ", "all", "no such choice", "x" * 3_000, "x" * 60_000, "\x00\u202e\ud83d"),
    *("2026-02-31", "<script>alert(1)</script>"),
    *(0, -1, 1.5, math.nan, math.inf, 1e308, 10**400, True),
    *([], [None], ["x"] * 1_000, [["x"]], [1.5, None, {}], {}, {"value": "x"}),
    {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
    {"__type__": "update", "visible": False},
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    law = "Housing Code of Aldermere (invented)"
    articles = [
        article(f"h{n}", law=law, number=str(n), text=f"A deposit is owed; rule {n}.")
        for n in range(1, 13)
    ]
    serving = Serving("lexical", indexed(tmp_path_factory.mktemp("law"), articles))
    return build_site(serving, Places(serving.store))


@pytest.fixture(scope="module")
def client(site: Any) -> Iterator[TestClient]:
    with TestClient(site, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def views(site: Any) -> dict[str, Any]:
    """The views that Gradio draws, by their address."""
    mounts = [each for each in site.routes if isinstance(each, Mount)]
    return {each.path: each.app.get_blocks() for each in mounts}


def usual(function: Any) -> list[Any]:
    """What a fresh page would send."""
    return [None if each.stateful else each.postprocess(each.value) for each in function.inputs]


def test_the_views_are_all_there_and_their_functions_private(views: dict[str, Any]):
    paths = {address(path, language) for path in ("/", "/compare") for language in LANGUAGES}
    assert {path or "/" for path in views} == paths
    for page in views.values():
        functions = [each for each in page.fns.values() if each.fn is not None]
        assert functions
        assert all(each.api_name and each.api_visibility == "private" for each in functions)


def test_no_handler_trusts_that_its_fields_have_checked(views: dict[str, Any]):
    for path, page in views.items():
        for function in page.fns.values():
            if function.fn is None:
                continue
            fresh = usual(function)
            for strange in STRANGE:
                for place in range(len(fresh)):
                    arguments = [*fresh[:place], strange, *fresh[place + 1 :]]
                    answer = function.fn(*arguments)
                    told = (path, function.api_name, repr(arguments)[:200])
                    assert len(answer) == len(function.outputs), told


NAMES = ["id", "of", "in", "on", "as", "page", "q", "run", "question", "x"]
VALUES = [
    *("", "0", "-1", "9" * 400, "nan", "h1", "../../etc/passwd", "%2e%2e%2fetc", "\x00"),
    "\ud83d".encode("utf-8", "surrogatepass").decode("latin-1"),
    *("2026-02-31", "x" * 15_000, '"><b>injected</b>'),
]


@pytest.mark.slow
def test_no_parameter_of_any_address_breaks_the_site(
    client: TestClient, site: Any, caplog: pytest.LogCaptureFixture
):
    # One language stands for all that have a prefix.
    paths = {each.path for each in site.routes if type(each) is Route}
    paths = {each for each in paths if language_of(each) in ("en", "fr")}
    assert {"/law", "/fr/law", "/article"} <= paths
    for path in paths:
        for name in NAMES:
            for value in (*VALUES, ["h1", "h1"]):
                answer = client.get(path, params={"id": "h1", name: value})
                told = (path, name, value[:100], answer.status_code)
                assert answer.status_code < 500 or answer.status_code == 503, told
                assert "<b>injected" not in answer.text, told
                assert "root:" not in answer.text, told
    assert "An answer failed" not in caplog.text

"""A store is indexed anew while the site is open: what the pages tell of it follows."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.routing import Mount
from tiny_site import DATA, JOIN, call_of

from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus
from ui.language import LANGUAGES, address
from ui.searched import Searched
from ui.serving import Serving
from ui.site import build_site

BEFORE, AFTER = date(2025, 3, 1), date(2026, 9, 30)


def index(folder: Path, laws: Sequence[str], snapshot: date | None) -> Path:
    with (folder / "articles.jsonl").open("w") as file:
        for number, law in enumerate(laws):
            article = {"id": f"a{number}", "law": law, "number": str(number), "headings": []}
            file.write(json.dumps({**article, "text": "A deposit is given back."}) + "\n")
    index_corpus(folder / "articles.jsonl", folder / "law.db", model="none", snapshot=snapshot)
    return folder / "law.db"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return index(tmp_path, ["Housing Code", "Work Code"], BEFORE)


@pytest.fixture
def site(store: Path) -> Any:
    serving = Serving("lexical", store)
    return build_site(serving, Searched(lambda: serving.store))


@pytest.fixture
def client(site: Any) -> Iterator[TestClient]:
    with TestClient(site) as client:
        yield client


def ask_page(site: Any) -> Any:
    (view,) = (each for each in site.routes if isinstance(each, Mount) and each.path in ("", "/"))
    return view.app.get_blocks()


def searched_for(site: Any, laws: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
    """Status, results and what is taken away of a search that names laws."""
    (search,) = ask_page(site).fns.values()
    assert not search.preprocess
    *_, status, results, taken = search.fn("", "deposit", list(laws), "all", "")
    return str(status), str(results), json.loads(taken) if taken else {}


def years(document: str) -> set[str]:
    """The years of the days that are told; numbers that Gradio makes up are none."""
    return set(re.findall(r"(?:March|mars|September|septembre) (\d{4})\b", document))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", ["/", "/compare", "/law", "/training"])
def test_the_next_reader_is_told_of_the_law_as_it_is_now(
    client: TestClient, tmp_path: Path, path: str, language: Any
) -> None:
    here = address(path, language)
    assert years(client.get(here).text) == {"2025"}
    index(tmp_path, ["Work Code", "Family Code"], AFTER)
    document = client.get(here).text
    assert years(document) == {"2026"}
    if path == "/":
        assert "Family Code" in document
        assert "Housing Code" not in document


def test_what_is_taken_away_names_the_day_of_its_own_law(
    site: Any, client: TestClient, tmp_path: Path
) -> None:
    for laws, day in ((["Work Code"], BEFORE), (["Family Code"], AFTER)):
        *_, taken = searched_for(site, laws)
        kept = json.loads(taken["files"]["json"]["content"])
        assert kept["snapshot"] == day.isoformat()
        assert day.strftime("%Y") in kept["disclaimer"]
        index(tmp_path, ["Work Code", "Family Code"], AFTER)
    file = client.get("/article", params={"id": "a0", "as": "json"}).json()
    assert file["snapshot"] == AFTER.isoformat()


def test_a_law_that_is_gone_is_told_to_who_still_has_it_in_the_fields(
    site: Any, tmp_path: Path
) -> None:
    assert "Housing Code" in searched_for(site, ["Housing Code"])[1]
    index(tmp_path, ["Work Code"], AFTER)
    status, results, taken = searched_for(site, ["Housing Code"])
    assert "The page may be older than the law that is now searched." in status
    assert (results, taken) == ("", {})


def test_an_open_page_that_is_older_than_the_law_is_told_so_after_others_came(
    site: Any, client: TestClient, tmp_path: Path
) -> None:
    (index_,) = ask_page(site).fns
    index(tmp_path, ["Work Code"], AFTER)
    client.get("/")
    data = ["", "deposit", ["Housing Code"], "all", ""]
    assert (
        client.post(JOIN, json={**call_of(), "data": data, "fn_index": index_}).status_code == 200
    )
    told = client.get(DATA, params={"session_hash": "s"}).text
    assert "The page may be older than the law that is now searched." in told
    for laws in ({"path": "/etc/passwd"}, [{"path": "/etc/passwd"}], [1.5], 7):
        wrong = {**call_of(), "data": ["", "deposit", laws, "all", ""], "fn_index": index_}
        assert client.post(JOIN, json=wrong).status_code == 400


def test_nobody_waits_for_a_store_that_answers_another_one_slowly(store: Path) -> None:
    kept, begun, go_on = StatuteDocumentStore(str(store)), threading.Event(), threading.Event()
    slow: list[bool] = []

    def current() -> StatuteDocumentStore:
        if slow:
            begun.set()
            assert go_on.wait(60)
        return kept

    searched = Searched(current)
    slow.append(True)
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(searched)
        assert begun.wait(60)
        assert searched().laws == ("Housing Code", "Work Code")
        go_on.set()
        assert waiting.result() == searched()


def test_a_day_that_is_put_on_record_later_is_told(tmp_path: Path) -> None:
    path = index(tmp_path, ["Code"], None)
    store = StatuteDocumentStore(str(path))
    searched = Searched(lambda: store)
    assert searched().snapshot is None
    version = store.content_version()
    index(tmp_path, ["Code"], AFTER)
    assert store.content_version() == version
    assert searched().snapshot == AFTER.isoformat()


def test_where_the_store_cannot_be_read_what_was_searched_is_told(store: Path) -> None:
    stores = [StatuteDocumentStore(str(store))]
    searched = Searched(lambda: stores[0])
    before = searched()
    stores.clear()
    assert searched() == before
    with pytest.raises(StoreError):
        Searched(lambda: StatuteDocumentStore(str(store.parent / "none" / "law.db")))


def test_another_store_is_another_collection(store: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = StatuteDocumentStore(str(index(tmp_path / "other", ["Family Code"], AFTER)))
    stores = [StatuteDocumentStore(str(store))]
    searched = Searched(lambda: stores[0])
    stores[0] = other
    assert searched().laws == ("Family Code",)


def test_laws_are_read_once_for_each_version(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = StatuteDocumentStore(str(store))
    searched = Searched(lambda: kept)
    monkeypatch.setattr(StatuteDocumentStore, "entries", None)
    assert searched().laws == ("Housing Code", "Work Code")


def test_a_view_is_drawn_anew_only_where_something_changed(
    site: Any, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, drawn = ask_page(site), []
    draw = page.get_config_file
    monkeypatch.setattr(page, "get_config_file", lambda: drawn.append(draw()) or drawn[-1])
    for _ in range(2):
        client.get("/")
    assert len(drawn) == 0
    index(tmp_path, ["Work Code"], AFTER)
    for _ in range(3):
        client.get("/")
    assert len(drawn) == 1


def test_a_day_after_the_laws_own_is_told_where_it_was_asked_for(
    site: Any, client: TestClient
) -> None:
    (search,) = ask_page(site).fns.values()
    for on, open_ in (("2030-01-01", True), ("2025-03-01", False)):
        article = client.get("/article", params={"id": "a0", "on": on}).text
        *_, results, _ = search.fn("", "deposit", [], "all", on)
        for shown in (article, str(results)):
            assert ("The text here is of 1 March 2025" in shown) == open_
        limit = re.search(r'<p class="limit">(States as of .*? 20\d\d\.)( The text)?', str(results))
        assert limit is not None
        assert (limit[2] is not None) == open_

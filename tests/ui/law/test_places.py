import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from small_law import document, in_order, small_law

from components.retrievers.readable import ReadableStore
from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore
from ui import beside
from ui.law import places as places_module
from ui.law.places import Places
from ui.law.reading import Law

MakeStore = Callable[..., ReadableStore]


class Slowly:
    """A store that hands nothing out before it may."""

    def __init__(self, store: ReadableStore) -> None:
        self.store = store
        self.may = threading.Event()
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def keys_matching(self, filters: None) -> Any:
        self.reads += 1
        self.may.wait(30)
        return self.store.keys_matching(filters)


def until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


def test_the_law_is_read_once_for_many_readers(make_store: MakeStore):
    store = Slowly(make_store(small_law()))
    places = Places(lambda: store)
    with ThreadPoolExecutor(16) as pool:
        laws = [pool.submit(places.law, 30) for _ in range(16)]
        store.may.set()
        found = {id(each.result()) for each in laws}
    assert len(found) == 1
    assert store.reads == 1
    assert places.law() is places.law()


def test_nobody_waits_long_for_a_law_that_is_being_read(make_store: MakeStore):
    store = Slowly(make_store(small_law()))
    places = Places(lambda: store)
    places.prepare()
    assert places.law(0.05) is None
    store.may.set()
    until(lambda: places.law() is not None)


def test_citations_come_after_the_tree(make_store: MakeStore, monkeypatch: pytest.MonkeyPatch):
    may = threading.Event()
    read = Law.read_citations

    def late(law: Law, stop: threading.Event) -> None:
        may.wait(30)
        read(law, stop)

    monkeypatch.setattr(Law, "read_citations", late)
    store = make_store(small_law())
    law = Places(lambda: store).law(30)
    assert law is not None and law.citations is None
    assert law.neighbourhood(2, 5).cites == ()
    may.set()
    until(lambda: law.citations is not None)
    assert [each.id for each in law.neighbourhood(2, 5).cites] == ["h1", "w7"]


def test_a_change_of_the_content_is_read(make_store: MakeStore):
    store = make_store(small_law())
    places = Places(lambda: store)
    before = places.law(30)
    target = store if isinstance(store, StatuteDocumentStore) else store._store  # type: ignore[attr-defined]
    target.write_documents([document(8, ("Book III",), position=7)])
    after = places.law(30)
    assert before is not None and after is not None
    assert (len(before.articles), len(after.articles)) == (7, 8)


def test_another_store_is_another_law(tmp_path: Any):
    stores = [StatuteDocumentStore(str(tmp_path / f"{n}.db")) for n in range(2)]
    for number, store in enumerate(stores, start=1):
        store.write_documents(in_order([document(each) for each in range(number)]))
    shown = stores[0]
    places = Places(lambda: shown)
    first = places.law(30)
    shown = stores[1]
    second = places.law(30)
    assert first is not None and second is not None
    assert (len(first.articles), len(second.articles)) == (1, 2)
    assert places.store is stores[1]


def test_a_reading_that_is_out_of_date_is_ended(make_store: MakeStore):
    slow, other = Slowly(make_store(small_law())), make_store([])
    shown: Any = slow
    places = Places(lambda: shown)
    places.prepare()
    reading = places._reading
    assert reading is not None
    shown = other
    places.prepare()
    assert reading.stop.is_set()
    slow.may.set()


def test_what_cannot_be_read_is_told_and_tried_again(make_store: MakeStore):
    store = make_store(small_law())
    works = False

    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def keys_matching(self, filters: None) -> Any:
            if not works:
                raise StoreError("the file is broken")
            return store.keys_matching(filters)

    broken = Broken()
    places = Places(lambda: broken)  # type: ignore[arg-type, return-value]
    with pytest.raises(StoreError, match="broken"):
        places.law(30)
    works = True
    assert places.law(30) is not None


def test_citations_that_cannot_be_read_leave_the_place(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def fails(*_: object) -> None:
        raise StoreError("the file is broken")

    monkeypatch.setattr("ui.law.reading.cross_references", fails)
    store = make_store(small_law())
    law = Places(lambda: store).law(30)
    assert law is not None
    until(lambda: law.unread)
    assert law.citations is None
    assert len(law.neighbourhood(2, 5).siblings) == 3
    until(lambda: "could not be read" in caplog.text)
    assert places_module.logger.name in caplog.text


def test_a_reading_that_goes_on_ends_before_the_process_does(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
):
    begun = threading.Event()

    def endless(_: object, stop: threading.Event) -> None:
        begun.set()
        stop.wait(60)

    ending: list[tuple[Any, ...]] = []
    monkeypatch.setattr("ui.law.reading.Law.read_citations", endless)
    monkeypatch.setattr(beside.atexit, "register", lambda *given: ending.append(given))
    store = make_store(small_law())
    Places(lambda: store).prepare()
    assert begun.wait(30)
    ((end, stop, thread),) = ending
    assert thread.is_alive()
    end(stop, thread)
    assert not thread.is_alive()

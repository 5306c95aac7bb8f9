"""What is opened and loaded, when, how often and where (design.md, section 4)."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest
from component_cases import CASES, STORE, Case, loading_components
from haystack import Pipeline

from components.models import registry
from components.stores.sqlite import StatuteDocumentStore


def slow_loads(case: Case, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thread of each load from now on, every one of which takes its time."""
    assert case.loads is not None
    where, name = case.loads
    threads: list[int] = []
    load = getattr(where, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.get_ident())
        time.sleep(0.05)
        return load(*args, **kwargs)

    # Nothing that another test has loaded may be found.
    monkeypatch.setattr(registry, "_models", WeakValueDictionary())
    monkeypatch.setattr(registry, "_rankers", WeakValueDictionary())
    gc.collect()
    monkeypatch.setattr(where, name, slow)
    return threads


@loading_components
def test_warm_up_loads_once_from_any_number_of_threads(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = slow_loads(case, monkeypatch)
    parameters = {**case.parameters, **({"k1": 0.9} if "k1" in case.parameters else {})}
    components = [make(case, parameters) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda each: each.warm_up(), components * 4))
        list(threads.map(lambda each: each.run(**case.inputs), components * 2))
    components[0].warm_up()
    assert len(loads) == 1


@loading_components
def test_a_pipeline_in_an_event_loop_loads_once_and_beside_the_loop(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = slow_loads(case, monkeypatch)
    pipeline = Pipeline()
    parameters = {**case.parameters, **({"k1": 0.8} if "k1" in case.parameters else {})}
    pipeline.add_component("it", make(case, parameters))

    async def asked() -> None:
        await asyncio.gather(*(pipeline.run_async({"it": case.inputs}) for _ in range(2)))

    asyncio.run(asked())
    assert len(loads) == 1
    assert threading.get_ident() not in loads


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if STORE in case.parameters.values()],
    ids=lambda case: case.kind.__name__,
)
def test_a_closed_pipeline_closes_its_store_and_opens_it_again(
    make: Callable[[Case, dict[str, Any]], Any], case: Case, store_path: str, tmp_path: Path
) -> None:
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    store.write_documents(StatuteDocumentStore(store_path).filter_documents())
    store.close()
    name = next(name for name, value in case.parameters.items() if value == STORE)
    pipeline = Pipeline()
    pipeline.add_component("it", make(case, {**case.parameters, name: store}))
    log = Path(f"{path}-wal")  # stands beside the file as long as that is open

    async def asked() -> Any:
        found = await pipeline.run_async({"it": case.inputs})
        assert log.exists()
        await pipeline.close_async()
        return found

    for _ in range(2):
        found = pipeline.run({"it": case.inputs})
        assert log.exists()
        pipeline.close()
        assert not log.exists()
        assert asyncio.run(asked()) == found
        assert not log.exists()

"""What every engine does alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from haystack.errors import FilterError

from pipelines.asking import ask
from pipelines.loading import load_pipeline


def check_it_gets_places(
    pipeline: str, address: str, index: Callable[..., Any], old: Sequence[dict[str, Any]]
) -> None:
    """A collection of the Housing Code, made before places, is asked and takes law of a place."""
    question = "art. 3 Housing Code, on repairs"
    with closing(load_pipeline(pipeline, store=address)) as loaded:
        assert ask(loaded, question)["documents"]
        with pytest.raises(FilterError, match="no jurisdiction"):
            ask(loaded, question, jurisdiction="us/or")
    city = {**old[0], "id": "city", "law": "City Code", "jurisdiction": "us/or/eugene"}
    state = {**old[0], "id": "state", "law": "State Code", "jurisdiction": "us/or"}
    index([*old, city, state])
    loaded = load_pipeline(pipeline, store=address)
    found = ask(loaded, question, top_k=30, jurisdiction="us/or")["documents"]
    assert {each["id"] for each in found} == {each["id"] for each in (*old, state)}
    assert {each.get("jurisdiction") for each in found} == {None, "us/or"}

"""The view "Ask" as Gradio is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from ui.app import build_page
from ui.collection import Collection
from ui.narrowing import Narrowing


def parts_of(laws: int) -> dict[str, dict[str, Any]]:
    def never(question: str, narrowing: Narrowing) -> dict[str, Any]:
        raise AssertionError((question, narrowing))

    names = tuple(f"Act {number}" for number in range(laws))
    page = build_page(never, Collection(laws, names), ["bm25"])
    return {each["props"].get("elem_id"): each for each in page.get_config_file()["components"]}


@pytest.mark.parametrize("laws", [1, 200])
def test_laws_are_chosen_from_a_list(laws: int):
    parts = parts_of(laws)
    assert parts["laws"]["type"] == "checkboxgroup"
    assert len(parts["laws"]["props"]["choices"]) == laws
    assert "law" not in parts


def test_one_of_very_many_laws_is_named():
    parts = parts_of(201)
    assert parts["law"]["type"] == "textbox"
    assert "all 201 laws are searched" in parts["law"]["props"]["info"]
    assert "laws" not in parts

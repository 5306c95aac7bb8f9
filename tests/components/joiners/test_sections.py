"""StatuteSectionMerger: sub-articles as the section that they are parts of."""

import pytest
from haystack import Document

from components.joiners.sections import StatuteSectionMerger

NUMBERS = ["16", "17(1)", "17(2)", "17(3)", "18(1)", "18(2)", "17"]


@pytest.fixture
def store(store):
    laws = ["Rent Act"] * 6 + ["Work Act"]
    store.write_documents(
        [
            Document(
                id=f"{law[0]}{number}",
                content=f"Rule {number}.",
                meta={"law": law, "number": number, "position": place},
            )
            for place, (law, number) in enumerate(zip(laws, NUMBERS, strict=True))
        ]
    )
    return store


def found(store, *ids):
    documents = {each.id: each for each in store.filter_documents()}
    return [documents[id_] for id_ in ids]


def test_several_of_a_section_become_the_section_in_the_place_of_the_best(store):
    merger = StatuteSectionMerger(store)
    given = found(store, "R16", "R17(3)", "R18(1)", "W17", "R17(1)")
    merged = merger.run(given)["documents"]
    assert [each.id for each in merged] == ["R16", "R17(3)", "R18(1)", "W17"]
    section = merged[1]
    assert section.content == "17(1) Rule 17(1).\n17(2) Rule 17(2).\n17(3) Rule 17(3)."
    assert section.meta["number"] == "17"
    assert section.meta["merged"] == ["R17(1)", "R17(2)", "R17(3)"]
    assert merged[2].content == "Rule 18(1)."
    assert given[1].content == "Rule 17(3)."


def test_fewer_than_asked_for_stay_apart(store):
    given = found(store, "R17(1)", "R17(2)")
    assert StatuteSectionMerger(store, at_least=3).run(given)["documents"] == given


def test_a_part_that_is_not_in_force_is_left_out(store):
    store.update_by_filter(
        {"field": "meta.number", "operator": "==", "value": "17(2)"}, {"valid_to": "2001-01-01"}
    )
    given = found(store, "R17(1)", "R17(3)")
    (section,) = StatuteSectionMerger(store).run(given)["documents"]
    assert section.meta["merged"] == ["R17(1)", "R17(3)"]
    (section,) = StatuteSectionMerger(store).run(given, as_of="any")["documents"]
    assert section.meta["merged"] == ["R17(1)", "R17(2)", "R17(3)"]

"""The definitions that go with found articles, from the store as it is."""

from datetime import date

from haystack import Document

from components.retrievers.definitions import definitions_with
from components.retrievers.resident import readable
from components.retrievers.structure import StructureExpander

DEFINING = "In this Code:\n(a) “rent” means a price;\n(b) “deposit” means money held."
LAW = {"1": DEFINING, "2": "The rent is due.", "3": "The deposit is returned. Rent is due."}


def documents(law="Housing Code", **of_the_first):
    for position, (number, text) in enumerate(LAW.items()):
        meta = {"law": law, "number": number, "position": position, "language": "en"}
        meta |= of_the_first if number == "1" else {}
        yield Document(id=f"{law[0].lower()}{number}", content=text, meta=meta)


def named(definitions):
    return [(each["term"], each["id"], each["used_in"]) for each in definitions]


def test_terms_of_the_found_articles_are_defined_in_their_own_law(make_store):
    housing = [*documents()]
    work = [each for each in documents("Work Code") if each.id != "w1"]
    store = readable(make_store([*housing, *work]))
    (first, *_) = found = definitions_with(store, [housing[2], work[1]])
    assert named(found) == [("deposit", "h1", "h3"), ("rent", "h1", "h3")]
    assert first["text"] == "“deposit” means money held" and first["anchor"] == "pb"
    assert (first["law"], first["number"], "scope" in first) == ("Housing Code", "1", False)
    # Not those of an article that is among the results.
    assert definitions_with(store, housing) == []
    only_others = {"field": "meta.number", "operator": "!=", "value": "1"}
    assert definitions_with(store, housing[1:], filters=only_others) == []


def test_where_passages_were_found_only_their_terms_are_defined(make_store):
    housing = [*documents()]
    store = readable(make_store(housing))
    passage = {"start": 25, "end": 37, "text": "Rent is due.", "score": 0.5}
    third = housing[2]
    third.meta["passages"] = [passage]
    assert named(definitions_with(store, [third])) == [("rent", "h1", "h3")]


def test_a_definition_follows_the_store_and_the_day(make_store):
    housing = [*documents(valid_to="2020-12-31")]
    written = make_store(housing)
    store = readable(written)
    assert len(definitions_with(store, housing[1:], day=date(2020, 1, 1))) == 2
    assert definitions_with(store, housing[1:], day=date(2021, 1, 1)) == []
    written.delete_documents(["h1"])
    assert definitions_with(store, housing[1:]) == []


def test_an_expander_attaches_each_definition_to_the_first_article_that_uses_it(make_store):
    housing = [*documents()]
    expander = StructureExpander(make_store(housing))
    second, third = expander.run(housing[1:])["documents"]
    (rent,) = second.meta["definitions"]
    assert named([rent]) == [("rent", "h1", "h2")]
    assert rent["content"] == DEFINING and rent["language"] == "en"
    assert named(third.meta["definitions"]) == [("deposit", "h1", "h3")]
    assert "definitions" not in housing[1].meta
    (foreign,) = expander.run([Document(id="x", content="rent", meta={"law": "Housing Code"})])[
        "documents"
    ]
    assert foreign.meta["definitions"] == []

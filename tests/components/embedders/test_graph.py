"""The graph embedder takes whole laws, one or all at once, and never part of one silently."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from component_cases import CPU
from haystack import Document

from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.graph import LegislativeGraphEmbedder
from components.models.biencoder import BiEncoder
from components.models.graph import LegislativeGraphEncoder
from components.models.registry import shared_graph, shared_model
from components.statutes.graph import EDGE_KINDS

LAWS = {"Housing Code": "H", "Family Code": "F", "Work Code": "W"}
ARTICLES = 4


def law(name, size=ARTICLES):
    """A law whose articles alternate with the other laws'; its second cites the next law."""
    names = list(LAWS)
    place = names.index(name)
    cited = names[(place + 1) % len(names)]
    made = []
    for number in range(1, ARTICLES + 1):
        text = f"As article 3 of the {cited} says." if number == 2 else f"Rule {number}."
        meta = {"law": name, "number": str(number), "headings": [f"Chapter {number % 2}"]}
        meta["position"] = number * len(names) + place
        if size is not None:
            meta["law_articles"] = size
        made.append(Document(id=f"{LAWS[name]}{number}", content=text, meta=meta))
    return made


def in_order(documents):
    return sorted(documents, key=lambda each: each.meta["position"])


def all_laws(size=ARTICLES):
    return in_order(each for name in LAWS for each in law(name, size))


@pytest.fixture(scope="module")
def models(tmp_path_factory, tiny_encoder):
    """An encoder under a random network over the tree, and under one that follows citations too."""
    folder = tmp_path_factory.mktemp("graphs")
    encoder = BiEncoder.load(str(tiny_encoder), device="cpu")
    made = {}
    for name, kinds in {"tree": EDGE_KINDS[:3], "citing": EDGE_KINDS}.items():
        torch.manual_seed(1)
        network = LegislativeGraphEncoder(32, layers=2, heads=4, init="paper", edge_kinds=kinds)
        made[name] = folder / name
        encoder.save(made[name], kept={"graph": network.save})
    return made


@pytest.fixture(scope="module")
def make(models):
    """`make("tree", store=...)`: an embedder; the models stay loaded meanwhile."""
    held = [
        (shared_model(folder, "cpu", "float32"), shared_graph(folder, "cpu"))
        for folder in models.values()
    ]
    yield lambda model="tree", **options: LegislativeGraphEmbedder(
        str(models[model]), CPU, "float32", progress_bar=False, **options
    )
    del held


@pytest.fixture
def plain(models):
    """The bi-encoder alone."""
    return StatuteDocumentEmbedder(str(models["tree"]), CPU, "float32", progress_bar=False)


@pytest.fixture
def filled(store):
    """All laws as text alone."""
    store.write_documents(all_laws(size=None))
    return store


def vectors(outcome):
    return {each.id: np.float32(each.embedding) for each in outcome["documents"]}


def assert_same(found, expected):
    for id_, vector in vectors(found).items():
        np.testing.assert_allclose(vector, expected[id_], atol=1e-6)


def test_law_by_law_gives_the_vectors_of_all_at_once(make, plain):
    embedder = make()
    outcome = embedder.run(all_laws())
    together, base = vectors(outcome), vectors(plain.run(all_laws()))
    for name in LAWS:
        assert_same(embedder.run(law(name)), together)
    for id_, vector in together.items():
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert np.abs(vector - base[id_]).max() > 1e-3, "the graph moves the vectors"
    for before, after in zip(all_laws(), outcome["documents"], strict=True):
        assert (before.id, before.content, before.meta) == (after.id, after.content, after.meta)
    backwards = make("citing").run(all_laws()[::-1])
    assert [each.id for each in backwards["documents"]] == [each.id for each in all_laws()[::-1]]
    assert_same(backwards, vectors(make("citing").run(all_laws())))
    nothing = embedder.run([])
    assert (nothing["documents"], nothing["meta"]["n_texts"]) == ([], 0)


def test_with_citations_the_store_gives_the_other_laws(make, filled):
    together = vectors(make("citing").run(all_laws()))
    from_store, alone = make("citing", store=filled), make("citing")
    for name in LAWS:
        assert_same(from_store.run(law(name)), together)
        id_ = f"{LAWS[name]}2"
        assert np.abs(vectors(alone.run(law(name)))[id_] - together[id_]).max() > 1e-3
    unresolved = [
        each.run(law("Work Code"))["meta"]["unresolved_citations"] for each in (alone, from_store)
    ]
    assert unresolved == [1, 0]


def test_given_documents_count_before_the_stores(make, filled):
    # Changed texts, the last article gone, and one that moved from another law.
    given = [replace(each, content=f"{each.content} New.") for each in law("Family Code")[:3]]
    moved = law("Work Code")[0]
    given.append(replace(moved, meta={**moved.meta, "law": "Family Code"}))
    filled.delete_documents(["F4"])
    others = [
        replace(each, meta={**each.meta, "law_articles": 3 if each.meta["law"][0] == "W" else 4})
        for each in all_laws()
        if each.meta["law"] != "Family Code" and each.id != "W1"
    ]
    expected = vectors(make("citing").run([*others, *given]))
    assert_same(make("citing", store=filled).run(given), expected)


HOUSING = law("Housing Code")
INCOMPLETE = {
    "one is missing": HOUSING[:3],
    "five are missing": law("Housing Code", size=9),
    "one too many": law("Housing Code", size=3),
    "of unknown size": law("Housing Code", size=None),
    "of two sizes": [*HOUSING[:3], *law("Housing Code", size=5)[3:]],
    "of a size and none": [*HOUSING[:3], *law("Housing Code", size=None)[3:]],
}


@pytest.mark.parametrize("documents", INCOMPLETE.values(), ids=INCOMPLETE)
def test_an_incomplete_law_is_refused(make, documents):
    with pytest.raises(ValueError, match="'Housing Code'"):
        make().run([*law("Work Code"), *documents])


def test_the_store_knows_which_articles_are_missing(make, filled):
    embedder = make(store=filled)
    whole = law("Housing Code", size=None)
    assert_same(embedder.run(whole), vectors(make().run(law("Housing Code"))))
    with pytest.raises(ValueError, match="'H2'"):
        embedder.run([whole[0], whole[2]])
    # One amended article says truly that its source has one article of the law.
    for given in (law("Housing Code", size=1)[2:3], law("Housing Code", size=3)[:3]):
        with pytest.raises(ValueError, match="'H"):
            embedder.run(given)
    filled.delete_documents(["H4"])
    assert len(embedder.run(law("Housing Code", size=3)[:3])["documents"]) == 3

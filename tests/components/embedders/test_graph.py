"""The graph embedder takes whole laws, one or all at once, and never part of one silently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from haystack import Document
from haystack.utils import ComponentDevice

from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.graph import LegislativeGraphEmbedder
from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.graph import LegislativeGraphEncoder
from components.models.registry import shared_graph, shared_model
from components.statutes.graph import EDGE_KINDS
from components.stores.journal import text_digest
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore

CPU = ComponentDevice.from_str("cpu")
LAWS = {"Housing Code": "H", "Family Code": "F", "Work Code": "W"}
ARTICLES = 4


def law(name: str, *, size: int | None = ARTICLES) -> list[Document]:
    """A law whose articles stand in turn with the other laws'; its second cites the next law."""
    names = list(LAWS)
    place = names.index(name)
    cited = names[(place + 1) % len(names)]
    return [
        Document(
            id=f"{LAWS[name]}{number}",
            content=f"As article 3 of the {cited} says." if number == 2 else f"Rule {number}.",
            meta={
                "law": name,
                "number": str(number),
                "headings": [f"Chapter {number % 2}"],
                "position": number * len(names) + place,
                **({} if size is None else {"law_articles": size}),
            },
        )
        for number in range(1, ARTICLES + 1)
    ]


def all_laws(**options: Any) -> list[Document]:
    documents = [each for name in LAWS for each in law(name, **options)]
    return sorted(documents, key=lambda each: each.meta["position"])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> dict[str, Path]:
    """MiniLM under a random network over the tree, and under one that follows citations too."""
    folder = tmp_path_factory.mktemp("graphs")
    encoder = BiEncoder.load(minilm, device="cpu")
    made = {}
    for name, kinds in {"tree": EDGE_KINDS[:3], "citing": EDGE_KINDS}.items():
        torch.manual_seed(1)
        network = LegislativeGraphEncoder(384, layers=2, heads=4, init="paper", edge_kinds=kinds)
        made[name] = folder / name
        encoder.save(made[name], kept={"graph": network.save})
    return made


Make = Callable[..., LegislativeGraphEmbedder]


@pytest.fixture(scope="module")
def make(models: dict[str, Path]) -> Iterator[Make]:
    """`make("tree", store=...)`: an embedder; the models stay loaded meanwhile."""
    held = [
        (shared_model(folder, "cpu", "float32"), shared_graph(folder, "cpu"))
        for folder in models.values()
    ]

    def made(model: str = "tree", **options: Any) -> LegislativeGraphEmbedder:
        return LegislativeGraphEmbedder(
            str(models[model]), CPU, "float32", progress_bar=False, **options
        )

    yield made
    del held


def vectors(documents: list[Document]) -> dict[str, np.ndarray]:
    return {each.id: np.float32(each.embedding or []) for each in documents}


def assert_same(found: list[Document], expected: dict[str, np.ndarray]) -> None:
    for id_, vector in vectors(found).items():
        np.testing.assert_allclose(vector, expected[id_], atol=1e-6)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    """All laws as text alone."""
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(all_laws(size=None))
    yield store
    store.close()


def test_law_by_law_gives_the_vectors_of_all_at_once(make: Make) -> None:
    embedder = make()
    together = embedder.run(all_laws())["documents"]
    assert [each.id for each in together] == [each.id for each in all_laws()]
    assert np.linalg.norm(together[0].embedding or []) == pytest.approx(1, abs=1e-5)
    for name in LAWS:
        assert_same(embedder.run(law(name))["documents"], vectors(together))


def test_with_citations_the_store_gives_the_other_laws(
    make: Make, store: StatuteDocumentStore
) -> None:
    together = vectors(make("citing").run(all_laws())["documents"])
    from_store = make("citing", store=store)
    alone = make("citing")
    for name in LAWS:
        assert_same(from_store.run(law(name))["documents"], together)
        unseen = vectors(alone.run(law(name))["documents"])
        assert np.abs(unseen[f"{LAWS[name]}2"] - together[f"{LAWS[name]}2"]).max() > 1e-3
    assert alone.run(law("Work Code"))["meta"]["unresolved_citations"] == 1
    assert from_store.run(law("Work Code"))["meta"]["unresolved_citations"] == 0


def test_the_laws_that_cite_what_is_embedded_are_named(
    make: Make, store: StatuteDocumentStore
) -> None:
    """Each law cites the next; what is two steps away no layer of these networks reaches."""
    dependent = {
        name: make("citing", store=store).run(law(name))["meta"]["dependent_laws"] for name in LAWS
    }
    assert all(dependent.values())
    changed = law("Family Code")
    changed[2] = replace(changed[2], content="Another rule altogether.")
    before = vectors(make("citing").run(all_laws())["documents"])
    after = vectors(
        make("citing").run(
            sorted(
                [*changed, *law("Housing Code"), *law("Work Code")],
                key=lambda each: each.meta["position"],
            )
        )["documents"]
    )
    moved = {
        name
        for name in LAWS
        for each in law(name)
        if np.abs(before[each.id] - after[each.id]).max() > 1e-5
    }
    assert moved - {"Family Code"} <= set(dependent["Family Code"])
    assert moved - {"Family Code"}
    assert make("tree", store=store).run(law("Family Code"))["meta"]["dependent_laws"] == []


def edited(name: str) -> list[Document]:
    """A law whose texts have changed, that lost its last article and took one of another law."""
    texts = [replace(each, content=f"{each.content} New.") for each in law(name)[:3]]
    moved = replace(law("Work Code")[0], meta={**law("Work Code")[0].meta, "law": name})
    return [*texts, moved]


def test_what_is_given_counts_before_what_the_store_has_of_it(
    make: Make, store: StatuteDocumentStore
) -> None:
    given = edited("Family Code")
    store.delete_documents(["F4"])
    others = [
        replace(each, meta={**each.meta, "law_articles": 3 if each.meta["law"][0] == "W" else 4})
        for each in all_laws()
        if each.meta["law"] != "Family Code" and each.id != "W1"
    ]
    expected = vectors(make("citing").run([*others, *given])["documents"])
    assert_same(make("citing", store=store).run(given)["documents"], expected)


def test_the_order_of_the_documents_is_that_of_their_positions(make: Make) -> None:
    embedder = make("citing")
    expected = vectors(embedder.run(all_laws())["documents"])
    backwards = embedder.run(all_laws()[::-1])["documents"]
    assert [each.id for each in backwards] == [each.id for each in all_laws()[::-1]]
    assert_same(backwards, expected)


def test_the_graph_moves_what_the_bi_encoder_says(make: Make, models: dict[str, Path]) -> None:
    plain = StatuteDocumentEmbedder(str(models["tree"]), CPU, "float32", progress_bar=False)
    base = vectors(plain.run(all_laws())["documents"])
    for id_, vector in vectors(make().run(all_laws())["documents"]).items():
        assert np.abs(vector - base[id_]).max() > 1e-3


INCOMPLETE = [
    (law("Housing Code")[:3], "3 of its 4 articles are given"),
    (law("Housing Code", size=9), "4 of its 9 articles are given"),
    (law("Housing Code", size=3), "4 of its 3 articles are given"),
    (law("Housing Code", size=None), r"nothing says how many articles it has.*law_articles"),
    (
        [*law("Housing Code")[:3], *law("Housing Code", size=5)[3:]],
        r"do not agree on meta.law_articles \(4, 5\)",
    ),
    (
        [*law("Housing Code")[:3], *law("Housing Code", size=None)[3:]],
        r"do not agree on meta.law_articles \(4, None\)",
    ),
]


@pytest.mark.parametrize(("documents", "reason"), INCOMPLETE, ids=range(len(INCOMPLETE)))
def test_a_law_that_is_not_known_to_be_whole_is_refused(
    make: Make, documents: list[Document], reason: str
) -> None:
    with pytest.raises(
        ValueError, match=rf"'Housing Code' is not known to be whole: .*{reason}.*'without_graph'"
    ):
        make().run([*law("Work Code"), *documents])


@pytest.mark.parametrize(("documents", "reason"), INCOMPLETE, ids=range(len(INCOMPLETE)))
def test_or_embedded_without_the_graph_and_flagged(
    make: Make, models: dict[str, Path], documents: list[Document], reason: str
) -> None:
    embedder = make(incomplete_laws="without_graph")
    result = embedder.run([*law("Work Code"), *documents])
    assert list(result["meta"]["without_graph"]) == ["Housing Code"]
    flags = {each.id: each.meta.get("without_graph") for each in result["documents"]}
    assert {id_ for id_, flag in flags.items() if flag} == {each.id for each in documents}
    plain = StatuteDocumentEmbedder(str(models["tree"]), CPU, "float32", progress_bar=False)
    base = vectors(plain.run(documents)["documents"])
    found = vectors(result["documents"])
    for id_, vector in base.items():
        np.testing.assert_allclose(found[id_], vector, atol=1e-6)
    whole = vectors(embedder.run(law("Work Code"))["documents"])
    for id_, vector in whole.items():
        np.testing.assert_allclose(found[id_], vector, atol=1e-6)


def test_the_store_says_which_articles_are_missing(make: Make, store: StatuteDocumentStore) -> None:
    embedder = make(store=store)
    whole = law("Housing Code", size=None)
    assert_same(
        embedder.run(whole)["documents"], vectors(make().run(law("Housing Code"))["documents"])
    )
    with pytest.raises(ValueError, match=r"the store has 2 more articles of it, such as 'H2'"):
        embedder.run([whole[0], whole[2]])
    # One amended article says truly that its source has one article of the law.
    for given in (law("Housing Code", size=1)[2:3], law("Housing Code", size=3)[:3]):
        with pytest.raises(ValueError, match=r"the store has . more articles? of it, such as 'H"):
            embedder.run(given)
    store.delete_documents(["H4"])
    assert embedder.run(law("Housing Code", size=3)[:3])["meta"]["without_graph"] == {}


def test_a_law_that_became_whole_loses_its_flag(make: Make) -> None:
    embedder = make(incomplete_laws="without_graph")
    flagged = embedder.run(law("Work Code")[:3])["documents"]
    assert all(each.meta["without_graph"] for each in flagged)
    whole = embedder.run([*flagged, law("Work Code")[3]])["documents"]
    assert not any("without_graph" in each.meta for each in whole)


def test_vectors_that_the_store_knows_are_not_encoded_again(
    make: Make, models: dict[str, Path], store: StatuteDocumentStore
) -> None:
    embedder = make(store=store)
    first = embedder.run(law("Work Code"))
    assert first["meta"]["n_texts"] == 4 + 3  # articles, title, two chapters
    encoder = shared_model(models["tree"], "cpu", "float32")
    texts = ["Work Code", "Chapter 0", "Chapter 1", "Chapter 1 Rule 1."]
    known = dict(zip(map(text_digest, texts), encoder.encode_articles(texts).numpy(), strict=True))
    store.publisher.record_model(StoreModel("m", "graph", 384, "headings_text", encoder.digest))
    store.journal.keep(encoder.digest, known)
    again = embedder.run(law("Work Code"))
    assert again["meta"]["n_texts"] == 3
    assert_same(again["documents"], vectors(first["documents"]))


def test_nothing_given_is_no_work(make: Make) -> None:
    result = make().run([])
    assert result["documents"] == []
    assert result["meta"]["n_texts"] == 0


def test_inputs_stay_and_run_async_gives_the_same(make: Make) -> None:
    embedder = make()
    documents = law("Work Code")
    found = embedder.run(documents)
    assert documents == law("Work Code")
    assert asyncio.run(embedder.run_async(documents)) == found
    for before, after in zip(documents, found["documents"], strict=True):
        assert (before.id, before.content, before.meta) == (after.id, after.content, after.meta)


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ("a text", TypeError, "StatuteTextEmbedder"),
        ([Document(id="x", meta={"law": "L"})], ValueError, "'x' has no content"),
        ([Document(id="x", content="a")], ValueError, "'x': meta.law is None.*name it"),
        ([Document(id="x", content="a", meta={"law": 3})], ValueError, "'x': meta.law is 3"),
        (law("Work Code") + law("Work Code")[:1], ValueError, "'W1' is given twice"),
    ],
)
def test_what_is_no_law_is_refused_by_name(
    make: Make, documents: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make().run(documents)


def test_a_model_without_a_graph_says_what_to_train(minilm: str) -> None:
    with pytest.raises(ModelError, match=r"has no graph network. Train one.*training.graph"):
        LegislativeGraphEmbedder(minilm, CPU).warm_up()
    with pytest.raises(ModelError, match=r"LegislativeGraphEmbedder\.model is null"):
        LegislativeGraphEmbedder().warm_up()


def test_a_wrong_option_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"incomplete_laws is 'ignore'; it must be 'refuse' or"):
        LegislativeGraphEmbedder(incomplete_laws="ignore")  # type: ignore[arg-type]

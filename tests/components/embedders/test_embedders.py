"""The embedders map questions and documents to a bi-encoder that the process loads once."""

import numpy as np
import pytest
from component_cases import CPU
from haystack import Document

from components.embedders.document import StatuteDocumentEmbedder
from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.text import StatuteTextEmbedder

ROOF = Document(id="a", content="The landlord repairs the roof.", meta={"headings": ["Repairs"]})
SPOUSES = Document(id="b", content="Spouses share the household.")


@pytest.fixture(scope="module", autouse=True)
def embedder(minilm):
    """It keeps one model loaded for all tests of this file."""
    embedder = StatuteTextEmbedder(model=minilm, device=CPU, dtype="float32")
    embedder.warm_up()
    return embedder


@pytest.fixture
def documents_embedder(minilm):
    return StatuteDocumentEmbedder(minilm, CPU, "float32", progress_bar=False)


def test_questions_and_documents_become_unit_vectors(embedder, documents_embedder):
    question = embedder.run("Must my house owner fix a leaking roof?")["embedding"]
    assert len(question) == 384
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-5)
    spaced = embedder.run("  Must my house owner\tfix a leaking roof? ")["embedding"]
    assert spaced == pytest.approx(question, abs=1e-5)
    found = documents_embedder.run([ROOF, SPOUSES])["documents"]
    near, far = (np.array(each.embedding) @ question for each in found)
    assert near > far + 0.2
    for before, after in zip([ROOF, SPOUSES], found, strict=True):
        assert (before.id, before.content, before.meta) == (after.id, after.content, after.meta)
    assert documents_embedder.run([])["documents"] == []


def test_headings_are_encoded_with_the_text(documents_embedder):
    whole = Document(id="c", content="Repairs The landlord repairs the roof.")
    bare = Document(id="d", content=ROOF.content)
    long = Document(id="long", content="roof " * 2000)
    meta = {"headings": [None, "Repairs"], "language": 3}
    odd = [Document(id="odd", content=ROOF.content, meta=meta)]
    outcome = documents_embedder.run([ROOF, whole, bare, long, *odd])
    first, same, other, _, *others = outcome["documents"]
    assert first.embedding != pytest.approx(other.embedding, abs=1e-2)
    for each in (same, *others):
        assert each.embedding == pytest.approx(first.embedding, abs=1e-5)
    assert (outcome["meta"]["n_texts"], outcome["meta"]["n_cut"]) == (5, 1)
    assert outcome["meta"]["tokens_cut"] > 1000
    first, other = StatuteSparseDocumentEmbedder().run([ROOF, *odd])["documents"]
    assert first.sparse_embedding == other.sparse_embedding


def test_the_share_of_an_article_that_is_read(embedder):
    long = (["Repairs"], "roof " * 1000)
    whole, part, nothing = embedder.shares_read(
        [(["Repairs"], ROOF.content), long, (["Repairs " * 400], ROOF.content)]
    )
    assert (whole, nothing) == (1, 0)
    # 256 tokens, of which two are special and one is the heading's.
    assert part == pytest.approx(253 / 1000)
    assert embedder.shares_read([]) == []

"""A graph network's vectors of articles: law by law as all at once, and what each is made of."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from components.models.graph import (
    LegislativeGraphEncoder,
    enriched,
    graph_for,
    node_texts,
    seen_by_articles,
)
from components.models.stored_vectors import text_digest
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS

DIM = 8
TREE = ("self", "down", "up")
NEIGHBOURS = (*TREE, "previous", "next")
LAWS = ("Housing Code", "Family Code", "Work Code", "Tax Code")


def article(law, number, text="", headings=None):
    divisions = ("Title I", f"Chapter {number % 3}") if headings is None else tuple(headings)
    return Article(
        id=f"{law[0]}{number}",
        law=law,
        number=str(number),
        headings=divisions,
        text=text or f"Rule {number} of the {law.split()[0].lower()} officer.",
        language="en",
    )


def law_articles(laws=LAWS[:3], n=7):
    """Laws whose articles stand in turns; each law's second cites the next law's fifth."""
    cited = dict(zip(laws, [*laws[1:], laws[0]], strict=True))
    return [
        article(law, number, f"As article 5 of the {cited[law]} says." if number == 2 else "")
        for number in range(1, n + 1)
        for law in laws
    ]


def network_of(edge_kinds=EDGE_KINDS, layers=3, kind="gatv2"):
    torch.manual_seed(0)
    network = LegislativeGraphEncoder(
        DIM, layers=layers, heads=2, kind=kind, init="paper", edge_kinds=edge_kinds
    )
    return network.eval()


def vector(text):
    seed = int(text_digest(text)[:8], 16)
    made = np.random.default_rng(seed).standard_normal(DIM)
    return np.float32(made / np.linalg.norm(made))


def vectors_of(network, articles):
    """Vectors of all articles by id."""
    corpus = StatuteCorpus(articles)
    graph = graph_for(network, corpus)
    # Base vectors that depend on the text alone.
    base = torch.from_numpy(
        np.stack([vector(text) for text in node_texts(graph, corpus, "headings_text")])
    )
    found = enriched(network, graph, range(len(corpus)), lambda nodes: base[nodes]).numpy()
    return dict(zip((each.id for each in corpus), found, strict=True))


def seen(network, articles):
    corpus = StatuteCorpus(articles)
    graph = graph_for(network, corpus)
    digests = [text_digest(text) for text in node_texts(graph, corpus, "headings_text")]
    colours = seen_by_articles(network, graph, digests)
    return dict(zip((each.id for each in corpus), colours, strict=True))


def changed(network, before, after):
    """Articles that see something else than before."""
    old, new = seen(network, before), seen(network, after)
    return {id_ for id_ in old if id_ in new and old[id_] != new[id_]}


def with_text(articles, id_, text):
    return [replace(each, text=text) if each.id == id_ else each for each in articles]


def test_a_changed_text_is_seen_in_its_law_and_no_further_than_the_layers():
    before = law_articles(LAWS, 7)
    after = with_text(before, "F5", "Everything is otherwise.")
    family = {each.id for each in before if each.law == "Family Code"}
    # Three layers: over the article's chapter to its sisters, not to another chapter's articles.
    tree = changed(network_of(TREE), before, after)
    assert {"F5", "F2"} <= tree < family
    # Housing's article 2 cites it, and its sisters in the chapter are two steps further.
    cites = changed(network_of(EDGE_KINDS, 1), before, after)
    assert cites == {"F4", "F5", "F6", "H2"}
    assert changed(network_of(EDGE_KINDS, 3), before, after) >= {"H2", "H5", *cites}
    assert not {"W1", "W2", "T1"} & changed(network_of(EDGE_KINDS, 1), before, after)


def edited(chance, articles):
    """One random change of a corpus."""
    articles = list(articles)
    place = chance.randrange(len(articles))
    what = chance.choice(["text", "cite", "heading", "remove", "insert", "move", "law"])
    here = articles[place]
    if what == "text":
        articles[place] = replace(here, text=f"{here.text} Again.")
    elif what == "cite":
        law = chance.choice(LAWS)
        articles[place] = replace(here, text=f"See article {chance.randint(1, 6)} of the {law}.")
    elif what == "heading":
        articles[place] = replace(here, headings=("Title II",))
    elif what == "remove":
        del articles[place]
    elif what == "insert":
        articles.insert(place, article(chance.choice(LAWS), 100 + chance.randrange(900)))
    elif what == "move":
        articles.append(articles.pop(place))
    else:
        articles[place] = replace(here, law=chance.choice(LAWS))
    return articles


@given(
    seed=st.integers(0, 10**6),
    kinds=st.sampled_from([TREE, NEIGHBOURS, EDGE_KINDS]),
    layers=st.integers(1, 3),
    kind=st.sampled_from(["gatv2", "gcn"]),
)
def test_who_sees_the_same_has_the_same_vector(seed, kinds, layers, kind):
    chance = random.Random(seed)
    before = law_articles(LAWS, 6)
    after = edited(chance, edited(chance, before))
    network = network_of(kinds, layers, kind)
    old, new = vectors_of(network, before), vectors_of(network, after)
    colours = seen(network, before), seen(network, after)
    for id_ in old.keys() & new.keys():
        if colours[0][id_] == colours[1][id_]:
            np.testing.assert_allclose(old[id_], new[id_], atol=1e-6)

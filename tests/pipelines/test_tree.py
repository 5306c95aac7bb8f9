"""The picture of an article in its law: the command, the structure, the drawing."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.graph import GraphTensors, LegislativeGraphEncoder, graph_for, node_texts
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS
from pipelines.tree import (
    Neighbourhood,
    draw_picture,
    neighbourhood,
    read_attention,
)


def test_an_article_is_drawn_into_a_file(command, tmp_path):
    out = tmp_path / "tree.html"
    code, printed, said = command(
        "tree", "--corpus", "aldermere", "--article", "housing-12", "--out", out
    )
    assert (code, printed) == (0, "")
    assert f"wrote {out}" in said
    picture = out.read_text("utf-8")
    assert "<title>Article 12, Housing Code of Aldermere (invented)</title>" in picture
    assert "no model was asked" in picture


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--article": "12"}, "--article"),
        ({"--corpus": "absent/law.jsonl"}, "there is no absent/law.jsonl"),
        ({"--model": "/absent/model"}, "/absent/model"),
    ],
)
def test_what_cannot_be_drawn_is_reported(command, tmp_path, changed, message):
    asked = {"--corpus": "aldermere", "--article": "housing-12", "--out": str(tmp_path / "t.html")}
    code, out, err = command("tree", *(part for pair in (asked | changed).items() for part in pair))
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.iterdir())


def test_shares_are_those_of_the_whole_graph_and_add_up(tiny_model, tmp_path):
    aldermere, encoder = StatuteCorpus.read("aldermere"), BiEncoder.load(tiny_model)
    settings = {"kind": "gatv2", "layers": 2, "heads": 2, "edge_kinds": EDGE_KINDS}
    torch.manual_seed(0)
    network = LegislativeGraphEncoder(encoder.dim, init="paper", **settings)
    folder = tmp_path / "model"
    encoder.save(folder, kept={"graph": network.save})
    position = aldermere.position("housing-12")
    lines: list[str] = []
    attention, note = read_attention(aldermere, position, str(folder), lines.append)
    assert attention is not None
    place = neighbourhood(aldermere, position)
    shares = [attention.own, attention.division, attention.previous, attention.next]
    shares += [*attention.cites.values(), *attention.cited_by.values()]
    assert sum(share for share in shares if share is not None) == pytest.approx(1, abs=1e-5)
    assert list(attention.cites) == [each.id for each in place.cites]
    assert list(attention.cited_by) == [each.id for each in place.cited_by]
    assert "last of 2 layers" in note
    assert "mean over 2 heads" in note

    graph = graph_for(network, aldermere)
    encoder = BiEncoder.load(folder)
    features = encoder.encode_articles(list(node_texts(graph, aldermere, "headings_text")))
    everything = network.attention(features, GraphTensors.of(graph, torch.device("cpu")))
    here = graph.article_node(position)
    of_kind = {
        EDGE_KINDS[graph.kind[edge]]: float(everything[edge].mean())
        for edge in (graph.target == here).nonzero()[0]
    }
    expected = [of_kind[each] for each in ("self", "down", "previous")]
    assert shares[:3] == pytest.approx(expected, abs=2e-3)
    # Two layers do not see the whole law.
    (line,) = lines
    assert 0 < int(line.split()[2].replace(",", "")) < graph.n_nodes


def article(number: object, headings: Sequence[str] = ("Book I",), **fields: Any) -> Article:
    given = {"law": "Housing Code", "text": f"Rule {number}.", "language": "en", **fields}
    return Article(f"h{number}", number=str(number), headings=tuple(headings), **given)


def place_of(articles: Sequence[Article], article_id: str) -> Neighbourhood:
    corpus = StatuteCorpus(articles)
    return neighbourhood(corpus, corpus.position(article_id))


def test_the_neighbourhood_is_path_siblings_sequence_and_citations():
    first, second = ("Book I", "Chapter 1. On rent"), ("Book I", "Chapter 2. On repairs")
    small = [
        article(1, first),
        article(2, first),
        article(3, first, text="As article 1 and article 7 Work Code say."),
        article(4, second),
        article(5, second, text="Article 3 holds here too."),
        article(7, ("Part 1",), law="Work Code"),
    ]
    place = place_of(small, "h3")
    assert [(d.label, d.place, d.of, d.articles) for d in place.path] == [
        ("Housing Code", 1, 2, 5),
        ("Book I", 1, 1, 5),
        ("Chapter 1. On rent", 1, 2, 3),
    ]
    assert [each.id for each in place.siblings] == ["h1", "h2", "h3"]
    assert (place.previous, place.next) == (small[1], small[3])
    assert [each.id for each in place.cites] == ["h1", "h7"]
    assert [each.id for each in place.cited_by] == ["h5"]


def test_of_600_siblings_the_nearest_are_drawn_and_the_rest_counted():
    place = place_of([article(n) for n in range(1, 601)], "h300")
    picture = draw_picture(place, None, "No model was asked.")
    rows = re.findall(r'<span class="number" dir="auto">(.*?)</span>', picture)
    assert rows == [f"Article {n}" for n in range(296, 305)]
    assert "295 more articles, Article 1 to Article 295" in picture
    assert "296 more articles, Article 305 to Article 600" in picture

"""Weighted reciprocal rank fusion, worked by hand, with pinned articles above all."""

from copy import deepcopy

import pytest
from haystack import Document, Pipeline
from hypothesis import given
from hypothesis import strategies as st

from components.joiners.rank_fusion import StatuteRankFuser


def listed(ids, **meta):
    return [Document(id=each, content=each, score=9.0, meta=dict(meta)) for each in ids]


def ids(found):
    return "".join(document.id for document in found["documents"])


def ranks(found):
    return {document.id: document.meta["ranks"] for document in found["documents"]}


def scores(found):
    return {each.id: each.score for each in found["documents"]}


def test_scores_by_hand():
    fuser = StatuteRankFuser(stages=["bm25", "dense"], weights={"dense": 2.0}, k=10)
    found = fuser.run(bm25=listed("abc"), dense=listed("cd"))
    highest = 1 / 11 + 2 / 11
    expected = {"c": 1 / 13 + 2 / 11, "d": 2 / 12, "a": 1 / 11, "b": 1 / 12}
    assert ids(found) == "cdab"
    assert scores(found) == pytest.approx({id_: each / highest for id_, each in expected.items()})
    assert ranks(found) == {
        "c": {"bm25": 3, "dense": 1},
        "d": {"dense": 2},
        "a": {"bm25": 1},
        "b": {"bm25": 2},
    }
    first = StatuteRankFuser().run(citation=listed("a"), bm25=listed("a"), dense=listed("a"))
    assert scores(first) == pytest.approx({"a": 1})
    assert StatuteRankFuser().run() == {"documents": []}
    # Equal scores go by stage; a repeated article counts at its best rank.
    assert ids(StatuteRankFuser(["one", "two"]).run(two=listed("ab"), one=listed("cd"))) == "cadb"
    repeated = StatuteRankFuser(["bm25"]).run(bm25=listed("abab"))
    assert ranks(repeated) == {"a": {"bm25": 1}, "b": {"bm25": 2}}


def test_pinned_articles_come_first_with_all_their_ranks():
    found = StatuteRankFuser().run(
        pinned=listed("xy"), citation=listed("zy"), bm25=listed("abx"), dense=listed("ab")
    )
    assert ids(found) == "xyabz"
    assert [document.score for document in found["documents"][:2]] == [1.0, 1.0]
    # What is cited is one list, so no two articles are first in it.
    assert ranks(found)["x"] == {"citation": 1, "bm25": 3}
    assert ranks(found)["y"] == {"citation": 2}
    assert ranks(found)["z"] == {"citation": 3}
    without = StatuteRankFuser(stages=["dense"]).run(pinned=listed("x"), dense=listed("x"))
    assert ranks(without) == {"x": {"citation": 1, "dense": 1}}
    fuser = StatuteRankFuser(top_k=2)
    assert ids(fuser.run(pinned=listed("xyz"), bm25=listed("a"))) == "xy"
    assert ids(fuser.run(pinned=listed("x"), bm25=listed("a"), top_k=5)) == "xa"
    with pytest.raises(ValueError, match="top_k"):
        fuser.run(top_k=-1)


def test_earlier_ranks_stay_and_the_first_list_gives_the_payload():
    earlier = listed("ab", ranks={"bm25": 4, "graph": 2}, law="from reranker")
    fuser = StatuteRankFuser(stages=["bm25", "reranker"])
    found = fuser.run(reranker=earlier, bm25=listed("b", law="from bm25"))
    assert ranks(found) == {
        "b": {"bm25": 1, "graph": 2, "reranker": 2},
        "a": {"bm25": 4, "graph": 2, "reranker": 1},
    }
    assert [each.meta["law"] for each in found["documents"]] == ["from bm25", "from reranker"]
    for odd in ("x", ["bm25", 1], {"bm25": "first"}, 3, None):
        found = StatuteRankFuser(stages=["dense"]).run(dense=listed("a", ranks=odd))
        assert ranks(found) == {"a": {"dense": 1}}


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), min_size=3, max_size=3))
def test_each_article_comes_out_once_with_a_score_up_to_one(lists):
    inputs = {
        stage: [Document(id=each, embedding=[1.0]) for each in listed]
        for stage, listed in zip(("citation", "bm25", "dense"), lists, strict=True)
    }
    before = deepcopy(inputs)
    documents = StatuteRankFuser().run(**inputs)["documents"]
    assert sorted(document.id for document in documents) == sorted(set().union(*lists))
    found = [document.score for document in documents]
    assert found == sorted(found, reverse=True)
    assert all(0 < score <= 1 for score in found)
    assert all(document.embedding is None for document in documents)
    assert inputs == before


def test_stages_are_inputs_in_a_pipeline():
    pipeline = Pipeline()
    pipeline.add_component("fuser", StatuteRankFuser(stages=["bm25", "dense"]))
    stages = {"bm25", "bm25_weight", "dense", "dense_weight"}
    assert set(pipeline.inputs()["fuser"]) == {*stages, "pinned", "query", "top_k", "unanswerable"}
    found = pipeline.run({"fuser": {"dense": listed("a")}})["fuser"]
    assert ranks(found) == {"a": {"dense": 1}}
    nothing = pipeline.run({"fuser": {"dense": listed("a"), "unanswerable": True}})["fuser"]
    assert nothing["documents"] == []
    with pytest.raises(ValueError, match="'graph'"):
        StatuteRankFuser().run(graph=listed("a"))


def test_a_list_counts_as_far_as_its_own_weight_says():
    lists = {"bm25": listed("ab"), "dense": listed("cb")}
    for weight, order in ((1.0, "bac"), (0.5, "bac"), (0.0, "abc")):
        found = StatuteRankFuser(["bm25", "dense"]).run(**lists, dense_weight=weight)
        assert ids(found) == order
    assert found["documents"][2].score == 0
    with pytest.raises(ValueError, match="dense_weight"):
        StatuteRankFuser(["dense"]).run(dense=listed("a"), dense_weight=-0.5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("stages", value) for value in ([], ["a", "a"], ["pinned"], "bm25")),
        *(("weights", value) for value in ({"bm52": 1.0}, {"bm25": 0.0}, {"bm25": "2"}, ["bm25"])),
        ("weights", {"bm25": float("nan")}),
        *(("k", value) for value in (-1, "3")),
        ("top_k", 0),
        *(("full_coverage", {"bm25": value}) for value in (0.0, 1.01, "0.5", float("nan"))),
        *(("full_coverage", value) for value in (0.5, {"bm52": 0.5})),
    ],
)
def test_wrong_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        StatuteRankFuser(**{name: value})


# A list by words counts as far as its first article covers the question

QUESTION = "landlord keeps deposit money"  # four terms


def document(id_, text="", **meta):
    return Document(id=id_, content=text, meta={"language": "en", **meta})


def weighed(**parameters):
    return StatuteRankFuser(["bm25", "dense"], full_coverage={"bm25": 0.5}, **parameters)


@pytest.mark.parametrize(
    ("first", "weight"),
    [
        (document("w", "A landlord."), 0.5),
        (document("w", "The landlord and the deposit."), 1.0),
        (document("w", "A landlord who keeps a deposit of money."), 1.0),
        (document("w", "A horse."), 0.0),
        (document("w", None), 0.0),
        (document("w", "Returned in a month.", headings=["Title 2. Deposits"]), 0.5),
        (document("w", "Landlords", language="xx"), 0.0),
    ],
)
def test_weights_by_coverage(first, weight):
    lists = {"bm25": [first, document("v")], "dense": [document("d"), document("v")]}
    found = scores(weighed(weights={"dense": 2.0}).run(query=QUESTION, **lists))
    highest = (weight + 2) / 11
    expected = {"d": 2 / 11, "v": weight / 12 + 2 / 12, "w": weight / 11}
    assert found == pytest.approx({id_: each / highest for id_, each in expected.items()})

"""python -m pipelines.tree: what it prints, writes and refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from components.stores.sqlite import StatuteDocumentStore
from pipelines import tree

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command; its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = tree.main([str(each) for each in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_an_article_is_drawn_into_a_file(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "tree.svg"
    code, printed, said = command("--corpus", "aldermere", "--article", "housing-12", "--out", out)
    assert (code, printed) == (0, "")
    assert f"wrote {out}" in said
    picture = ElementTree.parse(out).getroot()
    assert picture[0].text == "Article 12, Housing Code of Aldermere (invented)"
    assert "no model was asked" in (picture[1].text or "")


def test_a_model_without_a_graph_network_is_said_in_the_picture(
    command: Command, tiny_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "tree.svg"
    code, _, said = command(
        *("--corpus", "aldermere", "--article", "housing-12", "--out", out, "--model", tiny_model)
    )
    assert code == 0
    assert "no graph network" in said
    assert "no graph network" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--article": "housing-1222"}, "did you mean 'housing-22'"),
        ({"--article": "12"}, "by its id: 'housing-12'"),
        ({"--corpus": "aldermer"}, "did you mean 'aldermere'"),
        ({"--corpus": "absent/law.jsonl"}, "there is no absent/law.jsonl"),
        ({"--out": "tree.png"}, "End the name with .svg"),
        ({"--out": "absent/tree.svg"}, "there is no folder"),
        ({"--model": "/absent/model"}, "/absent/model"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    command: Command, tmp_path: Path, changed: dict[str, str], message: str
) -> None:
    asked = {"--corpus": "aldermere", "--article": "housing-12", "--out": str(tmp_path / "t.svg")}
    code, out, err = command(*(part for pair in (asked | changed).items() for part in pair))
    assert (code, out) == (2, "")
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--article", "a1"),
        ("--article", "a1", "--neighbours"),
        ("--article", "a1", "--corpus", "aldermere"),
        ("--article", "a1", "--corpus", "aldermere", "--out", "t.svg", "--json"),
        ("--article", "a1", "--corpus", "aldermere", "--out", "t.svg", "--store", "law.db"),
        ("--neighbours", "--corpus", "aldermere"),
        ("--neighbours", "--model", "m"),
        ("--neighbours", "--store", "law.db", "--corpus", "aldermere", "--model", "m"),
        ("--neighbours", "--farthest", "0"),
    ],
)
def test_wrong_arguments_end_with_two(command: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert "error:" in err


def test_neighbours_of_a_store_as_json(command: Command, law_store: Path) -> None:
    code, out, _ = command("--neighbours", "--store", law_store, "--farthest", 3, "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["source"], result["articles"], result["laws"]) == (str(law_store), 30, 3)
    assert result["graph"] is False
    assert list(result["sequence"]) == ["1", "2", "3"]
    nearest = result["sequence"]["1"]
    assert nearest["pairs"] == 27  # nine of each law of ten
    assert nearest["interval"][0] <= nearest["mean"] <= nearest["interval"][1]
    assert nearest["above_random"] == pytest.approx(nearest["mean"] - result["random"]["mean"])
    assert sum(each["pairs"] for each in result["tree"].values()) == 3 * 45
    assert result["other_law"]["pairs"] == 300
    assert (result["random"]["pairs"], result["random"]["seed"]) == (435, 0)


def test_neighbours_as_a_table_and_a_plot(
    command: Command, law_store: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "neighbours.png"
    code, out, err = command("--neighbours", "--store", law_store, "--out", plot)
    assert code == 0
    assert "30 articles of 3 laws" in out
    for row in ("next to each other", "siblings (tree 2)", "in different laws", "random pairs"):
        assert row in out
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {plot}" in err


def test_a_corpus_is_encoded_and_gives_the_stores_numbers(
    command: Command, corpus: Path, law_store: Path, minilm: str
) -> None:
    _, stored, _ = command("--neighbours", "--store", law_store, "--json")
    code, out, err = command("--neighbours", "--corpus", corpus, "--model", minilm, "--json")
    assert code == 0
    assert "Encoding 30 articles" in err
    fresh, kept = json.loads(out), json.loads(stored)
    for distance, similarity in kept["sequence"].items():
        assert fresh["sequence"][distance]["mean"] == pytest.approx(similarity["mean"], abs=1e-3)


def test_articles_without_a_vector_are_counted_out(
    command: Command, law_store: Path, tmp_path: Path
) -> None:
    from haystack import Document

    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    vector = np.eye(4, dtype=np.float32)
    meta = [{"law": "Code", "number": str(n), "position": n} for n in range(4)]
    store.write_documents(
        [
            Document(
                id=str(n),
                content="-",
                meta=meta[n],
                embedding=(3 * vector[n % 2]).tolist() if n < 3 else None,
            )
            for n in range(4)
        ]
    )
    store.close()
    code, out, err = command("--neighbours", "--store", tmp_path / "law.db", "--json")
    assert code == 0
    assert "1 articles without a vector are left out" in err
    assert json.loads(out)["sequence"]["2"]["mean"] == pytest.approx(1)  # of unit length by now


@pytest.mark.parametrize(
    ("name", "message"),
    [("text_store", "holds text alone"), ("absent", "There is no store")],
)
def test_a_store_without_vectors_is_refused(
    command: Command, request: pytest.FixtureRequest, tmp_path: Path, name: str, message: str
) -> None:
    store = tmp_path / name if name == "absent" else request.getfixturevalue(name)
    code, out, err = command("--neighbours", "--store", store)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "absent").exists()


def test_a_plot_of_an_unknown_suffix_is_refused_before_work(
    command: Command, law_store: Path
) -> None:
    code, _, err = command("--neighbours", "--store", law_store, "--out", "n.xyz")
    assert code == 2
    assert "--out n.xyz: the suffix must be one of" in err


def test_a_single_article_has_no_neighbours(
    command: Command,
    write_corpus: Callable[..., Path],
    make_article: Callable[..., object],
    tmp_path: Path,
    tiny_model: Path,
) -> None:
    corpus = write_corpus(tmp_path / "one.jsonl", [make_article(1)])
    code, _, err = command("--neighbours", "--corpus", corpus, "--model", tiny_model)
    assert code == 2
    assert "single article" in err

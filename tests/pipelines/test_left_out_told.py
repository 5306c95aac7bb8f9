"""python -m pipelines.ask tells which articles a question names and its filters leave out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.ask import main
from pipelines.files import pipeline_file
from pipelines.indexing import index_corpus

Asked = Callable[..., tuple[int, str, str]]


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Asked:
    """Asks a question; the exit code, standard output and standard error."""

    def ask(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ask


@pytest.mark.parametrize("others", [0, 1])
def test_an_article_that_is_named_and_was_not_in_force_is_told(
    asked: Asked,
    tmp_path: Path,
    make_article: Callable[..., dict[str, Any]],
    write_corpus: Callable[..., Path],
    others: int,
) -> None:
    articles = [make_article(4, valid_from="2020-01-01"), make_article(1)][: 1 + others]
    store = tmp_path / "law.db"
    corpus = write_corpus(tmp_path / "law.jsonl", articles)
    index_corpus(corpus, store, model="none")
    question = ("art. 4 Work Code", "--store", store)
    code, out, err = asked(*question, "--as-of", "2010-01-31")
    told = "not in force on 31 January 2010: Work Code, 4 (not yet in force; from 1 January 2020)."
    assert f"Named in the question, and {told}" in err
    # To try other words is no advice here.
    assert "Nothing was found" not in err
    assert (code, "Rule 1 " in out) == ((0, True) if others else (1, False))
    code, out, err = asked(*question)
    assert code == 0
    assert "Rule 4 " in out
    assert "not in force" not in err


def test_repealed_law_is_left_out_and_its_other_wordings_are_printed(
    asked: Asked,
    tmp_path: Path,
    make_article: Callable[..., dict[str, Any]],
    write_corpus: Callable[..., Path],
) -> None:
    articles = [
        {**make_article(4, valid_to="2019-12-31"), "id": "old"},
        {**make_article(4, valid_from="2020-01-01"), "id": "new"},
        make_article(7, valid_from="2001-01-01", valid_to="2015-06-30"),
    ]
    store = tmp_path / "law.db"
    index_corpus(write_corpus(tmp_path / "law.jsonl", articles), store, model="none")
    code, out, err = asked("art. 4 and art. 7 Work Code", "--store", store)
    assert code == 0
    assert "[new " in out
    assert "[old " not in out
    assert "earlier wording, until 31 December 2019 [old]" in out
    assert "Work Code, 7 (repealed; last day in force 30 June 2015)" in err
    _, out, err = asked("art. 4 and art. 7 Work Code", "--store", store, "--as-of", "any")
    assert out.index("[new ") < out.index("[old ") < out.index("[a7 ")
    assert "later wording, from 1 January 2020 [new]" in out
    assert "not in force" not in err


def test_what_a_files_own_filters_leave_out_is_told(
    asked: Asked, tmp_path: Path, law_store: Path
) -> None:
    file = yaml.safe_load(pipeline_file("lexical").read_text("utf-8"))
    for name in ("citation", "bm25"):
        only = {"field": "meta.law", "operator": "==", "value": "Work Code"}
        file["components"][name]["init_parameters"]["filters"] = only
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(file, sort_keys=False), "utf-8")
    _, _, err = asked("art. 12 Housing Code", "--store", law_store, "--pipeline", own)
    assert "left out by the pipeline's filters: Housing Code, 12." in err

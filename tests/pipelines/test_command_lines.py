"""The command lines: what they print, where, and the code that they end with."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server

from pipelines import ask, calibrate, evaluate, export, index, tree
from pipelines.files import pipeline_file

COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "index": index.main,
    "ask": ask.main,
    "evaluate": evaluate.main,
    "calibrate": calibrate.main,
    "export": export.main,
    "tree": tree.main,
}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command line; its exit code, standard output and standard error."""

    def run(name: str, *arguments: object) -> tuple[int, str, str]:
        try:
            code = COMMANDS[name]([str(each) for each in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines = [
        {"id": "q1", "text": "Who decides on rent?", "relevant": ["a8", "a16"], "split": "test"},
        {"id": "q2", "text": "Who decides on custody?", "relevant": ["a6"], "split": "test"},
        {"id": "q3", "text": "Pets?", "relevant": [], "answerable": False, "split": "test"},
        {"id": "q4", "text": "Who decides on wages?", "relevant": ["a4"], "split": "train"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_help_reads_well(command: Command, name: str) -> None:
    code, out, _ = command(name, "--help")
    assert code == 0
    assert f"python -m pipelines.{name}" in out
    assert "exit status: 0 done, 1 nothing found or a check failed, 2 wrong use, 130 int" in out
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize(
    "arguments",
    [
        ("index",),
        ("index", "--corpus", "aldermere"),
        ("ask",),
        ("ask", "rent", "--top-k", "0"),
        ("ask", "rent", "--top-k", "many"),
        ("ask", "rent", "--topk", "3"),
        ("ask", "rent", "--as-of", "29.2.2024"),
        ("ask", "rent", "--as-of", "2024-W09"),
        ("index", "--corpus", "aldermere", "--store", "law.db", "--snapshot", "20200101"),
        ("ask", "rent", "--generator", "http://localhost:1/v1"),
        ("ask", "rent", "--stor", "law.db"),
        ("evaluate",),
        ("evaluate", "--questions", "aldermere", "--depth", "-1"),
        ("calibrate",),
    ],
)
def test_wrong_arguments_end_with_two(command: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert "error:" in err


@pytest.mark.parametrize("option", ["--store", "--model"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "--corpus", "aldermere", "--store", "law.db"),
        ("ask", "rent"),
        ("evaluate", "--questions", "aldermere"),
        ("calibrate", "--questions", "aldermere"),
        ("tree", "--neighbours"),
    ],
)
def test_an_empty_name_is_refused_by_its_option(
    command: Command, arguments: tuple[str, ...], option: str
) -> None:
    code, out, err = command(*arguments, option, "")
    assert (code, out) == (2, "")
    assert f"argument {option}: is empty; name one" in err


def test_asking_prints_articles_in_their_place(command: Command, law_store: Path) -> None:
    code, out, _ = command("ask", "Who decides on custody?", "--store", law_store, "--top-k", 2)
    assert code == 0
    assert "1. " in out
    assert "\n3. " not in out
    assert "Title I. General provisions › Chapter" in out
    assert "bm25 1" in out
    assert "dense 1" in out


def test_asking_for_an_answer_prints_it_first(command: Command, law_store: Path) -> None:
    asked = ("ask", "Who decides on custody?", "--store", law_store, "--pipeline", "answer_hybrid")
    code, out, _ = command(*asked, "--as-of", "2024-02-29")
    assert code == 0
    assert out.startswith("What the articles say:")
    assert "custody" in out.splitlines()[2]
    with chat_server() as server:
        server.reply = "The officer decides [1]. Go [99]."
        written = ("--generator", server.url, "--generator-model", "scripted")
        code, out, _ = command("ask", "Who decides?", "--store", law_store, *written)
    assert code == 0
    assert "The officer decides [1]." in out
    assert "Go [99] <⚠ not found:" in out


def test_a_pipeline_without_answers_is_told_from_one_with(
    command: Command, law_store: Path
) -> None:
    written = ("--generator", "http://localhost:1/v1", "--generator-model", "none")
    asked = ("ask", "rent", "--store", law_store, "--pipeline", "hybrid")
    code, _, err = command(*asked, *written)
    assert code == 2
    assert "answer_hybrid" in err


def test_asking_prints_json_and_nothing_else(command: Command, law_store: Path) -> None:
    question = "Who decides on custody, art. 999?"
    code, out, err = command("ask", question, "--store", law_store, "--json")
    answer = json.loads(out)
    assert code == 0
    assert f"Named in the question, and not in {law_store}: art. 999." in err
    assert answer["pipeline"] == "hybrid"
    assert len(answer["documents"]) == 10
    assert {"id", "law", "number", "headings", "content"} <= answer["documents"][0].keys()


def test_long_texts_are_cut_with_a_way_to_see_them(
    command: Command,
    tmp_path: Path,
    make_article: Callable[..., dict[str, Any]],
    write_corpus: Callable[..., Path],
) -> None:
    text = "\n".join(f"({n}) The deposit is paid back within {n} days." for n in range(1, 60))
    corpus = write_corpus(tmp_path / "long.jsonl", [make_article(1, text=text)])
    store = tmp_path / "law.db"
    assert command("index", "--corpus", corpus, "--store", store, "--model", "none")[0] == 0
    _, cut, _ = command("ask", "deposit", "--store", store)
    assert "more characters; --full prints them]" in cut
    assert "(59)" not in cut
    _, full, _ = command("ask", "deposit", "--store", store, "--full")
    assert "(59) The deposit" in full


def test_a_store_of_text_alone_is_asked_by_words(command: Command, text_store: Path) -> None:
    code, out, err = command("ask", "custody", "--store", text_store, "--json")
    assert code == 0
    assert json.loads(out)["pipeline"] == "lexical"
    assert "text alone" in err


def test_asking_text_alone_for_meaning_says_what_to_do(command: Command, text_store: Path) -> None:
    code, out, err = command("ask", "custody", "--store", text_store, "--pipeline", "dense")
    assert (code, out) == (2, "")
    assert "--model DIR" in err
    assert "lexarbor[demo]" in err


def test_nothing_found_ends_with_one(command: Command, text_store: Path) -> None:
    code, out, err = command("ask", "zzzz", "--store", text_store)
    assert (code, out) == (1, "")
    assert "Nothing was found" in err


@pytest.mark.parametrize(
    ("question", "message"),
    [("", "empty"), (" \t", "empty"), ("x" * 20_000, "20,000 characters; at most 10,000")],
)
def test_what_is_no_question_ends_with_two(
    command: Command, law_store: Path, question: str, message: str
) -> None:
    code, _, err = command("ask", question, "--store", law_store)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pipeline", "hybird"), "did you mean 'hybrid'"),
        (("--pipeline", "absent/mine.yaml"), "no pipeline file absent/mine.yaml"),
        (("--model", "/absent/model"), "/absent/model"),
        (("--model", "none"), "--model none is for indexing"),
        (
            ("--generator", "localhost:9/v1", "--generator-model", "any"),
            "write it as http://localhost:9/v1.",
        ),
        (("--generator", "/v1", "--generator-model", "any"), "write it as http://v1."),
        (
            ("--generator", "ollama/v1", "--generator-model", "any"),
            "write it as http://ollama/v1.",
        ),
    ],
)
def test_wrong_names_are_said(
    command: Command, law_store: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = command("ask", "rent", "--store", law_store, *arguments)
    assert code == 2
    assert message in err


def test_a_store_that_is_none_is_said(command: Command, tmp_path: Path) -> None:
    assert command("ask", "rent", "--store", tmp_path / "absent.db")[0] == 2
    (tmp_path / "text.db").write_text("no database" * 100)
    code, _, err = command("ask", "rent", "--store", tmp_path / "text.db")
    assert code == 1
    assert "not a Lexarbor store" in err


@pytest.mark.parametrize("arguments", [(), ("--pipeline", "lexical"), ("--pipeline", "hybrid")])
def test_a_store_without_articles_is_an_error(
    command: Command, tmp_path: Path, questions: Path, arguments: tuple[str, ...]
) -> None:
    store = tmp_path / "law.db"
    store.touch()
    asked = ("--questions", questions, "--split", "test")
    for name, wanted in (("ask", ("rent",)), ("evaluate", asked)):
        code, out, err = command(name, *wanted, "--store", store, *arguments)
        assert (code, out) == (1, "")
        assert f"{store} holds no article yet: run python -m pipelines.index" in err
        assert "text alone" not in err


def test_indexing_reports_as_json(command: Command, corpus: Path, tmp_path: Path) -> None:
    store = tmp_path / "law.db"
    arguments = ("--corpus", corpus, "--store", store, "--model", "none", "--json")
    code, out, err = command("index", *arguments)
    assert code == 0
    report = json.loads(out)
    assert (report["articles"], report["laws"], report["model"]) == (30, 3, None)
    assert "text alone" in err


def test_laws_are_added_replaced_and_pruned(
    command: Command, corpus: Path, tmp_path: Path, write_corpus: Any, make_article: Any
) -> None:
    tax = write_corpus(tmp_path / "tax.jsonl", [make_article(40, law="Tax Code")])
    housing = write_corpus(tmp_path / "housing.jsonl", [make_article(3, text="Amended.")])
    arguments = ("--store", tmp_path / "law.db", "--model", "none", "--json")

    def articles(*more: Any) -> int:
        code, out, _ = command("index", *arguments, "--corpus", *more)
        return json.loads(out)["articles"] if code == 0 else -code

    assert articles(corpus) == 30
    assert articles(tax) == 31
    assert articles(housing) == -1
    assert articles(housing, "--prune") == -1
    assert articles(housing, "--replace") == 22
    assert articles(corpus, "--prune") == 30


def test_indexing_through_a_graph_is_said_and_asked_as_any_other(
    command: Command, corpus: Path, questions: Path, tmp_path: Path, tiny_graphs: dict[str, Path]
) -> None:
    store = ("--store", tmp_path / "law.db")
    arguments = ("--corpus", corpus, *store, "--model")
    code, out, err = command("index", *arguments, tiny_graphs["tree"], "--graph")
    assert (code, err.count("error")) == (0, 0)
    assert "vectors of 3 laws computed through the graph; its nodes: 3 law" in out
    code, out, _ = command("index", *arguments, tiny_graphs["tree"], "--json")
    assert json.loads(out)["graph"]["laws_computed"] == 0
    assert command("ask", "Who decides on rent?", *store)[0] == 0
    asked = ("--questions", questions, "--split", "test", "--pipeline", "dense")
    assert command("evaluate", *asked, *store)[0] == 0


def test_a_graph_that_the_model_has_not_ends_with_two(
    command: Command, corpus: Path, tmp_path: Path, tiny_model: Path
) -> None:
    arguments = ("--corpus", corpus, "--store", tmp_path / "law.db", "--graph", "--model")
    for model in (tiny_model, "none"):
        code, out, err = command("index", *arguments, model)
        assert (code, out) == (2, "")
        assert "training.graph" in err


def test_a_bad_corpus_ends_with_one_and_names_the_line(
    command: Command, corpus: Path, tmp_path: Path
) -> None:
    corpus.write_text(corpus.read_text() + "{\n")
    store = tmp_path / "law.db"
    code, _, err = command("index", "--corpus", corpus, "--store", store, "--model", "none")
    assert code == 1
    assert "articles.jsonl:31: " in err
    code, out, err = command(
        "index", "--corpus", corpus, "--store", store, "--model", "none", "--skip-bad"
    )
    assert code == 0
    assert "articles.jsonl:31: " in err
    assert "left out of the corpus: 1 " in out


def test_a_corpus_does_not_steer_the_terminal(
    command: Command, tmp_path: Path, make_article: Any
) -> None:
    source = tmp_path / "articles.jsonl"
    lines = [make_article(1, **{"\x1b]0;owned\x07": 1}), make_article(2, valid_from="\x9b2J")]
    source.write_text("".join(json.dumps(each) + "\n" for each in lines))
    arguments = ("--corpus", source, "--store", tmp_path / "law.db", "--model", "none")
    for more in ((), ("--skip-bad",)):
        _, out, err = command("index", *arguments, *more)
        assert not set("\x1b\x07\x9b") & set(out + err)
    assert "field '\ufffd]0;owned\ufffd'" in err


def test_a_missing_corpus_ends_with_two(command: Command, tmp_path: Path) -> None:
    code, _, err = command("index", "--corpus", tmp_path / "absent", "--store", tmp_path / "law.db")
    assert code == 2
    assert "absent" in err


def test_evaluating_prints_the_promised_json(
    command: Command, law_store: Path, questions: Path, tmp_path: Path
) -> None:
    code, out, err = command(
        "evaluate",
        *("--store", law_store, "--questions", questions, "--split", "test", "--json"),
        *("--compare", "lexical", "--compare", "dense", "--depth", 20),
        *("--run-dir", tmp_path / "runs", "--plot", tmp_path / "recall.png"),
    )
    assert code == 0
    result = json.loads(out)
    assert (result["pipeline"], result["split"], result["depth"]) == ("hybrid", "test", 20)
    assert (result["n_questions"], result["n_unanswerable"]) == (2, 1)
    assert 0 <= result["metrics"]["R@10"] <= 1
    low, high = result["intervals"]["R@10"]
    assert low <= result["metrics"]["R@10"] <= high
    assert set(result["comparison"]) == {"lexical", "dense"}
    compared = result["comparison"]["lexical"]["R@10"]
    assert {"value", "difference", "interval", "p"} <= set(compared)
    assert result["unseen"]["n_questions"] == 2
    lines = (tmp_path / "runs" / "hybrid.trec").read_text().splitlines()
    assert len(lines) == 40
    assert lines[0].split()[1::2] == ["Q0", "1", "hybrid"]
    assert [each["stage"] for each in result["stages"]] == ["bm25", "dense", "fused"]
    assert result["stages"][-1]["metrics"]["R@10"] == result["metrics"]["R@10"]
    for name in ("recall.png", "recall-stages.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    for name in ("recall.png", "recall-stages.png", "recall-stages.svg"):
        assert f"wrote {tmp_path / name}" in err
        assert (tmp_path / name).exists()


def test_evaluating_prints_a_table(command: Command, law_store: Path, questions: Path) -> None:
    arguments = ("--store", law_store, "--questions", questions, "--pipeline", "lexical")
    code, out, _ = command("evaluate", *arguments, "--compare", "dense", "--depth", 10)
    assert code == 0
    assert "lexical, 2 questions of the split 'test' (1 that no article answers left out)" in out
    assert "less dense" in out
    assert f"\n{'stage':<13}R@10 " in out
    assert "\n  less bm25  +0.000 p 1.0000" in out


def test_a_folder_for_runs_that_cannot_be_made_is_said_before_any_question_is_asked(
    command: Command, text_store: Path, questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.evaluating.measure", None)
    arguments = ("--questions", questions, "--store", text_store, "--pipeline", "lexical")
    code, out, err = command("evaluate", *arguments, "--run-dir", questions)
    assert (code, out) == (2, "")
    assert f"--run-dir {questions}: the folder cannot be made" in err


def test_two_pipelines_of_one_name_cannot_be_told_apart(
    command: Command, law_store: Path, questions: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "hybrid.yaml"
    mine.write_bytes(pipeline_file("hybrid").read_bytes())
    arguments = ("--store", law_store, "--questions", questions, "--compare", mine)
    code, _, err = command("evaluate", *arguments)
    assert code == 2
    assert "pipelines are called 'hybrid'" in err


def test_a_question_about_an_unknown_article_is_named(
    command: Command, law_store: Path, questions: Path
) -> None:
    questions.write_text(questions.read_text().replace("a16", "a99"))
    arguments = ("--store", law_store, "--questions", questions, "--pipeline", "lexical")
    code, _, err = command("evaluate", *arguments)
    assert code == 1
    assert "questions.jsonl:1: " in err
    assert "a99" in err


def test_the_module_without_a_command_lists_them() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pipelines"], capture_output=True, text=True, check=True
    )
    for name in COMMANDS:
        assert f"python -m pipelines.{name}" in run.stdout

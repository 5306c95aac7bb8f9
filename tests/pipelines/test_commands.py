"""The command lines: what they print, where, and the code that they end with."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from chat_server import chat_server
from law_files import line, write

from pipelines.checking import pipeline_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def questions(tmp_path) -> Path:
    lines = [
        {"id": "q1", "text": "Who decides on rent?", "relevant": ["a8", "a16"], "split": "test"},
        {"id": "q2", "text": "Who decides on custody?", "relevant": ["a6"], "split": "test"},
        {"id": "q3", "text": "Pets?", "relevant": [], "answerable": False, "split": "test"},
        {"id": "q4", "text": "Who decides on wages?", "relevant": ["a4"], "split": "train"},
    ]
    return write(tmp_path / "questions.jsonl", *map(line, lines))


def test_asking_for_an_answer_prints_it_first(command, law_store):
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


def test_asking_prints_json_and_nothing_else(command, law_store):
    question = "Who decides on custody, art. 999?"
    code, out, err = command("ask", question, "--store", law_store, "--json")
    answer = json.loads(out)
    assert code == 0
    assert f"Named in the question, and not in {law_store}: art. 999." in err
    assert answer["pipeline"] == "hybrid"
    assert len(answer["documents"]) == 10
    assert {"id", "law", "number", "headings", "content"} <= answer["documents"][0].keys()


def test_a_store_of_text_alone_is_asked_by_words(command, text_store):
    code, out, err = command("ask", "custody", "--store", text_store, "--json")
    assert (code, json.loads(out)["pipeline"]) == (0, "lexical")
    assert "by words alone" in err
    code, out, err = command("ask", "zzzz", "--store", text_store)
    assert (code, out) == (1, "")
    assert "Nothing was found" in err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--pipeline", "hybird", "did you mean 'hybrid'"),
        ("--pipeline", "absent/mine.yaml", "no pipeline 'absent/mine.yaml'"),
        ("--model", "/absent/model", "/absent/model"),
        ("--model", "none", "--model none is for indexing"),
        ("--store", "/absent/law.db", "/absent/law.db"),
        ("--generator", "ollama/v1", "http://localhost:11434/v1."),
    ],
)
def test_wrong_names_are_refused(command, law_store, option, value, message):
    more = ("--generator-model", "any") if option == "--generator" else ()
    code, _, err = command("ask", "rent", "--store", law_store, option, value, *more)
    assert code == 2
    assert message in err


@pytest.mark.parametrize("arguments", [(), ("--pipeline", "lexical"), ("--pipeline", "hybrid")])
def test_a_store_without_articles_is_an_error(command, tmp_path, questions, arguments):
    store = tmp_path / "law.db"
    store.touch()
    asked = ("--questions", questions, "--split", "test")
    for name, wanted in (("ask", ("rent",)), ("evaluate", asked)):
        code, out, err = command(name, *wanted, "--store", store, *arguments)
        assert (code, out) == (1, "")
        assert f"{store} holds no article yet: run python -m pipelines.index" in err
        assert "by words alone" not in err


def test_indexing_reports_as_json_and_names_a_bad_line(command, corpus, tmp_path):
    given = ("--corpus", corpus, "--store", tmp_path / "law.db", "--model", "none")
    code, out, err = command("index", *given, "--json")
    report = json.loads(out)
    assert (code, report["articles"], report["laws"], report["model"]) == (0, 30, 3, None)
    assert "text alone" in err
    code, _, err = command("index", *given, "--snapshot", "9999-01-01")
    assert code == 2 and "in the future" in err
    corpus.write_text(corpus.read_text() + "{\n")
    code, _, err = command("index", *given)
    assert code == 1
    assert "articles.jsonl:31: " in err
    code, out, err = command("index", *given, "--skip-bad")
    assert code == 0
    assert "articles.jsonl:31: " in err
    assert "left out of the corpus: 1 " in out


def test_a_corpus_does_not_steer_the_terminal(command, tmp_path, make_article, write_corpus):
    lines = [make_article(1, **{"\x1b]0;owned\x07": 1}), make_article(2, valid_from="\x9b2J")]
    source = write_corpus(tmp_path / "articles.jsonl", lines)
    arguments = ("--corpus", source, "--store", tmp_path / "law.db", "--model", "none")
    for more in ((), ("--skip-bad",)):
        _, out, err = command("index", *arguments, *more)
        assert not set("\x1b\x07\x9b") & set(out + err)
    assert "field '\ufffd]0;owned\ufffd'" in err


def test_evaluating_prints_the_promised_json(command, law_store, questions, tmp_path):
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
    assert [each["stage"] for each in result["stages"]] == ["bm25", "division", "dense", "fused"]
    assert result["stages"][-1]["metrics"]["R@10"] == result["metrics"]["R@10"]
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
    assert f"wrote {tmp_path / 'recall.png'}" in err


def test_what_cannot_be_evaluated_is_refused(command, law_store, questions, tmp_path):
    mine = tmp_path / "hybrid.yaml"
    mine.write_bytes(pipeline_file("hybrid").read_bytes())
    given = ("--store", law_store, "--questions", questions)
    code, _, err = command("evaluate", *given, "--compare", mine)
    assert code == 2
    assert "--compare: " in err
    questions.write_text(questions.read_text().replace("a16", "a99"))
    code, _, err = command("evaluate", *given, "--pipeline", "lexical")
    assert code == 1
    assert "questions.jsonl:1: " in err
    assert "a99" in err


_HANDS_ON = ("pipelines", "__main__.py")


def test_every_command_answers_help(capsys):
    commands = [
        f"{package}.{path.stem}"
        for package in ("pipelines", "training", "ui")
        for path in sorted((ROOT / package).glob("*.py"))
        # `pipelines` itself hands on to the others.
        if '__name__ == "__main__"' in path.read_text("utf-8") and path.parts[-2:] != _HANDS_ON
    ]
    assert {"pipelines.index", "pipelines.ask", "training.cusines", "ui.__main__"} <= set(commands)
    for name in commands:
        with pytest.raises(SystemExit) as ended:
            import_module(name).main(["--help"])
        out = capsys.readouterr().out
        assert ended.value.code == 0
        assert f"python -m {name.removesuffix('.__main__')}" in out
        # The usage breaks no list of choices.
        lines = (line for line in out.splitlines() if "{" not in line)
        assert max(map(len, lines)) <= 100, name

"""Choosing the threshold: which questions are asked, what is written, what is refused."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from components.statutes.corpus import QuestionSet, read_questions
from components.statutes.question import Question
from components.statutes.separation import Decided, Separation, separation
from components.stores.answerability import AnswerThreshold, load_threshold, save_threshold
from components.stores.sqlite import StatuteDocumentStore
from pipelines import calibrate as command_line
from pipelines import calibrating
from pipelines.calibrating import Calibration, calibrate, threshold_record
from pipelines.files import FOLDER, LoadingError

SUBJECTS = ("rent", "repairs", "deposit", "notice", "wages", "leave", "custody", "support")
LAWS = ("Housing", "Work", "Family")
OFF_TOPIC = ("volcanoes", "chess openings", "the moon's orbit", "bread", "jazz", "penguins")


def text_of(n: int) -> str:
    """The very words of article n, which nothing but itself can match as well."""
    return f"Rule {n} on {SUBJECTS[n % 8]}: the {LAWS[n % 3].lower()} officer decides."


def answerable(numbers: Iterable[int]) -> list[Question]:
    return [Question(f"q{n}", text_of(n), (f"a{n}",), "dev") for n in numbers]


def marked(n: int) -> list[Question]:
    texts = [f"What about {topic} in part {part}?" for part in range(9) for topic in OFF_TOPIC]
    return [Question(f"m{each}", texts[each], (), "dev", False) for each in range(n)]


def write(path: Path, questions: Iterable[Question]) -> Path:
    lines = [
        {
            "id": each.id,
            "text": each.text,
            "relevant": list(each.relevant),
            "split": each.split,
            "answerable": each.answerable,
        }
        for each in questions
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def copied(store: Path, target: Path) -> Path:
    with sqlite3.connect(store) as source, sqlite3.connect(target) as copy:
        source.backup(copy)
    return target


@pytest.fixture
def store(law_store: Path, tmp_path: Path) -> Path:
    """A law store of one's own."""
    return copied(law_store, tmp_path / "own.db")


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command; its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = command_line.main([str(each) for each in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def measured(store: Path, questions: list[Question], name: str = "dense") -> Calibration:
    return calibrate(name, QuestionSet(questions), "dev", store=store, model=None)


def kept(store: Path) -> AnswerThreshold | None:
    opened = StatuteDocumentStore(str(store))
    try:
        assert opened.model is not None
        return load_threshold(opened, "dense", opened.model.digest)
    finally:
        opened.close()


def test_enough_marked_questions_are_taken_alone(law_store: Path) -> None:
    found = measured(law_store, [*answerable(range(7, 25)), *marked(20)])
    assert found.how == "marked"
    assert [found.n(kind) for kind in ("answerable", "marked", "taken out")] == [18, 20, 0]
    # The articles' own words against volcanoes: nobody errs.
    assert found.separation.auc == 1
    assert found.separation.held_out.j == 1
    low = max(each.score for each in found.scored if each.kind == "marked")
    high = min(each.score for each in found.scored if each.kind == "answerable")
    assert found.separation.threshold == pytest.approx((low + high) / 2)


def test_repealed_law_is_asked_too(store: Path) -> None:
    opened = StatuteDocumentStore(str(store))
    every = {"field": "meta.position", "operator": ">=", "value": 0}
    opened.update_by_filter(every, {"valid_to": "2001-01-01"})
    opened.close()
    found = measured(store, [*answerable(range(7, 25)), *marked(20)])
    assert [found.n(kind) for kind in ("answerable", "marked")] == [18, 20]


def test_few_marked_questions_are_joined_by_answers_taken_out(law_store: Path) -> None:
    found = measured(law_store, [*answerable(range(7, 25)), *marked(19)])
    assert found.how == "both"
    assert [found.n(kind) for kind in ("answerable", "marked", "taken out")] == [18, 19, 18]


def test_without_marked_questions_all_answers_are_taken_out(law_store: Path) -> None:
    found = measured(law_store, answerable(range(7, 25)))
    assert found.how == "taken out"
    scores: dict[str, dict[str, float]] = {}
    for each in found.scored:
        scores.setdefault(each.question, {})[each.kind] = each.score
    assert len(scores) == 18
    assert all(of["answerable"] > of["taken out"] for of in scores.values())
    assert found.separation.separates


def test_both_askings_of_a_question_are_held_out_together(
    law_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Sequence[str]] = []

    def noted(scores: Any, kinds: Any, groups: Sequence[str]) -> Separation:
        given.append(groups)
        return separation(scores, kinds, groups)

    monkeypatch.setattr(calibrating, "separation", noted)
    questions = answerable(range(7, 25))
    measured(law_store, [*questions, replace(questions[0], id="again", text=text_of(7).upper())])
    assert sorted(Counter(given[0]).values()) == [2] * 17 + [4]


def test_the_record_has_what_was_held_out(law_store: Path) -> None:
    questions = answerable(range(7, 25))
    found = measured(law_store, questions)
    decided = Decided(0.6, 0.7, 0.8, 0.9)
    found = replace(found, separation=replace(found.separation, held_out=decided))
    record = threshold_record(found, "some/where/law.jsonl", QuestionSet(questions), "dev", "ab")
    assert (record.precision, record.recall) == (0.6, 0.7)
    assert (record.nothing_precision, record.nothing_recall) == (0.8, 0.9)
    assert (record.questions, record.corpus_sha256) == ("law.jsonl", "ab")


def test_other_splits_are_not_asked_but_their_answers_go_too(law_store: Path) -> None:
    questions = answerable(range(7, 25))
    alone = measured(law_store, questions)
    # The same question stands in another split, where nearly all articles answer it.
    most = tuple(f"a{n}" for n in [*range(1, 5), *range(7, 29)])
    twice = [replace(questions[0], id="t", relevant=most, split="train")]
    beside = measured(law_store, [*questions, *twice])
    assert len(beside.scored) == len(alone.scored) == 36
    changed = [
        (a.kind, b.score < a.score)
        for a, b in zip(alone.scored, beside.scored, strict=True)
        if a.score != b.score
    ]
    assert changed == [("taken out", True)]


def test_a_question_for_which_nothing_is_left_is_counted_apart(
    tmp_path: Path, make_article: Any, write_corpus: Any, minilm: str
) -> None:
    from pipelines.indexing import index_corpus

    # One division holds all: without it nothing is left.
    articles = [make_article(n, law="Code", headings=["Chapter 1"]) for n in range(1, 13)]
    index_corpus(write_corpus(tmp_path / "law.jsonl", articles), tmp_path / "law.db", model=minilm)
    questions = [*answerable(range(1, 13)), *marked(12)]
    found = measured(tmp_path / "law.db", questions)
    assert found.n_without_score == {"taken out": 12}
    assert found.how == "marked"
    with pytest.raises(LoadingError, match="0 different questions without an answer that got a"):
        measured(tmp_path / "law.db", questions[:12])


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        (marked(20), "0 different questions with an answer in the split 'dev';"),
        (
            answerable(range(1, 10)),
            "9 different questions with an answer in the split 'dev'; 10 are",
        ),
        ([replace(q, text="Who?") for q in answerable(range(1, 25))], "1 different questions with"),
    ],
)
def test_too_few_questions_are_refused(
    law_store: Path, questions: list[Question], message: str
) -> None:
    with pytest.raises(LoadingError, match=message):
        measured(law_store, questions)


def test_a_files_filters_hold_where_answers_are_taken_out(law_store: Path, tmp_path: Path) -> None:
    text = (FOLDER / "dense.yaml").read_text(encoding="utf-8")
    only = "      top_k: 500\n      filters: {field: meta.law, operator: '==', value: Work Code}\n"
    mine = tmp_path / "mine.yaml"
    mine.write_text(text.replace("      top_k: 500\n", only), encoding="utf-8")
    questions = answerable(range(7, 25))
    by_itself, filtered = measured(law_store, questions), measured(law_store, questions, str(mine))
    assert filtered.how == by_itself.how == "taken out"
    best, best_filtered = (
        [each.score for each in found.scored if each.kind == "taken out"]
        for found in (by_itself, filtered)
    )
    assert all(a >= b for a, b in zip(best, best_filtered, strict=True))
    assert best != best_filtered


def test_a_ranker_is_measured_by_its_own_scores(
    law_store: Path, tiny_ranker: Path, tmp_path: Path
) -> None:
    text = (FOLDER / "hybrid_rerank.yaml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.yaml"
    ranker = text.index("  ranker:\n")
    named = text[ranker:].replace("model: null", f"model: {tiny_ranker}", 1)
    mine.write_text(text[:ranker] + named, encoding="utf-8")
    found = measured(law_store, answerable(range(7, 19)), str(mine))
    assert found.scorer.stage == "reranker"
    assert all(0 < each.score < 1 for each in found.scored)


def test_a_score_that_does_not_separate_makes_no_record(law_store: Path) -> None:
    questions = [*answerable(range(7, 25)), *marked(20)]
    turned = [
        replace(q, relevant=() if q.answerable else ("a1",), answerable=not q.answerable)
        for q in questions
    ] + [Question(f"x{n}", text_of(n), (), "dev", False) for n in (1, 2)]
    found = measured(law_store, turned)
    assert found.separation.auc == 0
    with pytest.raises(ValueError, match="does not separate"):
        threshold_record(found, "law.jsonl", QuestionSet(turned), "dev", None)


def test_the_command_writes_what_it_prints(command: Command, store: Path, tmp_path: Path) -> None:
    questions = write(tmp_path / "law.jsonl", answerable(range(7, 25)))
    before = StatuteDocumentStore(str(store)).content_version()
    code, out, err = command("--questions", questions, "--store", store, "--json")
    assert code == 0
    assert f"wrote the threshold of the stage dense into {store}" in err
    result = json.loads(out)
    assert (result["pipeline"], result["stage"], result["split"]) == ("hybrid", "dense", "dev")
    assert result["how"] == "taken out"
    assert list(result["kinds"]) == ["answerable", "taken out"]
    assert result["kinds"]["answerable"]["n"] == 18
    assert result["kinds"]["answerable"]["median"] > result["kinds"]["taken out"]["median"]
    threshold = kept(store)
    assert threshold is not None
    assert threshold.threshold == result["threshold"]
    held_out = result["held_out"]
    assert (threshold.precision, threshold.recall) == (held_out["precision"], held_out["recall"])
    assert threshold.nothing_precision == held_out["nothing_precision"]
    assert threshold.nothing_recall == held_out["nothing_recall"]
    assert (threshold.n_answerable, threshold.n_unanswerable) == (18, 18)
    assert threshold.auc == result["auc"]
    low, high = result["intervals"]["auc"]
    assert 0.5 < low <= result["auc"] <= high <= 1
    assert (threshold.questions, threshold.split, threshold.how) == (
        "law.jsonl",
        "dev",
        "taken out",
    )
    assert threshold.questions_sha256 == read_questions(questions).sha256
    opened = StatuteDocumentStore(str(store))
    assert threshold.corpus_sha256 == opened.publisher.recorded_corpus()
    assert threshold.date == date.today().isoformat()
    assert opened.content_version() == before


def test_the_command_prints_a_table(command: Command, store: Path, tmp_path: Path) -> None:
    questions = write(tmp_path / "law.jsonl", [*answerable(range(7, 25)), *marked(3)])
    code, out, _ = command("--questions", questions, "--store", store, "--pipeline", "dense")
    assert code == 0
    assert out.startswith("dense, best score of the stage 'dense', the split 'dev'\n")
    for start in ("answerable ", "marked ", "taken out ", "threshold 0.", "answered, precision"):
        assert f"\n{start}" in out
    assert "held out   95% interval" in out


def test_no_threshold_is_written_where_none_is_good(
    command: Command, store: Path, tmp_path: Path
) -> None:
    questions = write(tmp_path / "law.jsonl", answerable(range(7, 25)))
    assert command("--questions", questions, "--store", store)[0] == 0
    earlier = kept(store)
    assert earlier is not None
    turned = [
        *(Question(f"x{n}", text_of(n), (), "dev", False) for n in range(1, 25)),
        *(replace(each, relevant=("a1",), answerable=True) for each in marked(20)),
    ]
    code, out, err = command("--questions", write(tmp_path / "no.jsonl", turned), "--store", store)
    assert code == 1
    assert "threshold" in out  # what was measured is shown all the same
    assert "does not tell" in err
    assert "No threshold is written" in err
    assert kept(store) == earlier


def test_the_threshold_of_another_model_is_not_given(store: Path) -> None:
    opened = StatuteDocumentStore(str(store))
    found = measured(store, answerable(range(7, 25)))
    record = threshold_record(found, "aldermere", QuestionSet([]), "dev", None)
    save_threshold(opened, replace(record, model_digest="of another"))
    assert opened.model is not None
    assert load_threshold(opened, "dense", opened.model.digest) is None


def test_pipelines_and_stores_without_a_score_are_refused(
    command: Command, law_store: Path, text_store: Path, tmp_path: Path
) -> None:
    questions = write(tmp_path / "law.jsonl", answerable(range(7, 25)))
    asked = ("--questions", questions, "--store")
    code, out, err = command(*asked, law_store, "--pipeline", "lexical")
    assert (code, out) == (2, "")
    assert "a ranker or one dense retriever" in err
    code, out, err = command(*asked, text_store)
    assert (code, out) == (2, "")
    assert "text alone, no vectors" in err


def test_an_engine_keeps_no_threshold(command: Command, tmp_path: Path) -> None:
    questions = write(tmp_path / "law.jsonl", answerable(range(7, 25)))
    asked = ("--questions", questions, "--store", "http://localhost:6333")
    code, out, err = command(*asked, "--pipeline", "qdrant")
    assert (code, out) == (2, "")
    assert "an engine, which keeps no threshold" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--split", "test"), "It has the splits dev"), (("--pipeline", "hybird"), "did you mean")],
)
def test_wrong_use_is_said(
    command: Command, law_store: Path, tmp_path: Path, arguments: tuple[str, str], message: str
) -> None:
    questions = write(tmp_path / "law.jsonl", answerable(range(7, 25)))
    code, out, err = command("--questions", questions, "--store", law_store, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_questions_on_articles_that_the_store_lacks_are_named(
    command: Command, law_store: Path, tmp_path: Path
) -> None:
    questions = [*answerable(range(7, 25)), Question("q", "Who?", ("a99",), "dev")]
    path = write(tmp_path / "law.jsonl", questions)
    code, _, err = command("--questions", path, "--store", law_store)
    assert code == 1
    assert "law.jsonl:19: " in err

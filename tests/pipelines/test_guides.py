"""Guides by the command lines: kept, shown, marked, listed, calibrated and converted."""

from __future__ import annotations

import json
import shutil

import pytest
from law_files import line, write

from components.retrievers.guides import GuideThreshold, kept_guides, save_threshold
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask, guide_lines
from pipelines.guides import Candidate, best_threshold
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

GUIDE = {
    "id": "rent",
    "language": "en",
    "title": "Your rent goes up",
    "answer": "The officer decides on rent.",
    "when": ["My rent goes up, who decides?", "Rule on rent"],
    "unless": ["My wages go up"],
    "steps": [
        {
            "text": 'Read that "the work officer decides".',
            "article": "a16",
            "deadline": {"days": 14, "from": "the day you got the letter"},
        }
    ],
    "contacts": [{"name": "Legal aid", "telephone": "0800"}],
    "urgent": True,
    "reviewed": {"date": "2020-01-01", "by": "a team"},
}
RULE = {"time_rule": {"article": "a2"}}
QUESTION = "My rent goes up, who decides about rule 16?"


@pytest.fixture
def guides(tmp_path):
    return lambda *records: write(tmp_path / "guides.jsonl", *map(line, records))


@pytest.fixture
def given(request, tmp_path, law_store, text_store):
    """A store with vectors, or of text alone, to write to."""
    path = tmp_path / "given.db"
    shutil.copy({"vectors": law_store, "text": text_store}[request.param], path)
    return path


of_text = pytest.mark.parametrize("given", ["text"], indirect=True)


@pytest.mark.parametrize("given", ["vectors", "text"], indirect=True)
def test_guides_are_kept_shown_and_removed(given, guides, command):
    code, _, said = command("index", "--store", given, "--guides", guides(RULE, GUIDE))
    assert (code, said.splitlines()[-1]) == (0, "1 guide kept")
    asked = ("ask", QUESTION, "--store", given, "--pipeline")
    code, out, _ = command(*asked, "lexical")
    assert out.startswith("What to do: Your rent goes up")
    assert "[Work Code, 16]" in out
    assert "14 days from the day you got the letter, counted under Family Code, 2." in out
    pipeline = load_pipeline("hybrid", given)
    assert ask(pipeline, QUESTION)["guide"]["urgent"] is True
    assert ask(pipeline, "Who has custody?")["guide"] is None
    _, _, said = command("index", "--store", given, "--guides", guides())
    assert "has none now" in said
    _, out, _ = command(*asked, "lexical")
    assert "What to do" not in out


@of_text
def test_situations_to_choose_from_are_shown_with_their_questions(given, guides, command):
    command("index", "--store", given, "--guides", guides(GUIDE))
    store = StatuteDocumentStore(str(given))
    save_threshold(store, "", GuideThreshold(1.5, 0.0))
    asked = ("ask", "My rent goes up. Who decides on that rule?", "--store", given)
    _, out, _ = command(*asked, "--json")
    answer = json.loads(out)
    (situation,) = answer["situations"]
    assert (answer["guide"], situation["id"]) == (None, "rent")
    assert situation["question"] == GUIDE["when"][0]
    _, out, _ = command(*asked)
    assert out.index(GUIDE["title"]) < out.index(GUIDE["when"][0]) < out.index("1. ")


@of_text
def test_a_wrong_file_changes_nothing(given, guides, command, tmp_path, corpus):
    command("index", "--store", given, "--guides", guides(GUIDE))
    path = guides(GUIDE, {**GUIDE, "id": "b", "steps": []})
    code, _, said = command("index", "--store", given, "--guides", path)
    assert code == 1
    assert f"{path}:2: field 'steps'" in said
    assert command("index", "--store", tmp_path / "none.db", "--guides", path)[0] == 2
    new = tmp_path / "new.db"
    model = ("--model", "none", "--guides", path)
    assert command("index", "--corpus", corpus, "--store", new, *model)[0] == 1
    assert not new.exists()
    assert len(kept_guides(StatuteDocumentStore(str(given))).kept) == 1


@of_text
def test_indexing_marks_the_guides_whose_law_changed(
    given, guides, command, tmp_path, articles, write_corpus
):
    command("index", "--store", given, "--guides", guides(GUIDE))
    articles[15]["text"] = articles[15]["text"].replace("decides", "rules")
    changed = write_corpus(tmp_path / "changed.jsonl", articles)
    said = []
    index_corpus(changed, given, model="none", say=said.append)
    assert "1 guide kept; the law has changed under 1" in said
    (kept,) = kept_guides(StatuteDocumentStore(str(given))).kept
    assert list(kept.changed) == ["a16"]
    _, out, _ = command("ask", QUESTION, "--store", given, "--pipeline", "lexical")
    assert f"The law under this changed on {kept.changed['a16']}; being reviewed." in out
    assert GUIDE["answer"] not in out
    _, out, _ = command("guides", "--store", given)
    assert f"rent (en): a16 on {kept.changed['a16']}" in out
    # The same file again is the same review. Its quotation is not in the law any more.
    quoting = {**GUIDE["steps"][0], "text": "Read."}
    again = {**GUIDE, "steps": [quoting]}
    command("index", "--store", given, "--guides", guides(again))
    assert kept_guides(StatuteDocumentStore(str(given))).kept[0].changed
    again["reviewed"] = {"date": "2026-11-28", "by": "a team"}
    command("index", "--store", given, "--guides", guides(again))
    assert not kept_guides(StatuteDocumentStore(str(given))).kept[0].changed


@of_text
def test_the_list_names_what_is_never_found(given, guides, command):
    lost = {**GUIDE, "id": "lost", "when": ["Custody and support of children"]}
    rent = {**GUIDE, "when": [QUESTION]}
    command("index", "--store", given, "--guides", guides(rent, lost))
    code, out, _ = command("guides", "--store", given, "--json")
    listed = json.loads(out)
    assert (code, listed["never_found"], listed["stale"]) == (0, ["lost (en)"], {})
    command("index", "--store", given, "--guides", guides())
    code, _, said = command("guides", "--store", given)
    assert (code, "has no guides" in said) == (2, True)


@of_text
def test_questions_choose_the_threshold(given, guides, command, tmp_path):
    command("index", "--store", given, "--guides", guides(GUIDE))
    path, labels = tmp_path / "questions.jsonl", tmp_path / "labels.jsonl"
    asked = ("guides", "--store", given, "--calibrate", path, "--labels", labels)
    said = "My rent goes up, who decides"

    def ask_about(n):
        rows = [
            {"id": f"q{i}", "text": f"{said} about rule 16 {'now ' * i}?", "relevant": ["a16"]}
            for i in range(n)
        ]
        rows.append({"id": "own", "text": "rule on RENT", "relevant": ["a16"]})
        labelled = [{"question": each["id"], "guide": "rent"} for each in rows]
        rows.append({"id": "w", "text": "My wages: rule 16 on rent?", "relevant": ["a1"]})
        labelled.append({"question": "w", "guide": None})
        write(path, *map(line, rows))
        write(labels, *map(line, labelled))

    ask_about(3)
    code, _, said_then = command(*asked)
    assert (code, "No threshold is written" in said_then) == (1, True)
    assert "questions of the guides themselves: own" in said_then
    ask_about(25)
    code, out, _ = command(*asked, "--json")
    chosen = json.loads(out)
    assert (code, chosen["shown"], chosen["precision"], chosen["coverage"]) == (0, 26, 25 / 26, 1)
    pipeline = load_pipeline("lexical", given)
    assert ask(pipeline, f"{said} about rule 16?")["guide"]
    assert pipeline.get_component("guide").threshold().similarity == chosen["similarity"]


def test_the_threshold_shows_the_most_at_that_precision():
    right = [Candidate(0.3 + n / 100, 0.2, True) for n in range(20)]
    wrong = [Candidate(0.9, 0.0, False)] * 3
    chosen = best_threshold([*right, *wrong, Candidate(0.1, 0.3, False)], 40, 50, "dev")
    assert (chosen.shown, chosen.precision, chosen.coverage) == (20, 1.0, 0.5)
    assert chosen.margin == 0.2
    assert 0.1 < chosen.similarity < 0.3
    assert best_threshold(wrong, 0, 2, "dev") is None


def test_a_spreadsheet_becomes_the_file(command, tmp_path):
    sheet, output = tmp_path / "sheet.csv", tmp_path / "guides.jsonl"
    sheet.write_text(
        "id,language,title,answer,when,step,article,reviewed,reviewed by\n"
        "a,en,T,A.,Why?,Do.,a1,2026-11-01,me\n",
        encoding="utf-8",
    )
    assert command("guides", "--from", sheet, "--output", output)[0] == 0
    assert json.loads(output.read_text())["steps"][0]["article"] == "a1"
    assert command("guides", "--from", sheet, "--output", output)[0] == 2
    assert command("guides", "--from", sheet)[0] == 2


def test_paragraphs_stand_as_the_law_writes_them():
    step = {"text": "Go.", "article": {"id": "a", "law": "Act", "number": "8"}}
    step["passages"] = ["1", "3(a)", "#2"]
    guide = {"title": "T", "answer": "A.", "changed": None, "steps": [step], "contacts": []}
    lines = guide_lines({**guide, "reviewed": {"date": "2026-11-01", "by": "a team"}})
    assert "[Act, 8(1), (3)(a)]" in lines

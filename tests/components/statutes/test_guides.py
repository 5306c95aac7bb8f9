"""Guides: read, refused by file and line, compared with the law, and made from a spreadsheet."""

import json
from copy import deepcopy
from dataclasses import replace
from datetime import date

import pytest

from components.statutes.article import Article
from components.statutes.guides import (
    Guide,
    Guides,
    KeptGuide,
    guides_from_table,
    read_guides,
    read_labels,
)
from components.statutes.sources.reading import CorpusError

TODAY = date(2026, 11, 29)
LAW = [
    Article(
        "h14",
        "Housing Code",
        "14",
        (),
        "(1) The landlord returns the deposit.\n(2) It bears interest of one per cent.",
        valid_from=date(2009, 1, 1),
    ),
    Article("h15", "Housing Code", "15", (), "Repealed text.", valid_to=date(2020, 1, 1)),
    Article("p5", "Code of Procedure", "5", (), "(1) A period begins on the next day."),
]
ARTICLES = {each.id: each for each in LAW}
GUIDE = {
    "id": "deposit",
    "language": "en",
    "title": "Your deposit",
    "answer": 'It comes back with "interest of one per cent".',
    "when": ["Where is my deposit?"],
    "unless": ["How high may a deposit be?"],
    "steps": [
        {
            "text": "Write a <b>letter</b>.",
            "article": "h14",
            "passages": ["1", "2"],
            "deadline": {
                "days": 14,
                "unit": "calendar",
                "from": "the day you left",
                "pauses": False,
            },
        }
    ],
    "contacts": [{"name": "Desk", "telephone": "0800"}],
    "urgent": False,
    "reviewed": {"date": "2026-11-01", "by": "a team"},
}
RULE = {"time_rule": {"article": "p5", "passages": ["1"]}}


def changed(**fields):
    return {**deepcopy(GUIDE), **fields}


def stepping(**fields):
    return changed(steps=[{**deepcopy(GUIDE["steps"][0]), **fields}])


@pytest.fixture
def read(tmp_path):
    def reading(*records):
        path = tmp_path / "guides.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
        return read_guides(path, ARTICLES.get, TODAY)

    return reading


def test_a_guide_is_read_as_written(read):
    file = read(RULE, GUIDE)
    (guide,) = file.guides
    assert guide.to_json() == GUIDE
    assert guide.steps[0].text == "Write a <b>letter</b>."
    assert file.rules[0].passages == ("1",)
    assert read().guides == []


OTHER = changed(id="other", unless=[])


@pytest.mark.parametrize(
    ("records", "line", "field"),
    [
        ([changed(steps=[])], 1, "steps"),
        ([changed(when=[])], 1, "when"),
        ([changed(steeps=[])], 1, "steeps"),
        ([{**GUIDE, "reviewed": {"date": "soon", "by": "x"}}], 1, "reviewed"),
        ([changed(reviewed={"date": "2026-11-30", "by": "a team"})], 1, "reviewed"),
        ([stepping(deadline={"days": -3, "from": "now"})], 1, "steps"),
        ([stepping(deadline={"days": 3})], 1, "steps"),
        ([GUIDE, changed(when=["What?"])], 2, "id"),
        ([GUIDE, {**OTHER, "when": ["where is my DEPOSIT"]}], 2, "when"),
        ([GUIDE, GUIDE], 2, "id"),
        ([changed(unless=["Where is my deposit?"])], 1, "unless"),
        ([stepping(article="h99")], 1, "steps 1"),
        ([stepping(article="h15", passages=[])], 1, "steps 1"),
        ([stepping(passages=["7"])], 1, "steps 1"),
        ([stepping(text='It says "The landlord keeps the deposit".')], 1, "steps 1"),
        ([changed(answer='It says "interest of two per cent".')], 1, "answer"),
        ([{"time_rule": {"article": "h99"}}], 1, "time_rule"),
        ([{"time_rule": {"article": "p5", "working": 5}}], 1, "time_rule"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_line(read, records, line, field):
    with pytest.raises(CorpusError) as caught:
        read(*records)
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (line, field)
    assert problem.file.endswith("guides.jsonl")


def test_a_translation_and_a_counter_example_of_a_sibling_are_no_repeats(read):
    french = changed(language="fr")
    sibling = changed(id="height", when=["How high may a deposit be?"], unless=GUIDE["when"])
    assert len(read(GUIDE, french, sibling).guides) == 3


# Guides that know when their law changed.


def kept(guide=GUIDE, known=None):
    return KeptGuide.new(Guide.model_validate(guide), ARTICLES.get, known)


def compared(each, **fields):
    law = {**ARTICLES, "h14": replace(ARTICLES["h14"], **fields)}
    return each.compared(law.get, TODAY)


def test_a_changed_text_is_marked_from_the_day_that_the_law_names():
    assert not kept().compared(ARTICLES.get, TODAY).changed
    assert not compared(kept(), text=ARTICLES["h14"].text.replace("\n", "  ")).changed
    assert compared(kept(), text="New.").changed == {"h14": TODAY.isoformat()}
    since = {"text": "New.", "valid_from": date(2026, 11, 10)}
    assert compared(kept(), **since).changed == {"h14": "2026-11-10"}
    ended = compared(kept(), valid_to=date(2026, 11, 20))
    assert ended.changed == {"h14": "2026-11-20"}
    assert kept().compared({}.get, TODAY).changed == {"h14": TODAY.isoformat()}
    # In force after the review, though the store never had another text.
    assert compared(kept(), valid_from=date(2026, 11, 10)).changed == {"h14": "2026-11-10"}


def test_the_day_on_which_a_change_was_seen_stays():
    seen = kept().model_copy(update={"changed": {"h14": "2026-11-05"}})
    assert compared(seen, text="New.").changed == {"h14": "2026-11-05"}
    assert compared(seen, text=ARTICLES["h14"].text).changed == {}


def test_the_same_review_keeps_its_text_and_a_new_one_takes_the_present():
    old = kept().model_copy(update={"digests": {"h14": "of the text before"}})
    assert kept(known=old).digests == old.digests
    again = changed(reviewed={"date": "2026-11-28", "by": "a team"})
    assert kept(again, old).digests == kept().digests


def test_guides_survive_their_bytes(read):
    file = read(RULE, GUIDE)
    guides = Guides(kept=[kept()], rules=file.rules)
    text = guides.model_dump_json(by_alias=True, exclude_none=True)
    assert Guides.model_validate_json(text) == guides
    assert guides.rule_for("Any Code").article == "p5"
    of_one = guides.rules[0].model_copy(update={"laws": ("Tax Code",)})
    assert Guides(rules=[of_one]).rule_for("Any Code") is None


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"question": "q9", "guide": "deposit"}, "question"),
        ({"question": "q1", "guide": "rent"}, "guide"),
        ({"question": "q1"}, "guide"),
    ],
)
def test_labels_name_the_guides_that_are_right(tmp_path, record, field):
    path = tmp_path / "labels.jsonl"
    right = [{"question": "q1", "guide": each} for each in ("deposit", "keys")]
    right.append({"question": "q2", "guide": None})
    path.write_text("".join(f"{json.dumps(each)}\n" for each in right), encoding="utf-8")
    known = ({"q1", "q2"}, {"deposit", "keys"})
    assert read_labels(path, *known) == {"q1": {"deposit", "keys"}, "q2": set()}
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CorpusError) as caught:
        read_labels(path, *known)
    assert [(each.line, each.field) for each in caught.value.problems] == [(1, field)]


# Spreadsheets

HEADER = (
    "id,language,title,answer,when,unless,urgent,reviewed,reviewed by,"
    "step,article,passages,deadline,from,contact,telephone\n"
)
ROW = (
    'deposit,en,Your deposit,It comes back.,"Where is my deposit?|Deposit, when?",How high?,no,'
    'ISODAY,a team,Write.,h14,"1, 2",14 working days,the day you left,Desk,0800\n'
    ",,,,Still no deposit,,,,,Claim.,p5,,3 months,the reply,,\n"
)


@pytest.fixture
def table(tmp_path):
    def written(text):
        path = tmp_path / "sheet.csv"
        path.write_text(text, encoding="utf-8")
        return guides_from_table(path, TODAY)

    return written


def test_a_row_of_a_spreadsheet_is_a_step(table):
    (guide,) = table(HEADER + ROW.replace("ISODAY", "2026-11-01"))
    assert guide.when == ("Where is my deposit?", "Deposit, when?", "Still no deposit")
    assert [step.article for step in guide.steps] == ["h14", "p5"]
    assert guide.steps[0].passages == ("1", "2")
    assert (guide.steps[0].deadline.days, guide.steps[0].deadline.unit) == (14, "working")
    assert (guide.steps[1].deadline.months, guide.steps[1].deadline.from_) == (3, "the reply")
    assert guide.contacts[0].telephone == "0800"
    assert guide.reviewed.date == date(2026, 11, 1)


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        (HEADER + ROW, 2, "reviewed"),
        (HEADER + ROW.replace("ISODAY", "2026-11-30"), 2, "reviewed"),
        (HEADER + ROW.replace("ISODAY", "2026-11-01").replace("3 months", "soon"), 3, "deadline"),
        (HEADER + ROW.replace("ISODAY", "2026-11-01").replace("3 m", "-3 m"), 3, "deadline"),
        (HEADER + ROW.replace("ISODAY", "2026-11-01").replace(",no,", ",ja,"), 2, "urgent"),
        (HEADER + ROW.splitlines()[1] + "\n", 2, "id"),
        (HEADER.replace("telephone", "phone") + ROW.replace("ISODAY", "2026-11-01"), 1, "phone"),
        ("id;language\n", 1, "id"),
        (HEADER, None, None),
    ],
)
def test_a_wrong_spreadsheet_is_refused(table, text, line, field):
    with pytest.raises(CorpusError) as caught:
        table(text)
    problem = caught.value.problems[0]
    assert (problem.line, problem.field) == (line, field)


@pytest.mark.parametrize(
    ("column", "wrong"), [("article", "artcle"), ("deadline", "dead line"), ("when", "When")]
)
def test_a_misspelt_column_is_named_with_the_one_that_is_meant(table, column, wrong):
    with pytest.raises(CorpusError, match=f"did you mean '{column}'") as caught:
        table(HEADER.replace(f",{column},", f",{wrong},") + ROW.replace("ISODAY", "2026-11-01"))
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (1, wrong)


def test_a_spreadsheet_in_the_wrong_place_is_led_to_the_right_one(tmp_path):
    for name, read, words in (
        ("sheet.csv", lambda path: read_guides(path, {}.get, date(2026, 11, 1)), "--from"),
        ("sheet.XLSX", lambda path: guides_from_table(path, TODAY), "CSV in UTF-8"),
    ):
        (tmp_path / name).write_text(HEADER, encoding="utf-8")
        with pytest.raises(CorpusError, match=words) as caught:
            read(tmp_path / name)
        assert len(caught.value.problems) == 1

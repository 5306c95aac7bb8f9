"""Provisions: an article cut by its own markers, with nothing lost."""

import pytest
from deposit import DEPOSIT
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.provisions import (
    MOST_WORDS,
    anchor_of,
    paragraphs_of,
    piece_end,
    provisions_of,
    word_count,
)

# A text, and the number and the markers of each of its paragraphs.
CASES = {
    "numbered in brackets, with a list": (
        "(1) A rule.\n(2) Who pays:\n(a) one;\n(b) both.\n(3) The end.",
        ["1: (1)", "2: (2) (a) (b)", "3: (3)"],
    ),
    "a title above": ("Safeguards\n1. A rule.\n2. Another.", [": ", "1: 1.", "2: 2."]),
    "a list without paragraphs": (
        "In this Act—\n(a) “day” means a day;\n(b) “hour” means an hour.",
        [":  (a) (b)"],
    ),
    "Germany: numbers below a paragraph, and words after the list": (
        "(1) Zuständig sind\n1. der Bund,\n2. die Länder.\nSie handeln gemeinsam.\n(2) Satz.",
        ["1: (1) 1. 2. ", "2: (2)"],
    ),
    "Switzerland: a figure alone": ("1 Wer stört, haftet.\n2 Er zahlt.", ["1: 1", "2: 2"]),
    "a figure that begins a sentence": ("The period is short.\n30 days are enough.", [": ", ": "]),
    "France: Roman paragraphs over degrees": (
        "I. - Sont élus :\n1° Le maire ;\n2° Ses adjoints.\nII. - Ils siègent.",
        ["I: I. - 1° 2°", "II: II. -"],
    ),
    "France: lines without numbers": (
        "Le juge peut :\n1° Refuser ;\n2° Accepter.\nIl motive sa décision.\nElle est publique.",
        [":  1° 2°", ": ", ": "],
    ),
    "Belgium: paragraphs within a line": (
        "§ 1er. Le bail est écrit. § 2. Il est enregistré. Voir § 1er.",
        ["1er: § 1er.", "2: § 2."],
    ),
    "United States: letters over figures": (
        "(a) In general.\n(1) One.\n(2) Two.\n(b) Exception.\n(h) More.\n(i) Last.",
        ["a: (a) (1) (2)", "b: (b)", "h: (h)", "i: (i)"],
    ),
    "United States: Roman numbers below": (
        "(a) In general:\n(i) one;\n(ii) two.\n(b) Exception.",
        ["a: (a) (i) (ii)", "b: (b)"],
    ),
    "China": (
        "国家发展教育。\n有下列情形：\n（一）甲；\n（二）乙。",
        [": ", ":  （一） （二）"],
    ),
    "Japan": ("前項の規定。\n第二項 甲。\n第三項 乙。", [": ", "第二項: 第二項", "第三項: 第三項"]),
    "circled": ("① 이 법은.\n② 그 법은.", ["①: ①", "②: ②"]),
    "Italy: repeated by an amendment": (
        "1. Uno.\n1-bis. Due.\n2. Tre.",
        ["1: 1.", "1bis: 1-bis.", "2: 2."],
    ),
    "nothing": (" \n", []),
}


@pytest.mark.parametrize("case", CASES)
def test_paragraphs_are_numbered_as_the_article_numbers_them(case):
    text, expected = CASES[case]
    markers = ((each.number, [line.marker for line in each.lines]) for each in paragraphs_of(text))
    found = [f"{number}: {' '.join(each)}" for number, each in markers]
    assert found == expected


def test_labels_name_paragraphs_and_items():
    first, _, third, _ = paragraphs_of(DEPOSIT)
    assert first.labels == {"1"}
    assert third.labels == {"3", "3(a)", "3(b)"}
    (listed,) = paragraphs_of("In this Code:\n(a) one;\n(b) two.")
    assert listed.labels == {"#1", "a", "b"}
    assert anchor_of("(3)(a)") == third.anchor + "a" == "p3a"


def test_a_long_paragraph_is_cut_between_items_and_keeps_what_leads_to_them():
    items = [f"({letter}) {'word ' * 50}item;" for letter in "abcd"]
    text = "\n".join(["(1) The tenant pays for:", *items, "(2) The end."])
    *parts, last = provisions_of(text)
    assert [each.number for each in parts] == ["1", "1"]
    assert [each.anchor for each in parts] == ["p1", "p1c"]
    lead = parts[1].lead
    assert lead is not None and text[slice(*lead)] == "(1) The tenant pays for:"
    assert last.lead is None


MARKS = ("(1)", "1.", "§ 2.", "(a)", "I. -", "①", "第一項", ";", ":", "\n", "\u2028", "\t")
PROSE = ("word", "word. ", "甲乙。", "x" * 5000, "字" * 300, "word " * 130, "word, " * 130)
WORDS = st.lists(st.sampled_from((*MARKS, *PROSE)), max_size=30)


@given(WORDS)
def test_the_provisions_of_a_text_joined_are_the_text(parts):
    text = " ".join(parts)
    for cut in (paragraphs_of, provisions_of):
        lines = [line.span for each in cut(text) for line in each.lines]
        joined = "".join(text[slice(*each)] for each in lines)
        assert "".join(joined.split()) == "".join(text.split())
        assert lines == sorted(lines)
    for each in provisions_of(text):
        assert word_count(text[slice(*each.span)]) <= MOST_WORDS


def test_an_article_of_300_000_characters_is_cut():
    for word in ("word ", "w", "字", "(1) a; ", "a. ", "§ 1. B. "):
        text = word * (300_000 // len(word))
        parts = provisions_of(text)
        assert 60 < len(parts) < 10_000


def test_every_label_of_the_demo_names_a_paragraph():
    texts = {each.id: each.text for each in StatuteCorpus.read("aldermere")}
    labelled = [each for each in read_questions("aldermere") if each.passages]
    assert len(labelled) == 2883
    for question in labelled:
        for article, labels in question.passages.items():
            known = {name for each in provisions_of(texts[article]) for name in each.labels}
            assert known.issuperset(labels), question.id


def pieces(text, most):
    place = 0
    while place < len(text):
        end = piece_end(text, place, most)
        yield text[place:end]
        place = end


PARAGRAPHS = [f"({n}) " + " ".join([f"word{n}"] * (n * 37 % 300 + 1)) + "." for n in range(1, 60)]


@pytest.mark.parametrize("most", [5_000, 12_000])
def test_a_long_article_is_read_in_pieces_of_whole_paragraphs(most):
    text = "\n".join(PARAGRAPHS)
    parts = list(pieces(text, most))
    assert "".join(parts) == text
    assert len(parts) > 3
    assert all(len(part) <= most and part.startswith("(") for part in parts)
    assert [line for part in parts for line in part.splitlines()] == PARAGRAPHS


@pytest.mark.parametrize(
    "text",
    ["word " * 10_000, "法" * 30_000, "(1) A.\n" + "x" * 20_000, "\n" * 15_000 + "A rule.", ""],
    ids=["one paragraph", "no blanks", "no words", "a gap", "nothing"],
)
def test_the_pieces_of_any_article_are_the_whole(text):
    parts = list(pieces(text, 12_000))
    assert "".join(parts) == text
    provisions = {each.span.start for each in provisions_of(text)}
    place = 0
    for part in parts[:-1]:
        place += len(part)
        assert place in provisions

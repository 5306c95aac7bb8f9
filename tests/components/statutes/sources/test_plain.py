"""Running text becomes articles: numbers that run, divisions above them, notes kept apart."""

import gzip
import io
import itertools
import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from components.statutes import StatuteCorpus
from components.statutes.sources import plain
from components.statutes.sources.numbering import candidate, key_of
from components.statutes.sources.opening import open_articles

# Laws as they are published, where they lie next to the repository.
SAMPLES = Path(__file__).resolve().parents[4].parent / "shared" / "data"

CHAPTER = """\
Year Edition: 2025
Chapter 7 -- Barges

TITLE 2
INLAND WATERS

LICENCES

7.010     Definitions

7.015     Licence required

(Moorings)

7.020     Moorings

LICENCES

      7.010 Definitions. As used in this chapter, "barge" has the meaning given in
ORS 7.020. [Formerly 6.705; 1991 c.844 §3]

      7.012 [1987 c.611 §5; repealed by 1993 c.369 §39]

      7.015 Licence required. (1) No one moors a barge without a licence.
      (2) The port may waive it. [1975 c.1 §1]
      Note: 7.015 was added by legislative action.

      Note: The amendments to 7.015 become operative July 1, 2031.

      7.015. (1) No one moors or sails a barge without a licence.

(Moorings)

      7.020 Moorings. The owner keeps three notices:
THIS IS AN IMPORTANT NOTICE
      (1) On the mooring. [1975 c.1 §2]
      Note: Section 9, chapter 4, provides:
      Sec. 9. Barges moored before 1975 need no notice until 1980.
_______________
"""


def read(text, file="law.txt", **options):
    problems = []
    found = [each for _, each in plain.read_text(text, file, problems=problems, **options)]
    return found, [str(each) for each in problems], [p for p in problems if not p.notice]


def numbers(text, **options):
    return [each.number for each in read(text, **options)[0]]


def test_a_chapter_is_read_with_its_divisions_and_what_it_keeps_apart():
    articles, notices, faults = read(CHAPTER, "laws/ORS007.txt.gz", language="en")
    assert not faults
    assert [each.number for each in articles] == ["7.010", "7.015", "7.015", "7.020"]
    assert [each.id for each in articles][1:3] == ["ORS007:7.015", "ORS007:7.015~2"]
    assert {each.law for each in articles} == {"Chapter 7 -- Barges"}
    title = "TITLE 2. INLAND WATERS"
    assert articles[0].headings == (title, "LICENCES")
    assert articles[3].headings == (title, "LICENCES", "(Moorings)")
    first, second, later, last = (each.text.split("\n") for each in articles)
    assert first[0] == "Definitions."
    assert first[1].endswith("ORS 7.020.") or first[2] == "ORS 7.020."
    assert second == [
        "Licence required.",
        "(1) No one moors a barge without a licence.",
        "(2) The port may waive it.",
    ]
    # The note before a second wording says which it is; one that quotes a law stays with it.
    assert later[0].endswith("July 1, 2031.")
    assert last[2] == "THIS IS AN IMPORTANT NOTICE"
    assert last[-1].startswith("Sec. 9.")
    assert "3 divisions; repealed or renumbered, and left out: 7.012." in notices[0]
    assert "repealed or renumbered article (1)" in notices[1]
    assert "line of contents (3)" in notices[1]
    assert "history of a section (4)" in notices[1]


@pytest.mark.parametrize(
    ("heads", "language"),
    [
        (["Article 1", "Article 2", "Article 2 bis", "Article 3"], "fr"),
        (["§ 1 Zweck", "§ 2 Ruder", "§ 2a Segel", "§ 12 Schluss"], "de"),
        (["Artículo 1.- Objeto", "Artículo 2.º Fin", "Artículo 3 bis. Barcas"], "es"),
        (["Art. 1er", "Art. 2.", "Art. 3."], "fr"),
        (["1 § Barcă", "2 § Vâsle", "3 § Port"], "sv"),
        (["第一条", "第二条", "第十条", "第十一条", "第一百零二条"], "zh"),
        (["제1조(목적)", "제2조(정의)", "제2조의2(예외)"], "ko"),
        (["1 straipsnis. Laivas", "2 straipsnis. Uostas"], "lt"),
        (["30.01.010 Policy.", "30.01.020 Intent.", "30.01.100 End."], "en"),
        (["1. Scope", "2. Boats", "2A. Rafts", "3. Ports"], "en"),
        (["# Barge Act", "## Section 1", "## Section 2"], "en"),
        (["**Article 1.** ", "**Article 2.**"], "en"),
    ],
)
def test_numbers_that_run_are_articles_in_any_language(heads, language):
    body = "The owner of a barge keeps two oars and a rope on board at all times."
    text = "".join(f"\n{head}\n{body} ({number}) It floats.\n" for number, head in enumerate(heads))
    own = [head for head in heads if not head.startswith("# ")]
    assert len(numbers(text, language=language)) == len(own)


def test_keys_follow_the_order_of_the_law():
    ordered = ["1er", "2", "2a", "2b", "2 bis", "2 ter", "3", "3-1", "3-2", "10"]
    assert sorted(ordered, key=key_of) == ordered
    assert key_of("第一百零二条") == ((1, 102),)
    assert key_of("XIV") == ((1, 14),)
    assert key_of("L221-1") == key_of("R. 221-1") < key_of("R*221-10")
    assert key_of("70 bis 72") == ((1, 70),)


def test_references_at_the_start_of_a_line_are_text():
    text = """Boats Act

Article 1
The licence under
Article 3 is free. A person named in
Article 2, paragraph 4, keeps it for a year and shows it in the port when asked.

Article 2
Article 1 shall not apply to rafts.
Article 9 of the Ports Act applies to them.

Article 3
The port keeps a list of boats.
"""
    articles, _, faults = read(text, language="en")
    assert not faults
    assert [each.number for each in articles] == ["Article 1", "Article 2", "Article 3"]
    assert "Article 9 of the Ports Act" in articles[1].text
    assert candidate(0, "Article 5, paragraph 2", "en").weight < 0


def test_numbers_start_again_in_a_schedule_and_ids_stay_unique():
    parts = [f"Article {n}\nThe boat number {n} floats on water.\n" for n in (1, 2, 3, 4)]
    text = "Act\n\nPART I\nBoats\n\n" + "\n".join(parts) + "\nPART II\nRafts\n\n" + "\n".join(parts)
    articles, _, _ = read(text, language="en")
    assert [each.number for each in articles] == [f"Article {n}" for n in (1, 2, 3, 4)] * 2
    assert len({each.id for each in articles}) == 8
    assert articles[4].headings == ("PART II. Rafts",)


def test_an_annex_is_an_article_by_its_name():
    text = "Act\n\n§ 1 Zweck\nBoote schwimmen.\n\n§ 2 Ruder\nZwei.\n\nAnlage 1\nListe\n\nRuder.\n"
    articles, _, _ = read(text, language="de")
    assert [each.number for each in articles] == ["§ 1", "§ 2", "Anlage 1"]
    assert articles[2].text == "Liste\nRuder."


def test_what_belongs_to_the_page_is_left_out():
    pages = []
    for page in range(1, 6):
        lines = ["Official Gazette of Boats", f"§ {page} Title {page}", "", f"Text of {page}."]
        lines += ["", "_____", f"{page} See the {'law ' * page}.", f"- {page} -"]
        pages.append("\n".join(lines))
    articles, notices, faults = read("\f".join(pages), language="de")
    assert not faults
    assert [each.text for each in articles] == [f"Title {n}\nText of {n}." for n in range(1, 6)]
    assert any("page header or footer (5)" in each for each in notices)
    assert any("page number (5)" in each and "line of footnotes (5)" in each for each in notices)


def test_wrapped_lines_are_joined_and_hyphens_taken_out():
    lines = """\
The owner of every mooring on a river-
side returns the deposit of the self-
employed tenant within thirty days, and
says in writing what was kept and why.
The riverside tenant who is not a self-employed
fisher of the port has thirty days too.
""".splitlines()
    lines[4:5] = ["The riverside tenant who is not self-", "employed and not of the self-employed"]
    body = " ".join(lines).replace("river- side", "riverside").replace("self- ", "self-")
    text = "Act\n\n" + "\n\n".join(f"§ {n} Deposits\n" + "\n".join(lines) for n in (1, 2, 3))
    articles, notices, _ = read(text, language="de")
    assert articles[0].text.split("\n") == ["Deposits", body]
    assert any("hyphen at a line's end (3)" in each for each in notices)
    # One paragraph a line stays as it is.
    assert (
        read("Act\n\n§ 1 Oars\nOne.\nTwo.\n\n§ 2 Sails\nThree.\n")[0][0].text == "Oars\nOne.\nTwo."
    )


PROSE = "The old man walked along the river and thought of nothing at all while it rained."


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no text"),
        ("\n\f\n", "no text"),
        ("\n\n".join(f"CHAPTER {n}\n\n{PROSE}\n\n{PROSE}" for n in ("I", "II", "III")), "none"),
        (
            "\n\n".join(f"{n}. {PROSE} Article {n * 7 % 5} is named." for n in range(1, 30)),
            "29 lines",
        ),
        (
            "\n".join(f"{PROSE}\nSection {n * 7 % 31} of the Act says so." for n in range(30)),
            "30 lines",
        ),
        ("SALE\n\nBetween A and B.\n\n" + f"{PROSE}\n\n" * 9, "none"),
        (f"{PROSE}\n" * 20_000, "none"),
        (f"{PROSE}\n" * 90 + "Article 1\nBoats float.\nArticle 2\nRafts too.\n", "covers"),
    ],
    ids=["empty", "blank", "novel", "judgment", "references", "contract", "long", "appendix"],
)
def test_what_is_not_law_is_refused_in_one_line(text, named):
    articles, _, faults = read(text)
    assert articles == []
    (fault,) = faults
    assert named in fault.message
    assert "\n" not in str(fault)


def test_any_text_is_read_by_paragraphs_when_asked():
    articles, notices, faults = read(f"A Tale\n\n{PROSE}\n\n{PROSE}", as_paragraphs=True)
    assert not faults
    assert [each.number for each in articles] == ["1", "2", "3"]
    assert {each.headings for each in articles} == {()}
    assert "paragraph (3)" in notices[0]


# Files, folders and standard input.


def test_text_is_opened_by_name_content_or_from_standard_input(tmp_path, monkeypatch):
    content = CHAPTER.encode()
    (tmp_path / "one.txt").write_bytes(content)
    (tmp_path / "two.md.gz").write_bytes(
        gzip.compress(CHAPTER.replace("Chapter 7", "Part 8").encode())
    )
    (tmp_path / "three.text").write_bytes(CHAPTER.replace("Chapter 7", "Ley 9").encode("utf-16"))
    (tmp_path / "README.md").write_text("# Laws\n")
    corpus = StatuteCorpus.read(tmp_path)
    assert len(corpus) == 12
    assert len(corpus.laws) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert len(StatuteCorpus.read("-")) == 4
    native = b'{"id": "a", "law": "L", "number": "1", "headings": [], "text": "T"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(native)))
    assert StatuteCorpus.read("-").ids == ["a"]
    assert len(StatuteCorpus.read(tmp_path / "one.txt", format="paragraphs")) > 12


def test_text_next_to_published_law_is_about_it(tmp_path):
    law = (
        '---\ntitle: "Law"\nidentifier: "L1"\ncountry: "fr"\n---\n# Law\n\n##### Article 1\n\nX.\n'
    )
    (tmp_path / "law.md").write_text(law)
    (tmp_path / "guide.txt").write_text(CHAPTER)
    corpus = StatuteCorpus.read(tmp_path)
    assert corpus.ids == ["fr/L1:1"]


def test_text_in_windows_1252_is_read_and_said_to_be(tmp_path):
    path = tmp_path / "law.txt"
    path.write_bytes("Ley\n\nArtículo 1\nAlgo.\n\nArtículo 2\nMás.\n".encode("cp1252"))
    problems = []
    assert [each.text for _, each in open_articles(path, problems)] == ["Algo.", "Más."]
    assert "read as Windows-1252" in " ".join(map(str, problems))


# A source that marks its headings.

MARKED = """\
# Title 9, Code of Boats

## Part 1. Boats

### A. Hulls

### 1. Wood

**Article 1**

A boat has, of these, one:

1. a hull;

2. two hulls

### 2. Steel

**Article 2**

The oath is: So help me God

(Approved by the Office of Boats in one form only)

{more}

**Article 3**

Rafts | Barges

VI. PUNTS

### B. Oars

**Article 4**

Two oars are kept.
"""


def test_where_the_source_marks_headings_plain_lines_are_text():
    articles, _, _ = read(MARKED.replace("{more}", "That ends it"), language="en")
    part = "Part 1. Boats"
    assert [each.headings for each in articles] == [
        (part, "A. Hulls", "1. Wood"),
        (part, "A. Hulls", "2. Steel"),
        (part, "A. Hulls", "2. Steel"),
        (part, "B. Oars"),
    ]
    assert articles[0].text.endswith("2. two hulls")
    assert articles[1].text.endswith("That ends it")
    assert articles[2].text == "Rafts | Barges\nVI. PUNTS"


def test_headings_of_one_level_stand_by_their_words():
    flat = re.sub("(?m)^(#+|\\*\\*)(.*?)\\**$", r"## \2", MARKED.replace("{more}", ""))
    articles, _, _ = read(flat, language="en")
    assert articles[1].headings == ("Part 1. Boats", "A. Hulls", "2. Steel")


def test_articles_counted_in_words_run_on():
    words = ("veintinueve", "treinta", "treinta y uno", "treinta y dos", "treinta y tres")
    text = "\n\n".join(f"Artículo {word}.\n\nLa barca número {word} flota." for word in words)
    articles, _, _ = read(f"Ley de barcas\n\n{text}", language="es")
    assert [each.number for each in articles] == [*words]


# Published laws flattened to text, and read again.

CHINESE = "中华人民共和国宪法"
ACTS = {
    "en": [("formats/formex/32016R0679.fmx.xml.gz", "{}"), ("formats/uslm/usc-title1.xml", "{}")],
    "fr": [
        ("formats/akn/lu/constitution.xml", "Art. {}."),
        ("formats/legi/json/LEGITEXT000031366350.json.gz", "Article {}"),
    ],
    "de": [
        ("formats/gii/ifsg_BJNR104510000.xml.gz", "{}"),
        ("formats/gii/alg_BJNR189100994.xml.gz", "{}"),
    ],
    "es": [("formats/legalize/es/BOE-A-2015-10565.md", "Artículo {}.")],
    "it": [("formats/akn/it/19410716_041U0633_VIGENZA_20211231.xml.gz", "Art. {}")],
    "fi": [("formats/akn/fi/perustuslaki_731-1999.xml", "{}")],
    "cs": [("formats/legalize/cz/SB-1993-1.md", "Čl. {}")],
    "ko": [("formats/legalize/kr/heonbeop_constitution.md", "{}")],
    "zh": [("stard_zh/articles.jsonl.gz", "{}")],
}
NAMES_ITSELF = re.compile(r"§|Art\.|Article|Sec|Disp|Anlage|\d+ §|제|第")


def articles_of(file):
    """The articles of a law whose places a text can show, or of one of the Chinese laws.

    Annexes have no place among the divisions of a text. Normattiva prints some numbers twice.
    """
    found = (each for _, each in open_articles(SAMPLES / file, []))
    return [
        each
        for each in (itertools.islice(found, 2_000) if file.startswith("stard") else found)
        if not each.number.startswith("Anlage") and not each.text.startswith("Art. ")
        if each.language != "zh" or each.law == CHINESE
    ]


def as_printed(articles, head, form):
    """A law with headings and articles as they are printed: whole, wrapped, or wrapped on pages."""

    def lines(text):
        return [text] if form == "whole" else textwrap.wrap(text, 80, break_on_hyphens=False)

    printed, above = [articles[0].law, ""], ()
    for each in articles:
        same = 0
        while above[same : same + 1] == each.headings[same : same + 1] != ():
            same += 1
        for heading in each.headings[same:]:
            printed += ["", *lines(heading)]
        above = each.headings
        number = each.number if NAMES_ITSELF.match(each.number) else head.format(each.number)
        printed += ["", *lines(number)]
        for paragraph in each.text.split("\n"):
            printed += lines(paragraph)
    if form != "paged":
        return "\n".join(printed)
    pages = [printed[start : start + 48] for start in range(0, len(printed), 48)]
    headers = ("Gazette of Boats", "Laws and orders")
    return "\f".join(
        "\n".join([headers[number % 2], "", *page, "", f"{number + 1}"])
        for number, page in enumerate(pages)
    )


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample laws are not here")
@pytest.mark.parametrize("form", ["whole", "wrapped", "paged"])
@pytest.mark.parametrize("language", ACTS)
def test_a_flattened_law_comes_back(language, form):
    def entries(articles):
        return Counter(
            (each.number, *(" ".join(heading.split()) for heading in each.headings))
            for each in articles
        )

    for file, head in ACTS[language]:
        articles = articles_of(file)
        found, _, faults = read(as_printed(articles, head, form), language=language)
        assert not faults
        right = (entries(articles) & entries(found)).total()
        assert right >= 0.99 * len(articles), file
        assert len(found) <= 1.01 * len(articles)
        letters = [
            sum(len("".join(each.text.split())) for each in law) for law in (articles, found)
        ]
        assert letters[1] == pytest.approx(letters[0], rel=0.01)


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample laws are not here")
def test_the_sections_of_oregon_agree_with_a_count_by_hand():
    # Lines that begin with a section's number, in ORS 90 `grep -cE "^90\.[0-9]{3}"` (208, of which
    # 38 are nothing but a bracket), in ORS 91 those behind the contents (189, of which 165 are).
    counts = {"ORS090": (170, 38), "ORS091": (24, 165)}
    for name, (sections, gone) in counts.items():
        problems = []
        path = SAMPLES / "oregon_us" / f"{name}.txt.gz"
        articles = [each for _, each in open_articles(path, problems)]
        assert len(articles) == sections
        assert f"repealed or renumbered article ({gone})" in str(problems[1])

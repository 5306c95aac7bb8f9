"""Published law, format by format: files and the articles that are read from them."""

import time
from pathlib import Path

import pytest
import yaml

from components.statutes.sources import formex, opening, reading
from components.statutes.sources.reading import TallyNotice

TABLE = yaml.safe_load(Path(__file__).with_name("samples.yaml").read_text("utf-8"))
FRONT = """---
title: "Code des barques"
identifier: "LAW1"
country: "{country}"
source: "https://law.example/LAW1"
---
# Code des barques

"""
COMPARED = ("number", "text", "headings", "valid_from", "valid_to")


def read(path, format=None):
    """The articles of a file, what was counted, and line and field of its faults."""
    problems = []
    articles = [article for _, article in opening.open_articles(path, problems, format)]
    counted = {each.action: each.counts for each in problems if isinstance(each, TallyNotice)}
    return articles, counted, [[each.line, each.field] for each in problems if not each.notice]


@pytest.fixture
def legalize_law(tmp_path):
    def read_body(body, country="fr"):
        path = tmp_path / "law"
        path.write_text(FRONT.format(country=country) + body, "utf-8")
        return read(path)

    return read_body


@pytest.mark.parametrize("sample", TABLE["samples"], ids=lambda sample: sample["is"])
def test_a_file_has_its_articles(tmp_path, sample):
    content = sample.get("file")
    if content is None and sample["format"] == "legalize":
        content = FRONT.format(country=sample["country"]) + sample["body"]
    elif content is None:
        content = TABLE["shells"][sample["format"]].replace("{body}", sample["body"])
    path = tmp_path / "law"
    path.write_text(content, "utf-8")
    articles, counted, faults = read(path, sample.get("read as"))
    expected = sample.get("articles", [])
    found = [
        {
            name: value
            for name, value in article.to_json().items()
            if value and name in {*COMPARED, *wanted}
        }
        for article, wanted in zip(articles, expected, strict=True)
    ]
    assert found == expected
    assert (counted, faults) == (sample.get("counted", {}), sample.get("faults", []))


@pytest.mark.parametrize(("country", "printed", "number", "title"), TABLE["headings"])
def test_headings_of_articles(legalize_law, country, printed, number, title):
    words = "Words of the law about boats on the river."
    (article,), *_ = legalize_law(f"{printed}\n\n{words}\n", country)
    assert article.number == number
    assert article.text == (f"{title}\n{words}" if title else words)


@pytest.mark.parametrize(("country", "lines", "numbers"), TABLE["lines"])
def test_articles_that_are_lines(legalize_law, country, lines, numbers):
    articles, *_ = legalize_law(f"{lines}\n", country)
    assert [article.number for article in articles] == numbers


@pytest.mark.parametrize(
    "head",
    [
        "USLM has the namespace http://xml.house.gov/schemas/uslm/1.0: <uscDoc>",
        '<xs:schema xmlns:xs="urn:x" targetNamespace="http://xml.house.gov/schemas/uslm/1.0">',
        "<?xml version='1.0'?>\n<SECTION_TA><ID>LEGISCTA1</ID><STRUCTURE_TA/></SECTION_TA>",
        "# Readme\n\n<akomaNtoso xmlns='x'>",
        "<html><akomaNtoso>",
    ],
)
def test_what_only_names_a_format_is_not_law(tmp_path, head):
    path = tmp_path / "law.xml"
    path.write_text(head)
    assert read(path) == ([], {}, [[None, None]])


@pytest.mark.parametrize("opening", ["<sup>", "[^", "[", "[](", "**", "*a"])
def test_a_line_of_openings_is_read_in_time(legalize_law, opening):
    started = time.process_time()
    articles, *_ = legalize_law(f"##### Article 1\n\n{opening * 20_000}\n")
    assert (len(articles), time.process_time() - started < 2) == (1, True)


def test_a_line_that_is_too_long_is_one_fault(legalize_law, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 1_000)
    assert legalize_law(f"##### Article 1\n\n{'x' * 1_001}\n") == ([], {}, [[11, None]])


def test_text_that_is_not_utf8_names_its_line(tmp_path):
    path = tmp_path / "law.md"
    path.write_bytes(b"---\ntitle: x\nidentifier: y\n---\nbarqu\xe9\n")
    assert read(path) == ([], {}, [[5, None]])


@pytest.mark.parametrize("format", opening.FORMATS[3:])
def test_a_file_in_another_format_than_named_is_refused(tmp_path, format):
    path = tmp_path / "law.xml"
    path.write_text("<law>\n<Pnumber>1</Pnumber></law>")
    articles, _, faults = read(path, format)
    assert (articles, len(faults)) == ([], 1)


def formex_shell(body):
    return TABLE["shells"]["formex"].replace("{body}", body)


def annex(name="L_2011334EN.01002501.doc.xml"):
    shell = TABLE["shells"]["formex"]
    about = shell[shell.index("<BIB.INSTANCE>") : shell.index("<TITLE>")]
    about = about.replace("L_2011334EN.01002501.doc.xml", name)
    return f"<ANNEX>{about}<TITLE><TI>ANNEX</TI></TITLE><P>Forms.</P></ANNEX>"


def test_an_annex_in_a_package_takes_the_name_of_its_act_from_the_index(tmp_path):
    shell = TABLE["shells"]["formex"]
    title = shell[shell.index("<TITLE>") : shell.index("</TITLE>")] + "</TITLE>"
    issue = "<PUBLICATION.REF><COLL>L</COLL><NO.OJ>334</NO.OJ></PUBLICATION.REF>"
    index = tmp_path / "DOC_1.xml"
    index.write_text(f"<DOC>{issue}<PAPER><ITEM.VOLUME>{title}</ITEM.VOLUME></PAPER></DOC>")
    assert not formex.FORMAT.matches(index.read_bytes())
    (tmp_path / "DOC_3.xml").write_text(annex())
    ((found,), *_) = read(tmp_path / "DOC_3.xml")
    assert (found.law, found.number) == ("Regulation (EU) 2031/9 (Lending Act)", "Annex")
    assert found.id == "L_2011334EN.01002501:annex-0009"


@pytest.mark.parametrize("name", ["a/b.xml", "..", "a" * 5_000])
def test_the_index_of_a_package_is_a_plain_file_beside_the_annex(tmp_path, name):
    path = tmp_path / "annex.xml"
    path.write_text(annex(name))
    ((found,), *_) = read(path)
    assert found.number == "Annex"


def test_long_numbers_are_grouped_and_powers_kept(tmp_path):
    numbers = ("0.12345", "1234567,891", "9" * 20_000)
    words = " ".join(f'<FT TYPE="NUMBER">{each}</FT>' for each in numbers)
    power = '10<HT TYPE="SUP">25</HT> or 10<HT TYPE="SUP">-6</HT> but the 1<HT TYPE="SUP">st</HT>'
    path = tmp_path / "act.xml"
    article = f'<ARTICLE IDENTIFIER="001"><TI.ART>Article 1</TI.ART><ALINEA>{power}: {words}'
    path.write_text(formex_shell(f"<ENACTING.TERMS>{article}</ALINEA></ARTICLE></ENACTING.TERMS>"))
    ((found,), *_) = read(path)
    kept, _, grouped = found.text.partition(": ")
    assert kept == "10²⁵ or 10⁻⁶ but the 1st"
    assert grouped.startswith("0.12345 1 234 567,891 99 999 ")

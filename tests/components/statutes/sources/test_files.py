"""HTML, Word and PDF: the text that the splitter gets."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fpdf import FPDF

from components.statutes.sources.files import LARGEST_DOCUMENT, kind_of, text_of
from components.statutes.sources.reading import CorpusError, Tally, decoded

LOREM = "The keeper of a ferry shall carry every person who pays the fare and waits at the landing"


def read(path: Path) -> tuple[list[str], list[str]]:
    """The lines with words, and the notices."""
    tally = Tally()
    lines = [line for line in text_of(path, tally).split("\n") if line]
    return lines, [problem.message for problem in tally.notices(path.name)]


@pytest.fixture
def page(tmp_path: Path) -> Callable[..., list[str]]:
    def lines(body: str, head: str = "") -> list[str]:
        path = tmp_path / "law.html"
        path.write_text(f"<!DOCTYPE html><head>{head}</head><body>{body}", encoding="utf-8")
        return read(path)[0]

    return lines


# HTML.


def test_of_a_page_only_the_law_is_read(page: Any) -> None:
    found = page(
        "<header><h1>Ministry of Rivers</h1></header><nav><ul><li>Home</ul></nav>"
        "<form id=aspnet><input type=hidden><main><header><h1>Ferries Act</h1></header>"
        "<h2>Part 1. Ferries</h2><h3>Section 1</h3><p>A ferry <b>floats</b>.<br>It may sink.</p>"
        "<p><strong>Section 2</strong></p><p hidden>draft</p><p style='display: none'>draft</p>"
        "<script>var a;</script></main></form><footer>Imprint</footer>"
    )
    assert found == [
        *("# Ferries Act", "## Part 1. Ferries", "### Section 1"),
        *("A ferry floats.", "It may sink.", "**Section 2**"),
    ]


def test_the_title_of_a_page_stands_in_for_its_heading(page: Any) -> None:
    assert page("<p>Section 1", "<title>Ferries\n Act</title>") == ["# Ferries Act", "Section 1"]
    assert page("Text<h1>Act</h1>", "<title>Site</title>") == ["Text", "# Act"]


def test_lists_keep_their_numbers(page: Any) -> None:
    body = (
        "<ol start=3><li>three<ol type=a><li><p>a boat</p><li value=4>a raft</ol><li>four</ol>"
        "<ol style='list-style: none'><li>(1) own</ol><ul><li>plain</ul><ol type=I><li>x<li>y</ol>"
    )
    numbered = ["3. three", "a. a boat", "d. a raft", "4. four"]
    assert page(body) == [*numbered, "(1) own", "plain", "I. x", "II. y"]


def test_tables_are_rows_unless_they_lay_out_the_page(page: Any) -> None:
    fares = "<table><tr><th>Boat<th>Fare<tr><td>raft<td>2</table>"
    layout = "<table><tr><td><p>Section 1</p><p>Text.</p></table>"
    points = "<table><tr><td>(a)<td><p>a point</p></table>"
    markers = "<div><span>1.</span></div><div>A paragraph.</div>"
    found = page(f"{fares}{layout}{points}{markers}")
    assert found == [
        *("Boat | Fare", "raft | 2", "Section 1", "Text.", "(a) a point", "1. A paragraph."),
    ]


def test_raised_digits_are_not_part_of_a_number(page: Any) -> None:
    assert page("<p>§ 5<sup>1</sup> the word<sup>a</sup>") == ["§ 5¹ the worda"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Bürger".encode("utf-8-sig"), ("Bürger", "utf-8")),
        ("Bürger".encode("utf-16"), ("Bürger", "utf-16")),
        ("Bürger €".encode("cp1252"), ("Bürger €", "cp1252")),
        ("<meta charset='iso-8859-1'>€".encode("cp1252"), None),
        ("<meta charset=shift_jis>法".encode("shift_jis"), None),
        ("<meta charset=martian>ü".encode(), None),
        ('<?xml version="1.0" encoding="ascii"?>ü'.encode(), None),
    ],
)
def test_the_encoding_is_declared_or_tried(content: bytes, text: tuple[str, str] | None) -> None:
    if text:
        assert decoded(content) == text
    else:
        assert decoded(content)[0][-1] in "€法ü"


def test_a_page_in_windows_1252_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "law.htm"
    path.write_bytes("<html><p>Artículo 1".encode("cp1252"))
    assert read(path) == (["Artículo 1"], ["read as Windows-1252: file that is not UTF-8 (1)"])


# Word.


def list_definition(number: int, levels: str) -> tuple[Any, Any]:
    space = nsdecls("w")
    abstract = f'<w:abstractNum {space} w:abstractNumId="{number}">{levels}</w:abstractNum>'
    named = f'<w:num {space} w:numId="{number}"><w:abstractNumId w:val="{number}"/></w:num>'
    return parse_xml(abstract), parse_xml(named)


def level(index: int, form: str, pattern: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}'
        f'<w:lvlText w:val="{pattern}"/></w:lvl>'
    )


@pytest.fixture
def act() -> Any:
    """A Word file with lists: articles and their points (91), and chapters by their style (92)."""
    document = Document()
    numbering = document.part.numbering_part.element
    articles = level(0, "decimal", "Article %1.") + level(1, "lowerLetter", "(%2)")
    articles += level(2, "decimal", "%1.%2.%3", "<w:isLgl/>")
    chapters = level(0, "upperRoman", "CHAPTER %1", '<w:pStyle w:val="Heading1"/>')
    for abstract, named in (list_definition(91, articles), list_definition(92, chapters)):
        numbering.insert(0, abstract)
        numbering.append(named)
    restarted = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="20"/></w:lvlOverride>'
    numbering.append(
        parse_xml(
            f'<w:num {nsdecls("w")} w:numId="93"><w:abstractNumId w:val="91"/>{restarted}</w:num>'
        )
    )
    style = document.styles["Heading 1"].element.get_or_add_pPr()
    style.append(parse_xml(f'<w:numPr {nsdecls("w")}><w:numId w:val="92"/></w:numPr>'))
    return document


def numbered(document: Any, text: str, depth: int = 0, list_id: int = 91) -> Any:
    paragraph = document.add_paragraph(text)
    levels = f'<w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/>'
    paragraph._p.get_or_add_pPr().append(parse_xml(f"<w:numPr {nsdecls('w')}>{levels}</w:numPr>"))
    return paragraph


def test_the_numbers_that_word_counts_are_in_the_text(act: Any, tmp_path: Path) -> None:
    act.add_heading("Ferries Act", 0)
    act.add_heading("Of ferries", 1)
    numbered(act, "A ferry floats.")
    numbered(act, "on rivers,", 1)
    numbered(act, "on lakes.", 1)
    numbered(act, "if deep,", 2)
    numbered(act, "A raft is a ferry.")
    numbered(act, "of wood.", 1)
    act.add_heading("Of rafts", 1)
    numbered(act, "Without number.", list_id=0)
    numbered(act, "Twenty.", list_id=93)
    numbered(act, "Twenty-one.", list_id=93)
    act.save(path := tmp_path / "act.docx")
    assert read(path)[0] == [
        *("# Ferries Act", "# CHAPTER I Of ferries", "Article 1. A ferry floats."),
        *("(a) on rivers,", "(b) on lakes.", "1.2.1 if deep,", "Article 2. A raft is a ferry."),
        *("(a) of wood.", "# CHAPTER II Of rafts", "Without number."),
        *("Article 20. Twenty.", "Article 21. Twenty-one."),
    ]


def test_bold_paragraphs_tables_and_raised_digits_of_word(act: Any, tmp_path: Path) -> None:
    act.add_paragraph().add_run("Section 1").bold = True
    line = act.add_paragraph("A raft")
    line.add_run("1").font.superscript = True
    line.add_run(" floats.").bold = True
    act.add_paragraph("Contents 3", style=act.styles.add_style("toc 1", 1))
    table = act.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "raft", "2"
    deleted = f"<w:del {nsdecls('w')}><w:r><w:delText>gone</w:delText><w:t>gone</w:t></w:r></w:del>"
    act.paragraphs[0]._p.append(parse_xml(deleted))
    note = f'<w:r {nsdecls("w")}><w:footnoteReference w:id="1"/></w:r>'
    act.paragraphs[0]._p.append(parse_xml(note))
    act.save(path := tmp_path / "act.docx")
    lines, notices = read(path)
    assert lines == ["**Section 1**", "A raft¹ floats.", "raft | 2"]
    assert "left out: footnote (1), line of the table of contents (1)" in notices


# PDF.


class Gazette(FPDF):
    """A paper with a header and a page number, drawn after the text."""

    def footer(self) -> None:
        self.set_font("Helvetica", size=8)
        self.text(60, 8, "Gazette of Aldermere")
        self.text(100, 290, f"- {self.page_no()} -")


@pytest.fixture
def gazette() -> Gazette:
    paper = Gazette()
    paper.add_page()
    paper.set_font("Helvetica", size=10)
    return paper


def draw(paper: FPDF, x: float, line: int, text: str, style: str = "", size: float = 10) -> None:
    paper.set_font("Helvetica", style, size)
    paper.text(x, 20 + 5 * line, text)


def test_columns_are_read_one_after_the_other(gazette: Gazette, tmp_path: Path) -> None:
    draw(gazette, 60, 0, "Ferries Act of Aldermere", size=18)
    left = [f"left {line} {LOREM[:39]}" for line in range(12)]
    right = [f"right {line} {LOREM[:39]}" for line in range(12)]
    for line in range(12):  # as a typesetter draws them: row by row
        draw(gazette, 20, line + 3, left[line])
        draw(gazette, 110, line + 3, right[line])
    draw(gazette, 20, 18, f"A rule across: {LOREM[:60]}")
    draw(gazette, 20, 20, "below")
    gazette.add_page()
    draw(gazette, 20, 0, "last, left")
    draw(gazette, 110, 0, "last, right")
    draw(gazette, 20, 1, "last, left again")
    gazette.output(str(path := tmp_path / "act.pdf"))
    first, second = text_of(path, Tally()).split("\f")
    lines = [line for line in first.split("\n") if line]
    assert lines[:2] == ["Gazette of Aldermere", "# Ferries Act of Aldermere"]
    assert lines[2:26] == [*left, *right]
    assert lines[26].startswith("A rule across") and lines[27:] == ["below", "- 1 -"]
    assert [line for line in second.split("\n") if line] == [
        *("Gazette of Aldermere", "last, left", "last, left again", "last, right", "- 2 -"),
    ]


def test_numbers_in_a_margin_and_cells_are_not_columns(gazette: Gazette, tmp_path: Path) -> None:
    for line in range(10):
        draw(gazette, 20, line, f"({line})")
        draw(gazette, 40, line, LOREM)
    for line, cell in enumerate(("raft", "boat", "ship of the line", "x", "ferry", "canoe")):
        draw(gazette, 20, line + 12, cell)
        draw(gazette, 120, line + 12, "2")
    gazette.output(str(path := tmp_path / "act.pdf"))
    lines = read(path)[0]
    assert lines[1:4] == [f"(0) {LOREM}", f"(1) {LOREM}", f"(2) {LOREM}"]
    assert "ship of the line 2" in lines


def test_paragraphs_bold_headings_and_marks_of_a_pdf(gazette: Gazette, tmp_path: Path) -> None:
    draw(gazette, 20, 0, "Part 1", size=14)
    draw(gazette, 20, 2, "Section 1", "B")
    for line in range(3, 6):
        draw(gazette, 20, line, LOREM)
    draw(gazette, 20, 7, "Apart")
    width = gazette.get_string_width("Apart")
    gazette.set_font_size(6)
    gazette.text(20 + width, 20 + 5 * 7 - 1.5, "12")
    gazette.output(str(path := tmp_path / "act.pdf"))
    text = text_of(path, Tally())
    assert f"# Part 1\n\n**Section 1**\n{LOREM}\n{LOREM}\n{LOREM}\n\nApart¹²\n" in text


# What cannot be read.


def pdf_of(**options: Any) -> bytes:
    paper = FPDF()
    paper.add_page()
    if options:
        paper.set_font("Helvetica")
        paper.text(20, 20, "Section 1")
        paper.set_encryption(**options)
    return bytes(paper.output())


def open_document(folder: Path) -> bytes:
    """The first bytes of what LibreOffice saves."""
    path = folder / "saved.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "repair"),
    [
        ("empty.pdf", b"", "again"),
        ("scan.pdf", lambda _: pdf_of(), "ocrmypdf"),
        ("secret.pdf", lambda _: pdf_of(owner_password="a", user_password="b"), "qpdf"),
        ("cut.pdf", b"%PDF-1.7 and no more", "again"),
        ("not.docx", b"Section 1", "Open it in Word"),
        ("zip.docx", b"PK\x03\x04 and no more", "Open it in Word"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "soffice"),
        ("old.docx", rb"{\rtf1 Section 1}", "soffice"),
        ("act.odt", open_document, "soffice"),
        ("login.html", b"<html><form>Name <input><input type=password></form>", "Log in"),
        ("empty.html", b"<html><script>render()</script>", "Check"),
        ("bytes.html", b"<html>\x81\x8d", "UTF-8"),
        ("vast.html", b"<html>" + b"a" * LARGEST_DOCUMENT, "Split"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(
    name: str, content: Any, repair: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content(tmp_path) if callable(content) else content)
    with pytest.raises(CorpusError) as raised:
        text_of(path, Tally())
    (problem,) = raised.value.problems
    assert problem.file == str(path) and repair in problem.repair
    assert "\n" not in str(problem)


def test_a_file_is_known_by_its_content_then_by_its_name(tmp_path: Path) -> None:
    assert kind_of(Path("law"), b"junk %PDF-1.4") == "pdf"
    assert kind_of(Path("a.txt"), b"<!-- saved --> <!DOCTYPE HTML><html>") == "html"
    assert kind_of(Path("a.docx.gz"), b"PK\x03\x04") == "docx"
    assert kind_of(Path("a.xml"), b"<akomaNtoso>") is None
    (path := tmp_path / "a.html.gz").write_bytes(gzip.compress(b"<p>Section 1"))
    assert read(path)[0] == ["Section 1"]

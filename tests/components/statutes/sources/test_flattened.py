"""Acts flattened to HTML, Word and PDF come back as the articles that they were."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

import matplotlib
import pytest
from docx import Document
from fpdf import FPDF

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus

# What stands before a number that the format gives bare.
ACTS = {
    "en": ("formex/32016R0679.fmx.xml.gz", "Article"),
    "de": ("gii/ifsg_BJNR104510000.xml.gz", "§"),
    "es": ("legalize/es/BOE-A-2015-10565.md", "Artículo"),
    "et": ("legalize/ee/184411.md.gz", "§"),
    "fr": ("legi/json/LEGITEXT000031366350.json.gz", "Article"),
    "no": ("legalize/no/LOV-2007-06-29-73.md", "§"),
}
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"

Line = tuple[str, int, str]  # "heading", "number" or "text"; depth; the words


def lines_of(articles: Sequence[Article], word: str) -> Iterator[Line]:
    yield "heading", 1, articles[0].law
    before: tuple[str, ...] = ()
    for article in articles:
        for depth, heading in enumerate(article.headings, start=1):
            if article.headings[:depth] != before[:depth]:
                yield "heading", depth + 1, heading
        before = article.headings
        is_bare = re.match(r"[A-Z]?\*?\d", article.number)  # 12a, L100-1, R*132-4
        yield "number", 0, f"{word} {article.number}" if is_bare else article.number
        yield from (("text", 0, line) for line in article.text.split("\n"))


def write_html(lines: Iterator[Line], path: Path) -> None:
    forms = {"heading": "<h{0}>{1}</h{0}>", "number": "<p><b>{1}</b></p>", "text": "<p>{1}</p>"}
    body = "\n".join(forms[kind].format(depth, escape(words)) for kind, depth, words in lines)
    nav = "<nav><a>Home</a></nav>"
    path.write_text(f"<!DOCTYPE html><html><body>{nav}<main>{body}</main>", encoding="utf-8")


def write_docx(lines: Iterator[Line], path: Path) -> None:
    document = Document()
    for kind, depth, words in lines:
        if kind == "heading":
            document.add_heading(words, depth - 1)
        else:
            document.add_paragraph().add_run(words).bold = kind == "number" or None
    document.save(str(path))


class Gazette(FPDF):
    def header(self) -> None:
        self.set_font("serif", "", 8)
        self.cell(0, 5, "Gazette", align="C", new_x="LMARGIN", new_y="NEXT")
        self.ln(3)

    def footer(self) -> None:
        self.set_y(-12)
        self.set_font("serif", "", 8)
        self.cell(0, 5, str(self.page_no()), align="C")


def write_pdf(lines: Iterator[Line], path: Path) -> None:
    paper = Gazette()
    paper.add_font("serif", "", FONTS / "DejaVuSerif.ttf")
    paper.add_font("serif", "B", FONTS / "DejaVuSerif-Bold.ttf")
    paper.add_page()
    with paper.text_columns(ncols=2, gutter=8, text_align="J") as columns:
        for kind, depth, words in lines:
            size = 10 if kind != "heading" else 16 if depth == 1 else 12
            paper.set_font("serif", "" if kind == "text" else "B", size)
            with columns.paragraph(bottom_margin=2) as paragraph:
                paragraph.write(words)
            paper.set_font("serif", "", 10)
    paper.output(str(path))


def places(articles: Sequence[Article], word: str) -> list[tuple[str, tuple[str, ...]]]:
    bare = re.compile(rf"(?i){word}\s")
    return [
        (bare.sub("", each.number).rstrip(".") if word != "§" else each.number, each.headings)
        for each in articles
    ]


SHARES = [(write_html, 0.99), (write_docx, 0.99), (write_pdf, 0.97)]
CASES = [
    # Writing a long act as a PDF takes seconds.
    pytest.param(language, write, share, marks=[pytest.mark.slow] * (slow and write is write_pdf))
    for language, slow in (
        *(("en", False), ("de", True), ("es", True)),
        *(("et", False), ("fr", True), ("no", False)),
    )
    for write, share in SHARES
    # Open: "3. peatükk. KARISTUSTE LIIGID JA MÄÄRAD" loses its second line in the PDF.
    if (language, write) != ("et", write_pdf)
]


@pytest.mark.parametrize(("language", "write", "share"), CASES)
def test_a_flattened_act_comes_back(
    language: str,
    write: Callable[[Iterator[Line], Path], None],
    share: float,
    real_data: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    name, word = ACTS[language]
    read = StatuteCorpus.read(real_data("formats") / name)
    articles = [each for each in read if not (each.is_stub or each.number.startswith("Anlage"))]
    path = tmp_path / f"act.{write.__name__.removeprefix('write_')}"
    write(lines_of(articles, word), path)
    found = places(StatuteCorpus.read(path), word)
    wanted = places(articles, word)
    lost = [place for place in wanted if place not in found]
    assert len(lost) <= (1 - share) * len(wanted), lost[:3]
    assert len(found) <= len(wanted) / share

"""German law from gesetze-im-internet: a flat list of norms, its divisions and frames."""

from pathlib import Path

import pytest

from components.statutes.sources import gii

HEAD = (
    '<?xml version="1.0" encoding="UTF-8" ?><!DOCTYPE dokumente SYSTEM '
    '"http://www.gesetze-im-internet.de/dtd/1.01/gii-norm.dtd">\n'
)


def norm(key, data="", text=None, notes=""):
    body = "" if text is None else f'<text format="XML"><Content>{text}</Content></text>'
    return (
        f'<norm doknr="BJNR1{key}"><metadaten><jurabk>LeihG 2001</jurabk>{data}</metadaten>'
        f"<textdaten>{body}<fussnoten>{notes}</fussnoten></textdaten></norm>\n"
    )


def unit(place, label, title=None):
    name = "" if title is None else f"<gliederungstitel>{title}</gliederungstitel>"
    return (
        f"<gliederungseinheit><gliederungskennzahl>{place}</gliederungskennzahl>"
        f"<gliederungsbez>{label}</gliederungsbez>{name}</gliederungseinheit>"
    )


def article(key, number, text, title="", division="", notes=""):
    name = f'<titel format="parat">{title}</titel>' if title else ""
    return norm(key, f"{division}<enbez>{number}</enbez>{name}", text, notes)


LAW = norm("", "<amtabk>LeihG</amtabk><langue>Gesetz über das\nLeihen</langue>")


@pytest.fixture
def read(tmp_path):
    def of(*norms):
        path = Path(tmp_path / "law.xml")
        path.write_text(
            f'{HEAD}<dokumente doknr="BJNR1">{LAW}{"".join(norms)}</dokumente>', "utf-8"
        )
        assert gii.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in gii.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_an_article_has_its_law_number_text_and_page(read):
    (found,), _ = read(
        article("BJNE1", "§ 3a", "<P>(1) Wer leiht.</P><P>(2) Wer gibt.</P>", "Pflicht")
    )
    assert (found.law, found.number) == ("Gesetz über das Leihen (LeihG)", "§ 3a")
    assert found.text == "Pflicht\n(1) Wer leiht.\n(2) Wer gibt."
    assert (found.id, found.language) == ("BJNR1:BJNE1", "de")
    assert found.source_url == "https://www.gesetze-im-internet.de/leihg_2001/__3a.html"


def test_divisions_nest_by_three_digits_a_level(read):
    articles, _ = read(
        norm("G1", unit("010", "Erstes Kapitel", "Grundsatz")),
        norm("G2", unit("010010", "I.", "Geltung")),
        article("E1", "§ 1", "<P>A</P>"),
        norm("G3", unit("020", "Zweites Kapitel", "Folgen")),
        article("E2", "§ 2", "<P>B</P>"),
    )
    first, second = articles
    assert first.headings == ("Erstes Kapitel. Grundsatz", "I. Geltung")
    assert second.headings == ("Zweites Kapitel. Folgen",)


def test_a_division_whose_number_comes_again_takes_the_place_of_the_first(read):
    articles, _ = read(
        norm("G1", unit("140", "14. Abschnitt", "Alt")),
        article("E1", "§ 1", "<P>A</P>"),
        norm("G2", unit("140", "14. Abschnitt", "Neu")),
        article("E2", "§ 2", "<P>B</P>"),
    )
    assert [each.headings for each in articles] == [
        ("14. Abschnitt. Alt",),
        ("14. Abschnitt. Neu",),
    ]


def test_paragraphs_may_start_again_in_each_article_of_a_framing_law(read):
    first = unit("010", "Art 1")
    second = unit("020", "Art 2")
    articles, _ = read(
        norm("G1", first, "<P>Es gilt Folgendes.</P>"),
        article("E1", "§ 1", "<P>A</P>", division=first),
        norm("G2", second, "<P/>"),
        article("E2", "§ 1", "<P>B</P>", division=second),
    )
    kept = [(each.number, each.headings) for each in articles]
    assert kept == [("Art 1", ()), ("§ 1", ("Art 1",)), ("§ 1", ("Art 2",))]
    assert len({each.id for each in articles}) == 3


def test_repealed_articles_stay_as_printed(read):
    articles, _ = read(
        article("E1", "§ 4", "<P>-</P>", "(weggefallen)"),
        article("E2", "§ 5", "<P>(weggefallen)</P>"),
        article("E3", "(XXXX) §§ 6 und 7", None, "(weggefallen)"),
    )
    assert [each.number for each in articles] == ["§ 4", "§ 5", "§§ 6 und 7"]
    assert {each.text for each in articles} == {"(weggefallen)"}
    assert {each.valid_to for each in articles} == {None}


def test_frames_of_the_law_are_no_articles(read):
    toc = "<P><table><tgroup><tbody><row><entry>§ 1</entry></row></tbody></tgroup></table></P>"
    articles, notices = read(
        article("E1", "Inhaltsübersicht", toc),
        article("E2", "Eingangsformel", "<P>Der Rat beschließt:</P>"),
        article("E3", "Anlage 1", "<P>Muster</P>", "(zu § 1)<BR/>Vordruck"),
    )
    assert [(each.number, each.text) for each in articles] == [
        ("Anlage 1", "(zu § 1) Vordruck\nMuster")
    ]
    assert "1 table of contents" in notices and "1 enacting formula" in notices


def test_lists_and_sentence_numbers(read):
    text = (
        '<P>(1) <SUP class="Rec">1</SUP>Wer leiht, <DL><DT>1.</DT><DD><LA>fragt <DL><DT>a)</DT><DD>'
        "<LA>vorher,</LA></DD></DL></LA></DD><DT>2.</DT><DD><LA>dankt.</LA></DD></DL>"
        '<SUP class="Rec">2</SUP>Es sind 5 m<SUP>2</SUP>.</P>'
    )
    (found,), _ = read(article("E1", "§ 1", text))
    assert found.text == "(1) ¹ Wer leiht,\n1. fragt\na) vorher,\n2. dankt.\n² Es sind 5 m2."


def test_tables_are_rows_and_editors_notes_are_counted(read):
    row = "<row><entry>Zahl</entry><entry>Preis<BR/>in Euro</entry></row>"
    table = f"<table><tgroup><tbody>{row}</tbody></tgroup></table>"
    source = '<noindex><kommentar typ="Fundstelle">(Fundstelle: I 1)</kommentar></noindex>'
    notes = "<Content><P>§ 1: Geändert.</P></Content>"
    (found,), notices = read(article("E1", "§ 1", f"<P>{source}{table}</P>", notes=notes))
    assert found.text == "Zahl | Preis in Euro"
    for counted in ("1 footnote", "1 editorial note", "1 table"):
        assert counted in notices


def test_a_text_that_names_the_format_is_not_law(tmp_path):
    text = b"Laws follow gii-norm.dtd: <dokumente><norm>"
    assert not gii.matches(text, tmp_path / "README")
    assert not gii.matches(b"<list>gii-norm.dtd</list>", tmp_path / "list.xml")


def test_a_law_has_its_abbreviation_and_titles(read):
    (found,), _ = read(article("a", "§ 1", "<P>Leihen.</P>"))
    assert found.law == "Gesetz über das Leihen (LeihG)"
    assert found.law_names == ("LeihG", "LeihG 2001", "Gesetz über das Leihen")

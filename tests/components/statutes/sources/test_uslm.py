"""Law of the United States in USLM: sections, what they quote, and their notes."""

import pytest

from components.statutes.sources import uslm

HOUSE, GPO = "http://xml.house.gov/schemas/uslm/1.0", "http://schemas.gpo.gov/xml/uslm"


def section(key, num, heading, content):
    title = f"<heading>{heading}</heading>" if heading else ""
    return f'<section identifier="{key}"><num>{num}</num>{title}{content}</section>'


@pytest.fixture
def read(tmp_path):
    def of(main, kind="uscDoc", space=HOUSE, meta="<docNumber>1</docNumber>"):
        path = tmp_path / "law.xml"
        path.write_text(
            f'<{kind} xmlns="{space}" xmlns:dc="http://purl.org/dc/elements/1.1/" xml:lang="en">'
            f"<meta>{meta}</meta><main>{main}</main></{kind}>",
            "utf-8",
        )
        assert uslm.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in uslm.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_a_section_of_the_code(read):
    content = (
        "<chapeau>A lender—</chapeau><paragraph><num>(1)</num><content>lends.</content></paragraph>"
    )
    own = section("/us/usc/t1/s112a", "§\u202f112a.", " Lending", content)
    chapter = f"<chapter><num>CHAPTER 2—</num><heading>LOANS</heading>{own}</chapter>"
    (found,), _ = read(f"<title><num>Title 1—</num><heading>GENERAL</heading>{chapter}</title>")
    assert (found.law, found.number) == ("Title 1, United States Code", "§ 112a")
    assert found.headings == ("Title 1. GENERAL", "Chapter 2. LOANS")
    assert found.text == "Lending\nA lender—\n(1) lends."
    assert (found.id, found.language) == ("us:usc/t1/s112a", "en")
    assert found.source_url.endswith("granuleid:USC-prelim-title1-section112a")


def test_a_heading_runs_into_its_words(read):
    point = "<num>(a)</num><heading>In general.—</heading><content>Lend.</content>"
    (found,), _ = read(section("/us/usc/t1/s1", "§ 1.", "", f"<subsection>{point}</subsection>"))
    assert found.text == "(a) In general.— Lend."


def test_sections_that_are_quoted_or_stand_in_notes_are_none_of_the_law(read):
    other = section("", "SEC. 9.", "OTHER", "<content>Borrow.</content>")
    quoted = f"<content>is amended: <quotedContent>{other}</quotedContent></content>"
    note = f'<notes><note topic="amendments"><p>Also:</p>{other}</note></notes>'
    articles, notices = read(section("/us/usc/t1/s2", "§ 2.", "Act", quoted + note))
    assert [each.number for each in articles] == ["§ 2"]
    assert articles[0].text == "Act\nis amended:\nSEC. 9. OTHER Borrow."
    assert "1 quoted section" in notices and "1 note" in notices


def test_a_compilation_goes_by_its_short_title(read):
    meta = (
        "<dc:title>LENDING ACT OF 1978</dc:title><containsShortTitle>Lending Act of 1978"
        '</containsShortTitle><property role="fileId">77</property>'
    )
    content = "<content><elided>* * *</elided></content>"
    own = section("/us/sComp/95/1/s14", "SEC. 14. ", "amendments", content)
    (found,), _ = read(own, "statuteCompilation", GPO, meta)
    assert (found.law, found.number) == ("Lending Act of 1978", "Sec. 14")
    assert found.text == "amendments\n* * *"
    assert found.source_url == "https://www.govinfo.gov/app/details/COMPS-77"


def test_a_public_law_goes_by_its_short_title_and_number(read):
    words = 'cited as the “<shortTitle role="act">Lending Act</shortTitle>”.'
    own = section("/us/pl/119/1/s1", "SECTION 1. ", "SHORT TITLE.", f"<content>{words}</content>")
    (found,), _ = read(own, "pLaw", GPO, "<citableAs>Public Law 119–1</citableAs>")
    assert (found.law, found.number) == ("Lending Act (Public Law 119–1)", "Section 1")
    assert found.source_url == "https://www.govinfo.gov/link/plaw/119/public/1"


def test_regulations_keep_their_notes_and_drop_their_sources(read):
    note = "<note><heading>Note:</heading><p>A pledge is a loan.</p></note>"
    content = f"<content><p>Lend.</p>{note}<source>[39 FR 1]</source></content>"
    reserved = section("/us/cfr/t27/s9.2", "§ 9.2", "[Reserved]", "")
    articles, notices = read(
        section("/us/cfr/t27/s9.1", "§ 9.1", "Loans.", content) + reserved,
        "cfrDoc",
        GPO,
        "<docNumber>27</docNumber>",
    )
    assert [each.text for each in articles] == [
        "Loans.\nLend.\nNote: A pledge is a loan.",
        "[Reserved]",
    ]
    assert articles[0].law == "Title 27, Code of Federal Regulations"
    assert articles[0].source_url == "https://www.ecfr.gov/current/title-27/section-9.1"
    assert "1 source credit" in notices


def test_tables_are_rows_in_whatever_namespace(read):
    cells = "<c:row><c:entry>Loan</c:entry><c:entry>$5</c:entry></c:row>"
    other = "http://schemas.gpo.gov/xml/comps-dtd"
    table = f'<foreign xmlns:c="{other}"><c:table>{cells}</c:table></foreign>'
    rows = "<tr><td><p>Fee</p></td><td>$1</td></tr>"
    html = f'<table xmlns="http://www.w3.org/1999/xhtml">{rows}</table>'
    (found,), _ = read(
        section("/us/sComp/1/1/s1", "SEC. 1.", "", f"<content>{table}{html}</content>")
    )
    assert found.text == "Loan | $5\nFee | $1"


def test_a_number_that_comes_again_has_an_id_of_its_own(read):
    twice = section("/us/cfr/t27/s9.1", "§ 9.1", "A", "") + section(
        "/us/cfr/t27/s9.1", "§ 9.1", "B", ""
    )
    articles, _ = read(twice)
    assert [each.id for each in articles] == ["us:cfr/t27/s9.1", "us:cfr/t27/s9.1~2"]


def test_sections_without_an_identifier_have_ids_by_their_law(read):
    own = "<section><num>Sec. 1.</num><content>Lend.</content></section>"
    (cited,), _ = read(own, kind="pLaw", meta="<citableAs>Public Law 9-1</citableAs>")
    (other,), _ = read(own)
    assert (cited.id, other.id) == ("us:Public Law 9-1/Sec. 1", "us:law/Sec. 1")


@pytest.mark.parametrize(
    "head",
    [
        f"USLM has the namespace {HOUSE}: <uscDoc>",
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{HOUSE}">',
    ],
)
def test_what_only_names_the_namespace_is_not_law(tmp_path, head):
    assert not uslm.matches(head.encode(), tmp_path / "file")


def test_a_footnote_and_brackets_are_not_part_of_a_number(read):
    mark = '<ref class="footnoteRef" idref="f1">1</ref>'
    first = section("/us/usc/t1/s2", f"Sec. (2){mark} ", f"Loans{mark}", "<content>Lend.</content>")
    second = section("/us/usc/t1/s3", "[§ 3.", "Repealed.]", "")
    articles, _ = read(first + second)
    assert [(each.number, each.text) for each in articles] == [
        ("Sec. 2", "Loans\nLend."),
        ("§ 3", "Repealed.]"),
    ]
    assert (articles[0].law_id, articles[0].law_names[0]) == ("us/usc/t1", "1 U.S.C.")

"""The bulk XML of the eCFR: levels told apart by their type, headings with their numbers."""

import pytest

from components.statutes.sources import ecfr


def section(number, head, content=""):
    return f'<DIV8 N="{number}" NODE="1:1" TYPE="SECTION"><HEAD>{head}</HEAD>{content}</DIV8>'


@pytest.fixture
def read(tmp_path):
    def of(content):
        path = tmp_path / "title.xml"
        path.write_text(
            '<?xml version="1.0" encoding="UTF-8" ?>\n<DLPSTEXTCLASS><HEADER><FILEDESC>'
            '<PUBLICATIONSTMT><IDNO TYPE="title">\n3</IDNO></PUBLICATIONSTMT></FILEDESC></HEADER>'
            '<TEXT><BODY><ECFRBRWS><DIV1 N="1" TYPE="TITLE"><HEAD>Title 3—The President--Volume 1'
            f"</HEAD>{content}</DIV1></ECFRBRWS></BODY></TEXT></DLPSTEXTCLASS>",
            "utf-8",
        )
        assert ecfr.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in ecfr.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_a_section_under_levels_of_which_some_are_skipped(read):
    content = "<P>(a) <I>Lender</I> means one who lends.\n</P><P>(b) Others borrow.</P>"
    own = section("§ 1.1", "§ 1.1   Definitions.", content)
    part = f'<DIV5 N="1" TYPE="PART"><HEAD>PART 1—LOANS</HEAD>{own}</DIV5>'
    (found,), _ = read(f'<DIV3 N="IV" TYPE="CHAPTER"><HEAD> CHAPTER IV—OFFICES</HEAD>{part}</DIV3>')
    assert (found.law, found.number) == ("Title 3, Code of Federal Regulations", "§ 1.1")
    assert found.headings == ("Title 3. The President", "Chapter IV. OFFICES", "Part 1. LOANS")
    assert found.text == "Definitions.\n(a) Lender means one who lends.\n(b) Others borrow."
    assert found.id == "us/cfr/t3:s1.1"
    assert found.source_url == "https://www.ecfr.gov/current/title-3/section-1.1"


def test_a_group_of_subjects_has_no_number(read):
    group = '<DIV7 TYPE="SUBJGRP"><HEAD>Lending Offices</HEAD>{}</DIV7>'
    (found,), _ = read(group.format(section("§ 2.5", "§ 2.5   Hours.", "<P>Nine to five.</P>")))
    assert found.headings == ("Title 3. The President", "Lending Offices")


def test_reserved_sections_stay_also_as_ranges(read):
    articles, _ = read(
        section("§ 1.6", "§ 1.6   [Reserved]")
        + section("§§ 4.104–4.109", "§§ 4.104-4.109   [Reserved]")
    )
    assert [(each.number, each.text) for each in articles] == [
        ("§ 1.6", "[Reserved]"),
        ("§§ 4.104-4.109", "[Reserved]"),
    ]


def test_an_appendix_is_an_article(read):
    content = "<HEAD>Appendix A to Part 7—Forms</HEAD><P>Sign here.</P>"
    (found,), _ = read(f'<DIV9 N="Appendix A to Part 7" TYPE="APPENDIX">{content}</DIV9>')
    assert (found.number, found.text) == ("Appendix A to Part 7", "Forms\nSign here.")


def test_notes_are_counted_and_tables_are_rows(read):
    table = '<DIV width="100%"><TABLE><TR><TH>Loan</TH><TH>Fee</TH></TR></TABLE></DIV>'
    notes = "<FTNT><P><SU>1</SU> A note.</P></FTNT><CITA>[37 FR 1]</CITA><AUTH><HED>A:</HED></AUTH>"
    (found,), notices = read(section("§ 1.2", "§ 1.2   Fees.", f"<P>As follows:</P>{table}{notes}"))
    assert found.text == "Fees.\nAs follows:\nLoan | Fee"
    for counted in (
        "1 footnote",
        "1 citation of amendments",
        "1 statement of authority",
        "1 table",
    ):
        assert counted in notices


def test_powers_of_ten_stay_powers(read):
    words = "<P>10<SU>6</SU> or 1<I>0</I><SU>7</SU>, see note <SU>3</SU></P>"
    (found,), _ = read(section("§ 1.1", "§ 1.1   Units.", words))
    assert found.text == "Units.\n10⁶ or 10⁷, see note 3"


@pytest.mark.parametrize(
    ("printed", "heading"),
    [
        ("PART 101-6—LOANS", "Part 101-6. LOANS"),
        ("PART 3-X—LOANS", "Part 3-X. LOANS"),
        ("PART 3-X", "PART 3-X"),
        ("SUBCHAPTER A-GENERAL", "Subchapter A. GENERAL"),
        ("PART 4 - LOANS", "Part 4. LOANS"),
    ],
)
def test_a_hyphen_can_be_part_of_a_division_s_number(read, printed, heading):
    own = section("§ 1.1", "§ 1.1   Definitions.", "<P>Lend.</P>")
    (found,), _ = read(f'<DIV5 TYPE="PART"><HEAD>{printed}</HEAD>{own}</DIV5>')
    assert found.headings[-1] == heading


CITED = ' hierarchy_metadata="{&quot;citation&quot;:&quot;9 CFR 1.1&quot;}"'


@pytest.mark.parametrize(
    "content",
    [
        f'<DIV5 N="1" TYPE="PART"{CITED}><HEAD>PART 1—LOANS</HEAD>@</DIV5>',
        f'<DIV6 N="A" TYPE="SUBPART"{CITED}><HEAD>Subpart A—Loans</HEAD>@</DIV6>',
        "@",
    ],
)
def test_a_part_of_a_title_as_the_api_gives_it(tmp_path, content):
    own = section("1.1", "§ 1.1 Loans.", "<P>Lend.</P>").replace("<DIV8", f"<DIV8{CITED}")
    path = tmp_path / "part.xml"
    path.write_text(content.replace("@", own), "utf-8")
    assert ecfr.matches(path.read_bytes()[:4096], path)
    ((_, found),) = ecfr.read(path, [])
    assert (found.law, found.id) == ("Title 9, Code of Federal Regulations", "us/cfr/t9:s1.1")
    assert "9 CFR" in found.law_names


def test_a_part_without_its_title_is_one_problem(tmp_path):
    path = tmp_path / "part.xml"
    path.write_text(section("1.1", "§ 1.1 Loans.", "<P>Lend.</P>"), "utf-8")
    problems = []
    assert (list(ecfr.read(path, problems)), len(problems)) == ([], 1)

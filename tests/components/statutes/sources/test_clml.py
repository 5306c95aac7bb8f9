"""Acts of the United Kingdom in CLML: sections, schedules, wordings, quoted provisions."""

from datetime import date

import pytest

from components.statutes.sources import clml

SITE = "http://www.legislation.gov.uk"


def p1(key, number, text, **attributes):
    named = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    address = f'DocumentURI="{SITE}/ukpga/2001/9/{key.replace("-", "/")}"'
    return (
        f'<P1 id="{key}" {address} {named}><Pnumber>{number}</Pnumber><P1para>{text}</P1para></P1>'
    )


def group(title, *provisions, **attributes):
    named = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"<P1group {named}><Title>{title}</Title>{''.join(provisions)}</P1group>"


def text(words):
    return f"<Text>{words}</Text>"


@pytest.fixture
def read(tmp_path):
    def of(body, schedules="", rest="", version="", law="ukpga/2001/9", language="en"):
        path = tmp_path / "act.xml"
        path.write_text(
            f'<Legislation xmlns="{SITE}/namespaces/legislation" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/" IdURI="{SITE}/id/{law}" '
            f'DocumentURI="{SITE}/ukpga/2001/9{version}"><Metadata>'
            f"<dc:title>Lending Act 2001</dc:title><dc:language>{language}</dc:language>"
            "<UnappliedEffect><AffectedProvisions><Section>s. 1"
            "</Section></AffectedProvisions></UnappliedEffect></Metadata>"
            f"<Primary><Body>{body}</Body><Schedules>{schedules}</Schedules></Primary>{rest}"
            "</Legislation>",
            "utf-8",
        )
        assert clml.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in clml.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_a_section_has_its_words_number_divisions_and_page(read):
    first = f"<P2><Pnumber>1</Pnumber><P2para>{text('A lender lends.')}</P2para></P2>"
    point = f"<P3><Pnumber>a</Pnumber><P3para>{text('and <Term>asks</Term>.')}</P3para></P3>"
    second = f"<P2><Pnumber>2</Pnumber><P2para>{point}</P2para></P2>"
    section = p1("section-82A", "82A", first + second)
    block = f"<Pblock><Title>Duties</Title>{group('Duty to lend', section)}</Pblock>"
    (found,), _ = read(f"<Part><Number>PART 2</Number><Title>Lending</Title>{block}</Part>")
    assert (found.law, found.number, found.language) == ("Lending Act 2001", "Section 82A", "en")
    assert found.headings == ("Part 2. Lending", "Duties")
    assert found.text == "Duty to lend\n(1) A lender lends.\n(2) (a) and asks."
    assert found.id == "ukpga/2001/9:section-82A"
    assert found.source_url == f"{SITE}/ukpga/2001/9/section/82A"


def test_a_wording_has_the_days_on_which_it_began_and_the_next_one_did(read):
    days = {"RestrictStartDate": "2004-06-22", "RestrictEndDate": "2009-01-01"}
    ended = group("A", p1("section-1", "1", text("Old words.")), **days)
    (found,), _ = read(ended)
    assert (found.valid_from, found.valid_to) == (date(2004, 6, 22), date(2008, 12, 31))
    assert found.id == "ukpga/2001/9:section-1@2004-06-22"


def test_a_repealed_section_is_a_row_of_dots_that_began_with_the_repeal(read):
    repealed = p1("section-1", "1", text(". . . . . . . ."))
    (found,), _ = read(group("Gone", repealed, RestrictStartDate="2020-12-31"))
    assert (found.valid_from, found.valid_to) == (None, date(2020, 12, 30))
    assert found.text == "Gone\n. . . . . . . ."


def test_the_act_as_made_has_other_ids_than_its_later_versions(read):
    (found,), _ = read(p1("section-1", "1", text("A.")), version="/enacted")
    assert found.id == "ukpga/2001/9/enacted:section-1"
    assert (found.valid_from, found.valid_to) == (None, None)


def test_quoted_provisions_are_text_of_the_section_that_amends(read):
    quoted = group("New duty", "<P1><Pnumber>5A</Pnumber><P1para><Text>Lend.</Text></P1para></P1>")
    amendment = f"{text('After section 5 insert—')}<BlockAmendment>{quoted}</BlockAmendment>"
    more = "<AppendText>.</AppendText>"
    articles, notices = read(p1("section-1", "1", amendment + more))
    assert [each.number for each in articles] == ["Section 1"]
    assert articles[0].text == "After section 5 insert—\n“New duty\n5A Lend.”."
    assert "1 quoted provision" in notices


def test_amended_words_stay_and_commentaries_go(read):
    words = '<Text>The <Substitution>King</Substitution><CommentaryRef Ref="c1"/> lends.</Text>'
    notes = '<Commentaries><Commentary id="c1"><Para>{}</Para></Commentary></Commentaries>'
    (found,), notices = read(p1("section-1", "1", words), rest=notes.format(text("Substituted.")))
    assert found.text == "The King lends."
    assert "1 commentary" in notices


def schedule(number, title, content):
    return (
        f'<Schedule id="schedule-{number}"><Number>SCHEDULE {number}</Number>'
        f"<TitleBlock><Title>{title}</Title></TitleBlock><Reference>Section 1</Reference>"
        f"<ScheduleBody>{content}</ScheduleBody></Schedule>"
    )


def test_paragraphs_of_schedules_carry_the_number_of_the_schedule(read):
    part = "<Part><Number>PART 1</Number><Title>Fees</Title>{}</Part>"
    paragraph = p1("schedule-2-paragraph-3", "3", text("Ten."))
    (found,), _ = read("", schedule(2, "Costs", part.format(paragraph)))
    assert (found.number, found.text) == ("Schedule 2, paragraph 3", "Ten.")
    assert found.headings == ("Schedule 2. Costs", "Part 1. Fees")


def test_numbers_that_start_again_in_a_part_carry_the_part(read):
    chapter = "<Chapter><Number>Article 2</Number><Title>Life</Title>{}</Chapter>"
    paragraph = p1("schedule-1-chapter-2-paragraph-1", "1", text("Everyone."))
    (found,), _ = read("", schedule(1, "Treaty", chapter.format(paragraph)))
    assert found.number == "Schedule 1, Article 2, paragraph 1"


def test_a_part_of_a_schedule_without_numbers_is_one_article(read):
    label = "<Number>Article {0}</Number><Title>Title {0}</Title>"
    chapter = f'<Chapter id="c{{0}}">{label}<P>{{1}}</P></Chapter>'
    content = chapter.format(3, text("No one.")) + chapter.format(4, text("Nobody."))
    articles, _ = read("", schedule(1, "Treaty", content))
    kept = [(each.number, each.text, each.headings) for each in articles]
    above = ("Schedule 1. Treaty",)
    assert kept == [
        ("Schedule 1, Article 3", "Title 3\nNo one.", above),
        ("Schedule 1, Article 4", "Title 4\nNobody.", above),
    ]


def test_tables_are_rows(read):
    row = "<tr><td>Lender</td><td>section 3</td></tr>"
    table = f'<Tabular><table xmlns="http://www.w3.org/1999/xhtml"><tbody>{row}</tbody></table></Tabular>'
    (found,), notices = read(p1("section-1", "1", text("Words:") + table))
    assert found.text == "Words:\nLender | section 3"
    assert "1 table" in notices


def test_a_schedule_whose_only_provisions_are_quoted_is_one_article(read):
    quoted = "<BlockAmendment><P1><Pnumber>5A</Pnumber><P1para><Text>Lend.</Text></P1para></P1>"
    content = f"<P>{text('After section 5 insert—')}{quoted}</BlockAmendment></P>"
    (found,), _ = read("", schedule(1, "Amendments", content))
    assert found.number == "Schedule 1"
    assert found.text == "Amendments\nAfter section 5 insert—\n“5A Lend.”"


def test_what_stands_between_provisions_is_counted(read):
    between = f"<OrderedList><ListItem><Para>{text('A')}</Para></ListItem></OrderedList><P2/>"
    articles, notices = read(p1("section-1", "1", text("Lend.")) + between)
    assert len(articles) == 1
    assert "2 unnumbered paragraphs" in notices


def test_a_base_date_of_the_site_is_not_the_beginning_of_a_wording(read):
    days = {"RestrictStartDate": "1991-02-01", "RestrictEndDate": "2009-01-01"}
    (found,), _ = read(group("A", p1("section-1", "1", text("Old words."), **days)))
    assert (found.valid_from, found.valid_to) == (None, date(2008, 12, 31))
    assert found.id == "ukpga/2001/9:section-1"


@pytest.mark.parametrize(
    ("law", "since"), [("nia/2001/9", None), ("ukpga/2001/9", date(2006, 1, 1))]
)
def test_the_base_date_of_northern_ireland_is_its_own(read, law, since):
    section = p1("section-1", "1", text("A."), RestrictStartDate="2006-01-01")
    (found,), _ = read(section, law=law)
    assert found.valid_from == since


@pytest.mark.parametrize("start", ["2009-01-01", "2010-01-01"])
def test_a_wording_that_ended_when_it_began_is_left_out(read, start):
    days = {"RestrictStartDate": start, "RestrictEndDate": "2009-01-01"}
    articles, notices = read(group("A", p1("section-1", "1", text("Old words."), **days)))
    assert articles == []
    assert "1 wording that never was in force" in notices


def test_an_empty_number_prints_nothing(read):
    empty = f"<P2><Pnumber/><P2para>{text('Lend.')}</P2para></P2>"
    (found,), _ = read(p1("section-1", "1", empty))
    assert found.text == "Lend."


def test_the_welsh_text_has_other_ids_than_the_english_one(read):
    (found,), _ = read(p1("section-1", "1", text("Benthyg.")), language="cy")
    assert (found.id, found.language) == ("ukpga/2001/9/cy:section-1", "cy")


def test_regulations_that_stand_in_no_section(read):
    points = f"<P3><Pnumber>a</Pnumber><P3para>{text('an oar')}</P3para></P3>"
    first = f'<P2 id="regulation-1"><Pnumber>1</Pnumber><P2para>{text("Lend.")}</P2para></P2>'
    second = f'<P2 id="regulation-2"><Pnumber>2</Pnumber><P2para>{points}</P2para></P2>'
    articles, problems = read(f"<P><Text/>{first}{second}</P>")
    assert [(each.number, each.text) for each in articles] == [
        ("Regulation 1", "Lend."),
        ("Regulation 2", "(a) an oar"),
    ]
    assert problems == ""

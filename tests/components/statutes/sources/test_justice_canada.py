"""Federal law of Canada."""

from datetime import date

import pytest

LIMS = 'xmlns:lims="http://justice.gc.ca/lims"'
ACT = f"""<?xml version="1.0" encoding="utf-8"?>
<Statute {LIMS} xml:lang="en"><Identification><LongTitle>An Act respecting boats</LongTitle>
<ShortTitle>Boats Act</ShortTitle><Chapter><ConsolidatedNumber>B-9.5</ConsolidatedNumber></Chapter>
</Identification><Introduction><Preamble><Provision><Text>Whereas boats float</Text></Provision>
</Preamble></Introduction><Body>
<Heading level="1"><Label>PART I</Label><TitleText>Lending</TitleText></Heading>
<Heading level="2"><TitleText>Keepers</TitleText></Heading>
<Section lims:lastAmendedDate="2031-05-01" lims:inforce-start-date="2003-01-01">
<MarginalNote>Duties<HistoricalNote>1990</HistoricalNote></MarginalNote><Label>1</Label>
<Subsection><MarginalNote>Night</MarginalNote><Label>(1)</Label><Text>A keeper locks</Text>
<Paragraph><Label>(a)</Label><Text>boats; and</Text></Paragraph>
<Paragraph><Label>(b)</Label><Text>oars,</Text></Paragraph>
<ContinuedSectionSubsection><Text>at night.</Text></ContinuedSectionSubsection></Subsection>
<HistoricalNote><HistoricalNoteSubItem>1990, c. 4</HistoricalNoteSubItem></HistoricalNote></Section>
<Section lims:lastAmendedDate="2003-01-01"><Label><FootnoteRef>*</FootnoteRef>1.1</Label>
<Text>Row <DefinedTermEn>slowly</DefinedTermEn>.</Text>
<Footnote><Label>*</Label><Text>In force later.</Text></Footnote></Section>
<Heading level="1"><Label>PART II</Label><TitleText>General</TitleText></Heading>
<Section lims:lastAmendedDate="2020-02-03"><Label>2 and 3</Label>
<Text><Repealed>[Repealed, 2020, c. 1, s. 9]</Repealed></Text></Section></Body>
<Schedule lims:inforce-start-date="2019-06-21"><ScheduleFormHeading><Label>SCHEDULE 1</Label>
<OriginatingRef>(Section 1)</OriginatingRef><TitleText>Convention on Oars</TitleText>
</ScheduleFormHeading><DocumentInternal>
<Provision><Text>The States agree:</Text></Provision>
<GroupHeading format-ref="group1-part"><Label>CHAPTER I</Label><TitleText>Scope</TitleText>
</GroupHeading><GroupHeading format-ref="group2-division"><Label>ARTICLE 1</Label></GroupHeading>
<Provision><Label>1</Label><Text>Oars are long.</Text></Provision>
<Schedule><ScheduleFormHeading><Label>ANNEX</Label></ScheduleFormHeading><TableGroup><table><tgroup>
<tbody><row><entry>Oar</entry><entry>2 m</entry></row></tbody></tgroup></table></TableGroup>
</Schedule></DocumentInternal></Schedule>
<Schedule id="NifProvs"><BillPiece><RelatedOrNotInForce><Section><Label>9</Label>
<Text>Not yet.</Text></Section></RelatedOrNotInForce></BillPiece></Schedule></Statute>"""


def test_an_act_with_a_treaty(read_law):
    found = read_law(ACT)
    assert [(each.number, each.headings, each.text) for each in found.articles] == [
        (
            "Section 1",
            ("Part I. Lending", "Keepers"),
            "Duties\nNight\n(1) A keeper locks\n(a) boats; and\n(b) oars,\nat night.",
        ),
        ("Section 1.1", ("Part I. Lending", "Keepers"), "Row slowly."),
        ("Section 2 and 3", ("Part II. General",), "[Repealed, 2020, c. 1, s. 9]"),
        ("Schedule 1", (), "Convention on Oars\n(Section 1)\nThe States agree:"),
        (
            "Schedule 1, Article 1",
            ("Schedule 1. Convention on Oars", "Chapter I. Scope"),
            "1 Oars are long.",
        ),
        ("Schedule 1, Annex", ("Schedule 1. Convention on Oars",), "Oar | 2 m"),
    ]
    assert [(each.valid_from, each.valid_to) for each in found.articles[:4]] == [
        (date(2031, 5, 1), None),
        (None, None),  # the consolidation's own first day
        (None, date(2020, 2, 2)),
        (date(2019, 6, 21), None),
    ]
    first = found.articles[0]
    site = "https://laws-lois.justice.gc.ca/eng/acts/B-9.5"
    assert (first.id, first.law) == ("ca/B-9.5/en:1@2031-05-01", "Boats Act")
    assert (first.source_url, found.articles[2].source_url) == (
        f"{site}/section-1.html",
        f"{site}/",
    )
    assert found.counted == {
        "left out": {
            "amendment not in force": 1,
            "historical note": 2,
            "footnote": 1,
            "preamble": 1,
        },
        "kept as text": {"table": 1},
    }


def test_a_regulation_in_french(read_law):
    act = f"""<Regulation {LIMS} xml:lang="fr"><Identification>
    <InstrumentNumber>DORS/2031-4</InstrumentNumber><LongTitle>Règlement sur les rames</LongTitle>
    </Identification><Body><Section><Label>12</Label><Text>Ramez.</Text></Section></Body>
    <Schedule><List><Item><Label>1</Label><Text>Rame</Text></Item></List></Schedule></Regulation>"""
    article, annex = read_law(act).articles
    assert (article.number, article.language) == ("12", "fr")
    assert article.source_url == (
        "https://laws-lois.justice.gc.ca/fra/reglements/DORS-2031-4/article-12.html"
    )
    assert (annex.number, annex.text) == ("Annexe", "1 Rame")


# Counted in the files: `Section` in `Body` (of the Labour Code one has no words), articles and
# annexes of the treaty in the Divorce Act's schedule, and the schedule itself.
@pytest.mark.parametrize(
    ("file", "sections", "beyond", "first", "last"),
    [
        ("L-2", 503, 0, "Section 1", "Section 297"),
        ("D-3.4", 97, 65 + 2 + 1, "Section 1", "Schedule, Annex 2"),
    ],
)
def test_real_acts(read_sample, file, sections, beyond, first, last):
    found = read_sample(
        f"real/{file}.xml.gz",
        ("Body", "Schedule"),
        ("HistoricalNote", "Footnote", "FootnoteRef", "BillPiece"),
    )
    numbers = [each.number for each in found.articles]
    assert (len(numbers), numbers[0], numbers[-1]) == (sections + beyond, first, last)
    assert found.share > 0.999
    if file == "L-2":
        headings = {each.number: each.headings for each in found.articles}
        assert headings["Section 2"] == ("Interpretation",)
        assert headings["Section 159"] == (
            "Part II. Occupational Health and Safety",
            "Regulations",
        )
        assert headings["Section 297"] == (
            "Part IV. Administrative Monetary Penalties",
            "Pilot Projects",
        )

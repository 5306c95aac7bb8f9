"""Law of the Netherlands."""

from datetime import date

import pytest

LAW = """<?xml version="1.0" encoding="UTF-8"?>
<toestand bwb-id="BWBR0000009" inwerkingtreding="2031-05-01"><wetgeving xml:lang="nl">
<intitule>Wet van 1 mei 2031 over boten</intitule><citeertitel>Botenwet</citeertitel><wet-besluit>
<aanhef><considerans><considerans.al>Boten drijven</considerans.al></considerans></aanhef><wettekst>
<hoofdstuk><kop><label>Hoofdstuk</label><nr>1</nr><titel>Uitlenen</titel></kop>
<paragraaf><kop><label>§</label><nr>2</nr><titel>Roeien</titel><meta-data>x</meta-data></kop>
<artikel bwb-ng-variabel-deel="/Hoofdstuk1/Paragraaf2/Artikel3a" inwerking="2031-05-01"
 status="goed"><kop><label>Artikel</label><nr>3a</nr><titel>Riemen</titel></kop>
<lid><lidnr>1</lidnr><al>Men leent:<noot><al>Zie Stb.</al></noot></al><lijst><li><li.nr>a.</li.nr>
<al>boten;</al></li><li><li.nr>b.</li.nr><al>riemen.</al><meta-data>y</meta-data></li></lijst>
</lid><lid><lidnr>2</lidnr><al>Niet <nadruk>'s nachts</nadruk>.</al></lid></artikel>
</paragraaf><artikel bwb-ng-variabel-deel="/Hoofdstuk1/Artikel4" inwerking="2029-02-01"
 status="vervallen"><kop><label>Artikel</label><nr>4</nr></kop>
<al><redactie type="vervanging">Vervallen</redactie></al></artikel></hoofdstuk>
<artikel><kop><titel>Slotbepaling</titel></kop><al>Dit is de wet.</al></artikel></wettekst>
<wetsluiting><slotformulering>Lasten en bevelen</slotformulering></wetsluiting></wet-besluit>
<bijlage bwb-ng-variabel-deel="/BijlageI" inwerking="2031-05-01"><kop><label>Bijlage</label>
<nr>I</nr><titel>Maten</titel></kop><table><tgroup><tbody><row><entry><al>Riem</al></entry>
<entry><al>2 m</al></entry></row></tbody></tgroup></table></bijlage></wetgeving></toestand>"""


def test_an_act(read_law):
    found = read_law(LAW)
    chapter = "Hoofdstuk 1. Uitlenen"
    assert [
        (each.number, each.headings, each.text, each.valid_from, each.valid_to)
        for each in found.articles
    ] == [
        (
            "3a",
            (chapter, "§ 2. Roeien"),
            "Riemen\n1 Men leent:\na. boten;\nb. riemen.\n2 Niet 's nachts.",
            date(2031, 5, 1),
            None,
        ),
        ("4", (chapter,), "Vervallen", None, date(2029, 1, 31)),
        ("Slotbepaling", (), "Dit is de wet.", None, None),
        ("Bijlage I", (), "Maten\nRiem | 2 m", date(2031, 5, 1), None),
    ]
    first = found.articles[0]
    assert (first.law, first.language) == ("Botenwet", "nl")
    assert first.id == "BWBR0000009:Hoofdstuk1/Paragraaf2/Artikel3a@2031-05-01"
    assert first.source_url == (
        "https://wetten.overheid.nl/BWBR0000009/2031-05-01#Hoofdstuk1_Paragraaf2_Artikel3a"
    )
    assert found.counted == {
        "left out": {"preamble": 1, "recital": 1, "closing formula": 1, "footnote": 1},
        "kept as text": {"table": 1},
    }


def test_a_circular(read_law):
    law = """<toestand bwb-id="BWBR0000010" inwerkingtreding="2031-05-01"><wetgeving>
    <citeertitel>Circulaire boten</citeertitel><circulaire><circulaire-tekst><circulaire.divisie>
    <kop><nr>1</nr><titel>Inleiding</titel></kop><tekst><al>Boten drijven.</al></tekst>
    <circulaire.divisie><kop><nr>1.1</nr><titel>Riemen</titel></kop><tekst><al>Lang.</al></tekst>
    </circulaire.divisie></circulaire.divisie></circulaire-tekst></circulaire></wetgeving></toestand>"""
    (found,) = read_law(law).articles
    assert (found.number, found.text) == ("1", "Inleiding\nBoten drijven.\n1.1 Riemen\nLang.")


# Counted in the files: `artikel`, and those with the status "vervallen".
@pytest.mark.parametrize(
    ("file", "articles", "repealed", "first", "last"),
    [
        ("grondwet.xml.gz", 177, 29, "Algemene bepaling", "XXX"),
        ("bw-boek3.xml.gz", 310, 3, "1", "326"),
        ("rijkswet.xml", 14, 4, "1", "14"),
        ("regeling.xml", 2, 0, "1", "2"),
    ],
)
def test_real_acts(read_sample, file, articles, repealed, first, last):
    found = read_sample(
        f"formats/bwb_nl/{file}", ("wettekst", "regeling-tekst"), ("meta-data", "label")
    )
    numbers = [each.number for each in found.articles]
    assert (len(numbers), numbers[0], numbers[-1]) == (articles, first, last)
    assert sum(each.valid_to is not None for each in found.articles) == repealed
    assert found.share == 1
    if file == "bw-boek3.xml.gz":
        headings = {each.number: each.headings for each in found.articles}
        book = "Boek 3. Vermogensrecht in het algemeen"
        assert headings["1"] == (
            book,
            "Titel 1. Algemene bepalingen",
            "Afdeling 1. Begripsbepalingen",
        )
        assert headings["182"] == (
            book,
            "Titel 7. Gemeenschap",
            "Afdeling 1. Algemene bepalingen",
        )
        assert headings["326"] == (book, "Titel 11. Rechtsvorderingen")

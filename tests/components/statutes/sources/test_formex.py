"""Acts of the European Union in Formex: articles, annexes, packages, signs that are elements."""

import pytest

from components.statutes.sources import formex

PLACE = (
    '<DOCUMENT.REF FILE="L_2011334EN.01002501.doc.xml"><COLL>L</COLL><NO.OJ>334</NO.OJ><YEAR>2011'
    "</YEAR><LG.OJ>EN</LG.OJ><PAGE.FIRST>25</PAGE.FIRST><PAGE.SEQ>1</PAGE.SEQ>"
    "<VOLUME.REF>01</VOLUME.REF></DOCUMENT.REF>"
)
TITLE = (
    '<TITLE><TI><P><HT TYPE="UC">Regulation</HT> (EU) 2031/9 of the Council</P><P>of 1 May 2031</P>'
    "<P>on lending, repealing Directive 95/46/EC (Lending Act)</P><P>(Text with EEA relevance)</P>"
    "</TI></TITLE>"
)


def about(sequence="0009"):
    return f"<BIB.INSTANCE>{PLACE}<LG.DOC>EN</LG.DOC><NO.SEQ>{sequence}</NO.SEQ></BIB.INSTANCE>"


def act(terms, rest=""):
    return f"<ACT>{about()}{TITLE}{rest}<ENACTING.TERMS>{terms}</ENACTING.TERMS></ACT>"


def article(number, content, title=""):
    name = f"<STI.ART><P>{title}</P></STI.ART>" if title else ""
    label = f"<TI.ART>Article {number}</TI.ART>"
    return f'<ARTICLE IDENTIFIER="{number:03}">{label}{name}{content}</ARTICLE>'


def annex(label, content, title=""):
    name = f"<STI><P>{title}</P></STI>" if title else ""
    above = f"{about('0009.0001')}<TITLE><TI><P>{label}</P></TI>{name}</TITLE>"
    return f"<ANNEX>{above}<CONTENTS>{content}</CONTENTS></ANNEX>"


@pytest.fixture
def read(tmp_path):
    def of(content, name="act.xml"):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        assert formex.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in formex.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_an_article_of_a_named_act(read):
    first = "<PARAG><NO.PARAG>1.</NO.PARAG><ALINEA>Lend.</ALINEA></PARAG>"
    items = "<LIST><ITEM><NP><NO.P>(a)</NO.P><TXT>books,</TXT></NP></ITEM></LIST>"
    second = f"<PARAG><NO.PARAG>2.</NO.PARAG><ALINEA><P>Also:</P>{items}</ALINEA></PARAG>"
    (found,), _ = read(act(article(1, first + second, "Duties")))
    assert found.law == "Regulation (EU) 2031/9 (Lending Act)"
    assert (found.number, found.language) == ("Article 1", "en")
    assert found.text == "Duties\n1. Lend.\n2. Also:\n(a) books,"
    assert found.id == "L_2011334EN.01002501:001"
    place = "OJ.L_.2011.334.01.0025.01.ENG"
    assert (
        found.source_url == f"https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=uriserv:{place}"
    )


def test_an_act_that_is_an_issue_of_its_own_has_a_short_address(read):
    number = "<NO.DOC><YEAR>2031</YEAR><NO.CURRENT>9</NO.CURRENT></NO.DOC>"
    content = act(article(1, "<ALINEA>Lend.</ALINEA>"))
    (found,), _ = read(content.replace("<NO.OJ>334</NO.OJ>", number))
    assert found.source_url.endswith("?uri=OJ:L_203100009")


def test_divisions_nest(read):
    def division(label, name, content):
        title = f"<TITLE><TI><P>{label}</P></TI><STI><P>{name}</P></STI></TITLE>"
        return f"<DIVISION>{title}{content}</DIVISION>"

    section = division("Section 1", "Loans", article(5, "<ALINEA>Lend.</ALINEA>"))
    (found,), _ = read(act(division("CHAPTER IV", "Lenders", section)))
    assert found.headings == ("Chapter IV. Lenders", "Section 1. Loans")


def test_signs_that_are_elements_are_put_back(read):
    start, end = '<QUOT.START CODE="2018"/>', '<QUOT.END CODE="2019"/>'
    words = f'<P>{start}loan{end} of EUR <FT TYPE="NUMBER">7500000</FT>:</P>'
    items = '<LIST TYPE="DASH"><ITEM><P>of books,</P></ITEM></LIST>'
    (found,), _ = read(act(article(1, f"<ALINEA>{words}{items}</ALINEA>")))
    assert found.text == "‘loan’ of EUR 7 500 000:\n— of books,"


def test_what_is_no_article_is_counted(read):
    preamble = (
        "<PREAMBLE><GR.VISA><VISA>Having regard</VISA></GR.VISA><CONSID>(1)</CONSID></PREAMBLE>"
    )
    words = "<ALINEA>Lend<NOTE><P>OJ L 1.</P></NOTE>.</ALINEA>"
    (found,), notices = read(act(article(1, words), preamble))
    assert found.text == "Lend."
    assert all(each in notices for each in ("1 recital", "1 citation", "1 footnote"))


def test_articles_in_quotations_are_text_of_the_amending_article(read):
    quoted = f"<QUOT.S>{article(5, '<ALINEA>Borrow.</ALINEA>', 'Others')}</QUOT.S>"
    articles, notices = read(act(article(1, f"<ALINEA><P>It reads:</P>{quoted}</ALINEA>")))
    assert [each.number for each in articles] == ["Article 1"]
    assert articles[0].text == "It reads:\nArticle 5\nOthers\nBorrow."
    assert "1 quoted article" in notices


def test_annexes_of_a_combined_file_are_articles_by_their_names(read):
    cells = "<CELL>Loan</CELL><CELL><P>Fee</P><P>(EUR)</P></CELL>"
    table = f"<TBL><CORPUS><ROW>{cells}</ROW></CORPUS></TBL>"
    content = act(article(1, "<ALINEA>See the Annex.</ALINEA>")) + annex("ANNEX III", table, "Fees")
    articles, _ = read(f"<COMBINED.FMX>{content}</COMBINED.FMX>")
    assert [each.number for each in articles] == ["Article 1", "Annex III"]
    assert articles[1].text == "Fees\nLoan | Fee (EUR)"
    assert {each.law for each in articles} == {"Regulation (EU) 2031/9 (Lending Act)"}


def test_an_annex_in_a_package_takes_the_name_of_its_act_from_the_index(read, tmp_path):
    issue = "<PUBLICATION.REF><COLL>L</COLL><NO.OJ>334</NO.OJ></PUBLICATION.REF>"
    index = f"<DOC>{issue}<PAPER><ITEM.VOLUME>{TITLE}</ITEM.VOLUME></PAPER></DOC>"
    (tmp_path / "DOC_1.xml").write_text(index, "utf-8")
    assert not formex.matches(index.encode(), tmp_path / "DOC_1.xml")
    (found,), _ = read(annex("ANNEX", "<P>Forms.</P>"), "DOC_3.xml")
    assert (found.law, found.number) == ("Regulation (EU) 2031/9 (Lending Act)", "Annex")
    assert found.id == "L_2011334EN.01002501:annex-0009.0001"


def test_an_annex_without_its_package_goes_by_its_place_in_the_journal(read):
    (found,), _ = read(annex("ANNEX I", "<P>Forms.</P>"))
    assert (found.law, found.number) == ("L_2011334EN.01002501", "Annex I")


def test_numbers_keep_their_decimals_and_powers(read):
    numbers = ("0.12345", "1234567,891", "9" * 20_000)
    words = " ".join(f'<FT TYPE="NUMBER">{each}</FT>' for each in numbers)
    power = '10<HT TYPE="SUP">25</HT> or 10<HT TYPE="SUP">-6</HT> but the 1<HT TYPE="SUP">st</HT>'
    (found,), _ = read(act(article(1, f"<ALINEA>{power}: {words}</ALINEA>")))
    kept, _, grouped = found.text.partition(": ")
    assert kept == "10²⁵ or 10⁻⁶ but the 1st"
    assert grouped.startswith("0.12345 1 234 567,891 99 999 ")


@pytest.mark.parametrize("code", ["", "no", "D800", "0", "FFFFFFFFFF"])
def test_a_quotation_mark_of_no_character_is_a_plain_one(read, code):
    words = f'<ALINEA><QUOT.START CODE="{code}"/>loan</ALINEA>'
    (found,), _ = read(act(article(1, words)))
    assert found.text == '"loan'


@pytest.mark.parametrize("name", ["a/b.xml", "..", "a" * 5_000])
def test_the_index_of_a_package_is_a_plain_file_beside_the_annex(read, name):
    place = annex("ANNEX I", "<P>Forms.</P>").replace("L_2011334EN.01002501.doc.xml", name)
    (found,), _ = read(place)
    assert found.number == "Annex I"


def test_an_act_has_its_short_names(read):
    (found,), _ = read(act(article(1, "<ALINEA>Lend.</ALINEA>")))
    assert found.law_names == ("Regulation (EU) 2031/9", "32031R0009", "Lending Act")

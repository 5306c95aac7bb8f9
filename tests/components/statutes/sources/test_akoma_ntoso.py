"""Akoma Ntoso: units, divisions, versions, and what stands beside them."""

from datetime import date

import pytest

from components.statutes.sources import akoma_ntoso

ACT = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0">
<act><meta><identification source="#x">
<FRBRWork><FRBRthis value="/akn/{country}/act/1990/7/!main"/>
<FRBRuri value="/akn/{country}/act/1990/7"/>
<FRBRdate date="1990-01-01" name=""/><FRBRcountry value="{country}"/></FRBRWork>
<FRBRExpression><FRBRuri value="/akn/{country}/act/1990/7/{language}@2001-02-03"/>
<FRBRdate date="2001-02-03" name="{name}"/><FRBRlanguage language="{language}"/></FRBRExpression>
</identification>{meta}</meta>
<preface><p><docTitle>Boats <br/>Act</docTitle></p></preface>
<body>{body}</body>{after}</act></akomaNtoso>
"""


@pytest.fixture
def read(tmp_path):
    def read_act(body, country="fi", language="eng", name="issued", meta="", after=""):
        path = tmp_path / "act.xml"
        content = ACT.format(
            body=body, country=country, language=language, name=name, meta=meta, after=after
        )
        path.write_text(content, encoding="utf-8")
        assert akoma_ntoso.matches(content.encode()[:4096], path)
        problems = []
        return [article for _, article in akoma_ntoso.read(path, problems)], problems

    return read_act


def counts(problems):
    return {(each.action, thing): n for each in problems for thing, n in each.counts.items()}


def test_an_article_and_its_divisions(read):
    (article,), problems = read(
        """<hcontainer name="wrapper"><chapter><num>Chapter 1</num><heading>Lending</heading>
        <article eId="art_1"><num>Article 1</num><heading>Keepers</heading>
        <paragraph><num>1.</num><content><p>A keeper
        lends boats.</p></content></paragraph>
        <paragraph><num>2.</num><content><p>No boat leaves at night.</p></content></paragraph>
        </article></chapter></hcontainer>"""
    )
    assert (article.id, article.law, article.number) == ("fi/act/1990/7/en:art_1", "Boats Act", "1")
    assert article.headings == ("Chapter 1. Lending",)
    assert article.text == "Keepers\n1. A keeper lends boats.\n2. No boat leaves at night."
    # An expression's date is not one of entry into force, whatever it is.
    assert (article.language, article.valid_from, problems) == ("en", None, [])


def test_a_section_is_the_unit_only_where_there_is_no_article(read):
    (section,), _ = read("<section><num>3</num><content><p>Row.</p></content></section>")
    assert section.number == "Section 3"
    (article,), _ = read(
        "<section><num>Part</num><article><num>§ 3</num><content><p>Row.</p></content></article>"
        "</section>"
    )
    assert (article.number, article.headings) == ("§ 3", ("Part",))


def test_what_is_quoted_is_text_of_the_article(read):
    (article,), problems = read(
        """<article eId="a"><num>1</num><content><p>Insert <mod><quotedStructure><article>
        <num>9</num><content><p>Oars.</p></content></article></quotedStructure></mod></p></content>
        </article>"""
    )
    assert article.text == "Insert\n9 Oars."
    assert counts(problems) == {("kept as text", "quoted article"): 1}


def test_notes_annexes_and_signatures_are_counted(read):
    (article,), problems = read(
        """<article><num>Art. 2<sup>1</sup><authorialNote><p>New.</p></authorialNote></num>
        <content><p>Row<authorialNote><p>Fast.</p></authorialNote>.</p></content></article>""",
        after="""<conclusions><signature>A. Bo</signature></conclusions><attachments><attachment>
        <doc><mainBody><article><num>1</num></article></mainBody></doc></attachment></attachments>""",
    )
    assert (article.number, article.text) == ("2¹", "Row.")
    assert counts(problems) == {
        ("left out", "footnote"): 2,
        ("left out", "annex"): 1,
        ("left out", "signature"): 1,
    }


def test_an_article_without_words_has_the_note_of_its_number(read):
    (article,), _ = read(
        "<article><num>Art. 4<authorialNote><p>Repealed in 1999.</p></authorialNote></num>"
        "</article>"
    )
    assert (article.number, article.text) == ("4", "Repealed in 1999.")


def test_a_second_number_is_the_title(read):
    (article,), _ = read(
        "<article><num>Article 4</num><num>Fees</num><content><p>None.</p></content></article>"
    )
    assert (article.number, article.text) == ("4", "Fees\nNone.")


def test_divisions_that_are_siblings_are_rebuilt(read):
    body = "".join(
        f"<chapter><num>{num}</num><heading>{heading}</heading>"
        f"<article><num>Art. {n}.</num><content><p>Testo.</p></content></article></chapter>"
        for n, (num, heading) in enumerate(
            [("TITOLO I", "LE ACQUE CAPO I Le rive"), ("CAPO II", "I remi"), ("TITOLO II", "NAVI")]
        )
    )
    articles, problems = read(body, "it", "ita", "")
    assert [each.headings for each in articles] == [
        ("TITOLO I. LE ACQUE", "CAPO I. Le rive"),
        ("TITOLO I. LE ACQUE", "CAPO II. I remi"),
        ("TITOLO II. NAVI",),
    ]
    # Of an article, a version's day says nothing: it only keeps versions' ids apart.
    assert articles[0].valid_from is None
    assert articles[0].id.startswith("it/act/1990/7/it@2001-02-03:")
    assert counts(problems)["repaired", "division"] > 0


def test_lists_in_plain_lines_stay_lines(read):
    (article,), _ = read(
        "<article><num>Art. 1.</num><content><p>\n Sono:\n\n 1) remi;\n a) barche\n lunghe.\n</p>"
        "</content></article>",
        "it",
        "ita",
    )
    assert article.text == "Sono:\n1) remi;\na) barche lunghe."


TEXT = "<content><p>{}</p></content>"


def test_sections_stay_where_a_schedule_holds_articles(read):
    articles, problems = read(
        f"<section><num>1</num>{TEXT.format('Row.')}</section><section><num>2</num></section>"
        f"<hcontainer><num>Schedule</num>{TEXT.format('Treaty')}"
        f"<article><num>Article 1</num>{TEXT.format('Swim.')}</article></hcontainer>"
    )
    assert [each.number for each in articles] == ["Section 1", "Section 2", "1"]
    assert articles[2].headings == ("Schedule",)
    assert counts(problems)["left out", 'passage under "Schedule"'] == 1


def test_a_section_without_articles_among_divisions_is_read(read):
    articles, _ = read(
        f"<section><num>I</num><article><num>1</num>{TEXT.format('Row.')}</article></section>"
        f"<section><num>II</num>{TEXT.format('Swim.')}</section><section><num>III</num></section>"
    )
    assert [each.text for each in articles] == ["Row.", "Swim."]


def test_an_article_in_an_article_is_its_text(read):
    (article,), problems = read(
        f"<article><num>1</num>{TEXT.format('Row.')}<article><num>2</num>"
        f"{TEXT.format('Swim.')}</article>{TEXT.format('Walk.')}</article>"
    )
    assert article.text == "Row.\n2 Swim.\nWalk."
    assert counts(problems) == {("kept as text", "article inside another"): 1}


def test_flattened_chapters_keep_the_divisions_inside_them(read):
    article = "<article><num>{}</num><content><p>Testo.</p></content></article>"
    articles, _ = read(
        f"<chapter><num>TITOLO I</num><heading>ACQUE</heading>{article.format(1)}</chapter>"
        "<chapter><num>CAPO I</num><heading>Rive</heading><section><num>Sezione I</num>"
        f"<heading>Porti</heading>{article.format(2)}</section></chapter>"
        f"<chapter>{article.format(3)}</chapter>",
        "it",
        "ita",
    )
    assert [each.headings for each in articles] == [
        ("TITOLO I. ACQUE",),
        ("TITOLO I. ACQUE", "CAPO I. Rive", "Sezione I. Porti"),
        ("TITOLO I. ACQUE", "CAPO I. Rive"),
    ]


def test_a_wording_that_never_was_in_force_is_left_out(read):
    articles, problems = read(
        f'<article start="#e1" end="#e1"><num>1</num>{TEXT.format("Row.")}</article>'
        f'<article start="#e1"><num>1</num>{TEXT.format("Swim.")}</article>',
        meta='<lifecycle source="#x"><eventRef eId="e1" date="1995-01-01"/></lifecycle>',
    )
    assert [(each.text, each.valid_from) for each in articles] == [("Swim.", date(1995, 1, 1))]
    assert counts(problems) == {("left out", "wording that never was in force"): 1}


def test_a_text_that_names_the_element_is_not_law(tmp_path):
    assert not akoma_ntoso.matches(b"# Readme\n\n<akomaNtoso xmlns='x'>", tmp_path)
    assert not akoma_ntoso.matches(b"<html><akomaNtoso>", tmp_path)


def test_periods_give_the_days_in_force(read):
    (article,), _ = read(
        '<article period="#p1"><num>1</num><content><p>Row.</p></content></article>',
        meta='<lifecycle source="#x"><eventRef eId="e1" date="1995-01-01"/>'
        '<eventRef eId="e2" date="2000-01-01"/></lifecycle><temporalData source="#x">'
        '<temporalGroup eId="p1"><timeInterval start="#e1" end="#e2"/></temporalGroup>'
        "</temporalData>",
    )
    assert (article.valid_from, article.valid_to) == (date(1995, 1, 1), date(1999, 12, 31))


def test_powers_of_ten_stay_powers(read):
    powers = "<content><p>10<sup>6</sup> becquerel</p></content>"
    (found,), _ = read(f"<article><num>Art. 1</num>{powers}</article>")
    assert found.text == "10⁶ becquerel"


def test_a_final_title_has_numbers_of_its_own(read):
    own = '<article eId="{0}"><num>Art. {1}</num><content><p>Boot.</p></content></article>'
    final = "<heading>Schlusstitel: Einführung</heading>" + own.format("u1_1", 1)
    articles, _ = read(own.format("a1", 1) + f"<proviso>{final}</proviso>", "ch", "deu")
    assert [each.number for each in articles] == ["1", "1 SchlT"]
    assert articles[1].headings == ("Schlusstitel: Einführung",)


def test_a_code_whose_articles_are_attachments(read):
    def attachment(name, text):
        meta = "<meta><identification source='#x'/></meta>"
        body = f"<mainBody><paragraph><content><p>{text}</p></content></paragraph></mainBody>"
        return f'<attachment><doc name="{name}">{meta}{body}</doc></attachment>'

    attached = (
        attachment(
            "Codice della nautica-art. 1", "CODICE\n\nART. 1\n\n(Barche)\n\n1. Remi.\n2. Vele."
        )
        + attachment("Codice della nautica-art. 1 bis", "ART. 1 bis\n\nPorti.")
        + attachment("Accordo-art. 1", "ART. 1\n\nPesca.")
        + attachment("Allegato A", "Tavole.")
    )
    articles, problems = read(
        '<article eId="art_1"><num>Art. 1</num><content><p>E\' approvato.</p></content></article>',
        country="it",
        language="ita",
        after=f"<attachments>{attached}</attachments>",
    )
    assert [(each.number, each.headings, each.text) for each in articles] == [
        ("1", (), "E' approvato."),
        ("1", ("Codice della nautica",), "(Barche)\n1. Remi.\n2. Vele."),
        ("1 bis", ("Codice della nautica",), "Porti."),
    ]
    assert counts(problems)["left out", "annex"] == 2


def test_other_names_of_an_act(read):
    name = '<FRBRname xml:lang="en" value="Boats Act of 1990" shortForm="BA"/>'
    ((found,), _) = read(
        '<article eId="a"><num>1</num><content><p>Row.</p></content></article>',
        country='ch"/>' + name + '<x y="',
    )
    assert found.law_names[:2] == ("BA", "Boats Act of 1990")

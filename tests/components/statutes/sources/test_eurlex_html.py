"""Pages of EUR-Lex."""

import re

import pytest

HTML = '<html xmlns="http://www.w3.org/1999/xhtml">'
CONSOLIDATED = f"""{HTML}<head>
<link href="http://publications.europa.eu/resource/presentation-style-sheet/clg/clg.css"/></head>
<body><p class="reference">02031R0009 — EN — 01.05.2033 — 002.001</p>
<div class="eli-container"><div class="eli-main-title" id="tit_1">
<p class="title-doc-first">COUNCIL REGULATION (EU) 2031/9</p>
<p class="title-doc-first">of 1 May 2031</p><p class="title-doc-first">on boats (Boats Act)</p>
<p class="title-doc-last">(Text with EEA relevance)</p></div><div id="cpt_I">
<p class="title-division-1">CHAPTER I</p><p class="title-division-2"><span>Lending</span></p>
<p class="modref"><a title="M1">▼M1</a></p>
<div class="eli-subdivision" id="art_1a"><p class="title-article-norm">Article 1a</p>
<div class="eli-title" id="art_1a.tit_1"><p class="stitle-article-norm">Keepers</p></div>
<div class="norm"><span class="no-parag">1.  </span><div class="norm inline-element">
<p class="norm inline-element">A keeper (<a href="#E0001" id="src.E0001"><span
 class="superscript">1</span></a>) lends under <a href="#art_2">Article 2</a>, 10<span
 class="superscript">3</span> times:</p><div class="grid-container grid-list">
<div class="list grid-list-column-1"><span>(a) </span></div>
<div class="grid-list-column-2"><p class="norm"><span>►C1</span> boats ◄;</p>
</div></div></div></div></div></div>
<div id="anx_I"><p class="title-annex-1">ANNEX I</p><p class="title-annex-2">Sizes</p>
<table><tr><td><p class="tbl-norm">Oars of wood</p></td><td><p class="tbl-norm">2 m</p></td></tr>
</table></div></div><p class="footnote">(<a href="#src.E0001">1</a>) See there.</p></body></html>"""
OFFICIAL_JOURNAL = f"""{HTML}<head><link href="oj-convex.css"/>
<title>L_2031173DE.01000101.xml</title></head><body><div class="eli-container">
<div class="eli-main-title"><p class="oj-doc-ti">VERORDNUNG (EU) 2031/9 DES RATES</p></div>
<div id="rct_1"><p class="oj-normal">Boote schwimmen.</p></div><div id="cpt_1">
<p class="oj-ti-section-1">KAPITEL 1</p><div class="eli-title"><p class="oj-ti-section-2">Leihe</p>
</div><div class="eli-subdivision" id="art_1"><p class="oj-ti-art">Artikel 1</p>
<p class="oj-normal">Verliehen werden:</p><table><tbody><tr><td><p class="oj-normal">a)</p></td>
<td><p class="oj-normal">Boote <a id="ntc1-L" href="#ntr1-L">(<span>1</span>)</a>;</p></td></tr>
</tbody></table></div></div></div><p class="oj-note">(1) Siehe dort.</p></body></html>"""


def test_a_consolidated_act(read_law):
    found = read_law(CONSOLIDATED, "page.html")
    article, annex = found.articles
    assert (article.number, article.headings) == ("Article 1a", ("Chapter I. Lending",))
    assert article.text == ("Keepers\n1. A keeper lends under Article 2, 10³ times:\n(a) boats;")
    assert (annex.number, annex.text) == ("Annex I", "Sizes\nOars of wood | 2 m")
    assert (article.id, article.law_id) == ("32031R0009/en@2033-05-01:art_1a", "32031R0009/en")
    assert article.law == "Council Regulation (EU) 2031/9 (Boats Act)"
    assert article.source_url == (
        "https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:02031R0009-20330501#art_1a"
    )
    assert found.counted == {
        "left out": {"mark of an amendment": 1, "footnote": 1},
        "kept as text": {"table": 1},
    }


def test_an_act_in_the_official_journal(read_law):
    found = read_law(OFFICIAL_JOURNAL, "page.html")
    (article,) = found.articles
    assert (article.number, article.language) == ("Artikel 1", "de")
    assert article.text == "Verliehen werden:\na) Boote ;"
    assert article.headings == ("Kapitel 1. Leihe",)
    assert (article.id, article.law) == ("L_2031173DE.01000101:art_1", "Verordnung (EU) 2031/9")
    assert found.counted == {"left out": {"recital": 1, "footnote": 1}}


# Counted in the files: `div` with an id "art_...", and with "anx_...".
@pytest.mark.parametrize(
    ("file", "articles", "annexes"),
    [
        ("32016R0679.xhtml.gz", 99, 0),
        ("32014R0596_oj.xhtml.gz", 39, 2),
        ("32014R0596_v3.xhtml.gz", 39, 2),
        ("32014R0596_v5.xhtml.gz", 41, 2),
        ("31958R0001_cons.xhtml", 8, 0),
    ],
)
def test_real_pages(read_sample, file, articles, annexes):
    found = read_sample(f"formats/eurlex_html/{file}", ("body",)).articles
    numbers = [each.number for each in found]
    assert (numbers[0], numbers[articles - 1][:7]) == ("Article 1", "Article")
    assert (len(numbers), sum(each.startswith("Annex") for each in numbers)) == (
        articles + annexes,
        annexes,
    )


def test_the_page_and_the_formex_of_an_act_have_the_same_text(read_sample):
    page = read_sample("formats/eurlex_html/32016R0679.xhtml.gz", ("body",)).articles
    formex = read_sample("formats/formex/32016R0679.fmx.xml.gz", ("ENACTING.TERMS",)).articles
    assert [each.number for each in page] == [each.number for each in formex]
    assert [each.headings for each in page] == [each.headings for each in formex]
    assert page[0].law == formex[0].law
    # The page has the corrigendum of 2018, which changed nine articles.
    words = ([re.findall(r"\w+", each.text) for each in law] for law in (page, formex))
    differing = [one.number for one, *both in zip(page, *words, strict=True) if both[0] != both[1]]
    assert differing == [f"Article {number}" for number in (37, 41, 42, 43, 57, 64, 65, 69, 70)]

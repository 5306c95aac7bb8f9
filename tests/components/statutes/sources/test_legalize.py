"""Law as legalize Markdown: front matter, articles, and the divisions that it flattens."""

import textwrap
import time

import pytest

from components.statutes.sources import legalize

FRONT = """---
title: "{title}"
identifier: "{identifier}"
country: "{country}"
rank: "law"
publication_date: "1990-01-01"
last_updated: "2020-01-01"
status: "in_force"
source: "https://law.example/{identifier}"
---
# {title}

"""


@pytest.fixture
def read(tmp_path):
    def read_text(body, country="fr", title="Code des barques", front=FRONT, folder="laws"):
        path = tmp_path / folder / "LAW1.md"
        path.parent.mkdir(exist_ok=True)
        start = front.format(title=title, identifier="LAW1", country=country)
        path.write_text(start + textwrap.dedent(body), encoding="utf-8")
        problems = []
        return list(legalize.read(path, problems)), problems

    return read_text


def test_an_article_has_what_the_front_matter_says(read):
    ((place, article),), problems = read("##### Article L1-2\n\nLa barque flotte.\n")
    assert (article.id, article.law, article.number) == ("fr/LAW1:L1-2", "Code des barques", "L1-2")
    assert (article.language, article.source_url) == ("fr", "https://law.example/LAW1")
    # The format's dates are of publication.
    assert (article.valid_from, article.valid_to) == (None, None)
    assert (place.line, problems) == (13, [])


@pytest.mark.parametrize(
    ("country", "printed", "number", "title"),
    [
        ("fr", "##### Article L111-1", "L111-1", ""),
        ("fr", "##### Article PREAMBULE", "PREAMBULE", ""),
        ("es", "##### Artículo primero.", "primero", ""),
        ("es", "##### Artículo 12 bis. Los remos.", "12 bis", "Los remos."),
        ("es", "##### Arts. 12 a 20.", "12 a 20", ""),
        ("es", "##### Disposición final primera. Vigor.", "Disposición final primera", "Vigor."),
        ("es", "##### Segunda.", "Segunda", ""),
        ("es", "##### Artículos transitorios", "Artículos transitorios", ""),
        ("de", "##### § 1a Boote", "§ 1a", "Boote"),
        ("ch", "##### **Art. 5** Ufer", "5", "Ufer"),
        ("ee", "##### § 12<sup>1</sup>. Paat", "§ 12¹", "Paat"),
        ("no", "##### § 1-2. Båter", "§ 1-2", "Båter"),
        ("cz", "##### Čl. 10a", "10a", ""),
        ("lu", "### Art. 1<sup>er</sup>.", "1er", ""),
        ("fi", "###### 1 § Veneet", "1 §", "Veneet"),
        ("ie", "##### 2. **Boats**", "Section 2", "Boats"),
        ("kr", "##### 제14조의2 (배)", "제14조의2", "배"),
        ("jp", "##### 第三条の二", "第三条の二", ""),
        ("cn", "##### 第十二条之三 船", "第十二条之三", "船"),
        ("br", "##### Art. 7º-B Os barcos", "7º-B", "Os barcos"),
        ("pt", "##### Artigo 14.º-C", "14.º-C", ""),
        ("si", "##### 12.b člen (čolni)", "12.b", "čolni"),
        ("is", "##### 8. gr. c", "8. gr. c", ""),
        ("is", "##### 8. gr. Bátar", "8", "Bátar"),
        ("ro", "##### Articolul 6^2 Bărci", "6^2", "Bărci"),
        ("gr", "##### Άρθρο 9α Βάρκες", "9α", "Βάρκες"),
        ("bg", "##### Чл. 11. Лодки", "11", "Лодки"),
        ("tr", "##### Madde 15 - Tekneler", "15", "Tekneler"),
        ("lt", "##### 4-1 straipsnis. 9 straipsnio laivas", "4-1", "9 straipsnio laivas"),
        ("lv", "##### 5.<sup>1</sup> pants. Laivas", "5.¹", "Laivas"),
        ("vn", "##### Điều 21. Thuyền", "21", "Thuyền"),
        ("ua", "##### Стаття 3. Човни", "3", "Човни"),
        ("hu", "##### 12/A. § Hajók", "12/A §", "Hajók"),
        ("es", "##### Artículo 9 ter 2. Las barcas", "9 ter 2", "Las barcas"),
        ("es", "##### Artículo 5.El remo", "5", "El remo"),
        ("it", "##### Art. 8 duodevicies. Barche", "8 duodevicies", "Barche"),
        ("de", "##### § 7 c Boote", "§ 7 c", "Boote"),
        ("uk", "##### Section 12-ABC Boats", "Section 12-ABC", "Boats"),
        ("eu", "##### Article 4", "Article 4", ""),
        ("eu", "##### ARTICLE 4a - Boats", "Article 4a", "Boats"),
        ("ie", "##### 4B. Boats", "Section 4B", "Boats"),
        ("uk", "##### 4B.— Boats", "Section 4B", "Boats"),
        ("se", "##### 2 kap. 5 a § Segel", "2 kap. 5 a §", "Segel"),
        ("se", "##### 7-9 §§ Segel", "7-9 §§", "Segel"),
        ("no", "##### §§ 3-1 til 3-4. Seil", "§§ 3-1 til 3-4", "Seil"),
        ("cz", "##### § 21 až 23 Plachty", "§ 21 až 23", "Plachty"),
        ("at", "##### § 21 bis § 23a. Segel", "§ 21 bis § 23a", "Segel"),
        ("de", "##### §§ 21 bis 123 Segel", "§§ 21 bis 123", "Segel"),
        ("ch", "##### Art. 8b<sup>ter</sup> Segel", "8bter", "Segel"),
        ("it", "##### Artt. 21-23 Vele", "21-23", "Vele"),
        ("si", "##### 8.č člen (jadra)", "8.č", "jadra"),
        ("rs", "##### Члан 8б Једра", "8б", "Једра"),
        ("gr", "##### ΑΡΘΡΟ 8 Γ", "8 Γ", ""),
        ("al", "##### Neni 8/2 Velat", "8/2", "Velat"),
        ("th", "##### มาตรา 8 ตรี", "8 ตรี", ""),
        ("tw", "##### 第 8-2 條", "第8-2條", ""),
        ("jp", "##### 第八条及び第九条　帆", "第八条及び第九条", "帆"),
        ("kr", "##### 제8조부터 제9조의2까지 돛", "제8조부터제9조의2까지", "돛"),
        ("tr", "##### Geçici Madde 3 – Yelkenler", "Geçici Madde 3", "Yelkenler"),
    ],
)
def test_headings_of_articles(read, country, printed, number, title):
    words = "Words of the law about boats on the river."
    ((_, article),), _ = read(f"{printed}\n\n{words}\n", country)
    assert article.number == number
    assert article.text == (f"{title}\n{words}" if title else words)


@pytest.mark.parametrize(
    ("country", "lines", "numbers"),
    [
        ("es", "**Artículo 1.- Barcas**\n\nUno.\n\n**Artículo 2 bis.-** Dos.", ["1", "2 bis"]),
        ("ar", "**ARTICULO 1º** —Uno.\n\n**ARTICULO 2** **ter**: Dos.", ["1º", "2 ter"]),
        ("ar", "Nota *(vieja)***ARTICULO 3º.-** Tres.\n\nArt.\n\n4º.- Cuatro.", ["3º", "4º"]),
        ("lt", "1 straipsnis. Laivas\n\nVienas.\n\n2 straipsnis\n\nDu.", ["1", "2"]),
        ("lv", "1. pants. Laiva\n\nViens.\n\n2. pants nosaka laivas.", ["1"]),
        ("pl", "Art. 1. Łódź.\n\nArt. 1a. Wiosło.\n\nArt. 1 stosuje się.", ["1", "1a"]),
        (
            "it",
            "Art. 5. Barche.\n\n«Art. 9. Remi.\n\nArt. 10. Vele.»\n\nArt. 6. Porti.",
            ["5", "6"],
        ),
        (
            "de",
            "§ 1 Boote\n\nEins.\n\n§ 2 (weggefallen)\n\n§ 4 Ruder\n\nVier.",
            ["§ 1", "§ 2", "§ 4"],
        ),
        ("fi", "**3 § Veneet**\n\nKolme.\n\n**4 §**\n\n4 § on kumottu 1.2.2001/3", ["3 §", "4 §"]),
        ("cz", "##### § 1 Čluny\n\nJedna.\n\n##### § 2 zrušen\n", ["§ 1", "§ 2"]),
        ("in", "**1. Boats**\n\nOne.\n\n**2-AB. Oars**\n\nTwo.", ["Section 1", "Section 2-AB"]),
        ("tr", "MADDE 7 – Yedi.\n\nEK MADDE 1 – Ek.", ["7", "EK MADDE 1"]),
        (
            "es",
            "**Artículo 8.** Ocho.\n\n**Disposición final segunda. Vigor**\n\nHoy.",
            ["8", "Disposición final segunda"],
        ),
        (
            "is",
            "8. gr.\n\nÁtta.\n\nÁkvæði til bráðabirgða\n\nÍ dag.",
            ["8", "Ákvæði til bráðabirgða"],
        ),
    ],
)
def test_articles_that_are_lines(read, country, lines, numbers):
    articles, _ = read(f"{lines}\n", country)
    assert [article.number for _, article in articles] == numbers


def test_bold_divisions_of_articles_that_are_lines(read):
    body = "**TITULO I**\n\n**BARCAS**\n\n**CAPITULO II**\n\n**ARTICULO 1.-** Uno.\n"
    ((_, article),), _ = read(body, "ar")
    assert article.headings == ("TITULO I. BARCAS", "CAPITULO II")


def test_pieces_of_sentences_that_look_like_headings(read):
    articles, _ = read(
        """\
        ##### Artículo 1.- Barcas.

        Las barcas que nombra el

        ##### artículo 9 de la ley 3.

        Según lo dispuesto por la

        ### Capítulo III del Código.

        ##### Artículo 44 de la ley 5.

        ### título gratuito o no.

        ##### Artículo 2.- Sustitúyese por el siguiente:

        ##### Artículo 1.140: Los remos.

        ##### Artículo 3.- Fin.
        """,
        "ar",
    )
    assert [article.number for _, article in articles] == ["1", "2", "3"]
    assert [article.headings for _, article in articles] == [(), (), ()]
    assert articles[1][1].text.endswith("\nArtículo 1.140: Los remos.")


@pytest.mark.parametrize(("level", "title"), [("####", "#####"), ("#####", "######")])
def test_a_title_that_is_a_heading_below_its_article(read, level, title):
    ((_, first), (_, second)), _ = read(
        f"## CHAPTER I **Boats**\n\n{level} Article 4\n\n{title} Lending\n\n1. A boat is lent.\n\n"
        f"{level} Article 5\n\nThis Regulation enters into force.\n",
        "eu",
    )
    assert (first.number, first.text) == ("Article 4", "Lending\n1. A boat is lent.")
    assert (second.number, second.headings) == ("Article 5", ("CHAPTER I. Boats",))


def test_sections_are_articles_or_divisions(read):
    ((_, article),), _ = read("### Section 3 Boats\n\nA boat floats.\n", "ie")
    assert article.number == "Section 3"
    ((_, article),), _ = read("### Section 3 Boats\n\n##### Article 1\n\nA boat.\n", "eu")
    assert (article.number, article.headings) == ("Article 1", ("Section 3 Boats",))


@pytest.mark.parametrize(
    ("country", "heading"),
    [
        ("ad", "Disposició transitòria"),
        ("it", "Disposizioni finali"),
        ("pt", "Disposições finais"),
        ("fr", "Dispositions transitoires"),
        ("ch", "Schlussvorschriften"),
        ("nl", "Overgangs- en slotbepalingen"),
        ("pl", "Przepisy końcowe"),
        ("ie", "Transitional provisions"),
    ],
)
def test_provisions_under_a_heading_of_their_own(read, country, heading):
    articles, _ = read(
        f"##### Art. 1\n\nEins.\n\n### {heading}\n\nZwei.\n\n##### Art. 2\n\nDrei.\n", country
    )
    assert [article.text for _, article in articles] == ["Eins.", "Zwei.", "Drei."]
    assert articles[1][1].number == heading
    assert articles[2][1].headings == (heading,)


def test_what_is_left_out_is_listed_by_heading(read):
    _, problems = read(
        "Sabed.\n\n### Preámbulo\n\nUno.\n\nDos.\n\n##### Artículo 1\n\nTres.\n\n"
        "## ANEXO\n\nCuatro.\n",
        "es",
    )
    assert {thing: n for each in problems for thing, n in each.counts.items()} == {
        "paragraph before the first heading": 1,
        'paragraph under "Preámbulo"': 2,
        'paragraph under "ANEXO"': 1,
    }


def test_the_order_of_a_law_that_is_not_the_languages(read):
    articles, _ = read(
        """\
        #### SECCION I - Aguas

        ### CAPITULO I

        ##### Artículo 1

        Uno.

        ### CAPITULO II

        ##### Artículo 2

        Dos.

        #### SECCION II - Barcas

        ### CAPITULO I

        ##### Artículo 3

        Tres.
        """,
        "uy",
    )
    assert [article.headings for _, article in articles] == [
        ("SECCION I. Aguas", "CAPITULO I"),
        ("SECCION I. Aguas", "CAPITULO II"),
        ("SECCION II. Barcas", "CAPITULO I"),
    ]


@pytest.mark.parametrize(
    ("country", "identifier", "title", "more", "names"),
    [
        ("ar", "LEY-10123", "LEY DE BARCAS", "", ("Ley 10123", "Ley 10.123")),
        ("de", "BootG", "Bootsgesetz", "", ("BootG",)),
        ("ee", "9", "Paadiseadus", "abbreviation: PaatS\n", ("PaatS",)),
        (
            "eu",
            "32031R0009",
            "Commission Regulation (EU) 2031/9 of 1 May 2031 on boats (Text with EEA relevance)",
            "",
            ("Regulation (EU) 2031/9", "32031R0009"),
        ),
    ],
)
def test_other_names_of_a_law(read, country, identifier, title, more, names):
    front = f"---\ntitle: {title}\nidentifier: {identifier}\ncountry: {country}\n{more}---\n"
    ((_, article),), _ = read("##### Article 1\n\nUn.\n", front=front)
    assert article.law_names == names


def test_control_characters_are_the_signs_that_they_stand_for(read):
    front = "---\ntitle: Barcas \x97 remos\nidentifier: X1\n---\n"
    ((_, article),), _ = read("##### Article 1\n\nUn\x92e.\n", front=front)
    assert (article.law, article.text) == ("Barcas — remos", "Un’e.")


def test_flattened_divisions_are_rebuilt_from_their_words(read):
    articles, problems = read(
        """\
        ## Livre Ier : Les eaux

        ### Titre Ier : Les rives

        #### Chapitre Ier : Le port

        #### Section 1 : Le quai

        ##### Article 1

        Un.

        #### Chapitre II : La plage

        ##### Article 2

        Deux.
        """
    )
    assert articles[0][1].headings[1:] == (
        "Titre Ier. Les rives",
        "Chapitre Ier. Le port",
        "Section 1. Le quai",
    )
    assert articles[1][1].headings[1:] == ("Titre Ier. Les rives", "Chapitre II. La plage")
    assert [problem.action for problem in problems] == ["repaired"]


def test_a_code_without_headings_is_read_by_its_lines(read):
    articles, _ = read(
        """\
        Partie législative

        Livre Ier : Les eaux

        Chapitre unique : Le port

        Article L1-1

        Le chapitre II concerne les barques.

        Livre II : Les rives

        Article L2-1

        Deux.
        """
    )
    assert [each.number for _, each in articles] == ["L1-1", "L2-1"]
    assert articles[0][1].headings == (
        "Partie législative",
        "Livre Ier. Les eaux",
        "Chapitre unique. Le port",
    )
    assert articles[0][1].text == "Le chapitre II concerne les barques."
    assert articles[1][1].headings == ("Partie législative", "Livre II. Les rives")


def test_books_as_plain_lines_hold_titles_that_are_headings(read):
    articles, problems = read(
        """\
        ### DON ALBERTO, REY

        Sabed:

        LIBRO PRIMERO

        De las aguas

        ## TÍTULO I. De los ríos

        ##### Artículo 1.

        Uno.

        LIBRO SEGUNDO

        De las barcas

        ## TÍTULO I. De los remos

        ##### Artículo 2.

        Dos.
        """,
        "es",
    )
    assert [each.headings for _, each in articles] == [
        ("LIBRO PRIMERO. De las aguas", "TÍTULO I. De los ríos"),
        ("LIBRO SEGUNDO. De las barcas", "TÍTULO I. De los remos"),
    ]
    assert {each.action for each in problems} == {"left out", "repaired"}


def test_a_title_of_its_own_and_a_heading_over_two_lines(read):
    articles, _ = read("### HLAVA PRVNÍ\n\n#### LODĚ\n\n##### Čl. 1\n\nJedna.\n", "cz")
    assert articles[0][1].headings == ("HLAVA PRVNÍ. LODĚ",)
    articles, _ = read("## Abschnitt 1 Pflichten der\nBootsführer\n\n##### § 1\n\nEins.\n", "de")
    assert articles[0][1].headings == ("Abschnitt 1. Pflichten der Bootsführer",)


def test_notes_quotations_tables_and_marks(read):
    (_, first), (_, second) = read(
        """\
        ##### Art. 1 Boote[^1]

        <sup>1</sup> Ein **Boot** misst 5 m<sup>2</sup>[^2], siehe [Anhang](/a).

        ##### «Art. 9 Ruder»

        | klein | gross |
        | --- | --- |
        | 1 | 2 |

        ##### Art. 2

        ###### Fussnoten

        [^1]: SR 1

        [^2]: SR 2
        """,
        "de",
    )[0]
    assert first.text.split("\n") == [
        "Boote",
        "1 Ein Boot misst 5 m², siehe Anhang.",
        "«Art. 9 Ruder»",
        "klein | gross",
        "1 | 2",
    ]
    assert second.text == "Art. 2"  # nothing else is printed


def test_a_repeated_number_is_an_article_of_its_own(read):
    articles, _ = read("##### Article 1\n\nUn.\n\n##### Article 1\n\nDeux.\n")
    assert [each.id for _, each in articles] == ["fr/LAW1:1", "fr/LAW1:1~2"]


@pytest.mark.parametrize(
    ("front", "field", "line"),
    [
        ("---\ntitle: x\nidentifier: y\n", None, 1),
        ("---\ntitle: [x\nidentifier: y\n---\n", None, 3),
        ("---\nidentifier: y\n---\n", "title", 1),
        ("---\ntitle: x\nidentifier: y\nspec_version: '9.1'\n---\n", "spec_version", None),
        ("---\ntitle: x\nidentifier: y\nspec_version: new\n---\n", "spec_version", None),
    ],
)
def test_a_faulty_front_matter_is_one_problem(read, front, field, line):
    articles, (problem,) = read("##### Article 1\n\nUn.\n", front=front)
    assert (articles, problem.field, problem.line) == ([], field, line)


def test_aliases_in_the_front_matter_are_not_expanded(read):
    levels = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    front = f"---\ntitle: x\nidentifier: y\na0: &a0 [z, z]\n{levels}---\n"
    articles, problems = read("##### Article 1\n\nUn.\n", front=front)
    assert (len(articles), problems) == (1, [])


def test_scalars_stay_as_they_are_written(read):
    front = """---
title: {title}
identifier: 007
country: no
publication_date: 1990-00-00
source: null
list: [1, {{a: b}}]
---
"""
    ((_, article),), problems = read("##### § 1\n\nEn.\n", front=front)
    assert (article.id, article.language, article.source_url) == ("no/007:§ 1", "no", None)
    assert problems == []


def test_xml_is_not_called_a_front_matter_without_end(tmp_path):
    path = tmp_path / "law.xml"
    path.write_text("<law/>")
    problems = []
    assert list(legalize.read(path, problems)) == []
    assert "does not begin" in problems[0].message


@pytest.mark.parametrize("opening", ["<sup>", "[^", "[", "[](", "**", "*a"])
def test_a_line_of_openings_is_read_in_time(read, opening):
    started = time.process_time()
    articles, _ = read(f"##### Article 1\n\n{opening * 20_000}\n")
    assert (len(articles), time.process_time() - started < 2) == (1, True)


def test_a_line_that_is_too_long_is_one_problem(read, monkeypatch):
    monkeypatch.setattr(legalize, "LONGEST_LINE", 1_000)
    articles, (problem,) = read(f"##### Article 1\n\n{'x' * 1_001}\n")
    assert (articles, problem.line) == ([], 15)


def test_a_heading_that_begins_with_notes_is_a_division(read):
    articles, problems = read(
        """\
        ## Notas de crédito

        ##### Artículo 1

        Uno.

        ###### Notas

        Dos.
        """,
        "es",
    )
    assert [(each.headings, each.text) for _, each in articles] == [(("Notas de crédito",), "Uno.")]
    assert ("left out", {"line of notes": 1}) in [(each.action, each.counts) for each in problems]


def test_a_quotation_goes_on_to_its_closing_mark(read):
    articles, problems = read(
        """\
        ##### Art. 1

        Das Gesetz wird geändert:

        ##### «Art. 2 Boote

        Alt.

        ##### Art. 3 Ruder

        Sie sind «zitiert».»

        ##### Art. 2

        ##### «Art. 9 ohne Ende

        ##### Art. 3
        """,
        "de",
    )
    assert [each.number for _, each in articles] == ["1", "2", "3"]
    assert [each.counts for each in problems if each.action == "kept as text"] == [
        {"quoted article": 3}
    ]


def test_a_quoted_heading_over_two_lines(read):
    articles, _ = read("##### § 1\n\nEins.\n\n## «Titel der\nBoote»\n\nZwei.\n\n##### § 2\n", "de")
    assert articles[0][1].text == "Eins.\n«Titel der Boote»\nZwei."


@pytest.mark.parametrize(
    "sentence",
    [
        "Section 2 du chapitre Ier du présent titre, sous réserve des rives.",
        "Partie civile.",
        "Partie civile",
        "Chapitre II Les barques flottent",
    ],
)
def test_a_sentence_in_a_code_without_headings_is_not_a_division(read, sentence):
    articles, _ = read(f"Titre unique\n\nArticle 1\n\nUn.\n\n{sentence}\n\nArticle 2\n\nDeux.\n")
    assert [each.text for _, each in articles] == [f"Un.\n{sentence}", "Deux."]


@pytest.mark.parametrize(
    ("country", "line", "heading"),
    [
        ("fr", "Partie réglementaire", "Partie réglementaire"),
        ("fr", "Chapitre premier : Les rives", "Chapitre premier. Les rives"),
        ("fr", "Livre Ier", "Livre Ier"),
        ("es", "TITULO PRIMERO", "TITULO PRIMERO"),
        ("ee", "1. osa", "1. osa"),
        ("de", "Erster Teil", "Erster Teil"),
    ],
)
def test_divisions_of_a_law_without_headings(read, country, line, heading):
    ((_, article),), _ = read(f"{line}\n\nArticle 1\n\nUn.\n", country)
    assert article.headings == (heading,)


def test_articles_in_the_plural_with_a_word_are_a_division(read):
    ((_, article),), _ = read(
        "## TITULO I. Ríos\n\n### Artículos transitorios\n\n##### Primero.\n\nUno.\n", "mx"
    )
    assert article.headings == ("TITULO I. Ríos", "Artículos transitorios")


def test_a_newer_repository_is_refused(read, tmp_path):
    folder = tmp_path / "newer"
    folder.mkdir()
    (folder / ".legalize.yml").write_text('spec_version: "0.5"\n')
    articles, (problem,) = read("##### Article 1\n\nUn.\n", folder="newer")
    assert (articles, problem.field) == ([], "spec_version")


def test_text_that_is_not_utf8_names_its_line(tmp_path):
    path = tmp_path / "law.md"
    path.write_bytes(b"---\ntitle: x\nidentifier: y\n---\nbarqu\xe9\n")
    problems = []
    assert list(legalize.read(path, problems)) == []
    assert problems[0].line == 5


def test_numbers_that_start_again_in_each_chapter_have_the_chapter(read):
    body = "".join(
        f"## {chapter} kap. Om båtar\n\n" + "".join(f"##### {n} §\n\nOrd.\n\n" for n in (1, "2 a"))
        for chapter in (1, 2)
    )
    numbers = [article.number for _, article in read(body, country="se")[0]]
    assert numbers == ["1 kap. 1 §", "1 kap. 2 a §", "2 kap. 1 §", "2 kap. 2 a §"]
    running = body.partition("## 2 kap.")[0]
    assert [article.number for _, article in read(running, country="se")[0]] == ["1 §", "2 a §"]

"""Citations as Spanish, Italian, Portuguese and Japanese write them: forty forms of each.

Each form stands with the articles that it names, a range as "10-14", levels in brackets behind.
"""

import pytest

from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import parse_number

SPANISH = """
el artículo 1902 del Código Civil | 1902
art. 1124 CC | 1124
Artículo 24 de la Constitución | 24
según el art. 24.2 CE | 24.2
los artículos 1091 y 1124 del Código Civil | 1091, 1124
arts. 3, 4 y 5 de la Ley 39/2015 | 3, 4, 5
los arts. 1254 a 1260 CC | 1254-1260
artículos 10 al 14 de la Constitución | 10-14
artículo 92 bis del Código Civil | 92bis
el artículo 28 ter | 28ter
artículo 21, apartado 3, de la Ley | 21(3)
el artículo 21 apartado 2 | 21(2)
artículo 6, párrafo segundo | 6(2)
art. 7, letra c) | 7(c)
artículo 7, inciso b) | 7(b)
artículo 21.1.b) de la Ley 39/2015 | 21.1(b)
art. 1 del Real Decreto 203/2021 | 1
el apartado 2 del artículo 21 | 21
la letra a) del artículo 4 | 4
lo dispuesto en el artículo 1.101 | 1.101
¿qué dice el artículo 14? | 14
¿Puedo invocar el art. 18 de la Constitución? | 18
conforme al artículo 35 del Estatuto de los Trabajadores | 35
ART. 5 DE LA LEY | 5
artículo núm. 12 | 12
artículo n.º 12 | 12
el artículo 1.º de la Ley | 1
art. 2º del Código Civil | 2
artículos 5, 7 y 9 a 11 | 5, 7, 9-11
artículo 118 y siguientes | 118
art. 1.255 | 1.255
artículos 4 o 5 de la Ley | 4, 5
artículo 47 quater de la Ley 35/2015 | 47quater
(art. 3) | 3
[arts. 2 y 3] | 2, 3
artículo 13, núm. 4 | 13(4)
El artículo 40, regla 2 | 40
artículo primero de la Ley | 1
art. 33.2 CE | 33.2
el art. 9.3 de la Constitución | 9.3
"""

ITALIAN = """
l'articolo 2043 del codice civile | 2043
art. 2043 c.c. | 2043
Art. 1 della legge | 1
gli articoli 3 e 24 della Costituzione | 3, 24
artt. 1321 e 1322 c.c. | 1321, 1322
gli artt. 3, 4 e 5 | 3, 4, 5
articoli da 10 a 14 | 10-14
artt. 1453-1469 c.c. | 1453-1469
articoli 5 o 6 | 5, 6
art. 71-bis della legge | 71bis
l'articolo 174 ter | 174ter
articolo 171-septies | 171septies
art. 2, comma 3 | 2(3)
articolo 2 comma 1 | 2(1)
art. 10, co. 2 | 10(2)
art. 10, c. 2, della legge | 10(2)
articolo 4, primo comma | 4(1)
articolo 4, secondo comma, del codice civile | 4(2)
art. 7, lettera b) | 7(b)
art. 7, comma 1, lett. a) | 7(1)(a)
articolo 1, comma 2, numero 4 | 1(2)(4)
art. 1, comma 2, n. 4) | 1(2)(4)
il comma 2 dell'articolo 21 | 21
la lettera a) dell'art. 4 | 4
dell'art. 18 dello Statuto dei lavoratori | 18
all'articolo 5 | 5
nell'articolo 13 della Costituzione | 13
dall'art. 32 | 32
sull'articolo 9 | 9
cosa prevede l'art. 2051? | 2051
ART. 5 | 5
art. n. 12 | 12
articolo numero 12 | 12
art. 1 e seguenti | 1
art. 615 ter c.p. | 615ter
(art. 3) | 3
articoli 12, 13 e 15 | 12, 13, 15
art. 5, par. 1, reg. (UE) 2016/679 | 5(1)
articolo 6, paragrafo 1, lettera f) | 6(1)(f)
artt. 24 e ss. | 24
"""

PORTUGUESE = """
o artigo 483 do Código Civil | 483
artigo 483.º do Código Civil | 483
art. 5º da Constituição | 5
Art. 5º, LIV, da Constituição | 5(liv)
o art. 5º, inciso LIV | 5
os artigos 13 e 18 | 13, 18
arts. 186 e 927 do Código Civil | 186, 927
artigos 1.º e 2.º | 1, 2
os arts. 3, 4 e 5 | 3, 4, 5
arts. 10 a 14 da Lei | 10-14
artigos 10.º a 14.º | 10-14
artigo 5 ou 6 da Lei | 5, 6
artigo 26-A da Lei | 26a
art. 103-B da Constituição | 103b
artigo 12.º-A do Código | 12a
art. 2º, § 1º, da Lei | 2(1)
art. 2º, § 3º | 2(3)
art. 1.228, § 1º | 1.228(1)
artigo 7.º, n.º 2, do Código Civil | 7(2)
artigo 7.º, n.º 2, alínea b) | 7(2)(b)
artigo 4, alínea a) | 4(a)
art. 4º, parágrafo único | 4
artigo 21, parágrafo 2 | 21(2)
o n.º 2 do artigo 21.º | 21
a alínea a) do artigo 4.º | 4
no artigo 9 da Lei | 9
do artigo 13.º da Constituição | 13
pelo art. 37 | 37
o que diz o artigo 2.034? | 2.034
segundo o art. 421 do Código Civil | 421
ART. 5 DA LEI | 5
artigo nº 12 | 12
artigo número 12 | 12
art. 1.022 e seguintes | 1.022
arts. 421-A e 422 | 421a, 422
(art. 3º) | 3
artigos 12, 13 e 15 | 12, 13, 15
artigo primeiro da Lei | 1
artigo 102 do Decreto-Lei n.º 4/2015 | 102
arts. 5º e 6º da CLT | 5, 6
"""

JAPANESE = """
第五条 | 5
民法第七百九条 | 709
民法709条 | 709
民法第709条 | 709
第三条の二 | 3-2
民法第三条の二第一項 | 3-2(1)
第十三条第一項 | 13(1)
第十三条第一項第二号 | 13(1)(2)
民法第13条第1項第2号 | 13(1)(2)
第13条1項 | 13(1)
会社法第三百五十五条 | 355
会社法355条 | 355
刑法第百九十九条 | 199
刑法199条 | 199
憲法第九条 | 9
日本国憲法第9条第2項 | 9(2)
憲法９条 | 9
民法第七百九条及び第七百十条 | 709, 710
第五条又は第六条 | 5, 6
第五条若しくは第七条 | 5, 7
第五条並びに第八条 | 5, 8
第五条、第六条及び第七条 | 5, 6, 7
第五条から第八条まで | 5-8
民法第5条から第8条まで | 5-8
民法第五条ないし第八条 | 5-8
第二十四条の三 | 24-3
第二十四条の三の二 | 24-3-2
民法第百二十条第二項 | 120(2)
この法律の第四条 | 4
同法第六条 | 6
労働基準法第二十条 | 20
労働基準法20条1項 | 20(1)
借地借家法第二十八条 | 28
行政手続法第八条第一項本文 | 8(1)
行政手続法第5条第3項ただし書 | 5(3)
民法第千条 | 1000
民法第千二十八条 | 1028
民法第四百十五条に基づく損害賠償 | 415
民法第五百四十一条の解除 | 541
消費者契約法第十条は何を定めていますか | 10
"""

LANGUAGES = {"es": SPANISH, "it": ITALIAN, "pt": PORTUGUESE, "ja": JAPANESE}
FORMS = [
    (language, *map(str.strip, line.split("|")))
    for language, table in LANGUAGES.items()
    for line in table.strip().splitlines()
]


def test_each_language_has_forty_forms():
    assert {name: len(table.strip().splitlines()) for name, table in LANGUAGES.items()} == (
        dict.fromkeys(LANGUAGES, 40)
    )


@pytest.mark.parametrize(("language", "text", "cited"), FORMS)
def test_a_form_is_read(language, text, cited):
    found = [
        f"{c.number}{f'-{c.through}' if c.through else ''}{c.paragraph or ''}"
        for c in find_citations(text, language)
    ]
    assert ", ".join(found) == cited


@pytest.mark.parametrize(
    ("printed", "core"),
    [
        ("第七百九条", "709"),
        ("第三条の二", "3-2"),
        ("제14조의2", "14-2"),
        ("1 §", "1"),
        ("§ 12¹", "12-1"),
        ("1.º", "1"),
        ("5º-A", "5a"),
        ("primero", "1"),
        ("71-bis", "71bis"),
    ],
)
def test_printed_numbers_have_the_form_of_cited_ones(printed, core):
    number = parse_number(printed)
    assert number is not None
    assert number.core == core


@pytest.mark.parametrize(
    "text",
    [
        "trabajé 12 horas",
        "o prazo é de 5 dias",
        "il 5 maggio 2020",
        "第五回",
        "三条市",
        "el art déco",
    ],
)
def test_what_cites_nothing(text):
    assert find_citations(text) == []


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("L'article 1382 a 3 alinéas", [("1382", None)]),
        ("Under section 12 a 30 day notice is required", [("12", None)]),
        ("Section 5 o 6", [("5", None)]),
        ("artículos 3 a 5", [("3", "5")]),
        ("gli articoli 5 o 6", [("5", None), ("6", None)]),
        ("artículo 2, apartados 1 o 2", [("2", None)]),
        ("el artículo 30 a 3 meses", [("30", None)]),
        ("artículos 6.1.3 a 6.2", [("6.1.3", "6.2")]),
    ],
)
def test_words_of_one_letter_join_numbers_behind_a_marker_of_their_language(text, cited):
    assert [(each.number, each.through) for each in find_citations(text)] == cited

"""Consolidated law of Spain."""

from datetime import date

from components.statutes.sources import opening

LAW = """<?xml version="1.0" encoding="utf-8"?><response><status><code>200</code></status><data>
<metadatos><identificador>BOE-A-2031-9</identificador>
<titulo>Ley 9/2031, de 1 de mayo, de barcas.</titulo></metadatos><texto>
<bloque id="pr" tipo="preambulo"><version><p class="parrafo">Las barcas flotan.</p></version>
</bloque>
<bloque id="ti" tipo="encabezado"><version id_norma="BOE-A-2031-9" fecha_vigencia="20310601">
<p class="titulo_num">TÍTULO I</p><p class="titulo_tit">De las barcas</p></version></bloque>
<bloque id="ci" tipo="encabezado"><version fecha_vigencia="20310601">
<p class="capitulo_num">CAPÍTULO PRIMERO</p><p class="capitulo_tit">Del préstamo</p></version>
</bloque>
<bloque id="a1" tipo="precepto" titulo="Artículo 1">
<version fecha_vigencia="20310601"><p class="articulo">Artículo 1. Objeto.</p>
<p class="parrafo">1. Se prestan barcas.</p></version>
<version fecha_vigencia="20320101"><p class="articulo">Artículo 1. Objeto.</p>
<p class="parrafo">Breve.</p></version>
<version fecha_vigencia="20320101"><p class="articulo">Artículo 1. Objeto.</p>
<p class="parrafo">1. Se prestan barcas y remos.</p><blockquote><p class="sangrado">a) Largos.</p>
<p class="nota_pie">Se modifica.</p></blockquote></version></bloque>
<bloque id="a1bis" tipo="precepto" titulo="Artículo 1 bis">
<version fecha_vigencia="20320101"><p class="articulo">Artículo 1 bis.</p>
<p class="parrafo">(Derogado)</p></version></bloque>
<bloque id="daprimera" tipo="precepto" titulo="Disposición adicional primera">
<version fecha_vigencia="20310601"><p class="articulo">Disposición adicional primera. Remos.</p>
<p class="parrafo">Los remos son largos.</p></version></bloque>
<bloque id="fi" tipo="firma"><version><p>El Rey</p></version></bloque>
</texto></data></response>"""


def test_every_wording_has_its_days(read_law):
    found = read_law(LAW)
    path = ("TÍTULO I. De las barcas", "CAPÍTULO PRIMERO. Del préstamo")
    first, new = date(2031, 6, 1), date(2032, 1, 1)
    shown = [
        (each.number, each.headings, each.text, each.valid_from, each.valid_to)
        for each in found.articles
    ]
    assert shown == [
        ("1", path, "Objeto\n1. Se prestan barcas.", first, date(2031, 12, 31)),
        ("1", path, "Objeto\n1. Se prestan barcas y remos.\na) Largos.", new, None),
        ("1 bis", path, "(Derogado)", new, None),
        ("Disposición adicional primera", (), "Remos\nLos remos son largos.", first, None),
    ]
    assert found.articles[2].state(new) == "repealed"
    article = found.articles[0]
    assert (article.id, article.law) == (
        "BOE-A-2031-9:a1@2031-06-01",
        "Ley 9/2031, de 1 de mayo, de barcas",
    )
    assert article.source_url == "https://www.boe.es/buscar/act.php?id=BOE-A-2031-9#a1"
    things = {"preamble": 1, "signature": 1, "wording that never was in force": 1, "note": 1}
    assert found.counted == {"left out": things}


def test_the_text_alone_is_known_by_its_identifier(read_law):
    text = LAW[LAW.index("<texto>") : LAW.index("</data>")]
    assert read_law(text).articles[0].law == "BOE-A-2031-9"


# Counted in the file: 10 blocks of the type "precepto", three of which have two versions.
def test_the_constitution_shortened(read_sample):
    apart = ("preambulo", "firma", "nota_pie", "nota_pie_2")
    found = read_sample("formats/boe_es/constitucion-sample.xml", ("texto",), apart)
    articles = found.articles
    assert (len(articles), len({each.number for each in articles})) == (13, 10)
    assert (articles[0].number, articles[-1].number) == ("1", "Disposición final")
    assert found.share > 0.98  # "Artículo" before each number is not kept
    headings = {each.number: each.headings for each in articles}
    assert headings["2"] == ("TÍTULO PRELIMINAR",)
    assert headings["49"] == (
        "TÍTULO I. De los derechos y deberes fundamentales",
        "CAPÍTULO TERCERO. De los principios rectores de la política social y económica",
    )
    assert headings["135"] == ("TÍTULO VII. Economía y Hacienda",)


def test_an_article_within_another_is_refused(tmp_path):
    inner = '<bloque id="a9" tipo="precepto"><version><p>Un remo.</p></version></bloque>'
    for damage in (f"{inner}</version>", f"<img>{inner}</img></version>"):
        path = tmp_path / "ley.xml"
        path.write_text(LAW.replace("</version>", damage), "utf-8")
        problems = []
        assert list(opening.open_articles(path, problems)) == []
        [problem] = problems
        assert (problem.file, problem.notice) == (str(path), False)

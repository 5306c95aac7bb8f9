"""Law and bills of Brazil."""

import gzip
import json

import pytest

NAMESPACE = "http://www.lexml.gov.br/1.0"
LAW = f"""<?xml version="1.0" encoding="UTF-8"?><LexML xmlns="{NAMESPACE}"><Metadado>
<Identificacao URN="urn:lex:br:federal:lei:2031-05-01;9"/></Metadado><Norma><ParteInicial>
<Epigrafe>LEI Nº 9, DE 1º DE MAIO DE 2031.</Epigrafe><Ementa>Institui o Código de Barcas.</Ementa>
<Preambulo><p>O CONGRESSO DECRETA:</p></Preambulo></ParteInicial><Articulacao>
<Titulo id="tit1"><Rotulo>TÍTULO I</Rotulo><NomeAgrupador>DAS BARCAS</NomeAgrupador>
<Capitulo id="cap1"><Rotulo>CAPÍTULO I</Rotulo><NomeAgrupador>Do Empréstimo</NomeAgrupador>
<Artigo id="art1"><Rotulo>Art. 1º</Rotulo><Caput id="art1_cpt"><p>Emprestam-se:</p>
<Inciso><Rotulo>I –</Rotulo><p>barcas;</p></Inciso></Caput>
<Paragrafo><Rotulo>§ 1º</Rotulo><p>À noite, não.</p></Paragrafo></Artigo></Capitulo>
<Artigo id="art2-1"><Rotulo>Art. 2º-A.</Rotulo><TituloDispositivo>Remos</TituloDispositivo>
<Caput><p>A Lei nº 8 passa a vigorar:</p><Alteracao>
<Artigo abreAspas="s"><Rotulo>Art. 7º</Rotulo><Caput textoOmitido="s">
<Inciso textoOmitido="s"><Rotulo>I –</Rotulo></Inciso></Caput>
<Paragrafo fechaAspas="s" notaAlteracao="NR"><Rotulo>§ 2º</Rotulo><p>Remos longos.</p></Paragrafo>
</Artigo></Alteracao></Caput></Artigo></Titulo></Articulacao></Norma></LexML>"""
FIRST = "Emprestam-se:\nI – barcas;\n§ 1º À noite, não."


def test_a_law_that_amends_another(read_law):
    found = read_law(LAW)
    assert [(each.number, each.headings, each.text) for each in found.articles] == [
        ("1º", ("TÍTULO I. DAS BARCAS", "CAPÍTULO I. Do Empréstimo"), FIRST),
        (
            "2º-A",
            ("TÍTULO I. DAS BARCAS",),
            "Remos\nA Lei nº 8 passa a vigorar:\n“Art. 7º ......\nI – ......\n"
            "§ 2º Remos longos.” (NR)",
        ),
    ]
    first = found.articles[0]
    assert (first.id, first.law) == (
        "br:federal:lei:2031-05-01;9:art1",
        "LEI Nº 9, DE 1º DE MAIO DE 2031",
    )
    assert (first.language, first.law_names) == ("pt-BR", ("Código de Barcas",))
    assert first.source_url == "https://www.lexml.gov.br/urn/urn:lex:br:federal:lei:2031-05-01;9"
    assert found.counted == {"left out": {"preamble": 1}, "kept as text": {"quoted article": 1}}


def node(name, **value):
    return {"name": {"namespaceURI": NAMESPACE, "localPart": name}, "value": value}


def words(*pieces):
    return {"TYPE_NAME": "GenInline", "content": list(pieces)}


def test_the_json_of_the_editor_reads_as_the_xml(read_law):
    clause = node("Inciso", id="i", rotulo="I –", p=[words("barcas;")])
    caput = node("Caput", p=[words("Empres", node("span", content=["tam-se:"]))])
    caput["value"]["lXcontainersOmissis"] = [clause]
    night = node("Paragrafo", rotulo="§ 1º", p=[words("À noite, não.")])
    article = node("Artigo", id="art1", rotulo="Art. 1º", lXcontainersOmissis=[caput, night])
    title = node("Titulo", rotulo="TÍTULO I", nomeAgrupador=words("DAS BARCAS"), lXhier=[article])
    about = {"parteInicial": {"epigrafe": words("LEI Nº 9.")}, "articulacao": {"lXhier": [title]}}
    law = node(
        "LexML",
        metadado={"identificacao": {"urn": "urn:lex:br:federal:lei:2031-05-01;9"}},
        projetoNorma={"norma": about},
    )
    (found,) = read_law(json.dumps(law), "law.json").articles
    assert (found.number, found.text, found.law) == ("1º", FIRST, "LEI Nº 9")
    assert found.headings == ("TÍTULO I. DAS BARCAS",)


# Counted in the files: `Artigo` outside `Alteracao`, and within.
@pytest.mark.parametrize(
    ("file", "own", "quoted", "last"),
    [
        ("plc_2017_177", 4, 8, "4º"),
        ("plc_2018_75", 91, 20, "91"),
        ("pls_2017_394", 180, 2, "181"),
        ("pre-sal-novo", 67, 6, "67"),
    ],
)
def test_real_bills(read_sample, file, own, quoted, last):
    found = read_sample(f"formats/lexml_br/{file}.xml", ("Articulacao",))
    numbers = [each.number for each in found.articles]
    assert (len(numbers), numbers[0], numbers[-1]) == (own, "1º", last)
    assert found.counted["kept as text"] == {"quoted article": quoted}
    assert found.share > 0.98  # "Art." before each number is not kept


def test_the_civil_code(real_data, read_law):
    path = real_data("formats") / "lexml_br" / "codigocivil_completo.json.gz"
    found = read_law(gzip.decompress(path.read_bytes()).decode(), "law.json").articles
    assert (len(found), found[0].number, found[-1].number) == (2046, "1º", "2.046")
    headings = {each.number: each.headings for each in found}
    assert headings["1.024"][-2:] == (
        "CAPÍTULO I. Da Sociedade Simples",
        "Seção IV. Das Relações com Terceiros",
    )
    assert len(headings["1º"]) == 4
    assert headings["2.046"] == (
        "PARTE II. da parte especial",
        "LIVRO VI. Das Disposições Finais e Transitórias",
    )

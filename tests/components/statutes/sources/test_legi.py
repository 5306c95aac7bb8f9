"""French law from the LEGI base: a code as a JSON tree, an article as an XML file."""

import json
from datetime import date

import pytest

from components.statutes.sources import legi

DAY = 86_400_000  # milliseconds
NEVER = 32_472_144_000_000
SITE = "https://www.legifrance.gouv.fr"


def article(number, html, since=0, until=NEVER, **more):
    data = {
        "id": f"LEGIARTI{number}",
        "num": number,
        "texteHtml": html,
        "dateDebut": since,
        "dateFin": until,
        "etat": "VIGUEUR",
        "nota": "",
        "articleVersions": [{"id": f"LEGIARTI{number}"}],
    }
    return {"type": "article", "data": data | more}


def section(title, *children):
    return {"type": "section", "data": {"title": title}, "children": list(children)}


@pytest.fixture
def read(tmp_path):
    def of(content):
        path = tmp_path / "law"
        if isinstance(content, list):
            code = {"cid": "LEGITEXT1", "id": "LEGITEXT1", "title": "Code des prêts"}
            content = json.dumps({"data": code, "type": "code", "children": content})
        path.write_text(content, "utf-8")
        assert legi.matches(path.read_bytes()[:4096], path)
        problems = []
        articles = [article for _, article in legi.read(path, problems)]
        return articles, " ".join(problem.message for problem in problems)

    return of


def test_articles_of_a_tree_stand_in_order_under_their_divisions(read):
    first = article("L1", "<p><br/>Le prêteur\n prête.<br/><br/>Il attend.</p>", 10 * DAY)
    chapter = section("Chapitre Ier : Le prêt", first, article("L2", "<p>A</p>"))
    articles, _ = read([section("Livre Ier : DES PRÊTS", chapter), article("L3", "<p>B</p>")])
    assert [each.number for each in articles] == ["L1", "L2", "L3"]
    found = articles[0]
    assert found.law == "Code des prêts"
    assert found.headings == ("Livre Ier. DES PRÊTS", "Chapitre Ier. Le prêt")
    assert found.text == "Le prêteur prête.\nIl attend."
    assert (found.valid_from, found.valid_to) == (date(1970, 1, 11), None)
    assert found.source_url == f"{SITE}/codes/article_lc/LEGIARTIL1"
    assert found.id == "LEGITEXT1:LEGIARTIL1"


def test_the_end_of_a_wording_is_the_first_day_without_it(read):
    (found,), _ = read([article("L1", "<p>A</p>", 0, 31 * DAY, etat="ABROGE_DIFF")])
    assert found.valid_to == date(1970, 1, 31)


def test_a_wording_that_never_was_in_force_is_left_out(read):
    dead = article("L1", "<p>A</p>", 20 * DAY, 10 * DAY, etat="MODIFIE_MORT_NE")
    articles, notices = read([dead, article("L2", "<p>B</p>")])
    assert [each.number for each in articles] == ["L2"]
    assert "1 wording that never was in force" in notices


def test_wordings_without_words_and_notes_are_counted(read):
    others = [{"id": "LEGIARTIL1"}, {"id": "LEGIARTI0"}, {"id": "LEGIARTI9"}]
    _, notices = read([article("L1", "<p>A</p>", articleVersions=others, nota="Voir.")])
    assert "2 other wordings without words" in notices and "1 note" in notices


def test_tables_are_rows(read):
    row = "<tr><td><br/>\n Prêt</td><td>Prix ;<br/>\n frais</td></tr>"
    (found,), _ = read([article("L1", f"<p>Ainsi :</p><table><tbody>{row}</tbody></table>")])
    assert found.text == "Ainsi :\nPrêt | Prix ; frais"


def test_a_tree_that_breaks_off_is_named_by_line_and_column(tmp_path):
    path = tmp_path / "code.json"
    path.write_text('{"data": {"id": "LEGITEXT1"},\n "type": ', "utf-8")
    problems = []
    assert list(legi.read(path, problems)) == []
    assert [problem.line for problem in problems] == [2]
    assert "column" in problems[0].message


FRAGMENT = """<?xml version="1.0" encoding="UTF-8"?>
<ARTICLE><META><META_COMMUN><ID>LEGIARTI7</ID></META_COMMUN><META_SPEC><META_ARTICLE>
<NUM>R*4-1</NUM><ETAT>MODIFIE</ETAT><DATE_DEBUT>2007-10-18</DATE_DEBUT><DATE_FIN>{until}</DATE_FIN>
</META_ARTICLE></META_SPEC></META><CONTEXTE><TEXTE cid="LEGITEXT1" nature="CODE">
<TITRE_TXT c_titre_court="Code des prêts" debut="1993-07-27" fin="2999-01-01">Code</TITRE_TXT>
<TM><TITRE_TM debut="1990-01-01" fin="2000-01-01">Livre II : Vieux</TITRE_TM>
<TITRE_TM debut="2000-01-01" fin="2999-01-01">Livre II : Neuf &#13;
</TITRE_TM><TM><TITRE_TM debut="2000-01-01" fin="2999-01-01">Dispositions</TITRE_TM></TM></TM>
</TEXTE></CONTEXTE><NOTA><CONTENU/></NOTA><BLOC_TEXTUEL><CONTENU><br/>   Le prêteur
prête.<br/><br/>   a) Il attend.<br/></CONTENU></BLOC_TEXTUEL></ARTICLE>
"""


def test_a_fragment_is_an_article_under_the_divisions_of_its_day(read):
    (found,), _ = read(FRAGMENT.format(until="2012-11-11"))
    assert (found.law, found.number, found.language) == ("Code des prêts", "R*4-1", "fr")
    assert found.headings == ("Livre II. Neuf", "Dispositions")
    assert found.text == "Le prêteur prête.\na) Il attend."
    assert (found.valid_from, found.valid_to) == (date(2007, 10, 18), date(2012, 11, 10))
    assert found.source_url == f"{SITE}/codes/article_lc/LEGIARTI7"


def test_a_fragment_that_never_was_in_force_is_left_out(read):
    articles, notices = read(FRAGMENT.format(until="2007-10-18"))
    assert articles == []
    assert "never was in force" in notices


def test_files_of_structure_match_nothing(tmp_path):
    head = b"<?xml version='1.0'?>\n<SECTION_TA><ID>LEGISCTA1</ID><STRUCTURE_TA/></SECTION_TA>"
    assert not legi.matches(head, tmp_path / "section.xml")


def test_a_wording_born_dead_is_left_out_whatever_its_days(read):
    dead = article("L1", "<p>A</p>", etat="MODIFIE_MORT_NE")
    articles, notices = read([dead])
    assert articles == [] and "1 wording that never was in force" in notices
    fragment = FRAGMENT.format(until="2012-11-11").replace("MODIFIE<", "MODIFIE_MORT_NE<")
    articles, notices = read(fragment)
    assert articles == [] and "1 wording that never was in force" in notices


@pytest.mark.parametrize(("code", "law"), [({"id": "LEGITEXT9"}, "LEGITEXT9"), ({}, "law")])
def test_a_code_without_its_id_goes_by_another(read, code, law):
    tree = {"data": code, "type": "code", "children": [article("L1", "LEGITEXT")]}
    (found,), _ = read(json.dumps(tree))
    assert (found.law, found.id) == (law, f"{law}:LEGIARTIL1")


def test_a_law_goes_by_its_newest_name_whatever_the_day_of_its_article(read):
    newer = '<TITRE_TXT c_titre_court="Code neuf" debut="2015-01-01" fin="2999-01-01">Code'
    renamed = FRAGMENT.replace("<TITRE_TXT", f"{newer}</TITRE_TXT><TITRE_TXT", 1)
    (found,), _ = read(renamed.format(until="2012-11-11"))
    assert found.law == "Code neuf"


def test_a_stray_end_of_a_block_loses_no_words(read):
    (found,), _ = read([article("L1", "<p>A</p></div><p>B</p> C")])
    assert found.text == "A\nB\nC"


@pytest.mark.parametrize("half", [r"\ud800", r"\uDC00"])
def test_half_a_character_is_one_problem(tmp_path, half):
    path = tmp_path / "code.json"
    tree = {"data": {"cid": "LEGITEXT1"}, "type": "code", "children": [article("L1", "<p>A</p>")]}
    path.write_text(json.dumps(tree).replace("<p>A", f"<p>{half}"), "utf-8")
    problems = []
    assert list(legi.read(path, problems)) == []
    (problem,) = problems
    assert "half a character" in problem.message


def test_a_whole_character_in_two_escapes_is_read(read):
    (found,), _ = read([article("L1", "<p>\U0001d11e</p>")])
    assert found.text == "\U0001d11e"

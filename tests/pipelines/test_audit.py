"""python -m pipelines.audit: documents in, verdicts out."""

import io
import json
import re
import sys
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from indexed import indexed

from pipelines.audit import read_document
from pipelines.checking import LoadingError

BRIEF = Path(__file__).resolve().parents[2] / "examples" / "brief.md"
DAY = ("--as-of", "2026-11-01")
FALSE = "Article 99 of the Housing Code"
TRUE = "Article 14 of the Housing Code"


def test_the_briefs_five_false_citations_are_found(command, aldermere_store):
    code, out, _ = command("audit", BRIEF, "--store", aldermere_store, *DAY, "--json")
    assert code == 1
    found = json.loads(out)
    false = {each["text"]: each["verdict"] for each in found["citations"] if each["false"]}
    assert false == {
        "Article 77": "does not exist",
        "Article 16(8)": "does not exist",
        "article 13": "not in force",
        "Article 31": "subject differs",
        "Article 412": "does not exist",
    }
    assert found["counts"]["verified"] == 4
    assert found["counts"]["unknown law"] == 1
    assert found["counts"]["not checked"] == 3
    text = BRIEF.read_text(encoding="utf-8")
    for each in found["citations"]:
        assert text[each["start"] : each["end"]] == each["text"]
        line = int(each["place"].removeprefix("brief.md, line "))
        assert each["text"] in text.splitlines()[line - 1]
        assert all(id_ in found["articles"] for id_ in each["ids"])


def test_verdicts_are_printed_with_what_the_law_says(command, aldermere_store, monkeypatch):
    given = io.TextIOWrapper(io.BytesIO(f"{FALSE}. {TRUE}.\n\x1b[2J".encode()))
    monkeypatch.setattr(sys, "stdin", given)
    code, out, _ = command("audit", "-", "--store", aldermere_store)
    assert code == 1
    assert "standard input, line 1: Article 99: DOES NOT EXIST" in out
    assert "Housing Code of Aldermere (invented), 14 [housing-14]" in out
    assert out.rstrip().endswith("2 citations: 1 verified, 1 does not exist, 0 not checked.")
    given = io.TextIOWrapper(io.BytesIO(b"No law is cited here."))
    monkeypatch.setattr(sys, "stdin", given)
    assert command("audit", "-", "--store", aldermere_store)[:2] == (
        0,
        "0 citations: 0 not checked.\n",
    )


def test_a_word_file_is_read_with_tables_notes_and_tracked_changes(
    command, aldermere_store, tmp_path
):
    written = docx.Document()
    written.add_heading("Brief")
    runs = written.add_paragraph("The landlord returns the deposit (")
    runs.add_run("Article").bold = True
    runs.add_run(" 14 of the")
    runs.add_run().add_break()
    runs.add_run("Housing Code).")
    written.add_table(1, 2).cell(0, 1).text = "Article 81 of the Housing Code"
    changed = written.add_paragraph("")
    for tag, text in (
        ("del", "Article 82 of the Housing Code"),
        ("ins", "Article 83 of the Work Code"),
    ):
        inner = "delText" if tag == "del" else "t"
        xml = f"<w:{tag} {nsdecls('w')}><w:r><w:{inner}>{text}</w:{inner}></w:r></w:{tag}>"
        changed._p.append(parse_xml(xml))
    path = tmp_path / "brief.docx"
    written.save(path)
    code, out, _ = command("audit", path, "--store", aldermere_store, *DAY, "--json")
    assert code == 1
    found = [
        (each["place"], each["text"], each["verdict"]) for each in json.loads(out)["citations"]
    ]
    assert found == [
        ("brief.docx, paragraph 2", "Article 14", "verified"),
        ("brief.docx, paragraph 3", "Article 81", "does not exist"),
        ("brief.docx, paragraph 4", "Article 83", "does not exist"),
    ]


def test_a_word_files_notes_are_read(tmp_path):
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part

    written = docx.Document()
    written.add_paragraph("It is so.")
    noted = f'<w:footnote w:id="2"><w:p><w:r><w:t>{FALSE}</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {nsdecls('w')}>{noted}</w:footnotes>"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, notes.encode(), written.part.package)
    written.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    written.save(tmp_path / "noted.docx")
    assert read_document(str(tmp_path / "noted.docx")).text == f"It is so.\n\n{FALSE}"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("absent.md", None, "No such file"),
        ("brief.pdf", b"%PDF-1.7 ...", "is a PDF"),
        ("brief.odt", b"PK\x03\x04 ...", "packed"),
        ("brief.txt", b"\xff\xfa\x00", "UTF-8"),
        ("brief.docx", b"no zip", "is not a Word file"),
        ("long.txt", b"a" * 2_000_001, "Split it"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, command, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LoadingError, match=says):
        read_document(str(path))
    code, out, err = command("audit", path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_text_is_read_in_the_encodings_that_windows_writes(tmp_path):
    path = tmp_path / "mail.txt"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("Article 14\r\nof the Code civil.".encode(encoding))
        assert read_document(str(path)).text == "Article 14\nof the Code civil."


def test_a_missing_or_empty_store_is_an_error(command, tmp_path):
    path = tmp_path / "mail.txt"
    path.write_text(TRUE)
    code, out, err = command("audit", path, "--store", tmp_path / "law.db")
    assert (code, out) == (2, "")
    assert "law.db: there is no such file" in err
    assert not (tmp_path / "law.db").exists()


# Invented laws, each numbered as its country does.
LAWS = {
    ("Fährordnung", "de", "FährO"): {
        "§ 7": "Die Fähre legt stündlich ab.",
        "§ 7c": "Der Fährmann trägt eine Mütze.",
        "§ 10": "(weggefallen)",
        "§§ 15 bis 18": "(weggefallen)",
        "§ 19": "(1) Das Fährgeld ist fällig.\n(2) Kinder zahlen halb.\n(3) Hunde fahren frei.",
    },
    ("Code des ponts", "fr", "C. ponts"): {
        "1er": "Le présent code régit les ponts.",
        "12 bis": "Le péage est affiché.",
        "L221-1": "Le pontonnier ouvre le pont.",
        "L221-1-1": "Le pont est fermé la nuit.",
    },
    ("REGIMEN DE BALSAS", "es", "Ley 20.999"): {
        "2º": "El balsero cobra.",
        "2º-A": "El balsero exhibe la tarifa.",
        "12 bis": "La balsa lleva farol.",
        "14": "Derogado por Ley 30.111.",
    },
    ("Title 61, United States Code", "en", "61 U.S.C."): {
        "§ 7101": "Lanterns are lit at dusk.",
        "§ 7101a": "(a) A keeper is paid monthly.\n(b) The pay is posted.",
        "§ 7101b-1": "Oil is bought by tender.",
    },
    ("나루터법", "ko", "나루법"): {
        "제3조": "나루터는 매일 연다.",
        "제3조의2": "뱃사공은 모자를 쓴다.",
        "제14조": "밤에는 배를 띄우지 않는다.",
    },
    ("Veerwetboek", "nl", "VWB"): {
        "7:201": "1. Het veer vaart elk uur.\n2. Kinderen betalen de helft.",
        "7:201a": "De veerman draagt een pet.",
        "7:205": "[Vervallen per 1 januari 2011]",
    },
    ("Færgeloven", "da", "FærgL"): {
        "§ 19": "Færgen sejler hver time.",
        "§ 19 b": "Stk. 1. Færgemanden bærer hat.\nStk. 2. Hatten er blå.",
        "§ 22": "(Ophævet)",
    },
    ("Кодекс о паромах", "ru", "КоП"): {
        "Статья 159": "1. Паром ходит каждый час.\n2. Дети платят половину.",
        "Статья 159.1": "Паромщик носит шапку.",
        "Статья 20": "Утратила силу.",
    },
}

# Paragraphs of a brief, and the citations in each with the first letters of their verdicts:
# verified, does not exist, not in force, unknown law, not checked.
ON_EIGHT_LAWS = (
    ("Der Fährmann trägt eine Mütze (§ 7c FährO).", "§ 7c|v"),
    ("§ 7 c der Fährordnung gilt i.V.m. § 19 Abs. 1 und 2 FährO.", "§ 7 c|v § 19 Abs. 1 und 2|v"),
    ("§ 7 q FährO, § 70 FährO und § 10 FährO tragen nicht.", "§ 7 q|c § 70|e § 10|f"),
    (
        "Auf § 16 FährO kommt es nicht an, auf § 19 Abs. 1 und Abs. 4 FährO auch nicht.",
        "§ 16|f § 19 Abs. 1 und Abs. 4|e",
    ),
    ("See BGHZ 71, 9 and BGH NJW 2010, 123.", "BGHZ 71, 9|c NJW 2010, 123|c"),
    ("Selon l'article L. 221-1-1 du Code des ponts, le pont est fermé.", "article L. 221-1-1|v"),
    ("Articles 12 bis et 1er du Code des ponts.", "Articles 12 bis|v 1er|v"),
    (
        "Article L. 221-1-2 du Code des ponts; article 12 ter du Code des ponts.",
        "Article L. 221-1-2|e article 12 ter|e",
    ),
    ("L'article L. 221-1 du Code des pontons n'est pas cité.", "article L. 221-1|u"),
    (
        "Art. 2º-A de la Ley 20.999 y art. 12 bis del Régimen de Balsas.",
        "Art. 2º-A|v art. 12 bis|v",
    ),
    ("Art. 2º A de la Ley 20.999.", "Art. 2º A|v"),
    (
        "Art. 2º-B de la Ley 20.999, art. 14 de la Ley 20.999, art. 2 de la Ley 20.998.",
        "Art. 2º-B|e art. 14|f art. 2|u",
    ),
    (
        "Oil is bought by tender, 61 U.S.C. § 7101b-1; pay is posted, 61 USC 7101a(b).",
        "61 U.S.C. § 7101b-1|v 61 USC 7101a(b)|v",
    ),
    (
        "Section 7101 of title 61, United States Code, lights them.",
        "Section 7101 of title 61, United States Code|v",
    ),
    (
        "61 U.S.C. § 7101b; 61 U.S.C. § 7101aa; 62 U.S.C. § 7101; 61 U.S.C. § 7101 note.",
        "61 U.S.C. § 7101b|e 61 U.S.C. § 7101aa|e 62 U.S.C. § 7101|u 61 U.S.C. § 7101 note|c",
    ),
    ("Pub. L. 98-7 is cited as a whole, and 347 U.S. 483.", "Pub. L. 98-7|c 347 U.S. 483|c"),
    ("나루터법 제3조의2, 나루터법 제3조 의2, 나루터법 제14조.", "제3조의2|v 제3조 의2|v 제14조|v"),
    ("나루터법 제3조의14, 나루터법 제3조의2의2.", "제3조의14|e 제3조의2의2|e"),
    ("Art. 7:201a VWB; artikel 7:201 lid 2 Veerwetboek.", "Art. 7:201a|v artikel 7:201 lid 2|v"),
    ("Art. 7:201b VWB; art. 7:205 VWB; art. 7:201 BW.", "Art. 7:201b|e art. 7:205|f art. 7:201|u"),
    ("Færgelovens § 19 b, stk. 2. § 19 i færgeloven.", "§ 19 b, stk. 2|v § 19|v"),
    ("Færgelovens § 19 bb, færgelovens § 19-c, færgelovens § 22.", "§ 19 bb|c § 19-c|c § 22|f"),
    ("Ст. 159.1 Кодекса о паромах, ч. 2 ст. 159 Кодекса о паромах.", "Ст. 159.1|v ч. 2 ст. 159|v"),
    (
        "Ст. 159.2 Кодекса о паромах, статья 159 прим. 3 Кодекса о паромах.",
        "Ст. 159.2|e статья 159 прим. 3|c",
    ),
    ("Clause 7.3 of the lease binds too.", "Clause 7.3|c"),
)


def test_a_brief_on_the_laws_of_eight_countries_verifies_nothing_wrong(command, tmp_path):
    law = [
        {
            "id": f"{language}{number}",
            "law": title,
            "number": number,
            "headings": [],
            "text": text,
            "language": language,
            "law_names": [name],
        }
        for (title, language, name), articles in LAWS.items()
        for number, text in articles.items()
    ]
    store = indexed(tmp_path, law)
    brief = tmp_path / "brief.txt"
    brief.write_text("\n\n".join(text for text, _ in ON_EIGHT_LAWS), encoding="utf-8")
    code, out, _ = command("audit", brief, "--store", store, "--json")
    assert code == 1
    found = json.loads(out)["citations"]
    letters = {"does not exist": "e", "not in force": "f", "not checked": "c"}
    read = [f"{each['text']}|{letters.get(each['verdict'], each['verdict'][0])}" for each in found]
    expected = [each for _, listed in ON_EIGHT_LAWS for each in re.findall(r"\S.*?\|\w", listed)]
    assert read == expected
    _, out, _ = command("audit", brief, "--store", store)
    assert out.rstrip().endswith(
        "51 citations: 21 verified, 11 does not exist, 5 not in force, 4 unknown law,"
        " 10 not checked."
    )

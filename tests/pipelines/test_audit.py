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
        ("absent.md", None, "There is no file"),
        ("brief.pdf", b"%PDF-1.7 ...", "PDF"),
        ("brief.odt", b"PK\x03\x04 ...", "packed"),
        ("brief.txt", b"\xff\xfa\x00", "utf-8"),
        ("brief.docx", b"no zip", "not a Word file"),
        ("long.txt", b"a" * 2_000_001, "split it"),
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


def test_a_brief_on_the_laws_of_eight_countries_verifies_nothing_wrong(command, tmp_path):
    """Invented laws, each numbered as its country does (eight_laws.jsonl), and a brief on them.

    Each paragraph of eight_laws.tsv has its citations and the first letters of their verdicts:
    verified, does not exist (e), not in force (f), unknown law, not checked (c).
    """
    here = Path(__file__).parent
    store = indexed(tmp_path, list(map(json.loads, (here / "eight_laws.jsonl").open("rb"))))
    table = (here / "eight_laws.tsv").read_text(encoding="utf-8").splitlines()[1:]
    paragraphs, citations = zip(*(line.split("\t") for line in table), strict=True)
    brief = tmp_path / "brief.txt"
    brief.write_text("\n\n".join(paragraphs), encoding="utf-8")
    code, out, _ = command("audit", brief, "--store", store, "--json")
    assert code == 1
    found = json.loads(out)["citations"]
    letters = {"does not exist": "e", "not in force": "f", "not checked": "c"}
    read = [f"{each['text']}|{letters.get(each['verdict'], each['verdict'][0])}" for each in found]
    assert read == [each for listed in citations for each in re.findall(r"\S.*?\|\w", listed)]
    assert len(read) == 51

"""Foreign formats and names: BSARD, SoICT, the demo law, and what is none of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from components.statutes import Article, CorpusError, StatuteCorpus, read_questions
from components.statutes.sources import aldermere, bsard

BSARD_ARTICLE = {
    "id": "1500",
    "reference": "Art. 1382, Code Civil (Livre III, Titre IV, Chapitre II)",
    "article": "Tout fait quelconque de l'homme, qui cause à autrui un dommage...",
    "law_type": "national",
    "code": "Code Civil",
    "book": "Livre III",
    "part": "Titre IV",
    "act": "",
    "chapter": "Chapitre II",
    "section": "",
    "subsection": "",
    "description": "Livre III, Titre IV, Chapitre II",
}
BSARD_QUESTION = {
    "id": "274",
    "category": "Logement",
    "subcategory": "Location",
    "question": "Qui répare ?",
    "extra_description": "",
    "article_ids": "1500,1501, 1500",
}


def write_csv(path: Path, rows: Iterable[dict[str, str]], encoding: str = "utf-8") -> Path:
    rows = list(rows)
    with path.open("w", encoding=encoding, newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.fixture
def bsard_folder(tmp_path: Path) -> Path:
    second = BSARD_ARTICLE | {
        "id": "1501",
        "reference": "Art. 1er, Code de l'Air, du Climat et de l'Energie (Livre 1er)",
        "code": "Code de l'Air, du Climat et de l'Energie",
        "part": "",
        "chapter": "",
        "article": 'Sur deux\nlignes, avec "guillemets".',
    }
    third = BSARD_ARTICLE | {"id": "1502", "reference": "Art. 1382bis, Code Civil"}
    write_csv(tmp_path / "articles_fr.csv", [BSARD_ARTICLE, second, third])
    write_csv(tmp_path / "questions_fr_train.csv", [BSARD_QUESTION])
    write_csv(
        tmp_path / "questions_fr_test.csv", [BSARD_QUESTION | {"id": "9", "article_ids": "1502"}]
    )
    return tmp_path


def test_bsard_articles_have_number_law_and_the_divisions_that_are_filled(bsard_folder):
    first, second, third = StatuteCorpus.read(bsard_folder)
    assert first == Article(
        id="1500",
        law="Code Civil",
        number="1382",
        headings=("Livre III", "Titre IV", "Chapitre II"),
        text=BSARD_ARTICLE["article"],
        language="fr",
    )
    assert second.number == "1er"
    assert second.law == "Code de l'Air, du Climat et de l'Energie"
    assert second.headings == ("Livre III",)
    assert second.text == 'Sur deux\nlignes, avec "guillemets".'
    assert third.number == "1382bis"


@pytest.mark.parametrize(
    ("reference", "law", "number"),
    [
        ("Art. 1382, Code Civil (Livre III, Titre IV)", "Code Civil", "1382"),
        ("Art. L1111-1, Code de la Démocratie Locale", "Code de la Démocratie Locale", "L1111-1"),
        ("Art. 1.1.1, Code de l'Air, du Climat (Livre 1er)", "Code de l'Air, du Climat", "1.1.1"),
        ("Article 12, § 2, Constitution", "Constitution", "12, § 2"),
        ("Art. 5, Loi inconnue", "Autre loi", "5"),
        ("Artikel 3, Code Civil", "Code Civil", "Artikel 3"),
    ],
)
def test_bsard_numbers_are_what_stands_before_the_laws_name(reference, law, number):
    assert bsard.printed_number(reference, law) == number


def test_bsard_questions_have_their_split_and_relevant_ids_once(bsard_folder):
    corpus = StatuteCorpus.read(bsard_folder)
    questions = read_questions(bsard_folder, corpus_ids=corpus.ids)
    assert [(q.id, q.split, q.relevant) for q in questions] == [
        ("274", "train", ("1500", "1501")),
        ("9", "test", ("1502",)),
    ]
    assert questions.repeated_relevant == 1
    assert questions[0].text == "Qui répare ?"
    assert questions[0].extra == {
        "category": "Logement",
        "subcategory": "Location",
        "extra_description": "",
    }


def test_bsard_under_the_hubs_newer_names_reads_the_same(bsard_folder):
    before = StatuteCorpus.read(bsard_folder).sha256
    (bsard_folder / "articles_fr.csv").rename(bsard_folder / "articles.csv")
    assert StatuteCorpus.read(bsard_folder).sha256 == before


def test_a_question_of_both_files_under_one_id_names_both_places(bsard_folder):
    write_csv(bsard_folder / "questions_fr_test.csv", [BSARD_QUESTION])
    with pytest.raises(CorpusError) as raised:
        read_questions(bsard_folder)
    assert "questions_fr_test.csv:2: field 'id': '274' is already the id of " in str(raised.value)
    assert "questions_fr_train.csv:2" in str(raised.value)


def test_bad_rows_of_a_table_are_named_and_the_others_kept(bsard_folder):
    path = bsard_folder / "articles_fr.csv"
    header, *_ = path.read_bytes().splitlines(keepends=True)

    def row(id_: bytes, reference: bytes = b"Art. 1", text: bytes = b"Mots.", code: bytes = b"C"):
        return b",".join([id_, reference, text, b"national", code, *[b""] * 7]) + b"\n"

    rows = [
        b"1,too,few\n",
        row(b"2"),
        row(b"3", text=b"caf\xe9"),
        row(b"4", reference=b'"a"b'),
        row(b"5", text=b""),
        row(b"6", reference=b"Art. 2", text=b'"two\nlines"'),
        row(b"7", code=b""),
    ]
    path.write_bytes(header + b"".join(rows))
    corpus = StatuteCorpus.read(bsard_folder, skip_bad=True)
    assert corpus.ids == ["2", "6"]
    assert [(p.line, p.field, p.left_out) for p in corpus.problems if not p.notice] == [
        (2, None, 1),
        (4, None, 1),
        (5, None, 1),
        (6, "article", 1),
        (9, "code", 1),
    ]
    messages = [p.message for p in corpus.problems if not p.notice]
    assert messages[0] == "has 3 columns, where the header has 12"
    assert "0xe9" in messages[1]
    assert "is no CSV row" in messages[2]
    with pytest.raises(CorpusError, match="5 problems"):
        StatuteCorpus.read(bsard_folder)


def test_a_quote_that_nothing_closes_is_refused_even_when_skipping(bsard_folder):
    path = bsard_folder / "articles_fr.csv"
    path.write_bytes(path.read_bytes() + b'8,Art. 9,"never closed,national,C\n' + b"9\n" * 50)
    with pytest.raises(CorpusError, match=r"is no CSV row \(unexpected end of data\)"):
        StatuteCorpus.read(bsard_folder, skip_bad=True)


def test_a_table_without_a_needed_column_says_which(bsard_folder):
    rows = [{name: value for name, value in BSARD_ARTICLE.items() if name != "reference"}]
    write_csv(bsard_folder / "articles_fr.csv", rows)
    with pytest.raises(CorpusError, match="field 'reference': is no column of the header"):
        StatuteCorpus.read(bsard_folder)


def test_a_table_in_another_form_is_one_fault_that_says_which(bsard_folder):
    path = bsard_folder / "articles_fr.csv"
    text = path.read_text(encoding="utf-8")
    header, rest = text.split("\n", 1)
    forms = {
        "has its columns separated by ';', not by commas": text.replace(",", ";").encode(),
        "has its columns separated by '\\t', not by commas": text.replace(",", "\t").encode(),
        "is not UTF-8 text (it holds the byte 0xff)": text.encode("utf-16"),
        "holds the character U+0000": text.encode("utf-16-le"),
        "field 'code': stands 2 times in the header": f"{header},code\n{rest}".encode(),
    }
    for message, content in forms.items():
        path.write_bytes(content)
        for skip_bad in (False, True):
            with pytest.raises(CorpusError) as raised:
                StatuteCorpus.read(bsard_folder, skip_bad=skip_bad)
            (problem,) = raised.value.problems
            assert str(problem).startswith(f"{path}:1: {message}")


def test_a_table_with_a_byte_order_mark_and_a_very_long_article_is_read(bsard_folder):
    long = BSARD_ARTICLE | {"article": "mot " * 50_000}
    write_csv(bsard_folder / "articles_fr.csv", [long], encoding="utf-8-sig")
    (article,) = StatuteCorpus.read(bsard_folder)
    assert len(article.text) == 200_000


def test_bsard_by_its_hub_name_reads_the_downloaded_folder(bsard_folder, monkeypatch):
    import huggingface_hub

    asked = {}

    def snapshot(name: str, **options: object) -> str:
        asked.update(options, name=name)
        return str(bsard_folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert len(StatuteCorpus.read("maastrichtlawtech/bsard")) == 3
    assert asked["name"] == "maastrichtlawtech/bsard"
    assert asked["repo_type"] == "dataset"
    assert {"articles.csv", "questions_train.csv"} <= set(asked["allow_patterns"])


def test_bsard_by_its_hub_name_without_a_network_says_which_files_to_put_where(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(CorpusError, match=r"no network.*Put articles_fr\.csv.*in a folder"):
        StatuteCorpus.read("maastrichtlawtech/bsard")


@pytest.fixture
def soict_folder(tmp_path: Path) -> Path:
    write_csv(
        tmp_path / "corpus.csv",
        [
            {"text": "Điều 1. Phạm vi", "cid": "0"},
            {"text": "", "cid": "1"},
            {"text": "Điều 2. Đối tượng", "cid": "2"},
            {"text": " ", "cid": "3"},
        ],
    )
    write_csv(
        tmp_path / "train.csv",
        [
            {"question": "Ai?", "context": "['Điều 1']", "cid": "[0 2]", "qid": "161615"},
            {"question": "Gì?", "context": "[]", "cid": "['2', '2']", "qid": "161616"},
        ],
    )
    return tmp_path


def test_soict_articles_leave_out_and_count_empty_texts(soict_folder):
    corpus = StatuteCorpus.read(soict_folder)
    assert [(a.id, a.number, a.text, a.headings, a.language) for a in corpus] == [
        ("0", "0", "Điều 1. Phạm vi", (), "vi"),
        ("2", "2", "Điều 2. Đối tượng", (), "vi"),
    ]
    (notice,) = corpus.problems
    assert notice.notice
    assert "2 articles have an empty text" in notice.message
    assert (notice.line, corpus.left_out) == (3, 2)


def test_soict_questions_read_lists_of_ids_as_they_are_printed(soict_folder):
    questions = read_questions(soict_folder, corpus_ids=StatuteCorpus.read(soict_folder).ids)
    assert [(q.id, q.text, q.relevant, q.split) for q in questions] == [
        ("161615", "Ai?", ("0", "2"), "train"),
        ("161616", "Gì?", ("2",), "train"),
    ]


def test_a_question_about_an_empty_soict_text_is_named(soict_folder):
    write_csv(
        soict_folder / "train.csv",
        [{"question": "Ai?", "context": "", "cid": "[1]", "qid": "7"}],
    )
    with pytest.raises(CorpusError, match="names '1', which the corpus does not hold"):
        read_questions(soict_folder, corpus_ids=StatuteCorpus.read(soict_folder).ids)


def test_the_demo_law_is_found_by_its_name(aldermere_articles, aldermere_questions):
    assert aldermere.articles_path() == aldermere_articles
    assert aldermere.questions_path() == aldermere_questions


def test_the_demo_law_is_read_by_its_name(aldermere_articles):
    corpus = StatuteCorpus.read("aldermere")
    questions = read_questions("aldermere", corpus_ids=corpus.ids)
    assert (corpus.left_out, questions.left_out) == (0, 0)
    assert corpus.sha256 == StatuteCorpus.read(aldermere_articles).sha256


def test_a_path_that_is_not_there_names_the_two_names_that_are_known(tmp_path):
    with pytest.raises(CorpusError, match="'aldermere' and 'maastrichtlawtech/bsard'"):
        StatuteCorpus.read(tmp_path / "nowhere.jsonl")


def test_a_folder_of_something_else_says_what_each_source_wants(tmp_path):
    with pytest.raises(CorpusError, match=r"articles\.jsonl .*articles_fr\.csv .*corpus\.csv"):
        StatuteCorpus.read(tmp_path)


def test_a_table_by_itself_asks_for_its_folder(bsard_folder):
    with pytest.raises(CorpusError, match="read from the folder that holds them"):
        StatuteCorpus.read(bsard_folder / "articles_fr.csv")


@pytest.mark.parametrize("absent", ["articles", "questions"])
def test_a_folder_with_half_of_a_source_names_the_file_it_lacks(tmp_path, soict_folder, absent):
    (soict_folder / {"articles": "corpus.csv", "questions": "train.csv"}[absent]).unlink()
    read = {"articles": StatuteCorpus.read, "questions": read_questions}[absent]
    with pytest.raises(CorpusError, match=r"the folder holds no (corpus|train)\.csv"):
        read(soict_folder)


def test_a_native_folder_with_a_plain_and_a_packed_file_asks_which(tmp_path):
    for name in ("articles.jsonl", "articles.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(CorpusError, match="Name the file to read"):
        StatuteCorpus.read(tmp_path)
    with pytest.raises(CorpusError, match=r"holds no questions\.jsonl or questions\.jsonl\.gz"):
        read_questions(tmp_path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "articles.jsonl"
    path.write_bytes(b"{}")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(CorpusError, match=r"cannot be read \(permission denied\)"):
        StatuteCorpus.read(path)


def test_a_native_folder_stays_native_whatever_else_lies_in_it(tmp_path: Path) -> None:
    article = {"id": "a", "law": "L", "number": "1", "headings": [], "text": "words"}
    (tmp_path / "articles.jsonl").write_text(json.dumps(article), encoding="utf-8")
    (tmp_path / "train.csv").write_text("question,context,cid,qid\n", encoding="utf-8")
    assert StatuteCorpus.read(tmp_path).ids == ["a"]


def test_a_soict_text_with_a_null_character_is_named(soict_folder):
    rows = [{"text": "Điều\0 1.", "cid": "0"}, {"text": "Điều 2.", "cid": "2"}]
    write_csv(soict_folder / "corpus.csv", [*rows, {"text": "", "cid": "3"}])
    with pytest.raises(CorpusError, match=r"holds the character U\+0000"):
        StatuteCorpus.read(soict_folder)
    corpus = StatuteCorpus.read(soict_folder, skip_bad=True)
    assert (corpus.ids, corpus.left_out) == (["2"], 2)

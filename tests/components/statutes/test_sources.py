"""Sources by name and format: native, BSARD, SoICT and the demo law."""

import csv
from pathlib import Path

import pytest
from statute_tables import TABLES

from components.statutes import Article, CorpusError, StatuteCorpus, read_questions
from components.statutes.sources.corpora import printed_number
from components.statutes.sources.opening import articles_path, questions_path

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
EXTRA = {"category": "Logement", "subcategory": "Location", "extra_description": ""}
BSARD_QUESTION = {"id": "274", "question": "Qui répare ?", "article_ids": "1500,1501, 1500"} | EXTRA


def write_csv(path, rows, encoding="utf-8"):
    with path.open("w", encoding=encoding, newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture
def bsard(tmp_path):
    climate = "Code de l'Air, du Climat et de l'Energie"
    second = BSARD_ARTICLE | {
        "id": "1501",
        "reference": f"Art. 1er, {climate} (Livre 1er)",
        "code": climate,
        "part": "",
        "chapter": "",
        "article": 'Sur deux\nlignes, avec "guillemets".',
    }
    third = BSARD_ARTICLE | {"id": "1502", "reference": "Art. 1382bis, Code Civil"}
    write_csv(tmp_path / "articles_fr.csv", [BSARD_ARTICLE, second, third])
    write_csv(tmp_path / "questions_fr_train.csv", [BSARD_QUESTION])
    tested = BSARD_QUESTION | {"id": "9", "article_ids": "1502"}
    write_csv(tmp_path / "questions_fr_test.csv", [tested])
    return tmp_path


@pytest.fixture
def soict(tmp_path):
    texts = ["Điều 1. Phạm vi", "", "Điều 2. Đối tượng", " "]
    rows = [{"text": text, "cid": str(n)} for n, text in enumerate(texts)]
    write_csv(tmp_path / "corpus.csv", rows)
    first = {"question": "Ai?", "context": "['Điều 1']", "cid": "[0 2]", "qid": "161615"}
    second = {"question": "Gì?", "context": "[]", "cid": "['2', '2']", "qid": "161616"}
    write_csv(tmp_path / "train.csv", [first, second])
    return tmp_path


def problems_of(path, **options):
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path, **options)
    return raised.value.problems


def test_bsard_articles(bsard):
    first, second, third = StatuteCorpus.read(bsard)
    headings = ("Livre III", "Titre IV", "Chapitre II")
    text = BSARD_ARTICLE["article"]
    assert first == Article("1500", "Code Civil", "1382", headings, text, "fr")
    assert (second.number, second.headings) == ("1er", ("Livre III",))
    assert second.text == 'Sur deux\nlignes, avec "guillemets".'
    assert third.number == "1382bis"


@pytest.mark.parametrize(("reference", "law", "number"), TABLES["numbers of BSARD"])
def test_bsard_numbers(reference, law, number):
    assert printed_number(reference, law) == number


def test_bsard_questions(bsard):
    questions = read_questions(bsard, corpus_ids=StatuteCorpus.read(bsard).ids)
    found = [(q.id, q.split, q.relevant, q.text, q.extra) for q in questions]
    first = ("274", "train", ("1500", "1501"), "Qui répare ?", EXTRA)
    assert found == [first, ("9", "test", ("1502",), "Qui répare ?", EXTRA)]
    assert questions.repeated_relevant == 1
    write_csv(bsard / "questions_fr_test.csv", [BSARD_QUESTION])
    with pytest.raises(CorpusError, match=r"test\.csv:2: field 'id': .*train\.csv:2"):
        read_questions(bsard)


def test_bad_rows_are_named_and_the_others_kept(bsard):
    path = bsard / "articles_fr.csv"
    header, *_ = path.read_bytes().splitlines(keepends=True)

    def row(id_, reference=b"Art. 1", text=b"Mots.", code=b"C"):
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
    corpus = StatuteCorpus.read(bsard, skip_bad=True)
    assert corpus.ids == ["2", "6"]
    bad = [(2, None), (4, None), (5, None), (6, "article"), (9, "code")]
    assert [(p.line, p.field) for p in corpus.problems if not p.notice] == bad
    assert len(problems_of(bsard)) >= 5


def test_a_table_in_another_form_has_one_problem(bsard):
    path = bsard / "articles_fr.csv"
    text = path.read_text(encoding="utf-8")
    header, rest = text.split("\n", 1)
    for content, place, field in (
        (text.replace(",", ";").encode(), 1, "id"),
        (text.encode("utf-16"), 1, None),
        (text.encode("utf-16-le"), 1, None),
        (f"{header},code\n{rest}".encode(), 1, "code"),
        (text.replace("reference", "ref", 1).encode(), 1, "reference"),
        (text.encode() + b'8,Art. 9,"open,national,C\n' + b"9\n" * 50, 6, None),
    ):
        path.write_bytes(content)
        for skip_bad in (False, True):
            (problem,) = problems_of(bsard, skip_bad=skip_bad)
            assert (problem.file, problem.line, problem.field) == (str(path), place, field)


def test_bsard_by_its_hub_name(bsard, monkeypatch):
    with monkeypatch.context() as patch:
        patch.chdir(bsard)
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(bsard / "cache"))
        with pytest.raises(CorpusError, match=r"articles_fr\.csv"):
            StatuteCorpus.read("maastrichtlawtech/bsard")
    asked = {}

    def snapshot(name, **options):
        asked.update(options, name=name)
        return str(bsard)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert len(StatuteCorpus.read("maastrichtlawtech/bsard")) == 3
    assert (asked["name"], asked["repo_type"]) == ("maastrichtlawtech/bsard", "dataset")
    assert {"articles.csv", "questions_train.csv"} <= set(asked["allow_patterns"])


def test_soict_articles_and_questions(soict):
    corpus = StatuteCorpus.read(soict)
    assert [(a.id, a.number, a.text, a.headings, a.language) for a in corpus] == [
        ("0", "0", "Điều 1. Phạm vi", (), "vi"),
        ("2", "2", "Điều 2. Đối tượng", (), "vi"),
    ]
    (notice,) = corpus.problems
    assert (notice.notice, notice.line, corpus.left_out) == (True, 3, 2)
    questions = read_questions(soict, corpus_ids=corpus.ids)
    assert [(q.id, q.text, q.relevant, q.split) for q in questions] == [
        ("161615", "Ai?", ("0", "2"), "train"),
        ("161616", "Gì?", ("2",), "train"),
    ]
    row = {"question": "Ai?", "context": "", "cid": "[1]", "qid": "7"}
    write_csv(soict / "train.csv", [row])
    with pytest.raises(CorpusError, match="'1'"):
        read_questions(soict, corpus_ids=corpus.ids)
    rows = [("Điều\0 1.", "0"), ("Điều 2.", "2"), ("", "3")]
    write_csv(soict / "corpus.csv", [{"text": text, "cid": cid} for text, cid in rows])
    assert problems_of(soict)[0].line == 2
    corpus = StatuteCorpus.read(soict, skip_bad=True)
    assert (corpus.ids, corpus.left_out) == (["2"], 2)


def test_the_demo_law_by_its_name(aldermere_articles, aldermere_questions):
    assert (articles_path(), questions_path()) == (aldermere_articles, aldermere_questions)
    corpus = StatuteCorpus.read("aldermere")
    questions = read_questions("aldermere", corpus_ids=corpus.ids)
    assert (corpus.left_out, questions.left_out) == (0, 0)
    assert corpus.sha256 == StatuteCorpus.read(aldermere_articles).sha256


def test_unknown_paths_and_folders_list_what_is_expected(tmp_path, monkeypatch):
    for path, names in {
        tmp_path / "nowhere.jsonl": r"'aldermere' and 'maastrichtlawtech/bsard'",
        tmp_path: r"articles\.jsonl.*articles_fr\.csv.*corpus\.csv",
    }.items():
        with pytest.raises(CorpusError, match=names):
            StatuteCorpus.read(path)
    for name in ("articles.jsonl", "articles.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    for read in (StatuteCorpus.read, read_questions):
        with pytest.raises(CorpusError, match=r"(articles|questions)\.jsonl\.gz"):
            read(tmp_path)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(CorpusError, match="permission denied"):
        StatuteCorpus.read(tmp_path / "articles.jsonl")


def test_a_table_alone_or_half_a_folder_is_refused(soict):
    with pytest.raises(CorpusError, match="folder"):
        StatuteCorpus.read(soict / "corpus.csv")
    for read, name in ((StatuteCorpus.read, "corpus.csv"), (read_questions, "train.csv")):
        (soict / name).rename(soict / "other")
        with pytest.raises(CorpusError, match=name):
            read(soict)
        (soict / "other").rename(soict / name)

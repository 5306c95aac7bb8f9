"""Published law recognised by content, folders of it, and what stands in place of a law."""

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from components.statutes import CorpusError, StatuteCorpus, iter_articles
from components.statutes.sources import reading

BODY = "<article><num>Art. {n}</num><content><p>Boat {n} floats.</p></content></article>"
AKN = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta>
<identification><FRBRWork><FRBRuri value="/akn/{country}/act/{name}"/>
<FRBRcountry value="{country}"/></FRBRWork><FRBRExpression><FRBRdate date="{day}" name=""/>
<FRBRlanguage language="ita"/></FRBRExpression></identification></meta><body>{body}</body>
</act></akomaNtoso>"""
MARKDOWN = """---
title: "Law {name}"
identifier: "{name}"
country: "fr"
---
# Law {name}

##### Article 1

Une barque flotte.{more}
"""


def akn(name, *numbers, country="fi", day="2001-01-01"):
    body = "".join(BODY.format(n=n) for n in numbers)
    return AKN.format(name=name, body=body, country=country, day=day)


@pytest.fixture
def folder(tmp_path):
    laws = {
        "b/two.xml": akn("two", 1, 2),
        "a/one.md": MARKDOWN.format(name="ONE", more=""),
        "README.md": "# Laws\n",
        "LICENSE.txt": "Free.\n",
        ".git/three.xml": akn("three", 1),
    }
    root = tmp_path / "laws"
    for name, content in laws.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def refused(path, **options):
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path, **options)
    return raised.value.problems


def test_a_folder_is_walked_in_the_order_of_names(folder):
    corpus = StatuteCorpus.read(folder)
    assert corpus.ids == ["fr/ONE:1", "fi/act/two/it:1", "fi/act/two/it:2"]
    assert corpus.left_out == 0
    skipped = [str(each) for each in corpus.problems if "README.md" in str(each)]
    assert len(skipped) == 1
    assert "2 files" in skipped[0]


def test_one_format_of_a_folder(folder):
    assert len(StatuteCorpus.read(folder, format="akoma-ntoso")) == 2
    assert len(StatuteCorpus.read(folder, format="legalize")) == 1
    assert len(refused(folder, format="clml")) == 1
    (problem,) = refused(folder, format="epub")
    assert "akoma-ntoso" in str(problem)


def test_what_readers_leave_out_is_one_notice_for_a_folder(folder):
    note = "<authorialNote><p>New.</p></authorialNote>"
    for name in ("x", "y"):
        law = akn(name, 1).replace("floats", f"floats{note}")
        (folder / f"{name}.xml").write_text(law)
    problems = StatuteCorpus.read(folder).problems
    notes = [each for each in problems if isinstance(each, reading.TallyNotice)]
    assert [each.counts for each in notes] == [{"footnote": 2}]


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("law.xml", content)
    return file.getvalue()


def in_tar(content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        entry = tarfile.TarInfo("law.xml")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


LAW = akn("bad", *range(1, 400)).encode()
BAD = {
    "malformed": (LAW.replace(b"</num>", b"</mun>", 1), r":4: .*line 4, column \d+"),
    "cut-packed": (gzip.compress(LAW)[:-20], "gzip"),
    "external-entity": (
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + LAW.replace(b"floats", b"&x;"),
        "entities",
    ),
    "undeclared-entity": (
        b'<!DOCTYPE a SYSTEM "a.dtd">' + LAW.replace(b"<article", b"<article class='&x;'", 1),
        "&x; without declaring it",
    ),
    "no-articles": (akn("bad").encode(), "no articles"),
    "newer-spec": (
        MARKDOWN.format(name="NEW", more="").replace("country", 'spec_version: "9"\ncountry', 1),
        "spec_version",
    ),
    "lfs-pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "git lfs pull",
    ),
    "zip": (zipped(LAW), "archive"),
    "tar": (in_tar(LAW), "archive"),
    "too-large": (LAW, "MB"),
    "html": (b"<!DOCTYPE html><html><body>Boats</body></html>", "no articles"),
    "readme": (b"# Boats\n\nWhat this folder holds.\n", "in none of the formats"),
    "plain-text": (b"Boats\n=====\n\nWhat this folder holds.\n", "in none of the formats"),
    "pdf": (b"%PDF-1.7\n", "damaged PDF"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_clear_line_and_left_out_of_a_folder(folder, monkeypatch, name):
    content, words = BAD[name]
    if name == "too-large":
        monkeypatch.setattr(reading, "LARGEST", 10_000)
    path = folder / "a" / "bad.xml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for skip_bad in (False, True):
        with pytest.raises(CorpusError, match=words) as raised:
            StatuteCorpus.read(path, skip_bad=skip_bad)
        assert len(raised.value.problems) == 1
        assert "\n" not in str(raised.value)
    if name in ("html", "readme", "plain-text", "pdf"):
        return  # skipped in a folder
    (problem,) = refused(folder)
    assert problem.file == str(path)
    corpus = StatuteCorpus.read(folder, skip_bad=True)
    assert (len(corpus), corpus.left_out) == (3, 1)
    assert [each for each in corpus.problems if not each.notice] == [problem]


def test_a_repository_of_a_newer_spec_is_one_problem(folder):
    (folder / ".legalize.yml").write_text('spec_version: "0.9"\n')
    (folder / "a" / "two.md").write_text(MARKDOWN.format(name="TWO", more=""))
    (problem,) = refused(folder, format="legalize")
    assert problem.file.endswith(".legalize.yml")


def test_two_versions_of_a_law_name_both_files(folder):
    later = folder / "c" / "one.md"
    later.parent.mkdir()
    later.write_text(MARKDOWN.format(name="ONE", more="\n\n##### Article 2\n\nDeux."))
    earlier = folder / "a" / "one.md"
    earlier.write_text(MARKDOWN.format(name="ONE", more="\n\n##### Article 2\n\nDeux barques."))
    (problem,) = refused(folder)
    assert (problem.file, problem.left_out) == (str(later), 2)
    assert str(earlier) in problem.message
    assert len(StatuteCorpus.read(folder, skip_bad=True)) == 4


def test_two_versions_of_an_act_are_a_notice(tmp_path):
    for day in ("2001-01-01", "2020-01-01"):
        (tmp_path / f"{day}.xml").write_text(akn("it", 1, 2, country="it", day=day))
    corpus = StatuteCorpus.read(tmp_path)
    assert (len(corpus), {each.valid_from for each in corpus}) == (4, {None})
    (notice,) = [each for each in corpus.problems if "versions" in each.message]
    assert "2001-01-01, 2020-01-01" in notice.message


def test_folders_that_are_not_read_are_reported(folder, monkeypatch):
    (folder / "c").symlink_to(folder / "b", target_is_directory=True)
    assert len(StatuteCorpus.read(folder)) == 3
    listed = os.scandir

    def scandir(place):
        if Path(place).name == "b":
            raise PermissionError(13, "Permission denied", str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", scandir)
    (problem,) = refused(folder)
    assert problem.file == str(folder / "b")


def test_memory_does_not_grow_with_a_folder(tmp_path):
    def peak(laws):
        folder = tmp_path / str(laws)
        folder.mkdir()
        for n in range(laws):
            (folder / f"{n:04d}.xml").write_text(akn(f"law{n}", *range(40)))
        tracemalloc.start()
        assert sum(1 for _ in iter_articles(folder)) == 40 * laws
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2)  # what is loaded once
    few, many = peak(10), peak(80)
    # The ids seen stay, and nothing else: some 300 bytes an article.
    assert many - few < 400 * 40 * 70


def test_native_folders_and_files_stay_native(tmp_path, aldermere_articles):
    (tmp_path / "articles.jsonl").write_bytes(Path(aldermere_articles).read_bytes())
    (tmp_path / "law.xml").write_text(akn("two", 1))
    assert len(StatuteCorpus.read(tmp_path)) == len(StatuteCorpus.read("aldermere"))
    assert len(StatuteCorpus.read(tmp_path, format="akoma-ntoso")) == 1
    assert len(StatuteCorpus.read(tmp_path / "articles.jsonl", format="native")) > 1

"""The number of articles of real files of published law, against those counted by hand.

The files are not in the repository; the test is skipped where they are missing.
"""

import csv
from pathlib import Path

import pytest

from components.statutes import CorpusError, StatuteCorpus

FORMATS = Path(__file__).resolve().parents[5] / "shared" / "data" / "formats"
FOLDERS = (
    *("akn", "legalize", "clml", "gii", "uslm", "ecfr", "formex", "legi"),
    *("boe_es", "egov_jp", "lexml_br", "bwb_nl", "eurlex_html"),
)

# What the readers give beyond the units that the manifest counts, by the start of its number: it
# is law that is cited and searched, and the manifest counts it apart or names it in a note.
BEYOND = {
    "clml": ("Schedule",),  # paragraphs of schedules
    "gii": (
        "Anlage",
        "Anhang",
        "§§",
        "Art ",
    ),  # annexes, ranges of repealed sections, Mantelgesetze
    "formex": ("Annex",),  # an annex is one record; articles quoted in it are its text
    "egov_jp": ("附則", "別表"),  # supplementary provisions, annexes
    "eurlex_html": ("Annex",),
}
# Where reader and manifest differ, or agree on less than the law: file -> (articles, reason).
EXCEPTIONS = {
    "legalize/ch/cc-1999-404.md": (
        171,
        "made from a PDF: 28 of the Constitution's articles stand inside paragraphs of others",
    ),
    "boe_es/constitucion-sample.xml": (13, "three of ten articles have two wordings"),
    "eurlex_html/31958R0001_old.html": (8, "a page without ids is read as text"),
    "legi/sql_seeds/articles.csv": (
        0,
        "rows of a database without names of columns, not a form of publication",
    ),
}


def rows() -> list[tuple[str, str]]:
    manifest = FORMATS / "manifest.tsv"
    if not manifest.is_file():
        return []
    with manifest.open(encoding="utf-8") as file:
        listed = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            (row["file"], row["expected"])
            for row in listed
            if row["file"].startswith(tuple(f"{name}/" for name in FOLDERS))
        ]


@pytest.mark.skipif(not rows(), reason="the sample files are not at hand")
def test_each_file_has_the_articles_that_were_counted():
    wrong: list[str] = []
    for name, counted in rows():
        expected = int(counted) if counted.isdigit() else 0
        if name in EXCEPTIONS:
            expected, _ = EXCEPTIONS[name]
        beyond = BEYOND.get(name.partition("/")[0], ())
        try:
            corpus = StatuteCorpus.read(FORMATS / name)
        except CorpusError:
            found = 0
        else:
            found = sum(not article.number.startswith(beyond) for article in corpus)
        if found != expected:
            wrong.append(f"{name}: {found} articles, {expected} expected")
    assert wrong == []

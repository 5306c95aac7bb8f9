"""Sentences of `citations.jsonl` with the articles that a lawyer reads in them.

Each row has the sentence; `within`, where it stands in an article's own text; `cites`, the articles
named without doubt; `doubt`, whether others may be found that are not sure ("either" where both
will do); and `known_wrong`, where the resolver does not read it so yet.
"""

from statute_tables import TABLES, rows_of

from components.statutes.citations.resolver import CitationResolver

ROWS = rows_of("citations.jsonl")
CHINESE_TO_60 = [
    f"第{tens}{unit}条"
    for tens in ("", "十", "二十", "三十", "四十", "五十")
    for unit in ("", *"一二三四五六七八九")
    if tens or unit
] + ["第六十条"]
TO_60 = {"1-60": [str(n) for n in range(1, 61)], "一-六十": CHINESE_TO_60}
LAWS = {
    key: (law, [number for each in numbers for number in TO_60.get(each, [each])])
    for key, (law, numbers) in TABLES["cited laws"].items()
}


def articles_read(resolver, row):
    """The articles named without doubt, and whether others are found with doubt."""
    within = row.get("within")
    language = "fr" if within and within.startswith(("civil", "travail")) else None
    sure = set()
    doubt = False
    for each in resolver.resolve(row["text"], within=within, language=language):
        citation = each.citation
        # By definition no range and no paragraph is certain; they are as sure as their law is.
        several = citation.through or citation.otherwise or citation.kind == "paragraph"
        if citation.onward and each.clear:
            sure.add(each.ids[0])
        elif each.certain or (several and (each.laws or within) and not each.doubtful):
            sure.update(each.ids)
        else:
            doubt = doubt or bool(each.ids)
    return sorted(sure), doubt


def test_the_articles_that_a_lawyer_reads_are_found():
    resolver = CitationResolver(
        (f"{key} {number}", law, number)
        for key, (law, numbers) in LAWS.items()
        for number in numbers
    )
    assert len(ROWS) >= 400
    unexpected = []
    for row in ROWS:
        cites, doubt = articles_read(resolver, row)
        expected = row.get("doubt", False)
        right = cites == sorted(row["cites"]) and expected in ("either", doubt)
        if right == row.get("known_wrong", False):
            unexpected.append((row["text"], cites, doubt))
    assert unexpected == []

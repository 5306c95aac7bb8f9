"""Sentences of `citations.jsonl` with the articles that a lawyer reads in them.

Each row has the sentence; `within`, where it stands in an article's own text; `cites`, the articles
named without doubt; `doubt`, whether others may be found that are not sure ("either" where both
will do); and `known_wrong`, where the resolver does not read it so yet.
"""

import json
from pathlib import Path

from components.statutes.citations.resolver import CitationResolver

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("citations.jsonl").read_text("utf-8").splitlines()
]
UNITS = ("", *"一二三四五六七八九")
TO_60 = [str(n) for n in range(1, 61)]
CHINESE_TO_60 = [
    f"第{tens}{unit}条"
    for tens in ("", "十", "二十", "三十", "四十", "五十")
    for unit in UNITS
    if tens or unit
] + ["第六十条"]
LAWS = {
    "housing": ("Housing Code of Aldermere (invented)", [*TO_60, "13-1"]),
    "social": ("Social Housing Code of Aldermere", TO_60),
    "work": ("Work Code of Aldermere (invented)", TO_60),
    "tenancy88": ("Tenancy Act 1988", TO_60),
    "tenancy15": ("Tenancy Act 2015", TO_60),
    "deposits": ("Tenancy (Deposits) Regulations 2015", TO_60),
    "records": ("Personal Records Protection Act 2012 (Singapore)", [*TO_60, "48F"]),
    "companies": (
        "Companies Act 2006",
        [*TO_60, "171", "172", "173", "174", "994", "Schedule 1.4", "Schedule 1.5", "Schedule 2.4"],
    ),
    "pmr": ("Prudential Market Rules (PMR)", ["1.3.1", "6.2.7", "6.2.8", "6.2.9", "6.2.10"]),
    "civil": (
        "Code civil (Belgique)",
        [*TO_60, "144", "203", "203bis", "336", "353-14", "492/1", "1382", "1383"],
    ),
    "travail": (
        "Code du travail",
        ["20", "L1152-2", "L1153-2", "L1221-1", "L1221-2", "L1221-3", "R3231-1"],
    ),
    "penal": ("Code pénal", TO_60),
    "penalsoc": ("Code pénal social", TO_60),
    "baux": ("Loi du 12 mars 2003 relative aux baux", TO_60),
    "bgb": ("Bürgerliches Gesetzbuch (BGB)", [*TO_60, "242", "573", "812", "813", "814", "823"]),
    "stgb": ("Strafgesetzbuch (StGB)", [*TO_60, "242"]),
    "gg": ("Grundgesetz für die Bundesrepublik Deutschland", TO_60),
    "huur": ("Huurwet 2011", TO_60),
    "bw": ("Burgerlijk Wetboek", [*TO_60, "6:162", "7:201"]),
    "dansu": ("Bộ luật Dân sự", TO_60),
    "laodong": ("Bộ luật Lao động", TO_60),
    "minfa": ("中华人民共和国民法典", [*CHINESE_TO_60, "第一千零四十二条"]),
    "ldht": ("中华人民共和国劳动合同法", CHINESE_TO_60),
    "jieshi": ("最高人民法院关于适用《中华人民共和国民法典》婚姻家庭编的解释（一）", TO_60),
    "codigo": ("Código Civil", TO_60),
    "codice": ("Codice civile", [*TO_60, "1321", "1322"]),
    "cpc": ("Código de Processo Civil", TO_60),
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

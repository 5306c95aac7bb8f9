"""Laws by their names in running text."""

import pytest

from components.statutes.citations.laws import LawNames, abbreviations


def test_initials_that_may_be_a_word_are_read_in_capitals_alone():
    laws = [
        "Housing Assistance Statute",
        "Welfare Housing Yearbook",
        "Data Access and Training Act",
    ]
    names = LawNames(laws)
    for initials, law in zip(("HAS", "WHY", "DATA"), laws, strict=True):
        assert names.after(f" {initials}", 0).laws == (law,)
        assert names.after(f" {initials.lower()}", 0).laws == ()


def test_whose_law_it_is_is_no_name_of_it():
    names = LawNames(["Regulation (EU) 2016/679 (GDPR)", "Data Protection Act 2018 (UK)"])
    assert names.after(" GDPR", 0).laws == ("Regulation (EU) 2016/679 (GDPR)",)
    for text in (" of the EU AI Act", " of the EU treaty", " of the UK’s tax law"):
        assert names.after(text, 0).laws == ()


@pytest.mark.parametrize(
    ("text", "laws"),
    [
        (" of the Housing Act", ["Housing Act 1988", "Housing Act 1996"]),
        (" of the Housing Act 1996", ["Housing Act 1996"]),
        (" of the Housing Act, 1996", ["Housing Act 1996"]),
        (" of the Housing Act (1996)", ["Housing Act 1996"]),
        (" of the Housing Act 2004", []),
        (" of the Rent Act 1974 and the Housing Act 1988", []),
        (" of the Rent Act in 1974", ["Rent Act 1977"]),
        (" of the Rent Act 1,974 times", ["Rent Act 1977"]),
        (" of the Housing Code 2015", ["Housing Code"]),  # its own name has no year
        # The year of an edition, or of the next sentence.
        (" of the Rent Act 1977 (2020 Revised Edition)", ["Rent Act 1977"]),
        (" of the Rent Act 1977, 2020 Rev Ed,", ["Rent Act 1977"]),
        (" of the Rent Act (2020 Rev. Ed.)", ["Rent Act 1977"]),
        (" of the Rent Act 1977, 2020 having been worse", ["Rent Act 1977"]),
        (" of the Rent Act 1974 (2020 Rev. Ed.)", []),
        (" of the Rent Act 1977\n2021 was worse", ["Rent Act 1977"]),
        (" of the Rent Act\n2021 was worse", ["Rent Act 1977"]),
    ],
)
def test_another_year_is_another_law(text, laws):
    names = LawNames(["Housing Act 1988", "Housing Act 1996", "Rent Act 1977", "Housing Code"])
    assert sorted(names.after(text, 0).laws) == laws


@pytest.mark.parametrize(
    ("law", "text", "named"),
    [
        ("Housing (Scotland) Act 1987", " of the Housing (Scotland) Act 1987", True),
        ("Housing (Scotland) Act 1987", " Housing (Scotland) Act", True),
        ("Codice civile", " del codice civile", True),
        ("Codice civile", " del codice civile tedesco", False),
        ("Código Civil", " del Código Civil alemán", False),
        ("Regulation (EU) 2016/679", " of Regulation (EU) 2016/679", True),
        ("Landlord and Tenant Act 1985", " Landlord & Tenant Act 1985", True),
        ("Labor Code of the Philippines", " of the Labor Code", True),
        ("Labour Relations Act 66 of 1995", " of the Labour Relations Act", True),
        ("Labour Relations Act 66 of 1995", " of the Labour Relations Act, 1995", True),
        ("Grundgesetz für die Bundesrepublik Deutschland", " GG", True),
        ("Grundgesetz für die Bundesrepublik Deutschland", " des Grundgesetzes", True),
        ("Tenancies Act 2010 (NSW)", " of the Tenancies Act (NSW)", True),
        ("Residential Tenancies Act 2010 (NSW)", " of the Residential Tenancies Act (RTA)", True),
        ("Fair Work Act 2009 (Australia)", " of the Fair Work Act 2009 (Cth)", True),
        ("Code civil (Belgique)", " du Code civil (Livre III)", True),
        ("Tenancies Act 2010 (NSW)", " of the Tenancies Act (Qld)", False),
        ("Tenancies Act 2010 (NSW)", " of the Tenancies Act 2010 (South Aldermere)", False),
        ("Housing (Scotland) Act 1987", " of the Housing (Wales) Act 1987", False),
        ("Canada Labour Code", " of the Labour Code of Japan", False),
        ("Canada Act 1982", " of the Act 1982", False),
        ("Income Tax Act 1961 (India)", " of the Income Tax Act 1962", False),
        ("Swiss Charter", " of the Charter", False),
        ("California Code of Civil Procedure", " of the Code of Civil Procedure", True),
        ("California Code of Civil Procedure", " of the California Code", False),
        ("Kodeks cywilny", " k.c. w zw. z art. 5", True),
        ("Codice civile", " c.c. e art. 5", True),
        ("Laki veneiden vuokrauksesta", " veneiden vuokrauksesta annetun lain", True),
        ("Constitution of Kenya", " of the Constitution", True),
        ("Constitution of Kenya", " of the Constitution of Ireland", False),
        ("Constitution of Kenya", " of the Ohio Constitution", False),
        ("Constitución Española", " de la Constitución Nacional", False),
        ("Código Civil", " del Código Civil y Comercial", False),
        ("CODIGO DE BALSAS DE LA NACION", " del Código de Balsas", True),
        ("Código Civil", " del Código Civil y el Código Penal", True),
        ("Finance Act 2004", " FA 2004", True),
        ("Finance Act 2004", " FA 2006", False),
    ],
)
def test_a_law_by_its_shorter_names_and_another_by_a_like_one(law, text, named):
    assert LawNames([law]).after(text, 0).laws == ((law,) if named else ())


def test_laws_of_one_short_name_are_found_together():
    canada, india = "Income Tax Act (Canada)", "Income Tax Act 1961 (India)"
    names = LawNames([canada, india])
    assert names.after(" of the Income Tax Act", 0).laws == (canada, india)
    assert names.after(" of the Income-tax Act, 1961", 0).laws == (india,)
    assert names.after(" of the Indian Income Tax Act", 0).laws == (india,)


def test_a_full_name_wins_over_another_law_s_short_one():
    names = LawNames(["Housing Code of Aldermere", "Housing Code"])
    assert names.after(" Housing Code", 0).laws == ("Housing Code",)
    assert names.after(" Housing Code of Aldermere", 0).laws == ("Housing Code of Aldermere",)


@pytest.mark.parametrize(
    ("law", "names", "cited", "another"),
    [
        ("Fährgesetz", ["FäG"], "FäG", "FÄG"),
        ("Schweizerisches Zivilgesetzbuch", [], "ZGB | des Zivilgesetzbuches", "OR | zgbr"),
        ("LEY DE CONTRATO DE TRABAJO", [], "LCT | la L.C.T. | L. C. T.", "LTC"),
        ("Ley de Contrato de Trabajo", ["ar/LEY-20744"], "Ley 20.744 | Ley N° 20744", "Ley 20"),
        ("DEFENSA DEL USUARIO", ["ar/LEY-24999"], "la Ley de Defensa del Usuario", "Ley 24"),
        ("CODIGO PENAL", [], "del Código Penal de la Nación | CP", "Código Penal de Fiji"),
        (
            "Ley Orgánica 6/1985, de 1 de julio, del Poder Judicial",
            [],
            "LOPJ | la LO 6/1985 | la Ley Orgánica del Poder Judicial",
            "LO 6/1986 | LO 6",
        ),
        ("Real Decreto de 24 de julio por el que se publica el Código Civil", [], "CC | C.c.", "C"),
        (
            "LEI Nº 8.978, DE 11 DE SETEMBRO DE 1990",
            [],
            "Lei 8.978/1990 | Lei 8.978/90 | Lei nº 8.978 | Lei 8978, de 11 de setembro de 1990",
            "Lei 8.978/91 | Lei 8 | Lei 8.978/1991",
        ),
        ("Lei das Balsas", ["LEI-8978"], "Lei 8.978/1990 | Lei 8978", "Lei 8.978.1"),
        (
            "DECRETO LEGISLATIVO 23 maggio 2011, n. 79",
            [],
            "D.Lgs. 79/2011 | d.lgs. n. 79 del 2011 | D.Lgs. 23 maggio 2011, n. 79",
            "D.Lgs. 79/2012 | D.Lgs. 79",
        ),
        ("Decreto-Lei n.º 47/2007", [], "Decreto-Lei n.º 47/2007 | DL 47/2007", "DL 48/2007"),
        (
            "Loi n° 2002-303 du 4 mars 2002 relative aux bacs",
            [],
            "loi n° 2002-303 | loi du 4 mars 2002",
            "loi n° 2002-304 | loi 2002",
        ),
        ("Rafts Act, 1995 (Act No. 66 of 1995)", [], "Act 66 of 1995", "Act 67 of 1995 | Act 66"),
        (
            "Ferries Regulation",
            ["32016R0679"],
            "Regulation (EU) 2016/679 | Verordnung (EU) 2016/679 | RGPD",
            "Regulation (EU) 2016/680 | Directive (EU) 2016/679",
        ),
        ("Directive 95/46/EC", [], "Directive 95/46/EC | Richtlinie 95/46/EG", "Directive 95/47"),
        ("Codice civile", [], "c.c. | C.C. | c. c. | cod. civ.", "c.d.c. | cc"),
        ("Wetboek van Strafrecht", [], "Sr", "sr | Sv"),
        ("Penal Code of Fiji", ["The Penal Code 1945"], "the Penal Code 1945", "Penal Code 1946"),
    ],
)
def test_a_law_by_its_abbreviations_and_its_number(law, names, cited, another):
    known = LawNames([law], {law: names})
    for name in cited.split(" | "):
        assert known.after(f" {name}", 0).laws == (law,), name
        assert known.before(f"{name}, ", len(name) + 2).laws == (law,), name
    for name in another.split(" | "):
        assert known.after(f" {name}, ", 0).laws == (), name


def test_a_name_of_several_laws_finds_them_all_and_a_given_one_wins_over_a_derived_one():
    names = LawNames(["Rafts Act 1990", "Rafts Act 2004"], {"Rafts Act 2004": ["RA", "Rafts Law"]})
    assert names.after(" Rafts Act", 0).laws == ("Rafts Act 1990", "Rafts Act 2004")
    assert names.after(" Rafts Law", 0).laws == names.after(" RA", 0).laws == ("Rafts Act 2004",)
    civil = LawNames(["Code civil", "Codice civile"])  # "C.c." and "c.c."
    assert civil.after(" c.c.", 0).laws == ("Code civil", "Codice civile")
    civil = LawNames(["Code civil", "Código Civil", "Ley de Balsas"], {"Ley de Balsas": ["CC"]})
    assert civil.after(" CC", 0).laws == ("Ley de Balsas",)


def test_every_abbreviation_of_the_table_is_read_and_stands_for_a_name():
    for short, full_names in abbreviations().items():
        for full in full_names:
            assert LawNames([full]).after(f" {short} ", 0).laws == (full,), (short, full)

"""Laws by their names in running text."""

import pytest

from components.statutes.citations.laws import LawNames


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

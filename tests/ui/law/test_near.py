from ui.law.near import near_names


def test_the_names_that_are_most_like_a_word_come_first():
    assert near_names("housing-121", ["work-1", "housing-12", "family-121"])[0] == "housing-12"


def test_a_part_of_a_name_is_near_it():
    laws = ["Act on Fair Housing", "Housing Code of Aldermere (invented)", "Labour Code"]
    assert near_names("housing", laws) == [laws[1], laws[0]]
    assert near_names(" HOUSING code ", laws) == [laws[1]]
    # What stands in almost any name, or in very many, says little.
    assert near_names("o", laws) == near_names("", laws) == []
    assert len(near_names("code", [f"Code of Everything {n}" for n in range(5000)])) == 5


def test_nothing_is_near_what_is_like_nothing():
    assert near_names("zzzz", ["housing-1", "work-2"]) == []


def test_of_very_many_names_the_neighbours_in_the_alphabet_are_compared():
    names = [f"a{n:05}" for n in range(20_000)]
    near = near_names("a12345x", names)
    assert near[0] == "a12345"
    assert len(near) == 5


def test_what_is_overlong_is_compared_with_nothing():
    assert near_names("housing-1" * 100, ["housing-1" * 100]) == []

"""Metadata and filters over them, as Hypothesis draws them."""

from hypothesis import strategies as st

TEXTS = ["", "a", "A", "1", "2020-01-01", "2020-01-01T00:00:00", "2021-06-30", "é", "%"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(2**60, 2**63 - 1),
    st.sampled_from([-1.5, 0.0, 1.0, 2.5]),
    st.sampled_from([*TEXTS, "a\0b", "a\0"]),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.dictionaries(st.sampled_from(["a", "b"]), SCALARS, max_size=2),
)
METAS = st.dictionaries(st.sampled_from(["law", "n", "day", "nested"]), VALUES, max_size=4)
FIELDS = st.sampled_from(
    ["meta.law", "meta.n", "meta.day", "meta.nested.a", "n", "meta.absent", "id", "content"]
)
ORDERINGS = [">", ">=", "<", "<="]
ORDERED = st.one_of(st.none(), st.integers(-3, 3), st.just("2020-01-01"), st.just(1.0))


def comparison(fields, operators, values):
    parts = {"field": fields, "operator": st.sampled_from(operators), "value": values}
    return st.fixed_dictionaries(parts)


def nested(comparisons, fewest, max_leaves):
    """Comparisons, and conditions of at least `fewest` of them or of one another."""
    return st.recursive(
        st.one_of(*comparisons),
        lambda part: st.fixed_dictionaries(
            {
                "operator": st.sampled_from(["AND", "OR", "NOT"]),
                "conditions": st.lists(part, min_size=fewest, max_size=3),
            }
        ),
        max_leaves=max_leaves,
    )


FILTERS = nested(
    [
        comparison(FIELDS, ["==", "!="], VALUES),
        comparison(FIELDS, ORDERINGS, ORDERED),
        comparison(FIELDS, ["in", "not in"], st.lists(VALUES, max_size=3)),
    ],
    fewest=0,
    max_leaves=4,
)

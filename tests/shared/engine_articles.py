"""Articles with and without dates and languages, and filters over all that an engine keeps."""

from filtering import ORDERINGS, comparison, nested
from haystack import Document
from hypothesis import strategies as st

from components.stores.engines import as_row

LAWS = ["Housing Code", 'The "Quoted" \\ Act', "民法典"]
DAYS = ["1999-12-31", "2020-01-01", "2020-06-30"]


def document(position, start, end):
    optional = {"language": [None, "en", "fr"][position % 3], "valid_from": start, "valid_to": end}
    optional["jurisdiction"] = [None, "us/or", "us/or/portland", "us/or/eugene"][position % 4]
    meta = {"law": LAWS[position % 3], "number": str(position), "headings": []}
    meta |= {name: value for name, value in optional.items() if value is not None}
    return Document(id=f"a{position}", content="A roof.", meta=meta | {"position": position})


DOCUMENTS = [
    document(position, start, end)
    for position, (start, end) in enumerate(
        (start, end) for start in [None, *DAYS] for end in [None, *DAYS]
    )
]
ROWS = [Document(id=each.id, meta=as_row(each, "digest")) for each in DOCUMENTS]
MOMENTS = [*DAYS, None, "2020-01-01T00:00:00", "2020-01-01T12:00:00+00:00", "2020-03-01"]
EQUAL = {
    "meta.law": [*LAWS, "law", None, 3],
    "number": ["0", "12", None],
    "meta.language": ["en", "fr", None],
    "meta.valid_from": [*DAYS, None],
    "meta.position": [0, 3, 3.0, 3.5, 10**400, -(10**400), 1e300, None],
    "id": ["a0", "a5", None],
    "source_url": ["https://law", None],
    "meta.jurisdiction": ["us/or/portland", "us/or", "us", None],
}
ORDERED = {"meta.valid_from": MOMENTS, "valid_to": MOMENTS, "meta.position": [0, 7, 7.5, None]}


def comparisons():
    for name, values in EQUAL.items():
        field, value = st.just(name), st.sampled_from(values)
        yield comparison(field, ["==", "!="], value)
        yield comparison(field, ["in", "not in"], st.lists(value, max_size=3))
    for name, values in ORDERED.items():
        yield comparison(st.just(name), ORDERINGS, st.sampled_from(values))


FILTERS = nested(comparisons(), fewest=1, max_leaves=6)

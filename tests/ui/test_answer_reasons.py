"""Every reason that the check of a reply can give is told in every language."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.statutes import replies
from ui.answer import answer_panel

# What stands in the reasons' own fields; in any other, the name of something.
FIELDS = {
    "SHORTEST_QUOTATION": ("12",),
    "given": ("1 article was", "4 articles were"),
    "doubt": ("no article is cited for it", "[3], which is cited for it, is not found"),
    "citation.kind": ("rule", "regulation"),
    "each.state": ("not found", "not checked"),
}
NAMED = "the <Act> of {1990} (North), 12"
PARTS = ("1 article was", "{len(sources)} articles were")


def reasons_in(source: str) -> Iterator[str]:
    """The texts of a module that are words for people, as it writes them."""
    tree = ast.parse(source)
    # Docstrings, and the pieces of what is put together.
    parts = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(each) for each in node.values}
            written = ast.unparse(node)[2:-1]
        elif isinstance(node, ast.Constant) and id(node) not in parts:
            written = str(node.value)
        else:
            continue
        words = re.sub(r"\{[^}]+\}", "x", written)
        if written not in PARTS and re.fullmatch(r"[\w,;]+(?: [\w,;]+){2,}", words):
            yield written


REASONS = sorted(
    {
        reason
        for module in Path(replies.__file__).parent.glob("*.py")
        for reason in reasons_in(module.read_text("utf-8"))
    }
)


def filled(reason: str) -> list[str]:
    """A reason with something in each of its fields."""
    told = [reason]
    for field in re.findall(r"\{([^}]+)\}", reason):
        values = FIELDS.get(field, (NAMED,))
        told = [each.replace(f"{{{field}}}", value) for each in told for value in values]
    return told


def panel(why: str) -> str:
    check = {"start": 0, "end": 3, "text": "[9]", "state": "not checked", "ids": [], "why": why}
    statement = {"start": 0, "end": 3, "text": "[9]", "uncited": False, "quotations": []}
    statements = [{**statement, "citations": [check]}]
    return answer_panel(
        {"state": "generated", "statements": statements, "sources": [], "notices": []}, "fr"
    )


def test_the_reasons_are_found() -> None:
    assert len(REASONS) >= 18
    assert "what it means is not known" in REASONS
    assert "it stands in {place}, not in the article cited" in REASONS


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_told_in_french(reason: str) -> None:
    for why in filled(reason):
        told = panel(why)
        assert 'lang="en"' not in told, why
        if NAMED in why:
            assert NAMED in html.unescape(told)
            assert "<Act>" not in told


def test_what_is_not_known_is_told_in_its_own_words() -> None:
    assert '<span lang="en">it is &lt;odd&gt;</span>' in panel("it is <odd>")

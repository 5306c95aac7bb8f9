"""A new view is one file."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from components.statutes import StatuteCorpus, read_questions
from training.negatives import views
from training.negatives.sampling import CurriculumNegatives

# The longer an article, the harder it is.
LENGTH = """
import torch

class LengthView:
    name = "length"

    def __init__(self, given):
        self.lengths = torch.tensor([float(len(each.text)) for each in given.articles])

    def difficulty(self, rows):
        return self.lengths.expand(len(rows), -1)

def of(given):
    return LengthView(given)
"""


def test_a_file_in_the_folder_of_views_is_a_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = StatuteCorpus.read("aldermere")
    asked = [each for each in read_questions("aldermere", split="train") if each.answerable][:5]
    options = {"views": ("length",), "buckets": 1, "schedule": "fixed"}
    with pytest.raises(ValueError, match="no view is called 'length'"):
        CurriculumNegatives(law, asked, negatives_per_question=3, **options)
    (tmp_path / "length.py").write_text(LENGTH)
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path)])
    negatives = CurriculumNegatives(law, asked, negatives_per_question=3, **options)
    drawn = negatives.draw(0, 0.0)
    lengths = np.array([len(each.text) for each in law])
    for row, question in enumerate(asked):
        answers = {law.position(each) for each in question.relevant}
        longest = [p for p in np.argsort(-lengths, kind="stable").tolist() if p not in answers][:3]
        assert sorted(lengths[drawn.of(row)]) == sorted(lengths[longest])
    sys.modules.pop(f"{views.__name__}.length")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", r"odd\.py has no function 'of', which makes the view 'odd'"),
        ("def of(given): pass", r"of\(given\) of .*odd\.py made NoneType, which is no view"),
        (
            "from training.negatives.views.sequence import of",
            r"odd\.py made a view with the name 'sequence'. Call it 'odd'",
        ),
    ],
)
def test_a_file_that_makes_no_view_is_refused_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    law = StatuteCorpus.read("aldermere")
    asked = [each for each in read_questions("aldermere", split="train") if each.answerable][:5]
    (tmp_path / "odd.py").write_text(body)
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, f"{views.__name__}.odd", raising=False)
    with pytest.raises(ValueError, match=message):
        CurriculumNegatives(law, asked, views=("odd",))
    sys.modules.pop(f"{views.__name__}.odd")


def test_the_folder_of_views_holds_nothing_else() -> None:
    for module in iter_modules(views.__path__):
        assert callable(import_module(f"{views.__name__}.{module.name}").of), module.name

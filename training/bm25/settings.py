"""The settings of `python -m training.bm25_table`."""

from __future__ import annotations

from dataclasses import dataclass

from components.statutes.article import TextRule
from training.bm25.searching import Terms
from training.command_line import Place, Target
from training.setting_checks import share


@dataclass(frozen=True, kw_only=True)
class Bm25TableSettings:
    """rank-bm25's BM25 with the parameters of a published table, on any law.

    "Paper" is Le, Nguyen, Nguyen, Nguyen (SoICT 2024), Table 1.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits.
        split: Which of them are measured: train, dev, test.
        dev_share: Share of the training questions that is measured as dev, where none is of that
            split: those that training.cusines sets aside. Paper: 0.1.
        text_rule: What of an article is searched.
        terms: lower_cased (words as they stand, in small letters) or analysed (stems, stop words,
            word segmentation, as the pipelines search). Paper: lower_cased.
        output: JSON file that gets the numbers too.

    Raises:
        SettingsError: A value is out of its range.
    """

    corpus: Place
    questions: Place
    split: str = "dev"
    dev_share: float = 0.1
    text_rule: TextRule = "headings_text"
    terms: Terms = "lower_cased"
    output: Target | None = None

    def __post_init__(self) -> None:
        share(self, "dev_share")

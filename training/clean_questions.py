"""python -m training.clean_questions: put each question into one split.

    python -m training.clean_questions --questions PATH --output FILE

Real data sets often ask the same question in train and in dev. Training refuses that; this command
writes a copy without the repeats.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from components.models.folder import whole_file
from components.statutes.article import normalised
from components.statutes.corpus import read_questions
from components.statutes.question import Question
from training.command_line import Place, Target, new_file, run, say, settings_from

_DESCRIPTION = """\
Writes a copy of a questions file in which no question of train is also in dev or test, and none of
dev in test. A question stays where it is measured and is taken out of what is learnt from, so that
results remain comparable with others on the same split. Repeats within a split are left as they
are."""

# A question stays in the last of these in which it is asked.
_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class CleanQuestionsSettings:
    """What to clean, and where to write it.

    Args:
        questions: A native file or folder, or a name such as aldermere.
        output: File to write, in the native format.
    """

    questions: Place
    output: Target


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("clean_questions", _DESCRIPTION, CleanQuestionsSettings, arguments)
    return run(lambda: clean_questions(settings))


def clean_questions(settings: CleanQuestionsSettings) -> None:
    """Write the copy and report what was left out.

    Raises:
        CorpusError: The questions cannot be read.
        SettingsError: The output exists already.
    """
    output = new_file(settings.output)
    asked = read_questions(settings.questions)
    kept, left_out = each_in_one_split(asked)
    output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(output) as partial:
        text = "".join(map(line_of, kept)).encode()
        partial.write_bytes(gzip.compress(text, mtime=0) if output.suffix == ".gz" else text)
    for split in _SPLITS:
        if ids := [question.id for question in left_out if question.split == split]:
            say(f"{len(ids)} of {split} left out: {', '.join(map(repr, ids[:5]))} ...")
    say(f"{len(kept):,} of {len(asked):,} questions are in {output}")


def each_in_one_split(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Questions of train, dev and test without those that a later split asks too.

    Texts are compared as in training (`components.statutes.article.normalised`). A question of no
        split, or of another one, stays.

    Returns:
        What stays, and what is left out, both in order.
    """
    last: dict[str, str] = {}
    for split in _SPLITS:
        last |= {normalised(each.text): split for each in questions if each.split == split}
    kept: tuple[list[Question], list[Question]] = ([], [])
    for question in questions:
        later = question.split in _SPLITS and question.split != last[normalised(question.text)]
        kept[later].append(question)
    return kept


def line_of(question: Question) -> str:
    """A question as a line of a native file."""
    fields = {"id": question.id, "text": question.text, "relevant": list(question.relevant)}
    stated = {
        **({"split": question.split} if question.split is not None else {}),
        **({"answerable": False} if not question.answerable else {}),
        **({"synthetic": True} if question.synthetic else {}),
    }
    return json.dumps({**fields, **stated, **question.extra}, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())

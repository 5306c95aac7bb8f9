"""What docs/answers.md shows is what comes out."""

import json
import re
from pathlib import Path

from haystack import Document
from haystack.dataclasses import ChatMessage

from components.builders.cited_answer import CitedAnswerBuilder
from components.builders.quote_verifier import QuoteVerifier

PAGE = Path(__file__).resolve().parents[2] / "docs" / "answers.md"


def test_the_answer_as_data() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = json.loads(block)
    article = Document(
        id="housing-12",
        content="The deposit is returned within thirty days.",
        meta={"law": "Housing Code", "number": "12", "valid_from": "2019-01-01"},
    )
    checked = QuoteVerifier().run([ChatMessage.from_assistant(shown["text"])], [article])["checked"]
    (answer,) = CitedAnswerBuilder().run(
        "When?", [article], checked=checked, closest=shown["closest"], as_of="2024-01-01"
    )["answers"]
    given = {"text": answer.data, **answer.meta}
    del given["sources"][0]["valid_from"]
    assert given == shown

"""training.synthesize: questions that a model writes, found again, each once, resumable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_server import chat_server
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

from components.statutes.corpus import read_questions
from components.statutes.question import Question
from training.command_line import DONE, FAILED, WRONG_USE
from training.data import TrainingData, folds_of, held_out
from training.synthesize import main


def flags(law: Path, output: Path, **fields: Any) -> list[str]:
    values = {"corpus": law / "articles.jsonl", "output": output, **fields}
    return [part for name, value in values.items() for part in (f"--{name}", f"{value}")]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def server():
    """Two questions of the article's own words, one that every article gets, and no question."""

    def reply(prompt: str) -> str:
        rule = re.search(r"Rule (\d+): on (\w+)", prompt)
        number, subject = rule.groups()
        return (
            f"Questions:\n1. What is rule {number} on {subject} about?\n\n"
            f"- \u201cRule {number}, {subject}: within how many days?\u201d\n3) Who decides?\n"
        )

    with chat_server() as script:
        script.reply_to = reply
        yield script


def test_what_a_server_writes_becomes_questions_of_train(small_law, server, tmp_path, capsys):
    output = tmp_path / "new" / "questions.jsonl"
    given = {"generator": server.url, "generator_model": "any"}
    assert main(flags(small_law, output, **given, found_within=3)) == DONE
    found = lines(output)
    assert {each["split"] for each in found} == {"train"} and all(e["synthetic"] for e in found)
    assert len({each["text"] for each in found}) == len({each["id"] for each in found}) == 60
    own = [each["text"] for each in found if each["relevant"] == ["a7"]]
    assert own == ["What is rule 7 on support about?", "Rule 7, support: within how many days?"]
    # The one that finds no article is left out, and so is its repetition.
    assert [int(n) for n in re.findall(r"\b\d+\b", capsys.readouterr().err.splitlines()[-1])] == [
        *(90, 29, 1, 3, 60, 30, 30)
    ]
    assert list(output.parent.iterdir()) == [output]
    place = "Place: Code 0 > Title 0 > Chapter 1. Of support\nArticle 7:\nRule 7: on support"
    assert place in server.asked[7]["messages"][1]["content"]
    # They can be read, and learnt from.
    assert [each.synthetic for each in read_questions(output)] == [True] * 60
    data = TrainingData.read(str(small_law / "articles.jsonl"), str(output), dev_share=0.5)
    assert len(data.train) == 60 and not data.dev


def test_an_interrupted_run_goes_on_where_it_stopped(small_law, server, tmp_path, monkeypatch):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "questions.jsonl"
    asked_before = tmp_path / "known.jsonl"
    question = {"id": "q", "text": "what is RULE 3 on notice about?", "relevant": ["a3"]}
    asked_before.write_text(json.dumps(question) + "\n", encoding="utf-8")
    given = {"generator": server.url, "generator_model": "any", "questions": asked_before}
    assert main(flags(small_law, whole, **given)) == DONE
    assert len(lines(whole)) == 59
    monkeypatch.setattr("training.synthesize._RETRIES", 0)
    before, reply = len(server.asked), server.reply_to

    def failing(prompt: str) -> str:
        if len(server.asked) == before + 12:
            server.fault = "500"
        return reply(prompt)

    server.reply_to = failing
    assert main(flags(small_law, output, **given)) == FAILED
    assert not output.exists()
    with (tmp_path / "questions.jsonl.work").open("a") as file:
        file.write('{"article": "a1')  # a kill cut the line off
    server.fault = ""
    assert main([*flags(small_law, output, **given), "--per_article", "2"]) == WRONG_USE
    assert main(flags(small_law, output, **given)) == DONE
    assert len(server.asked) == before + 12 + 19
    assert output.read_bytes() == whole.read_bytes()
    assert not (tmp_path / "questions.jsonl.work").exists()


def test_a_reply_that_cannot_be_read_is_named(small_law, tmp_path, capsys):
    with chat_server() as script:
        script.fault = "no json"
        given = {"generator": script.url, "generator_model": "any"}
        assert main(flags(small_law, tmp_path / "q.jsonl", **given)) == FAILED
    assert "gave no questions for article 'a0'" in capsys.readouterr().err


def test_a_sequence_to_sequence_model_writes_the_same_questions_again(
    small_law, tiny_bert, tmp_path
):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=64, d_kv=16, d_ff=128, num_layers=1, num_heads=4,
        pad_token_id=tokenizer.pad_token_id, decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(tmp_path / "t5")
    tokenizer.save_pretrained(tmp_path / "t5")
    given = {"generator_model": tmp_path / "t5", "per_article": 2, "device": "cpu"}
    # Searched by meaning, among all articles nothing is lost.
    given |= {"model": tiny_bert, "found_within": 30}
    outputs = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for output in outputs:
        assert main(flags(small_law, output, **given)) == DONE
    one, two = (output.read_bytes() for output in outputs)
    assert one == two and len(lines(outputs[0])) > 30


def test_synthetic_questions_choose_and_measure_nothing():
    real = [Question(f"q{n}", f"Question {n}?", ("a",), "train") for n in range(20)]
    written = [
        Question(f"s{n}", f"question {n}?" if n < 20 else f"Other {n}?", ("a",), synthetic=True)
        for n in range(60)
    ]
    train, dev = held_out([*real, *written], 0.25)
    assert len(dev) == 5 and not any(question.synthetic for question in dev)
    assert dev == held_out(real, 0.25)[1]
    # Those with the words of a dev question are not learnt either.
    assert len(train) == 15 + 55
    folds = folds_of([*real, *written], 4, seed=0)
    assert sorted(set(folds[:20])) == [0, 1, 2, 3]
    assert folds[20:40] == folds[:20] and set(folds[40:]) == {-1}

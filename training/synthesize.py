"""python -m training.synthesize: let a model write questions that the articles of a law answer.

    python -m training.synthesize --corpus aldermere --generator http://localhost:11434/v1 \
        --generator_model llama3.2 --output questions.jsonl
    python -m training.synthesize --corpus PATH --output questions.jsonl \
        --generator_model doc2query/msmarco-t5-base-v1

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from openai import OpenAI, OpenAIError
from rank_bm25 import BM25Okapi
from tqdm import tqdm
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device
from components.models.folder import ModelError, file_lock, whole_file
from components.statutes.article import Article, TextRule, indexed_text, normalised
from components.statutes.corpus import StatuteCorpus, read_questions
from components.statutes.question import Question, QuestionError, clean_question
from training.clean_questions import line_of
from training.command_line import (
    Place,
    SettingsError,
    Target,
    TrainingError,
    new_file,
    run,
    say,
    settings_from,
)
from training.data import texts_of
from training.negatives.views import CountedLaw
from training.settings import at_least, seed_in_range

Ask = Callable[[Article], str]
"""The model's reply to an article, a question a line."""

_KEY = "LEXARBOR_GENERATOR_KEY"
_SECONDS = 120.0
_RETRIES = 2
# Longer texts are cut; a question needs the beginning of an article, not all of its items.
_MOST_CHARACTERS = 8_000
_LONGEST_QUESTION = 400

_DESCRIPTION = """\
Lets a model write questions that the articles of a law answer, to train on where there are few. A
question stays if a search for it finds its article among the first few. Writes a questions file of
the split train in which each question is marked synthetic, so that none is chosen for dev."""


@dataclass(frozen=True, kw_only=True)
class SynthesizeSettings:
    """Questions of a law that a model writes.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        output: File to write, in the native format. FILE.work next to it keeps what the model has
            written until the file is complete.
        generator: URL of a server that speaks OpenAI's protocol, such as http://localhost:11434/v1.
            Its key is read from LEXARBOR_GENERATOR_KEY.
        generator_model: The model's name at that server; without a server the name or folder of a
            Hugging Face sequence-to-sequence model, such as one of the docT5query family.
        per_article: Questions asked for each article.
        found_within: A question stays if its article is among so many that a search finds first.
        model: Name or folder of a bi-encoder that searches; default: BM25.
        questions: Questions that are not written again, such as those of dev and test: a native
            file or folder, or a name.
        text_rule: Which parts of an article are searched. The writer always reads its headings too.
        device: Of the models: cpu, cuda, ...; default: the best available.
        seed: Seed of what a sequence-to-sequence model draws.

    Raises:
        SettingsError: A value is out of its range.
    """

    corpus: Place
    output: Target
    generator_model: Place
    generator: str | None = None
    per_article: int = 5
    found_within: int = 20
    model: Place | None = None
    questions: Place | None = None
    text_rule: TextRule = "headings_text"
    device: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "per_article", "found_within")
        seed_in_range(self)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("synthesize", _DESCRIPTION, SynthesizeSettings, arguments)
    return run(lambda: synthesize(settings))


def synthesize(settings: SynthesizeSettings) -> None:
    """Write the questions, keep those whose article a search finds, and report.

    Raises:
        CorpusError: The law or the other questions cannot be read.
        SettingsError: The output exists, or the work file is of another run.
        ModelError: A model cannot be opened.
        TrainingError: The server does not answer, or no question is left.
    """
    output = new_file(settings.output)
    law = StatuteCorpus.read(settings.corpus)
    known = read_questions(settings.questions) if settings.questions else ()
    output.parent.mkdir(parents=True, exist_ok=True)
    work = output.with_name(output.name + ".work")
    with file_lock(work, wait=False) as ours:
        if not ours:
            raise SettingsError(f"output: another process is writing {work}.")
        written = _written_before(work, settings, law)
        missing = [article for article in law if article.id not in written]
        if missing:
            ask = _server(settings) if settings.generator else _seq2seq(settings)
            with work.open("a", encoding="utf-8") as file:
                for article in tqdm(missing, "Articles", disable=None):
                    found = filter(None, map(_question_in, ask(article).splitlines()))
                    written[article.id] = list(found)[: settings.per_article]
                    line = {"article": article.id, "questions": written[article.id]}
                    print(json.dumps(line, ensure_ascii=False), file=file, flush=True)
        asked = _distinct(law, written, known)
        kept = _kept(settings, law, asked) if asked else []
        if not kept:
            raise TrainingError(
                f"none of {len(asked):,} questions finds its article. What the model wrote is in "
                f"{work}; remove that and try another model."
            )
        with whole_file(output) as partial:
            partial.write_text("".join(map(line_of, kept)), encoding="utf-8")
        work.unlink()
    n_written = sum(map(len, written.values()))
    say(
        f"{n_written:,} questions were written; {n_written - len(asked):,} had been asked before, "
        f"{len(asked) - len(kept):,} do not find their article among the first "
        f"{settings.found_within}. {len(kept):,} are kept, of "
        f"{len({question.relevant for question in kept}):,} of {len(law):,} articles."
    )


def _written_before(
    work: Path, settings: SynthesizeSettings, law: StatuteCorpus
) -> dict[str, list[str]]:
    """What an interrupted run has written, by article; a last line that was cut off is removed.

    The file has in its first line what the questions depend on, then one line for each article.

    Raises:
        SettingsError: It is of a run with other settings.
    """
    names = ("generator", "generator_model", "per_article", "seed")
    fixed = {"corpus": law.sha256, **{name: getattr(settings, name) for name in names}}
    whole, end, _ = work.read_bytes().rpartition(b"\n")
    if not end:
        whole, end = json.dumps(fixed).encode(), b"\n"
    work.write_bytes(whole + end)
    first, *lines = map(json.loads, whole.splitlines())
    if first != fixed:
        raise SettingsError(f"output: {work} is of other settings. Use those, or remove it.")
    return {line["article"]: line["questions"] for line in lines}


# A list's numbers and bullets, and quotation marks around a whole line.
_BEFORE = re.compile(r"^(?:\(?\d{1,2}[.):]|[-*\u2022\u2013])\s*")
_AROUND = "\"'\u201c\u201d\u201e\u00ab\u00bb "


def _question_in(line: str) -> str | None:
    """The question in a line of a model's reply; None if there is none."""
    try:
        text = clean_question(_BEFORE.sub("", line.strip()).strip(_AROUND))
    except QuestionError:
        return None
    has_words = any(character.isalpha() for character in text)
    # A heading such as "Questions:" announces what follows.
    return text if has_words and len(text) <= _LONGEST_QUESTION and text[-1] != ":" else None


def _seq2seq(settings: SynthesizeSettings) -> Ask:
    """A Hugging Face sequence-to-sequence model: it reads headings and text and draws questions.

    Each article has random numbers of its own, so that a resumed run writes what an uninterrupted
    one does.

    Raises:
        ModelError: The model cannot be opened.
    """
    name = str(settings.generator_model)
    device = resolve_device(settings.device)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForSeq2SeqLM.from_pretrained(
            name, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise ModelError(f"generator_model: {name} cannot be opened ({error}).") from error
    model.to(device).eval()
    longest = min(tokenizer.model_max_length, 512)

    def ask(article: Article) -> str:
        text = indexed_text(article.headings, article.text)[:_MOST_CHARACTERS]
        read = tokenizer(text, truncation=True, max_length=longest, return_tensors="pt").to(device)
        digest = hashlib.blake2b(f"{settings.seed}/{article.id}".encode(), digest_size=4).digest()
        torch.manual_seed(int.from_bytes(digest, "little"))
        options: dict[str, Any] = {"do_sample": True, "top_k": 10, "max_new_tokens": 64}
        with torch.inference_mode():
            drawn = model.generate(**read, **options, num_return_sequences=settings.per_article)
        return "\n".join(tokenizer.batch_decode(drawn, skip_special_tokens=True))

    return ask


_INSTRUCTION = """\
You write questions that people without legal training ask, to test a search engine for law. You
get one article of a law and its place in the law. Write {n} different questions that this article
answers. Describe the situation of somebody who needs the article, in everyday words rather than
the article's own. Do not name the article, its number or the law. Write in the language of the
article. Give one question a line and nothing else."""


def _server(settings: SynthesizeSettings) -> Ask:
    """A chat model at a server that speaks OpenAI's protocol."""
    url = str(settings.generator)
    # Without a key the client would send OPENAI_API_KEY, to whatever server this is.
    key = os.environ.get(_KEY) or "none"
    client = OpenAI(base_url=url, api_key=key, timeout=_SECONDS, max_retries=_RETRIES)

    def ask(article: Article) -> str:
        place = " > ".join([article.law, *article.headings])
        text = article.text[:_MOST_CHARACTERS]
        prompt = f"Place: {place}\nArticle {article.number}:\n{text}"
        try:
            completion = client.chat.completions.create(
                model=str(settings.generator_model),
                messages=[
                    {"role": "system", "content": _INSTRUCTION.format(n=settings.per_article)},
                    {"role": "user", "content": prompt},
                ],
                temperature=0.8,
            )
            return completion.choices[0].message.content or ""
        except (OpenAIError, LookupError, AttributeError, TypeError, ValueError) as error:
            raise TrainingError(
                f"{url} gave no questions for article {article.id!r} ({type(error).__name__}: "
                f"{error}). The same command goes on from there."
            ) from error

    return ask


def _distinct(
    law: StatuteCorpus, written: Mapping[str, Sequence[str]], known: Iterable[Question]
) -> list[Question]:
    """Questions of the split train, each text once, without the known ones; in the law's order."""
    seen = {normalised(question.text) for question in known}
    asked: list[Question] = []
    for article in law:
        number = 0
        for text in written[article.id]:
            if normalised(text) not in seen:
                seen.add(normalised(text))
                number += 1
                id_ = f"{article.id}-synthetic-{number}"
                asked.append(Question(id_, text, (article.id,), split="train", synthetic=True))
    return asked


def _kept(
    settings: SynthesizeSettings, law: StatuteCorpus, asked: Sequence[Question]
) -> list[Question]:
    """The questions whose article a search finds; one that reads the same counts as it."""
    rule, depth = settings.text_rule, settings.found_within
    if settings.model is None:
        counted = CountedLaw(law.articles, asked, terms="analysed", text_rule=rule)
        weights = counted.weights(BM25Okapi, 1.5, 0.75)
        found = [row.tolist() for row in counted.rankings(weights, depth)]
    else:
        model = BiEncoder.load(settings.model, device=settings.device)
        say(f"Encoding {len(law):,} articles and {len(asked):,} questions")
        index = DenseIndex(model.encode_articles(texts_of(law, rule)), "cpu", model.similarity)
        queries = model.encode_queries([question.text for question in asked])
        found = index.search(queries, depth)[1].tolist()
    words = [normalised(article.text) for article in law]
    return [
        question
        for question, positions in zip(asked, found, strict=True)
        if words[law.position(question.relevant[0])] in {words[place] for place in positions}
    ]


if __name__ == "__main__":
    sys.exit(main())

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from components.statutes.article import Article, TextRule, indexed_text, normalised
from components.statutes.question import Question, QuestionError, clean_question
from training.clean_questions import line_of
from training.command_line import (
    Place,
    SettingsError,
    Target,
    TrainingError,
    markdown,
    run,
    say,
    settings_from,
)
from training.settings import at_least, seed_in_range

if TYPE_CHECKING:
    import httpx

    from components.statutes.corpus import StatuteCorpus

Write = Callable[[Article], list[str]]
"""Writes questions that an article answers, as the model gave them."""

_KEY = "LEXARBOR_GENERATOR_KEY"
_OPENAI, _OPENAI_KEY = "https://api.openai.com/", "OPENAI_API_KEY"
_SECONDS = 120.0
_TRIES = 3
_MOST_BYTES = 1_000_000
# Longer texts are cut; a question needs the beginning of an article, not all of its items.
_MOST_CHARACTERS = 8_000
_LONGEST_QUESTION = 400
_DEPTH = 100

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
        generator_model: The model's name at that server (default: the first that it lists); without
            a server the name or folder of a Hugging Face sequence-to-sequence model, such as one of
            the docT5query family.
        per_article: Questions asked for each article.
        found_within: A question stays if its article is among so many that a search finds first.
        model: Name or folder of a bi-encoder that searches; default: BM25.
        questions: Questions that are not written again, such as those of dev and test: a native
            file or folder, or a name.
        text_rule: Which parts of an article are searched. The writer always reads its headings too.
        device: Of the models: cpu, cuda, ...; default: the best available.
        seed: Seed of what a sequence-to-sequence model draws.

    Raises:
        SettingsError: A value is out of its range, or there is no generator.
    """

    corpus: Place
    output: Target
    generator: str | None = None
    generator_model: Place | None = None
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
        if self.found_within > _DEPTH:
            raise SettingsError(f"found_within: at most {_DEPTH} are searched.")
        if self.generator is None and self.generator_model is None:
            raise SettingsError("give generator (a server's URL) or generator_model.")
        if self.generator is not None and not re.match(r"https?://[^/]", self.generator):
            raise SettingsError("generator: write it as http://localhost:11434/v1.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("synthesize", _DESCRIPTION, SynthesizeSettings, arguments)
    return run(lambda: synthesize(settings))


def synthesize(settings: SynthesizeSettings) -> None:
    """Write the questions, keep those whose article a search finds, and print a table.

    Raises:
        CorpusError: The law or the other questions cannot be read.
        SettingsError: The output exists, or the work file is of another run.
        ModelError: A model cannot be opened.
        TrainingError: The server does not answer, or no question is left.
    """
    # Imported here, so that --help answers at once.
    from components.models.folder import file_lock, whole_file
    from components.statutes.corpus import StatuteCorpus, read_questions

    output = Path(settings.output)
    if output.exists():
        raise SettingsError(f"{output} already exists. Give another output, or remove it.")
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
            say(f"{len(law) - len(missing):,} of {len(law):,} articles are done")
            with _writer(settings) as write, work.open("a", encoding="utf-8") as file:
                for number, article in enumerate(missing, len(law) - len(missing) + 1):
                    written[article.id] = write(article)
                    line = {"article": article.id, "questions": written[article.id]}
                    print(json.dumps(line, ensure_ascii=False), file=file, flush=True)
                    if number % 50 == 0 or number == len(law):
                        say(f"Questions of {number:,} of {len(law):,} articles are written")
        asked, counts = distinct(law, written, {normalised(q.text) for q in known})
        ranks = _ranks(settings, law, asked) if asked else []
        kept = [q for q, rank in zip(asked, ranks, strict=True) if rank <= settings.found_within]
        if not kept:
            raise TrainingError(
                f"none of {len(asked):,} questions finds its article. What the model wrote is in "
                f"{work}; remove that and try another model."
            )
        with whole_file(output) as partial:
            partial.write_text("".join(map(line_of, kept)), encoding="utf-8")
        work.unlink()
    rows = {
        "written by the model": counts["written"],
        "no question": counts["no question"],
        "asked before, here or in the other questions": counts["asked before"],
        f"article not among the first {settings.found_within}": len(asked) - len(kept),
        "**kept**": len(kept),
        f"articles with a question, of {len(law):,}": len({q.relevant for q in kept}),
    }
    table = [["questions", ""], *([name, f"{n:,}"] for name, n in rows.items())]
    print(markdown(table), flush=True)  # noqa: T201


def distinct(
    law: Iterable[Article], written: Mapping[str, Sequence[str]], known: set[str]
) -> tuple[list[Question], Counter[str]]:
    """Questions from what the model wrote, each text once, in the order of the law.

    Args:
        law: The articles.
        written: Article id to the model's lines.
        known: Normalised texts that are not asked again.

    Returns:
        Questions of the split train; and how many lines were left out, by reason.
    """
    seen = set(known)
    asked: list[Question] = []
    counts: Counter[str] = Counter()
    for article in law:
        number = 0
        for line in written[article.id]:
            counts["written"] += 1
            text = _question_in(line)
            if text is None:
                counts["no question"] += 1
            elif normalised(text) in seen:
                counts["asked before"] += 1
            else:
                seen.add(normalised(text))
                number += 1
                id_ = f"{article.id}-synthetic-{number}"
                asked.append(Question(id_, text, (article.id,), split="train", synthetic=True))
    return asked, counts


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
    for name, value in fixed.items():
        if first.get(name) != value:
            raise SettingsError(f"{name}: {work} was begun with another. Use that, or remove it.")
    return {line["article"]: line["questions"] for line in lines}


# Who writes.


@contextmanager
def _writer(settings: SynthesizeSettings) -> Iterator[Write]:
    if settings.generator is None:
        yield seq2seq_writer(settings)
        return
    import httpx

    key = os.environ.get(_KEY)
    if key is None and settings.generator.startswith(_OPENAI):
        # A key for OpenAI must not be sent to any other server.
        key = os.environ.get(_OPENAI_KEY)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(headers=headers, timeout=_SECONDS) as client:
        yield _server_writer(client, settings)


def seq2seq_writer(settings: SynthesizeSettings) -> Write:
    """A Hugging Face sequence-to-sequence model: it reads headings and text and draws questions.

    Each article has random numbers of its own, so that a resumed run writes what an uninterrupted
    one does.

    Raises:
        ModelError: The model cannot be opened.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from components.models.devices import resolve_device
    from components.models.errors import ModelError

    name = str(settings.generator_model)
    device = resolve_device(settings.device)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForSeq2SeqLM.from_pretrained(
            name, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        raise ModelError(
            f"generator_model: {name} is not such a model with safetensors ({error})."
        ) from error
    model.to(device).eval()
    longest = min(tokenizer.model_max_length, 512)

    def write(article: Article) -> list[str]:
        text = indexed_text(article.headings, article.text)[:_MOST_CHARACTERS]
        read = tokenizer(text, truncation=True, max_length=longest, return_tensors="pt").to(device)
        digest = hashlib.blake2b(f"{settings.seed}/{article.id}".encode(), digest_size=4).digest()
        torch.manual_seed(int.from_bytes(digest, "little"))
        with torch.inference_mode():
            drawn = model.generate(
                **read,
                do_sample=True,
                top_k=10,
                max_new_tokens=64,
                num_return_sequences=settings.per_article,
            )
        return list(tokenizer.batch_decode(drawn, skip_special_tokens=True))

    return write


_INSTRUCTION = """\
You write questions that people without legal training ask, to test a search engine for law. You
get one article of a law and its place in the law. Write {n} different questions that this article
answers. Describe the situation of somebody who needs the article, in everyday words rather than
the article's own. Do not name the article, its number or the law. Write in the language of the
article. Give one question a line and nothing else."""


def prompt_of(article: Article) -> str:
    """The article as a chat model reads it: its place, then its text."""
    place = " > ".join([article.law, *article.headings])
    text = article.text[:_MOST_CHARACTERS]
    return f"Place: {place}\nArticle {article.number}:\n{text}"


def _server_writer(client: httpx.Client, settings: SynthesizeSettings) -> Write:
    import httpx
    from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential

    url = str(settings.generator).rstrip("/")
    instruction = _INSTRUCTION.format(n=settings.per_article)
    name = settings.generator_model
    if name is None:
        try:
            listed = client.get(f"{url}/models").raise_for_status().json()
            name = Place(listed["data"][0]["id"])
        except (httpx.HTTPError, ValueError, LookupError, TypeError):
            name = Place("default")  # a server that lists no model has one without a name

    def may_pass(error: BaseException) -> bool:
        """Whether an error may pass by itself: no connection, too many requests, a restart."""
        if isinstance(error, httpx.HTTPStatusError):
            return error.response.status_code in (408, 429) or error.response.status_code >= 500
        return isinstance(error, httpx.TransportError)

    @retry(
        retry=retry_if_exception(may_pass),
        stop=stop_after_attempt(_TRIES),
        wait=wait_exponential(multiplier=0.5),
        reraise=True,
    )
    def posted(messages: Sequence[Mapping[str, str]]) -> bytes:
        body = b""
        request = {"model": name, "messages": messages, "temperature": 0.8}
        with client.stream("POST", f"{url}/chat/completions", json=request) as response:
            response.raise_for_status()
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise ValueError(f"the reply is longer than {_MOST_BYTES:,} bytes")
        return body

    def write(article: Article) -> list[str]:
        prompt = {"role": "user", "content": prompt_of(article)}
        try:
            body = posted([{"role": "system", "content": instruction}, prompt])
            reply = json.loads(body)["choices"][0]["message"]["content"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise TrainingError(
                f"{url} gave no questions for article {article.id!r} ({type(error).__name__}: "
                f"{error}). The same command goes on from there."
            ) from error
        lines = [line for line in str(reply or "").splitlines() if _question_in(line)]
        return lines[: settings.per_article]

    return write


# What stays.


def _ranks(
    settings: SynthesizeSettings, law: StatuteCorpus, asked: Sequence[Question]
) -> list[int]:
    """The rank of each question's article in a search for it, from 1; `_DEPTH` + 1 if not found.

    An article that reads the same as the question's counts as it.
    """
    words = [normalised(article.text) for article in law]
    ranks = []
    for question, positions in zip(asked, _found(settings, law, asked), strict=True):
        text = words[law.position(question.relevant[0])]
        same = (n for n, position in enumerate(positions, 1) if words[position] == text)
        ranks.append(next(same, _DEPTH + 1))
    return ranks


def _found(
    settings: SynthesizeSettings, law: StatuteCorpus, asked: Sequence[Question]
) -> list[list[int]]:
    """Positions of the articles that a search finds for each question, best first."""
    rule = settings.text_rule
    if settings.model is None:
        from rank_bm25 import BM25Okapi

        from training.bm25_table import CountedLaw, Variant

        counted = CountedLaw(law.articles, asked, terms="analysed", text_rule=rule)
        return [each.tolist() for each in counted.rankings(Variant(BM25Okapi, 1.5, 0.75), _DEPTH)]
    from components.models.biencoder import BiEncoder
    from components.models.dense_index import DenseIndex
    from training.data import texts_of

    model = BiEncoder.load(settings.model, device=settings.device)
    say(f"Encoding {len(law):,} articles and {len(asked):,} questions")
    articles = model.encode_articles(texts_of(law, rule))
    queries = model.encode_queries([question.text for question in asked])
    index = DenseIndex(articles, "cpu", model.similarity)
    found: list[list[int]] = index.search(queries, _DEPTH)[1].tolist()
    return found


if __name__ == "__main__":
    sys.exit(main())

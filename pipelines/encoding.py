"""The second pass of indexing: texts whose vectors are not known are encoded and journalled."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from tqdm import tqdm

from components.statutes.article import TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.stores.journal import text_digest
from components.stores.sqlite import StatuteDocumentStore
from pipelines.model_choice import ChosenModel
from pipelines.usable_vectors import ANOTHER_MODEL, check_usable

# Texts encoded between two writes to the journal: a kill costs at most one block, some seconds.
_BLOCK = {"cpu": 256}
_BLOCK_ON_ACCELERATORS = 4_096


@dataclass(frozen=True)
class CorpusTexts:
    """The texts of a corpus that get vectors: titles and headings, then articles.

    Attributes:
        corpus: the articles.
        rule: what of an article is encoded.
        labels: titles and headings, which a graph network builds on; () without one.
    """

    corpus: StatuteCorpus
    rule: TextRule
    labels: Sequence[str] = ()

    def __getitem__(self, index: int) -> str:
        if index < len(self.labels):
            return self.labels[index]
        article = self.corpus[index - len(self.labels)]
        return indexed_text(article.headings, article.text, self.rule)

    def __len__(self) -> int:
        return len(self.labels) + len(self.corpus)

    @cached_property
    def digests(self) -> list[str]:
        """Digest of every text."""
        return [text_digest(self[index]) for index in range(len(self))]

    @property
    def article_digests(self) -> list[str]:
        """Digest of every article's text, by position."""
        return self.digests[len(self.labels) :]

    def name(self, index: int) -> str:
        """Whose text it is, for messages."""
        if index < len(self.labels):
            return f"the heading '{self.labels[index]}'"
        article = self.corpus[index - len(self.labels)]
        return f"article '{article.id}' of {article.law}"


def block_size(model: ChosenModel) -> int:
    """How many texts are encoded between two writes."""
    return _BLOCK.get(model.encoder.device.type, _BLOCK_ON_ACCELERATORS)


def encode_unknown(
    texts: CorpusTexts,
    model: ChosenModel,
    store: StatuteDocumentStore,
    say: Callable[[str], object],
    settled: Container[str] = (),
) -> tuple[int, int]:
    """Journal the vectors that are not known; how many were encoded, and how many cut.

    Args:
        texts: what gets vectors.
        model: encodes.
        store: its journal keeps the vectors.
        say: takes a line for the user.
        settled: ids of articles that keep the vector that they have.

    Raises:
        ModelError: the model cannot be loaded, or gives vectors without a direction.
        StoreError: the disk is full.
    """
    known = store.journal.known(model.record.digest)
    first: dict[str, int] = {}
    for index, digest in enumerate(texts.digests):
        if index < len(texts.labels) or texts.corpus[index - len(texts.labels)].id not in settled:
            first.setdefault(digest, index)
    todo = [index for digest, index in first.items() if digest not in known]
    if not todo:
        return 0, 0
    say(f"Encoding {len(todo):,} texts ({len(texts) - len(todo):,} known or alike)")
    size = block_size(model)
    truncated = 0
    with tqdm(total=len(todo), desc="Encoding", unit="text", disable=None) as bar:
        for start in range(0, len(todo), size):
            block = todo[start : start + size]
            vectors, report = model.encoder.encode_articles_report(
                [texts[index] for index in block], progress=bar.update
            )
            matrix = vectors.numpy()
            names = [texts.name(index) for index in block]
            check_usable(matrix, model.record.path, names.__getitem__, ANOTHER_MODEL)
            truncated += report.n_cut
            store.journal.keep(
                model.record.digest,
                {texts.digests[each]: vector for each, vector in zip(block, matrix, strict=True)},
            )
    return len(todo), truncated

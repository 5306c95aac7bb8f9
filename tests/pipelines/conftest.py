"""A small law with vectors, and the store that it is indexed into."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_server import Script, chat_server
from indexed import indexed
from law_files import line, write
from tiny_bert import fixed_wordpiece, save_bert

from components.models.biencoder import BiEncoder
from components.models.graph import LegislativeGraphEncoder
from components.statutes.graph import EDGE_KINDS
from pipelines.engines import EngineReport, engine_at, index_into_engine
from pipelines.indexing import index_corpus

LAWS = ("Housing Code", "Work Code", "Family Code")
SUBJECTS = ("rent", "repairs", "deposit", "notice", "wages", "leave", "custody", "support")


def article(number: int, **fields: Any) -> dict[str, Any]:
    """Article `number` (from 1): laws in turn, so that no law stands together in the file."""
    law = LAWS[number % len(LAWS)]
    subject = SUBJECTS[number % len(SUBJECTS)]
    return {
        "id": f"a{number}",
        "law": law,
        "number": str(number),
        "headings": ["Title I. General provisions", f"Chapter {number % 4 + 1}. On {subject}"],
        "text": f"Rule {number} on {subject}: the {law.split()[0].lower()} officer decides.",
        "language": "en",
        **fields,
    }


def thirty() -> list[dict[str, Any]]:
    return [article(n) for n in range(1, 31)]


@pytest.fixture(scope="session")
def make_article() -> Callable[..., dict[str, Any]]:
    """`make_article(number, **fields)`: one article, in the native format."""
    return article


@pytest.fixture
def articles() -> list[dict[str, Any]]:
    """Thirty articles, ten in each of three laws."""
    return thirty()


@pytest.fixture(scope="session")
def write_corpus() -> Callable[[Path, Sequence[dict[str, Any]]], Path]:
    """Writes articles into a file."""
    return lambda path, articles: write(path, *map(line, articles))


@pytest.fixture
def corpus(tmp_path: Path, articles: list[dict[str, Any]]) -> Path:
    return write(tmp_path / "articles.jsonl", *map(line, articles))


@pytest.fixture
def index(
    address: str, tmp_path: Path, tiny_model: Path, write_corpus: Callable[..., Path]
) -> Callable[..., EngineReport]:
    """Indexes articles into the engine at the test's `address`, with the tiny model unless told."""

    def run(articles: Sequence[dict[str, Any]], **options: Any) -> EngineReport:
        source = write_corpus(tmp_path / f"{time.monotonic_ns()}.jsonl", articles)
        return index_into_engine(source, address, **{"model": str(tiny_model), **options})

    return run


@pytest.fixture
def look(address: str) -> Iterator[Callable[[], Any]]:
    """Opens the engine's collection at the test's `address`."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(engine_at(address)))


@pytest.fixture(scope="session")
def law_store(tmp_path_factory: pytest.TempPathFactory, minilm: str) -> Path:
    """Thirty articles of three laws with MiniLM vectors; not to be written to."""
    return indexed(tmp_path_factory.mktemp("law"), thirty(), minilm)


@pytest.fixture(scope="session")
def text_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same articles without vectors; not to be written to."""
    return indexed(tmp_path_factory.mktemp("text"), thirty())


@pytest.fixture(scope="session")
def road_act(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A long article, "old" until 2019 and "new" from 2020, in which one word changed."""
    law = {"law": "Road Act", "number": "5", "headings": []}
    text = "\n".join(f"({n}) " + f"The rule of place {n} holds. " * 60 for n in range(1, 40))
    changed = text.replace("place 7 holds. The", "town 7 holds. The", 1)
    wordings = [
        {**law, "id": "old", "text": text, "valid_to": "2019-12-31"},
        {**law, "id": "new", "text": changed, "valid_from": "2020-01-01"},
    ]
    return indexed(tmp_path_factory.mktemp("road"), wordings)


@pytest.fixture(scope="session")
def aldermere_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo law without vectors; not to be written to."""
    path = tmp_path_factory.mktemp("aldermere") / "law.db"
    index_corpus("aldermere", path, model="none")
    return path


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model with random weights, 16 dimensions, in milliseconds."""
    from sentence_transformers import SentenceTransformer, models

    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = fixed_wordpiece([*SUBJECTS, "rule", "officer", "decides"])
    sizes = {"longest": 64, "hidden": 16, "layers": 1, "heads": 2, "inner": 32}
    save_bert(folder / "bert", tokenizer, **sizes)
    bert = models.Transformer(str(folder / "bert"), max_seq_length=64)
    pooling = models.Pooling(bert.get_embedding_dimension())
    SentenceTransformer(modules=[bert, pooling], device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="session")
def tiny_graphs(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> dict[str, Path]:
    """The tiny model with random graph networks over it; all have one bi-encoder.

    "tree" has the tree's edges, "citing" all kinds; "other" is another network over the tree.
    """
    folder = tmp_path_factory.mktemp("graphs")
    encoder = BiEncoder.load(tiny_model, device="cpu")
    made: dict[str, Path] = {}
    for seed, (name, kinds) in enumerate(
        {"tree": EDGE_KINDS[:3], "citing": EDGE_KINDS, "other": EDGE_KINDS[:3]}.items()
    ):
        torch.manual_seed(seed)
        network = LegislativeGraphEncoder(16, layers=2, heads=2, init="paper", edge_kinds=kinds)
        made[name] = folder / name
        encoder.save(made[name], kept={"graph": network.save})
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    """A scripted generator."""
    with chat_server() as script:
        yield script


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is encoded from here on."""
    texts: list[str] = []
    encode = BiEncoder.encode_articles_report

    def watched(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        texts.extend(batch)
        return encode(self, batch, **options)

    monkeypatch.setattr(BiEncoder, "encode_articles_report", watched)
    return texts


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`command(name, *arguments)`: the exit code, standard output and standard error of
    `python -m pipelines.<name>`, run in this process."""

    def run(name: str, *arguments: object) -> tuple[int, str, str]:
        try:
            code = import_module(f"pipelines.{name}").main([str(each) for each in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run

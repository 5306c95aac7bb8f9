"""Tiny random models with tokenizers trained on the spot: real classes, no download."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from tiny_bert import save_bert, save_plain, trained_bpe, trained_wordpiece
from tokenizers import processors
from transformers import RobertaConfig, RobertaModel

from components.statutes import Article, LegislativeGraph, StatuteCorpus

VOCABULARY = """
tenant landlord dwelling rent notice repair court worker employer wage contract seller buyer goods
parent child spouse maintenance appeal judge period days written must may shall not within unless
the of a to and or article paragraph query passage who pays
"""
WORDS = VOCABULARY.split()


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small only lose by a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def sentences(number: int, longest: int, seed: int = 0) -> list[str]:
    """Distinct texts of 1 to `longest` words."""
    chance = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < number:
        made[" ".join(chance.choices(WORDS, k=chance.randint(1, longest)))] = None
    return list(made)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Hugging Face folder: 32 dimensions, 4 heads, 64 positions."""
    tokenizer = trained_wordpiece(sentences(300, 20), 120)
    # As all-MiniLM-L6-v2 ships it: with cutting and padding to a fixed length switched on.
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return save_bert(tmp_path_factory.mktemp("tiny") / "bert", tokenizer, longest=64)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Byte-level BPE, positions behind the padding's, and a tokenizer that states no limit."""
    folder = tmp_path_factory.mktemp("tiny") / "roberta"
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = trained_bpe(sentences(300, 20), 400, special)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=50,
        pad_token_id=1,
        initializer_range=0.3,
    )
    return save_plain(
        folder,
        tokenizer,
        RobertaModel,
        config,
        seed=1,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


@pytest.fixture(scope="session")
def tiny_prompted(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder with its own pooling, projection, limit and prompts."""
    folder = tmp_path_factory.mktemp("tiny") / "prompted"
    reader = Transformer(str(tiny_bert), max_seq_length=40)
    torch.manual_seed(2)
    modules = [reader, Pooling(32, "cls"), Dense(32, 24), Normalize()]
    prompts = {"query": "query: ", "passage": "passage: "}
    model = SentenceTransformer(modules=modules, prompts=prompts, device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


@pytest.fixture
def law_texts() -> Callable[[int, int], list[str]]:
    """`law_texts(number, longest)`: distinct texts of 1 to `longest` words."""
    return sentences


@pytest.fixture(scope="session")
def law_corpus() -> StatuteCorpus:
    """Two laws whose articles take turns and cite each other."""
    chance = np.random.default_rng(0)
    laws = ("Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)")
    articles = []
    for n in range(14):
        headings = ("Book I", "Title 1", "Chapter 1")[: chance.integers(0, 4)]
        one, two = chance.integers(0, 14, 2)
        text = f"See article {one} of the Housing Code and article {two} of the Work Code."
        articles.append(Article(f"a{n}", laws[n % 2], str(n), headings, text))
    return StatuteCorpus(articles)


@pytest.fixture(scope="session")
def law_graph(law_corpus: StatuteCorpus) -> LegislativeGraph:
    """Every kind of edge."""
    return LegislativeGraph.of(law_corpus, neighbours=True, citations=True)


@pytest.fixture(scope="session")
def tree_graph(law_corpus: StatuteCorpus) -> LegislativeGraph:
    """The same nodes; an article has one neighbour, the division above it."""
    return LegislativeGraph.of(law_corpus)


@pytest.fixture(scope="session")
def lawless_graph(law_graph: LegislativeGraph) -> LegislativeGraph:
    """Edges at random: many between the same two nodes, nodes that none leads to or leaves."""
    chance = np.random.default_rng(0)
    n_nodes = 20
    target = chance.integers(0, n_nodes // 2, 90) * 2
    source = chance.integers(0, n_nodes // 3, 90) * 3
    edges = np.unique(np.stack([target, source, chance.integers(0, 7, 90)], axis=1), axis=0)
    return dataclasses.replace(
        law_graph,
        n_nodes=n_nodes,
        target=edges[:, 0].astype(np.int32),
        source=edges[:, 1].astype(np.int32),
        kind=edges[:, 2].astype(np.uint8),
        degree=np.bincount(edges[:, 0], minlength=n_nodes).astype(np.int32),
    )

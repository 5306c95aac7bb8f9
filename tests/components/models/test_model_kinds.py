"""Every kind of encoder that docs/models.md names, on a tiny imitation: the vectors are those of
sentence-transformers, or the kind is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense, Router, Transformer
from sentence_transformers.sentence_transformer.modules import (
    LayerNorm,
    Normalize,
    Pooling,
    StaticEmbedding,
)
from tiny_bert import SPECIAL, save_bert, save_plain, trained_bpe, trained_wordpiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    ModernBertConfig,
    ModernBertForSequenceClassification,
    ModernBertModel,
    PreTrainedModel,
    Qwen3Config,
    Qwen3Model,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.folder import ModelError

QUESTIONS = ["who pays the repair?", " Rent\n", "must a worker written  notice", "été"]
ARTICLES = [
    "the landlord must keep the dwelling in repair",
    "Notice",
    "a worker may appeal to the court within thirty days of the notice unless " * 9,
    "  § 12a\tthe employer's wage ",
    "日本 été",
]
LEARNT = [*QUESTIONS, *ARTICLES, "query: passage: Instruct: search_query"] * 2

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}


# Base models: plain Hugging Face folders


def bert(folder: Path) -> Path:
    return save_bert(folder, trained_wordpiece(LEARNT, 120), longest=64)


def sentencepiece() -> tuple[Tokenizer, dict[str, str]]:
    """XLM-R's tokenizer: a unigram model, its marks of the beginning and the end."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(LEARNT, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    return tokenizer, dict(zip(names, special, strict=True))


def xlm_r(folder: Path, longest: int = 64, **sizes: int) -> Path:
    tokenizer, tokens = sentencepiece()
    config = XLMRobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        # The first position is behind the padding's.
        max_position_embeddings=longest + 2,
        type_vocab_size=1,
        **SIZES | sizes,
    )
    return save_plain(
        folder, tokenizer, XLMRobertaModel, config, model_max_length=longest, **tokens
    )


def gte(folder: Path) -> Path:
    kinds = pytest.importorskip("transformers.models.gte", reason="needs a later transformers")
    tokenizer, tokens = sentencepiece()
    config = kinds.GteConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=64, **SIZES
    )
    return save_plain(folder, tokenizer, kinds.GteModel, config, **tokens)


def modern_bert(folder: Path, longest: int = 64, **sizes: int) -> Path:
    tokenizer = trained_bpe(LEARNT, 420, SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    config = ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        max_position_embeddings=longest,
        local_attention=16,
        global_attn_every_n_layers=2,
        **dict.fromkeys(("bos_token_id", "cls_token_id"), 2),
        **dict.fromkeys(("eos_token_id", "sep_token_id"), 3),
        pad_token_id=0,
        **SIZES | sizes,
    )
    return save_plain(
        folder,
        tokenizer,
        ModernBertModel,
        config,
        model_max_length=longest,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )


def qwen3(folder: Path, side: str = "left") -> Path:
    """A decoder: its tokenizer ends a text, pads on the left and knows how to chat."""
    tokenizer = trained_bpe(LEARNT, 420, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        pad_token_id=0,
        **SIZES,
    )
    save_plain(
        folder,
        tokenizer,
        Qwen3Model,
        config,
        padding_side=side,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        chat_template="{% for message in messages %}{{ message.content }}{% endfor %}",
    )
    # As published: the weights of the base model, under the generator's name.
    edit(folder / "config.json", architectures=["Qwen3ForCausalLM"])
    return folder


def edit(path: Path, **fields: Any) -> None:
    content = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**content, **fields}), "utf-8")


# Folders of sentence-transformers over them, with the files that are published


def published(
    base: Path,
    pooling: str | tuple[str, ...] = "mean",
    after: tuple[torch.nn.Module, ...] = (),
    prompts: dict[str, str] | None = None,
    include_prompt: bool = True,
    **settings: Any,
) -> Path:
    """Add the files of sentence-transformers to a plain folder."""
    modes = (pooling,) if isinstance(pooling, str) else pooling
    modules = [Pooling(32, modes, include_prompt), *after]
    names = ["sentence_transformers.models.Transformer"]
    for number, module in enumerate(modules, 1):
        names.append(f"sentence_transformers.models.{type(module).__name__}")
        (base / f"{number}_{type(module).__name__}").mkdir()
        module.save(str(base / f"{number}_{type(module).__name__}"))
    listed = [
        {
            "idx": n,
            "name": str(n),
            "path": f"{n}_{name.rpartition('.')[2]}" if n else "",
            "type": name,
        }
        for n, name in enumerate(names)
    ]
    (base / "modules.json").write_text(json.dumps(listed), "utf-8")
    edit(base / "config_sentence_transformers.json", prompts=prompts or {}, **settings)
    return base


def dense(width: int) -> Dense:
    torch.manual_seed(1)
    return Dense(32, width, activation_function=torch.nn.Tanh())


INSTRUCTION = {"query": "Instruct: who pays\nQuery:", "document": ""}

KINDS: dict[str, Any] = {
    "BERT, mean, Normalize": lambda f: published(bert(f), "mean", (Normalize(),)),
    "BERT, CLS": lambda f: published(bert(f), "cls"),
    "BERT, max": lambda f: published(bert(f), "max"),
    "BERT, CLS and mean": lambda f: published(bert(f), ("cls", "mean")),
    "BERT, Dense": lambda f: published(bert(f), "mean", (dense(24), Normalize())),
    "BERT, LayerNorm": lambda f: published(bert(f), "mean", (LayerNorm(32),)),
    "BERT, truncated": lambda f: published(bert(f), "mean", (Normalize(),), truncate_dim=12),
    "BERT, Dense, truncated": lambda f: published(bert(f), "cls", (dense(24),), truncate_dim=12),
    "XLM-R, E5's prompts": lambda f: published(
        xlm_r(f), "mean", (Normalize(),), {"query": "query: ", "document": "passage: "}
    ),
    "XLM-R, CLS, a prompt for questions": lambda f: published(
        xlm_r(f), "cls", (Normalize(),), {"query": "query: "}
    ),
    "XLM-R, the prompt is not pooled": lambda f: published(
        xlm_r(f), "mean", (), INSTRUCTION, include_prompt=False
    ),
    "GTE, CLS": lambda f: published(gte(f), "cls"),
    "ModernBERT, mean": lambda f: published(
        modern_bert(f), "mean", (), {"query": "search_query: ", "document": "search_document: "}
    ),
    "ModernBERT, CLS": lambda f: published(modern_bert(f), "cls"),
    "Qwen3, last token, padded left": lambda f: published(
        qwen3(f), "lasttoken", (Normalize(),), INSTRUCTION
    ),
    "Qwen3, last token, padded right": lambda f: published(
        qwen3(f, "right"), "lasttoken", (Normalize(),), INSTRUCTION
    ),
    "Qwen3, truncated": lambda f: published(
        qwen3(f), "lasttoken", (Normalize(),), INSTRUCTION, truncate_dim=16
    ),
    "Qwen3, mean, padded left": lambda f: published(
        qwen3(f), "mean", (), INSTRUCTION, include_prompt=False
    ),
    "Qwen3, weighted mean": lambda f: published(qwen3(f), "weightedmean"),
}


def exact(folder: Path) -> BiEncoder:
    return BiEncoder.load(folder, device="cpu", dtype="float32")


def assert_same_vectors(folder: Path, questions: list[str], articles: list[str]) -> BiEncoder:
    model = exact(folder)
    theirs = SentenceTransformer(str(folder), device="cpu")
    for found, expected in (
        (model.encode_queries(questions), theirs.encode_query(questions)),
        (model.encode_articles(articles), theirs.encode_document(articles)),
    ):
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = expected / np.maximum(lengths, 1e-9)  # ours are compared by cosine
        assert found.shape == expected.shape
        assert np.abs(found.numpy() - expected).max() < 1e-4
        assert np.ptp(expected @ expected.T) > 0.01  # else all texts look alike
    return model


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS)
def test_a_kind_has_the_vectors_of_sentence_transformers(made, tmp_path):
    assert_same_vectors(made(tmp_path / "model"), QUESTIONS, ARTICLES)


@pytest.mark.parametrize("base", [xlm_r, modern_bert])
def test_8192_tokens_are_read(base, tmp_path):
    one_layer = {"num_hidden_layers": 1, "num_attention_heads": 1}
    folder = published(base(tmp_path / "model", 8192, **one_layer), "mean", (Normalize(),))
    long = "notice of rent " * 4_000
    model, theirs = exact(folder), SentenceTransformer(str(folder), device="cpu")
    passages = model.article_encoder.tokenize([long])
    assert passages.ids.tolist() == theirs.preprocess([long])["input_ids"][0].tolist()
    assert (passages.lengths.tolist(), model.passage_tokens) == ([8192], 8192)
    difference = model.encode_articles([long]).numpy() - theirs.encode_document([long])
    assert np.abs(difference).max() < 1e-4


# Models without a Transformer


def static(folder: Path, **truncation: Any) -> Path:
    tokenizer = trained_wordpiece(LEARNT, 120)
    tokenizer.enable_padding(length=16)
    if truncation:
        tokenizer.enable_truncation(**truncation)
    torch.manual_seed(3)
    modules = [StaticEmbedding(tokenizer, embedding_dim=32), Normalize()]
    prompts = {"query": "query: ", "document": ""}
    model = SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


def model2vec(folder: Path) -> Path:
    """As model2vec publishes: vectors in half precision, shared by tokens, with weights."""
    folder = static(folder)
    part = next(path.parent for path in folder.rglob("model.safetensors"))
    torch.manual_seed(4)
    rows = Tokenizer.from_file(str(part / "tokenizer.json")).get_vocab_size()
    content = {
        "embeddings": torch.randn(40, 32, dtype=torch.float16),
        "mapping": torch.randint(40, (rows,)),
        "weights": torch.rand(rows, dtype=torch.float64),
    }
    save_file(content, part / "model.safetensors")
    return folder


@pytest.mark.parametrize("truncation", [{}, {"max_length": 5}])
def test_a_static_model_reads_all_texts_as_sentence_transformers_does(truncation, tmp_path):
    folder = static(tmp_path / "model", **truncation)
    assert_same_vectors(folder, [*QUESTIONS, ""], [*ARTICLES, ARTICLES[2] * 30, ""])


def test_a_model_of_model2vec_is_read(tmp_path):
    model = assert_same_vectors(model2vec(tmp_path / "model"), QUESTIONS, ARTICLES)
    model.save(tmp_path / "saved")
    again = exact(tmp_path / "saved")
    torch.testing.assert_close(again.encode_articles(ARTICLES), model.encode_articles(ARTICLES))


def test_a_limit_for_a_static_model_is_saved(tmp_path):
    model = exact(static(tmp_path / "model"))
    model.query.limit(5)
    model.query.save(tmp_path / "cut")
    cut = assert_same_vectors(tmp_path / "cut", QUESTIONS, ARTICLES)
    assert cut.passage_tokens == 5


# What is refused


def foreign_model(folder: Path) -> Path:
    """As gte-multilingual-base and arctic-embed-m-v2.0: the code is in another repository."""
    published(bert(folder))
    classes = {"AutoConfig": "impl--configuration.Config", "AutoModel": "impl--modeling.Model"}
    edit(folder / "config.json", model_type="new", auto_map=classes)
    return folder


def foreign_module(folder: Path) -> Path:
    published(bert(folder))
    listed = (folder / "modules.json").read_text("utf-8")
    own = listed.replace("sentence_transformers.models.Pooling", "impl--pooling.Pooling")
    (folder / "modules.json").write_text(own, "utf-8")
    return folder


def router(folder: Path) -> Path:
    base = str(bert(folder / "base"))
    sides = {side: [Transformer(base), Pooling(32)] for side in ("query", "document")}
    model = SentenceTransformer(modules=[Router(sides, default_route="query")], device="cpu")
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (foreign_model, "trust_remote_code"),
        (foreign_module, "trust_remote_code"),
        (router, "Router"),
        (qwen3, "chat model"),
    ],
)
def test_a_kind_that_is_not_read_is_refused_in_one_line(made, message, tmp_path):
    folder = made(tmp_path / "model")
    with pytest.raises(ModelError, match=message) as refused:
        exact(folder)
    assert "\n" not in str(refused.value)
    assert str(folder) in str(refused.value)


# Cross-encoders


def scoring(base: Path, kind: type[PreTrainedModel]) -> Path:
    """Put a head that scores pairs on a plain folder."""
    torch.manual_seed(5)
    kind.from_pretrained(base, num_labels=1).save_pretrained(base)
    return base


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (xlm_r, XLMRobertaForSequenceClassification),
        (modern_bert, ModernBertForSequenceClassification),
    ],
)
def test_a_cross_encoder_has_the_logits_of_sentence_transformers(base, kind, tmp_path):
    folder = scoring(base(tmp_path / "model"), kind)
    pairs = [(question, article) for question in QUESTIONS for article in ARTICLES]
    theirs = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity())
    expected = theirs.predict(pairs)
    found = CrossEncoderRanker.load(folder, device="cpu", dtype="float32").logits(pairs)
    assert np.abs(found.numpy() - expected).max() < 1e-4
    assert np.ptp(expected) > 0.01


def test_a_generator_that_ranks_is_refused(tmp_path):
    with pytest.raises(ModelError, match="Qwen3ForCausalLM, which scores no pairs"):
        CrossEncoderRanker.load(qwen3(tmp_path / "model"), device="cpu")

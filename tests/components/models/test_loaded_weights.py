"""A model opens only if its files hold exactly its weights; no gap is filled at random."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tiny_bert import fixed_wordpiece, save_bert
from torch import Tensor
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    BertForPreTraining,
    BertForTokenClassification,
    BertModel,
    T5Config,
    T5ForConditionalGeneration,
)

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.errors import ModelError
from components.models.manifest import digests_of_parts
from components.models.ranker_folder import RankerSettings
from components.models.tower import open_towers
from training.pretraining.starting import open_start as open_pretraining_start
from training.ranking.starting import open_start as open_ranking_start

CPU = torch.device("cpu")
TEXTS = ["tenant must pay the rent", "the court"]
Weights = dict[str, Tensor]


def rewritten(folder: Path, change: Callable[[Weights], Weights]) -> None:
    """Change the weights that lie directly in a folder."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def with_prefix(weights: Weights) -> Weights:
    return {f"student.net.{name}": each for name, each in weights.items()}


def emptied(weights: Weights) -> Weights:
    return {}


def without(*ends: str) -> Callable[[Weights], Weights]:
    def one_tensor_missing(weights: Weights) -> Weights:
        kept = {name: each for name, each in weights.items() if not name.endswith(ends)}
        assert len(weights) - len(kept) == len(ends)
        return kept

    return one_tensor_missing


def plus(**added: Tensor) -> Callable[[Weights], Weights]:
    return lambda weights: weights | {name.replace("__", "."): added[name] for name in added}


FIRST = "embeddings.word_embeddings.weight"
QUERY = "encoder.layer.1.attention.self.query.weight"
FAULTS = [(with_prefix, FIRST), (emptied, FIRST), (without(QUERY), QUERY)]


def plain(source: Path, folder: Path) -> Path:
    return Path(shutil.copytree(source, folder))


def sentence_transformer(source: Path, folder: Path) -> Path:
    SentenceTransformer(
        modules=[Transformer(str(source)), Pooling(32, "mean")], device="cpu"
    ).save_pretrained(str(folder), create_model_card=False)
    return folder


def routed(source: Path, folder: Path) -> Path:
    router = Router.for_query_document(
        query_modules=[Transformer(str(source)), Pooling(32)],
        document_modules=[Transformer(str(source)), Pooling(32)],
    )
    model = SentenceTransformer(modules=[router], device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


def lexarbor(source: Path, folder: Path) -> Path:
    def ranker(part: Path) -> None:
        open_ranking_start(source, CPU, seed=0).save_pretrained(str(part), create_model_card=False)
        RankerSettings().save(part)

    BiEncoder.load(source, device="cpu").save(folder, kept={"ranker": ranker})
    return folder


def seal(folder: Path) -> None:
    """Let the manifest vouch for the files as they are."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "files": digests_of_parts(folder)}))


def embedded(folder: Path) -> Tensor:
    return BiEncoder.load(folder, device="cpu", dtype="float32").encode_queries(TEXTS)


@pytest.mark.parametrize(
    ("made", "part", "fault", "first"),
    [
        *((plain, "", *fault) for fault in FAULTS),
        (sentence_transformer, "", *FAULTS[0]),
        (routed, "document_0_Transformer", *FAULTS[1]),
        (lexarbor, "biencoder/query", *FAULTS[2]),
    ],
)
def test_an_encoder_with_other_weights_is_refused(
    made: Callable[[Path, Path], Path],
    part: str,
    fault: Callable[[Weights], Weights],
    first: str,
    tiny_bert: Path,
    tmp_path: Path,
) -> None:
    folder = made(tiny_bert, tmp_path / "model")
    embedded(folder)
    rewritten(folder / part, fault)
    if made is lexarbor:
        seal(folder)
    with pytest.raises(ModelError) as refusal:
        embedded(folder)
    message = str(refusal.value)
    assert message.startswith(f"{folder / 'biencoder/query' if made is lexarbor else folder}: ")
    assert repr(first) in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("made", "fault", "first"),
    [
        (plain, with_prefix, "bert." + FIRST),
        (plain, emptied, "bert." + FIRST),
        (lexarbor, without(QUERY), "bert." + QUERY),
        (plain, without("classifier.bias"), "classifier.bias"),
        # BERT's score is computed from the pooler.
        (plain, without("pooler.dense.weight"), "bert.pooler.dense.weight"),
        (plain, plus(classifier__extra=torch.ones(2)), "classifier.extra"),
    ],
)
def test_a_ranker_with_other_weights_is_refused_in_use_and_as_a_start(
    made: Callable[[Path, Path], Path],
    fault: Callable[[Weights], Weights],
    first: str,
    tiny_bert: Path,
    tiny_ranker: Path,
    tmp_path: Path,
) -> None:
    folder = made(tiny_ranker if made is plain else tiny_bert, tmp_path / "model")
    part = folder if made is plain else folder / "ranker"
    CrossEncoderRanker.load(folder, device="cpu")
    rewritten(part, fault)
    if made is lexarbor:
        seal(folder)
    with pytest.raises(ModelError, match=first) as refusal:
        CrossEncoderRanker.load(folder, device="cpu")
    assert str(part) in str(refusal.value)
    with pytest.raises(ModelError, match=first):
        open_ranking_start(part, CPU, seed=0)


def test_a_ranker_needs_a_head_even_if_its_configuration_names_no_architecture(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = plain(tiny_bert, tmp_path / "headless")
    config = json.loads((folder / "config.json").read_text())
    del config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    assert open_ranking_start(folder, CPU, seed=0).num_labels == 1
    with pytest.raises(ModelError, match=r"classifier\.weight"):
        CrossEncoderRanker.load(folder, device="cpu")


@pytest.mark.parametrize(("fault", "first"), FAULTS)
def test_training_does_not_start_from_other_weights(
    fault: Callable[[Weights], Weights], first: str, tiny_bert: Path, tmp_path: Path
) -> None:
    folder = plain(tiny_bert, tmp_path / "model")
    rewritten(folder, fault)
    with pytest.raises(ModelError, match=rf"bert\.{first}"):
        open_ranking_start(folder, CPU, seed=0)
    with pytest.raises(ModelError, match=first):
        open_pretraining_start(folder, seed=0)


@pytest.mark.parametrize(
    "added",
    [
        {"encoder__layer__2__output__dense__weight": torch.ones(2)},  # one layer too many
        {"encoder__layer__0__output__dense__lora_A": torch.ones(2)},  # an adapter, not merged
        {"projection__weight": torch.ones(2)},
    ],
)
def test_a_weight_that_would_be_left_out_is_refused(
    added: Weights, tiny_bert: Path, tmp_path: Path
) -> None:
    folder = plain(tiny_bert, tmp_path / "model")
    rewritten(folder, plus(**added))
    with pytest.raises(ModelError, match=next(iter(added)).replace("__", r"\.")):
        open_towers(folder)


def test_shapes_that_the_configuration_does_not_have_are_refused(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = plain(tiny_bert, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 48}))
    with pytest.raises(ModelError, match=r"intermediate\.dense\.bias': \[64\], not \[48\]"):
        open_towers(folder)


def test_a_projection_s_weights_are_as_strict(tiny_prompted: Path, tmp_path: Path) -> None:
    folder = plain(tiny_prompted, tmp_path / "model")
    rewritten(folder / "2_Dense", without("bias"))
    with pytest.raises(ModelError, match=r"linear\.bias"):
        open_towers(folder)


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForPreTraining, BertForTokenClassification])
def test_heads_of_another_task_and_a_pooler_do_not_matter(
    kind: type, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """bert-base and XLM-R have such heads: the commonest starts of a training."""
    tokenizer = fixed_wordpiece([*"abcdefghijklmnopqrstuvwxyz", "tenant", "court"])
    whole = save_bert(tmp_path / "whole", tokenizer, longest=64, kind=kind)
    bare = save_bert(tmp_path / "bare", tokenizer, longest=64)
    stored = load_file(whole / "model.safetensors")
    base = {n.removeprefix("bert."): e for n, e in stored.items() if n.startswith("bert.")}
    # Without a pooler where the checkpoint has none; an old buffer is no weight.
    rewritten(bare, lambda _: base | {"embeddings.position_ids": torch.arange(64)[None]})
    with caplog.at_level(logging.WARNING):
        assert torch.equal(embedded(whole), embedded(bare))
    assert "LOAD REPORT" not in caplog.text
    if kind is not BertForTokenClassification:
        start = open_ranking_start(whole, CPU, seed=0).state_dict()
        name = next(name for name in start if name.endswith(FIRST))
        assert torch.equal(start[name], base[FIRST])
    # The same heads in front of a second copy of the encoder.
    rewritten(whole, lambda w: w | with_prefix({FIRST: base[FIRST].clone()}))
    with pytest.raises(ModelError, match=r"student\.net\.embeddings"):
        embedded(whole)


def test_a_pooler_is_needed_where_it_gives_the_vector(tiny_bert: Path, tmp_path: Path) -> None:
    output = {"text": {"method": "forward", "method_output_name": "pooler_output"}}
    reader = Transformer(
        str(tiny_bert), modality_config=output, module_output_name="sentence_embedding"
    )
    model = SentenceTransformer(modules=[reader], device="cpu")
    model.save_pretrained(str(tmp_path / "pooled"), create_model_card=False)
    rewritten(tmp_path / "pooled", without("pooler.dense.bias"))
    with pytest.raises(ModelError, match=r"pooler\.dense\.bias"):
        open_towers(tmp_path / "pooled")


def test_tied_shards_and_half_precision_open(tiny_bert: Path, minilm: str, tmp_path: Path) -> None:
    expected = embedded(tiny_bert)
    bert = BertModel.from_pretrained(tiny_bert)
    for name, options in {"shards": {"max_shard_size": "20KB"}, "half": {}}.items():
        folder = plain(tiny_bert, tmp_path / name)
        (folder / "model.safetensors").unlink()
        (bert.half() if name == "half" else bert).save_pretrained(folder, **options)
        assert (embedded(folder) - expected).abs().max() < (1e-2 if name == "half" else 1e-6)
    assert (tmp_path / "shards" / "model.safetensors.index.json").exists()
    # The decoder is left out; word embeddings are stored once and used twice.
    small = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.save_pretrained(tmp_path / "t5")
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, **small)
    T5ForConditionalGeneration(config).save_pretrained(tmp_path / "t5")
    assert open_towers(tmp_path / "t5")[0].dim == 32
    theirs = SentenceTransformer(minilm, device="cpu").encode(TEXTS, convert_to_tensor=True)
    assert (embedded(Path(minilm)) - theirs).abs().max() < 1e-5


def test_a_start_with_another_task_s_head_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    """A head of three tags cannot become one that gives a score."""
    folder = plain(tiny_bert, tmp_path / "tags")
    tags = BertForTokenClassification.from_pretrained(tiny_bert, num_labels=3)
    tags.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"classifier\.bias': \[3\], not \[1\]"):
        open_ranking_start(folder, CPU, seed=0)

"""A model opens only if its files hold exactly its weights; no gap is filled at random."""

import json
import logging
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tiny_bert import fixed_wordpiece, save_bert
from transformers import BertForMaskedLM, BertForTokenClassification

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker, RankerSettings
from components.models.encoding import HierarchicalArticleHead
from components.models.folder import ModelError, digests_of_parts
from components.models.graph import LegislativeGraphEncoder
from training.ranker import open_starting_model as open_ranking_model

CPU = torch.device("cpu")
TEXTS = ["tenant must pay the rent", "the court"]


def rewritten(folder, change):
    """Change the weights that lie directly in a folder."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def with_prefix(weights):
    return {f"student.net.{name}": each for name, each in weights.items()}


def without(*ends):
    def one_tensor_missing(weights):
        kept = {name: each for name, each in weights.items() if not name.endswith(ends)}
        assert len(weights) - len(kept) == len(ends)
        return kept

    return one_tensor_missing


def plus(**added):
    return lambda weights: weights | {name.replace("__", "."): added[name] for name in added}


FIRST = "embeddings.word_embeddings.weight"
QUERY = "encoder.layer.1.attention.self.query.weight"
NORM = "embeddings.LayerNorm.bias"  # the first of all weights
FAULTS = [(with_prefix, NORM), (lambda _: {}, NORM), (without(QUERY), QUERY)]


def plain(source, folder):
    return Path(shutil.copytree(source, folder))


def sentence_transformer(source, folder):
    SentenceTransformer(
        modules=[Transformer(str(source)), Pooling(32, "mean")], device="cpu"
    ).save_pretrained(str(folder), create_model_card=False)
    return folder


def lexarbor(source, folder):
    def ranker(part):
        open_ranking_model(source, CPU, seed=0).save_pretrained(str(part), create_model_card=False)
        RankerSettings().save(part)

    BiEncoder.load(source, device="cpu").save(folder, kept={"ranker": ranker})
    return folder


def seal(folder):
    """Let the manifest vouch for the files as they are."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "files": digests_of_parts(folder)}))


def embedded(folder):
    return BiEncoder.load(folder, device="cpu", dtype="float32").encode_queries(TEXTS)


@pytest.mark.parametrize(
    ("made", "part", "fault", "first"),
    [
        *((plain, "", *fault) for fault in FAULTS),
        (sentence_transformer, "", *FAULTS[0]),
        (lexarbor, "biencoder/query", *FAULTS[2]),
    ],
)
def test_an_encoder_with_other_weights_is_refused(made, part, fault, first, tiny_bert, tmp_path):
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
        (plain, with_prefix, "bert." + NORM),
        (lexarbor, without(QUERY), "bert." + QUERY),
        (plain, without("classifier.bias"), "classifier.bias"),
        # BERT's score is computed from the pooler.
        (plain, without("pooler.dense.weight"), "bert.pooler.dense.weight"),
        (plain, plus(classifier__extra=torch.ones(2)), "classifier.extra"),
    ],
)
def test_a_ranker_with_other_weights_is_refused_in_use_and_as_a_start(
    made, fault, first, tiny_bert, tiny_ranker, tmp_path
):
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
        open_ranking_model(part, CPU, seed=0)


@pytest.mark.parametrize(("fault", "first"), FAULTS[1:])
def test_training_does_not_start_from_other_weights(fault, first, tiny_bert, tmp_path):
    folder = plain(tiny_bert, tmp_path / "model")
    rewritten(folder, fault)
    with pytest.raises(ModelError, match=rf"bert\.{first}"):
        open_ranking_model(folder, CPU, seed=0)


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertForTokenClassification])
def test_heads_of_another_task_and_a_pooler_do_not_matter(kind, tmp_path, caplog):
    """bert-base and XLM-R have such heads: the commonest starts of a training."""
    tokenizer = fixed_wordpiece([*"abcdefghijklmnopqrstuvwxyz", "tenant", "court"])
    whole = save_bert(tmp_path / "whole", tokenizer, longest=64, kind=kind)
    bare = save_bert(tmp_path / "bare", tokenizer, longest=64)
    stored = load_file(whole / "model.safetensors")
    base = {n.removeprefix("bert."): e for n, e in stored.items() if n.startswith("bert.")}
    # Without a pooler where the checkpoint has none; an old buffer is not a weight.
    rewritten(bare, lambda _: base | {"embeddings.position_ids": torch.arange(64)[None]})
    with caplog.at_level(logging.WARNING):
        assert torch.equal(embedded(whole), embedded(bare))
    assert "LOAD REPORT" not in caplog.text
    if kind is not BertForTokenClassification:
        start = open_ranking_model(whole, CPU, seed=0).state_dict()
        name = next(name for name in start if name.endswith(FIRST))
        assert torch.equal(start[name], base[FIRST])
    # The same heads in front of a second copy of the encoder.
    rewritten(whole, lambda w: w | with_prefix({FIRST: base[FIRST].clone()}))
    with pytest.raises(ModelError, match=r"student\.net\.embeddings"):
        embedded(whole)


# Our own modules


kinds = pytest.mark.parametrize("kind", [LegislativeGraphEncoder, HierarchicalArticleHead])


def reconfigured(**fields):
    def spoil(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return spoil


@kinds
def test_a_module_comes_back_in_the_mode_for_use(kind, tmp_path):
    module = kind(16, heads=2, layers=1, dropout=0.3, init="paper").train()
    module.save(tmp_path / "part")
    assert sorted(path.name for path in (tmp_path / "part").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]
    again = kind.load(tmp_path / "part")
    assert not again.training
    assert again.arguments == module.arguments
    for name, tensor in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


BROKEN = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "No such file"),
    "broken config": (lambda folder: (folder / "config.json").write_text("{"), "Expecting"),
    "broken weights": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 40),
        "eserializing",
    ),
    "fewer layers": (reconfigured(layers=1), "Unexpected key"),
    "another width": (reconfigured(dim=24), "size mismatch"),
    "out of range": (reconfigured(dim=0), "dim Input should be greater than 0"),
    "other heads": (reconfigured(heads=5), "heads is 5; it must divide"),
    "unknown field": (reconfigured(colour="red"), "colour Unexpected keyword argument"),
}


@kinds
@pytest.mark.parametrize(("spoil", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_refused_by_its_name(kind, tmp_path, spoil, reason):
    folder = tmp_path / "part"
    kind(16, heads=2, layers=2).save(folder)
    spoil(folder)
    with pytest.raises(ModelError, match=f"{folder}: .*{reason}"):
        kind.load(folder)


@kinds
def test_weights_that_are_not_finite_are_refused_by_name(kind, tmp_path):
    module = kind(16, heads=2, layers=1)
    name, parameter = list(module.named_parameters())[-1]
    with torch.no_grad():
        parameter.view(-1)[3] = float("nan")
    module.save(tmp_path / "part")
    with pytest.raises(ModelError, match=f"part: .*'{name}' hold NaN"):
        kind.load(tmp_path / "part")


def test_an_index_of_weights_names_files_of_weights_only(tiny_bert, tmp_path):
    folder = plain(tiny_bert, tmp_path / "model")
    for named in ("pytorch_model.bin", "../model.safetensors"):
        listed = {"weight_map": {"embeddings.word_embeddings.weight": named}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(listed))
        with pytest.raises(ModelError, match="names the file"):
            embedded(folder)


def test_what_cannot_be_a_model_is_refused_at_once(tmp_path):
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    with pytest.raises(ModelError, match="a folder without a model in it"):
        BiEncoder.load(tmp_path / "usr")
    with pytest.raises(ModelError, match="there is no such folder"):
        BiEncoder.load("m" * 5_000)

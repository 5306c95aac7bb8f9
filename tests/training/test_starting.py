"""What a training starts from: towers, heads, frozen layers, number formats."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from slow_cases import slow
from torch import nn
from transformers import (
    AutoTokenizer,
    DebertaV2Config,
    DebertaV2Model,
    DistilBertConfig,
    DistilBertModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import RankerSettings
from components.models.folder import read_manifest
from training.checkpoint import kept_parts
from training.command_line import DONE, SettingsError
from training.cusines import OF_ITS_VECTORS, main, starting_model, train_mode

CPU = torch.device("cpu")
TEXTS = ["the landlord must repair the dwelling", "wages are due " * 30, "custody"]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 60,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "cls_token_id": 2,
    "sep_token_id": 3,
}
FAMILIES = {
    "roberta": (RobertaModel, RobertaConfig, SIZES),
    "mpnet": (MPNetModel, MPNetConfig, SIZES),
    "deberta": (
        DebertaV2Model,
        DebertaV2Config,
        {**SIZES, "relative_attention": True, "norm_rel_ebd": "layer_norm"},
    ),
    "distilbert": (
        DistilBertModel,
        DistilBertConfig,
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 60},
    ),
    "modernbert": (
        ModernBertModel,
        ModernBertConfig,
        {**SIZES, "attention_dropout": 0.3, "mlp_dropout": 0.3, "embedding_dropout": 0.3},
    ),
}
FAMILY_NAMES = sorted(FAMILIES.keys() - {"modernbert"})


@pytest.fixture(scope="session")
def family(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path):
    """`family(name)`: a tiny model of another architecture with BERT's tokenizer."""

    def folder(name: str) -> Path:
        path = tmp_path_factory.getbasetemp() / "families" / name
        if not path.exists():
            tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
            kind, config, sizes = FAMILIES[name]
            torch.manual_seed(0)
            kind(config(vocab_size=len(tokenizer), **sizes)).save_pretrained(path)
            tokenizer.save_pretrained(path)
        return path

    return folder


def vectors(model: BiEncoder) -> torch.Tensor:
    encoder = model.article_encoder
    with torch.no_grad():
        return encoder.embed(encoder.tokenize(TEXTS))


def move(model: nn.Module, by: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += by * torch.randn(parameter.shape)


def test_two_towers_are_the_two_models(settings, tiny_bert, other_bert):
    model = starting_model(
        settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert)), CPU
    )
    assert not model.siamese
    for found, folder in ((model.query, tiny_bert), (model.passage, other_bert)):
        expected = SentenceTransformer(str(folder), device="cpu").state_dict()
        for name, weight in found.encoder.state_dict().items():
            assert torch.equal(weight, expected[name])


def test_pooling_is_set_and_saved(settings, tmp_path, tiny_bert):
    model = starting_model(settings(pooling="cls"), CPU)
    theirs = SentenceTransformer(
        modules=[Transformer(str(tiny_bert)), Pooling(32, "cls")], device="cpu"
    )
    expected = torch.from_numpy(theirs.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(model.encode_articles(TEXTS), expected, atol=1e-5)
    assert not torch.allclose(vectors(starting_model(settings(), CPU)), expected, atol=1e-2)
    model.save(tmp_path / "model")
    again = SentenceTransformer(str(tmp_path / "model/biencoder/query"), device="cpu")
    found = torch.from_numpy(again.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("head", ["identity", "paper"])
def test_a_fresh_head_starts_as_it_is_asked_to(settings, head):
    chosen = settings(head=head, passage_tokens=16, max_passages=3, head_pooling="max")
    torch.manual_seed(5)
    model = starting_model(chosen, CPU)
    assert model.head is not None
    kept = model.head.arguments
    assert (kept["passage_tokens"], kept["max_passages"], kept["layers"]) == (16, 3, 2)
    assert (kept["pooling"], kept["init"], kept["dim"], kept["heads"]) == ("max", head, 32, 4)
    torch.manual_seed(5)
    again = starting_model(chosen, CPU)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])


def test_a_head_that_the_model_has_already_goes_on(settings, tmp_path):
    first = starting_model(settings(head="paper", passage_tokens=16), CPU)
    first.save(tmp_path / "headed")
    model = starting_model(settings(model=str(tmp_path / "headed")), CPU)
    assert model.head is not None
    assert torch.equal(model.head.positions.weight, first.head.positions.weight)
    with pytest.raises(SettingsError, match="already has a head"):
        starting_model(settings(model=str(tmp_path / "headed"), head="identity"), CPU)


@pytest.mark.parametrize("name", ["bert", "modernbert", *slow(*FAMILY_NAMES)])
def test_dropout_is_set_in_every_place_that_drops(settings, family, tiny_bert, name):
    folder = tiny_bert if name == "bert" else family(name)
    model = starting_model(settings(model=str(folder), dropout=0.0), CPU)
    train_mode(model)
    for _ in range(2):
        assert torch.equal(vectors(model), vectors(model))
    dropping = starting_model(settings(model=str(folder), dropout=0.4), CPU)
    train_mode(dropping)
    assert not torch.allclose(vectors(dropping), vectors(dropping), atol=1e-3)


@pytest.mark.parametrize("name", ["bert", "modernbert", *slow(*FAMILY_NAMES)])
def test_nothing_that_is_trained_changes_what_frozen_layers_make(settings, family, tiny_bert, name):
    folder = tiny_bert if name == "bert" else family(name)
    model = starting_model(settings(model=str(folder), frozen_layers=1), CPU)
    made = []
    layer = model.query.blocks[0]

    def keep(module, arguments, output):
        made.append(output[0] if isinstance(output, tuple) else output)

    layer.register_forward_hook(keep)
    before = vectors(model)
    move(model, 1.0)
    after = vectors(model)
    first, second = made[: len(made) // 2], made[len(made) // 2 :]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.allclose(before, after, atol=1e-3)


def test_a_ranker_is_kept_next_to_the_new_bi_encoder_and_a_graph_is_not(settings, tmp_path):
    parts = {part: tmp_path / "parts" / part for part in ("ranker", "graph")}
    for part, folder in parts.items():
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(part)
    RankerSettings().save(parts["ranker"])
    model = starting_model(settings(), CPU)
    model.save(tmp_path / "old", kept=parts)
    kept = kept_parts(str(tmp_path / "old"), without=OF_ITS_VECTORS)
    assert kept == {"ranker": tmp_path / "old" / "ranker"}
    manifest = model.save(tmp_path / "new", kept=kept)
    assert manifest.kind == ("biencoder", "ranker")
    assert read_manifest(tmp_path / "new").files.keys() == manifest.files.keys()
    assert kept_parts(settings().starting_model, without=()) == {}


def test_training_reads_words_and_the_model_says_so(flags, tmp_path):
    assert main(flags(segmentation="vi", epochs=1)) == DONE
    manifest = read_manifest(tmp_path / "model")
    assert manifest.segmentation == manifest.config["segmentation"] == "vi"

"""The model that training starts from: towers, pooling, length, dropout, frozen layers, head."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Router, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from transformers import (
    AutoTokenizer,
    DebertaV2Config,
    DebertaV2Model,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    LongformerConfig,
    LongformerModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.manifest import read_manifest
from training.command_line import SettingsError
from training.starting import kept_parts, stack_of, start_digests, starting_model, train_mode

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
    "xlm-roberta": (XLMRobertaModel, XLMRobertaConfig, SIZES),
    "electra": (ElectraModel, ElectraConfig, {**SIZES, "embedding_size": 32}),
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
    "longformer": (LongformerModel, LongformerConfig, {**SIZES, "attention_window": 16}),
    "modernbert": (
        ModernBertModel,
        ModernBertConfig,
        {**SIZES, "attention_dropout": 0.3, "mlp_dropout": 0.3, "embedding_dropout": 0.3},
    ),
}


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


def test_without_further_wishes_the_model_is_the_one_that_was_named(settings, tiny_bert):
    model = starting_model(settings(), CPU)
    plain = BiEncoder.load(tiny_bert, device="cpu", dtype="float32")
    assert model.siamese and model.head is None
    assert torch.equal(model.encode_articles(TEXTS), plain.encode_articles(TEXTS))
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_two_towers_are_the_two_models(settings, tiny_bert, other_bert):
    model = starting_model(
        settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert)), CPU
    )
    assert not model.siamese
    for found, folder in ((model.query, tiny_bert), (model.passage, other_bert)):
        expected = SentenceTransformer(str(folder), device="cpu").state_dict()
        for name, weight in found.encoder.state_dict().items():
            assert torch.equal(weight, expected[name])


def test_a_trained_folder_gives_a_tower_by_the_side_it_is_named_for(
    settings, tiny_bert, other_bert, tmp_path
):
    """`query_model: DIR` of two towers is its query tower, `passage_model: DIR` its passage's."""
    started = settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert))
    starting_model(started, CPU).save(tmp_path / "pair")
    again = starting_model(
        settings(
            model=None, query_model=str(tmp_path / "pair"), passage_model=str(tmp_path / "pair")
        ),
        CPU,
    )
    plain = BiEncoder.load(tmp_path / "pair", device="cpu", dtype="float32")
    assert torch.equal(again.encode_queries(TEXTS), plain.encode_queries(TEXTS))
    assert torch.equal(again.encode_articles(TEXTS), plain.encode_articles(TEXTS))


def test_a_model_of_two_towers_is_no_tower(settings, tiny_bert, other_bert, tmp_path):
    router = Router.for_query_document(
        query_modules=[Transformer(str(tiny_bert)), Pooling(32)],
        document_modules=[Transformer(str(other_bert)), Pooling(32)],
    )
    theirs = SentenceTransformer(modules=[router], device="cpu")
    theirs.save_pretrained(str(tmp_path / "asymmetric"), create_model_card=False)
    both = {"query_model": str(tmp_path / "asymmetric"), "passage_model": str(tiny_bert)}
    with pytest.raises(ModelError, match="two towers itself"):
        starting_model(settings(model=None, **both), CPU)
    assert not starting_model(settings(model=str(tmp_path / "asymmetric")), CPU).siamese


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_pooling_is_set_and_saved(settings, tmp_path, pooling, tiny_bert):
    model = starting_model(settings(pooling=pooling), CPU)
    theirs = SentenceTransformer(
        modules=[Transformer(str(tiny_bert)), Pooling(32, pooling)], device="cpu"
    )
    expected = torch.from_numpy(theirs.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(model.encode_articles(TEXTS), expected, atol=1e-5)
    assert not torch.allclose(vectors(starting_model(settings(), CPU)), expected, atol=1e-2)
    model.save(tmp_path / "model")
    again = SentenceTransformer(str(tmp_path / "model/biencoder/query"), device="cpu")
    found = torch.from_numpy(again.encode(TEXTS, normalize_embeddings=True))
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_model_without_pooling_of_its_own_keeps_what_it_has(settings, tmp_path, tiny_bert):
    static = StaticEmbedding(AutoTokenizer.from_pretrained(tiny_bert), embedding_dim=16)
    theirs = SentenceTransformer(modules=[static], device="cpu")
    theirs.save_pretrained(str(tmp_path / "static"), create_model_card=False)
    with pytest.raises(ModelError):
        starting_model(settings(model=str(tmp_path / "static"), pooling="cls"), CPU)


def test_the_longest_text_is_set_and_saved(settings, tmp_path):
    model = starting_model(settings(max_tokens=12), CPU)
    assert int(model.article_encoder.tokenize(TEXTS).lengths.max()) == 12
    model.save(tmp_path / "model")
    again = BiEncoder.load(tmp_path / "model", device="cpu", dtype="float32")
    assert again.passage_tokens == again.query.max_tokens == 12
    assert torch.equal(again.encode_articles(TEXTS), model.eval().encode_articles(TEXTS))
    assert SentenceTransformer(str(tmp_path / "model/biencoder/query")).max_seq_length == 12


def test_more_tokens_than_the_model_reads_are_refused(settings):
    with pytest.raises(ModelError, match=r"max_tokens is 49.*at most 48"):
        starting_model(settings(max_tokens=49), CPU)
    with pytest.raises(ModelError, match="passage_tokens is 128"):
        starting_model(settings(head="paper"), CPU)


@pytest.mark.parametrize("head", ["identity", "paper"])
def test_a_fresh_head_starts_as_it_is_asked_to(settings, head):
    chosen = settings(head=head, passage_tokens=16, max_passages=3, head_pooling="max")
    torch.manual_seed(5)
    model = starting_model(chosen, CPU)
    assert model.head is not None
    kept = model.head.to_dict()
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
    with pytest.raises(SettingsError, match="has a head already"):
        starting_model(settings(model=str(tmp_path / "headed"), head="identity"), CPU)


def test_a_rate_of_a_head_is_refused_where_there_is_none(settings, tmp_path):
    with pytest.raises(SettingsError, match=r"head_lr is 5\.0, and nothing would use it.* a head"):
        starting_model(settings(head_lr=5.0), CPU)
    rate = {"head_lr": 5.0}
    fresh = starting_model(settings(head="identity", passage_tokens=16, **rate), CPU)
    fresh.save(tmp_path / "model")
    assert starting_model(settings(model=str(tmp_path / "model"), **rate), CPU).head is not None


def test_another_rule_of_what_is_read_than_the_start_learnt_by_is_told(settings, tmp_path, capsys):
    starting_model(settings(text_rule="text"), CPU).save(tmp_path / "model")
    assert "text_rule" not in capsys.readouterr().err
    model = str(tmp_path / "model")
    assert starting_model(settings(model=model), CPU).text_rule == "headings_text"
    said = capsys.readouterr().err
    assert f"text_rule is headings_text, and {model} was trained with text" in said
    starting_model(settings(model=model, text_rule="text"), CPU)
    starting_model(
        settings(query_model=model, passage_model=model, model=None, text_rule="text"), CPU
    )
    assert "text_rule" not in capsys.readouterr().err


def test_a_head_is_not_left_behind_without_a_word(settings, tmp_path, tiny_bert):
    starting_model(settings(head="paper", passage_tokens=16), CPU).save(tmp_path / "headed")
    pair = {"model": None, "query_model": str(tmp_path / "headed")}
    with pytest.raises(ModelError, match="has a head, which two towers do not take over"):
        starting_model(settings(**pair, passage_model=str(tmp_path / "headed")), CPU)
    fresh = settings(
        **pair, passage_model=str(tmp_path / "headed"), head="identity", passage_tokens=16
    )
    assert starting_model(fresh, CPU).head is not None
    assert starting_model(settings(**pair, passage_model=str(tiny_bert)), CPU).head is None


@pytest.mark.parametrize("name", ["bert", *FAMILIES])
def test_dropout_is_set_in_every_place_that_drops(settings, family, tiny_bert, name):
    folder = tiny_bert if name == "bert" else family(name)
    model = starting_model(settings(model=str(folder), dropout=0.0), CPU)
    train_mode(model)
    for _ in range(2):
        assert torch.equal(vectors(model), vectors(model))
    dropping = starting_model(settings(model=str(folder), dropout=0.4), CPU)
    train_mode(dropping)
    assert not torch.allclose(vectors(dropping), vectors(dropping), atol=1e-3)


def test_the_model_s_own_dropout_stays_unless_it_is_set(settings):
    own = starting_model(settings(), CPU)
    probabilities = {m.p for m in own.modules() if isinstance(m, torch.nn.Dropout)}
    assert probabilities == {0.1}


@pytest.mark.parametrize("name", ["bert", *FAMILIES])
def test_frozen_layers_are_the_embeddings_and_the_first_layers(settings, family, tiny_bert, name):
    folder = tiny_bert if name == "bert" else family(name)
    model = starting_model(settings(model=str(folder), frozen_layers=1), CPU)
    names = {n: p.requires_grad for n, p in model.query.named_parameters()}
    frozen = {n for n, trained in names.items() if not trained}
    assert any("embeddings" in n for n in frozen)
    shared = ("relative_attention_bias", "rel_embeddings", "encoder.LayerNorm")
    assert all(
        "embeddings" in n or ".0." in n.partition("layer")[2] or any(each in n for each in shared)
        for n in frozen
    )
    assert all(names[n] for n in names if ".1." in n.partition("layer")[2])
    assert {n for n in names if ".0." in n.partition("layer")[2]} <= frozen


@pytest.mark.parametrize("name", ["bert", *FAMILIES])
def test_nothing_that_is_trained_changes_what_frozen_layers_make(settings, family, tiny_bert, name):
    folder = tiny_bert if name == "bert" else family(name)
    model = starting_model(settings(model=str(folder), frozen_layers=1), CPU)
    made = []
    layer = stack_of(model.query)[1][0]

    def keep(module, arguments, output):
        made.append(output[0] if isinstance(output, tuple) else output)

    layer.register_forward_hook(keep)
    before = vectors(model)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += torch.randn(parameter.shape)
    after = vectors(model)
    first, second = made[: len(made) // 2], made[len(made) // 2 :]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.allclose(before, after, atol=1e-3)


def test_what_is_frozen_drops_nothing(settings):
    model = starting_model(settings(frozen_layers=2, head="identity", passage_tokens=16), CPU)
    train_mode(model)
    tower = model.query_encoder
    one, two = (tower.embed(tower.tokenize(TEXTS)) for _ in range(2))
    assert torch.equal(one, two)
    trained = starting_model(settings(frozen_layers=1), CPU)
    train_mode(trained)
    assert not torch.equal(vectors(trained), vectors(trained))
    assert trained.training


def test_frozen_layers_in_both_towers(settings, tiny_bert, other_bert):
    pair = {"model": None, "query_model": str(tiny_bert), "passage_model": str(other_bert)}
    model = starting_model(settings(frozen_layers=1, **pair), CPU)
    for tower in (model.query, model.passage):
        assert any(not p.requires_grad for p in tower.parameters())
        assert any(p.requires_grad for p in tower.parameters())


def test_more_frozen_layers_than_there_are_is_refused(settings):
    with pytest.raises(SettingsError, match="frozen_layers is 3, and the model has 2 layers"):
        starting_model(settings(frozen_layers=3), CPU)


def test_a_model_of_which_nothing_is_left_to_train_is_refused(settings, tiny_bert, tmp_path):
    with pytest.raises(SettingsError, match="frozen_layers is 2, and nothing is left to train"):
        starting_model(settings(frozen_layers=2), CPU)
    dense = SentenceTransformer(
        modules=[Transformer(str(tiny_bert)), Pooling(32), Dense(32, 16)], device="cpu"
    )
    dense.save_pretrained(str(tmp_path / "dense"), create_model_card=False)
    starting_model(settings(frozen_layers=2, model=str(tmp_path / "dense")), CPU)


def test_a_folder_that_is_no_model_is_refused(settings, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="empty"):
        starting_model(settings(model=str(tmp_path / "empty")), CPU)
    with pytest.raises(ModelError, match="no such folder"):
        starting_model(settings(model=str(tmp_path / "absent")), CPU)


def test_digests_name_the_setting_and_follow_the_weights(settings, tiny_bert, other_bert, tmp_path):
    one = start_digests(settings())
    assert one.keys() == {"model_sha256"}
    shutil.copytree(tiny_bert, tmp_path / "copy")
    assert start_digests(settings(model=str(tmp_path / "copy"))) == one
    assert start_digests(settings(model=str(other_bert))) != one
    pair = settings(model=None, query_model=str(tiny_bert), passage_model=str(other_bert))
    assert start_digests(pair).keys() == {"query_model_sha256", "passage_model_sha256"}


def test_a_ranker_is_kept_beside_the_new_bi_encoder_and_a_graph_is_not(
    settings, tiny_bert, tmp_path
):
    for part in ("ranker", "graph"):
        (tmp_path / "parts" / part).mkdir(parents=True)
        (tmp_path / "parts" / part / "config.json").write_text(part)
    parts = {part: tmp_path / "parts" / part for part in ("ranker", "graph")}
    model = starting_model(settings(), CPU)
    model.save(tmp_path / "old", kept=parts)
    kept = kept_parts(str(tmp_path / "old"))
    assert kept == {"ranker": tmp_path / "old" / "ranker"}
    manifest = model.save(tmp_path / "new", kept=kept)
    assert manifest.kind == ("biencoder", "ranker")
    assert read_manifest(tmp_path / "new").files.keys() == manifest.files.keys()
    assert kept_parts(settings().start) == {}

"""What pretraining starts from."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.tower import open_towers
from training.command_line import Place
from training.pretraining.settings import PretrainSettings
from training.pretraining.starting import open_start, start_folder

TEXTS = ["The tenant must pay the rent.", "The landlord must repair the dwelling."] * 3


def settings(model: str | Path, **fields: Any) -> PretrainSettings:
    corpus, output = Place("aldermere"), Place("out")
    return PretrainSettings(corpus=corpus, output=output, model=Place(str(model)), **fields)


def fresh(work: Path, **fields: Any) -> Path:
    small = {"vocabulary": 300, "layers": 2, "width": 16, "heads": 2, "block_tokens": 24}
    return start_folder(settings("scratch", **small, **fields), TEXTS, work)


def test_a_fresh_model_has_the_size_asked_for(tmp_path: Path) -> None:
    start = open_start(fresh(tmp_path), seed=0)
    assert start.tower.dim == 16
    assert start.tower.max_tokens == 24
    assert start.encoder.config.num_hidden_layers == 2
    assert len(start.tokenizer) == start.encoder.config.vocab_size <= 300


def test_the_seed_alone_decides_on_a_fresh_model(tmp_path: Path) -> None:
    folders = [fresh(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    one, same, other = (open_start(folder, seed=0).trained().state_dict() for folder in folders)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_a_fresh_model_is_made_once_and_found_again(tmp_path: Path) -> None:
    folder = fresh(tmp_path)
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert fresh(tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert not list(tmp_path.glob(".*"))


def test_the_head_of_a_checkpoint_is_kept(tmp_path: Path, capsys: Any) -> None:
    folder = fresh(tmp_path)
    start = open_start(folder, seed=0)
    kept = AutoModelForMaskedLM.from_pretrained(folder).state_dict()
    assert all(torch.equal(kept[name], each) for name, each in start.masked.state_dict().items())
    assert "fresh" not in capsys.readouterr().err


def test_a_model_without_a_head_gets_one_and_that_is_said(tiny_bert: Path, capsys: Any) -> None:
    one, other = open_start(tiny_bert, seed=0), open_start(tiny_bert, seed=0)
    assert "a fresh one is trained along" in capsys.readouterr().err
    weights, same = one.masked.state_dict(), other.masked.state_dict()
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    embeddings = "embeddings.word_embeddings.weight"
    assert torch.equal(weights[f"bert.{embeddings}"], one.encoder.state_dict()[embeddings])


def test_the_trained_weights_go_into_the_tower_and_its_pooling_stays(
    tiny_bert: Path, tmp_path: Path
) -> None:
    modules = [Transformer(str(tiny_bert), max_seq_length=40), Pooling(32, "cls")]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "cls"))
    start = open_start(tmp_path / "cls", seed=0)
    with torch.no_grad():
        for parameter in start.masked.parameters():
            parameter.add_(0.1)
    before, _ = open_towers(tmp_path / "cls")
    tower = start.trained()
    assert tower.max_tokens == 40
    assert tower.encoder[1].pooling_mode == before.encoder[1].pooling_mode == "cls"
    moved = tower.encoder.state_dict()
    for name, weight in before.encoder.state_dict().items():
        # No masked word trains the pooler.
        expected = weight if "pooler" in name else weight + 0.1
        torch.testing.assert_close(moved[name], expected, msg=name)


def test_a_folder_that_keeps_its_transformer_further_down_is_opened(
    tiny_bert: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_bert, tmp_path / "0_Transformer")
    (tmp_path / "1_Pooling").mkdir()
    Pooling(32, "mean").save(str(tmp_path / "1_Pooling"))
    kinds = {"0_Transformer": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    start = open_start(tmp_path, seed=0)
    name = "embeddings.word_embeddings.weight"
    kept = AutoModel.from_pretrained(tiny_bert).state_dict()[name]
    assert torch.equal(start.masked.state_dict()[f"bert.{name}"], kept)


@pytest.mark.parametrize("folder_of", ["plain", "lexarbor"])
def test_a_lexarbor_folder_starts_from_its_tower(
    folder_of: str, tiny_bert: Path, tmp_path: Path
) -> None:
    BiEncoder.load(tiny_bert, device="cpu").save(tmp_path / "model")
    folder = tiny_bert if folder_of == "plain" else tmp_path / "model"
    start = open_start(start_folder(settings(folder), [], tmp_path / "work"), seed=0)
    assert start.tower.dim == 32


def test_two_towers_are_refused_with_a_way_out(
    tiny_bert: Path, other_bert: Path, tmp_path: Path
) -> None:
    query, passage = (open_towers(folder)[0] for folder in (tiny_bert, other_bert))
    BiEncoder(query, passage).save(tmp_path / "two")
    with pytest.raises(ModelError, match=r"holds two towers.*biencoder/query"):
        start_folder(settings(tmp_path / "two"), [], tmp_path)
    start_folder(settings(tmp_path / "two" / "biencoder" / "passage"), [], tmp_path)


def without_mask(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    raw = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", model_max_length=48
    ).save_pretrained(str(folder))


def with_more_tokens(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"word{number}" for number in range(50)])
    tokenizer.save_pretrained(str(folder))


@pytest.mark.parametrize(
    ("harm", "message"),
    [(without_mask, "no mask token"), (with_more_tokens, "more tokens than")],
)
def test_a_model_that_cannot_learn_from_masked_words_is_refused(
    harm: Callable[[Path], None], message: str, tiny_bert: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bert"
    shutil.copytree(tiny_bert, folder)
    harm(folder)
    with pytest.raises(ModelError, match=message):
        open_start(folder, seed=0)

"""A ranker starts from any encoder, from a cross-encoder, or from a ranker at hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import CrossEncoder
from transformers import AutoTokenizer, RobertaConfig, RobertaModel
from transformers.tokenization_utils_base import VERY_LARGE_INTEGER

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.ranker_folder import RankerSettings
from training.command_line import Place, Target
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import (
    head_parameters,
    open_start,
    reading_of,
    start_digest,
    start_folder,
)

CPU = torch.device("cpu")


def weights(model: CrossEncoder) -> dict[str, torch.Tensor]:
    return dict(model.state_dict())


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> set[str]:
    return {name for name in a if not torch.equal(a[name], b[name])}


def test_a_fresh_head_hangs_on_the_seed_alone(tiny_bert: Path) -> None:
    first = weights(open_start(tiny_bert, CPU, seed=0))
    torch.manual_seed(99)
    again = weights(open_start(tiny_bert, CPU, seed=0))
    other = weights(open_start(tiny_bert, CPU, seed=1))
    assert not same(first, again)
    assert all("classifier" in name or "pooler" in name for name in same(first, other))
    assert same(first, other)


def test_where_a_tokenizer_states_no_limit_no_more_is_read_than_there_are_positions(
    tiny_bert: Path, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, model_max_length=VERY_LARGE_INTEGER)
    tokenizer.save_pretrained(tmp_path)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=42,
        pad_token_id=tokenizer.pad_token_id,
    )
    RobertaModel(config).save_pretrained(tmp_path)
    model = open_start(tmp_path, CPU, seed=0)
    read = model.preprocess([("tenant " * 99, "notice " * 99)])["input_ids"].shape[1]
    assert read == 42 - tokenizer.pad_token_id - 1
    assert np.isfinite(model.predict([("tenant " * 99, "notice " * 99)])).all()


def test_a_lexarbor_folder_gives_its_tower_or_its_ranker(tiny_bert: Path, tmp_path: Path) -> None:
    towers = BiEncoder.load(tiny_bert, device="cpu")
    towers.save(tmp_path / "towers")
    assert start_folder(str(tmp_path / "towers")) == tmp_path / "towers" / "biencoder" / "query"
    assert open_start(start_folder(str(tmp_path / "towers")), CPU, seed=0).num_labels == 1

    def ranker(folder: Path) -> None:
        open_start(tiny_bert, CPU, seed=5).save_pretrained(str(folder), create_model_card=False)
        RankerSettings().save(folder)

    towers.save(tmp_path / "both", kept={"ranker": ranker})
    folder = start_folder(str(tmp_path / "both"))
    assert folder == tmp_path / "both" / "ranker"
    assert not same(
        weights(open_start(folder, CPU, seed=0)), weights(open_start(tiny_bert, CPU, seed=5))
    )


def test_the_head_that_is_still_to_be_learnt_is_known(tiny_bert: Path, tmp_path: Path) -> None:
    model = open_start(tiny_bert, CPU, seed=0)
    names = head_parameters(model, tiny_bert)
    assert [name.split("model.")[-1] for name in names] == [
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
        "classifier.weight",
        "classifier.bias",
    ]
    assert set(names) <= {name for name, _ in model.named_parameters()}
    model.save_pretrained(str(tmp_path / "whole"), create_model_card=False)
    again = open_start(tmp_path / "whole", CPU, seed=0)
    assert head_parameters(again, tmp_path / "whole") == []


def test_layer_norms_by_their_old_names_are_no_head(tiny_bert: Path, tmp_path: Path) -> None:
    names = {"weight": "gamma", "bias": "beta"}
    for folder in (tiny_bert, tmp_path / "whole"):
        if folder != tiny_bert:
            model = open_start(tiny_bert, CPU, seed=0)
            model.save_pretrained(str(folder), create_model_card=False)
        old = tmp_path / "old" / folder.name
        shutil.copytree(folder, old)
        stored = load_file(folder / "model.safetensors")
        renamed = dict(stored)
        for key in filter(lambda key: "LayerNorm" in key, stored):
            before, _, last = key.rpartition(".")
            renamed[f"{before}.{names[last]}"] = renamed.pop(key)
        assert renamed.keys() != stored.keys()
        save_file(renamed, old / "model.safetensors", {"format": "pt"})
        opened = open_start(old, CPU, seed=0)
        assert not same(weights(opened), weights(open_start(folder, CPU, seed=0)))
        assert head_parameters(opened, old) == head_parameters(opened, folder)


def test_words_are_read_as_the_start_reads_them(tiny_bert: Path, tmp_path: Path) -> None:
    def settings(**fields: Any) -> RankerTrainingSettings:
        law, asked = Place("law"), Place("asked")
        return RankerTrainingSettings(corpus=law, questions=asked, output=Target("m"), **fields)

    towers = BiEncoder.load(tiny_bert, device="cpu")
    BiEncoder(towers.query, segmentation="vi").save(tmp_path / "words")

    def ranker(folder: Path) -> None:
        open_start(tiny_bert, CPU, seed=5).save_pretrained(str(folder), create_model_card=False)
        RankerSettings(3, 40, fusion_weight=2.0, segmentation="vi").save(folder)

    towers.save(tmp_path / "both", kept={"ranker": ranker})
    for start in (tmp_path / "words", tmp_path / "both", tmp_path / "both" / "ranker"):
        reading = reading_of(settings(start=Place(str(start))))
        # How it is used is fitted anew, and what is read is as asked.
        assert reading == RankerSettings(2, 128, segmentation="vi")
    assert reading_of(settings(start=Place(str(tiny_bert)))).segmentation is None
    asked = settings(start=Place(str(tiny_bert)), segmentation="vi", passages=1)
    assert reading_of(asked) == RankerSettings(1, 128, segmentation="vi")


def test_what_it_starts_from_has_a_digest(
    tiny_bert: Path, other_bert: Path, tmp_path: Path
) -> None:
    assert start_digest(tiny_bert) == start_digest(tiny_bert) != start_digest(other_bert)
    # The same weights under another configuration compute something else.
    shutil.copytree(tiny_bert, tmp_path / "relu")
    config = json.loads((tiny_bert / "config.json").read_text())
    (tmp_path / "relu" / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    assert start_digest(tmp_path / "relu") != start_digest(tiny_bert)


def test_it_is_trained_in_float32_whatever_it_was_saved_in(tiny_bert: Path, tmp_path: Path) -> None:
    half = open_start(tiny_bert, CPU, seed=0).half()
    half.save_pretrained(str(tmp_path / "half"), create_model_card=False)
    opened = open_start(tmp_path / "half", CPU, seed=0)
    assert {parameter.dtype for parameter in opened.parameters()} == {torch.float32}


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        start_folder(str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="empty"):
        start_digest(tmp_path / "empty")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "broken" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="broken: cannot be opened as a cross-encoder"):
        open_start(tmp_path / "broken", CPU, seed=0)

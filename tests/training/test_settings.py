"""Values out of their range, and values that do not fit together, are refused by name."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import pytest
import yaml

from training.command_line import SettingsError, settings_from
from training.negatives import CurriculumNegatives
from training.settings import CusinesSettings

ROOT = Path(__file__).resolve().parents[2]


def made(**fields) -> CusinesSettings:
    return CusinesSettings(corpus="aldermere", questions="aldermere", output="x", **fields)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epochs", 0),
        ("max_steps", 0),
        ("batch_size", 0),
        ("max_tokens", 0),
        ("passage_tokens", 0),
        ("max_passages", 0),
        ("token_budget", 0),
        ("patience", 0),
        ("refresh_every", 0),
        ("checkpoint_every", 0),
        ("k", 0),
        ("frozen_layers", -1),
        ("negatives_per_question", -1),
        ("seed", -1),
        ("seed", 2**32),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("weight_decay", float("inf")),
        ("temperature", 0.0),
        ("temperature", -0.01),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("learning_rate", 0.0),
        ("learning_rate", float("inf")),
        ("head_lr", float("nan")),
        ("clip", 0.0),
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("dev_share", 1.0),
        ("dev_share", -0.1),
        ("warmup", 1.0),
        ("warmup", float("nan")),
        ("select_by", "recall"),
        ("select_by", "R@0"),
    ],
)
def test_a_value_out_of_range_is_refused_by_the_field_s_name(field, value):
    with pytest.raises(SettingsError, match=rf"^{field}"):
        made(**{field: value})


def test_a_metric_deeper_than_the_search_on_dev_is_refused_before_it_is_measured():
    with pytest.raises(SettingsError, match="select_by"):
        made(select_by="R@2000")
    assert made(select_by="MAP").select_by == "MAP"


@pytest.mark.parametrize(
    "towers",
    [
        {"query_model": "a"},
        {"passage_model": "a"},
        {"model": "a", "query_model": "b", "passage_model": "c"},
    ],
)
def test_two_towers_are_named_together_and_alone(towers):
    with pytest.raises(SettingsError, match="query_model"):
        made(**towers)


@pytest.mark.parametrize(
    ("field", "value"), [("passage_tokens", 64), ("max_passages", 4), ("head_pooling", "max")]
)
def test_what_only_a_fresh_head_uses_is_refused_without_one(field, value):
    with pytest.raises(SettingsError, match=rf"^{field} is {value}, .* a fresh head"):
        made(**{field: value})
    assert getattr(made(head="paper", **{field: value}), field) == value


@pytest.mark.parametrize("alone", [{"in_batch": False}, {"batch_size": 1}])
def test_without_any_negative_there_is_nothing_to_learn_from(alone):
    with pytest.raises(SettingsError, match=r"^negatives_per_question is 0.* no pair has a neg"):
        made(negatives_per_question=0, **alone)
    assert made(negatives_per_question=0).in_batch
    # Shares of the buckets are drawn whatever that number is.
    assert made(negatives_per_question=0, share_of="bucket", **alone).share_of == "bucket"


def test_what_training_starts_from():
    assert made().start == "sentence-transformers/all-MiniLM-L6-v2"
    assert made(model="a").start == "a"
    assert made(query_model="a", passage_model="b").start == "b"


def test_settings_are_json_and_come_back_from_it():
    settings = made(views=("bm25",), trackers=("tensorboard",), max_steps=3)
    kept = json.loads(json.dumps(settings.to_dict()))
    again = {**kept, "views": tuple(kept["views"]), "trackers": tuple(kept["trackers"])}
    assert CusinesSettings(**again) == settings


def test_settings_kept_as_yaml_are_a_config(tmp_path):
    settings = made(views=("bm25",), schedule="fixed", learning_rate=3e-5, in_batch=False)
    settings = dataclasses.replace(settings, output=str(tmp_path / "x"))
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(settings.to_dict()), encoding="utf-8")
    assert settings_from("cusines", "", CusinesSettings, ["--config", str(file)]) == settings


def test_the_negatives_have_the_same_defaults_as_the_public_class():
    ours = {field.name: field.default for field in dataclasses.fields(CusinesSettings)}
    theirs = inspect.signature(CurriculumNegatives).parameters
    named = {name: theirs[name].default for name in theirs.keys() & ours.keys() - {"questions"}}
    assert len(named) > 10
    assert named == {name: ours[name] for name in named}


@pytest.mark.parametrize("preset", ["demo", "bsard", "obliqa", "stard", "soict"])
def test_every_preset_is_a_valid_config(preset):
    file = ROOT / "training" / "configs" / f"{preset}.yaml"
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    # A preset may leave the law to the command line.
    law = [f"--{name}=aldermere" for name in ("corpus", "questions") if name not in given]
    settings = settings_from(
        "cusines", "", CusinesSettings, ["--config", str(file), "--output", "x", *law]
    )
    for field in dataclasses.fields(CusinesSettings):
        kind = type(field.default)
        if field.default is not dataclasses.MISSING and field.default is not None:
            assert type(getattr(settings, field.name)) is kind, field.name


def test_the_bsard_preset_is_the_paper_s_setting():
    file = ROOT / "training" / "configs" / "bsard.yaml"
    found = settings_from("cusines", "", CusinesSettings, ["--config", str(file), "--output", "x"])
    assert found.query_model == "camembert-base" and found.passage_model and found.final
    assert (found.pooling, found.head, found.head_pooling) == ("cls", "paper", "max")
    assert (found.batch_size, found.epochs, found.learning_rate) == (24, 15, 2e-5)
    assert (found.buckets, found.passage_tokens, found.max_passages) == (3, 128, 8)
    assert (found.temperature, found.in_batch, found.select_by) == (0.01, True, "R@200")
    assert (found.warmup, found.weight_decay, found.clip) == (0.05, 0.01, 1.0)

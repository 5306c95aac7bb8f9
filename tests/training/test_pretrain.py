"""python -m training.pretrain, from a law to a model that training goes on from."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from dying import KilledError, kill_at, lose_at
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from slow_cases import slow
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from components.models.biencoder import BiEncoder
from components.models.encoding import PassageTokenizer, open_tower
from components.models.folder import read_manifest
from components.statutes.article import indexed_text
from components.statutes.corpus import StatuteCorpus
from training import checkpoint
from training.command_line import DONE, Place, SettingsError, TrainingError
from training.pretrain import (
    Blocks,
    Masking,
    PretrainSettings,
    ReadingOrder,
    TokenizerKind,
    main,
    make_blocks,
    open_starting_model,
    train_masked,
    train_tokenizer,
)

# The command

TINY = {"vocabulary": 400, "layers": 1, "width": 16, "heads": 2, "block_tokens": 32}


def flags(**fields: Any) -> list[str]:
    values = {
        "max_steps": 6,
        "batch_size": 4,
        "checkpoint_every": 2,
        "device": "cpu",
        "dtype": "float32",
        **fields,
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def fresh(small_law: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model made from scratch of the small law; not written to."""
    output = tmp_path_factory.mktemp("fresh") / "model"
    arguments = flags(corpus=small_law / "articles.jsonl", output=output, model="scratch", **TINY)
    assert main(arguments) == DONE
    return output


def test_a_fresh_model_encodes_and_says_what_made_it(fresh):
    model = BiEncoder.load(fresh, device="cpu")
    vectors = model.encode_articles(["The landlord must give notice.", "wages " * 200])
    assert vectors.shape == (2, 16)
    assert model.query.max_tokens == 32
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2))
    manifest = read_manifest(fresh)
    assert manifest.base_model == "scratch"
    assert manifest.config["layers"] == 1
    assert set(manifest.data) == {"corpus_sha256"}
    losses = manifest.metrics["held_out_loss"]
    records = [json.loads(line) for line in (fresh / "metrics.jsonl").read_text().splitlines()]
    assert losses == {"before": records[0]["held_out_loss"], "after": records[-1]["held_out_loss"]}


def test_it_goes_on_from_a_lexarbor_folder(fresh, small_law, tmp_path):
    corpus = small_law / "articles.jsonl"
    assert main(flags(corpus=corpus, output=tmp_path / "more", model=fresh)) == DONE
    before, after = (BiEncoder.load(each, device="cpu") for each in (fresh, tmp_path / "more"))
    text = ["The landlord must give notice."]
    assert not torch.equal(before.encode_articles(text), after.encode_articles(text))
    assert read_manifest(tmp_path / "more").base_model == str(fresh)


# The run

STEPS = 17


Run = tuple[dict[str, Tensor], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def train_in(small_law: Path, tiny_bert: Path) -> Callable[..., Run]:
    """`train_in(work, field=value, ...)`: a run in that folder; weights and records."""
    articles = StatuteCorpus.read(small_law / "articles.jsonl")
    texts = [indexed_text(each.headings, each.text) for each in articles]

    def of(work: Path, **fields: Any) -> Run:
        values = {
            "max_steps": STEPS,
            "batch_size": 4,
            "checkpoint_every": 5,
            "learning_rate": 1e-3,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        settings = PretrainSettings(
            corpus=Place("law"), output=Place("out"), model=Place(str(tiny_bert)), **values
        )
        start = open_starting_model(tiny_bert, settings.seed)
        blocks = make_blocks(
            texts,
            start.tower.tokenizer,
            block_tokens=24,
            separator=start.tokenizer.sep_token_id,
            held_out=0.1,
            seed=0,
        )
        work.mkdir(exist_ok=True)
        records = train_masked(settings, start, blocks, work)
        return start.trained().state_dict(), records

    return of


@pytest.fixture(scope="module")
def alone(train_in: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing disturbed."""
    return train_in(tmp_path_factory.mktemp("alone"))


@pytest.fixture
def train(train_in: Callable[..., Run], tmp_path: Path) -> Callable[..., Run]:
    """`train(name, field=value, ...)`: a run in a folder of that name."""
    return lambda name, **fields: train_in(tmp_path / name, **fields)


@pytest.mark.parametrize("step", [11, *slow(3, 5, 16)])
def test_killed_and_taken_up_again_it_ends_as_one_left_alone(
    step, alone, train, monkeypatch, capsys
):
    weights, records = alone
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        kill_at(step, checkpoint.RunWatch, patch)
        train("killed")
    # Chance was somewhere else when the process died.
    torch.manual_seed(12345)
    again, resumed = train("killed")
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert resumed == records
    assert ("Resuming from checkpoint" in capsys.readouterr().err) == (step >= 5)


def test_the_held_out_blocks_cost_less_in_the_end(train):
    _, records = train("run", max_steps=60)
    assert records[0]["step"] == 0
    assert records[-1]["step"] == 60
    assert records[-1]["held_out_loss"] < 0.9 * records[0]["held_out_loss"]


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_the_last_good_weights(
    train, tmp_path, monkeypatch
):
    lose_at(7, monkeypatch)
    with pytest.raises(TrainingError, match="up to step 10: loss is nan"):
        train("run")
    assert [path.name for path in (tmp_path / "run").glob("checkpoint-*")] == ["checkpoint-5"]
    kept = load_file(tmp_path / "run" / "checkpoint-5" / "model.safetensors")
    assert all(torch.isfinite(weight).all() for weight in kept.values())


# Starts


def test_the_trained_weights_go_into_the_tower_and_its_pooling_stays(tiny_bert, tmp_path):
    modules = [Transformer(str(tiny_bert), max_seq_length=40), Pooling(32, "cls")]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "cls"))
    start = open_starting_model(tmp_path / "cls", seed=0)
    with torch.no_grad():
        for parameter in start.masked.parameters():
            parameter.add_(0.1)
    before = open_tower(tmp_path / "cls")
    tower = start.trained()
    assert tower.max_tokens == 40
    assert tower.encoder[1].pooling_mode == before.encoder[1].pooling_mode == "cls"
    moved = tower.encoder.state_dict()
    for name, weight in before.encoder.state_dict().items():
        # No masked word trains the pooler.
        expected = weight if "pooler" in name else weight + 0.1
        torch.testing.assert_close(moved[name], expected, msg=name)


# The tokenizer

KINDS: tuple[TokenizerKind, ...] = ("wordpiece", "bpe")
FRENCH = ["L'État répond des dommages causés par les élèves.", "Le préfet répond de l'État."] * 3
CHINESE = [
    "第一条 当事人应当遵循诚信原则。",
    "第二条 当事人应当遵循公平原则，确定各方的权利和义务。",
] * 3


def tokenizer(
    texts: list[str], kind: TokenizerKind, vocabulary: int = 400
) -> PreTrainedTokenizerFast:
    return train_tokenizer(texts, kind, vocabulary, max_tokens=64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [FRENCH, CHINESE], ids=["french", "chinese"])
def test_no_word_of_the_corpus_is_unknown(kind, texts):
    trained = tokenizer(texts, kind)
    for text in texts:
        assert trained.unk_token_id not in trained.encode(text)


FRENCH_BPE = tokenizer(FRENCH, "bpe")


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[")))
def test_byte_level_bpe_loses_nothing_of_any_text(text):
    ids = FRENCH_BPE.encode(text, add_special_tokens=False)
    assert FRENCH_BPE.backend_tokenizer.decode(ids) == unicodedata.normalize("NFKC", text)


# Blocks and masks

WORDS = ["tenant", "landlord", "rent", "notice", "repair", "court", "within", "days", "must", "pay"]
TRAINED = train_tokenizer([" ".join(WORDS)] * 3, "wordpiece", 400, max_tokens=64)
TOKENIZER = PassageTokenizer(TRAINED)
SEPARATOR = TRAINED.sep_token_id
laws = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), min_size=1)


def blocks_of(texts: list[str], block_tokens: int = 8, held_out: float = 0.2) -> Blocks:
    return make_blocks(
        texts,
        TOKENIZER,
        block_tokens=block_tokens,
        separator=SEPARATOR,
        held_out=held_out,
        seed=3,
    )


def slow_blocks(texts: list[str], block_tokens: int) -> list[list[int]]:
    stream: list[int] = []
    for text in texts:
        if stream:
            stream.append(SEPARATOR)
        stream += TRAINED.encode(text, add_special_tokens=False)
    room = block_tokens - 2
    blocks = []
    for start in range(0, len(stream), room):
        begin = min(start, len(stream) - room)
        blocks.append([TRAINED.cls_token_id, *stream[begin : begin + room], SEPARATOR])
    return blocks


@given(texts=laws, block_tokens=st.integers(5, 12), held_out=st.floats(0.01, 0.99))
def test_every_token_stands_in_full_blocks(texts, block_tokens, held_out):
    expected = slow_blocks(texts, block_tokens)
    if len(expected) < 3:
        with pytest.raises(SettingsError, match="too few for 3 blocks"):
            blocks_of(texts, block_tokens, held_out)
        return
    blocks = blocks_of(texts, block_tokens, held_out)
    train, held = blocks.train.tolist(), blocks.held_out.tolist()
    assert sorted(train + held) == sorted(expected)
    for part in (train, held):
        law = iter(expected)
        assert all(block in law for block in part), "not in the order of the law"
    assert 1 <= len(held) <= len(expected) - 2


BPE = train_tokenizer(["the tenant must pay the rent in advance"] * 3, "bpe", 300, max_tokens=64)
MANY_BLOCKS = torch.randint(5, 290, (64, 258), dtype=torch.int32)
MANY_BLOCKS[:, 0], MANY_BLOCKS[:, -1] = BPE.cls_token_id, BPE.sep_token_id


def batch(masking: Masking, place: int = 0) -> dict[str, torch.Tensor]:
    return masking([((0, place + n), block) for n, block in enumerate(MANY_BLOCKS)])


def test_a_batch_is_masked_alike_whatever_was_masked_before():
    fresh, used = Masking(BPE, 0.15, seed=0), Masking(BPE, 0.15, seed=0)
    torch.manual_seed(1)
    for place in range(3):
        batch(used, place)
    torch.manual_seed(2)
    assert torch.equal(batch(fresh, 64)["labels"], batch(used, 64)["labels"])


def ids(n_blocks: int) -> torch.Tensor:
    return torch.arange(n_blocks, dtype=torch.int32)[:, None]


@given(places=st.lists(st.integers(0, 59), min_size=1))
def test_a_place_holds_the_same_block_however_it_is_come_by(places):
    one, other = ReadingOrder(ids(20), 60, 5), ReadingOrder(ids(20), 60, 5)
    straight = [other[place] for place in range(60)]
    for place in places:
        assert one[place] == straight[place]

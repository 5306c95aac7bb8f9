"""A tokenizer trained on a corpus."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from components.statutes.corpus import StatuteCorpus
from training.command_line import SettingsError
from training.pretraining.settings import TokenizerKind
from training.pretraining.tokenizer import train_tokenizer

ROOT = Path(__file__).resolve().parents[3]
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


def tokens(trained: PreTrainedTokenizerFast, text: str) -> list[str]:
    return list(trained.convert_ids_to_tokens(trained.encode(text, add_special_tokens=False)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_texts_give_the_same_tokenizer_in_every_process(kind: TokenizerKind) -> None:
    code = (
        "from components.statutes.corpus import StatuteCorpus\n"
        "from training.pretraining.tokenizer import train_tokenizer\n"
        "texts = [article.text for article in StatuteCorpus.read('aldermere')]\n"
        f"trained = train_tokenizer(texts, {kind!r}, 900, max_tokens=64)\n"
        "print(trained.backend_tokenizer.to_str())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    here = tokenizer([article.text for article in StatuteCorpus.read("aldermere")], kind, 900)
    assert here.backend_tokenizer.to_str() == elsewhere.stdout.strip()


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_stands_between_special_tokens(kind: TokenizerKind) -> None:
    trained = tokenizer(FRENCH, kind)
    ids = trained("Le préfet répond.")["input_ids"]
    assert trained.convert_ids_to_tokens([ids[0], ids[-1]]) == ["[CLS]", "[SEP]"]
    assert (trained.pad_token_id, trained.mask_token) == (0, "[MASK]")
    assert trained.model_max_length == 64


@pytest.mark.parametrize("kind", KINDS)
def test_the_vocabulary_has_the_size_asked_for(kind: TokenizerKind) -> None:
    texts = [article.text for article in StatuteCorpus.read("aldermere")]
    sizes = [len(tokenizer(texts, kind, size)) for size in (400, 900)]
    assert sizes == [400, 900]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [FRENCH, CHINESE], ids=["french", "chinese"])
def test_no_word_of_the_corpus_is_unknown(kind: TokenizerKind, texts: list[str]) -> None:
    trained = tokenizer(texts, kind)
    for text in texts:
        assert trained.unk_token_id not in trained.encode(text)


def test_wordpiece_takes_each_chinese_character_as_a_word() -> None:
    assert tokens(tokenizer(CHINESE, "wordpiece"), "权利和义务") == list("权利和义务")


def test_bpe_joins_chinese_characters_that_go_together() -> None:
    trained = tokenizer(CHINESE, "bpe", 600)
    assert len(tokens(trained, "当事人应当遵循")) < len("当事人应当遵循")


def test_wordpiece_forgets_case_and_keeps_accents() -> None:
    trained = tokenizer(FRENCH, "wordpiece")
    assert tokens(trained, "RÉPOND") == tokens(trained, "répond") == ["répond"]
    assert tokens(trained, "repond") != ["repond"]


FRENCH_WORDPIECE = tokenizer(FRENCH, "wordpiece")
FRENCH_BPE = tokenizer(FRENCH, "bpe")


@given(word=st.text(st.sampled_from(sorted(set("répond des dommages"))), min_size=1, max_size=8))
def test_wordpiece_reads_any_word_of_known_letters(word: str) -> None:
    assert FRENCH_WORDPIECE.unk_token_id not in FRENCH_WORDPIECE.encode(word)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[")))
def test_byte_level_bpe_loses_nothing_of_any_text(text: str) -> None:
    ids = FRENCH_BPE.encode(text, add_special_tokens=False)
    assert FRENCH_BPE.backend_tokenizer.decode(ids) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize("kind", KINDS)
def test_another_form_of_a_character_reads_the_same(kind: TokenizerKind) -> None:
    trained = tokenizer(CHINESE + FRENCH, kind)
    assert tokens(trained, "e\u0301le\u0300ve") == tokens(trained, "élève")
    assert tokens(trained, "原则\uff0c１") == tokens(trained, "原则,1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [FRENCH, CHINESE], ids=["french", "chinese"])
def test_a_saved_tokenizer_reads_as_before(
    kind: TokenizerKind, texts: list[str], tmp_path: Path
) -> None:
    trained = tokenizer(texts, kind)
    trained.save_pretrained(str(tmp_path))
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text in [*texts, "e\u0301tat ÉTAT １２ 遵循"]:
        assert again(text)["input_ids"] == trained(text)["input_ids"]


def test_a_vocabulary_smaller_than_the_script_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"vocabulary is 20, .* are \d+ tokens"):
        tokenizer(CHINESE, "wordpiece", 20)

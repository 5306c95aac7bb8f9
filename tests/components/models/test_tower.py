"""One side of a bi-encoder: how long a text it reads, and what it refuses to open."""

from __future__ import annotations

import shutil

import pytest
import torch
from sentence_transformers import SentenceTransformer

from components.models.errors import ModelError
from components.models.text_encoder import TextEncoder
from components.models.tower import open_towers

LONG = "the landlord must pay rent within the period " * 20


@pytest.mark.parametrize("kind", ["tiny_bert", "tiny_roberta", "tiny_prompted"])
def test_a_limit_cuts_texts_and_is_saved(request, tmp_path, kind):
    tower = open_towers(request.getfixturevalue(kind))[0]
    tower.limit(12)
    assert tower.max_tokens == 12
    passages = TextEncoder(tower, tower.max_tokens).tokenize([LONG, "rent"])
    assert passages.lengths.max() == 12
    tower.save(tmp_path / "tower")
    again = open_towers(tmp_path / "tower")[0]
    theirs = SentenceTransformer(str(tmp_path / "tower"), device="cpu")
    assert again.max_tokens == theirs.max_seq_length == 12
    expected = torch.from_numpy(theirs.encode([LONG], normalize_embeddings=True))
    for each in (tower, again):
        found = TextEncoder(each, each.max_tokens).embed(passages.take(passages.per_text[:1] * 0))
        assert torch.allclose(found.detach(), expected, atol=1e-5)


def test_no_more_tokens_than_the_model_reads_nor_than_an_earlier_limit(tiny_prompted):
    tower = open_towers(tiny_prompted)[0]
    with pytest.raises(ModelError, match=r"max_tokens is 41, and the model reads at most 40"):
        tower.limit(41)
    tower.limit(40)
    tower.limit(10)
    with pytest.raises(ModelError, match=r"max_tokens is 11, and the model reads at most 10"):
        tower.limit(11)
    assert tower.max_tokens == 10


def test_a_model_without_its_tokenizer_s_files_is_refused(tiny_bert, tmp_path):
    """transformers opens it with a tokenizer to which every word is unknown."""
    shutil.copytree(tiny_bert, tmp_path / "half")
    for path in (tmp_path / "half").glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ModelError, match="tokenizer"):
        open_towers(tmp_path / "half")

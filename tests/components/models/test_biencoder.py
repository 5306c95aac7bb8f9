"""The bi-encoder: opened, saved, and refused."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from components.models.biencoder import BiEncoder
from components.models.encoding import HierarchicalArticleHead, open_tower
from components.models.folder import ModelError

TEXTS = ["the landlord must repair the dwelling", "rent", "a worker may appeal " * 20]


def exact(path):
    return BiEncoder.load(path, device="cpu", dtype="float32")


def two_towers(query, passage):
    """A model whose every part differs from its start, as after training."""
    torch.manual_seed(4)
    head = HierarchicalArticleHead(32, 4, passage_tokens=12, max_passages=3)
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.1)
    return BiEncoder(
        open_tower(query),
        open_tower(passage),
        head.eval(),
        prompts={"query": "query ", "passage": ""},
        text_rule="text",
        dtype="float32",
        name="tiny",
    )


def test_the_vector_of_a_question_is_computed_once(tiny_bert, monkeypatch):
    model = exact(tiny_bert)
    expected = model.encode_queries(["rent"])[0]
    assert torch.equal(model.question_vector("rent"), expected)
    for number in range(200):
        model.question_vector(f"rent {number}")
    assert len(model._question_vectors) <= 64
    monkeypatch.setattr(model, "encode_queries", None)
    assert torch.equal(model.question_vector("rent 199"), model.question_vector("rent 199"))


def test_a_base_model_s_own_prompts_pooling_and_limit_are_honoured(tiny_prompted):
    model = exact(tiny_prompted)
    theirs = SentenceTransformer(str(tiny_prompted), device="cpu")
    assert model.prompts == {"query": "query: ", "passage": "passage: "}
    assert (model.dim, model.passage_tokens) == (24, 40)
    questions = theirs.encode_query(TEXTS)
    articles = theirs.encode(TEXTS, prompt_name="passage")
    assert np.abs(model.encode_queries(TEXTS).numpy() - questions).max() < 1e-5
    assert np.abs(model.encode_articles(TEXTS).numpy() - articles).max() < 1e-5


def test_a_saved_model_comes_back_whole(tiny_bert, tiny_roberta, tmp_path):
    model = two_towers(tiny_bert, tiny_roberta)
    written = model.save(
        tmp_path / "model", config={"lr": 1e-3}, data={"corpus_sha256": "ab"}, metrics={"MAP": 0.5}
    )
    again = exact(tmp_path / "model")
    for encode in (BiEncoder.encode_queries, BiEncoder.encode_articles):
        assert torch.allclose(encode(again, TEXTS), encode(model, TEXTS), atol=1e-6)
    assert (again.prompts, again.text_rule, again.passage_tokens) == (model.prompts, "text", 12)
    assert again.head.arguments == model.head.arguments
    assert (written.base_model, written.config) == ("tiny", {"lr": 1e-3})
    assert written.metrics == {"MAP": 0.5}
    assert written.parts == ("biencoder/query", "biencoder/passage", "biencoder/head")
    files = {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert files <= {".json", ".safetensors", ".txt"}


def poisoned_with(value):
    def spoil(folder):
        weights = load_file(folder / "model.safetensors")
        weights["encoder.layer.1.output.dense.weight"][3, 3] = float(value)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return spoil


NOT_FINITE = "'encoder.*encoder.layer.1.output.dense.weight' hold NaN or infinity"


def pickle_only(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def foreign_code(file, content):
    def spoil(folder):
        (folder / "evil.py").write_text("raise SystemExit('foreign code ran')")
        (folder / file).write_text(json.dumps(content))

    return spoil


MODULES = [{"idx": 0, "name": "0", "path": "", "type": "evil.Module"}]
CONFIG = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config"}}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        *((poisoned_with(value), NOT_FINITE) for value in ("nan", "inf", "-inf")),
        (pickle_only, "pytorch_model.bin: these weights are a pickle"),
        (foreign_code("modules.json", MODULES), "trust_remote_code"),
        (foreign_code("config.json", CONFIG), "trust_remote_code"),
        (lambda f: (f / "model.safetensors").unlink(), "holds no weights"),
        (lambda f: (f / "model.safetensors").write_bytes(b"no"), "cannot be opened as a model"),
        (lambda f: (f / "config.json").write_text("{"), "cannot be opened as a model"),
        (lambda f: (f / "biencoder/query").mkdir(parents=True), "has no manifest.json"),
    ],
)
def test_a_broken_or_dangerous_folder_is_refused(tiny_bert, tmp_path, spoil, message):
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    spoil(folder)
    with pytest.raises(ModelError, match=message) as refusal:
        BiEncoder.load(folder, device="cpu")
    assert str(folder) in str(refusal.value)


def test_parts_that_do_not_fit_are_refused(tiny_bert, tiny_prompted):
    query, narrow = open_tower(tiny_bert), open_tower(tiny_prompted)
    with pytest.raises(ModelError, match="32 and 24"):
        BiEncoder(query, narrow)
    with pytest.raises(ModelError, match="the head takes 24 dimensions"):
        BiEncoder(query, head=HierarchicalArticleHead(24, 4))
    with pytest.raises(ModelError, match=r"head\.passage_tokens is 128; at most 64"):
        BiEncoder(query, head=HierarchicalArticleHead(32, 4))

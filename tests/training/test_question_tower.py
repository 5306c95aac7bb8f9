"""--towers question: the question's tower is trained, and the articles' vectors stay."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.difference import DIFFERENCE_FILE, updated
from components.models.folder import ModelError, articles_digest, model_digest, read_manifest
from components.retrievers.embedding import record_weight
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline
from training.command_line import DONE, WRONG_USE
from training.cusines import main, starting_model
from training.data import TrainingData
from training.loop import curriculum_negatives
from training.objective import make_batch

ALONE = {"towers": "question", "whole_law": "true", "negatives_per_question": 0, "rank": 4}
TEXTS = ["the landlord must give notice", "wages are due within three days", "custody"]


@pytest.fixture(scope="module")
def tower(any_flags, tmp_path_factory) -> Path:
    """A model folder with a question's tower over the tiny model; not written to."""
    output = tmp_path_factory.mktemp("tower") / "model"
    assert main(any_flags(output=output, **ALONE, learning_rate=1e-2)) == DONE
    return output


@pytest.fixture(scope="module")
def store(small_law, tiny_bert, tmp_path_factory) -> Path:
    """The small law, encoded by the tiny model; not written to."""
    path = tmp_path_factory.mktemp("store") / "law.db"
    index_corpus(small_law / "articles.jsonl", path, model=str(tiny_bert))
    return path


def test_only_the_difference_of_the_questions_tower_is_written(tower, tiny_bert):
    manifest = read_manifest(tower)
    assert set(manifest.files) == {
        f"biencoder/query/{DIFFERENCE_FILE}",
        "questions/vectors.safetensors",
    }
    digest = model_digest(tiny_bert)
    assert manifest.base == {"model": str(tiny_bert), "sha256": digest, "articles": digest}
    assert articles_digest(tower) == model_digest(tiny_bert) != model_digest(tower)


def test_questions_have_moved_and_articles_have_not(tower, tiny_bert):
    trained, base = (BiEncoder.load(each, device="cpu") for each in (tower, tiny_bert))
    assert torch.equal(trained.encode_articles(TEXTS), base.encode_articles(TEXTS))
    moved = torch.nn.functional.cosine_similarity(
        trained.encode_queries(TEXTS), base.encode_queries(TEXTS)
    )
    assert (moved < 0.999).all()
    assert trained.articles_digest == base.digest != trained.digest


def test_a_fresh_update_changes_nothing_and_its_base_is_not_touched(tiny_bert):
    base = BiEncoder.load(tiny_bert, device="cpu", dtype="float32")
    fresh = BiEncoder(updated(base.query, 4), base.passage, dtype="float32")
    assert torch.equal(fresh.encode_queries(TEXTS), base.encode_queries(TEXTS))
    assert {n for n, p in fresh.query.named_parameters() if p.requires_grad} == {
        name for name, _ in fresh.query.named_parameters() if name.endswith((".A", ".B"))
    }


def test_the_loss_is_the_softmax_over_the_whole_law(settings, train):
    """The first step's loss, from vectors of the untrained model by hand."""
    asked = {**ALONE, "whole_law": True, "dropout": 0.0}
    chosen = settings(**asked)
    data = TrainingData.read(chosen.corpus, chosen.questions, dev_share=0.0)
    _, state = train(**asked, max_steps=1, batch_size=len(data.pairs))
    model = starting_model(chosen, torch.device("cpu"))
    asked_for = model.encode_queries([each.text for each in data.train]).double()
    texts = [f"{' '.join(each.headings)} {each.text}" for each in data.corpus]
    scores = asked_for @ model.encode_articles(texts).double().T / chosen.temperature
    losses = []
    for row, positive in data.pairs.tolist():
        own = {data.corpus.position(each) for each in data.train[row].relevant}
        others = [n for n in range(len(data.corpus)) if n not in own]
        compared = scores[row, [positive, *others]]
        losses.append(float(compared.logsumexp(0) - scores[row, positive]))
    expected = math.fsum(losses) / len(losses)
    assert state.records[0]["loss"] == pytest.approx(expected, rel=1e-4)


def test_every_article_but_the_questions_own_is_a_negative(settings):
    chosen = settings(**{**ALONE, "whole_law": True})
    data = TrainingData.read(chosen.corpus, chosen.questions, dev_share=0.0)
    negatives = curriculum_negatives(chosen, data, "cpu")
    drawn = negatives.draw(0, 0.0)
    batch = make_batch(data.pairs[:5], drawn, negatives.gold, in_batch=False, whole_law=True)
    assert batch.articles.tolist() == list(range(30))
    for (row, _), candidates in zip(batch.pairs, batch.candidates, strict=True):
        own = negatives.gold.excluded[batch.questions[row]]
        assert set((~candidates).nonzero()[0]) == set(own)


def test_with_a_store_no_article_is_encoded(any_flags, store, tower, tmp_path, monkeypatch, capsys):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an article was encoded")

    monkeypatch.setattr(BiEncoder, "encode_articles_report", refuse)
    output = tmp_path / "model"
    assert main(any_flags(output=output, **ALONE, learning_rate=1e-2, store=store)) == DONE
    assert "Encoding" not in capsys.readouterr().err
    same, other = (BiEncoder.load(each, device="cpu") for each in (tower, output))
    assert torch.allclose(same.encode_queries(TEXTS), other.encode_queries(TEXTS), atol=5e-3)


def test_articles_that_the_store_lacks_are_encoded(
    any_flags, store, tmp_path, write_law, article, capsys
):
    changed = write_law(tmp_path / "law", [article(n) for n in range(30)] + [article(30)])
    flags = any_flags(output=tmp_path / "model", **ALONE, store=store, max_steps=1)
    flags[flags.index("--corpus") + 1] = str(changed / "articles.jsonl")
    assert main(flags) == DONE
    assert "Encoding 1 article\n" in capsys.readouterr().err


def test_a_store_of_another_model_is_refused(any_flags, store, other_bert, tmp_path, capsys):
    output = tmp_path / "model"
    assert main(any_flags(output=output, **ALONE, model=other_bert, store=store)) == WRONG_USE
    assert "of another articles' tower" in capsys.readouterr().err
    assert not output.exists()
    missing = tmp_path / "none.db"
    assert main(any_flags(output=output, **ALONE, store=missing)) == WRONG_USE
    assert "there is no file" in capsys.readouterr().err and not missing.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"towers": "both", "rank": 32}, "whole_law is True, but it only applies to towers"),
        ({"head": "paper"}, "head is paper, but it only applies to towers both"),
        ({"rank": 0}, "rank is 0; it must be at least 1"),
        ({"frozen_layers": 2}, "frozen_layers is 2, but there are 2 layers"),
        ({"in_batch": "false"}, "in_batch is False, but it only applies to whole_law false"),
        ({"loss": "triplet"}, "loss is triplet, but it only applies to whole_law false"),
        ({"negatives_per_question": 3}, "none is drawn. Set negatives_per_question to 0"),
        ({"text_rule": "text"}, "text_rule is text, but the articles were encoded with"),
    ],
)
def test_settings_that_do_not_fit_are_refused(any_flags, tmp_path, capsys, wrong, said):
    try:
        code = main(any_flags(output=tmp_path / "model", **{**ALONE, **wrong}))
    except SystemExit as error:
        code = error.code
    assert code == WRONG_USE
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_model_asks_a_store_that_its_base_encoded(tower, store):
    ours = load_pipeline("dense", store=store, model=tower)
    theirs = load_pipeline("dense", store=store)
    question = "What must the tenant do about deposit in case 1?"
    found = [
        [each["id"] for each in ask(pipeline, question)["documents"]] for pipeline in (ours, theirs)
    ]
    assert found[0] != found[1]


def test_a_store_takes_the_tower_over_and_encodes_nothing(tower, store, small_law, tmp_path):
    copied = tmp_path / "law.db"
    shutil.copy(store, copied)
    report = index_corpus(small_law / "articles.jsonl", copied, model=str(tower))
    assert (report.encoded, report.provisions, report.changed) == (0, 0, 0)
    model = StatuteDocumentStore(str(copied)).model
    assert (model.path, model.digest) == (str(tower), articles_digest(tower))
    assert model.question_digest == model_digest(tower)
    again = index_corpus(small_law / "articles.jsonl", copied)
    assert again.model == str(tower)


def test_known_questions_are_not_encoded(tower, small_law):
    lines = (small_law / "questions.jsonl").read_text().splitlines()
    asked = [json.loads(line)["text"] for line in lines if json.loads(line)["split"] == "train"]
    model = BiEncoder.load(tower, device="cpu")
    assert model.knows(asked) and not model.knows([*asked, "another"])
    expected = model.encode_queries(asked)
    found = model.answered_vectors([*asked, asked[0], "another"])
    assert torch.allclose(found[:-2], expected, atol=5e-3)
    assert torch.equal(found[-2], found[0])
    assert torch.allclose(found[-1:], model.encode_queries(["another"]))


def spoilt(tower: Path, folder: Path, **manifest: object) -> Path:
    """A copy of a model folder with other fields in its manifest, or else a broken difference."""
    shutil.copytree(tower, folder)
    fields = json.loads((folder / "manifest.json").read_text())
    if not manifest:
        path = folder / "biencoder/query" / DIFFERENCE_FILE
        path.write_bytes(path.read_bytes()[:-100])
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        fields["files"][f"biencoder/query/{DIFFERENCE_FILE}"] = digest
    (folder / "manifest.json").write_text(json.dumps(fields | manifest))
    return folder


def test_a_difference_without_its_base_or_broken_is_refused(tower, tiny_bert, tmp_path, other_bert):
    digest = model_digest(tiny_bert)
    own = {"model": str(tiny_bert), "sha256": digest, "articles": digest}
    cases = (
        ({"base": {**own, "model": str(tmp_path / "gone")}}, "is a difference to"),
        ({"base": {**own, "model": str(other_bert)}}, "is another"),
        ({"base": {"model": str(tiny_bert)}}, "field 'base' must name"),
        ({"base": {**own, "articles": "0"}}, "field 'base.articles'"),
        ({}, "does not fit its base model, or is broken"),
    )
    for number, (manifest, said) in enumerate(cases):
        folder = spoilt(tower, tmp_path / str(number), **manifest)
        with pytest.raises(ModelError, match=said):
            BiEncoder.load(folder, device="cpu")


def test_a_tower_is_trained_on_from_another(any_flags, tower, tmp_path, tiny_bert):
    """Its base is then the first tower's folder, and the articles' side that of the first base."""
    output = tmp_path / "second"
    assert main(any_flags(output=output, **ALONE, model=tower, max_steps=2)) == DONE
    second = BiEncoder.load(output, device="cpu")
    base = BiEncoder.load(tiny_bert, device="cpu")
    assert torch.equal(second.encode_articles(TEXTS), base.encode_articles(TEXTS))
    assert read_manifest(output).base["model"] == str(tower)
    assert second.articles_digest == base.digest


def test_both_towers_are_trained_on_from_a_questions_tower(
    any_flags, settings, tower, no_dev, tmp_path
):
    start = starting_model(settings(model=str(tower)), torch.device("cpu")).eval()
    before = BiEncoder.load(tower, device="cpu", dtype="float32")
    assert torch.equal(start.encode_queries(TEXTS), before.encode_queries(TEXTS))
    output = tmp_path / "both"
    flags = any_flags(output=output, model=tower, max_steps=2, **no_dev, dev_share=0)
    assert main(flags) == DONE  # without dev the last weights count
    manifest = read_manifest(output)
    assert manifest.base is None
    assert manifest.towers == {"query": "biencoder/query", "passage": "biencoder/passage"}
    after = BiEncoder.load(output, device="cpu", dtype="float32")
    for encode in (BiEncoder.encode_queries, BiEncoder.encode_articles):
        assert not torch.allclose(encode(after, TEXTS), encode(before, TEXTS), atol=1e-3)


def test_each_tower_has_the_weight_of_its_own_training(tower, store, tmp_path):
    copied = tmp_path / "law.db"
    shutil.copy(store, copied)
    own = read_manifest(tower).dense_weight
    base = load_pipeline("hybrid", store=copied).get_component("retriever")
    record_weight(base.document_store, 0.1)
    base.document_store.close()
    question = "What must the tenant do about deposit in case 1?"
    weights = []
    for model in (None, tower):
        retriever = load_pipeline("hybrid", store=copied, model=model).get_component("retriever")
        retriever.run(question)
        weights.append(retriever.dense.weight(own))
    assert weights == [0.1, own] and own != 0.1


def test_whole_towers_are_asked_for_where_a_difference_does_not_do(
    any_flags, tower, tmp_path, capsys
):
    flags = any_flags(output=tmp_path / "model", query_model=tower, passage_model=tower, model=None)
    assert main(flags) == WRONG_USE
    assert "is a question's tower over" in capsys.readouterr().err


def test_a_damaged_store_is_one_line(any_flags, store, tmp_path, capsys):
    copied = tmp_path / "law.db"
    shutil.copy(store, copied)
    with closing(sqlite3.connect(copied)) as connection, connection:
        connection.execute("UPDATE documents SET embedding = 5 WHERE id = 'a3'")
    output = tmp_path / "model"
    assert main(any_flags(output=output, **ALONE, store=copied)) == WRONG_USE
    assert "cannot be read as a store" in capsys.readouterr().err
    assert not list(tmp_path.glob("model*"))

"""Where Lexarbor keeps its files, and the demo store that it builds there."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from components.models.biencoder import BiEncoder
from components.models.graph import LegislativeGraphEncoder
from components.stores.sqlite import StatuteDocumentStore
from pipelines import home, indexing
from pipelines.asking import ask
from pipelines.files import FOLDER, LoadingError
from pipelines.loading import load_pipeline
from pipelines.trained_demo import TrainedDemo


@pytest.fixture
def quick_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> list[str]:
    """A home of its own, and demo stores that are built with the tiny model; what was built."""
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "home"))
    built: list[str] = []
    index = indexing.index_corpus

    def index_quickly(source: str, path: Path, **options: object) -> object:
        built.append(str(path))
        options["model"] = options["model"] or str(tiny_model)
        return index(source, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(indexing, "index_corpus", index_quickly)
    return built


def test_the_environment_says_where_home_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    assert home.demo_store_path() == tmp_path / "demo.db"
    monkeypatch.delenv("LEXARBOR_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    assert home.lexarbor_home() == tmp_path / "cache" / "lexarbor"


def test_the_demo_store_is_built_once(quick_demo: list[str]) -> None:
    said: list[str] = []
    path = home.ensure_demo_store(said.append)
    assert any("invented" in line for line in said)
    store = StatuteDocumentStore(str(path))
    assert store.count_documents() > 200
    assert store.has_vectors()
    store.close()
    assert home.ensure_demo_store() == path
    assert quick_demo == [str(path)]


def test_a_changed_demo_law_is_indexed_again(quick_demo: list[str]) -> None:
    path = home.ensure_demo_store()
    store = StatuteDocumentStore(str(path))
    store.publisher.record_corpus("of an earlier edition")
    # That edition had a law that is gone, and hardly an article of another that is still there.
    gone = Document(id="gone", content="A rule.", meta={"law": "Old Code", "position": 0})
    store.write_documents([gone])
    law = store.filter_documents()[1].meta["law"]
    whole = store.count_documents() - 1
    store.write_documents(
        [Document(id=f"old {n}", content="Old.", meta={"law": law}) for n in range(400)]
    )
    store.close()
    home.ensure_demo_store()
    assert len(quick_demo) == 2
    assert store.count_documents() == whole


@pytest.mark.parametrize("content", [b"no database at all " * 100, b""])
def test_a_demo_store_that_cannot_be_used_is_built_anew(
    quick_demo: list[str], content: bytes
) -> None:
    path = home.demo_store_path()
    path.parent.mkdir()
    path.write_bytes(content)
    home.ensure_demo_store()
    store = StatuteDocumentStore(str(path))
    assert store.count_documents() > 200
    store.close()


def test_a_home_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(LoadingError, match=r"file/home cannot be made.*LEXARBOR_HOME"):
        home.ensure_demo_store()


@pytest.fixture
def trained(quick_demo: list[str], tiny_model: Path) -> TrainedDemo:
    """A trained model, as the demo's training leaves it, and no store of it yet."""
    demo = TrainedDemo.under(home.lexarbor_home())
    assert demo is not None
    model = BiEncoder.load(str(tiny_model))
    model.save(demo.model, kept={"graph": LegislativeGraphEncoder(model.dim).save})
    return demo


def model_of(path: Path) -> str:
    store = StatuteDocumentStore(str(path))
    try:
        assert store.model is not None
        return store.model.path
    finally:
        store.close()


def test_the_trained_models_store_is_the_demo_store(
    quick_demo: list[str], trained: TrainedDemo
) -> None:
    assert home.demo_store_path() == home.lexarbor_home() / "demo.db"  # not built yet
    assert home.ensure_demo_store() == trained.store
    assert model_of(trained.store) == str(trained.model)
    assert home.demo_store_path() == trained.store
    assert home.ensure_demo_store() == trained.store
    assert quick_demo == [str(trained.store)]
    best = ask(load_pipeline("dense"), "deposit", top_k=1)["documents"]
    assert len(best) == 1


def test_whoever_names_a_model_asks_the_untrained_store(
    quick_demo: list[str], trained: TrainedDemo, tmp_path: Path
) -> None:
    untrained = home.lexarbor_home() / "demo.db"
    assert home.store_to_ask(None, None, print) == trained.store
    assert home.store_to_ask(None, "hybrid", print) == trained.store
    assert home.store_to_ask(None, "hybrid", print, "some/model") == untrained
    own = tmp_path / "own.yaml"
    text = (FOLDER / "dense.yaml").read_text("utf-8")
    own.write_text(text.replace("model: null", "model: some/model"), encoding="utf-8")
    assert home.store_to_ask(None, str(own), print) == untrained
    assert home.ensure_demo_store(trained=False) == untrained
    assert home.demo_store_path(trained=False) == untrained


def test_a_broken_model_is_not_asked(quick_demo: list[str], trained: TrainedDemo) -> None:
    home.ensure_demo_store()
    weights = next(trained.model.rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1])
    assert home.ensure_demo_store() == home.lexarbor_home() / "demo.db"
    assert home.demo_store_path() == home.lexarbor_home() / "demo.db"


def test_a_model_that_was_trained_again_gets_a_new_store(
    quick_demo: list[str], trained: TrainedDemo, tiny_model: Path
) -> None:
    home.ensure_demo_store()
    trained.clear()
    model = BiEncoder.load(str(tiny_model))
    for parameter in model.parameters():
        parameter.data *= 1.5
    model.save(trained.model, kept={"graph": LegislativeGraphEncoder(model.dim).save})
    said: list[str] = []
    assert home.ensure_demo_store(said.append) == trained.store
    assert any("built anew" in line for line in said)
    now = trained.trained()
    store = StatuteDocumentStore(str(trained.store))
    assert now is not None
    assert store.model is not None
    assert store.model.digest == now.digest
    store.close()


def test_a_home_that_was_moved_is_asked_where_it_is(
    quick_demo: list[str],
    trained: TrainedDemo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home.ensure_demo_store()
    moved = tmp_path / "moved"
    home.lexarbor_home().rename(moved)
    monkeypatch.setenv("LEXARBOR_HOME", str(moved))
    path = home.ensure_demo_store()
    assert path == moved / trained.folder.name / "demo.db"
    assert model_of(path) == str(moved / trained.folder.name / "model")


def test_a_trained_store_that_cannot_be_written_leaves_the_untrained_one(
    quick_demo: list[str], trained: TrainedDemo
) -> None:
    trained.store.mkdir()
    said: list[str] = []
    assert home.ensure_demo_store(said.append) == home.lexarbor_home() / "demo.db"
    assert any("is a folder" in line and "untrained" in line for line in said)


def test_two_processes_build_one_store(
    quick_demo: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    building = threading.Barrier(2, timeout=60)
    current = home._is_current
    looks: dict[int, int] = {}

    def look_together(*arguments: Any) -> bool:
        me = threading.get_ident()
        looks[me] = looks.get(me, 0) + 1
        found = current(*arguments)
        if looks[me] == 1:
            building.wait()  # both have seen that there is none
        return found

    monkeypatch.setattr(home, "_is_current", look_together)
    with ThreadPoolExecutor(2) as both:
        paths = {each.result() for each in [both.submit(home.ensure_demo_store) for _ in "12"]}
    assert len(paths) == 1
    assert len(quick_demo) == 1


def test_a_home_that_cannot_be_written_is_named(quick_demo: list[str]) -> None:
    (home.lexarbor_home() / "demo.lock").mkdir(parents=True)
    with pytest.raises(LoadingError, match=r"home cannot be written.*LEXARBOR_HOME"):
        home.ensure_demo_store()


def test_only_the_demo_law_under_its_own_model_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    text = (FOLDER / "dense.yaml").read_text("utf-8")
    with_model, with_store = tmp_path / "model.yaml", tmp_path / "store.yaml"
    with_model.write_text(text.replace("model: null", "model: some/model"), encoding="utf-8")
    with_store.write_text(text.replace("path: null", "path: law.db"), encoding="utf-8")
    for pipeline in (None, "hybrid"):
        assert home.demo_to_train(None, pipeline, None) == TrainedDemo.under(tmp_path)
        assert home.demo_to_train("law.db", pipeline, None) is None
        assert home.demo_to_train(None, pipeline, "some/model") is None
    assert home.demo_to_train(None, str(with_model), None) is None
    assert home.demo_to_train(None, str(with_store), None) is None


def test_a_pipeline_that_is_given_a_model_asks_the_untrained_store(
    quick_demo: list[str], trained: TrainedDemo, tiny_model: Path
) -> None:
    home.ensure_demo_store(trained=False)
    home.ensure_demo_store()
    for model, path in ((None, trained.store), (tiny_model, home.lexarbor_home() / "demo.db")):
        parts = dict(load_pipeline("dense", model=model).walk())
        assert parts["dense"].document_store.path == str(path)

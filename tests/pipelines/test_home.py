"""Where Lexarbor keeps its files, and the demo store that it builds there."""

from pathlib import Path

import pytest

from components.stores.sqlite import StatuteDocumentStore
from pipelines import home, indexing
from pipelines.files import LoadingError


@pytest.fixture
def quick_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> list[str]:
    """A home of its own, and demo stores that are built with the tiny model; what was built."""
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path / "home"))
    built: list[str] = []
    index = indexing.index_corpus

    def index_quickly(source: str, path: Path, **options: object) -> object:
        built.append(str(path))
        return index(source, path, **{"model": str(tiny_model), **options})  # type: ignore[arg-type]

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
    store.close()
    home.ensure_demo_store()
    assert len(quick_demo) == 2


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

"""Pipeline files that no reader should trust are refused, naming the place."""

from pathlib import Path
from typing import Any

import pytest
from effort import bounded_effort

from pipelines.engines.addresses import engine_address
from pipelines.files import (
    MAX_BYTES,
    LoadingError,
    components_in,
    pipeline_file,
    pipeline_names,
    read_pipeline_file,
    store_named_in,
)
from pipelines.generators import generator_overrides
from pipelines.home import demo_to_train

BOMB = "\n".join(
    [
        "metadata:",
        "  a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
)


def read(tmp_path: Path, text: str | bytes) -> object:
    path = tmp_path / "made.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with bounded_effort():
        return read_pipeline_file(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, r"made.yaml:2: metadata.a0: anchor '&a0'"),
        ("metadata: {a: *b}", r"made.yaml:1: metadata.a: alias '\*b'"),
        ("a: &a [*a]", r"made.yaml:1: a: anchor '&a'"),
        ("metadata: {<<: &x {a: 1}}", "anchor"),
        ("metadata:\n  deep: " + "[" * 500, r"made.yaml:2: metadata.deep: nested deeper"),
        ("metadata:\n  deep: " + "{a: " * 500, r"metadata.deep.a.a.*nested deeper"),
        (
            "\n".join(" " * n + "k:" for n in range(300)),
            "nested deeper than 20 levels",
        ),
        (
            "components:\n  x: !!python/object/apply:os.system ['id']",
            r"made.yaml:2: components.x: tag '.*os.system'",
        ),
        ("a: 1\n---\nb: 2", "second YAML document"),
        ("components: {}\nconnections: []\ncomponents: {}", "3: key 'components' stands twice"),
        ("components:\n  on: {}", "2: a key must be plain text"),
        ("? [a]\n: b", "a key must be plain text"),
        ("<<: {a: 1}", "a key must be plain text"),
        ("a: [1, 2", "is not YAML"),
        ("a: " + "9" * 5000, "cannot be read"),
        ("", "must hold a mapping"),
        ("- components", "must hold a mapping"),
        (b"a: \xff", "not UTF-8"),
        (b"a: \x00", "not YAML"),
        ("a: " + "x" * MAX_BYTES, "at most 65,536"),
    ],
)
def test_a_file_that_is_no_plain_mapping_is_refused_at_once(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(LoadingError, match=message) as refusal:
        read(tmp_path, text)
    assert len(str(refusal.value)) < 600


def test_plain_values_come_through(tmp_path: Path) -> None:
    text = "components: {a: {type: x.Y, init_parameters: {n: 1, f: 0.5, s: '1', none: null}}}"
    parameters = {"n": 1, "f": 0.5, "s": "1", "none": None}
    assert read(tmp_path, text) == {
        "components": {"a": {"type": "x.Y", "init_parameters": parameters}}
    }


def test_a_folder_or_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=r"cannot be read"):
        read_pipeline_file(tmp_path)


def test_pipelines_are_found_by_name() -> None:
    assert {"index", "lexical", "dense", "hybrid"} <= set(pipeline_names())
    assert pipeline_file("hybrid").name == "hybrid.yaml"


def test_pipelines_are_found_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yml"
    path.write_text("components: {}")
    assert pipeline_file(path) == path


def test_an_unknown_name_says_which_may_be_meant() -> None:
    with pytest.raises(LoadingError, match=r"no pipeline 'hybird'.*did you mean 'hybrid'"):
        pipeline_file("hybird")


def test_an_absent_path_is_no_name(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match=r"no pipeline file .*absent.yaml"):
        pipeline_file(tmp_path / "absent.yaml")


COMPONENT: dict[str, Any] = {"type": "x.Y", "init_parameters": {"n": 1}}


@pytest.mark.parametrize(
    ("components", "found"),
    [
        ({"a": COMPONENT}, [("a", "x.Y", {"n": 1})]),
        ({"a": {"type": "x.Y"}}, [("a", "x.Y", {})]),
        ({"a": {**COMPONENT, "init_parameters": ["n"]}}, [("a", "x.Y", {})]),
        ({"a": "x.Y", "b": {"init_parameters": {}}, "c": {"type": ["x.Y"]}, "d": None}, []),
        (["a", COMPONENT], []),
        ("a", []),
        (None, []),
    ],
)
def test_of_an_unchecked_file_only_its_components_are_read(components: Any, found: Any) -> None:
    assert list(components_in({"components": components})) == found
    assert list(components_in({})) == []


@pytest.mark.parametrize(
    "components", ["[a]", "a", "{a: [b]}", "{a: {type: [b], init_parameters: [c]}}", "null"]
)
def test_a_file_of_another_shape_is_left_to_the_loader(
    tmp_path: Path, components: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXARBOR_HOME", str(tmp_path))
    path = tmp_path / "made.yaml"
    path.write_text(f"components: {components}\n", encoding="utf-8")
    assert store_named_in(path) is None
    assert engine_address(str(path), None) is None
    demo_to_train(None, str(path), None)
    with pytest.raises(LoadingError, match="writes no answers"):
        generator_overrides(path, "http://localhost", "small")

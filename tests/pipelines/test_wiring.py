"""A slip in a pipeline's file is one line that says what, where and how to mend it."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from haystack import Pipeline, component
from haystack.core.errors import PipelineRuntimeError

from pipelines import ask as command
from pipelines.asking import ask
from pipelines.files import FOLDER, LoadingError
from pipelines.loading import load_pipeline

Change = Callable[[dict[str, Any]], object]


def parameters(file: dict[str, Any], component: str) -> dict[str, Any]:
    found: dict[str, Any] = file["components"][component]["init_parameters"]
    return found


def set_filters(file: dict[str, Any], **filters: Any) -> None:
    parameters(file, "bm25")["filters"] = filters


def add_bm25(file: dict[str, Any]) -> None:
    file["components"]["other"] = copy.deepcopy(file["components"]["bm25"])


def leave_out(file: dict[str, Any], receiver: str) -> None:
    file["connections"] = [each for each in file["connections"] if each["receiver"] != receiver]


SLIPS: dict[str, tuple[Change, str]] = {
    "a list that goes nowhere": (
        lambda file: leave_out(file, "fuser.bm25"),
        r"fuser\.stages: nothing is connected to the stage 'bm25'\. Add the connection of a list",
    ),
    "a stage without its retriever": (
        lambda file: parameters(file, "fuser").update(stages=["citation", "bm25", "dense"]),
        r"fuser\.stages: nothing is connected to the stage 'dense'\. .* take it out of the stages",
    ),
    "words weighed without the question": (
        lambda file: parameters(file, "fuser").update(full_coverage={"bm25": 0.5}),
        r"fuser\.full_coverage needs the question: add fuser\.query to inputs\.query",
    ),
    "a component that nothing reaches": (
        add_bm25,
        r"components\.other: nothing goes into its input 'query'\. Connect other\.query, name it",
    ),
    "an operator that is none": (
        lambda file: set_filters(file, field="meta.law", operator="=", value="Work Code"),
        r"bm25\.filters: Unknown comparison operator '='\. Valid operators are: \['!=', '<'",
    ),
    "half a filter": (
        lambda file: set_filters(file, field="meta.law"),
        r"bm25\.filters: 'operator' key missing in",
    ),
    "an output of another stage": (
        lambda file: file["outputs"].update(documents="reranker.documents"),
        r"outputs\.documents: unknown component 'reranker'.*There is citation, bm25, fuser",
    ),
    "an output that is no articles": (
        lambda file: file["outputs"].update(documents="citation.missing"),
        r"outputs\.documents: citation\.missing is no list of documents\. Name the socket",
    ),
    "sockets that do not fit": (
        lambda file: file["connections"].append(
            {"sender": "citation.missing", "receiver": "fuser.citation"}
        ),
        r"Cannot connect 'citation\.missing' with 'fuser\.citation'",
    ),
    "a number out of range": (
        lambda file: parameters(file, "bm25").update(k1=-1),
        r"StatuteBM25Retriever\.k1 must be 0 or more, got -1",
    ),
}


@pytest.fixture
def mine(tmp_path: Path) -> Callable[[Change], Path]:
    """Writes lexical.yaml with a change."""

    def write(change: Change) -> Path:
        file = yaml.safe_load((FOLDER / "lexical.yaml").read_text(encoding="utf-8"))
        change(file)
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(file, sort_keys=False), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_one_line(
    slip: str,
    mine: Callable[[Change], Path],
    text_store: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change, message = SLIPS[slip]
    path = mine(change)
    assert command.main(["rent", "--store", str(text_store), "--pipeline", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert re.search(message, line)


def test_a_file_without_inputs_is_run_with_what_its_user_gives_it(
    mine: Callable[[Change], Path], text_store: Path
) -> None:
    def change(file: dict[str, Any]) -> None:
        del file["inputs"]
        add_bm25(file)

    pipeline = load_pipeline(mine(change), store=text_store)
    assert pipeline.run({"query": "rent"})["other"]["documents"]


def test_filters_over_what_cannot_be_filtered_are_one_line(
    mine: Callable[[Change], Path], text_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = mine(lambda file: set_filters(file, field="embedding", operator="==", value=1))
    assert command.main(["rent", "--store", str(text_store), "--pipeline", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: Documents cannot be filtered by 'embedding'")


@component
class _Faulty:
    @component.output_types(documents=list[str])
    def run(self, query: str) -> dict[str, list[str]]:
        raise ValueError(f"{query} was too much.")


@component
class _Silent:
    @component.output_types(documents=list[str])
    def run(self, query: str) -> dict[str, list[str]]:
        return {}


def asking(instance: Any) -> Pipeline:
    metadata = {"name": "mine", "inputs": {"query": ["it.query"]}}
    pipeline = Pipeline(metadata={**metadata, "outputs": {"documents": ["it.documents"]}})
    pipeline.add_component("it", instance)
    return pipeline


def test_a_component_that_fails_is_named_with_its_pipeline() -> None:
    with pytest.raises(PipelineRuntimeError) as raised:
        ask(asking(_Faulty()), "Rent")
    assert str(raised.value) == "The pipeline mine: it failed: Rent was too much."


def test_an_output_that_nothing_came_out_of_is_named() -> None:
    with pytest.raises(LoadingError, match=r"mine: outputs.documents names it\.documents, which"):
        ask(asking(_Silent()), "Rent")

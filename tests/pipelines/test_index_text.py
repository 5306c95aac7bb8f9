"""Text files become a store that answers, by the pipeline and by the command."""

import pytest

from pipelines.asking import ask
from pipelines.checking import FOLDER, LoadingError
from pipelines.loading import load_pipeline

TEXT = """\
Boats Act

Section 1 Scope
This Act applies to boats on the water.

Section 2 Oars
A boat has two oars. The owner keeps them dry.
"""


def test_the_pipeline_fills_a_store_from_text_files(tmp_path, tiny_model):
    path = tmp_path / "boats.txt"
    path.write_text(TEXT)
    pipeline = load_pipeline("index_text", store=tmp_path / "law.db", model=tiny_model)
    result = pipeline.run({"converter": {"sources": [str(path)]}})
    assert result["writer"]["documents_written"] == 2
    assert "2 articles" in result["splitter"]["report"][0]
    # The same file from someone else may not read files.
    copied = tmp_path / "index_text.yaml"
    copied.write_text((FOLDER / "index_text.yaml").read_text(encoding="utf-8"))
    with pytest.raises(LoadingError, match="TextFileToDocument is not an allowed class"):
        load_pipeline(copied, store=tmp_path / "law.db", model=tiny_model)


def test_the_command_indexes_text_and_any_text_by_paragraphs(tmp_path, command):
    path, store = tmp_path / "boats.txt", tmp_path / "law.db"
    path.write_text(TEXT)
    given = ("index", "--corpus", path, "--store", store, "--model", "none")
    code, _, said = command(*given)
    assert (code, "2 articles" in said) == (0, True)
    found = ask(load_pipeline("lexical", store=store), "Who keeps the oars dry?")
    assert found["documents"][0]["number"] == "Section 2"
    assert command(*given, "--as-paragraphs", "--replace")[0] == 0
    path.write_text("A Tale\n\nThe old man rowed.")
    code, _, said = command(*given)
    assert code != 0 and "holds no articles" in said

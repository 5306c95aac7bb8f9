from __future__ import annotations

import gc
import shutil
import weakref
from concurrent.futures import ThreadPoolExecutor

from components.models.biencoder import BiEncoder
from components.models.registry import shared_model


def test_the_same_model_is_loaded_once_by_whichever_thread(tiny_bert, monkeypatch):
    loads: list[str] = []
    load = BiEncoder.load

    def counted(path, **arguments):
        loads.append(str(path))
        return load(path, **arguments)

    monkeypatch.setattr(BiEncoder, "load", counted)
    with ThreadPoolExecutor(4) as threads:
        models = list(threads.map(lambda _: shared_model(tiny_bert, "cpu"), range(8)))
    assert len({id(model) for model in models}) == 1
    assert len(loads) == 1
    assert models[0].name == str(tiny_bert)
    assert shared_model(tiny_bert.parent / "." / tiny_bert.name, "cpu") is models[0]


def test_another_number_format_or_other_files_are_another_model(tiny_bert, tiny_roberta, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    first = shared_model(folder, "cpu", "float32")
    assert shared_model(folder, "cpu", "bfloat16") is not first
    shutil.rmtree(folder)
    shutil.copytree(tiny_roberta, folder)
    second = shared_model(folder, "cpu", "float32")
    assert second is not first
    assert second.digest != first.digest


def test_a_model_is_let_go_with_its_last_holder(tiny_roberta):
    model = shared_model(tiny_roberta, "cpu")
    watch = weakref.ref(model)
    del model
    gc.collect()
    assert watch() is None

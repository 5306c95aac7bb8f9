from __future__ import annotations

import threading

import pytest
import torch

from components.models import devices
from components.models.errors import ModelError
from components.models.inference import inference

CPU = torch.device("cpu")


def test_without_a_name_the_best_device_is_taken():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert devices.resolve_device(None).type in (expected, "mps")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "tpu 1", "", "meta", "xpu"])
def test_a_device_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(ModelError, match=f"{name!r}"):
        devices.resolve_device(name)


def test_an_unknown_number_format_is_refused():
    with pytest.raises(ModelError, match=r"'float16' is not one of auto, float32, bfloat16"):
        devices.resolve_dtype("float16", torch.device("cpu"))


@pytest.mark.parametrize(("gain", "expected"), [(4.0, torch.bfloat16), (0.9, torch.float32)])
def test_auto_follows_what_was_measured(monkeypatch, gain, expected):
    monkeypatch.setattr(devices, "_settled", [])
    monkeypatch.setattr(devices, "_cpu_bf16_gain", lambda: gain)
    assert devices.resolve_dtype("auto", torch.device("cpu")) == expected
    assert devices.resolve_dtype("float32", torch.device("cpu")) == torch.float32
    assert devices.resolve_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16


def test_what_is_settled_counts_on_a_cpu(monkeypatch):
    monkeypatch.setattr(devices, "_settled", [])
    monkeypatch.setattr(devices, "_cpu_bf16_gain", lambda: 1.0)
    for settled, expected in (("bfloat16", True), (None, True), ("float32", False), ("x", False)):
        devices.settle_bf16(settled)
        assert devices.fast_bf16(torch.device("cpu")) is expected
        assert devices.fast_bf16(torch.device("meta")) is False


def test_the_gain_is_measured_once():
    assert devices._cpu_bf16_gain() == devices._cpu_bf16_gain() > 0


def test_one_thread_within_the_block_and_as_many_as_before_behind_it() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError), devices.single_thread(torch.device("cpu")):
            assert torch.get_num_threads() == 1
            raise KeyError
        assert torch.get_num_threads() == 2
        with devices.single_thread(torch.device("cpu"), when=False):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_thread_that_begins_while_another_is_on_one_core_gets_all() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    begun, behind = threading.Event(), threading.Event()
    seen: list[int] = []

    def computes() -> None:
        torch.get_num_threads()  # its first call
        begun.set()
        behind.wait()
        for _ in range(2):
            with inference([], CPU, torch.float32):
                seen.append(torch.get_num_threads())
        with devices.single_thread(CPU):
            seen.append(torch.get_num_threads())

    try:
        for is_over in (False, True):
            begun.clear()
            behind.clear()
            thread = threading.Thread(target=computes)
            with devices.single_thread(CPU):
                thread.start()
                begun.wait()
                if not is_over:
                    behind.set()
                    thread.join()
            behind.set()
            thread.join()
            assert torch.get_num_threads() == 3
        assert seen == [3, 3, 1] * 2
    finally:
        torch.set_num_threads(before)


def test_a_process_that_was_set_to_one_core_keeps_to_it() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    seen: list[int] = []

    def computes() -> None:
        devices.take_cores(CPU)
        seen.append(torch.get_num_threads())

    try:
        thread = threading.Thread(target=computes)
        thread.start()
        thread.join()
        assert seen == [1]
    finally:
        torch.set_num_threads(before)

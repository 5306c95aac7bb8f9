"""What a run has freed goes back to the system."""

import ctypes
from pathlib import Path

import pytest

from training.ablation.memory import give_back_memory

MIB = 2**20


def resident() -> int:
    """Bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_what_was_freed_between_what_is_kept_is_given_back() -> None:
    give_back_memory()
    before = resident()
    # Each small enough for the heap; what is kept among them holds its end up.
    blocks = [bytearray(b"x") * 60_000 for _ in range(3_000)]
    kept = blocks[::100]
    assert resident() - before > 150 * MIB
    del blocks
    assert resident() - before > 100 * MIB
    give_back_memory()
    assert resident() - before < 50 * MIB
    assert len(kept) == 30


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back_memory()

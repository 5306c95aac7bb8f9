"""A lock goes with the processes that hold it."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from components.models import locks
from components.models.locks import file_lock, folder_lock

# A process that takes the lock, says so, and holds it until it is killed.
HOLDER = """
import sys, time
from pathlib import Path
from components.models.locks import file_lock
with file_lock(Path(sys.argv[1]), wait=False) as lock:
    print(lock is not None, flush=True)
    time.sleep(60)
"""
ROOT = Path(__file__).resolve().parents[3]


def is_free(path: Path) -> bool:
    with file_lock(path, wait=False) as lock:
        return lock is not None


def test_one_holds_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path, wait=False) as first:
        assert first is not None
        assert not is_free(path)
    assert is_free(path)


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    assert not is_free(path)
    process.kill()
    process.communicate()
    assert is_free(path)


def test_a_child_that_is_given_it_holds_it_on(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path, wait=False) as lock:
        assert lock is not None
        child = subprocess.Popen(["sleep", "60"], pass_fds=(lock,))
    assert not is_free(path)
    child.kill()
    child.wait()
    assert is_free(path)


def test_who_waits_gets_it_next(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    got = threading.Event()

    def take() -> None:
        with file_lock(path, wait=True):
            got.set()

    waiting = threading.Thread(target=take)
    with file_lock(path, wait=True):
        waiting.start()
        assert not got.wait(0.2)
    assert got.wait(10)
    waiting.join()


def test_a_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none/lock"), file_lock(tmp_path / "none/lock", wait=False):
        pass


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with folder_lock(path, wait=False):
        (path / "checkpoint").touch()
    assert (path / "checkpoint").exists()


def test_a_folder_is_made_and_one_holds_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder"
    with folder_lock(path, wait=False) as first:
        assert first
        with folder_lock(path, wait=False) as second:
            assert not second
        assert list(path.iterdir()) == []
    assert not path.exists()
    with folder_lock(path, wait=False) as again:
        assert again


def test_a_folder_that_was_removed_by_who_held_it_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with folder_lock(path, wait=False) as held:
        path.rmdir()
        # The removed one is held still; the new one is free.
        with folder_lock(path, wait=False) as other:
            assert held
            assert other
            assert path.is_dir()


def test_the_lock_of_a_folder_that_goes_at_that_moment_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder"
    real = locks._lock
    taken: list[int] = []

    def lock(descriptor: int, wait: bool) -> bool:
        taken.append(descriptor)
        if len(taken) == 1:
            path.rmdir()
        return real(descriptor, wait)

    monkeypatch.setattr(locks, "_lock", lock)
    with folder_lock(path, wait=False) as held:
        assert held
        assert len(taken) == 2
        monkeypatch.undo()
        with folder_lock(path, wait=False) as second:
            assert not second

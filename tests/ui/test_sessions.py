"""What a queue keeps of sessions: the last ones, and whoever asks."""

from __future__ import annotations

from ui.sessions import Sessions


def test_who_was_dealt_with_longest_ago_is_forgotten():
    sessions = Sessions(3, set, set)
    for name in "abc":
        sessions[name] = {name}
    assert sessions["a"] == {"a"}
    sessions["c"] = {"new"}
    sessions["d"] = {"d"}
    assert list(sessions) == ["a", "c", "d"]


def test_who_asks_is_kept_whoever_comes():
    asking = {"a", "b"}
    sessions = Sessions(3, set, lambda: asking)
    for name in "abcdefgh":
        sessions[name] = {name}
    assert list(sessions) == ["a", "b", "h"]
    asking.clear()
    sessions["i"] = {"i"}
    assert list(sessions) == ["b", "h", "i"]


def test_what_is_said_to_who_is_forgotten_goes_nowhere():
    sessions = Sessions(2, list, set)
    sessions["gone"].append("message")
    assert sessions["gone"] == []
    assert "gone" not in sessions

"""Curves show what is in the records, whatever it is, and say it in words too."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from run_records import an_epoch, records

from ui.runs.curves import (
    CHARTS,
    alternative,
    bucket_name,
    chart_note,
    chart_title,
    charts_of,
    draw,
    parts_of,
    some_bars,
)
from ui.runs.drawing import DARK, LIGHT, Axes, line_chart, stacked_chart
from ui.runs.run import read_run

WriteRun = Callable[..., Path]
AXES = Axes("step", "loss")


def parts(svg: str, tag: str, class_: str) -> list[ET.Element]:
    """Elements of a drawing by tag and class; it must be well-formed, and load nothing."""
    root = ET.fromstring(svg)
    assert not re.search(r"<script|href|url\((?!#)|@import", svg)
    return [
        each
        for each in root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")
        if each.get("class") == class_
    ]


def points(svg: str) -> list[tuple[float, float]]:
    (line,) = parts(svg, "polyline", "curve")
    pairs = [each.split(",") for each in (line.get("points") or "").split()]
    return [(float(x), float(y)) for x, y in pairs]


def test_a_line_goes_through_its_points_higher_values_higher_up():
    drawn = points(line_chart([(0, 1.0), (1, 3.0), (2, 2.0)], AXES, "en", LIGHT))
    (x0, y0), (x1, y1), (x2, y2) = drawn
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 < y2 < y0
    assert y0 - y2 == pytest.approx(y2 - y1, abs=0.2)


def test_a_name_with_characters_that_xml_forbids_leaves_the_drawing_well_formed():
    name = "R\x00@\x1b10 & \ud800<b>"
    axes = Axes(name, name)
    line = line_chart([(0, 1.0), (1, 3.0)], axes, "en", LIGHT, kept=(1, 3.0), kept_label=name)
    bars = stacked_chart([(name, [0.5, 0.5])], [name, "x"], axes, "en", LIGHT)
    told = "R\ufffd@\ufffd10 & \ufffd<b>"
    for svg, times in ((line, 3), (bars, 4)):
        assert [each.text for each in ET.fromstring(svg).iter()].count(told) == times


def test_very_many_points_are_means_with_their_range_behind():
    many = [(float(step), float(step % 2)) for step in range(100_000)]
    svg = line_chart(many, AXES, "en", LIGHT)
    assert len(svg) < 20_000
    assert {round(y / 10) for _, y in points(svg)} == {13}  # all means are one half
    assert len(parts(svg, "polygon", "band")) == 1


@pytest.mark.parametrize(
    "values",
    [[0.0], [5.0], [1.0, 1.0], [-3.0, 2.0], [1e11, -1e11], [1e-300, 2e-300], [0.5] * 500],
)
def test_any_values_can_be_drawn(values: Sequence[float]):
    for from_zero in (False, True):
        pairs = [(float(x), y) for x, y in enumerate(values)]
        svg = line_chart(pairs, AXES, "en", DARK, from_zero=from_zero)
        assert "nan" not in svg and "inf" not in svg
        assert all(0 <= x <= 440 and 0 <= y <= 270 for x, y in points(svg))


def test_bars_are_as_high_as_their_shares_and_told_by_pattern_and_number():
    svg = stacked_chart([("1", [0.7, 0.2, 0.1])], ["a", "b", "c"], AXES, "en", LIGHT)
    bars = parts(svg, "rect", "part")[3:]  # behind the legend's
    heights = [float(each.get("height") or 0) for each in bars]
    assert [height / sum(heights) for height in heights] == pytest.approx([0.7, 0.2, 0.1], abs=0.01)
    assert len({each.get("fill") for each in bars}) == 3
    assert [each.text for each in parts(svg, "text", "share")] == ["70%", "20%", "10%"]
    said = [each.text for each in parts(svg, "text", "tick")]
    assert {"a", "b", "c", "100%"} <= set(said)


def test_numbers_are_those_of_the_language():
    svg = line_chart([(0, 0.15), (1, 0.35)], AXES, "fr", LIGHT)
    assert "0,2" in svg and "0.2" not in [each.text for each in parts(svg, "text", "tick")]


def test_markup_in_labels_is_text():
    hostile = "<script>alert(1)</script>"
    axes = Axes(hostile, hostile)
    for svg in (
        line_chart([(0, 1.0)], axes, "en", LIGHT, kept=(0, 1.0), kept_label=hostile),
        stacked_chart([(hostile, [0.5, 0.5])], [hostile, "b"], axes, "en", LIGHT),
    ):
        assert "<script" not in svg
        assert hostile in [each.text for each in ET.fromstring(svg).iter()]


def test_a_run_has_the_charts_that_it_has_numbers_for(write_run: WriteRun):
    assert charts_of(read_run(write_run("all"))) == list(CHARTS)
    assert charts_of(read_run(write_run("none", []))) == []
    record = an_epoch(0, negatives={"buckets": [9], "views": {}}, losses=[])
    assert charts_of(read_run(write_run("random", [record]))) == ["loss", "dev"]
    lines = [{"epoch": e, "step": e, "loss": 2.0, "perplexity": 9.0} for e in (0, 1)]
    assert charts_of(read_run(write_run("read", lines))) == ["loss", "dev"]


def test_every_chart_of_a_run_is_drawn_in_light_and_dark(write_run: WriteRun):
    run = read_run(write_run())
    for chart in CHARTS:
        light, dark = (draw(run, chart, "en", dark=dark) for dark in (False, True))
        assert light != dark
        assert LIGHT.paper in light and DARK.paper in dark
    kept = parts(draw(run, "dev", "en", dark=False), "circle", "kept")
    assert len(kept) == 1


def test_the_second_training_of_a_final_run_is_not_drawn(write_run: WriteRun):
    plain = read_run(write_run("plain"))
    again: list[dict[str, Any]] = [*records(), *({**each, "final": True} for each in records())]
    final = read_run(write_run("final", again))
    for chart in CHARTS:
        assert draw(final, chart, "en", dark=False) == draw(plain, chart, "en", dark=False)


@pytest.mark.parametrize("language", ["en", "fr"])
def test_what_is_drawn_is_said_with_its_first_and_last_numbers(write_run: WriteRun, language: Any):
    run = read_run(write_run())
    said = [alternative(run, chart, language) for chart in CHARTS]
    comma = "," if language == "fr" else "."
    assert "12" in said[0] and f"2{comma}00" in said[0] and f"1{comma}53" in said[0]
    assert f"0{comma}500" in said[1] and f"0{comma}750" in said[1]
    first, last = said[2].split("70")[0], said[2].rsplit("70", 1)[0]
    assert bucket_name(0, 3, language) in first and bucket_name(2, 3, language) in last
    assert parts_of(run, "views", language)[2] in said[3]
    assert not re.search(r"[{}]", "".join(said))


@pytest.mark.parametrize(
    ("epoch", "said"), [(0.5, "at epoch 0.50."), (1.0, "at epoch 1."), (2.0, "at epoch 2.")]
)
def test_a_part_of_an_epoch_is_said_as_it_is(write_run: WriteRun, epoch: float, said: str):
    lines = [{"epoch": e, "step": e * 8, "perplexity": 9.0} for e in (0.0, epoch)]
    assert said in alternative(read_run(write_run(of=lines)), "dev", "en")


def test_the_note_under_a_loss_says_what_is_learnt(write_run: WriteRun):
    hidden = read_run(write_run("hidden", [{"epoch": 1.0, "held_out_loss": 3.0}]))
    answers = read_run(write_run("answers"))
    assert "hidden" in chart_note(hidden, "loss", "en")
    assert "cache" in chart_note(hidden, "loss", "fr")
    assert "answers and negatives" in chart_note(answers, "loss", "en")
    assert "négatifs" in chart_note(answers, "loss", "fr")


def test_losses_that_are_means_are_not_said_to_be_of_single_steps(write_run: WriteRun):
    steps = read_run(write_run("steps"))
    lines = [{"epoch": e / 2, "step": e * 8, "loss": 3.0 - e, "perplexity": 9.0} for e in (1, 2)]
    means = read_run(write_run("means", lines))
    for language, single, mean in (
        ("en", "Loss of each step", "Mean loss between measurements"),
        ("fr", "Perte à chaque pas", "Perte moyenne entre deux mesures"),
    ):
        assert chart_title(steps, "loss", language) == single
        assert chart_title(means, "loss", language) == mean
    said = alternative(means, "loss", "en")
    assert "over 16 steps: 2.00 at first, 1.00 at the end" in said and "tenth" not in said


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_losses_stand_at_their_steps_where_an_epoch_before_is_missing(
    write_run: WriteRun, damaged: int
):
    def of(epoch: int) -> dict[str, Any]:
        return an_epoch(epoch, step=epoch * 10, losses=[float(epoch)] * 10)

    def last_places(run: Any) -> list[tuple[float, float]]:
        return points(draw(run, "loss", "en", dark=False))[-10:]

    lines = [json.dumps(of(epoch)) for epoch in range(4)]
    lines[damaged] = lines[damaged][:20]
    run = read_run(write_run("damaged", "\n".join(lines).encode()))
    assert "over 40 steps" in alternative(run, "loss", "en")
    if damaged:  # else the drawing begins later
        whole = read_run(write_run("whole", [of(epoch) for epoch in range(4)]))
        assert last_places(run) == last_places(whole)


@pytest.mark.parametrize("step", [None, 0, "x"])
def test_losses_without_a_step_follow_those_before(write_run: WriteRun, step: Any):
    run = read_run(write_run(of=[an_epoch(epoch, step=step) for epoch in range(3)]))
    assert "over 12 steps" in alternative(run, "loss", "en")


def test_of_very_many_epochs_some_have_bars_both_ends_among_them_and_it_is_said(
    write_run: WriteRun,
):
    counts = [[70, 20, 10], *[[20, 60, 20]] * 198, [10, 20, 70]]
    lines = [an_epoch(e, negatives={"buckets": each}) for e, each in enumerate(counts)]
    run = read_run(write_run("many", lines))
    drawn = parts(draw(run, "buckets", "en", dark=False), "rect", "part")[3:]
    assert len(drawn) == 3 * 120
    heights = [float(each.get("height") or 0) for each in drawn[-3:]]
    assert [height / sum(heights) for height in heights] == pytest.approx([0.1, 0.2, 0.7], abs=0.01)
    said = alternative(run, "buckets", "en")
    assert "Last: easy 10%, medium 20%, difficult 70%." in said
    for text in (said, some_bars(run, "buckets", "en")):
        assert "Of 200 epochs, 120 at even steps have a bar." in text
    assert some_bars(read_run(write_run("few")), "buckets", "en") == ""


def test_difficulties_have_names_where_there_are_three():
    assert [bucket_name(b, 3, "en") for b in range(3)] == ["easy", "medium", "difficult"]
    assert bucket_name(1, 4, "en") == "difficulty 2 of 4"
    assert bucket_name(0, 1, "fr") == "toute difficulté"

"""The pages about counting: their figures are claims, and their table is the benchmark's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatecalc import check
from gatecalc.counts.layouts import framework, frameworks
from tests.test_check import run

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"
PACK = (DOCS / "parameters.toml").read_text(encoding="utf-8")


def test_every_figure_of_the_page_holds_and_none_is_unaccounted_for() -> None:
    """By its pack, and by the count of its numerals."""
    assert run("check", str(DOCS)).exit_code == 0
    assert run("coverage", str(DOCS / "parameters.md"), str(DOCS / "parameters.toml")).exit_code == 0


FIGURES = [match.start(1) for match in re.finditer(r'^states = "([\d,.%]+)"', PACK, re.MULTILINE)]


@pytest.mark.parametrize("start", FIGURES)
def test_a_figure_changed_in_its_last_digit_is_caught(start: int, tmp_path: Path) -> None:
    """One at a time."""
    end = PACK.index('"', start)
    figure = PACK[start:end]
    last = max(place for place, character in enumerate(figure) if character.isdigit())
    changed = figure[:last] + str((int(figure[last]) + 1) % 10) + figure[last + 1 :]
    pack = tmp_path / "changed.toml"
    pack.write_text(PACK[:start] + changed + PACK[end:], encoding="utf-8")
    assert len(check(str(pack)).failures()) == 1


def test_the_page_of_counters_shows_the_newest_result() -> None:
    """Row by row."""
    newest = max(RESULTS.glob("counters-*.md")).read_text(encoding="utf-8").splitlines()
    rows = [line for line in (DOCS / "counters.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) > 8
    assert [row for row in rows if row not in newest] == []


def test_the_page_of_counters_repeats_what_the_newest_result_says_of_flops_and_of_one_bias() -> None:
    """In figures: how far halved FLOPs are from the truth, and how many layers nn-calc takes, and has right."""
    newest = max(RESULTS.glob("counters-*.md")).read_text(encoding="utf-8")
    page = (DOCS / "counters.md").read_text(encoding="utf-8").replace("\n", " ")
    ranges = re.findall(r"halved, they are (\S+) to (\S+) of the truth, and the truth in 0", newest)
    assert len(ranges) == 2
    assert all(f"between {low} and {high} of the truth" in page for low, high in ranges)
    (taken, right), *_ = re.findall(r"It takes (\d+) of the layers, and by that convention (\d+)", newest)
    assert taken == right
    assert f"of the {taken} layers that it takes, all are right" in page


def test_the_page_names_the_frameworks_of_its_bias_rules() -> None:
    """What it says of a framework's LSTM is what the layouts say."""
    rules = {}
    for name in set(frameworks().values()):
        rules[name] = next((row.bias for row in framework(name).rows if row.cell == "lstm"), None)
    assert {rules[name] for name in ("pytorch", "cudnn", "onnx", "mxnet")} == {"double"}
    assert {rules[name] for name in ("keras", "flax-linen", "haiku", "tf1", "onednn")} == {"single"}


def test_the_page_of_layouts_lists_every_framework_as_its_data_have_it() -> None:
    """Versions, cells, and how many rows are known how."""
    text = (DOCS / "layouts.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert set(listed) == set(frameworks().values())
    for name, line in listed.items():
        rows = framework(name).rows
        assert framework(name).versions in line
        assert {part for part in line.split("`") if part in {row.cell for row in rows}} == {row.cell for row in rows}
        for how in ("run", "run-shapes", "source"):
            number = sum(row.verified == how for row in rows)
            assert (f" {number} {how}" in line) == (number > 0)


def test_what_the_page_of_layouts_says_of_names_and_exceptions_is_in_the_data() -> None:
    """The GRUs, the missing biases, and the constants that are added."""
    grus = {
        name: [row.cell for row in framework(name).rows if row.cell.startswith("gru")]
        for name in set(frameworks().values())
    }
    for name in ("pytorch", "cudnn", "mxnet", "paddle", "flax-linen", "flax-nnx", "equinox"):
        assert set(grus[name]) == {"gru_reset_after"}
    assert (set(grus["keras"]), set(grus["onnx"])) == ({"gru_reset_after", "gru_cho"}, {"gru_reset_after", "gru_cho"})
    assert {name for name, cells in grus.items() if "gru" in cells} == {"haiku", "dynet"}
    absent = {(name, row.absent) for name in grus for row in framework(name).rows if row.absent}
    assert absent == {("flax-nnx", ("b_u",)), ("cudnn", ("b_u",)), ("cudnn", ("b_n",))}
    added = {name for name in grus for row in framework(name).rows if row.added and row.names[0] != "forgetBias"}
    assert {"tf1", "haiku", "dynet"} <= added
    assert not added & {"keras", "mxnet"}

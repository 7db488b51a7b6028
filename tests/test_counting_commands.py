"""The counting commands: fixed keys of their JSON, exit statuses, and one line for what is wrong."""

from __future__ import annotations

import json

import pytest

from gatecalc.cli import main
from gatecalc.counts.architecture import BIAS_RULES, BYTES, NOTES
from gatecalc.counts.layouts import framework


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    """Run one command line; return the status, the output and the errors."""
    with pytest.raises(SystemExit) as end:
        main(line.split())
    captured = capsys.readouterr()
    return int(end.value.code or 0), captured.out, captured.err


def printed(capsys: pytest.CaptureFixture[str], line: str) -> dict:
    """Return the JSON that a command prints."""
    status, out, err = run(capsys, line + " --format json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_count_prints_its_fixed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Figures, formulas, storage by scheme, and shapes."""
    found = printed(capsys, "count lstm --input 3 --hidden 5")
    assert found["parameters"] == 180
    assert found["parameters_formula"] == "4*H*(D + H + 1)"
    assert found["macs"] == 160
    assert found["macs_formula"] == "4*H*(D + H)"
    assert (found["flops"], found["flops_formula"]) == (320, "8*H*(D + H)")
    assert found["stored"]["written"] == 30
    assert found["shapes"]["W_f"] == [5, 3]
    assert found["totals"] is None


def test_count_without_widths_prints_formulas_and_nulls(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key is there."""
    found = printed(capsys, "count lstm")
    assert found["parameters"] is None
    assert found["parameters_formula"] == "4*H*(D + H + 1)"
    assert found.keys() == printed(capsys, "count lstm --input 3 --hidden 5").keys()


def test_count_gru_says_in_one_line_which_cell_is_pytorchs(capsys: pytest.CaptureFixture[str]) -> None:
    """Where a reader of PyTorch's documentation would look for it."""
    _, out, _ = run(capsys, "count gru --input 3 --hidden 5")
    assert [line for line in out.splitlines() if "PyTorch's GRU is gru_reset_after" in line]
    meant = {name for row in framework("pytorch").rows for name in row.other_meaning}
    assert set(NOTES) == meant


def test_a_batch_of_the_documents_size_takes_its_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """N = 4, T = 6 and H = 5 in float32: 480 bytes for the plain cell, 2880 for the LSTM's six vectors."""
    for name, size in (("rnn", 480), ("lstm", 2880)):
        found = printed(capsys, f"count {name} --input 3 --hidden 5 --steps 6 --batch 4")
        assert found["totals"]["stored_bytes"]["written"] == size


def test_layout_prints_its_fixed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Gates with their rows, tensors with their shapes, and the number of parameters."""
    found = printed(capsys, "layout lstm --framework pytorch --input 3 --hidden 5")
    gate = found["gates"][1]
    assert (gate["gate"], gate["first_row"], gate["last_row"]) == ("f", 5, 9)
    assert found["tensors"]["weight_ih_l0"] == [20, 3]
    assert found["parameters"] == 200


def test_layout_gru_is_refused_with_the_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    """Two lines: what is wrong, and the command that is right."""
    status, out, err = run(capsys, "layout gru --framework pytorch --input 3 --hidden 5")
    assert (status, out) == (2, "")
    assert err == (
        "layout: PyTorch's GRU is gru_reset_after, not gru\nhelp: gatecalc layout gru_reset_after --framework pytorch\n"
    )


def test_fair_prints_its_fixed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Exact, or the two around it."""
    found = printed(capsys, "fair lstm:5 gru --input 3")
    assert (found["target"], found["equation"], found["exact"], found["width"]) == (180, "3*H*(H + 4) = 180", True, 6)
    assert (found["below"], found["above"], found["root"]) == (None, None, 6)
    found = printed(capsys, "fair lstm:5 rnn --input 3")
    assert (found["exact"], found["width"]) == (False, None)
    assert found["below"] == {"width": 11, "value": 165}
    assert found["above"] == {"width": 12, "value": 192}


def test_a_fair_width_shows_the_equation_its_discriminant_and_its_root(capsys: pytest.CaptureFixture[str]) -> None:
    """So that a class can follow."""
    _, out, _ = run(capsys, "fair lstm:5 gru --input 3")
    for part in ("3*H*(H + 4) = 180", "H**2 + 4*H - 60 = 0, discriminant 256", "H = 6"):
        assert part in out


@pytest.mark.parametrize(
    ("budget", "target"),
    [("24M", 24_000_000), ("1.5k", 1_500), ("180", 180), ("2_000", 2_000), ("1e6", 10**6), ("2.5e3k", 2_500_000)],
)
def test_a_budget_may_have_a_suffix(capsys: pytest.CaptureFixture[str], budget: str, target: int) -> None:
    """Whole numbers, whatever the notation."""
    assert printed(capsys, f"fair --budget {budget} lstm --input 3")["target"] == target


@pytest.mark.parametrize(
    ("budget", "bytes"),
    [
        ("24MB", 24_000_000),
        ("1.5kB", 1_500),
        ("1.5KiB", 1_536),
        ("16MiB", 2**24),
        ("1GiB", 2**30),
        ("2_000bytes", 2_000),
    ],
)
def test_a_budget_may_be_in_bytes(capsys: pytest.CaptureFixture[str], budget: str, bytes: int) -> None:
    """Decimal and binary, of float32 unless it is said."""
    found = printed(capsys, f"fair --budget {budget} lstm --input 3")
    assert (found["target"], found["dtype"]) == (bytes, "float32")
    _, out, _ = run(capsys, f"fair --budget {budget} lstm --input 3 --dtype float16")
    assert out.startswith(f"budget: {bytes:,} bytes of parameters in float16, bias rule 'single'")


def test_both_bias_rules_are_printed_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Each beside what is counted by it."""
    _, out, _ = run(capsys, "fair lstm:5 gru --input 3 --reference-bias double")
    assert out.splitlines()[:2] == [
        "lstm:5: 4*H*(D + H + 2) = 200 parameters, bias rule 'double'",
        "gru: 3*H*(H + 4) = 200, bias rule 'single'",
    ]
    _, out, _ = run(capsys, "fair lstm gru --input 3 --width 1..60 --reference-bias double")
    assert "bias rule 'double' for lstm and 'single' for the rest" in out


def test_bytes_and_flops_are_printed_with_their_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """A type's bytes of the parameters, and twice the MACs."""
    _, out, _ = run(capsys, "count lstm --input 3 --hidden 5 --dtype float16")
    rows = [line.split() for line in out.splitlines()]
    assert ["bytes,", "float16", "360"] in rows
    assert ["FLOPs,", "2", "x", "MACs", "320", "8*H*(D", "+", "H)"] in rows


def test_every_cell_is_listed_at_its_fair_width(capsys: pytest.CaptureFixture[str]) -> None:
    """With what else then differs."""
    cells = printed(capsys, "fair lstm:5 --all --input 3")["cells"]
    assert {row["cell"]: row["width"] for row in cells}["gru"] == 6
    status, out, _ = run(capsys, "fair lstm:5 --all --input 3")
    assert (status, "exact" in out) == (0, True)


def test_a_sweep_lists_the_exact_matches(capsys: pytest.CaptureFixture[str]) -> None:
    """Reference width, width and value."""
    found = printed(capsys, "fair lstm gru --input 3 --width 1..512")["matches"]
    assert found[0] == {"reference_width": 5, "width": 6, "value": 180}


BAD = [
    ("count lstm --input 0 --hidden 5", "--input: 0 is not a positive whole number"),
    ("count lstm --input 3 --hidden -5", "--hidden: '-5' is not a positive whole number"),
    ("count lstm --input 3.5 --hidden 5", "--input: '3.5' is not a positive whole number"),
    ("count lstm --input three --hidden 5", "--input: 'three' is not a positive whole number"),
    ("count lstm --input 3 --hidden 5 --projection 5", "projection: 5 is not narrower than the hidden width 5"),
    ("count gru --input 3 --hidden 5 --projection 2", "projection: gru cannot be projected"),
    ("count lstm --input 3 --hidden 5 --bias triple", "bias: unknown rule 'triple'"),
    ("count lstm --input 3 --hidden 5 --set H2=x", "--set: 'H2=x' is not NAME=WIDTH"),
    ("count lstm --input 3 --hidden 5 --set L=3", "width: 'L' is no width of lstm itself"),
    ("count nothing.cell --input 3 --hidden 5", "nothing.cell: file: cannot read it"),
    ("layout lstm --framework caffe9 --input 3 --hidden 5", "framework: unknown 'caffe9'"),
    ("layout lstm --framework pytorch --input 3", "missing option"),
    ("fair lstm:5 --input 3", "fair: 1 argument is given, and REFERENCE:WIDTH and CELL needed"),
    ("fair lstm gru --input 3", "reference: 'lstm' has no width"),
    ("fair lstm:0 gru --input 3", "the reference's width: 0 is not a positive whole number"),
    ("fair --budget 3 gru --input 3", "budget: 3 is below the smallest such gru: 15 parameters at H = 1"),
    ("fair --budget 1.5 gru --input 3", "--budget: '1.5' is not a whole number"),
    ("fair --budget lots gru --input 3", "--budget: 'lots' is not a number"),
    ("fair --budget 1e-6 gru --input 3", "--budget: '1e-6' is not a number"),
    ("fair --budget . gru --input 3", "--budget: '.' is not a number"),
    ("fair lstm:5 gru:6 --input 3", "fair: 'gru:6' has a width, and that of CELL is what is looked for"),
    ("fair lstm:5 gru --input 3 --projection 2", "projection: there is none in lstm or gru, and P = 2 is given"),
    ("fair --budget 24mb gru --input 3", "--budget: '24mb' is not a number"),
    ("fair --budget 1.0001kB gru --input 3", "--budget: '1.0001kB' is not a whole number"),
    ("fair --budget 24M gru --input 3 --dtype float16", "--dtype: it is that of a budget in bytes"),
    ("fair lstm:5 gru --input 3 --dtype float16", "--dtype: it is that of a budget in bytes"),
    ("fair --budget 24MB gru --input 3 --match macs", "budget: MACs are no bytes"),
    (
        "fair --budget 24MB gru --input 3 --reference-bias double",
        "--reference-bias: with a budget there is no reference",
    ),
    ("fair --budget -5 gru --input 3", "--budget: '-5' is not a number"),
    ("fair lstm gru --input 3 --width 9..1", "--width: '9..1' is not a range"),
    ("fair lstm:5 gru --input 3 --match flops", "match: unknown 'flops'"),
    ("fair lstm:5 gru --input 3 --match stored --scheme all", "storage: unknown scheme 'all'"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_one_error_and_status_two(capsys: pytest.CaptureFixture[str], line: str, message: str) -> None:
    """What was found, and the likely remedy; no traceback."""
    status, out, err = run(capsys, line)
    assert (status, out) == (2, "")
    assert message in err
    assert "help: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["count", "layout", "fair", "convert", "audit"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """That begins with the command itself."""
    status, out, _ = run(capsys, f"{name} --help")
    assert status == 0
    assert f"gatecalc {name} " in out


def test_help_names_every_bias_rule_and_number_type(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables live elsewhere, since a light command does not load them."""
    _, out, _ = run(capsys, "count --help")
    for name in (*BIAS_RULES, *BYTES):
        assert name in out


def test_a_cell_of_ones_own_is_counted_from_its_file(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    """The same knobs."""
    path = tmp_path / "own.cell"
    path.write_text("h = tanh(W @ x + U @ h_prev + V @ (h_prev * h_prev) + b)\n")
    found = printed(capsys, f"count {path} --input 3 --hidden 5 --bias double --layers 2 --bidirectional")
    assert found["parameters"] == 2 * 5 * 16 + 2 * 5 * 23
    assert printed(capsys, f"fair {path}:5 gru --input 3")["target"] == 70

"""Which numerals of a document are accounted for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gatecalc.checking.claims import read_pack
from gatecalc.checking.coverage import Coverage, coverage
from gatecalc.checking.documents import read_document, runs
from tests.test_check import run


def cover(tmp_path: Path, document: str, pack: str) -> Coverage:
    (tmp_path / "document.txt").write_text(document, encoding="utf-8")
    (tmp_path / "pack.toml").write_text('document = "A test"\n' + pack, encoding="utf-8")
    return coverage(read_document(str(tmp_path / "document.txt")), [read_pack(str(tmp_path / "pack.toml"))])


def left(found: Coverage) -> list[str]:
    return [numeral.text for numeral in found.unaccounted]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h_2 and float32 hold no numeral, 4H does", ["4"]),
        ("86,272 weights, 20{,}480 and 1,2", ["86,272", "20{,}480", "1", "2"]),
        ("0.9526, .25 and 3.887e-03", ["0.9526", ".25", "3.887e-03"]),
        ("110.95260.8808", ["110.95260.8808"]),
        ("256=1,0244", ["256", "1,0244"]),
        ("%.3f and %2d", ["3", "2"]),
        ("x1=1, t=0.5f", ["1", "0.5"]),
        ("section 16.10.2", ["16.10.2"]),
    ],
)
def test_a_numeral_is_a_run_of_digits_outside_a_name(text: str, expected: list[str]) -> None:
    """With its separators, its point and its exponent."""
    assert [run_ for run_, _ in runs(text)] == expected


def test_claims_givens_and_labels_account_for_numerals(tmp_path: Path) -> None:
    """Each once, on its own line."""
    found = cover(
        tmp_path,
        "Figure 3. With D=3 and H=5\nthere are 180 numbers, 181 with one more, and 7.\n",
        """
[[claim]]
line = 2
states = "180"
of = "180"
[[numeral]]
is = "given"
text = ["D=#", "H=#"]
why = "widths"
[[numeral]]
is = "label"
text = "Figure #."
why = "a figure"
""",
    )
    assert (found.numerals, found.checked, found.given, found.label) == (6, 1, 2, 1)
    assert left(found) == ["181", "7"]
    assert (found.unaccounted[0].line, found.unaccounted[0].column) == (2, 24)


def test_a_claim_accounts_for_a_numeral_as_often_as_it_says(tmp_path: Path) -> None:
    """Twice printed is twice accounted for only by `times`."""
    claim = '[[claim]]\nline = 1\nstates = "0.5"\nof = "1/2"\n'
    assert left(cover(tmp_path, "0.5 and 0.5", claim)) == ["0.5"]
    assert left(cover(tmp_path, "0.5 and 0.5", claim + "times = 2\n")) == []
    assert left(cover(tmp_path, "0.5 and 0.5", "times = 2\n" + claim)) == []


def test_a_claim_on_another_line_accounts_for_nothing(tmp_path: Path) -> None:
    """The line counts."""
    assert left(cover(tmp_path, "a\n0.5", '[[claim]]\nline = 1\nstates = "0.5"\nof = "1/2"\n')) == ["0.5"]


def test_formulas_and_printed_operands_count_as_checked(tmp_path: Path) -> None:
    """The numerals of `formula` and of `printed`."""
    pack = """
[[claim]]
line = 1
formula = "3*H*(H + 4)"
of = "3 * symbol('H')**2 + 12 * symbol('H')"
[[claim]]
line = 2
states = "0.0174"
of = "sigmoid(-4) * tanh(2)"
printed = "0.0180 * 0.9640"
"""
    assert left(cover(tmp_path, "3H(H+4)\n0.0180 x 0.9640 = 0.0174", pack)) == []


def test_glued_digits_are_accounted_for_when_the_pieces_spell_them(tmp_path: Path) -> None:
    """A table that lost its columns; what is left over is not accounted for."""
    pack = """
[[table]]
line = 1
of = "[[1, 1, 0.9526, 0.8808]]"
columns = ["step", "x", "f", "i"]
rows = [["1", "1", "0.9526", "0.8808"]]
"""
    assert left(cover(tmp_path, "110.95260.8808", pack)) == []
    assert left(cover(tmp_path, "110.95260.88081", pack)) == ["110.95260.88081"]
    assert left(cover(tmp_path, "110.95260.8809", pack)) == ["110.95260.8809"]


def test_a_pattern_covers_only_the_numerals_in_its_own_words(tmp_path: Path) -> None:
    """# is one numeral, and lines limit where it is looked for."""
    pack = (
        '[[numeral]]\nis = "label"\ntext = "step # of #"\nlines = "2-3"\nwhy = "x"\n[[claim]]\nstates = "1"\nof = "1"\n'
    )
    assert left(cover(tmp_path, "step 1 of 4, 5\nstep 1 of 4, 5", pack)) == ["1", "4", "5", "5"]


def test_another_text_than_the_pack_speaks_of_is_warned_about(tmp_path: Path) -> None:
    """The line numbers may be wrong."""
    found = cover(tmp_path, "x", f'sha256 = "{"0" * 64}"\n[[claim]]\nline = 9\nstates = "1"\nof = "1"\n')
    assert ["another text" in found.warnings[0], "beyond the document's 1 lines" in found.warnings[1]] == [True, True]


def test_the_command_fails_when_a_numeral_is_left(tmp_path: Path) -> None:
    """Status 1, the place of each, and all keys in JSON."""
    document, pack = tmp_path / "d.txt", tmp_path / "p.toml"
    document.write_text("width 5\n", encoding="utf-8")
    pack.write_text('document = "d"\n[[claim]]\nstates = "1"\nof = "1"\n', encoding="utf-8")
    result = run("coverage", str(document), str(pack))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{document}:1:7: unaccounted: 5",
        "1 numerals: 0 checked, 0 given, 0 labels, 1 unaccounted for",
    ]
    data = json.loads(run("coverage", str(document), str(pack), "--format", "json").stdout)
    assert {key: data[key] for key in ("numerals", "checked", "given", "label", "unaccounted")} == {
        "numerals": 1,
        "checked": 0,
        "given": 0,
        "label": 0,
        "unaccounted": [{"line": 1, "column": 7, "text": "5"}],
    }


def test_a_document_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    """Missing or binary: status 2."""
    (tmp_path / "b.txt").write_bytes(b"\x00\x01")
    for path in (tmp_path / "none.txt", tmp_path / "b.txt", tmp_path):
        result = run("coverage", str(path), "worked_examples/four-gates.toml")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"{path}: file:")
        assert re.search(r"^help: (give|save) ", result.stderr, re.MULTILINE)


def test_a_glued_run_has_the_first_choice_of_what_declared_numerals_could_do_without(tmp_path: Path) -> None:
    """A declared 0.5 does not use up the claim's, which the run needs."""
    document = "w=0.5w = 0.5, and then 0.520=0.25"
    claim = '[[claim]]\nline = 1\nstates = "0.25"\nof = "0.5**2"\nprinted = "0.5**2 * 20 / 20"\n'
    declared = '[[numeral]]\nis = "given"\ntext = "w=#w = #"\nwhy = "the weight"\n'
    found = cover(tmp_path, document, claim + declared)
    assert (left(found), found.given) == ([], 2)


def test_a_figure_that_is_not_on_its_line_is_a_warning(tmp_path: Path) -> None:
    """The pack says where it stands."""
    claim = '[[claim]]\nline = 1\nstates = "0.25"\nof = "0.5**2"\n'
    assert cover(tmp_path, "0.25", claim).warnings == []
    assert cover(tmp_path, "0.35", claim).warnings[0].endswith(":2: '0.25' does not stand on line 1")


def test_a_glued_run_is_spelled_in_the_order_of_the_claims(tmp_path: Path) -> None:
    """0.9526 and 1 do not spell 10.9526, and what is left over is unaccounted for."""
    one, gate = (f'[[claim]]\nline = 1\nstates = "{text}"\nof = "{text}"\n' for text in ("1", "0.9526"))
    assert left(cover(tmp_path, "10.9526", one + gate)) == []
    assert left(cover(tmp_path, "10.9526", gate + one)) == ["10.9526"]
    assert left(cover(tmp_path, "10.95262", one + gate)) == ["10.95262"]


def test_of_several_packs_one_that_is_broken_is_named_and_the_rest_accounts(tmp_path: Path) -> None:
    """With status 2, also where the rest accounts for all; where none can be read, there is nothing to say."""
    document, good, broken = tmp_path / "text.md", tmp_path / "good.toml", tmp_path / "broken.toml"
    document.write_text("It is 2.\n", encoding="utf-8")
    good.write_text('document = "d"\n[[claim]]\nline = 1\nstates = "2"\nof = "1 + 1"\n', encoding="utf-8")
    broken.write_text("document\n", encoding="utf-8")
    for packs in ((good, broken), (broken, good)):
        result = run("coverage", str(document), *map(str, packs))
        assert (result.exit_code, result.stderr[: len(str(broken))]) == (2, str(broken))
        assert result.stdout == "1 numerals: 1 checked, 0 given, 0 labels, 0 unaccounted for\n"
    data = json.loads(run("coverage", str(document), str(good), str(broken), "--format", "json").stdout)
    assert (data["checked"], [error["path"] for error in data["errors"]]) == (1, [str(broken)])
    assert json.loads(run("coverage", str(document), str(good), "--format", "json").stdout)["errors"] == []
    assert (run("coverage", str(document), str(broken)).stdout, run("coverage", str(document), "no").exit_code) == (
        "",
        2,
    )

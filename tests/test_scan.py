"""The arithmetic that documents state: what is read, what is left, and that a right number is never called wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatecalc import GatecalcError, scan
from gatecalc.checking.documents import read_document
from gatecalc.checking.passages import KINDS
from gatecalc.checking.scan import Finding, scan_text
from tests.test_check import run

SUMS = [
    tuple(line.split("\t", 1))
    for line in (Path(__file__).parent / "data" / "sums.tsv").read_text(encoding="utf-8").splitlines()
    if line[0] != "#"
]
ANNOTATIONS = Path(os.environ.get("GATECALC_ANNOTATIONS", "calculator_annotations.txt"))  # of GSM8K's test set
HOLDS = {"exact", "rounded", "chained"}


def found(text: str, path: str = "a.md") -> list[Finding]:
    return list(scan_text(text, path))


def verdicts(text: str, path: str = "a.md") -> list[str]:
    return [finding.verdict for finding in found(text, path)]


@pytest.mark.parametrize(("kind", "text"), SUMS, ids=[f"{kind} {text[:40]}" for kind, text in SUMS])
@pytest.mark.parametrize("sentence", ["From which {} follows.", "{}", "- {}\n- more", "It is {}, as said."])
def test_a_printed_sum_is_what_it_is(kind: str, text: str, sentence: str) -> None:
    """In a sentence, on a line of its own, in a list."""
    got = verdicts(sentence.format(text))
    if kind == "right":
        assert got
        assert set(got) <= HOLDS
    elif kind == "wrong":
        assert "wrong" in got
    elif kind == "slip":
        assert got
        assert {"truncated", "wrong"} & set(got)
    elif kind == "trap":
        assert "wrong" not in got


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("0.0180 * 0.9640 = 0.0174", "rounded"),
        ("7! = 5040", "exact"),
        ("2^{10} = 1024", "exact"),
        ("2<sup>10</sup> = 1,024", "exact"),
        ("2¹⁰ = 1025", "wrong"),
        ("$\\frac{2}{3} \\approx .66667$", "rounded"),
        ("8/3*4096=10922", "truncated"),
        ("-0.654 * 4 = -2.615", "chained"),
        ("0.8 * 0.7 = 0.57", "wrong"),
        ("12 × 12 = 144", "exact"),
        ("12 &times; 12 = 145", "wrong"),
        ("sqrt(2) = 1.414", "rounded"),
        ("tanh(2) = 0.9640", "rounded"),
        ("tanh(2) = 0.9641", "wrong"),
        ("400/989 = 40%", "rounded"),
        ("50% * 80 = 40", "exact"),
        ("0.1 + 0.2 = 0.30000000000000004", "undecided"),
        ("2.5 million / 5 = 500 thousand", "exact"),
        ("1 000 000 / 4 = 250 000", "exact"),
        ("3 * 1,000 = ~3000", "exact"),
        ("10**6 * 2**10 = 1024000000", "exact"),
        ("sin(30) = 0.5", "rounded"),
        ("log(100) = 2", "rounded"),
        ("1/4 + 1/4 = 1/2", "exact"),
        ("- 3 + 4 = 7", "exact"),
        ("**2 + 2 = 4**", "exact"),
        ("| 2 + 2 = 5 |", "wrong"),
        ("1. 3 + 4 = 7", "exact"),
        ("2) 3 + 4 = 7", "exact"),
        ("(3 + 4 = 7)", "exact"),
        ("3 + 4 = 7.", "exact"),
        ("6! = 720!", "exact"),
    ],
)
def test_a_statement_has_its_verdict(text: str, verdict: str) -> None:
    """In each of the syntaxes."""
    assert verdicts(text) == [verdict]


@pytest.mark.parametrize(
    "text",
    [
        "x = 3", "epoch = 50, 000/100", "h_2 = 0.5", "a 2x = 3 + 1", "version 1.2.3 = 4", "n - 1 = 20 - 1",
        "f(2) = 3", "<i>f</i>(5) = 0.25", "<i>Q</i>1 = 70 - 64.5", "3 = 4", "23 + 22 + ... + 1 = 276", "1 + 1 =? 3",
        "0.1 + 0.2 == 0.4", "x += 1 - 2 = 4", "3 + 2i = 5", "[3 + 4] = 8", "2 + 3 = 4x", "5 x 3 = a", "1 + 2 = 3 + x",
        "3 * 4 \\neq 13", "10 - 3 != 8", "2 * 3 = 7 * x", "https://a.b/?c=3&2+2=5", '<img alt="2 + 2 = 5">',
        "<math><mn>7</mn><mtext>+ 1 = 6</mtext> 2 + 2 = 5</math>",
        "![2 + 2 = 5](a.png)", "```python\n2 + 2 = 5\n```", ">>> 2 + 2 = 5", "|x - 2| = 8", "[a](b?2+2=5)",
        "12,5 + 1 = x", "0x10 + 1 = 18", "1.2.3 + 1 = 5", "3 6/5 = 4 2/5", "0.1 = (0.4)*P", "7 // 2 = 9",
    ],
)  # fmt: skip
def test_what_is_no_statement_is_not_reported(text: str) -> None:
    """An unknown symbol, a definition, code, an address, a mixed number."""
    assert not [finding for finding in found(text) if finding.verdict not in HOLDS]


@pytest.mark.parametrize(
    "text",
    [
        "Imagine a world where 2 + 2 = 5.", "It is a mistake to write 3 * 4 = 13.", "2 + 2 = 5 is not true.",
        "15 + 20 = 8 (mod 27)", "the remainder: 7 + 8 = 1 modulo 14", "In binary, 101 + 11 = 1000.", "1 + 1 = 1",
        "5 ^ 3 = 6", "-2^2 = 4", "negative 1 + 15 = 14", "6/2*3 = 1", "we get 26.\n86 - 23.13 = 3.73.",
        "10 + 2 =\n5 * 3 = 12", "2 * 500 = 1 km", "3 * 20 = 1 hour", "0.7257(0.7257)(400) = 290.28",
        "(0.56)2 = 0.3136", "1,5 + 1,25 = 3,75", "81 + 40 * 27 = 3267", "43^3 = 21^3 + 22^3 is a fallacy",
        "2-2 = 1/22 = 1/4", "32 + 42 = 52", "a 0.8491×0.952619=0.8491 \\times 0.9526^{19}",
        "50 + 10% = 55", "8k * 4.5e14 = 3.8e18", "6.3e24 / 4.59E+14 = 435 years", "7/2 = 3 remainder 1",
        "pages 10–12 = 3", "9!/2 = {181},{440}", "99 * 99 = 9800",
    ],
)  # fmt: skip
def test_a_doubt_is_never_wrong(text: str) -> None:
    """Each once called wrong in a real document, or might have been."""
    assert "wrong" not in verdicts(text)


def test_a_chain_is_judged_link_by_link() -> None:
    """And a later link may be right from the beginning of the chain."""
    assert verdicts("1/3 = 0.333 = 33.3%") == ["rounded", "exact"]
    assert verdicts("x = 2 * 3 = 6 = 12/2") == ["exact", "exact"]
    assert verdicts("2 * 3 = 6 = 12/3") == ["exact", "wrong"]
    assert verdicts("2/3 * 3 = 0.667 * 3 = 2") == ["chained", "rounded"]


def test_a_finding_says_where_and_what() -> None:
    """Line and column from 1, the statement as printed, the value, and what should stand there."""
    (finding,) = found("# Title\n\nSo $0.5 \\cdot 3 = 1.6$.\n")
    assert finding == Finding("a.md", 3, 5, "0.5 \\cdot 3 = 1.6", "wrong", "1.5", "1.5", "")


def test_what_should_stand_there_is_said_only_where_it_tells_something() -> None:
    """Not 0.000, nor gigabytes of what has no unit; the value is there in any case."""
    assert [(f.verdict, f.should, f.value) for f in found("(0.1 - 0.3)^2 = 0.4")] == [("wrong", None, "0.04")]
    assert [(f.verdict, f.should, f.value) for f in found("5 - 5 = 1")] == [("wrong", "0", "0")]


def test_every_kind_of_document_is_read(tmp_path: Path) -> None:
    """By the end of its name."""
    for suffix in KINDS:
        path = tmp_path / f"a{suffix}"
        if suffix == ".ipynb":
            cells = [
                {"cell_type": "code", "source": ["2 + 2 = 5\n"]},
                {"cell_type": "markdown", "source": ["# A\n", "né 2 + 2 = 5"]},
            ]
            path.write_text(json.dumps({"cells": cells}, indent=1), encoding="utf-8")
        else:
            path.write_text("A text\n\n2 + 2 = 5\n", encoding="utf-8")
        (finding,) = scan(str(path)).statements
        assert finding.verdict == "wrong"
        if suffix == ".ipynb":
            assert path.read_text().split("\n")[finding.line - 1][finding.column - 1 :].startswith("2 + 2 = 5")
        else:
            assert (finding.line, finding.column) == (3, 1)


def test_the_parts_of_a_document_that_are_no_text_are_left() -> None:
    """Comments, verbatim, scripts, attributes, code in a language."""
    assert verdicts("% 2 + 2 = 5\n\\begin{verbatim}\n2 + 2 = 5\n\\end{verbatim}\n2 + 2 = 4", "a.tex") == ["exact"]
    assert verdicts("<script>\n2 + 2 = 5\n</script><p title='2 + 2 = 5'>2 + 2 = 4</p><!-- 1 + 1 = 3 -->", "a.html") == [
        "exact"
    ]
    assert verdicts(".. code-block:: c\n\n   2 + 2 = 5\n\n2 + 2 = 4\n", "a.rst") == ["exact"]
    math = "<math><mtext>1 + 1 = 3</mtext><annotation encoding='application/x-tex'>2 + 2 = 4</annotation></math>"
    assert verdicts(math, "a.html") == ["exact"]
    assert verdicts("```\n2 + 2 = 4\n```\n~~~js\n2 + 2 = 5\n~~~\n") == ["exact"]


def test_the_command_prints_what_does_not_hold(tmp_path: Path) -> None:
    """One line each, then the counts; the status is 1."""
    path = tmp_path / "a.md"
    path.write_text("So 7! = 720, and 2 + 2 = 4, and -ln(0.1) = 2.302.\n", encoding="utf-8")
    result = run("scan", str(path))
    assert result.output == (
        f"{path}:1:4: wrong: 7! = 720; it should be 5040\n"
        f"{path}:1:33: truncated: -ln(0.1) = 2.302; it should be 2.303, from 2.3025850930\n"
        "3 statements in 1 document: 1 exact, 1 truncated, 1 wrong\n"
    )
    assert result.exit_code == 1


def test_a_cut_figure_is_a_note_and_no_failure(tmp_path: Path) -> None:
    """Status 0; an undecided one fails unless it may."""
    path = tmp_path / "a.txt"
    path.write_text("-ln(0.1) = 2.302\n", encoding="utf-8")
    assert run("scan", str(path)).exit_code == 0
    path.write_text("Imagine 2 + 2 = 5.\n", encoding="utf-8")
    assert run("scan", str(path)).exit_code == 1
    assert run("scan", str(path), "--allow-undecided").exit_code == 0


def test_json_has_the_statements_and_the_summary(tmp_path: Path) -> None:
    """Every key always."""
    path = tmp_path / "a.txt"
    path.write_text("7! = 720\n", encoding="utf-8")
    result = json.loads(run("scan", str(path), "--format", "json").stdout)
    assert result["statements"] == [
        {
            "path": str(path),
            "line": 1,
            "column": 1,
            "text": "7! = 720",
            "verdict": "wrong",
            "value": "5040",
            "should": "5040",
            "reason": "",
        }
    ]
    assert result["summary"] == {
        "documents": 1, "statements": 1,
        "exact": 0, "rounded": 0, "chained": 0, "truncated": 0, "wrong": 1, "undecided": 0,
    }  # fmt: skip


def test_an_interrupted_scan_prints_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 130."""
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("7! = 720\n", encoding="utf-8")
    read = read_document

    def interrupted(path: str) -> object:
        if path.endswith("b.md"):
            raise KeyboardInterrupt
        return read(path)

    monkeypatch.setattr("gatecalc.checking.scan.read_document", interrupted)
    result = run("scan", str(tmp_path))
    assert "a.md:1:1: wrong: 7! = 720" in result.stdout
    assert (result.exit_code, result.stderr.strip()) == (130, "interrupted")


def test_standard_input_and_folders_are_read(tmp_path: Path) -> None:
    """Of a folder, what is a document; hidden folders are left."""
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("a.md", "b/c.tex", "b/code.py", ".hidden/d.md"):
        (tmp_path / name).write_text("2 + 2 = 4\n", encoding="utf-8")
    assert [Path(finding.path).name for finding in scan(str(tmp_path)).statements] == ["a.md", "c.tex"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(GatecalcError, match="no documents in this folder"):
        scan(str(tmp_path / "empty"))


def test_one_broken_document_does_not_stop_the_others(tmp_path: Path) -> None:
    """The status is 2, and the rest is scanned."""
    (tmp_path / "a.ipynb").write_text("{", encoding="utf-8")
    (tmp_path / "b.md").write_bytes(b"\xff\xfe")
    (tmp_path / "c.md").write_text("2 + 2 = 4", encoding="utf-8")
    (tmp_path / "d.ipynb").write_text('{"cells": [3]}', encoding="utf-8")
    result = run("scan", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}/a.ipynb:1:2: notebook: it is not JSON" in result.stderr
    assert f"{tmp_path}/b.md:1: file: it is not text in UTF-8" in result.stderr
    assert f"{tmp_path}/d.ipynb: notebook: it has no cells" in result.stderr
    assert result.stdout == "1 statement in 1 document: 1 exact, 3 not read\n"
    assert run("scan", str(tmp_path / "none.md")).exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9 = 1", "1" * 100_000 + " + 1 = 2", "(" * 50_000 + "1" + ")" * 50_000 + " = 1", "1e999999999 + 1 = 2",
        "99999999! = 1", "2^(9^9) = 4", "1+" * 50_000 + "1 = 50001", "\\frac{" * 5000 + " = 1", "= " * 50_000,
        "1 = " * 50_000, "$" * 100_000 + "1+1=2", "<" * 100_000 + "1+1=2", "`" * 100_000, "1 " * 100_000 + "=1",
        "[" * 100_000, "![" * 50_000, "](" * 50_000, "1,000" * 30_000 + "=1", "0.5^0.5^0.5^0.5 = 1",
        "((((1))))=" * 9999,
        "exp(exp(exp(exp(9)))) = 1", "- " * 50_000 + "1=1", "https://" * 20_000, "<a " * 50_000, "1/0 = 1", "0^-1 = 2",
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
@pytest.mark.parametrize("path", ["a.md", "a.html", "a.tex", "a.rst", "a.txt"])
def test_no_text_takes_long_or_is_wrong(text: str, path: str) -> None:
    """What costs too much is undecided or left; a quadratic pattern would not come back from these."""
    assert set(verdicts(text, path)) <= {"exact", "undecided"} | HOLDS


NUMBERS = st.integers(1, 9999).map(str) | st.builds(
    lambda whole, part: f"{whole}.{part}", st.integers(0, 99), st.integers(1, 999).map(lambda n: f"{n:03d}")
)
TIMES = {"plain": "*", "cross": " × ", "latex": r" \times ", "dot": r" \cdot ", "entity": " &times; "}


@st.composite
def equalities(draw: st.DrawFn) -> tuple[str, Fraction, int]:
    """Return the left side of an equality in one of the syntaxes, its value, and how many decimals to print."""
    syntax = draw(st.sampled_from(sorted(TIMES)))
    terms = [(draw(NUMBERS), draw(NUMBERS)) for _ in range(draw(st.integers(1, 3)))]
    value = sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction(0))
    text = " + ".join(f"{a}{TIMES[syntax]}{b}" for a, b in terms)
    if draw(st.booleans()):
        below = draw(NUMBERS)
        value /= Fraction(below)
        text = f"\\frac{{{text}}}{{{below}}}" if syntax in ("latex", "dot") else f"({text}) / {below}"
    return (f"${text}", value, 1) if syntax in ("latex", "dot") else (text, value, 0)


def printed(value: Fraction, decimals: int) -> str:
    scaled = round(value * 10**decimals)
    digits = str(scaled).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits


@given(equalities(), st.integers(0, 8))
@settings(max_examples=300, deadline=None)
def test_a_true_equality_is_never_wrong(equality: tuple[str, Fraction, int], decimals: int) -> None:
    """In any of the syntaxes, to any number of digits."""
    text, value, dollar = equality
    statement = f"So {text} = {printed(value, decimals)}{'$' * dollar} here."
    assert set(verdicts(statement)) <= {"exact", "rounded"}
    assert verdicts(statement)


@given(equalities(), st.integers(0, 8), st.integers(1, 10**6), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_false_equality_never_passes_as_exact_or_rounded(
    equality: tuple[str, Fraction, int], decimals: int, off: int, up: bool
) -> None:
    """Off by any number of its last digits."""
    text, value, dollar = equality
    false = value + Fraction(off if up else -off, 10**decimals)
    statement = f"So {text} = {printed(abs(false), decimals)}{'$' * dollar} here."
    if abs(round(abs(false) * 10**decimals) - value * 10**decimals) > Fraction(1, 2):
        assert not {"exact", "rounded"} & set(verdicts(statement))


@given(st.text(alphabet="0123456789+-*/^(){}[]=.,!%$\\≈×– \nxfracsqrt&;<>`", max_size=80))
@settings(max_examples=500, deadline=None)
def test_no_text_breaks_the_scanner(text: str) -> None:
    """Whatever it is, and every finding is where it says."""
    for path in ("a.md", "a.tex", "a.html"):
        for finding in scan_text(text, path):
            assert text.split("\n")[finding.line - 1][finding.column - 1 :].startswith(finding.text.split("\n")[0])


@pytest.mark.skipif(
    not ANNOTATIONS.is_file(), reason="set GATECALC_ANNOTATIONS to a file of GSM8K's calculator annotations, one a line"
)
def test_none_of_the_calculator_annotations_is_wrong() -> None:
    """All 4,282 are right; with the last digit of each right side changed, none passes."""
    text = ANNOTATIONS.read_text(encoding="utf-8")
    assert set(verdicts(text, "a.txt")) == {"exact"}
    changed = "\n".join(line[:-1] + str((int(line[-1]) + 1) % 10) for line in text.splitlines() if line)
    got = verdicts(changed, "a.txt")
    assert not {"exact", "rounded"} & set(got)
    assert got.count("wrong") > 0.97 * len(text.splitlines())


def test_plain_arithmetic_loads_neither_sympy_nor_numpy(tmp_path: Path) -> None:
    """Nor mpmath, nor flint where all is right."""
    path = tmp_path / "a.md"
    path.write_text("2 + 2 = 4 and 1/3 = 0.33\n", encoding="utf-8")
    code = f"""
import sys
from gatecalc import scan
assert len(scan({str(path)!r}).statements) == 2
sys.exit(", ".join(name for name in ("sympy", "numpy", "mpmath", "flint") if name in sys.modules) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

"""LaTeX, MathML and Unicode: rendered, parsed, and read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import xml.dom.minidom
from functools import cache
from pathlib import Path

import pytest

from gatecalc.calculus.derivation import Derivation, derive
from gatecalc.calculus.jacobian import jacobian
from gatecalc.calculus.notation import LATEX, MATHML, UNICODE, Notation, cell_latex, mathml
from gatecalc.cell import built_in, cell, parse_cell
from gatecalc.elementwise import ELEMENTWISE
from gatecalc.language import parse

ROOT = Path(__file__).parent.parent

RENDER = """
const katex = require("katex");
const formulas = JSON.parse(require("fs").readFileSync(0, "utf8"));
const failed = [];
for (const formula of formulas) {
  try { katex.renderToString(formula, { displayMode: true, throwOnError: true, strict: "error" }); }
  catch (error) { failed.push([formula, String(error)]); }
}
console.log(JSON.stringify(failed));
"""


def rendered(formulas: list[str]) -> list[list[str]]:
    """Return the formulas that KaTeX refuses, and why."""
    folders = [os.environ.get("GATECALC_KATEX", ""), str(ROOT / ".venv" / "katex"), str(ROOT)]
    found = [folder for folder in folders if folder and (Path(folder) / "node_modules" / "katex").is_dir()]
    if not (found and shutil.which("node")):
        pytest.skip("KaTeX is not installed: npm install --prefix .venv/katex katex")
    environment = {**os.environ, "NODE_PATH": str(Path(found[0]) / "node_modules")}
    run = subprocess.run(
        ["node", "-e", RENDER], input=json.dumps(formulas), capture_output=True, text=True, env=environment, check=True
    )
    result: list[list[str]] = json.loads(run.stdout)
    return result


@cache
def every_derivation() -> list[Derivation]:
    """Each state of each built-in cell by each previous state and by a weight, over one step and two."""
    found = []
    for built in built_in():
        states = cell(built).states
        for output in states:
            for by in (*(f"{state}_prev" for state in states), "x", next(iter(cell(built).parameters))):
                found += [derive(built, output, by, "total", steps, check=False) for steps in (1, 2)]
    return found


def every_function() -> list[str]:
    """A cell for each elementwise function."""
    return [f"h = {function}(W @ x + U @ h_prev + b)**2 / (2 + h_prev**2) - h_prev**-1" for function in ELEMENTWISE]


def test_every_latex_is_rendered_by_a_real_engine() -> None:
    """KaTeX, in its strict mode: cells, derivations, their parts, and the steps of an explanation."""
    formulas = [cell_latex(cell(built)) for built in built_in()]
    formulas += [cell_latex(parse_cell(text)) for text in every_function()]
    formulas += [derive(parse_cell(text), "h", "h_prev", check=False).latex for text in every_function()]
    for found in every_derivation():
        formulas += [found.latex, *(part.latex for part in found.where)]
        formulas += [piece for piece in found.markdown(explain=True).split("$")[1::2] if piece.strip()]
    assert rendered(formulas) == []


def test_the_engine_refuses_what_is_no_latex() -> None:
    """So that the test above can fail."""
    assert len(rendered([r"\odotf", r"\frac{1}{", "f_{t}"])) == 2


def test_every_page_is_well_formed_xml() -> None:
    """HTML with MathML in it, by an XML parser that knows no entities."""
    for found in [*every_derivation(), *(derive(parse_cell(text), "h", "x", check=False) for text in every_function())]:
        page = xml.dom.minidom.parseString(found.html(explain=True))
        assert len(page.getElementsByTagName("math")) > len(found.where)
        assert page.documentElement.getAttribute("xmlns") == "http://www.w3.org/1999/xhtml"


ARITY = {"mfrac": 2, "msub": 2, "msup": 2}


def test_mathml_gives_every_element_its_operands() -> None:
    """A fraction and an index have two."""
    for found in every_derivation():
        page = xml.dom.minidom.parseString(found.html())
        for tag, count in ARITY.items():
            for element in page.getElementsByTagName(tag):
                assert len([node for node in element.childNodes if node.nodeType == node.ELEMENT_NODE]) == count


@pytest.mark.parametrize(
    ("formula", "latex", "text"),
    [
        (
            "(1 - z) * h_prev + z * n",
            r"\left(1 - z_{t}\right) \odot h_{t-1} + z_{t} \odot n_{t}",
            "(1 − z) ⊙ h_prev + z ⊙ n",
        ),
        ("diag(f) @ U_f", r"\operatorname{diag}\left(f_{t}\right) \, U_{f}", "diag(f) U_f"),
        ("-c / (1 + n**2)", r"\frac{-c_{t}}{1 + n_{t}^{2}}", "(−c) / (1 + n²)"),
        ("U_n @ (r * h_prev)", r"U_{n} \, \left(r_{t} \odot h_{t-1}\right)", "U_n (r ⊙ h_prev)"),
        ("sigmoid(a)**-0.5", r"\sigma\left(a_{t}\right)^{-0.5}", "σ(a)^(−0.5)"),
        ("sqrt(a + pi)", r"\sqrt{a_{t} + \pi}", "sqrt(a + pi)"),
        ("U_n.T @ delta", r"U_{n}^{\top} \, \delta", "U_nᵀ delta"),
        ("dU_n @ h_prev", r"\mathrm{d} U_{n} \, h_{t-1}", "dU_n h_prev"),
    ],
)
def test_formulas_are_set_as_in_a_textbook(formula: str, latex: str, text: str) -> None:
    """The same tree in two notations."""
    assert Notation(LATEX, {"U_n", "U_f"}).write(parse(formula)) == latex
    assert Notation(UNICODE, {"U_n", "U_f"}).write(parse(formula)) == text


def test_names_have_their_time() -> None:
    """t and t-1 over one step, numbers over several; weights have none."""
    one, several = Notation(LATEX, {"U_f", "b_f"}), Notation(LATEX, {"U_f", "b_f"}, steps=3)
    assert [one.symbol(each) for each in ("h", "h_prev", "U_f", "b_f", "z_a")] == [
        "h_{t}", "h_{t-1}", "U_{f}", "b_{f}", "z_{a, t}",
    ]  # fmt: skip
    assert [several.symbol(each) for each in ("h_3", "h_0", "U_f")] == ["h_{3}", "h_{0}", "U_{f}"]
    assert one.symbol("cand") == r"\mathrm{cand}_{t}"


def test_a_named_part_is_set_as_the_derivative_that_it_is() -> None:
    """J_c_1 is the derivative of c_1 by c_0."""
    found = derive("lstm", "c", "c_prev", "total", 2, check=False)
    assert found.where[0].name == "J_c_1"
    assert r"\operatorname{diag}\left(f_{2}\right) \, \frac{\partial c_{1}}{\partial c_{0}}" in found.latex
    assert found.where[0].latex.startswith(r"\frac{\partial c_{1}}{\partial c_{0}} = ")
    assert "diag(f_2) ∂c_1/∂c_0" in found.unicode()


def test_text_from_a_cell_is_escaped() -> None:
    """A file's name with markup in it is text in the page."""
    found = derive(parse_cell("h = tanh(U @ h_prev)", "<b>&"), "h", "h_prev", check=False)
    assert "<title>d h / d h_prev of &lt;b&gt;&amp;, local path</title>" in found.html()
    assert xml.dom.minidom.parseString(mathml(Notation(MATHML, ()).write(jacobian("rnn", "h", "x").formula)))

"""The house: imports point one way, tables cover themselves, nothing dangerous is called."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gatecalc"
PAGE = PACKAGE.parent / "CONTRIBUTING.md"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.stem[0] != "_" and path.parent.name != "commands"]


def name(path: Path) -> str:
    """Return a module's name as the contributors' page has it: ``cell``, ``numbers.precise``."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def order() -> list[str]:
    """Return the modules as the contributors' page lists them."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## The house") : text.index("## Where to add what")]
    return re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("gatecalc"):
            continue
        base = (node.module or "").removeprefix("gatecalc").removeprefix(".")
        names = [base, *(f"{base}.{alias.name}".removeprefix(".") for alias in node.names)]
        found |= {each for each in names if (PACKAGE / Path(*each.split("."))).with_suffix(".py").is_file() and each}
    return found


def test_the_contributors_page_names_every_module_once() -> None:
    """And no other."""
    assert sorted(order()) == sorted(map(name, MODULES))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_one_way(path: Path) -> None:
    """A module imports only what stands below it in the list of the contributors' page."""
    listed = order()
    below = set(listed[listed.index(name(path)) + 1 :])
    # A cell offers its own derivation and its LaTeX, as methods; the modules above are loaded when these are called.
    allowed = {"cell": {"calculus.derivation", "calculus.notation"}}.get(name(path), set())
    assert imported(path) - allowed <= below


def test_text_from_outside_reaches_no_evaluator() -> None:
    """No eval, exec, sympify, parse_expr, lambdify or pickle in the package."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert called not in ("eval", "exec", "sympify", "parse_expr", "lambdify", "S"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal", "shelve"}, path


def test_every_error_has_a_remedy() -> None:
    """Each GatecalcError of the package is raised with the line that says what to do."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in (
                "GatecalcError",
                "refuse",
            ):
                continue
            given = len(node.args) >= 3 or any(keyword.arg == "help" for keyword in node.keywords)
            assert given, f"{path}:{node.lineno}: {ast.unparse(node)[:120]}"


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of one machine anywhere."""
    root = PACKAGE.parent
    pattern = re.compile("/" + r"(?:work|root|home|tmp|opt)/\w")
    for folder in (PACKAGE, root / "tests", root / "docs", root / "worked_examples", root / "benchmarks"):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".md", ".toml", ".cell"):
                assert not pattern.search(path.read_text(encoding="utf-8")), path

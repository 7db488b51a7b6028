"""The house: imports point one way, tables cover themselves, nothing dangerous is called."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gatecalc"
PAGE = PACKAGE.parent / "CONTRIBUTING.md"


def order() -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## The house") : text.index("## Where to add what")]
    return re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))


def imported(path: Path) -> set[str]:
    """Return the modules of the package that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gatecalc."):
            found.add(node.module.split(".")[1])
        if isinstance(node, ast.ImportFrom) and node.module == "gatecalc":
            found |= {alias.name for alias in node.names if (PACKAGE / f"{alias.name}.py").exists()}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_imports_point_one_way(path: Path) -> None:
    """A module imports only what stands below it in the list of the contributors' page."""
    if path.stem in ("__init__", "__main__"):
        return
    below = order()[order().index(path.stem) + 1 :]
    # A cell offers its own derivation, as a method; the module above is loaded when it is called.
    allowed = {"cell": {"derivation", "notation"}}.get(path.stem, set())
    assert imported(path) - allowed <= set(below)


def test_text_from_outside_reaches_no_evaluator() -> None:
    """No eval, exec, sympify, parse_expr, lambdify or pickle in the package."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                assert name not in ("eval", "exec", "sympify", "parse_expr", "lambdify", "S"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"pickle", "marshal", "shelve"}, path


def test_the_project_speaks_of_itself_alone() -> None:
    """No path of one machine anywhere."""
    root = PACKAGE.parent
    pattern = re.compile("/" + r"(?:work|root|home|tmp|opt)/\w")
    for folder in (PACKAGE, root / "tests", root / "docs", root / "worked_examples", root / "benchmarks"):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".md", ".toml", ".cell"):
                assert not pattern.search(path.read_text(encoding="utf-8")), path

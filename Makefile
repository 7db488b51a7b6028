# make check: install, and check the worked examples.   make test: the same, and run the tests.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: check test oracles lint clean

check: .venv/installed
	$(BIN)/gatecalc check worked_examples

test: .venv/installed-tests check
	$(BIN)/python -m pytest

oracles: .venv/installed-tests
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[oracles]'
	if command -v npm > /dev/null; then npm install --silent --no-fund --no-audit --prefix .venv/katex katex@0.19.1; fi

lint: .venv/installed-lint
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Compiled once here, so that every later start is fast even where Python may not write byte code itself.
.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m compileall -q gatecalc
	touch $@

.venv/installed-tests: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

.venv/installed-lint: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[test,dev]'
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

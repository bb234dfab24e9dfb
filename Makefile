# gridjit's commands. Each works on a fresh machine with Python 3.10+ and make: the first run creates .venv.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test check format view bench gpu-test dist clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

.venv/run: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/test: .venv/run
	$(BIN)/python -m pip install --quiet --editable '.[dev,cu13]'
	touch $@

demo: .venv/run  ## compile a block-wide sum, run it, and reuse it in a second process
	$(BIN)/gridjit demo

test: .venv/test  ## run the tests (no GPU needed)
	$(BIN)/python -m pytest

# Type checkers and import-linter cannot see through an editable package-dir map, so link the folders as one package.
view:
	mkdir -p .view/gridjit
	for file in src/gridjit/*; do ln -sfn "../../$$file" ".view/gridjit/$$(basename $$file)"; done
	for folder in cache compiler runtime; do ln -sfn "../../$$folder" ".view/gridjit/$$folder"; done

check: .venv/test view  ## lint, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=.view $(BIN)/lint-imports

format: .venv/test  ## apply the formatter
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

gpu-test: .venv/test  ## run the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu

dist: .venv/test  ## build the sdist and the wheel
	$(BIN)/python -m build

clean:  ## remove what the commands above made
	rm -rf .venv .view build dist *.egg-info src/*.egg-info

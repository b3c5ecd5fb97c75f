# Every target sets up what it needs in .venv on its own; a second call starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fuzz bench lint docs-check clean

demo: $(STAMP)
	@$(BIN)/sensecheck demo --out demo-run --overwrite

test: $(STAMP)-test
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadgroup

# Many damaged inputs to everything that reads; an hour or more. FUZZ="--only lexicons --mutations 5000" does less.
FUZZ ?= --mutations 100000 --jobs 2
fuzz: $(STAMP)-test
	$(BIN)/python -m tests.fuzz $(FUZZ)

lint: $(STAMP)-test
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/mypy

docs-check: $(STAMP)-test
	$(BIN)/pytest tests/test_docs.py

bench: $(STAMP)-bench
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("sensecheck needs Python 3.11 or later") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(STAMP)-test: $(STAMP) requirements/test.txt
	$(BIN)/pip install --quiet --editable '.[sparql,duckdb,plots]' -r requirements/test.txt
	@touch $@

$(STAMP)-bench: $(STAMP)-test requirements/bench.txt
	$(BIN)/pip install --quiet -r requirements/bench.txt
	@touch $@

clean:
	rm -rf $(VENV) demo-run .pytest_cache .mypy_cache .ruff_cache

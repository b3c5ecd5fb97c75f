# Every target sets up what it needs in .venv on its own; a second call starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-faults hosts test-servers fuzz bench lint docs-check clean

demo: $(STAMP)
	@$(BIN)/sensecheck demo --out demo-run --overwrite

test: $(STAMP)-test
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist loadgroup

# Real runs of the programs whose logs are read. They need some hundred packages, which stay apart from .venv.
HOSTS := .venv-hosts
hosts: $(STAMP)-test $(HOSTS)/.installed
	$(HOSTS)/bin/python -m pytest tests/hosts -p no:cacheprovider

# Real PostgreSQL and MariaDB servers (Debian's postgresql, mariadb-server), which the tests start and end: every hostile
# query, and the predictions of six systems on three engines. Some five minutes; what is not installed is skipped.
test-servers: $(STAMP)-test
	SENSECHECK_TEST_SERVERS=1 $(BIN)/pytest tests/servers -s

# Many damaged inputs to everything that reads; an hour or more. FUZZ="--only lexicons --mutations 5000" does less.
FUZZ ?= --mutations 100000 --jobs 2
fuzz: $(STAMP)-test
	$(BIN)/python -m tests.fuzz $(FUZZ)

# Processes killed and disks filled at random moments, twenty of each kind; an hour. FAULTS="--times 2" does less.
FAULTS ?= --times 20
test-faults: $(STAMP)-test
	$(BIN)/python -m tests.faults $(FAULTS)

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
	$(BIN)/pip install --quiet --editable '.[sparql,duckdb,postgresql,mysql,plots]' -r requirements/test.txt
	@touch $@

# uv is much faster where it can reach the packages; --no-deps: torch and transformers are taken from .venv.
$(HOSTS)/.installed: requirements/hosts.txt
	$(PYTHON) -m venv $(HOSTS)
	$(HOSTS)/bin/pip install --quiet uv
	$(HOSTS)/bin/uv pip install --quiet --python $(HOSTS)/bin/python -r requirements/hosts.txt \
	    || $(HOSTS)/bin/pip install --quiet -r requirements/hosts.txt
	$(HOSTS)/bin/pip install --quiet --no-deps accelerate peft
	@$(HOSTS)/bin/python scripts/beside.py src $(VENV)
	@touch $@

$(STAMP)-bench: $(STAMP)-test requirements/bench.txt
	$(BIN)/pip install --quiet -r requirements/bench.txt
	@touch $@

clean:
	rm -rf $(VENV) $(HOSTS) demo-run .pytest_cache .mypy_cache .ruff_cache

# Needs Python 3.11+ and make, nothing else: the first target that runs builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench docs fuzz clean

demo: $(READY)
	$(BIN)/jetode demo --out demo-out

test: lint
	$(BIN)/pytest -n 2 --dist loadfile --durations 15

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)
	set -e; for script in benchmarks/*.py; do $(BIN)/python $$script; done

COUNT ?= 20000
SEED ?= $(shell date +%s)

fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzz_files.py --count $(COUNT) --seed $(SEED)

docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/mkdocs build --strict

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

clean:
	rm -rf demo-out site build dist

# Needs Python 3.11+ and make, nothing else: the first target that runs builds .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-long test-browser lint bench docs fuzz clean

demo: $(DEMO)
	$(BIN)/jetode warmup --order 3 --no-contest
	$(BIN)/jetode demo --out demo-out

# Kernels are compiled ahead: else both workers would compile each. Tests of a file stay together: it makes its records
# and models once. Two workers fill two processors, so that a fit needs no threads of its own.
PYTEST := JETODE_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadscope --no-loadscope-reorder --durations 40

test: lint
	$(BIN)/jetode warmup
	$(PYTEST) -m "not long and not browser"

test-long: $(READY)
	$(BIN)/jetode warmup
	$(PYTEST) -m "long and not browser"

# alone on the machine, since a page that waits for a processor draws late; make test-browser BROWSER=tests/studio
BROWSER ?= tests
test-browser: $(READY)
	$(BIN)/pytest -n 0 -m browser $(BROWSER)

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
	$(BIN)/python tests/fuzz/run.py --count $(COUNT) --seed $(SEED)

docs: $(READY)
	$(PIP) -e '.[docs]'
	$(BIN)/mkdocs build --strict

# what the demo needs, and, with the test tools, what all the rest needs
$(DEMO): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(READY): $(DEMO)
	$(PIP) -e '.[test]'
	touch $@

clean:
	rm -rf demo-out site build dist

# make demo | test | test-heavy | lint | bench | bench-peers | figures; each does its own set-up in $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard native/*.cpp native/*.hpp native/text/*)

.PHONY: demo test test-heavy lint bench bench-peers figures clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(BIN)/opelda demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "not heavy"

test-heavy: $(VENV)/.installed-dev
	HYPOTHESIS_PROFILE=heavy $(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# DATA=folder with arXiv's abstracts and counts; where it is left out documents are generated, and
# what needs raw text is not run
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/inference.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/transform.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/learning.py --peer 5000 $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/docword.py
	$(if $(DATA),$(BIN)/python benchmarks/ingest.py --data $(DATA))
	$(if $(DATA),$(BIN)/python benchmarks/end_to_end.py --data $(DATA))

# other systems beside opelda, in an environment of their own; FULL=1 needs DATA and about an hour
PEERS := .envs/peers
bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks.peers $(if $(DATA),--data $(DATA)) $(if $(FULL),--full)

figures: $(VENV)/.installed-dev
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/learning_figures.py

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "opelda needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python could not make the virtual environment $(VENV); install its venv package (Debian: python3-venv)." >&2; exit 1; }

.PHONY: compiler
compiler:
	@command -v $${CXX:-c++} >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "opelda needs a C++20 compiler and found none: install g++ or clang++, or set CXX, and run again." >&2; exit 1; }

$(VENV)/.installed: $(VENV)/bin/pip $(SOURCES) | compiler
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/pip $(SOURCES) | compiler
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,plot]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

$(PEERS)/.installed: benchmarks/peers/requirements.txt $(SOURCES) | compiler
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check -e '.[plot]'
	@install="$(PEERS)/bin/pip install --quiet --disable-pip-version-check"; \
	$$install -r benchmarks/peers/requirements.txt || while read -r peer; do \
	  $$install "$$peer" || echo "$$peer could not be installed and is left out." >&2; \
	done < benchmarks/peers/requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) build

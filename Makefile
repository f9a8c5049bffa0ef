# Every target works from a bare checkout: it creates .venv and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
# Threads of BLAS do not help with many small matrices, and they fight with the test processes. Bytecode is kept
# even where the environment says no: hundreds of processes are started, and each would compile all modules.
ENVIRONMENT = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST = $(ENVIRONMENT) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: help demo test faults lint types compile ready docs check clean

help:
	@echo "make demo   run the main job on embedded data"
	@echo "make check  lint, check types and run the quick tests, in under two minutes"
	@echo "make test   lint, check types, build the documentation and run all tests"
	@echo "make faults what happens on a full disk, killed, out of memory, in a loop of 500 fits"
	@echo "make docs   build the documentation into site/"

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev,docs]"
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/cs3vm demo --out demo.png

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

# What is compiled once is compiled before the tests: their processes would wait for it.
compile: $(VENV)/.installed
	$(BIN)/python -m cs3vm.engine >/dev/null

ready:
	$(MAKE) --jobs 3 lint types compile

docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(ENVIRONMENT) $(BIN)/mkdocs build --strict

check: ready
	$(PYTEST) -m "not slow"

faults: $(VENV)/.installed
	CS3VM_FAULTS=1 $(PYTEST) tests/faults tests/engine/test_warm_up.py

# The documentation runs its examples one by one.
test: ready
	$(PYTEST) --cov=cs3vm --cov-report=term --durations=10
	$(MAKE) docs

clean:
	rm -rf $(VENV) demo.png site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

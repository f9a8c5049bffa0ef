# Every target works from a bare checkout: it creates .venv and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: help demo test lint types check clean

help:
	@echo "make demo   run the main job on embedded data"
	@echo "make test   lint, check types and run all tests"

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/cs3vm demo --out demo.png

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed
	$(BIN)/mypy

test: lint types
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
		--cov=cs3vm --cov-report=term --durations=10

clean:
	rm -rf $(VENV) demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

# Everything a fresh Debian 12 needs is installed by `make install`, which the other targets call first.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2

.PHONY: install demo test check format bench clean

install: .venv/.installed

.venv/.installed: pyproject.toml tools/install-host-packages
	tools/install-host-packages
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python tools/generate_schema.py --descriptions
	touch $@

demo: install
	examples/01-hostnames/demo

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/repo

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Tests that build networks on the host share it, so they run one after the other; the rest in parallel.
test: check
	$(BIN)/pytest -q -n $(WORKERS) tests/unit tests/component
	$(BIN)/pytest -q tests/netns tests/conformance tests/e2e

bench: install
	$(BIN)/python -m benchmarks $(ONLY)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

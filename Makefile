# Everything a fresh Debian 12 needs is installed by `make install`, which the other targets call first.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 3

.PHONY: install demo uml-modules test check format bench fuzz clean

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

# The kernel that tests the ipvs mode on whole clusters; made once.
uml-modules: install
	tools/build-uml-modules .venv/uml

# Tests that build networks share the host, so they run one after the other; the rest side by side, a file at a time.
test: check uml-modules
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile tests/unit tests/component tests/conformance tests/uml
	$(BIN)/pytest -q tests/netns tests/e2e

bench: install
	$(BIN)/python -m benchmarks $(ONLY)

# Goes on for minutes: random and damaged messages against the DNS server.
fuzz: install
	$(BIN)/python -m tests.component.dns_noise $(COUNT)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The commands of this project; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASELINE := $(wildcard conformance/baseline.json)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two pips must not write to one environment
.PHONY: help conform test bench lint docs clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

conform: $(VENV)/torch.stamp ## hold the installed PyTorch against the specification (CONFORM_ARGS=...)
	$(BIN)/reftorch conform --subject torch $(BASELINE:%=--baseline %) $(CONFORM_ARGS)

test: $(VENV)/torch.stamp $(VENV)/dev.stamp ## run every test (PYTEST_ARGS=...)
	$(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

bench: $(VENV)/torch.stamp ## print the speed as ratios against PyTorch (BENCH_ARGS=...)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

lint: $(VENV)/dev.stamp ## check style, types and which layer imports which
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/docs.stamp ## write a page for each chapter and build docs/_build/html
	$(BIN)/python -m conformance.docs docs/ops
	$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build/html

clean: ## remove what the other commands wrote, but keep .venv
	rm -rf build dist conform-out docs/_build .hypothesis .pytest_cache .ruff_cache .mypy_cache .import_linter_cache
	find $(wildcard reftorch conformance tests benchmarks docs) -name __pycache__ -prune -exec rm -rf {} +

# One stamp for each extra of pyproject.toml, so that `make conform` need not wait for the test tools.
$(VENV)/%.stamp: pyproject.toml constraints.txt | $(VENV)/created
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@

$(VENV)/created:
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) and \
	"reftorch needs Python 3.11 or newer, but $(PYTHON) is %s. Name another: make PYTHON=python3.12 ..." % v)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

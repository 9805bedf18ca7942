# Every target prepares what it needs; nothing has to be done before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test unit e2e lint bench crds lock clean

help: ## What can be made here
	@sed -n 's/^\([a-z0-9_-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

$(VENV): $(VENV)/.installed

$(VENV)/.installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or later is needed; name one by PYTHON=..."; exit 1; }
	@echo "Installing the locked dependencies into $(VENV) (about a minute the first time)."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(VENV) ## Play a real story on a real control plane; KEEP=1 leaves it up
	@$(BIN)/python hack/demo $(if $(KEEP),--keep)

test: unit e2e ## All tests

unit: $(VENV) ## The pure layers, in seconds
	@$(BIN)/pytest tests/unit

e2e: $(VENV) ## The public commands, against a real control plane
	@$(BIN)/pytest tests/e2e

lint: $(VENV) ## Style, types, layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV) ## Figures beside a bare client; N=1000 by default
	@$(BIN)/python -m bench $(if $(N),--count $(N))

crds: $(VENV) ## Write the CustomResourceDefinition from the types
	@$(BIN)/lnamespace render crd > crds/lnamespaces.yaml
	@cp crds/lnamespaces.yaml charts/lnamespace/files/crd.yaml

lock: $(VENV) ## Resolve the dependencies anew, all at once, and lock them by hash
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -o requirements/dev.txt --extra dev pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -c requirements/dev.txt -o requirements/run.txt pyproject.toml

clean: ## Remove what was made here; the cached control plane stays
	@for dir in .cluster/*/; do [ -d "$$dir" ] && hack/cluster down --dir "$$dir"; done; true
	rm -rf $(VENV) build dist .cluster

# Every target prepares what it needs; nothing has to be done before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPORT ?= build/bench
# The Kubernetes of demo and e2e, such as 1.30 or 1.33; the present one if it is not set.
K8S ?=
ifneq ($(K8S),)
export LNAMESPACE_KUBERNETES := $(K8S)
endif
# What depends on the API server's version; the rest of the tests does not.
VERSION_TESTS := $(addprefix tests/e2e/test_,$(addsuffix .py,oldest_kubectl vet story install_order helm \
	bindings admission versions commands policies rights gateway gateway_clients gateway_comparison \
	gateway_fences gateway_mine gateway_rbac gateway_retained lcluster_objects lclusters rbac_equality))

# Images set it; each process would compile anew what it imports.
unexport PYTHONDONTWRITEBYTECODE

# Of a unit test the half is computing, of an end-to-end test the most is waiting.
UNIT := $(BIN)/pytest -n $(or $(WORKERS),3) --dist worksteal tests/unit tests/ledger
E2E := $(BIN)/pytest -n $(or $(WORKERS),4) --dist loadfile --no-loadscope-reorder $(or $(TESTS),tests/e2e)

.PHONY: help demo test unit e2e thorough versions soak starvation conformance alerts lint bench mutations crds protobuf-schema reference docs lock release clean

help: ## What can be made here
	@sed -n 's/^\([a-z0-9_-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

$(VENV): $(VENV)/.installed

$(VENV)/.installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or later is needed; name one by PYTHON=..."; exit 1; }
	@echo "Installing the locked dependencies into $(VENV) (about a minute the first time)."
	@$(PYTHON) -m venv $(VENV)
	@# The lists are whole. pip would look further for a dependency with an extra, such as
	@# google-auth[pyopenssl], take one that is newer than the list, and refuse it for its hash.
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/dev.txt
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(VENV) ## Play a real story on a real control plane; KEEP=1 leaves it up, K8S=1.30 is on an older one
	@$(BIN)/python hack/demo $(if $(KEEP),--keep)

test: unit e2e ## All tests but the thorough ones; WORKERS=1 for one at a time

unit: $(VENV) ## The pure layers and the ledger's databases, without a cluster
	@$(UNIT)

e2e: $(VENV) ## The public commands, against a real control plane; K8S=1.30, TESTS='tests/e2e/test_vet.py ...'
	@$(E2E)

versions: $(VENV) ## The story and the tests that matter, on each older Kubernetes; before a release
	@for version in $(or $(K8S),1.30 1.33 1.34 1.35); do \
		$(MAKE) --no-print-directory demo K8S=$$version || exit 1; \
		$(MAKE) --no-print-directory e2e K8S=$$version TESTS="$(VERSION_TESTS)" || exit 1; done

alerts: $(VENV) ## The alerts, by Prometheus' own promtool; the first time builds it
	@LNAMESPACE_PROMTOOL=1 $(BIN)/pytest tests/e2e/test_metrics.py -k alerts

lint: $(VENV) ## Style, types, layers
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV) ## Figures beside a bare client, and pictures of them; N=1000 for only that many
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/plots.txt
	@for count in $(or $(N),100 1000 5000); do \
		PYTHONPATH=hack $(BIN)/python -m bench --count $$count --json $(REPORT)/$$count.json || exit 1; done
	@for part in tax layouts webhook ledger outbox gateway gateway_watches gateway_replicas; do \
		PYTHONPATH=hack $(BIN)/python -m bench.$$part --json $(REPORT)/$$part.json || exit 1; done
	@$(BIN)/python -m bench.scale $(REPORT)
	@$(BIN)/python -m bench.plots $(REPORT) $(REPORT)

starvation: $(VENV) ## What a tenant notices of another one that does its worst for SECONDS (600)
	@PYTHONPATH=hack $(BIN)/python -m bench.starvation $(if $(SECONDS),--seconds $(SECONDS)) --json $(REPORT)/starvation.json

thorough: $(VENV) ## All tests with the rare cases and many examples of each property; before a release
	@$(UNIT) -m "" --hypothesis-profile=thorough
	@LNAMESPACE_TESTS_COLD=1 $(E2E) -m ""

soak: $(VENV) ## Everybody does what they like for MINUTES (60), and rights must be as the model says; OF=lclusters
	@PYTHONPATH=hack $(BIN)/python -m tests.e2e.$(or $(OF),rights)_model $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(STEPS),--steps $(STEPS)) $(if $(LAYOUT),--layout $(LAYOUT)) $(if $(REPLAY),--replay $(REPLAY))

conformance: $(VENV) ## Kubernetes' own conformance specs, directly and through the gateway; FURTHER=1: others; ONLY='Watchers|Discovery'
	@PYTHONPATH=hack $(BIN)/python -m conformance $(if $(FURTHER),--further) $(if $(ONLY),--only '$(ONLY)')

mutations: $(VENV) ## Change the code in each small way, and tell what no unit test notices; OF='lnamespace.access.*'
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/mutations.txt
	@$(BIN)/python hack/mutations $(if $(OF),'$(OF)')

crds: $(VENV) ## Write the CustomResourceDefinitions and the samples from the code
	@$(BIN)/lnamespace render crd > charts/lnamespace/files/crd.yaml
	@$(BIN)/lnamespace render lclusters > charts/lnamespace/files/lclusters.yaml
	@$(BIN)/lnamespace render billingrecords > charts/lnamespace/files/billingrecords.yaml
	@$(BIN)/lnamespace render samples

protobuf-schema: ## Write the table of Kubernetes' protobuf messages from its Go types, after an update of Kubernetes
	@mkdir -p build
	@cd hack/controlplane && CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local GOWORK=off \
		go run -trimpath ./protobufschema > ../../build/schema.json
	@mv build/schema.json operator/lnamespace/translate/protocol/protobuf/schema.json

reference: $(VENV) ## Write docs/reference from the code and the chart
	@PYTHONPATH=hack $(BIN)/python -m docsite docs/reference

docs: reference ## The documentation as a site in build/site; fails on a broken link
	@$(BIN)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going \
		--conf-dir hack/docsite --doctree-dir build/doctrees docs build/site
	@echo "Open build/site/index.html"

lock: $(VENV) ## Resolve the dependencies anew, all at once, and lock them by hash
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -o requirements/dev.txt --extra dev pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -c requirements/dev.txt -o requirements/run.txt --extra all pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -c requirements/dev.txt -o requirements/build.txt --group build
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -c requirements/dev.txt -o requirements/plots.txt --group plots
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate -c requirements/dev.txt -o requirements/mutations.txt --group mutations

release: $(VENV) ## Wheel, chart, image, bill of materials and signatures in dist/; STEPS=packages for a part
	@$(BIN)/python hack/release $(STEPS)

clean: ## Remove what was made here; the cached control plane stays
	@for dir in .cluster/*/; do [ -d "$$dir" ] && hack/cluster down --dir "$$dir"; done; true
	rm -rf $(VENV) build dist .cluster

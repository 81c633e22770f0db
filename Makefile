# The commands of a developer. `make` alone lists them.
#
#   make test PYTHON=python3.13 VENV=.venv-3.13    another interpreter, beside the first

PYTHON ?= python3
VENV ?= .venv
JOBS ?= auto# test processes; "auto" is one a core

BIN := $(VENV)/bin
LOCK := requirements/test.txt
READY := $(VENV)/.ready
PARALLEL := -n $(JOBS) --maxprocesses 8 --dist worksteal
NUMERICAL := $(addprefix tests/,algorithms frozen kernels mechanisms protocol reference rules simulation \
  end_to_end/test_paper_facts.py service/coordinator/test_rounds.py)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # each check already uses the cores, and their output should not mix
.PHONY: help demo test lint format types imports tests test-browser generic coverage docs pictures attack bench bench-service soak lowest release dist setup lock clean

help: ## list these commands
	@echo 'incfed: incentivized federated bandits. Needs Python 3.11 or newer and make; the rest'
	@echo 'is installed on first use into $(VENV), at the versions named in $(LOCK).'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'Start with make demo. Another interpreter: make test PYTHON=python3.13 VENV=.venv-3.13'

demo: $(READY) ## run the paper in small: tables here, plots in demo/report.html
	$(BIN)/incfed demo

test: lint types imports tests generic ## run all checks, as CI does: the five below

lint: $(READY) ## check style and look for likely bugs (ruff)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## check types (mypy --strict)
	$(BIN)/mypy --strict

imports: $(READY) ## check that each room imports only from rooms below it (import-linter)
	$(BIN)/lint-imports

tests: $(READY) ## run all tests (pytest)
	$(BIN)/pytest $(PARALLEL)

test-browser: $(READY) ## run the tests of the console in a browser, which `tests` does too
	$(BIN)/pytest tests/console

# As in end_to_end/test_other_processors.py; the two share their compiled kernels.
generic: export NUMBA_CPU_NAME := generic
generic: export NUMBA_CACHE_DIR := $(CURDIR)/.generic_cache
generic: export OPENBLAS_CORETYPE := Nehalem
generic: $(READY) ## run the numerical tests as on a processor without SIMD and fused operations
	$(BIN)/pytest $(PARALLEL) --hypothesis-profile few $(NUMERICAL)

coverage: $(READY) ## run all tests and report line coverage; takes half as long again
	$(BIN)/pytest $(PARALLEL) --cov

pictures: $(READY) ## make the pictures of pages and terminal views again (needs Chromium)
	$(BIN)/python docs/pictures.py

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(READY) ## build the documentation into site/; a link that leads nowhere stops it
	$(BIN)/mkdocs build --quiet

format: $(READY) ## format the code (ruff)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY) ## measure the speed; print and store the figures
	$(BIN)/python benchmarks/run.py

bench-service: $(READY) ## measure a coordinator: rounds with 100 and 500 clients
	$(BIN)/python benchmarks/run.py client service

attack: $(READY) ## attack a real federation; what it cost the attacker and the others
	$(BIN)/python attacks/run.py --lifted

soak: $(READY) ## run the randomised tests with far more examples
	INCFED_SCHEDULES=5000 INCFED_MISREPORTS=10000 $(BIN)/pytest $(PARALLEL) --hypothesis-profile soak

# In an environment of its own, created anew each time. Old libraries may give warnings.
lowest: ## run all tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-lowest/bin/python -c 'import re, tomllib; \
	  project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  wanted = project["dependencies"] + sum(project["optional-dependencies"].values(), []); \
	  print(*(re.sub(r"\[.*\]", "", w).replace(">=", "==") for w in wanted if ">=" in w), sep="\n")' \
	  > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --group dev --group docs --editable '.[all]' \
	  --constraint $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/pytest $(PARALLEL) -W default

release: dist ## build sdist and wheel into dist/, and check them as a user will meet them
	$(PYTHON) release/check.py dist

# The wheel is built from the sdist, which is thereby known to be complete.
dist:
	rm -rf dist
	$(PYTHON) -m venv --clear $(VENV)-release
	$(VENV)-release/bin/python -m pip install --quiet --disable-pip-version-check build twine
	$(VENV)-release/bin/python -m build --outdir dist .
	$(VENV)-release/bin/python -m twine check --strict dist/*

setup: $(READY) ## create the environment, and nothing else

# The stamp is touched last, so that an interrupted set-up is not taken for a finished one.
$(READY): $(LOCK) pyproject.toml
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo 'incfed needs Python 3.11 or newer, but "$(PYTHON) --version" says:'; \
	    $(PYTHON) --version; \
	    echo 'Name another one, as in: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)'; \
	    exit 1; } >&2; \
	  $(PYTHON) -m venv --clear $(VENV) || { \
	    echo 'Python could not make $(VENV). On Debian and Ubuntu: apt install python3-venv'; \
	    exit 1; } >&2; \
	fi
	@echo 'Setting up $(VENV) (a minute or two the first time)'
	$(PIP) install --requirement $(LOCK)
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Made with the oldest supported Python: what is new enough for it runs on the newer ones too, while
# the newest releases for 3.13 may have dropped 3.11. Versions only, so that any index will do.
lock: ## update requirements/test.txt to the newest versions
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo 'The lock file is made with Python 3.11: make lock PYTHON=/path/to/python3.11' >&2; \
	  exit 1; }
	$(PYTHON) -m venv --clear $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-lock/bin/python -m pip install --quiet --group dev --group docs --editable '.[all]'
	{ echo '# Every package of the test environment. Made by "make lock"; do not edit.' && \
	  $(VENV)-lock/bin/python -m pip freeze --exclude-editable; } > $(VENV)-lock/versions
	mv $(VENV)-lock/versions $(LOCK)
	rm -rf $(VENV)-lock

clean: ## remove everything that make created
	rm -rf $(VENV) $(VENV)-lock $(VENV)-lowest $(VENV)-release demo build dist htmlcov site \
	  .coverage .coverage.* .generic_cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache \
  .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# One command each for a newcomer: `make demo` and `make test` set up everything they need, once.
# The environment is the active one (VIRTUAL_ENV), else .venv, made with PYTHON (3.11 or later).

PYTHON ?= python3
# One more than the two cores of a small machine, since some tests wait for a server or a browser.
JOBS ?= 3
VENV := $(if $(VIRTUAL_ENV),$(subst $(CURDIR)/,,$(VIRTUAL_ENV)),.venv)
BIN := $(VENV)/bin
STAMP := $(VENV)/.tacit-setup
FRAMEWORKS := build/frameworks
TYPES := build/types/tacit
PACKAGES := graph loaders reasoning api cypher
DATA := $(or $(TACIT_TEST_DATA),../shared/data)
REAL := $(wildcard $(DATA)/conceptnet/assertions-en.csv.gz)
# Programs that measure by themselves. The others write input for them, are given theirs below, need a model or a training, or a graph with ATOMIC.
ON_DATA := scoring frames features commonsense_table coherence_table grounding_table cider
ALONE := $(filter-out $(ON_DATA) synthetic_graph conceptnet_file grade_table agreement cicero_table cicero_generation choice_probe choosing_speed responding_speed responses links tails linked_grounding known_words talk_counts,$(patsubst benchmarks/%.py,%,$(wildcard benchmarks/*.py)))
TEST_TURNS := $(DATA)/dialogues/dailydialog-test.jsonl.gz
RATINGS := $(DATA)/judgements/*.jsonl.gz

.DEFAULT_GOAL := help
.PHONY: help setup demo test frameworks lint format bench docs dist clean again

help:  ## Show this list
	@echo "tacit: commonsense you can query, scores you can explain"
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'
	@echo "Environment: $(VENV) (PYTHON=$(PYTHON) makes it when it is not there)"

setup: $(STAMP) $(TYPES)/__init__.py  ## Install tacit and its tools, once, and again when pyproject.toml or constraints.txt change

demo: setup  ## Load the sample graph, score and explain a few dialogues, run an exploratory query
	@"$(BIN)/tacit" demo

# Each of the processes has a thread: with more of them than cores, those of one wait for each other. Modules that were compiled
# once are kept, whatever the environment says: tests start a hundred processes more.
test: export OMP_NUM_THREADS ?= 1
test: export PYTHONDONTWRITEBYTECODE :=
test: setup  ## Run the tests, three at a time (PYTEST_ARGS="-k sample" for some; TACIT_TEST_NEO4J=bolt://... for those with a server)
	@"$(BIN)/python" -m pytest -n $(JOBS) $(PYTEST_ARGS)

# Frameworks that send usage data to their makers are told not to; DeepEval's plugin for pytest is not needed and slow to start.
frameworks: export OMP_NUM_THREADS ?= 1
frameworks: export PYTHONDONTWRITEBYTECODE :=
frameworks: export TACIT_TEST_FRAMEWORKS := 1
frameworks: export DEEPEVAL_TELEMETRY_OPT_OUT := 1
frameworks: export MLFLOW_DISABLE_TELEMETRY := true
frameworks: $(FRAMEWORKS)/.tacit-setup  ## Test the adapters of evaluation frameworks, in an environment of their own with these
	@"$(FRAMEWORKS)/bin/python" -m pytest -p no:deepeval $(PYTEST_ARGS) tests/api/frameworks

$(FRAMEWORKS)/.tacit-setup: pyproject.toml constraints-frameworks.txt
	@test -x "$(FRAMEWORKS)/bin/python" || "$(PYTHON)" -m venv "$(FRAMEWORKS)" || { rm -rf "$(FRAMEWORKS)"; exit 1; }
	@echo "Installing the evaluation frameworks into $(FRAMEWORKS), once; this takes about a minute ..."
	@"$(FRAMEWORKS)/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --no-compile -r constraints-frameworks.txt
	@"$(FRAMEWORKS)/bin/python" -m pip install -qq --disable-pip-version-check --no-deps -e .
	@touch "$@"

lint: setup  ## Check style, formatting and types
	@"$(BIN)/ruff" check .
	@"$(BIN)/ruff" format --check .
	@"$(BIN)/mypy" --strict $(TYPES)
	@MYPYPATH=build/types "$(BIN)/mypy" --strict tests
	@cd benchmarks && MYPYPATH=../build/types "$(abspath $(BIN))/mypy" --strict --config-file ../pyproject.toml .

format: setup  ## Format the code
	@"$(BIN)/ruff" check --fix .
	@"$(BIN)/ruff" format .

bench: setup  ## Measure: every program in benchmarks/ prints its tables; on the real data in TACIT_TEST_DATA where it is
ifneq ($(REAL),)
	@mkdir -p build
	@"$(BIN)/tacit" load conceptnet $(REAL) --into build/bench-graph
else
	@echo "not measured on real data: there is no conceptnet/assertions-en.csv.gz in $(DATA); set TACIT_TEST_DATA"
endif
	@failed=; measure() { printf '\n== %s\n' "$$1"; program="$$1"; shift; \
	  "$(BIN)/python" "benchmarks/$$program.py" "$$@" || failed="$$failed $$program"; }; \
	if [ -n "$(REAL)" ]; then \
	  measure scoring build/bench-graph $(TEST_TURNS); \
	  measure frames build/bench-graph $(TEST_TURNS); \
	  measure features build/bench-graph $(TEST_TURNS); \
	  measure commonsense_table build/bench-graph $(RATINGS) $(DATA)/judgements/deco-*.json.gz; \
	  measure coherence_table $(RATINGS); \
	  measure grounding_table build/bench-graph $(RATINGS); \
	  measure cider build/bench-graph $(DATA)/cicero/cider.json.gz; \
	fi; \
	for program in $(ALONE); do measure $$program; done; \
	if [ -n "$$failed" ]; then echo "these failed:$$failed" >&2; exit 1; fi

docs: setup  ## Build the documentation into build/site, every link checked
	@NO_MKDOCS_2_WARNING=1 "$(BIN)/mkdocs" build --quiet --strict

# The wheel is built from the sdist, so both are known to be whole.
dist: setup  ## Build the sdist and the wheel into dist/, checked, with a bill of materials
	@rm -rf dist build/lib build/bdist.*
	@"$(BIN)/python" -m build --quiet --outdir dist .
	@"$(BIN)/python" -m twine check --strict dist/*.tar.gz dist/*.whl
	@"$(BIN)/python" .ci/release.py dist

clean:  ## Remove what the other targets made, save the environment
	rm -rf build dist *.egg-info demo-graph .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

# mypy finds the package `tacit` here: a folder with a link to every sub-package, whose folders lie at the root, and to the
# __init__.py. Earlier versions of this file made one link to the root in its place.
$(TYPES)/__init__.py:
	@[ ! -L $(TYPES) ] || rm $(TYPES)
	@mkdir -p $(TYPES)
	@for package in $(PACKAGES); do ln -sfn "../../../$$package" "$(TYPES)/$$package"; done
	@ln -sf ../../../api/front/__init__.py $@

# The stamp names the checkout, so that an environment shared by two checkouts is installed again.
ifneq ($(shell cat "$(STAMP)" 2>/dev/null),$(CURDIR))
$(STAMP): again
endif

$(STAMP): pyproject.toml constraints.txt
	@test -x "$(BIN)/python" || { \
	  "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	    || { echo "tacit needs Python 3.11 or later, and $(PYTHON) is not; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
	  "$(PYTHON)" -m venv "$(VENV)" \
	    || { rm -rf "$(VENV)"; echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	}
	@echo "Installing tacit into $(VENV), once; this takes about a minute ..."
	@"$(BIN)/python" -m pip uninstall -qq --disable-pip-version-check --yes tacit 2>/dev/null  # its name before it was tacit-kg
	@"$(BIN)/python" -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@printf '%s' "$(CURDIR)" > "$(STAMP)"

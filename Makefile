# Two commands are all a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all check clean

demo: $(VENV)/.demo
	$(BIN)/python -m ui --open

# Two processes, one torch thread each; the tests of a file stay together and share its fixtures,
# in the order of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.test
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.test
	$(PYTEST)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One stamp an extra: installed again only when pyproject.toml changed.
$(VENV)/.%: pyproject.toml $(VENV)/made
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

# The stamp, not the folder, says that the environment is whole; pip comes last into one, so that one
# that was made by hand is kept, and one that was left half made is not.
$(VENV)/made:
	test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

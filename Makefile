# Two commands are all a fresh machine needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check clean

demo: $(VENV)/.demo
	$(BIN)/python -m ui --open

test: $(VENV)/.test
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One stamp an extra: installed again only when pyproject.toml changed.
$(VENV)/.%: pyproject.toml | $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@

$(VENV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# make app: from a fresh clone to the running app. make test: everything, the browser tests included.
# make verify: the numbers of all cards, measured again. make bench: the speeds of the README.

PYTHON ?= python3
VENV := .venv
PORT ?= 8501
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: app test verify bench lint clean

app: $(VENV)/app
	$(VENV)/bin/python -m streamlit run app/main.py --server.port $(PORT)

test: lint
	bash tests/chromium.sh
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest

verify: $(VENV)/test
	$(VENV)/bin/python -m pytest -m verify

bench: $(VENV)/test
	bash tests/chromium.sh
	$(VENV)/bin/python -m benchmarks

lint: $(VENV)/test
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m mypy

$(VENV)/app: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	touch $@

$(VENV)/test: $(VENV)/app requirements-test.txt
	$(PIP) -r requirements-test.txt
	touch $@

clean:
	rm -rf $(VENV) runs

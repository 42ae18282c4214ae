# make app: from a fresh clone to the running app. make test: everything, the browser tests included.

PYTHON ?= python3
VENV := .venv
PORT ?= 8501

.PHONY: app test bench lint clean

app: $(VENV)/app
	$(VENV)/bin/python -m streamlit run app/main.py --server.port $(PORT)

test: $(VENV)/test
	bash tests/chromium.sh
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest

bench: $(VENV)/test
	bash tests/chromium.sh
	$(VENV)/bin/python -m benchmarks

lint: $(VENV)/test
	$(VENV)/bin/python -m ruff check .

$(VENV)/app: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/test: $(VENV)/app requirements-test.txt requirements-test-alone.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-test-alone.txt
	touch $@

clean:
	rm -rf $(VENV) runs

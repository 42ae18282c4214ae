# make app: from a fresh clone to the running app, for this machine only; ADDRESS=0.0.0.0 opens it to the network.
# make hosted: two replicas behind HAProxy, for visitors.
# make check: lint, mathematics, state and JavaScript, in minutes. make test: also pages and browser tests.
# make nightly: installs, hostile traffic, simulations, mutants, and make verify, which recomputes the numbers of all
# cards; hours. make bench: measures the speeds of docs/speed.md.

PYTHON ?= python3
VENV := .venv
PORT ?= 8501
ADDRESS ?= 127.0.0.1
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check

# without bytecode on the disk, each process compiles all modules again: 8 s for each collection of the tests
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -rR

.PHONY: app hosted check test nightly verify bench lint clean

app: $(VENV)/app
	ATTENTION_LAB_HOSTED= $(VENV)/bin/python -m streamlit run app/host.py --server.port $(PORT) --server.address $(ADDRESS)

hosted: $(VENV)/app
	$(VENV)/bin/python -m deploy --port $(PORT)

check: lint
	$(PYTEST) -m quick

test: check
	bash tests/chromium.sh
	$(PYTEST) -m "not quick and not verify and not nightly"

nightly: verify
	bash tests/chromium.sh
	$(PYTEST) -m nightly
	$(VENV)/bin/python -m tests.adversarial --minutes 10
	$(VENV)/bin/python -m tests.protocol --messages 100000
	$(VENV)/bin/python -m tests.strangers
	$(VENV)/bin/python -m tests.js.mutants

verify: $(VENV)/test
	$(VENV)/bin/python -m pytest -m verify

bench: $(VENV)/test
	bash tests/chromium.sh
	$(VENV)/bin/python -m benchmarks

lint: $(VENV)/test
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m mypy
	$(VENV)/bin/python -m tests.quoted
	$(VENV)/bin/python -m tools.size
	$(VENV)/bin/python -m tests.js.lint

$(VENV)/app: $(VENV)/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r $<
	touch $@

# pip asks every index for every package, with retries: one that can't be reached is left out here, or it takes minutes.
$(VENV)/requirements.txt: requirements.txt
	mkdir -p $(VENV)
	@index=$$(sed -n 's/^--extra-index-url //p' $<); \
	if $(PYTHON) -c "from urllib.request import urlopen; urlopen('$$index/torch/', timeout=5)" 2>/dev/null; \
	then cp $< $@; else echo "$$index can't be reached: torch comes from the ordinary index"; \
	grep -v '^--extra-index-url' $< > $@; fi

$(VENV)/test: $(VENV)/app requirements-test.txt requirements-test-alone.txt
	$(PIP) -r requirements-test.txt
	$(PIP) --no-deps -r requirements-test-alone.txt
	touch $@

clean:
	rm -rf $(VENV) runs node_modules

unexport PYTHONDONTWRITEBYTECODE  # the many processes of tests and pages compile each module once
PYTHON ?= python3
BIN := .venv/bin

.PHONY: report test quick lint docs live certificates ledger read findings formal bench mutants hunt bare lowest release lock clean
SECONDS ?= 600
ID ?=
PYODIDE ?= build/pyodide
PAPERS := $(patsubst %/pyproject.toml,./%,$(wildcard examples/papers/*/pyproject.toml))
LISTED := sed -n 's,^[0-9a-f]*  \(.*\)/claim\.json$$,\1,p'
LOWEST := $(foreach name,gaussian privacy_curve energy_utility constrained proof report sweep,$(shell find tests -name test_$(name).py))

report: .venv/installed
	$(BIN)/airtight report examples/paper.toml --out report

test: .venv/installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

quick: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/python tests/quick.py

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tests/docstrings.py

docs: live certificates
	$(BIN)/sphinx-build -j auto -W --keep-going -q docs docs/_build/html

live: .venv/installed
	$(BIN)/airtight report examples/paper.toml --out docs/_extra/live

certificates: .venv/installed
	$(LISTED) docs/certificates.sha256 | tr '\n' '\0' | xargs -0 $(BIN)/airtight certify --out docs/_extra/ledger/certificates >/dev/null
	$(BIN)/python docs/fetch_pyodide.py $(PYODIDE)
	$(BIN)/python -m airtight.report.library docs/_extra/ledger $(PYODIDE)

ledger: .venv/installed
	$(BIN)/python -m airtight.report.document docs $(ID)

read: .venv/installed
	$(BIN)/python -m airtight.validate.claims.proof_reviews $(ID)

formal: .venv/installed
	@command -v coqc >/dev/null || { echo "make formal needs coqc with coq-interval; Debian: apt-get install coq libcoq-interval"; exit 1; }
	$(BIN)/airtight certify --coq --out formal
	$(BIN)/python -m airtight.validate.claims.certificates.formal formal

findings: .venv/installed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m airtight.validate.experiments.figures.gallery

mutants: .venv/installed
	$(BIN)/pip install -q --disable-pip-version-check "cosmic-ray>=8.3"
	$(BIN)/python tests/adversarial/mutants.py --share 0.05

hunt: .venv/installed
	cd tests/adversarial && PYTHONPATH=.. ../../$(BIN)/python -m hunt --seconds $(SECONDS)

bench: .venv/installed
	mkdir -p build
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-timer=benchmarks.table.cpu_seconds --benchmark-json=build/bench.json
	$(BIN)/python benchmarks/table.py build/bench.json > docs/speed.md

bare: .bare/installed
	.bare/bin/pip install -q --disable-pip-version-check --no-deps --force-reinstall .
	.bare/bin/python tests/clean.py

lowest: .lowest/installed
	.lowest/bin/python tests/clean.py
	OPENBLAS_NUM_THREADS=1 .lowest/bin/python -m pytest -x -m "not slow" -W default $(LOWEST)

release: .venv/installed
	$(BIN)/python tests/release.py

COMPILED := .lock-venv/bin/uv pip compile -q --upgrade --generate-hashes --custom-compile-command "make lock" --no-annotate \
  --no-emit-index-url --no-emit-find-links --python-version 3.11.5 --extra all
lock:
	$(PYTHON) -m venv .lock-venv
	.lock-venv/bin/pip install -q --disable-pip-version-check uv
	$(COMPILED) --universal --extra test --extra lint --extra docs --extra bench --extra build -o requirements.lock pyproject.toml
	printf 'pytest>=8.0\nhypothesis>=6.150\n' | $(COMPILED) --resolution lowest-direct -o requirements-lowest.lock pyproject.toml -
	rm -rf .lock-venv

.venv/installed: pyproject.toml requirements.lock $(PAPERS:%=%/pyproject.toml)
	@echo "airtight: installing into .venv, once; about a minute"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . $(PAPERS:%=-e %)
	touch $@

.bare/installed: pyproject.toml requirements.lock  # a folder has no hash: the versions alone
	$(PYTHON) -m venv .bare
	grep == requirements.lock | tr -d '\\' > .bare/versions.txt
	.bare/bin/pip install -q --disable-pip-version-check -c .bare/versions.txt .
	touch $@

.lowest/installed: pyproject.toml requirements-lowest.lock
	$(PYTHON) -m venv .lowest
	.lowest/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements-lowest.lock
	.lowest/bin/pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

clean:
	rm -rf .venv .bare .lowest formal report docs/_build docs/_extra docs/_gallery docs/sg_execution_times.rst docs/api

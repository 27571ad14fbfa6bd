# Everything a machine with Python 3.11+ and make needs: `make demo`, `make test`, `make check`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo help core test test-quick check stubs supply licences docs tutorials pictures format bench clean

$(VENV)/.installed: pyproject.toml constraints.txt CMakeLists.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "cpsched needs Python 3.11 or newer; say which with 'make PYTHON=python3.12 ...'"; exit 1; }
	@echo "Installing cpsched into $(VENV) (once, about 540 MB, a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python .ci/install plots
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests and checks need ..."
	@$(BIN)/python .ci/install dev
	@touch $@

core: $(VENV)/.installed  ## Compile what has changed of the native core (cpsched/cpp).
	@$(BIN)/python .ci/install --core

help:  ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.installed core  ## Compare four dispatchers on the bundled log, then ask what more nodes would do.
	@echo "Comparing four dispatchers in 20 runs ..."
	@$(BIN)/cpsched compare demo --out demo-out --workers 2
	@echo && echo "Asking what more GPU nodes, and a fifth more load, would do ..."
	@$(BIN)/cpsched what-if data/logs/eurora-sample.csv.gz --system eurora --workers 2 \
		--change 'add-nodes group=gpu,count=8' --change 'scale-load 1.2' --out demo-out/what-if

test: $(VENV)/.installed-dev core  ## Run all tests.
	@$(BIN)/python -m pytest -n 2 --dist loadgroup

test-quick: $(VENV)/.installed-dev core  ## The tests that take no time: under a minute.
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

check: $(VENV)/.installed-dev core  ## Versions that agree, formatting, lint, types, architecture, words of messages.
	@$(BIN)/python -m pip check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python .ci/words
	@PYTHON=$(BIN)/python .ci/check-core

stubs: $(VENV)/.installed-dev core  ## Write cpsched/_core.pyi from the compiled core; with Python 3.11.
	@$(BIN)/python -m nanobind.stubgen --quiet --exclude-values --module cpsched._core --output-file cpsched/_core.pyi

licences: $(VENV)/.installed-dev  ## All packages that are installed have a licence that is allowed.
	@$(BIN)/python docs/_ext/licences.py

build/tools/.installed: constraints.txt
	@$(PYTHON) -m venv build/tools
	@build/tools/bin/python -m pip install --quiet build cyclonedx-bom
	@touch $@

supply: licences build/tools/.installed  ## Licences; wheel and source archive, twice, in dist; build/sbom.json.
	@PYTHON=build/tools/bin/python .ci/wheel dist
	@PYTHON=build/tools/bin/python .ci/sbom

docs: $(VENV)/.installed-dev core  ## The documentation as a site, in build/docs; every warning is an error.
	@$(BIN)/sphinx-build -W --keep-going -q -j auto -b html -d build/doctrees docs build/docs
	@echo "file://$(CURDIR)/build/docs/index.html"

tutorials: $(VENV)/.installed-dev core  ## Put what commands print now into the tutorials; look at the difference.
	@CPSCHED_REWRITE=1 $(BIN)/python -m pytest tests/docs/test_tutorial.py
	@git diff --stat README.md docs

pictures: $(VENV)/.installed-dev core  ## The pictures of the README and the guides, from the demo; takes a minute, and Chromium.
	@$(BIN)/python docs/pictures/make.py build/demo
	@$(BIN)/python docs/pictures/gallery.py build/demo

format: $(VENV)/.installed-dev  ## Format, and mend what lint can mend.
	@$(BIN)/ruff format .
	@find cpsched/cpp -name '*.h' -o -name '*.cpp' | xargs $(BIN)/clang-format -i
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-dev core  ## Long measurements; see benchmarks/README.md.
	@$(BIN)/python benchmarks/throughput.py

clean:
	@rm -rf $(VENV) demo-out build dist cpsched/_core.*.so

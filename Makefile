# gridjit's commands. Each works on a fresh machine with Python 3.10+ and make: the first run creates .venv.
PYTHON ?= python3
BIN := .venv/bin
SUPPORTED := $(PYTHON) -c 'import sys; sys.version_info < (3, 10) and sys.exit("gridjit needs Python 3.10 or newer: make PYTHON=...")'
.DEFAULT_GOAL := help
# What one process of the tests compiles to bytecode is there for the next.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test test-slow check format view bench bench-host bench-launch-overhead bench-against benchcmp gpu-test dist release clean soak bench-cache bench-compile suite docs man compat native

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

# On a terminal, pip says what it installs, how much of it is there and how long the rest takes.
QUIET := $(shell test -t 2 || echo --quiet)

# pip is made last, so an environment that was interrupted in the making is made again.
.venv/run: pyproject.toml
	test -x $(BIN)/pip || { $(SUPPORTED) && $(PYTHON) -m venv --clear .venv; }
	$(BIN)/python -m pip install $(QUIET) --editable .
	touch $@

.venv/test: .venv/run
	$(BIN)/python -m pip install $(QUIET) --editable '.[dev,cu13]'
	touch $@

demo: .venv/run  ## compile a block-wide sum, run it, and reuse it in a second process
	$(BIN)/gridjit demo

# One more than there are processors, as some tests wait; at most 4, as each takes half a gigabyte.
WORKERS = $(shell n=$$(nproc); echo $$((n < 4 ? n + 1 : 4)))

test: .venv/test  ## run the tests but the slow ones (no GPU needed)
	$(BIN)/python -m pytest -m 'not gpu and not slow' --numprocesses $(WORKERS) --dist worksteal

test-slow: .venv/test  ## run the slow ones: all combinations, many examples, interrupts, forks, races (no GPU needed)
	$(BIN)/python -m pytest -m '(slow or hypothesis) and not gpu' --hypothesis-profile thorough --numprocesses auto \
		--maxprocesses 4 --dist load

# numba-cuda's own tests take half an hour on two cores, and run in a folder of their own, since they write to it.
SUITE := cudapy cudadrv nocuda doc_examples
LISTED := $(CURDIR)/tests/clients/numba-cuda-on-host.txt

# It fetches the NAS programs with git; GRIDJIT_NPB names a folder that has them.
suite: .venv/test  ## run numba-cuda's own tests and the NAS programs on the host, and the documents' code (no GPU needed)
	$(BIN)/python -m pip install --quiet filecheck cffi ml_dtypes py-cpuinfo
	mkdir -p build/suite
	echo '[pytest]' > build/suite/pytest.ini
	cd build/suite && GRIDJIT_TARGET=host $(CURDIR)/$(BIN)/python -m pytest -q -c pytest.ini --numprocesses auto \
		--timeout 120 --import-mode=importlib -p gridjit.testing.numba_suite -p gridjit.testing.listed --listed $(LISTED) $(ARGS) \
		--pyargs $(addprefix numba.cuda.tests.,$(SUITE))
	GRIDJIT_TARGET=host $(BIN)/python scripts/run-npb.py $(NPB)
	GRIDJIT_TARGET=host $(BIN)/python -m pytest -q tests/packaging/test_documentation.py

# It makes environments in build/compat from the package index. NAMES picks some: make compat NAMES="oldest newest".
compat: .venv/test  ## run a few minutes of tests with each supported combination of versions (no GPU needed)
	$(BIN)/python scripts/compat.py $(NAMES)

# Without a device these tests are skipped, which here would look like success.
gpu-test: .venv/test  ## run the tests that need a CUDA device
	$(BIN)/python -c 'from gridjit.runtime.devices import presence; raise SystemExit(presence.why_not() or None)'
	$(BIN)/python -m pytest -m gpu

# Type checkers and import-linter cannot see through an editable package-dir map, so link the folders as one package.
view:
	mkdir -p .view/gridjit
	for path in src/gridjit/* cache compiler runtime; do ln -sfn "../../$$path" ".view/gridjit/$${path##*/}"; done

check: .venv/test view  ## lint, spelling, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	PYTHONPATH=.view $(BIN)/lint-imports

# It fetches clang, 90 MB, from the package index into build/clang. ARGS=--check only compares.
native: .venv/test  ## make the LLVM IR of the code that is written in C, after a change of it (ARGS=--check)
	$(BIN)/python scripts/make-native.py $(ARGS)

format: .venv/test  ## apply the formatter
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The benchmarks of launches need a GPU; TARGET=host measures the host target instead. ARGS goes to the script.
TARGET ?= cuda

bench: .venv/test  ## measure launches with pytest-benchmark, and keep the run for benchcmp (TARGET=host without a GPU)
	$(BIN)/python -m pytest tests/benchmarks/bench_launch.py --target $(TARGET) --benchmark-autosave
	$(BIN)/python scripts/plot-bench.py

benchcmp: .venv/test  ## compare the last two runs of bench
	@set -- $$(ls -t .benchmarks/*/*.json 2>/dev/null | head -n 2); \
	test $$# = 2 || { echo 'benchcmp compares two runs of make bench; there are not two in .benchmarks' >&2; exit 2; }; \
	$(BIN)/pytest-benchmark compare "$$2" "$$1" --group-by=fullname --columns=median,iqr,rounds --sort=fullname

bench-launch-overhead: .venv/test  ## measure launches against a bare C loop and peers (ARGS='--repo name=path ...')
	$(BIN)/python scripts/bench-launch-overhead.py --target $(TARGET) $(ARGS)

bench-against: .venv/test  ## measure launches at two git refs (REFS='main HEAD')
	$(BIN)/python scripts/bench-against.py $(or $(REFS),HEAD~1 HEAD) --target $(TARGET) $(ARGS)

bench-host: .venv/test  ## measure the cache, starting up and the host target
	$(BIN)/python scripts/bench-cache.py
	$(BIN)/python scripts/bench-startup.py
	$(BIN)/python scripts/bench-host.py

bench-compile: .venv/test  ## measure cold compiles on both targets beside numba-cuda's (ARGS='--phases --only saxpy ...')
	$(BIN)/python scripts/bench-compile.py $(ARGS)

bench-kernels: .venv/test  ## measure kernels on a GPU against CUDA C, numba-cuda and Triton (ARGS='--kernels saxpy,n_body ...')
	$(BIN)/python scripts/bench-kernels.py $(ARGS)

bench-cache: .venv/test  ## measure the cache at 100 and 100,000 entries, and cold starts of many processes
	$(BIN)/python scripts/bench-cache.py --entries 100 100000
	$(BIN)/python scripts/bench-cold-start.py

soak: .venv/test  ## share a cache among processes that are killed, for 10 minutes, and check all (ARGS='--minutes 2')
	$(BIN)/python scripts/soak.py $(ARGS)

.venv/docs: .venv/run
	$(BIN)/python -m pip install $(QUIET) --editable '.[docs]'
	touch $@

docs: .venv/docs view man  ## build the site into site/, with warnings as errors, and the manual pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean

# Wheels that are built afterwards have them.
man: .venv/run  ## write the manual pages of the commands into packaging/man/
	$(BIN)/python scripts/man-pages.py packaging/man

dist: .venv/test man  ## build the sdist and the wheel
	$(BIN)/python -m build

# At a version's tag, which `python scripts/release.py cut VERSION` prepares. KEY=FILE signs; ARGS=--untagged tries it out.
release: .venv/run  ## build a release in dist/: sdist, wheel, checks in fresh environments, SBOM, checksums (KEY=FILE)
	$(BIN)/python scripts/release.py build $(if $(KEY),--key $(KEY)) $(ARGS)

clean:  ## remove what the commands above made
	rm -rf .venv .view build dist site packaging/man *.egg-info src/*.egg-info .*_cache .hypothesis .benchmarks

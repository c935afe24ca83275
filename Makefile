# `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# One set of packages and features for every target, so that nothing is built twice.
CARGO_TEST := cargo test --locked --workspace --features brownstone/test-clock
WITH_POSTGRES := crates/store/scripts/with-postgres.sh

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: run
run: ## the server on the sample city: prints a key and a curl line
	cargo run --locked --release -p brownstone -- serve --sample

.PHONY: test
test: ## everything CI runs, with the servers it needs
	$(WITH_POSTGRES) $(CARGO_TEST)

.PHONY: test-unit
test-unit: ## libraries alone: no database, no server
	$(CARGO_TEST) --lib --bins
	$(CARGO_TEST) --doc

.PHONY: test-store
test-store: ## the storage contracts on SQLite and a throwaway PostgreSQL
	$(WITH_POSTGRES) cargo test --locked -p brownstone-store

.PHONY: test-e2e
test-e2e: ## the real program over HTTP
	$(WITH_POSTGRES) $(CARGO_TEST) --test cli --test it

.PHONY: check
check: ## fmt, clippy, rustdoc, tidy: no warning is let through
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --features brownstone/test-clock -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	$(CARGO_TEST) --test tidy

.PHONY: clean
clean: ## what a build made; the data folder stays
	cargo clean

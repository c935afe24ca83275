# `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# One set of packages and features for every target, so that nothing is built twice.
CARGO_TEST := cargo test --locked --workspace --features brownstone/test-clock
# The properties draw the same inputs in every run, so that a run fails for a change and not by luck. Other inputs:
# `PROPTEST_RNG_SEED=7 PROPTEST_CASES=100000 make test-unit`.
export PROPTEST_RNG_SEED ?= 20260101
# Databases of tests in memory, where the system has a folder there with room: a busy disk is not what they test.
export TEST_FOLDERS ?= $(shell [ -w /dev/shm ] && [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] && echo /dev/shm)
# Throwaway servers on free loopback ports, from the system's packages.
WITH_SERVERS := crates/store/scripts/with-postgres.sh crates/store/scripts/with-redis.sh
# A headless browser from the system's packages; where none can be had its test skips and says so.
WITH_BROWSER := crates/web/scripts/with-chromium.sh
# MCP clients of others, into the target folder; where they can't be had their tests skip and say so.
WITH_MCP_CLIENTS := crates/mcp/scripts/with-mcp-clients.sh

# Checkers of the OpenAPI document, and generators of clients; where they can't be had their tests skip and say so.
WITH_API_CLIENTS := crates/http/scripts/with-api-clients.sh

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: run
run: ## the server on the sample city: prints a key and a curl line
	cargo run --locked --release -p brownstone -- serve --sample

.PHONY: test
test: ## all tests, with the servers and the browser they need; CI runs check and instructions after it
	$(WITH_SERVERS) $(WITH_BROWSER) $(WITH_MCP_CLIENTS) $(WITH_API_CLIENTS) $(CARGO_TEST) --no-fail-fast

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

.PHONY: test-otel
test-otel: ## the program with the feature otel, and a collector of the test's own
	cargo test --locked -p brownstone-telemetry
	TEST_OTEL=1 $(CARGO_TEST),brownstone/otel --test cli --test it telemetry::

.PHONY: soak-budget
soak-budget: ## thirty kills, half a minute of three servers, a minute without a database
	TEST_SOAK_ROUNDS=30 TEST_SOAK_SECONDS=30 $(WITH_SERVERS) $(CARGO_TEST) --test it budget_ -- --nocapture --test-threads 1

.PHONY: soak
soak: ## mixed traffic with faults for SOAK_SECONDS (1800): no panic, no leak, every answer within its rules
	TEST_SOAK_TRAFFIC=$(or $(SOAK_SECONDS),1800) $(CARGO_TEST) --test cli --test it soak:: -- --nocapture

.PHONY: test-web
test-web: ## the web host, by requests and in a headless browser
	$(WITH_BROWSER) $(CARGO_TEST) --test cli --test it web::

.PHONY: test-mcp
test-mcp: ## MCP: the official conformance suite, the Inspector, the Python SDK, and the same inputs over REST
	$(WITH_SERVERS) $(WITH_MCP_CLIENTS) $(CARGO_TEST) --test cli --test it mcp::

.PHONY: test-clients
test-clients: ## the OpenAPI document: schemathesis with 100 examples an operation, linters, generated clients, the Rust client
	TEST_API_EXAMPLES=100 $(WITH_API_CLIENTS) $(CARGO_TEST) --test cli --test it contract::
	cargo test --locked -p brownstone-client

.PHONY: screenshots
screenshots: ## pictures of each page, light and dark, wide and narrow, in target/screenshots
	mkdir -p target/screenshots
	SCREENSHOTS=$(CURDIR)/target/screenshots $(WITH_BROWSER) $(CARGO_TEST) --test cli --test it web::browser

.PHONY: check
check: ## fmt, clippy, rustdoc, tidy, spelling: no warning is let through
	tests/scripts/check-text.sh
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --features brownstone/test-clock -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
	$(CARGO_TEST) --test tidy

# The server and what measures it, in one command, so that what they share is built once.
MEASURED := cargo build --locked --profile measure -p brownstone -p brownstone-bench

.PHONY: bench
bench: ## the parts beside their anchors; PARTS="quota" for some of them; writes docs/benchmarks.md
	$(MEASURED)
	$(WITH_SERVERS) target/measure/brownstone-bench $(PARTS) --write docs/benchmarks.md

.PHONY: instructions
instructions: ## instructions of the hot paths beside the committed ones (ACCEPT=1 takes the new ones); needs valgrind
	cargo build --locked --profile measure -p brownstone-bench
	bins/bench/scripts/with-valgrind.sh target/measure/brownstone-bench --instructions bins/bench/instructions.txt $(if $(ACCEPT),--accept)

.PHONY: backtest
backtest: ## how wrong values are, on the real sales of NYC_REAL_DATA (docs/real-data.md); writes docs/valuation.md
	@[ -n "$(NYC_REAL_DATA)" ] || { echo "set NYC_REAL_DATA to the folder of published files; see docs/real-data.md" >&2; exit 1; }
	cargo run --locked --profile measure -p brownstone -- backtest --cut 2023-07-01 \
		--from $(NYC_REAL_DATA)/sales $(NYC_REAL_DATA)/sales/raw_cr --write docs/valuation.md

.PHONY: fuzz
fuzz: ## parsers of what comes from outside, FUZZ_SECONDS each (60), FUZZ_TARGETS="keys" for some; needs a nightly toolchain
	cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
	for target in $(or $(FUZZ_TARGETS),address pad_lines bodies keys soda_rows reso_page rentcast_page pmms); do \
		mkdir -p fuzz/corpus/$$target && \
		cargo +nightly fuzz run --fuzz-dir fuzz --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(or $(FUZZ_SECONDS),60) -max_len=2000 || exit 1; \
	done

.PHONY: mutants
mutants: ## lines of quota, lifecycle and key checking broken one by one, where no test notices; hours; MUTANTS="-f crates/accounts/src/key.rs"
	cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
	PROPTEST_CASES=$(or $(PROPTEST_CASES),200) cargo mutants --output target $(if $(MUTANTS),--no-config $(MUTANTS),--config .config/mutants.toml)

.PHONY: clean
clean: ## what a build made; the data folder stays
	cargo clean

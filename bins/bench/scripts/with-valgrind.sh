#!/usr/bin/env bash
# Runs a command that needs valgrind:
#
#   with-valgrind.sh COMMAND [ARGUMENT...]
#
# Installs the system's package where it is missing and may be installed; without valgrind the command is not run, and that is an error.

set -euo pipefail

say() { printf 'with-valgrind: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-valgrind.sh COMMAND [ARGUMENT...]"
    exit 2
fi

if ! command -v valgrind >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "installing the package valgrind"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends valgrind; } >&2
fi
if ! command -v valgrind >/dev/null; then
    say "valgrind is needed: install the package valgrind (Debian, Ubuntu, Fedora)"
    exit 1
fi
exec "$@"

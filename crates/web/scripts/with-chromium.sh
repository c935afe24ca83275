#!/usr/bin/env bash
# Runs a command with a browser to drive:
#
#   with-chromium.sh COMMAND [ARGUMENT...]
#
# Starts the system's own chromedriver on a free loopback port, exports TEST_WEBDRIVER_URL and, where it can be had, TEST_AXE (the
# accessibility checker's file), runs the command, stops the driver and
# exits as the command did. Where no browser can be had it says so and runs the command without: tests that need one then skip.

set -euo pipefail

say() { printf 'with-chromium: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-chromium.sh COMMAND [ARGUMENT...]"
    exit 2
fi

if ! command -v chromedriver >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "installing the packages chromium and chromium-driver"
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver; } >&2; then
        say "the packages chromium and chromium-driver could not be installed"
    fi
fi
if ! command -v chromedriver >/dev/null; then
    say "no browser to drive: install the packages chromium and chromium-driver (Debian, Ubuntu) or chromedriver (Fedora)"
    exec "$@"
fi

log=$(mktemp "${TMPDIR:-/tmp}/brownstone-chromedriver.XXXXXX")
driver_pid=
command_pid=

# Invoked by the trap.
# shellcheck disable=SC2317,SC2329
cleanup() {
    trap '' INT TERM HUP
    for pid in $command_pid $driver_pid; do
        if kill -0 "$pid" 2>/dev/null; then
            kill -TERM "$pid" 2>/dev/null || true
            wait "$pid" 2>/dev/null || true
        fi
    done
    rm -f -- "$log"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Port 0: the driver picks a free one and says which.
chromedriver --port=0 >"$log" 2>&1 &
driver_pid=$!
port=
for _ in $(seq 200); do
    port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' "$log")
    if [ -n "$port" ] || ! kill -0 "$driver_pid" 2>/dev/null; then
        break
    fi
    sleep 0.05
done
if [ -z "$port" ]; then
    cat "$log" >&2
    say "chromedriver did not start"
    exit 1
fi

export TEST_WEBDRIVER_URL="http://127.0.0.1:$port"
if axe=$("$(dirname "$0")/fetch-axe.sh"); then
    export TEST_AXE="$axe"
else
    say "pages are looked at without the accessibility checker"
fi
"$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"

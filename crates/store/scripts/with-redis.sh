#!/usr/bin/env bash
# Runs a command with a throwaway Redis or Valkey:
#
#   with-redis.sh COMMAND [ARGUMENT...]
#
# Starts a server of the system's own package on a free loopback port, with nothing on disk, exports TEST_REDIS_URL, runs
# the command, stops the server and exits as the command did. Goes with its neighbour:
#
#   with-postgres.sh with-redis.sh COMMAND [ARGUMENT...]
#
# Set BROWNSTONE_REDIS_SERVER to use one program.

set -euo pipefail

say() { printf 'with-redis: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-redis.sh COMMAND [ARGUMENT...]"
    exit 2
fi

find_server() {
    local candidate
    for candidate in ${BROWNSTONE_REDIS_SERVER:-redis-server valkey-server}; do
        command -v "$candidate" && return
    done
    return 1
}

# The package's own service is not wanted: a policy that forbids starts is put up while it is installed, unless there is one.
install_package() {
    local policy=/usr/sbin/policy-rc.d made=
    say "installing the package redis-server"
    if [ ! -e "$policy" ] && printf '#!/bin/sh\nexit 101\n' >"$policy" 2>/dev/null; then
        made=yes
        chmod 755 "$policy"
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends redis-server; } >&2 ||
        say "the package redis-server could not be installed"
    if [ -n "$made" ]; then
        rm -f "$policy"
    fi
    # Nor after the next start of the machine.
    if command -v systemctl >/dev/null; then
        systemctl disable redis-server >/dev/null 2>&1 || true
    fi
}

server=$(find_server || true)
if [ -z "$server" ] && [ -n "${BROWNSTONE_REDIS_SERVER:-}" ]; then
    say "BROWNSTONE_REDIS_SERVER names no program: $BROWNSTONE_REDIS_SERVER"
    exit 127
fi
if [ -z "$server" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    install_package
    server=$(find_server || true)
fi
if [ -z "$server" ]; then
    say "no Redis server found: install the package redis-server or valkey-server"
    exit 127
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/brownstone-redis.XXXXXX")
server_pid=
command_pid=

# Ends a child of ours and waits for it.
end() {
    if [ -n "$1" ] && kill -0 "$1" 2>/dev/null; then
        kill -TERM "$1" 2>/dev/null || true
        wait "$1" 2>/dev/null || true
    fi
}

# Invoked by the trap.
# shellcheck disable=SC2317,SC2329
cleanup() {
    trap '' INT TERM HUP
    end "$command_pid"
    end "$server_pid"
    rm -rf -- "$root"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

answers() { # PORT
    local line=
    { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
    printf 'PING\r\n' >&3
    read -r -t 1 line <&3 || true
    exec 3<&- 3>&-
    [ "${line%$'\r'}" = "+PONG" ]
}

# A port that is free now may be taken a moment later: the server ends then, and another is tried. What answers is ours, since
# two servers cannot listen on one port.
started=
for _ in 1 2 3 4 5; do
    port=$((20000 + RANDOM % 12000))
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        continue
    fi
    "$server" --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$root" \
        --maxmemory-policy noeviction --daemonize no >"$root/server.log" 2>&1 &
    server_pid=$!
    for _ in $(seq 100); do
        if ! kill -0 "$server_pid" 2>/dev/null; then
            break
        fi
        if answers "$port" && kill -0 "$server_pid" 2>/dev/null; then
            started=yes
            break 2
        fi
        sleep 0.05
    done
    end "$server_pid"
    server_pid=
done
if [ -z "$started" ]; then
    cat "$root/server.log" >&2 || true
    say "the server did not start"
    exit 1
fi

export TEST_REDIS_URL="redis://127.0.0.1:$port"
# In the background, so that a signal ends the wait and the command with it.
"$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"

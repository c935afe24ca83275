#!/usr/bin/env bash
# A small cluster on this machine, for a person to try:
#
#   bins/brownstone/scripts/cluster.sh [INSTANCES]
#
# Starts a throwaway PostgreSQL and Redis, three instances of the server on the sample city (or as many as are said), and a
# round-robin proxy before them, all on loopback. Prints the address, a key and a curl line. Ctrl-C stops all of it.
#
# Servers and proxy come from the system's packages, which are installed where that is permitted. CLUSTER_PROGRAM names the
# program; without it the release build is made. CLUSTER_PORT is the proxy's port, 8080 where it is free.

set -euo pipefail

say() { printf 'cluster: %s\n' "$*" >&2; }

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)

case "${1:-3}" in
    --inside) ;;
    *[!0-9]* | 0)
        say "usage: bins/brownstone/scripts/cluster.sh [INSTANCES]"
        exit 2
        ;;
    *)
        if [ -z "${CLUSTER_PROGRAM:-}" ]; then
            (cd "$root" && cargo build --locked --release -p brownstone)
            CLUSTER_PROGRAM=$root/target/release/brownstone
        fi
        export CLUSTER_PROGRAM
        servers=$root/crates/store/scripts
        exec "$servers/with-postgres.sh" "$servers/with-redis.sh" "${BASH_SOURCE[0]}" --inside "${1:-3}"
        ;;
esac
instances=$2

# The package's own service is not wanted: a policy that forbids starts is put up while it is installed, unless there is one.
install_proxy() {
    local policy=/usr/sbin/policy-rc.d made=
    say "installing the package haproxy"
    if [ ! -e "$policy" ] && printf '#!/bin/sh\nexit 101\n' >"$policy" 2>/dev/null; then
        made=yes
        chmod 755 "$policy"
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends haproxy; } >&2 ||
        say "the package haproxy could not be installed"
    if [ -n "$made" ]; then
        rm -f "$policy"
    fi
    # Nor after the next start of the machine.
    if command -v systemctl >/dev/null; then
        systemctl disable haproxy >/dev/null 2>&1 || true
    fi
}

find_proxy() { PATH=$PATH:/usr/sbin:/sbin command -v haproxy; }

proxy=$(find_proxy || true)
if [ -z "$proxy" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    install_proxy
    proxy=$(find_proxy || true)
fi
if [ -z "$proxy" ]; then
    say "no proxy found: install the package haproxy"
    exit 127
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/brownstone-cluster.XXXXXX")
pids=()

# Invoked by the trap.
# shellcheck disable=SC2317,SC2329
cleanup() {
    trap '' INT TERM HUP
    if [ "${#pids[@]}" -gt 0 ]; then
        kill -TERM "${pids[@]}" 2>/dev/null || true
        wait "${pids[@]}" 2>/dev/null || true
    fi
    rm -rf -- "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# Only what is said here: a caller's own settings are for one instance.
log=${BROWNSTONE_LOG:-warn}
for name in "${!BROWNSTONE_@}"; do
    unset "$name"
done
# Free ports for the listeners that are not called here.
export BROWNSTONE_WEB_ADDR=127.0.0.1:0 BROWNSTONE_METRICS_ADDR=127.0.0.1:0
export BROWNSTONE_DATABASE_URL=$TEST_POSTGRES_URL BROWNSTONE_QUOTA_URL=$TEST_REDIS_URL BROWNSTONE_LOG=$log

# Starts an instance and waits until it is ready. Its ports are free ones; it says which.
addresses=()
start() { # NUMBER
    local folder=$work/$1
    mkdir "$folder"
    (cd "$folder" && BROWNSTONE_DATA_DIR=$folder exec "$CLUSTER_PROGRAM" serve --sample --api-addr 127.0.0.1:0) \
        >"$folder/output" 2>"$folder/log" &
    pids+=("$!")
    for _ in $(seq 1200); do
        if grep -q '^key for ' "$folder/output"; then
            addresses+=("$(sed -n 's|^API listening on http://||p' "$folder/output")")
            return
        fi
        if ! kill -0 "${pids[-1]}" 2>/dev/null; then
            break
        fi
        sleep 0.05
    done
    cat "$folder/log" >&2
    say "instance $1 did not start"
    exit 1
}
for number in $(seq "$instances"); do
    start "$number"
done

operator() { (cd "$work" && "$CLUSTER_PROGRAM" "$@"); }
account=$(operator account create --email cluster@example.com)
key=$(operator key create --account "$account" --name cluster)

free_port() {
    local port=${CLUSTER_PORT:-8080}
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        port=$((20000 + RANDOM % 12000))
    done
    printf '%s\n' "$port"
}
port=$(free_port)

# Round robin over the instances that say they are ready. A connection that one refuses is tried at the next: nothing was done
# yet. What was sent is never sent again, since it may have been charged.
{
    cat <<CONFIG
global
    maxconn 4096
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    retries 3
    option redispatch 1
    retry-on conn-failure
    default-server check inter 500ms fall 2 rise 1
frontend api
    bind 127.0.0.1:$port
    default_backend instances
backend instances
    balance roundrobin
    option httpchk GET /readyz
CONFIG
    number=0
    for address in "${addresses[@]}"; do
        number=$((number + 1))
        printf '    server instance%s %s\n' "$number" "$address"
    done
} >"$work/haproxy.cfg"
"$proxy" -db -f "$work/haproxy.cfg" >"$work/proxy.log" 2>&1 &
pids+=("$!")
for _ in $(seq 200); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
        break
    fi
    if ! kill -0 "${pids[-1]}" 2>/dev/null; then
        cat "$work/proxy.log" >&2
        say "the proxy did not start"
        exit 1
    fi
    sleep 0.05
done

cat <<TEXT
Brownstone on $instances instances, http://127.0.0.1:$port
key: $key
try:
  curl -s http://127.0.0.1:$port/v1/lookup -H 'Authorization: Bearer $key' -H 'Content-Type: application/json' -d '{"address":"350 5th Ave, Manhattan"}'
PostgreSQL  $TEST_POSTGRES_URL
Redis       $TEST_REDIS_URL
TEXT
for number in "${!addresses[@]}"; do
    printf 'instance %s  http://%s  process %s\n' "$((number + 1))" "${addresses[$number]}" "${pids[$number]}"
done
printf 'Stop an instance (kill, or kill -9) and go on calling; Ctrl-C stops all.\n'
wait

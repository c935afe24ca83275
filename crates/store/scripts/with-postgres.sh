#!/usr/bin/env bash
# Runs a command with a throwaway PostgreSQL:
#
#   with-postgres.sh COMMAND [ARGUMENT...]
#
# Starts a server of the system's own package on a free loopback port with its data in a temporary folder, exports
# TEST_POSTGRES_URL, runs the command, stops the server, removes the folder and exits as the command did.
# Set BROWNSTONE_PG_BIN to use the programs of one folder.

set -euo pipefail

say() { printf 'with-postgres: %s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
    say "usage: with-postgres.sh COMMAND [ARGUMENT...]"
    exit 2
fi

# Prints the folder that holds the server's programs: Debian keeps them out of PATH.
find_bin() {
    local candidate
    if [ -n "${BROWNSTONE_PG_BIN:-}" ]; then
        [ -x "$BROWNSTONE_PG_BIN/initdb" ] && printf '%s\n' "$BROWNSTONE_PG_BIN"
        return
    fi
    if candidate=$(command -v initdb) && [ -x "$(dirname "$(readlink -f "$candidate")")/postgres" ]; then
        dirname "$(readlink -f "$candidate")"
        return
    fi
    for candidate in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin; do
        [ -x "$candidate/initdb" ] && [ -x "$candidate/postgres" ] && printf '%s\n' "$candidate"
    done | sort --version-sort | tail -n 1
}

bin=$(find_bin || true)
if [ -z "$bin" ] && [ -n "${BROWNSTONE_PG_BIN:-}" ]; then
    say "BROWNSTONE_PG_BIN names no folder with PostgreSQL's programs: $BROWNSTONE_PG_BIN"
    exit 127
fi
if [ -z "$bin" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "installing the package postgresql"
    if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql; } >&2; then
        say "the package postgresql could not be installed"
    fi
    bin=$(find_bin || true)
fi
if [ -z "$bin" ]; then
    say "no PostgreSQL server found: install the package postgresql (Debian, Ubuntu) or postgresql-server (Fedora)"
    exit 127
fi

# The server refuses to run as root.
as_server=()
if [ "$(id -u)" -eq 0 ]; then
    server_user=nobody
    if id postgres >/dev/null 2>&1; then
        server_user=postgres
    fi
    if command -v runuser >/dev/null; then
        as_server=(runuser -u "$server_user" --)
    elif command -v setpriv >/dev/null; then
        as_server=(setpriv --reuid "$server_user" --clear-groups --)
    else
        say "as root this needs runuser or setpriv (package util-linux) to start the server as another user"
        exit 127
    fi
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/brownstone-pg.XXXXXX")
started=
command_pid=

# Invoked by the trap.
# shellcheck disable=SC2317,SC2329
cleanup() {
    trap '' INT TERM HUP
    if [ -n "$command_pid" ] && kill -0 "$command_pid" 2>/dev/null; then
        kill -TERM "$command_pid" 2>/dev/null || true
        wait "$command_pid" 2>/dev/null || true
    fi
    if [ -n "$started" ]; then
        # Immediate: nothing in it is worth a checkpoint.
        "${as_server[@]}" "$bin/pg_ctl" --pgdata "$root/data" --mode immediate --wait --silent stop >&2 || true
    fi
    rm -rf -- "$root"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

mkdir "$root/socket"
if [ "${#as_server[@]}" -gt 0 ]; then
    chown -R "$server_user" "$root"
fi
# The server's user may have no right to the folder this was called from.
cd_root() { (cd "$root" && "$@"); }

if ! cd_root "${as_server[@]}" "$bin/initdb" --pgdata "$root/data" --username brownstone --auth trust \
    --encoding UTF8 --locale C --no-sync >"$root/initdb.log" 2>&1; then
    cat "$root/initdb.log" >&2
    say "initdb failed"
    exit 1
fi

# TLS beside the plain connections, where openssl is there to make an authority and a certificate of it.
tls_options=
if command -v openssl >/dev/null; then
    mkdir "$root/tls"
    if (
        cd "$root/tls"
        new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
        openssl req -x509 "${new_key[@]}" -keyout ca.key -out ca.pem -days 2 -subj /CN=brownstone-test-authority
        openssl req "${new_key[@]}" -keyout server.key -out server.csr -subj /CN=localhost
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >server.ext
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out server.pem
        chmod 600 server.key
    ) >"$root/tls.log" 2>&1; then
        if [ "${#as_server[@]}" -gt 0 ]; then
            chown -R "$server_user" "$root/tls"
        fi
        tls_options=" -c ssl=on -c ssl_cert_file=$root/tls/server.pem -c ssl_key_file=$root/tls/server.key"
        chmod 755 "$root" "$root/tls"
        export TEST_POSTGRES_CA="$root/tls/ca.pem"
    fi
fi

# A port that is free now may be taken a moment later, so another is tried. Nothing is listening where nothing answers.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            printf '%s\n' "$port"
            return
        fi
    done
}

for _ in 1 2 3 4 5; do
    port=$(free_port)
    options="-c listen_addresses=127.0.0.1 -p $port -k $root/socket -c fsync=off -c synchronous_commit=off"
    options="$options -c full_page_writes=off -c max_connections=200$tls_options"
    if cd_root "${as_server[@]}" "$bin/pg_ctl" --pgdata "$root/data" --log "$root/data/server.log" \
        --options "$options" --wait --silent start >&2; then
        started=yes
        break
    fi
done
if [ -z "$started" ]; then
    cat "$root/data/server.log" >&2 || true
    say "the server did not start"
    exit 1
fi

export TEST_POSTGRES_URL="postgres://brownstone@127.0.0.1:$port/postgres"
# In the background, so that a signal ends the wait and the command with it.
"$@" <&0 &
command_pid=$!
status=0
wait "$command_pid" || status=$?
command_pid=
exit "$status"

#!/bin/sh
# Makes sure that the PostgreSQL server programs that the tests start are
# installed. Does nothing if they are, or if SOTTO_TEST_POSTGRES_URL names a
# server to use instead.
set -eu

if [ -n "${SOTTO_TEST_POSTGRES_URL:-}" ]; then
	exit 0
fi
if command -v initdb >/dev/null && command -v postgres >/dev/null; then
	exit 0
fi
for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
	/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
	if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then
		exit 0
	fi
done

explain() {
	cat >&2 <<'END'
The ledger's tests need a PostgreSQL server, and none is installed. Either
  - install one: "apt-get install postgresql" on Debian and Ubuntu,
    "dnf install postgresql-server" on Fedora, "brew install postgresql" on macOS
    (it need not be started), or
  - set SOTTO_TEST_POSTGRES_URL to the URL of a server whose role may create
    databases.
END
	exit 1
}

command -v apt-get >/dev/null || explain
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root=sudo
else
	explain
fi
# The server only: while this file is there, installing makes and starts no
# cluster of the system's own.
conf=/etc/postgresql-common/createcluster.d/sotto-tests.conf
$as_root mkdir -p "${conf%/*}"
echo 'create_main_cluster = false' | $as_root tee "$conf" >/dev/null
trap '$as_root rm -f "$conf"' EXIT
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql

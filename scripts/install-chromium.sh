#!/bin/sh
# Makes sure that a Chromium is installed, which the dashboard's tests drive.
# Does nothing if one is, or if SOTTO_TEST_CHROMIUM names the program.
set -eu

if [ -n "${SOTTO_TEST_CHROMIUM:-}" ]; then
	exit 0
fi
for name in chromium chromium-browser google-chrome google-chrome-stable headless-shell; do
	if command -v "$name" >/dev/null; then
		exit 0
	fi
done
if [ -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ]; then
	exit 0
fi

explain() {
	cat >&2 <<'END'
The dashboard's tests need a Chromium, and none is installed. Either
  - install one: "apt-get install chromium" on Debian, "dnf install chromium" on
    Fedora, "brew install --cask google-chrome" on macOS, or
  - set SOTTO_TEST_CHROMIUM to the program's path.
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
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core || explain

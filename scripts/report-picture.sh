#!/bin/sh
# Draws docs/pictures/report.png: the report of a real run, on the made-up messages of
# "sotto demo" and after it, so that the budget has several users. Takes some ten minutes;
# a folder of a demo that is complete saves half of them.
#
#   scripts/report-picture.sh [DIR]
set -eu

cd "$(dirname "$0")/.."
sotto=${SOTTO:-bin/sotto}
dir=$(realpath -m "${1:-sotto-demo}")
[ -f "$dir/release-desk/certificate.json" ] || "$sotto" demo --out "$dir"

export SOTTO_LEDGER="$dir/ledger.db" SOTTO_KEYS="$dir/keys" SOTTO_PRIVATE="$dir/private"
if [ ! -d "$dir/picture" ]; then
	"$sotto" ledger grant demo --epsilon 2 --delta 1e-6 --reason 'a run whose report is drawn'
fi
"$sotto" synth --task "$dir/desk.toml" --data "$dir/messages.jsonl" --size 6000 --epsilon 1 --delta 1e-6 \
	--time 2m --out "$dir/picture"
"$sotto" verify "$dir/picture"

browser=${SOTTO_TEST_CHROMIUM:-}
for name in chromium chromium-browser google-chrome google-chrome-stable headless-shell; do
	[ -n "$browser" ] || browser=$(command -v "$name" || true)
done
[ -n "$browser" ] || { echo "no Chromium is installed: scripts/install-chromium.sh installs one" >&2; exit 1; }
set -- --headless --disable-gpu --hide-scrollbars --user-data-dir="$(mktemp -d)"
[ "$(id -u)" != 0 ] || set -- "$@" --no-sandbox # it does not run as root otherwise
"$browser" "$@" --window-size=900,1560 --screenshot=docs/pictures/report.png "file://$dir/picture/report.html"
"$browser" "$@" --no-pdf-header-footer --print-to-pdf="$dir/picture.pdf" "file://$dir/picture/report.html"
echo "docs/pictures/report.png is drawn; $dir/picture.pdf is the same on paper"

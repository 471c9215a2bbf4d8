#!/bin/bash
# Compares with DSPy on this machine: exports the data sets, serves the model, runs compare.py, prints a table.
#
#	run.sh DATA [flags of compare.py]
#
# DATA is a folder of data sets. By default one small case runs on the embedded engine. Settings by
# environment: PYTHON (one that has DSPy), SUITE, DATASETS, MODEL, SERVE (flags of the server, such as
# "-python python3 -cache-gib 80 -tokens 2000000" for a GPU), OUT (a folder).
set -euo pipefail
cd "$(dirname "$0")/../.."
data=$1
shift
python=${PYTHON:-python3} model=${MODEL:-smollm2} out=${OUT:-.cache/dspy}
sets=${DATASETS:-mit-d} serve=${SERVE:--engine embedded}
small=()
[ -n "${SERVE:-}" ] || small=(--candidates 2 --train 50 --val 20 --dev 4 --items 50 --threads 8)
mkdir -p "$out/logs" .cache/bin
go run ./bench/dspy/export -suite "${SUITE:-choose-text}" -data "$data" -out "$out/data"
go build -o .cache/bin/gpu ./bench/gpu
address=127.0.0.1:${PORT:-8123}
# The server is waited for by the line that it prints.
.cache/bin/gpu serve -model "$model" -address "$address" $serve 2>"$out/server.log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true; tail -n 1 "$out/server.log"' EXIT
until grep -q ' on http' "$out/server.log"; do
	kill -0 $server 2>/dev/null || { echo "the server ended: see $out/server.log"; exit 1; }
	sleep 0.5
done
files=()
for name in ${sets//,/ }; do files+=("$out/data/$name.json.gz"); done
"$python" bench/dspy/compare.py "${files[@]}" --url "http://$address/v1" --model "$model" --out "$out/dspy-$model.jsonl" --logs "$out/logs" --timeout 1800 "${small[@]}" "$@"
"$python" bench/dspy/summary.py "$out/dspy-$model.jsonl"

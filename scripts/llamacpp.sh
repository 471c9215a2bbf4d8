#!/bin/sh
# llama.cpp's own server, for the tests of lm/remote.
#
#   scripts/llamacpp.sh install           into .venv/llamacpp: a wheel of 34 MB, once
#   scripts/llamacpp.sh serve MODEL PORT  runs until it is killed
#
# The wheel (xllamacpp) holds llama.cpp's server as a library. It is built for AVX2
# and so correct but slow; nothing is measured with it.
set -eu
cd "$(dirname "$0")/.."

version=2026.10.11549
venv=.venv/llamacpp

install() {
	[ -e "$venv/installed-$version" ] && return
	command -v python3 >/dev/null || {
		echo "python3 is needed to install llama.cpp's server" >&2
		exit 1
	}
	[ -x "$venv/bin/pip" ] || python3 -I -m venv "$venv" || {
		echo "python3 cannot make a virtual environment: install python3-venv" >&2
		exit 1
	}
	"$venv/bin/pip" install --quiet --disable-pip-version-check "xllamacpp==$version"
	touch "$venv/installed-$version"
}

case "${1:-}" in
install)
	install
	;;
serve)
	[ $# -eq 3 ] || exit 2
	install
	# Without the buffers that use AMX, which faults on some virtual machines.
	exec "$venv/bin/python" - "$2" "$3" <<'END'
import signal, sys
import xllamacpp

p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.model_alias = {"tiny"}
p.hostnames = ["127.0.0.1"]
p.port = int(sys.argv[2])
p.n_parallel = 4
p.n_ctx = 4 * 512
p.no_extra_bufts = True
# One thread: several wait for each other by spinning, which is slow beside others.
p.cpuparams.n_threads = 1
p.cpuparams_batch.n_threads = 1
# No half precision anywhere, because the tests compare closely.
p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
p.endpoint_props = p.endpoint_metrics = True
p.kv_unified = False
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
signal.pause()
END
	;;
*)
	sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

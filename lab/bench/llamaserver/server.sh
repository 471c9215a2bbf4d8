#!/bin/sh
# llama.cpp's server, built on this machine for this machine, to compare with.
#
#   lab/bench/llamaserver/server.sh build    into .venv/llama-server, once: about 15 minutes on 2 cores
#   lab/bench/llamaserver/server.sh version  what was built
#
# The source is the one inside llama-cpp-python, from PyPI, as for make bench-lm. It is
# built without AMX: under some hypervisors those instructions fault though the processor
# reports them, and without them it may use its other fast paths.
set -eu
cd "$(dirname "$0")/../../.."

version=0.3.36
home=.venv/llama-server

build() {
	[ -x "$home/bin/llama-server" ] && [ -e "$home/built-$version" ] && return
	for tool in python3 cmake c++; do
		command -v $tool >/dev/null || {
			echo "$tool is needed to build llama.cpp's server" >&2
			exit 1
		}
	done
	flags=
	case "$(uname -m)" in
	x86_64 | amd64) flags="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16" ;;
	esac
	mkdir -p "$home/source"
	if [ ! -e "$home/llama_cpp_python-$version.tar.gz" ]; then
		[ -x "$home/pip/bin/pip" ] || python3 -m venv "$home/pip"
		"$home/pip/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python -d "$home" "llama-cpp-python==$version"
	fi
	tar xzf "$home"/llama_cpp_python-$version.tar.gz -C "$home/source" --strip-components 3 "llama_cpp_python-$version/vendor/llama.cpp"
	rm -f "$home/source/.git"
	echo "== building llama.cpp's server (once, about 15 minutes on 2 cores)"
	cmake -S "$home/source" -B "$home/build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF \
		-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
		-DLLAMA_OPENSSL=OFF "-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" >"$home/configure.log"
	cmake --build "$home/build" --target llama-server --parallel "${JOBS:-$(nproc)}" >"$home/build.log" 2>&1 || {
		tail -20 "$home/build.log" >&2
		exit 1
	}
	mkdir -p "$home/bin"
	mv "$home/build/bin/llama-server" "$home/bin/"
	rm -rf "$home/source" "$home/build" "$home/pip" "$home"/*.tar.gz
	touch "$home/built-$version"
}

case "${1:-}" in
build) build ;;
version) "$home/bin/llama-server" --version 2>&1 ;;
*)
	sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

#!/usr/bin/env bash
# Runs the tests of a tier, and ends with the minutes of each part and the slowest tests.
#
#   scripts/test.sh check|test|rest|arm64 [FLAG…]     FLAGs are go test's
#
#   check  every package of the program and of tools/, without what is long
#   test   all of their tests but TestLong…
#   rest   what "test" leaves out: TestLong…, the race detector, modules beside the program,
#          the tool of releases, other systems, and a part of an emulated arm64 processor
#   arm64  all of the engine on that processor, with the real models
set -uo pipefail
cd "$(dirname "$0")/.."
tier=${1:?name a tier}
shift
flags=("$@")

# The same for every compilation, so that each package is compiled once (the Makefile has them too).
export GOFLAGS=${GOFLAGS:--mod=readonly -buildvcs=false -trimpath -gcflags=all=-dwarf=false} CGO_ENABLED=0
# One package more than there are processors: tests wait for servers and time-outs part of the time.
jobs=$(($(getconf _NPROCESSORS_ONLN) + 1))
gotestsum=$(GOWORK=off go -C tools tool -n gotestsum) || exit 1
results=$(mktemp -d) || exit 1
trap 'rm -rf "$results" ${memory:+"$memory"}' EXIT
failed=0
n=0

# Temporary files are in memory where there is room: on a disk, tests of what survives a crash
# wait for it most of their time. Compiled programs are too large for it. With check the folder
# has one name, because Go's cache of results looks at TMPDIR.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4194304 ] 2>/dev/null; then
	if [ "$tier" = check ]; then
		dir=/dev/shm/sotto-check-$(id -u)
		mkdir -m 700 "$dir" 2>/dev/null || [ -O "$dir" ] || dir=
	else
		memory=$(mktemp -d /dev/shm/sotto-test-XXXXXX)
		dir=$memory
	fi
	if [ -n "$dir" ]; then
		export GOTMPDIR=${GOTMPDIR:-/tmp} TMPDIR=$dir
		chmod 1777 "$dir"
	fi
fi

# part TITLE FOLDER ARGUMENT…: go test in the folder of a module.
part() {
	local title=$1 dir=$2 begun=$SECONDS
	shift 2
	n=$((n + 1))
	echo "== $title"
	(cd "$dir" && "$gotestsum" --format pkgname --jsonfile "$results/$n.json" -- -vet=off '-ldflags=-s -w' -p="$jobs" -timeout=45m "$@" ${flags[@]+"${flags[@]}"}) || failed=1
	printf '%6.1f  %s\n' "$(bc -l <<<"($SECONDS-$begun)/60")" "$title" >>"$results/minutes"
}

# folders PATTERN FILES: those of the program with a line like this, as packages.
folders() {
	git grep -lE "$1" -- "$2" ':!*/testdata/*' ':!lab' ':!tools' ':!engines' ':!internal/engine/kernel/gen' | xargs -r -n1 dirname | sort -u | sed 's,^,./,'
}

# tested lists those of the named packages that have tests.
tested() {
	for p in "$@"; do compgen -G "$p/*_test.go" >/dev/null && echo "$p"; done
}

# Packages that start goroutines and take long: under the race detector only their tests called
# …Concurrent… run.
partly=(cmd/internal/cli/model cmd/internal/cli/serve cmd/internal/cli/start cmd/internal/serve/web internal/audit
	internal/private/table internal/engine/bert internal/engine/llama lm/remote privacy/accountant)

races() {
	if ! command -v "$(go env CC)" >/dev/null; then
		echo "== WITHOUT the race detector: it needs a C compiler, and there is none"
		return
	fi
	local started whole some
	started=$( (folders '^[[:space:]]+go |\.Go\(' '*.go' && folders 'lmtest\.Run' '*_test.go') | sort -u)
	whole=$(tested $started | grep -vxF "$(printf './%s\n' "${partly[@]}")")
	some=$(folders '^func Test[A-Za-z0-9]*Concurrent' '*_test.go' | grep -vxF "$whole")
	CGO_ENABLED=1 GOWORK=off part "race detector" . -race '-skip=^Test(Plain|Long)' $whole
	CGO_ENABLED=1 GOWORK=off part "race detector, concurrent tests" . -race -run=Concurrent $some
}

# beside tests the modules that the program has nothing of.
beside() {
	git ls-files '*/go.mod' | xargs -n1 dirname | grep -vx tools | while read -r module; do
		if grep -q 'sotto-dp/sotto v0.0.0' "$module/go.mod"; then echo "auto $module"; else echo "off $module"; fi
	done
}

# emulated PROCESSOR ARGUMENT…: tests on an emulated arm64 processor.
emulated() {
	local cpu=$1 qemu
	shift
	if [ "$(go env GOHOSTARCH)" = arm64 ]; then return; fi
	qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || {
		echo "== WITHOUT tests on arm64: there is no qemu-aarch64, and it could not be installed"
		return
	}
	GOARCH=arm64 GOWORK=off part "arm64, emulated: $cpu" . "-exec=$qemu -cpu $cpu" "$@"
}

case $tier in
check)
	GOWORK=off part "short tests" . -short '-skip=^Test(Plain|Long)' ./...
	GOWORK=off part "short tests of tools" tools -short -count=1 ./links ./planted ./wheel
	;;
test)
	GOWORK=off part "tests" . -skip=^TestLong ./...
	# They read files of the repository that Go's cache of results does not see.
	GOWORK=off part "tests of tools" tools -count=1 ./links ./planted ./wheel
	;;
rest)
	GOWORK=off part "long tests" . -run=^TestLong $(folders '^func TestLong' '*_test.go')
	races
	GOWORK=off part "tests of releases" tools -count=1 ./release
	while read -r work module; do
		GOWORK=$work part "tests of $module" "$module" ./...
	done < <(beside)
	# Linux on arm64 is emulated below.
	for system in darwin/arm64 windows/amd64; do
		echo "== compiling for $system"
		GOWORK=off GOOS=${system%/*} GOARCH=${system#*/} go build -o /dev/null ./cmd/sotto || failed=1
	done
	# One processor has the instructions for dot and matrix products of bytes, the other has not.
	emulated max -short '-skip=^Test(FMA|Exp|Erf|Log)$' ./internal/engine/kernel
	emulated max -short ./internal/engine/gguf
	emulated max -short '-run=TinyReference|PagesAreShared' -skip=TinyReference/long ./internal/engine/llama
	emulated cortex-a72 -short '-run=Golden|Levels|MulQuantizedLargest' ./internal/engine/kernel
	;;
arm64)
	emulated max ./internal/engine/kernel ./internal/engine/mapfile ./internal/engine/gguf ./internal/engine/tokenizer ./internal/engine/llama ./internal/engine/bert
	emulated cortex-a72 ./internal/engine/kernel
	;;
*)
	sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

echo "== the slowest tests"
cat "$results"/*.json | "$gotestsum" tool slowest --threshold 2s | head -20
echo "== minutes of each part, with compiling"
cat "$results/minutes"
if [ $failed != 0 ]; then echo "== FAILED" >&2; fi
exit $failed

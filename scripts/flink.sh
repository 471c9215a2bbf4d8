#!/bin/sh
# A real Apache Flink on this machine, for the test of the Beam pipelines that needs one.
#
#   scripts/flink.sh install       Flink, Beam's runner and its job server from Maven
#                                  Central into .venv/flink: about 150 MB, once
#   scripts/flink.sh test [FLAGS]  starts a job manager, three task managers and a job
#                                  server, runs profile and perturb of 10 million rows on
#                                  them, kills task managers in the middle, and compares
#                                  with what comes out in memory; FLAGS are for go test
#
# Needs java (17 or 11) and mvn: Debian's default-jre-headless and maven. About 2 GB of
# memory for the cluster and 3 GB for the test. SOTTO_TEST_FLINK_ROWS=1000000 has fewer rows.
set -eu
cd "$(dirname "$0")/.."

jars=.venv/flink/jars

usage() {
	sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

install() {
	for tool in java mvn; do
		command -v $tool >/dev/null || {
			echo "$tool is needed for Flink: install default-jre-headless and maven" >&2
			exit 1
		}
	done
	cmp -s scripts/flink/pom.xml .venv/flink/pom.xml && return
	rm -rf "$jars"
	mkdir -p "$jars"
	echo "== Flink and Beam's runner for it, from Maven Central" >&2
	mvn -B -q -s scripts/flink/settings.xml -f scripts/flink/pom.xml \
		dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$PWD/$jars"
	cp scripts/flink/pom.xml .venv/flink/pom.xml
}

case "${1:-}" in
install)
	[ $# -eq 1 ] || usage
	install
	;;
test)
	shift
	install
	SOTTO_TEST_FLINK="$PWD/$jars" go test -C engines/beam -buildvcs=false -count 1 -timeout 60m -run 'TestFlink$' -v . "$@"
	;;
*) usage ;;
esac

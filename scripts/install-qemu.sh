#!/bin/sh
# Makes sure that qemu's emulator of arm64 programs is installed, which tests run the
# engine in. Does nothing if it is, or where the processor is an arm64. Where it cannot be
# installed, it says so, and these tests are left out.
set -eu

case "$(uname -m)" in
aarch64 | arm64) exit 0 ;;
esac
if command -v qemu-aarch64-static >/dev/null || command -v qemu-aarch64 >/dev/null; then
	exit 0
fi

without() {
	echo "$1: the engine is not tested on arm64. Install qemu's user emulation: \"apt-get install qemu-user-static\" on Debian and Ubuntu, \"dnf install qemu-user-static\" on Fedora" >&2
	exit 0
}

[ "$(uname -s)" = Linux ] || without "there is no qemu-aarch64 for this system"
command -v apt-get >/dev/null || without "there is no qemu-aarch64, and no apt-get to install it"
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root=sudo
else
	without "there is no qemu-aarch64, and only root may install it"
fi
$as_root apt-get update -q || without "qemu-aarch64 cannot be installed"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends qemu-user-static ||
	without "qemu-aarch64 cannot be installed"

# SPDX-License-Identifier: MIT
# What the tools share. Sourced, never run; leaves the caller in the project's
# root folder.

program=${0##*/}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) && cd "$root" || exit 1

say() {
	printf '%s: %s\n' "$program" "$*"
}

die() {
	printf '%s: %s\n' "$program" "$*" >&2
	exit 1
}

# configure DIR [MESON-SETUP-ARGS]: sets the build directory up, once, and
# anew when the arguments, the folder or the sources of libfuse have changed.
configure() {
	local dir=$1 key
	shift
	key="$root $* $(ls subprojects/packagecache 2>/dev/null || true)"
	if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/.configured" 2>/dev/null)" = "$key" ]; then
		return 0
	fi
	rm -rf "$dir"
	# Whatever is to be downloaded, tools/bootstrap has downloaded.
	quietly meson setup --wrap-mode=nodownload "$@" "$dir" || die "cannot configure '$dir'"
	printf '%s' "$key" >"$dir/.configured"
}

# quietly COMMAND...: its output is shown only when it fails.
quietly() {
	local log status=0
	log=$(mktemp) || return 1
	"$@" >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || cat "$log" >&2
	rm -f "$log"
	return "$status"
}

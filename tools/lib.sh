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
	key=$(printf '%q ' "$root" "$(ls subprojects/packagecache/*.tar.gz 2>/dev/null)" "$@")
	if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/.configured" 2>/dev/null)" = "$key" ]; then
		return 0
	fi
	if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -d "$dir/meson-private" ]; then
		die "'$dir' holds something else than a build: name an empty or a new folder"
	fi
	rm -rf "$dir"
	# Whatever is to be downloaded, tools/bootstrap has downloaded.
	quietly meson setup --wrap-mode=nodownload "$@" "$dir" || die "cannot configure '$dir'"
	printf '%s' "$key" >"$dir/.configured"
}

# reconfigure DIR: sets a directory that configure() has set up, up anew with
# the same arguments, when there is a reason to.
reconfigure() {
	local key=()
	[ -f "$1/.configured" ] || return 0
	eval "key=($(cat "$1/.configured"))" # written with %q
	configure "$1" "${key[@]:2}"
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

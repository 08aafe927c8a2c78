# SPDX-License-Identifier: MIT
# Functions shared by the tools. Sourced, never run. Changes to the project's root folder.

program=${0##*/}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) && cd "$root" || exit 1

say() {
	printf '%s: %s\n' "$program" "$*"
}

die() {
	printf '%s: %s\n' "$program" "$*" >&2
	exit 1
}

# configure DIR [MESON-SETUP-ARGS]: sets up the build directory, once, and again when the arguments,
# the folder or libfuse's sources have changed.
configure() {
	local dir=$1 key
	shift
	key=$(printf '%q ' "$root" "$(ls subprojects/packagecache/*.tar.gz 2>/dev/null)" "$@")
	if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/.configured" 2>/dev/null)" = "$key" ]; then
		return 0
	fi
	if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -d "$dir/meson-private" ]; then
		die "'$dir' is not a build directory: name an empty or a new folder"
	fi
	rm -rf "$dir"
	# tools/bootstrap has already downloaded everything.
	quietly meson setup --wrap-mode=nodownload "$@" "$dir" || die "cannot configure '$dir'"
	printf '%s' "$key" >"$dir/.configured"
}

# reconfigure DIR: sets up a directory of configure() again with the same arguments, if necessary.
reconfigure() {
	local key=()
	[ -f "$1/.configured" ] || return 0
	eval "key=($(cat "$1/.configured"))" # written with %q
	configure "$1" "${key[@]:2}"
}

# quietly COMMAND...: runs it, and shows its output only if it fails.
quietly() {
	local log status=0
	log=$(mktemp) || return 1
	"$@" >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || cat "$log" >&2
	rm -f "$log"
	return "$status"
}

# SPDX-License-Identifier: MIT
# Completion of offload(1) and offloadfs(8) for bash. The tool itself computes and quotes the
# candidates.

_offload() {
	local said rest
	mapfile -t said < <(command offload complete --bash "$COMP_WORDBREAKS" -- \
		"${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
	COMPREPLY=()
	[[ ${#said[@]} -gt 0 ]] || return 0
	rest=${said[-1]#:}
	unset 'said[-1]'
	if [[ ${#said[@]} -gt 0 ]]; then
		compopt -o nosort 2>/dev/null
		[[ ${#said[@]} -gt 1 || ${said[0]} != *[/=:,] ]] || compopt -o nospace
		COMPREPLY=("${said[@]}")
		return 0
	fi
	case $rest in
	files) compopt -o default ;;
	dirs) compopt -o dirnames -o filenames ;;
	command\ *)
		if declare -F _command_offset >/dev/null; then
			_command_offset "${rest#command }"
		else
			compopt -o default
		fi
		;;
	esac
}

complete -F _offload offload offloadfs

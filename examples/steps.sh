#!/bin/sh
# SPDX-License-Identifier: MIT
# steps.sh TASK COMMAND...
#
# For a harness that keeps steps instead of messages. Runs COMMAND, a shell command in one or more
# words, turns its output into a step, and prints the history of the task for the next prompt.
set -eu

task=$1
shift
output=$(mktemp)
trap 'rm -f "$output"' EXIT
code=0
sh -c "$*" >"$output" 2>&1 </dev/null || code=$?

# Python is only used for JSON quoting. A harness has the call and its result as objects already.
python3 - "$*" "$output" "$code" <<'PY' | offload reduce -t "$task" >/dev/null
import json, sys

command, output, code = sys.argv[1:]
text = open(output, encoding="utf-8", errors="replace").read()
result = {"stdout": text, "exit_code": int(code)}
print(json.dumps({"tool": "shell", "args": {"command": command}, "result": result}))
PY
offload compact -t "$task"

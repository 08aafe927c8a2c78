#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload call: the servers' calls, for programs that run the tool."""
import json
import os

import paths  # noqa: F401

from harness import OFFLOAD, SLOW, main, run, stopped, test


def call(case, name, args=None, code=0, words=("--json",)):
    """Returns the JSON on standard output, and standard error."""
    text = args if isinstance(args, bytes) else json.dumps(args).encode() if args else b""
    done = run(
        OFFLOAD,
        "call",
        name,
        "-d",
        case.mnt,
        *words,
        input=text,
        check=False,
        cwd="/",
        timeout=50 * SLOW,
    )
    assert done.returncode == code, done
    said = done.stderr.decode()
    assert said.count("\n") <= 1 and (not said or said.startswith("offload: call: ")), said
    return json.loads(done.stdout) if done.stdout else None, said


@test
def calls_are_listed(case):
    lines = run(OFFLOAD, "call").stdout.decode().splitlines()
    assert "memory_fetch  Read offloaded content" in lines, lines
    calls = json.loads(run(OFFLOAD, "call", "--json").stdout)["calls"]
    assert [f"{c['name']}  {c['title']}" for c in calls] == lines
    for c in calls:
        assert c["description"] and c["inputSchema"]["type"] == c["outputSchema"]["type"] == "object"


@test
def an_answer_has_what_its_schema_says(case):
    schemas = {
        c["name"]: c["outputSchema"]
        for c in json.loads(run(OFFLOAD, "call", "--json").stdout)["calls"]
    }
    with case.mount():
        made, said = call(case, "memory_offload", {"content": "a\nb\n", "title": "two lines"})
        assert not said
        ref = made["memory_refs"][0]["id"]
        for name, args in (
            ("memory_fetch", {"memory_id": ref}),
            ("memory_list", {}),
            ("memory_usage", {}),
            ("tasks", {}),
            ("agents", None),
        ):
            answer, _ = call(case, name, args)
            assert {*answer} == {*schemas[name]["properties"]}, (name, answer)
        assert call(case, "memory_fetch", {"memory_id": ref})[0]["text"] == "a\nb\n"


@test
def bytes_go_as_base64(case):
    with case.mount():
        args = {"content": "/wAK", "encoding": "base64"}
        made, _ = call(case, "memory_offload", args)
        path = os.path.join(case.mnt, "refs", made["memory_refs"][0]["id"])
        with open(path, "rb") as f:
            assert f.read() == b"\xff\x00\n"
        for wrong in ("/wA", "/wA=x", "é==="):
            answer, said = call(case, "memory_offload", {**args, "content": wrong}, code=2)
            assert answer["error"]["message"] == "content is not base64", answer


@test
def failures_are_told(case):
    with case.mount():
        for name, args, code, word, saying in (
            ("memory_fetch", {"memory_id": "zzzzzz"}, 1, "not_found", "zzzzzz"),
            ("memory_fetch", {"memory_id": "../x"}, 2, "invalid", "../x"),
            ("memory_fetch", {}, 2, "invalid", "memory_id"),
            ("memory_fetch", b"[]", 2, "invalid", "object"),
            ("memory_fetch", b"{", 2, "invalid", "must be a JSON object: line 1"),
            ("memory_fetch", b'{"memory_id": "\xff"}', 2, "invalid", "JSON"),
            ("memory_reap", {}, 2, "invalid", "'offload call' lists them"),
        ):
            answer, said = call(case, name, args, code)
            assert answer["error"]["code"] == word, answer
            assert saying in answer["error"]["message"] and saying in said, (answer, said)
            # Without --json, standard output has nothing but the answer.
            assert call(case, name, args, code, words=()) == (None, said)
    answer, said = call(case, "tasks", {}, code=1)
    assert answer["error"]["code"] == "not_found" and "not a mounted tree" in said, answer


@test
def a_daemon_that_hangs_is_given_up(case):
    os.environ["OFFLOAD_TIMEOUT"] = "1"
    with case.mount() as m:
        with stopped(m.process.pid):
            answer, _ = call(case, "tasks", {}, code=1)
        assert answer["error"]["code"] == "unavailable", answer


@test
def the_task_and_the_agent_have_defaults(case):
    with case.mount():
        os.environ.update(OFFLOAD_TASK="t", OFFLOAD_AGENT="a")
        made, _ = call(case, "memory_offload", {"content": "x"})
        assert made["memory_refs"][0]["task"] == "t"
        assert os.listdir(os.path.join(case.mnt, "agents/a/tasks")) == ["t"]


if __name__ == "__main__":
    main()

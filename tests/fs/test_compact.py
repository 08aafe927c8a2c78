#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload compact`, and the same text as tasks/<task>/context.md in the mount."""
import errno
import json
import os
import re
import stat
import subprocess

from files import MIB
from harness import (
    NOBODY,
    OFFLOAD,
    OFFLOADFS,
    RENAME_NOREPLACE,
    ROOT,
    main,
    raises,
    read,
    renameat2,
    run,
    same,
    test,
    write,
)

REFUSED = (errno.EROFS, errno.EACCES)
HEADER = b"# Steps so far, oldest first; "


def step(number, tool, args, observation, ref=None, error=None, **metadata):
    return {
        "id": f"step_{number:03}",
        "tool_name": tool,
        "minimal_args": args,
        "observation": observation,
        "outcome_ref": ref,
        "success": error is None,
        "error": error,
        "timestamp_ms": 1795291548000 + number,
        "metadata": metadata,
    }


def read_step(number, ref=None):
    size = 1000 * number
    return step(
        number, "fs:read_file", {"path": f"src/f{number}.c"},
        f"Read src/f{number}.c ({size} bytes, C)", ref, rule="fs:read_file", bytes=size,
    )


def make_step(number, code=0):
    return step(
        number, "Bash", {"command": f"make t{number}"}, f"make t{number}: exit {code}, 3 lines output",
        error=f"t{number} broke" if code else None, rule="system:shell", exit_code=code,
    )


def long_history(count):
    """Makes read steps with refs; every fifth step is a command, and every second command fails."""
    return [
        make_step(i, code=i // 5 % 2) if i % 5 == 0 else read_step(i, ref=f"q{i}z")
        for i in range(1, count + 1)
    ]


def save(m, task, steps, first=1):
    for number, one in enumerate(steps, first):
        m.make(f"tasks/{task}/history/step_{number:03}.json", json.dumps(one).encode())


def compact(case, *arguments, check=True, **options):
    return run(OFFLOAD, "compact", "--store", case.store, *arguments, check=check, **options)


def compact_json(case, *arguments, **options):
    return json.loads(compact(case, "--json", *arguments, **options).stdout)


def lines_of(steps):
    return b"".join(json.dumps(one).encode() + b"\n" for one in steps)


# --- The command ----------------------------------------------------------------------------------


@test
def the_forms_of_input_give_the_same(case):
    steps = long_history(12)
    want = compact(case, input=lines_of(steps)).stdout
    assert want.startswith(HEADER) and b"## From step 9 on, in full\n" in want, want
    same(compact(case, input=json.dumps(steps).encode()).stdout, want)
    same(compact(case, input=json.dumps({"steps": steps}, indent=2).encode()).stdout, want)
    write(case.path("a"), lines_of(steps[:5]))
    write(case.path("b"), json.dumps(steps[5:]).encode())
    same(compact(case, case.path("a"), case.path("b")).stdout, want)
    same(compact(case, case.path("a"), "-", input=lines_of(steps[5:])).stdout, want)
    same(compact(case, input=lines_of(steps)).stdout, want, "once more")


@test
def lines_groups_and_what_stays_in_full(case):
    steps = [read_step(1, "k1"), read_step(2), make_step(3), make_step(4, 2), read_step(5)]
    text = compact(case, "--keep", "1", "--budget", "5000", input=lines_of(steps * 2)).stdout.decode()
    assert text.count("\n- Read 2 files: src/f1.c (1.0 KB) [ref k1], src/f2.c (2.0 KB)\n") == 1, text
    assert "\n- Read 3 files: src/f5.c (5.0 KB), src/f1.c (1.0 KB) [ref k1], src/f2.c" in text, text
    assert text.count("\n- Ran `make t3` (exit 0)\n") == 2, text
    assert text.count("\n- Ran `make t4` (exit 2): failed: t4 broke\n") == 1, text
    assert text.endswith(
        "\n- step_005 fs:read_file: Read src/f5.c (5000 bytes, C)\n"
    ) and "\n## From step 9 on, in full\n- step_004 Bash: make t4: " in text, text


@test
def triggers(case):
    few = [read_step(i) for i in range(1, 6)]
    told = compact_json(case, input=lines_of(few))
    assert not told["compacted"] and told["tokens_before"] == told["tokens_after"], told
    assert "## All steps, in full\n" in told["text"], told
    told = compact_json(case, input=lines_of(few + [read_step(6)]))
    assert told["compacted"] and told["steps"] == 6, told
    # Few steps with long texts.
    big = [step(i, "x", {}, "word " * 800) for i in range(1, 6)]
    told = compact_json(case, input=lines_of(big))
    assert told["compacted"] and told["tokens_before"] > 2000, told
    assert told["tokens_after"] < told["tokens_before"], told


def check_kept(told, steps):
    """Checks that the text has every ref and every failure."""
    refs = [one["outcome_ref"] for one in steps if one["outcome_ref"]]
    assert told["refs"] == refs, told["refs"]
    for ref in refs:
        assert re.search(rf"\b{ref}\b", told["text"]), (ref, told["text"])
    for one in steps:
        if not one["success"]:
            assert re.search(rf"`{one['minimal_args']['command']}`.*{one['error']}", told["text"])


@test
def failures_and_refs_are_kept_whatever_the_budget(case):
    steps = long_history(200) + [read_step(i) for i in range(201, 204)]
    folded = -1
    for budget in (100000, 3000, 2000, 1000, 500, 1, 0):
        told = compact_json(case, "--budget", str(budget), input=lines_of(steps))
        check_kept(told, steps)
        assert told["folded"] >= folded, (budget, told)
        folded = told["folded"]
        assert told["tokens_after"] <= budget or folded == 200, (budget, told)
    assert "Earlier, 200 steps: 160 reads, 40 commands (20 failed)\n" in told["text"], told["text"]


@test
def the_newest_of_the_older_steps_keep_their_lines(case):
    steps = [read_step(i) for i in range(1, 101)]
    text = compact_json(case, "--budget", "400", input=lines_of(steps))["text"]
    assert "Earlier, " in text and "src/f1.c" not in text and "src/f96.c (96.0 KB)" in text, text


@test
def settings_of_the_store(case):
    os.mkdir(case.store)
    write(os.path.join(case.store, "context.ini"), b"[compact]\nkeep = 2\nsteps = 3\n")
    given = lines_of(long_history(4))
    assert b"## From step 3 on" in compact(case, input=given).stdout
    assert b"## From step 4 on" in compact(case, "--keep", "1", input=given).stdout
    write(os.path.join(case.store, "context.ini"), b"[compact]\nkep = 2\n")
    done = compact(case, input=given, check=False)
    assert done.returncode == 2 and not done.stdout, done
    want = f"offload: compact: {case.store}/context.ini:2: unknown key 'kep': did you mean 'keep'?\n"
    same(done.stderr, want.encode())
    os.unlink(os.path.join(case.store, "context.ini"))


MALFORMED = {
    "empty": (b"", "there are no steps"),
    "blank": (b" \n\t\r\n", "there are no steps"),
    "empty-array": (b"[]", "there are no steps"),
    "not-json": (b"once upon a time\n", "not valid JSON"),
    "cut-short": (lines_of(long_history(3))[:-10], "at line 3, column "),
    "behind": (lines_of(long_history(2)) + b"]\n", "at line 3, column 1"),
    "binary": (b"\x7fELF\x02\x01\x01\0\0\0" + bytes(range(256)), "not valid JSON"),
    "not-utf-8": (b'{"tool_name": "\xff"}', "bytes that are not UTF-8"),
    "a-number": (b"3\n", "step 1: a step is a JSON object"),
    "messages": (b'{"messages": [{"role": "user"}]}', "step 1: a step has neither"),
    "one-is-none": (lines_of(long_history(2)) + b"[{}]", "line 3: step 3: a step has neither"),
    "deep": (b'{"tool_name": "x", "a": ' + b"[" * 600, "more than 512 levels of nesting"),
    "very-deep": (b"[" * 5000000, "more than 512 levels of nesting"),
    "long-line": (b"x" * 5000000, "not valid JSON"),
}


@test(variants=MALFORMED)
def what_is_refused(case, variant):
    given, words = variant
    for arguments in ((), ("--json",)):
        done = compact(case, *arguments, input=given, check=False)
        said = done.stderr.decode()
        assert done.returncode == 2 and not done.stdout, done
        assert said.startswith("offload: compact: 'standard input': ") and words in said, said
        assert said.count("\n") == 1 and len(said) < 600, said


@test(timeout=120)
def a_hundred_megabytes(case):
    huge = case.path("huge")
    with open(huge, "wb") as f:
        f.truncate(100 * MIB)
    done = compact(case, huge, check=False)
    assert done.returncode == 2 and not done.stdout, done
    assert b"is larger than 64 MiB" in done.stderr, done
    with open(huge, "rb") as f:
        done = compact(case, stdin=f, check=False)
    assert done.returncode == 2 and b"is larger than 64 MiB" in done.stderr, done
    # A single step nearly as large as the limit for the whole history.
    write(huge, json.dumps(step(1, "x", {"a": "b" * (20 * MIB)}, "c" * (20 * MIB))).encode())
    text = compact(case, huge).stdout
    assert len(text) < 8192 and text.startswith(HEADER), len(text)


@test
def operands_that_are_refused(case):
    for arguments, words in (
        (("--keep", "-1"), "'-1' is not a count of steps"),
        (("--keep", "all"), "'all' is not a count of steps"),
        (("--budget", "1k"), "'1k' is not a count of tokens"),
        (("--budget", "9" * 30), f"'{'9' * 30}' is not a count of tokens"),
        (("-t", "T", "x.json"), "-t reads the steps of a task: unexpected argument 'x.json'"),
        (("--frob",), "unknown option '--frob'"),
        ((case.path("missing"),), f"cannot read '{case.path('missing')}': No such file"),
        ((case.dir,), f"cannot read '{case.dir}': Is a directory"),
    ):
        done = compact(case, *arguments, check=False)
        assert done.returncode == 2 and not done.stdout, done
        assert done.stderr.decode().startswith(f"offload: compact: {words}"), done


@test
def a_task_mounted_or_not(case):
    steps = long_history(12)
    with case.mount() as m:
        save(m, "T", steps)
        m.make("tasks/T/history/step_010.compact", b"not read\n")
        m.make("tasks/T/history/notes.json", b"not read\n")
        m.make("tasks/empty/outputs/x", b"")
        mounted = run(OFFLOAD, "compact", "--dir", m.mnt, "-t", "T").stdout
        same(mounted, read(m("tasks/T/context.md")), "the file")
    same(compact(case, "-t", "T").stdout, mounted, "unmounted")
    same(compact(case, input=lines_of(steps)).stdout, mounted, "given")
    assert b"## From step 9 on" in mounted, mounted
    for task, words in (("U", b"U"), ("../T", b"../T"), ("empty", b"the task 'empty' has no steps")):
        done = compact(case, "-t", task, check=False)
        assert done.returncode == 1 and not done.stdout and words in done.stderr, done


@test
def steps_are_in_the_order_of_their_numbers(case):
    with case.mount() as m:
        for name, number in (("2", 2), ("10", 4), ("001", 1), ("0003", 3), ("x", 5)):
            m.make(f"tasks/T/history/step_{name}.json", json.dumps(read_step(number)).encode())
        text = read(m("tasks/T/context.md")).decode()
    assert re.findall(r"- step_00(\d)", text) == ["1", "2", "3", "4", "5"], text


@test
def steps_that_are_none_are_left_out(case):
    with case.mount() as m:
        save(m, "T", long_history(4))
        m.make("tasks/T/history/step_002.json", b"")
        m.make("tasks/T/history/step_003.json", b"\x7fELF\0\0")
        m.make("tasks/T/history/step_005.json", b'{"note": "mine"}')
        m.make("tasks/T/history/step_006.json", b"[" * 100000)
        m.make("tasks/T/history/step_007.json", b" " * (2 * MIB))
        os.mkdir(m("tasks/T/history/step_008.json"))
        os.symlink("step_001.json", m("tasks/T/history/step_009.json"))
        text = read(m("tasks/T/context.md")).decode()
        told = json.loads(run(OFFLOAD, "compact", "--dir", m.mnt, "-t", "T", "--json").stdout)
    assert "## All steps, in full\n- step_001 " in text and "\n- step_004 " in text, text
    last = text.splitlines()[-1]
    assert last.startswith("Left out, as they are no steps: step_002.json (the input is empty"), last
    for number in (3, 5, 6, 7):
        assert f"step_00{number}.json (" in last, last
    assert "step_008" not in text and "step_009" not in text, text
    same(told["text"].encode(), text.encode(), "the command")
    assert told["skipped"] == 5, told


# --- The file -------------------------------------------------------------------------------------


def made(path):
    """Returns the content of a file, whose size must agree with stat()."""
    size = os.stat(path).st_size
    data = read(path)
    assert size == len(data), f"st_size {size}, {len(data)} bytes"
    return data


@test
def a_task_has_it_as_soon_as_there_is_a_step(case):
    with case.mount() as m:
        path = m("tasks/T/context.md")
        with raises(errno.ENOENT):
            os.stat(path)
        m.make("tasks/T/outputs/x", b"x")
        for _ in range(2):
            with raises(errno.ENOENT):
                read(path)
        os.mkdir(m("tasks/T/history"))
        with raises(errno.ENOENT):
            read(path)
        with raises(errno.ENOENT):
            read(path + ":1-2")
        save(m, "T", [read_step(1)])
        assert b"## All steps, in full\n" in made(path)
        os.unlink(m("tasks/T/history/step_001.json"))
        with raises(errno.ENOENT):
            os.stat(path)
        for other in ("tasks/context.md", "context.md", "cache/context.md", "tasks/T/history/context.md",
                      "tasks/T/Context.md", "views/context.md"):
            with raises(errno.ENOENT):
                os.stat(m(other))


@test
def it_is_a_file_that_only_reads(case):
    with case.mount() as m:
        save(m, "T", long_history(12))
        path = m("tasks/T/context.md")
        st = os.stat(path)
        assert stat.S_ISREG(st.st_mode) and not st.st_mode & 0o333 and st.st_nlink == 1, st
        assert st.st_mode & 0o444 == os.stat(m("tasks/T/history")).st_mode & 0o444, oct(st.st_mode)
        assert st.st_ino == os.stat(path).st_ino, "the same as long as it says the same"
        assert sorted(os.listdir(m("tasks/T"))) == ["history"]
        assert run("grep", "-rl", "oldest first", m("tasks"), check=False).stdout == b""
        for attempt in (
            lambda: open(path, "ab", buffering=0).write(b"x"),
            lambda: os.truncate(path, 0),
            lambda: os.chmod(path, 0o644),
            lambda: os.unlink(path),
            lambda: os.rename(path, m("tasks/T/mine")),
        ):
            with raises(*REFUSED):
                attempt()
        with raises(errno.EEXIST):
            os.mkdir(path)
        with raises(errno.EEXIST):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        with raises(errno.ENOTDIR):
            os.listdir(path)
        assert made(path).startswith(HEADER)


@test
def it_changes_with_the_steps(case):
    with case.mount() as m:
        save(m, "T", long_history(9))
        path = m("tasks/T/context.md")
        first, ino = made(path), os.stat(path).st_ino
        with open(path, "rb") as held:
            save(m, "T", [make_step(10, 1)], 10)
            second = made(path)
            assert b"## From step 5 on" in second and b"failed: t10 broke" in second, second
            assert os.stat(path).st_ino != ino
            same(held.read(), first, "who has it open reads what was opened")
        write(m("tasks/T/history/step_010.json"), json.dumps(make_step(10)).encode())
        assert b"t10 broke" not in made(path)
        os.rename(m("tasks/T/history/step_010.json"), m("tasks/T/history/step_x.txt"))
        same(made(path), first)
        assert os.stat(path).st_ino == ino


@test
def slices_of_it(case):
    with case.mount() as m:
        save(m, "T", long_history(30))
        path = m("tasks/T/context.md")
        lines = read(path).splitlines(True)
        same(made(path + ":2-3"), b"".join(lines[1:3]))
        same(made(path + ":-1"), lines[-1])
        same(made(path + ":b0-9"), b"".join(lines)[:10])
        same(made(path + "#L2-L3"), b"".join(lines[1:3]))
        with raises(errno.ERANGE):
            read(path + ":5000-")
        with raises(errno.EINVAL):
            read(path + ":3-2")
        save(m, "T", [read_step(31)], 31)
        assert b"## From step 29 on" in b"".join(read(path + ":1-").splitlines(True))


@test
def a_file_of_that_name_takes_its_place(case):
    with case.mount() as m:
        path = m("tasks/T/context.md")
        m.make("tasks/T/context.md", b"mine\n")
        save(m, "T", long_history(9))
        same(made(path), b"mine\n", "made before there were steps")
        same(read(path + ":1"), b"mine\n")
        write(path, b"mine, too\n")
        assert "context.md" in os.listdir(m("tasks/T"))
        os.rename(path, m("tasks/T/away"))
        text = made(path)
        assert text.startswith(HEADER)
        with raises(errno.EEXIST):
            renameat2(m("tasks/T/away"), path, RENAME_NOREPLACE)
        os.rename(m("tasks/T/away"), path)
        same(made(path), b"mine, too\n")
        os.unlink(path)
        same(made(path), text)
        assert os.listdir(m("tasks/T")) == ["history"]


@test
def it_outlives_mounts_and_tasks_do_not_outlive_it(case):
    with case.mount() as m:
        save(m, "T", long_history(20))
        text = made(m("tasks/T/context.md"))
        m.remount()
        same(made(m("tasks/T/context.md")), text)
        m.crash()
        same(made(m("tasks/T/context.md")), text)
        os.rename(m("tasks/T"), m("tasks/U"))
        same(made(m("tasks/U/context.md")), text)
        with raises(errno.ENOENT):
            os.stat(m("tasks/T/context.md"))
        os.rename(m("tasks/U"), m("persistent/U"))
        with raises(errno.ENOENT):
            os.stat(m("persistent/U/context.md"))
        os.rename(m("persistent/U"), m("tasks/T"))
        run("rm", "-r", m("tasks/T"))
        with raises(errno.ENOENT):
            os.stat(m("tasks/T/context.md"))


@test
def a_long_history(case):
    steps = long_history(1000)
    with case.mount() as m:
        save(m, "T", steps)
        told = json.loads(run(OFFLOAD, "compact", "--dir", m.mnt, "-t", "T", "--json").stdout)
        check_kept(told, steps)
        same(told["text"].encode(), made(m("tasks/T/context.md")))


@test
def many_read_it_while_steps_come(case):
    with case.mount() as m:
        save(m, "T", [read_step(1)])
        path = m("tasks/T/context.md")
        readers = [
            subprocess.Popen(["sh", "-c", f"for i in $(seq 100); do cat '{path}' > /dev/null || exit 1; done"])
            for _ in range(4)
        ]
        save(m, "T", long_history(60)[1:], 2)
        assert [r.wait() for r in readers] == [0] * 4
        assert b"## From step 57 on" in made(path)


@test
def settings_of_the_mount(case):
    with case.mount() as m:
        save(m, "T", long_history(9))
    write(os.path.join(case.store, "context.ini"), b"[compact]\nkeep = 1\n")
    with case.mount() as m:
        assert b"## From step 9 on" in read(m("tasks/T/context.md"))
    write(os.path.join(case.store, "context.ini"), b"[compact]\nkeep = one\n")
    done = run(OFFLOADFS, case.store, case.mnt, check=False)
    assert done.returncode == 1, done
    want = f"offloadfs: {case.store}/context.ini:2: keep = 'one': must be a number of steps"
    assert done.stderr.decode().startswith(want) and done.stderr.count(b"\n") == 1, done
    done = run(OFFLOAD, "doctor", "--store", case.store, check=False)
    assert b"context.ini:2: keep = 'one'" in done.stdout, done


@test(root=True)
def others_see_what_they_may_read(case):
    def as_other(path):
        return run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "cat", path,
                   check=False)

    case.open_to_others()
    with case.mount("allow_other") as m:
        save(m, "T", [read_step(1), read_step(2), read_step(3)])
        history, path = m("tasks/T/history"), m("tasks/T/context.md")
        for name in os.listdir(history):
            os.chmod(os.path.join(history, name), 0o644)
        for directory in (m("tasks"), m("tasks/T"), history):
            os.chmod(directory, 0o755)
        same(as_other(path).stdout, read(path))
        os.chmod(os.path.join(history, "step_002.json"), 0o600)
        mine = read(path)
        seen = as_other(path).stdout
        assert b"f2.c" in mine and b"f2.c" not in seen and b"f3.c" in seen, seen
        assert b"step_002.json (Permission denied)" in seen, seen
        same(read(path), mine)
        same(as_other(path + ":1-2").stdout, b"".join(seen.splitlines(True)[:2]))
        for mode in (0o700, 0o711, 0o744):
            os.chmod(history, mode)
            done = as_other(path)
            assert done.returncode == 1 and b"Permission denied" in done.stderr, (oct(mode), done)
            assert as_other(path + ":1-2").returncode == 1
        same(read(path), mine)


if __name__ == "__main__":
    main()

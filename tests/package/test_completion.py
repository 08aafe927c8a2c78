#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Command lines are completed in real shells, whatever the names in the store."""
import os
import pathlib
import pty
import re
import select
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import OFFLOAD, SEAL_NEVER, SLOW, SOURCE_ROOT, Skip, main, run, test  # noqa: E402

SCRIPTS = SOURCE_ROOT / "completions"
HOSTILE = "$(touch gone)';\x1b]0;x\x07 b"


def environment(case):
    path = f"{pathlib.Path(OFFLOAD).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": case.dir, "OFFLOAD_STORE": case.store, "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def complete(case, line):
    said = run(OFFLOAD, "complete", "--line", "--", line, env=environment(case), cwd=case.dir)
    assert said.stderr == b"", said.stderr
    *lines, _rest = said.stdout.decode().splitlines()
    return [each.split("\t")[0] for each in lines]


def in_bash(case, line):
    code = (
        'source "$1"; COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDBREAKS=$\' \\t\\n"\\\'><=;|&(:\';'
        ' compopt() { :; }; _offload; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    said = run(
        "bash", "--norc", "-c", code, "bash", SCRIPTS / "offload.bash", line,
        env=environment(case), cwd=case.dir,
    )  # fmt: skip
    return said.stdout.decode().splitlines()


def in_fish(case, line):
    if not shutil.which("fish"):
        raise Skip("fish is not installed")
    said = run(
        "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
        SCRIPTS / "offload.fish", line, env=environment(case), cwd=case.dir,
    )  # fmt: skip
    return [each.split("\t")[0] for each in said.stdout.decode().splitlines()]


def in_zsh(case, line):
    """Returns the line after the Tab key, typed in a pseudo-terminal."""
    if not shutil.which("zsh"):
        raise Skip("zsh is not installed")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(case.dir)
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment(case))
    said = b""

    def until(mark):
        nonlocal said
        deadline = time.monotonic() + 30 * SLOW
        while mark not in said:
            assert time.monotonic() < deadline, said
            if select.select([fd], [], [], 1)[0]:
                said += os.read(fd, 65536)

    try:
        # Prints only the line, between marks that do not occur in what is typed.
        os.write(fd, b"PS1=; unsetopt zle_bracketed_paste; "
                 b"fpath=(%s $fpath); autoload -U compinit; compinit -u -D; "
                 b"show() { print -r -- \"<\"\"$BUFFER\"\">\" }; zle -N show; bindkey '^X' show; "
                 b"print rea''dy\n" % str(SCRIPTS).encode())  # fmt: skip
        until(b"ready")
        said = b""
        os.write(fd, line.encode() + b"\t\x18")
        until(b">")
        return [said[said.rindex(b"<") + 1 : said.rindex(b">")].decode().strip()]
    finally:
        os.close(fd)
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def store(case):
    """Makes a store with two tasks. Returns the refs of their files."""
    said = b""
    for task, title in (("fix-login", "log of tests"), (HOSTILE.replace("/", ""), "x")):
        said += run(OFFLOAD, "put", "-t", task, "--title", title, env=environment(case), cwd=case.dir,
                    input=b"line\n" * 2000, check=False).stdout  # fmt: skip
    return re.findall(r"\(ref (\w+)\)", said.decode())


@test
def commands_options_words_and_tasks(case):
    refs = store(case)
    assert "search" in complete(case, "offload se")
    assert "--task" in complete(case, "offload list --ta")
    assert {"used", "size"} <= set(complete(case, "offload list --sort "))
    assert "fix-login" in complete(case, "offload task done fix")
    assert {*refs, "tasks/"} <= set(complete(case, "offload show "))
    for line in ("offload export tasks/", "offload export cache/ tasks/"):
        assert "tasks/fix-login/" in complete(case, line), line


@test
def paths_of_a_mounted_tree(case):
    with case.mount(SEAL_NEVER) as m:
        m.make("cache/web/some page", b"x")
        for place in ("cache/web/", m("cache/web/")):
            assert f"{place}some page" in complete(case, f"offload show --dir {m.mnt} {place}so")


@test(variants={"bash": in_bash, "fish": in_fish, "zsh": in_zsh}, timeout=120)
def a_shell_completes(case, shell):
    ref, *_ = store(case)
    for line, word in (
        ("offload sea", "search"),
        ("offload list --categ", "--category"),
        ("offload task done fix", "fix-login"),
        ("offload show " + ref[:7], ref),
        ("offload export tasks/fix", "tasks/fix-login/"),
    ):
        found = [each.split()[-1] for each in shell(case, line) if each.strip()]
        assert word in found, f"{line}: {found}"


@test
def hostile_names_run_nothing(case):
    store(case)
    for word in complete(case, "offload task done "):
        assert "\x1b" not in word, word
    for each in in_bash(case, "offload task done "):
        assert "\x1b" not in each, each
    assert not os.path.exists(case.path("gone"))


if __name__ == "__main__":
    main()

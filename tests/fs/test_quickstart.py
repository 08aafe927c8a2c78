#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/quickstart shows the whole session if it can mount, and otherwise one without a mount."""
import os

from harness import NOBODY, OFFLOAD, SOURCE_ROOT, Skip, is_alive, main, run, test

QUICKSTART = SOURCE_ROOT / "tools" / "quickstart"


class Session:
    """Folders for a run of tools/quickstart, and its output."""

    def __init__(self, case):
        self.workspace, self.data = case.path("work"), case.path("data")
        self.temporary = case.path("tmp")
        for folder in (self.workspace, self.data, self.temporary):
            os.mkdir(folder)
            os.chmod(folder, 0o777)
        self.environment = {
            **os.environ,
            "OFFLOADFS_PROGRAMS": os.path.dirname(OFFLOAD),
            "XDG_DATA_HOME": self.data,
            "TMPDIR": self.temporary,
            "OFFLOAD_DIR": self.data,
            "OFFLOAD_AGENT": "other",
        }

    def run(self, *before):
        done = run(*before, QUICKSTART, self.workspace, check=False, env=self.environment)
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        print(self.out, self.err, sep="\n")
        return done.returncode

    def is_refused(self, why, *before):
        """
        Checks that it cannot mount, gives the reason in one line, shows the other session and
        leaves nothing behind.
        """
        assert self.run(*before) == 1
        assert self.err.count("\n") == 1 and why in self.err, self.err
        for command in ("run -- ls", "slice", "promote", "search", "show", "put"):
            assert f"offload {command}" in self.out, command
        assert "(exit code" not in self.out and "is mounted" not in self.out
        for folder in (self.workspace, self.data, self.temporary):
            assert not os.listdir(folder), (folder, os.listdir(folder))


@test(timeout=120)
def it_mounts_and_shows_the_main_job_twice(case):
    session = Session(case)
    mountpoint = os.path.join(session.workspace, ".offload")
    for _ in range(2):
        assert session.run() == 0 and not session.err
        assert f"offloadfs is mounted at {mountpoint}" in session.out
        assert "(exit code" not in session.out and is_alive(mountpoint)
        assert not os.path.exists(os.path.join(mountpoint, "persistent", "demo"))
        assert not os.listdir(session.temporary)
    run(OFFLOAD, "down", session.workspace, env=session.environment)


@test(root=True, timeout=120)
def without_the_device_it_shows_what_works_without_a_mount(case):
    hidden = case.path("hidden")
    os.mkdir(hidden)
    script = 'mount --bind "$0" /dev && exec "$@"'  # a /dev with only what a shell needs
    for name in ("null", "zero", "urandom"):
        run("cp", "-a", f"/dev/{name}", hidden)
    os.symlink("/proc/self/fd", os.path.join(hidden, "fd"))
    Session(case).is_refused("there is no /dev/fuse", "unshare", "-m", "sh", "-c", script, hidden)


@test(root=True, timeout=120)
def with_a_device_that_is_none_it_shows_the_same(case):
    script = 'mount --bind /dev/null /dev/fuse && exec "$0" "$@"'
    Session(case).is_refused("cannot mount", "unshare", "-m", "sh", "-c", script)


@test(root=True, timeout=120)
def an_ordinary_user_without_the_right_to_the_device_is_told(case):
    if os.stat("/dev/fuse").st_mode & 0o006:
        raise Skip("everybody may open /dev/fuse")
    case.open_to_others()
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if run(*command, "test", "-x", QUICKSTART, check=False).returncode:
        raise Skip("another user cannot reach the sources")
    Session(case).is_refused("you may not open /dev/fuse", *command)


main()

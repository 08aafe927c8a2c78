#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attackers are other users of a mount that is shared with allow_other."""
import errno
import fcntl
import hashlib
import json
import os
import stat

import paths  # noqa: F401
from files import log_text
from harness import (
    OFFLOAD,
    SEAL_SOON,
    SLOW,
    eventually,
    main,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)
from programs import ALICE, BOB, as_user, outcome, told

SECRET = b"the guess is right\n" * 400
OTHER = log_text(len(SECRET), 3)[: len(SECRET)].ljust(len(SECRET), b".")


class Shared:
    """A mount of root's for everybody, with directories in which all users may work."""

    def __init__(self, case, *options):
        case.open_to_others()
        self.case, self.m = case, case.mount("allow_other", SEAL_SOON, *options)
        for top in ("cache", "tasks"):
            os.chmod(self.m(top), 0o1777)

    def __enter__(self):
        self.m.__enter__()
        return self.m

    def __exit__(self, *why):
        return self.m.__exit__(*why)


def make(uid, path, data, mode=0o600):
    """Makes a file of a user's. Returns its ref."""

    def work():
        os.umask(0o022)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
        os.chmod(path, mode)

    as_user(uid, work)
    return xattr(path, "ref")


def tell(uid, work):
    return eval(told(uid, work))


def offload(uid, m, *words, check=True, **options):
    """Runs the tool as a user on this mount."""
    home = m.case.path(f"home{uid}")
    os.makedirs(home, exist_ok=True)
    os.chown(home, uid, uid)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD", "XDG_"))}
    return run(
        OFFLOAD,
        words[0],
        "--dir",
        m.mnt,
        *words[1:],
        cwd=home,
        env={**env, "HOME": home},
        user=uid,
        group=uid,
        extra_groups=[],
        check=check,
        timeout=45 * SLOW,
        **options,
    )


def put(uid, m, *words, data=SECRET):
    """Puts data as a user. Returns its path in the mount."""
    return m(json.loads(offload(uid, m, "put", "--json", *words, input=data).stdout)["path"])


def refuses(user, m, saying, *words, data=SECRET):
    """The tool explains why and gives no answer (put: repeats its input). A hook exits with 0."""
    done = offload(user, m, *words, input=data, check=False)
    said = done.stderr.decode()
    assert saying in said and "\n" not in said.strip(), said
    assert bool(done.returncode) == (words[0] != "hook"), done
    assert done.stdout == (data if words[0] == "put" else b""), done


def bash_event(case, text):
    return {
        "session_id": "1",
        "transcript_path": case.path("1.jsonl"),
        "cwd": case.path("."),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "x"},
        "tool_response": {"stdout": text, "stderr": "", "interrupted": False, "isImage": False},
    }


# --- Equal content --------------------------------------------------------------------------------


@test(root=True)
def nothing_tells_whether_a_guess_exists(case):
    with Shared(case) as m:
        secret, right, wrong = (m("cache", n) for n in ("secret", "right", "wrong"))
        make(ALICE, secret, SECRET)
        m.wait_sealed(secret)
        make(BOB, right, SECRET)
        make(BOB, wrong, OTHER)
        m.wait_sealed(right, wrong)
        eventually(lambda: xattr(right, "stored_bytes") == "0", "the guess is found to be right")
        assert xattr(wrong, "stored_bytes") != "0"

        def bob():
            blocks = {os.stat(p).st_blocks for p in (secret, right, wrong)}
            assert blocks == {(len(SECRET) + 511) // 512}, blocks
            for path in (right, wrong):
                with raises(errno.ENODATA):
                    os.getxattr(path, "user.offload.stored_bytes")
                assert "user.offload.stored_bytes" not in os.listxattr(path)
                assert "user.offload.lines" in os.listxattr(path)
                info = json.loads(read(path + ":info"))
                assert info["stored_bytes"] is None and info["lines"], info
            for name in ("status.json", "metrics", "config.ini", "status.json:1"):
                with raises(errno.EACCES):
                    read(m(".offload", name))

        for again in (lambda: None, m.remount):
            again()
            as_user(BOB, bob)
        info = json.loads(read(right + ":info"))
        assert info["stored_bytes"] == 0, info
        shown = offload(BOB, m, "show", "cache/right", "--json").stdout
        assert json.loads(shown)["stored_bytes"] is None, shown


@test(root=True)
def holes_take_no_blocks(case):
    with Shared(case) as m:
        path = m("cache/sparse")
        make(BOB, path, b"")
        with open(path, "r+b") as f:
            f.seek(64 << 20)
            f.write(b"x" * 5000)
        as_is = os.stat(path).st_blocks
        assert as_is * 512 < 300_000, as_is
        m.wait_sealed(path)
        for again in (lambda: None, m.remount):
            again()
            assert 5000 <= os.stat(path).st_blocks * 512 < 300_000
            assert os.stat(path).st_size == (64 << 20) + 5000


@test(root=True)
def jobs_of_the_store_are_not_for_others(case):
    """Not even if the root of the tree is open to them."""
    with Shared(case) as m:
        os.chmod(m.mnt, 0o777)

        def bob():
            for name in ("gc", "gc.0", "verify", "verify.0"):
                with raises(errno.EACCES):
                    os.getxattr(m.mnt, "user.offload." + name)
            for name, value in (("gc", b"run"), ("verify", b"repair"), ("verify", b"stop")):
                with raises(errno.EACCES):
                    os.setxattr(m.mnt, "user.offload." + name, value)

        as_user(BOB, bob)
        assert json.loads(xattr(m.mnt, "verify"))["state"] == "none"


# --- Unreadable files -----------------------------------------------------------------------------


@test(root=True)
def slices_of_an_unreadable_file_tell_nothing(case):
    with Shared(case) as m:
        path = m("cache/lines")
        ref = make(ALICE, path, b"one\ntwo two\nthree\n")
        make(ALICE, m("cache/open"), b"", 0o644)
        places = (path, m("refs", ref))
        suffixes = (":1", ":2", ":4", ":9-", ":3-2", ":-1", ":b0-3", "#L1-L2", ":info", ":summary")

        def bob():
            for place in places:
                assert os.stat(place).st_size == 18
                for suffix in suffixes:
                    for look in (os.stat, read):
                        with raises(errno.EACCES):
                            look(place + suffix)

        def alice():
            for place in places:
                same(read(place + ":2"), b"two two\n")
                assert os.stat(place + ":1").st_size == 4
                with raises(errno.ERANGE):
                    os.stat(place + ":9-")

        for user, work in ((BOB, bob), (ALICE, alice), (BOB, bob), (ALICE, alice)):
            as_user(user, work)
        os.chmod(path, 0o644)
        as_user(BOB, alice)
        os.chmod(path, 0o600)
        as_user(BOB, bob)


@test(root=True)
def a_slice_that_is_held_does_not_outlive_the_right_to_read(case):
    with Shared(case) as m:
        path = m("cache/file")
        make(ALICE, path, b"harmless\n", 0o644)
        held, go = os.pipe(), os.pipe()

        def bob():
            fd = os.open(path + ":1", os.O_PATH)
            os.write(held[1], b"x")
            os.read(go[0], 1)
            with raises(errno.ESTALE, errno.EACCES):
                read(f"/proc/self/fd/{fd}")

        def alice():
            os.read(held[0], 1)
            os.chmod(path, 0o600)
            write(path, b"a secret\n")
            os.write(go[1], b"x")

        if os.fork() == 0:
            try:
                as_user(ALICE, alice)
            finally:
                os._exit(0)
        as_user(BOB, bob)
        os.wait()


@test(root=True)
def attributes_of_an_unreadable_file_tell_nothing(case):
    with Shared(case) as m:
        path = m("cache/file")
        make(ALICE, path, SECRET)
        os.setxattr(path, "user.offload.title", b"hers")
        m.wait_sealed(path)

        def bob():
            for name in os.listxattr(path):
                with raises(errno.EACCES):
                    os.getxattr(path, name)
            for name in ("ttl", "title", "tags", "important"):
                with raises(errno.EACCES):
                    os.setxattr(path, "user.offload." + name, b"1")

        as_user(BOB, bob)
        assert xattr(path, "title") == "hers"


# --- Where a file is ------------------------------------------------------------------------------


@test(root=True)
def a_ref_is_nothing_to_whoever_could_not_find_the_file(case):
    with Shared(case) as m:
        closed, near = m("cache/closed"), m("cache/near")
        ref = make(ALICE, os.path.join(closed, "deep/file"), SECRET, 0o644)
        never = ("zzzzzz", "zzzzzz:1", "zzzzzz:info", "zzzzzz:3-2")
        known = [name.replace("zzzzzz", ref) for name in never]

        def finds():
            return [outcome(read, m("refs", name)) for name in known]

        def nothing():
            return [outcome(read, m("refs", name)) for name in never]

        for mode in (0o700, 0o711, 0o744):
            os.chmod(closed, mode)
            assert tell(BOB, finds) == tell(BOB, nothing) == ["ENOENT"] * 4, oct(mode)
            for user in (ALICE, 0):
                assert tell(user, finds) == ["OK", "OK", "OK", "EINVAL"], user
        os.chmod(closed, 0o755)
        assert tell(BOB, finds) == ["OK", "OK", "OK", "EINVAL"]
        os.chmod(closed, 0o700)
        assert tell(BOB, finds) == ["ENOENT"] * 4

        # A second name does not reveal the first.
        os.rename(os.path.join(closed, "deep/file"), near)
        os.link(near, os.path.join(closed, "deep/file"))

        def told_of_place():
            text = read(near + ":info") + read(near + ":summary")
            names = [n for n in os.listxattr(near) if n != "user.offload.ref"]
            return text + b"".join(os.getxattr(near, n) for n in names)

        got = tell(ALICE, told_of_place)
        assert b"deep" in got, got
        assert b"deep" not in tell(BOB, told_of_place)
        # Bob finds his own file wherever it is.
        os.chown(os.path.join(closed, "deep/file"), BOB, BOB)
        assert tell(BOB, finds) == ["OK", "OK", "OK", "EINVAL"]


# --- Tools of several users -----------------------------------------------------------------------


@test(root=True)
def two_users_put_into_one_category(case):
    with Shared(case) as m:
        os.umask(0o077)
        hers = put(ALICE, m, "-c", "shell")
        his = put(BOB, m, "-c", "shell")
        st = os.stat(m("cache/shell"))  # its owner could remove everything in it
        assert (st.st_mode, st.st_uid, st.st_gid) == (stat.S_IFDIR | 0o1777, 0, 0), st
        for path, user, other in ((hers, ALICE, BOB), (his, BOB, ALICE)):
            st = os.stat(path)
            assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (user, 0o600), st
            as_user(user, lambda: same(read(path), SECRET))
            assert tell(other, lambda: outcome(read, path)) == "EACCES"
            got = tell(other, lambda: outcome(os.unlink, path))
            assert got == "EPERM", got
            assert put(user, m, "-c", "shell") == path, "the same bytes are the same file"
        assert len(os.listdir(m("cache/shell"))) == 2
        command = ["sh", "-c", "seq 5000"]
        for user in (ALICE, BOB):
            said = offload(user, m, "run", "-c", "build", "--", *command).stdout
            assert b"[offloaded]" in said, said
        assert len(os.listdir(m("cache/build"))) == 2


@test(root=True)
def names_that_others_see_do_not_tell_the_hash(case):
    with Shared(case) as m:
        hers, his = put(ALICE, m, "-c", "web"), put(BOB, m, "-c", "web")
        m.wait_sealed(hers, his)
        sha = xattr(hers, "sha256")
        for path in (hers, his):
            assert sha[:8] not in os.path.basename(path), path
        assert hers.rsplit("_", 1)[1] != his.rsplit("_", 1)[1]
        # In a task of hers nobody else sees them.
        alone = put(ALICE, m, "-t", "hers", "-c", "web")
        assert sha[:16] in os.path.basename(alone), alone


@test(root=True)
def a_task_is_its_owners(case):
    with Shared(case) as m:
        put(ALICE, m, "-t", "build", "-c", "web")
        assert stat.S_IMODE(os.stat(m("tasks/build")).st_mode) == 0o700
        refuses(BOB, m, "tasks/build", "put", "-t", "build")
        # Even if she opens it: only a task of the store's owner can be open to all.
        os.chmod(m("tasks/build"), 0o1777)
        refuses(BOB, m, "tasks/build", "put", "-t", "build")
        put(0, m, "-t", "all", "-c", "web")
        os.chmod(m("tasks/all"), 0o1777)
        folders = {os.path.dirname(put(u, m, "-t", "all", "-c", "new")) for u in (BOB, ALICE)}
        assert folders == {m("tasks/all/new")}
        st = os.stat(m("tasks/all/new"))
        assert (stat.S_IMODE(st.st_mode), st.st_uid) == (0o1777, 0), st


@test(root=True)
def a_file_that_another_user_can_change_is_not_the_answer(case):
    event = json.dumps(bash_event(case, SECRET.decode())).encode()
    with Shared(case) as m:
        hers = put(ALICE, m, "-c", "shell")
        pointer = offload(ALICE, m, "hook", input=event).stdout
        assert pointer
        folder = os.path.dirname(hers)
        hashes = [name.rsplit("_", 1)[1] for name in os.listdir(folder)]
        decoys = [os.path.join(folder, "shell_1_" + h) for h in hashes]
        named = os.path.join(folder, "report.txt")
        # The name that the owner's tools look for while the store is not mounted.
        plain = "shell_1_" + hashlib.sha256(SECRET).hexdigest()[:16] + os.path.splitext(hers)[1]
        for path in (*decoys, named, os.path.join(folder, plain)):
            make(BOB, path, SECRET, 0o644)
        for mode in (0o644, 0o666, 0o600):
            for path in (*decoys, named):
                os.chmod(path, mode)
            assert put(ALICE, m, "-c", "shell") == hers
            assert put(ALICE, m, "-c", "shell", "--ttl", "1h") == hers
            assert offload(ALICE, m, "hook", input=event).stdout == pointer
            refuses(ALICE, m, "report.txt", "put", "-c", "shell", "-n", "report.txt")
        os.chmod(hers, 0o620)
        anew = put(ALICE, m, "-c", "shell")
        assert anew != hers and anew not in decoys, anew
    command = (OFFLOAD, "put", "--store", case.store, "--json", "-c", "shell")
    paths = {json.loads(run(*command, input=SECRET).stdout)["path"] for _ in range(2)}
    assert len(paths) == 1 and "cache/shell/" + plain not in paths, paths


@test(root=True)
def nothing_is_put_into_a_folder_of_another_user(case):
    event = bash_event(case, "line\n" * 5000)
    del event["session_id"]  # or else it would go into the session's task
    event = json.dumps(event).encode()
    step = json.dumps({"tool": "bash", "args": {}, "result": "line\n" * 5000}).encode()
    with Shared(case) as m:
        put(ALICE, m, "-t", "hers", "-c", "general")
        os.chmod(m("tasks/hers"), 0o1777)
        taken = {
            "cache/web": 0o700,
            "cache/shell": 0o777,
            "cache/docs": 0o1777,
            "tasks/k1": 0o777,
            "tasks/k2": 0o1777,
            "tasks/hers/web": 0o777,
            "tasks/hers/history": 0o777,
        }

        def bob():
            os.umask(0)
            for name, mode in taken.items():
                os.mkdir(m(name), mode if name.startswith("tasks/k") else 0o700)
                os.chmod(m(name), mode)
            os.mkdir(m("cache/open"), 0o1777)
            os.mkdir(m("tasks/hers/open"), 0o1777)

        as_user(BOB, bob)
        for user in (ALICE, 0):
            for name in ("web", "shell", "docs"):
                refuses(user, m, "cache/" + name, "put", "-c", name)
                refuses(user, m, "cache/" + name, "put", "-c", name, "-n", "x")
            for task in ("k1", "k2"):
                refuses(user, m, "tasks/" + task, "put", "-t", task)
            refuses(user, m, "tasks/k1", "reduce", "-t", "k1", data=step)
            refuses(user, m, "cache/shell", "hook", data=event)
            refuses(user, m, "tasks/k1", "hook", "-t", "k1", data=event)
            done = offload(user, m, "run", "-c", "shell", "--", "seq", "5000")
            same(done.stdout, b"".join(b"%d\n" % i for i in range(1, 5001)))
            assert b"cache/shell" in done.stderr, done.stderr
            put(user, m, "-c", "open")
        refuses(ALICE, m, "tasks/hers/web", "put", "-t", "hers", "-c", "web")
        refuses(ALICE, m, "tasks/hers/history", "reduce", "-t", "hers", data=step)
        put(ALICE, m, "-t", "hers", "-c", "open")
        for name in taken:
            assert not os.listdir(m(name)), name


@test(root=True)
def nobody_can_hold_up_the_tools_of_others(case):
    with Shared(case) as m:
        put(ALICE, m, "-c", "web", data=OTHER)
        step = json.dumps({"tool": "bash", "args": {}, "result": "line\n" * 5000}).encode()
        offload(ALICE, m, "reduce", "-t", "t", input=step)
        for folder in ("tasks/t", "tasks/t/history"):
            os.chmod(m(folder), 0o755)
        ready, done = os.pipe(), os.pipe()

        def bob():
            held = [os.open(m(p), os.O_RDONLY) for p in ("cache/web", "tasks/t/history")]
            for fd in held:
                fcntl.flock(fd, fcntl.LOCK_EX)
            os.write(ready[1], b"x")
            os.read(done[0], 1)

        child = os.fork()
        if not child:
            try:
                as_user(BOB, bob)
            finally:
                os._exit(0)
        os.read(ready[0], 1)
        put(ALICE, m, "-c", "web")
        offload(ALICE, m, "reduce", "-t", "t", input=step)
        os.write(done[1], b"x")
        os.waitpid(child, 0)


@test(root=True)
def every_user_has_a_key_of_his_own(case):
    """With another user's key he could forge pointers that the other's tools accept."""
    with Shared(case) as m:
        keys = [tell(u, lambda: os.getxattr(m.mnt, "user.offload.key")) for u in (ALICE, BOB, 0)]
        assert len(set(keys)) == 3 and {len(k) for k in keys} == {64}, keys
        m.remount()
        assert tell(BOB, lambda: os.getxattr(m.mnt, "user.offload.key")) == keys[1]


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""
Attempts to reach what the sandbox of an agent hides. Outside, each must succeed; inside, none may.

A program for test_agent_run.py, which passes a JSON object as the argument. Prints {name: result},
where the result is "reached" or why not. To add an attempt, write a function under @attempt. It
returns whether it reached something, and raises OSError if it was prevented. It runs in a process
of its own, whose state it may spoil.
"""
import contextlib
import ctypes
import glob
import json
import os
import signal
import socket
import struct
import sys
import traceback

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 32, 4096, 8192, 16384, 1 << 18
MNT_FORCE, MNT_DETACH = 1, 2
PTRACE_SEIZE, SYS_PIVOT_ROOT, SYS_PROCESS_VM_READV = 0x4206, 155, 310

attempts = {}


def attempt(function=None, *, root=False):
    """Registers an attempt. With `root`, only root succeeds with it outside the sandbox."""

    def register(f):
        attempts[f.__name__] = (f, root)
        return f

    return register(function) if function else register


def call(name, *arguments):
    """Calls a function of libc; raises OSError if it returns a negative value."""
    words = [os.fsencode(a) if isinstance(a, str) else a for a in arguments]
    words = [ctypes.c_ulong(w) if isinstance(w, int) else w for w in words]  # full register width
    result = getattr(libc, name)(*words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def listing(path):
    return sorted(os.listdir(path))


def is_store(path):
    return "journal" in listing(path)


def become_root():
    """Enters new user and mount namespaces, with every capability available."""
    uid, gid = os.geteuid(), os.getegid()
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{0} {uid} 1"),
        ("gid_map", f"{0} {gid} 1"),
    ):
        try:
            with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
                f.write(text)
        except OSError:  # if /proc is read-only: stays nobody, with the same capabilities
            pass


def cover(c, path):
    """Outside, covers a path as the sandbox does, but with a mount that is not locked."""
    if not c["inside"]:
        call("mount", "none", "/", None, MS_REC | MS_PRIVATE, None)
        call("mount", "tmpfs", path, "tmpfs", MS_RDONLY, None)
        assert not listing(path)


# --- Paths ----------------------------------------------------------------------------------------


@attempt
def the_tree_above(c):
    """c["tree"] is the agent's tree: a mountpoint inside the sandbox, a directory outside."""
    fd = os.open(c["tree"], os.O_PATH)
    return bool(os.open("../../cache/top", os.O_RDONLY, dir_fd=fd))


@attempt
def the_tree_above_from_a_directory_in_it(c):
    os.chdir(os.path.join(c["tree"], "cache"))
    return bool(os.open("../../../cache/top", os.O_RDONLY))


@attempt
def a_file_of_the_tree_by_its_path(c):
    return bool(os.open(os.path.join(c["mnt"], "cache/top"), os.O_RDONLY))


@attempt
def another_agent_beside(c):
    fd = os.open(c["tree"], os.O_PATH)
    return bool(os.open("../b/cache/file", os.O_RDONLY, dir_fd=fd))


@attempt
def another_agent_by_its_path(c):
    return bool(os.open(os.path.join(c["mnt"], "agents/b/cache/file"), os.O_RDONLY))


@attempt
def a_ref_of_the_tree_above(c):
    return bool(os.open(os.path.join(c["mnt"], "refs", c["ref"]), os.O_RDONLY))


def shown(c, *names):
    with open(os.path.join(c["mnt"], *names), encoding="utf-8") as f:
        return f.read()


@attempt
def a_search_for_what_is_above(c):
    return "cache/top" in shown(c, "search", "zebra")


@attempt
def a_search_of_all_agents(c):
    return "giraffe" in shown(c, "search", "agent:* giraffe")


@attempt
def the_views_of_the_tree_above(c):
    return any(c["ref"] in name for name in listing(os.path.join(c["mnt"], "views/recent")))


@attempt
def what_the_log_says_of_others(c):
    return "agents/b/" in shown(c, ".offload/log")


@attempt
def what_a_page_of_the_log_says_of_others(c):
    return "agents/b/" in shown(c, ".offload/log.0-65536")


@attempt
def what_the_ledger_says_of_others(c):
    return "agents/b/" in shown(c, ".offload/ledger")


@attempt
def how_full_the_store_is(c):
    return json.loads(shown(c, ".offload/status.json"))["disk"]["journal"] > 0


@attempt
def the_settings_of_the_store(c):
    return "seal_delay" in shown(c, ".offload/config.ini")


@attempt
def checking_the_store(c):
    return bool(os.getxattr(c["mnt"], "user.offload.verify"))


@attempt
def another_mount_of_the_tree(c):
    return bool(os.open(os.path.join(c["second_mount"], "cache/top"), os.O_RDONLY))


@attempt
def a_mount_of_another_agent(c):
    return bool(os.open(os.path.join(c["agent_mount"], "cache/file"), os.O_RDONLY))


@attempt
def the_store(c):
    return is_store(c["store"])


@attempt
def the_store_by_a_link(c):
    return is_store(c["store_link"])


@attempt
def the_store_s_lock(c):
    return bool(os.open(os.path.join(c["store"], "lock"), os.O_RDONLY))


@attempt
def the_store_s_settings(c):
    return bool(os.open(os.path.join(c["store"], "config.ini"), os.O_WRONLY | os.O_CREAT, 0o600))


@attempt
def the_store_by_a_mount_of_it(c):
    return is_store(c["store_mount"])


@attempt
def the_store_by_a_mount_of_what_holds_it(c):
    return is_store(os.path.join(c["home_mount"], "data", os.path.basename(c["store"])))


@attempt
def a_part_of_the_store_by_a_mount_of_it(c):
    return bool(listing(c["journal_mount"]))


@attempt
def the_store_with_the_tool(c):
    with os.popen(f"{c['offload']} show --store {c['store']} {c['ref']} 2>&1") as out:
        return "cache/top" in out.read()


# --- Servers --------------------------------------------------------------------------------------


def served(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /v1/memories/cache%2Ftop/content HTTP/1.0\r\nHost: x\r\n\r\n")
        with s.makefile("rb") as f:
            return b"above zebra" in f.read()


@attempt
def a_server_of_the_tree_above(c):
    return any(served(p) for p in glob.glob(os.path.join(c["servers"], "serve-*.sock")))


@attempt
def a_server_of_the_tree_above_at_another_place(c):
    return served(c["server"])


@attempt
def the_token_of_a_server(c):
    return bool(glob.glob(os.path.join(c["servers"], "serve-*.token")))


@attempt(root=True)
def the_token_of_a_server_by_a_mount_of_what_holds_it(c):
    folder = os.path.join(c["home_mount"], "run", os.path.basename(c["servers"]))
    return bool(glob.glob(os.path.join(folder, "serve-*.token")))


# --- Descriptors ----------------------------------------------------------------------------------


@attempt
def an_inherited_descriptor_of_the_tree(c):
    return bool(os.open("cache/top", os.O_RDONLY, dir_fd=c["tree_fd"]))


@attempt
def an_inherited_descriptor_of_the_store(c):
    return is_store(f"/proc/self/fd/{c['store_fd']}")


@attempt
def any_inherited_directory(_):
    held = [int(n) for n in os.listdir("/proc/self/fd")]
    return any(fd > 2 and os.path.isdir(f"/proc/self/fd/{fd}/cache") for fd in held)


@attempt
def the_descriptors_of_another_process(c):
    """Ancestors may have left one open: the supervisor, init, or whoever started the attempt."""
    found = False
    for pid in {os.getppid(), 1, c["parent"]}:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                found |= os.path.isdir(f"/proc/{pid}/fd/{fd}/cache")
    return found


@attempt(root=True)
def a_file_handle(c):
    """Opens the store by its handle from name_to_handle_at()."""
    data = bytes.fromhex(c["handle"])
    handle = ctypes.create_string_buffer(struct.pack("Ii", len(data), c["handle_type"]) + data)
    above = os.open(os.path.dirname(c["store"]), os.O_RDONLY)
    fd = call("open_by_handle_at", above, handle, os.O_RDONLY | os.O_DIRECTORY)
    return is_store(f"/proc/self/fd/{fd}")


@attempt(root=True)
def a_file_handle_in_a_namespace(c):
    """Since Linux 6.11 the owner of a mount namespace may open directories below its mounts."""
    if c["inside"]:
        become_root()
    return a_file_handle(c)


# --- Processes ------------------------------------------------------------------------------------


def proc_of_daemon(name):
    def look(c):
        path = f"/proc/{c['daemon']}/{name}"
        if name in ("root", "cwd", "fd"):
            return bool(listing(path + "/"))
        if name == "ns/mnt":
            return bool(os.open(path, os.O_RDONLY))
        with open(path, "rb") as f:
            if name != "mem":
                return bool(f.read(1))
            f.seek(c["address"])
            return bool(f.read(1))

    look.__name__ = "the_daemon_s_" + name.replace("/", "_")
    return look


for _name in ("root", "cwd", "fd", "mem", "maps", "environ", "status", "ns/mnt"):
    attempt(proc_of_daemon(_name))


@attempt
def a_signal_to_the_daemon(c):
    os.kill(c["daemon"], 0)
    return True


@attempt
def a_signal_to_another_agent(c):
    os.kill(c["other_supervisor"], 0)
    os.kill(c["other_command"], 0)
    return True


@attempt
def tracing_the_daemon(c):
    return call("ptrace", PTRACE_SEIZE, c["daemon"], None, None) == 0


@attempt
def memory_of_the_daemon(c):
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(1)
    ours = Vector(ctypes.addressof(buffer), 1)
    theirs = Vector(c["address"], 1)
    return call("syscall", SYS_PROCESS_VM_READV, c["daemon"], ctypes.byref(ours), 1,
                ctypes.byref(theirs), 1, 0) == 1


@attempt(root=True)
def the_mount_namespace_of_the_daemon(c):
    call("setns", os.open(f"/proc/{c['daemon']}/ns/mnt", os.O_RDONLY), CLONE_NEWNS)
    return is_store(c["store"])


@attempt(root=True)
def the_namespaces_of_init(c):
    """Inside, the sandbox's own init, which might have kept rights; outside, another agent's."""
    pid = 1 if c["inside"] else c["other_init"]
    for fd in [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("user", "mnt")]:
        call("setns", fd, 0)
    return True


@attempt
def another_proc(c):
    return os.path.exists(f"{c['second_proc']}/{c['daemon']}/status")


@attempt(root=True)
def a_new_proc(c):
    if c["inside"]:
        become_root()
    else:
        call("unshare", CLONE_NEWNS)
        call("mount", "none", "/", None, MS_REC | MS_PRIVATE, None)
    call("mount", "proc", c["empty"], "proc", 0, None)
    return os.path.exists(f"{c['empty']}/{c['daemon']}/status")


# --- Mounts ---------------------------------------------------------------------------------------


@attempt
def unmounting_the_cover(c):
    become_root()
    cover(c, c["store"])
    call("umount2", c["store"], 0)
    return is_store(c["store"])


@attempt
def unmounting_the_cover_lazily(c):
    become_root()
    cover(c, c["store"])
    call("umount2", c["store"], MNT_DETACH)
    return is_store(c["store"])


@attempt
def moving_the_cover(c):
    become_root()
    cover(c, c["store"])
    call("mount", c["store"], c["empty"], None, MS_MOVE, None)
    return is_store(c["store"])


@attempt
def what_lies_below_the_cover(c):
    """A bind mount of a directory does not include mounts within it."""
    become_root()
    cover(c, c["store"])
    above = os.path.dirname(c["store"])
    call("mount", above, c["empty"], None, MS_BIND, None)
    return is_store(os.path.join(c["empty"], os.path.basename(c["store"])))


@attempt
def what_lies_below_the_cover_by_an_overlay(c):
    become_root()
    cover(c, c["store"])
    above = os.path.dirname(c["store"])
    call("mount", "overlay", c["empty"], "overlay", 0, f"lowerdir={above}:{c['tree']}".encode())
    return is_store(os.path.join(c["empty"], os.path.basename(c["store"])))


@attempt
def unmounting_the_cover_in_another_root(c):
    """Works in a recursive copy of all mounts, which becomes the root."""
    become_root()
    cover(c, c["store"])
    call("mount", "/", c["empty"], None, MS_BIND | MS_REC, None)
    os.chdir(c["empty"])
    os.mkdir("." + c["empty"] + "/old") if not os.path.exists("." + c["empty"] + "/old") else None
    call("syscall", SYS_PIVOT_ROOT, b".", ("." + c["empty"] + "/old").encode())
    call("umount2", c["store"], MNT_DETACH)
    return is_store(c["store"])


@attempt
def unmounting_the_agent_s_tree(c):
    become_root()
    if not c["inside"]:
        call("mount", "none", "/", None, MS_REC | MS_PRIVATE, None)
        call("mount", c["tree"], c["mnt"], None, MS_BIND, None)
        assert "top" not in listing(c["mnt"] + "/cache")
    call("umount2", c["mnt"], MNT_DETACH)
    return "top" in listing(c["mnt"] + "/cache")


@attempt(root=True)
def mounting_without_a_namespace(c):
    call("mount", "tmpfs", c["empty"], "tmpfs", 0, None)
    return True


@attempt(root=True)
def writing_where_the_agent_may_not(c):
    """Writing core_pattern would let root run a program outside: the kernel calls it on a crash."""
    return bool(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@attempt(root=True)
def a_cgroup(c):
    return bool(os.open(c["cgroup"], os.O_WRONLY))


@attempt(root=True)
def the_disk_below_the_store(c):
    return bool(os.read(os.open(c["disk"], os.O_RDONLY), 1))


@attempt(root=True)
def the_connection_of_the_daemon(c):
    return bool(os.open(c["connection"], os.O_RDONLY))


# --- Running them ---------------------------------------------------------------------------------


def outcome(function, context):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            text = "reached" if function(context) else "nothing is there"
        except OSError as e:
            text = str(e)
        except KeyError as e:
            text = f"not tried: {e}"
        except BaseException:
            text = traceback.format_exc()
        os.write(writer, text.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with os.fdopen(reader, "rb") as f:
        text = f.read().decode()
    os.waitpid(pid, 0)
    return text


def main():
    context = json.loads(sys.argv[1])
    context["parent"] = os.getpid()
    print(json.dumps({name: outcome(f, context) for name, (f, _) in attempts.items()}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload agent run: what its command is given, and that it can reach nothing else of the store."""
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time

import tries
from harness import (
    NOBODY,
    OFFLOAD,
    OFFLOADFS,
    ROOT,
    SEAL_SOON,
    SLOW,
    Mount,
    Skip,
    children_of,
    eventually,
    main,
    read,
    run,
    test,
    write,
    xattr,
)

REFUSED = 125
USERS = {"root": 0, "nobody": NOBODY} if ROOT else {"user": os.geteuid()}
DEVICE = "/dev/fuse"
libc = ctypes.CDLL(None, use_errno=True)


def need_namespaces():
    if run("unshare", "-Urmpf", "--mount-proc", "true", check=False).returncode != 0:
        raise Skip("no user namespace, or no /proc in it, can be made here")


class UserMount(Mount):
    """A mount that answers its user alone, so that user has to probe it."""

    def serves(self):
        return run("test", "-d", self("cache"), check=False, **self.identity).returncode == 0


class Agents:
    """
    A user's workspace with a tree, two agents and copies of the programs, as the user may not be
    able to enter the build directory.
    """

    def __init__(self, case, uid=0):
        need_namespaces()
        self.case, self.uid = case, uid
        self.home = case.path("home")
        self.work, self.store = self("work"), self("data", "store")
        self.mnt = self("work", ".offload")
        self.identity = {}
        os.makedirs(self.mnt)
        os.mkdir(self("bin"))
        os.mkdir(self("data"))
        os.mkdir(self("run"), 0o700)
        for program in (OFFLOAD, OFFLOADFS):
            shutil.copy(program, self("bin"))
        self.program = self("bin", "offload")
        if uid != os.geteuid():
            self._belong_to(uid)
        self.env = {
            **os.environ,
            "HOME": self.home,
            "XDG_CONFIG_HOME": self("config"),
            "XDG_RUNTIME_DIR": self("run"),
            "PATH": self("bin") + os.pathsep + os.environ["PATH"],
            "OFFLOADFS_COREDUMP": "1",  # allows inspection as far as the kernel does
        }
        for name in ("OFFLOAD_DIR", "OFFLOAD_STORE", "OFFLOAD_AGENT"):
            self.env.pop(name, None)
        self.mount = UserMount(case, self.store, self.mnt, (SEAL_SOON,))
        self.mount.program, self.mount.identity = self("bin", "offloadfs"), self.identity

    def _belong_to(self, uid):
        self.case.open_to_others()
        os.chmod(self.case.dir, 0o1733)  # for the reports of sanitizers
        if os.stat(DEVICE).st_mode & 0o006 != 0o006:
            os.mknod(self("fuse"), stat.S_IFCHR, os.stat(DEVICE).st_rdev)
            os.chmod(self("fuse"), 0o666)
            libc.unshare(0x20000)
            run("mount", "--make-rprivate", "/")
            run("mount", "--bind", self("fuse"), DEVICE)
        for folder in (self.home, self.work, self.mnt, self("data"), self("run")):
            os.chown(folder, uid, uid)
        self.identity = {"user": uid, "group": uid, "extra_groups": []}

    def __call__(self, *names):
        return os.path.join(self.home, *names)

    def __enter__(self):
        self.mount.launch(OFFLOADFS_COREDUMP="1")
        assert self.mount.comes_up()
        self.mount.__enter__()
        return self

    def __exit__(self, *what):
        return self.mount.__exit__(*what)

    def options(self, options):
        return {"cwd": self.work, "env": self.env, "timeout": 45 * SLOW, **self.identity, **options}

    def run(self, *command, **options):
        return run(*command, **self.options(options))

    def start(self, *command, **options):
        options = self.options(options)
        del options["timeout"]
        return subprocess.Popen(command, **options)

    def agent(self, name, *command, **options):
        return self.run(self.program, "agent", "run", name, "--", *command, **options)

    def sh(self, name, script, **options):
        return self.agent(name, "sh", "-c", script, **options).stdout.decode()


@contextlib.contextmanager
def running(a, name, script):
    """Runs a script in an agent and yields it once it has written its first line."""
    command = (a.program, "agent", "run", name, "--", "sh", "-c", script)
    with a.start(*command, stdout=subprocess.PIPE) as p:
        try:
            assert p.stdout.readline()
            yield p
        finally:
            p.kill()


@contextlib.contextmanager
def serving(a, *options):
    with a.start(a.program, "serve", "--json", *options, stdout=subprocess.PIPE) as p:
        try:
            yield json.loads(p.stdout.readline())
        finally:
            p.terminate()


@contextlib.contextmanager
def agents(case, uid=None):
    with Agents(case, os.geteuid() if uid is None else uid) as a:
        yield a


# --- The agent's own tree -------------------------------------------------------------------------


@test(variants=USERS)
def the_workspace_s_mount_is_the_agent_s_tree(case, uid):
    with agents(case, uid) as a:
        a.run("sh", "-c", "echo above > .offload/cache/top")
        made = a.sh("one", "mkdir -p .offload/cache && echo mine > .offload/cache/file && id -u")
        assert made == f"{uid}\n", made
        assert a.run("cat", ".offload/agents/one/cache/file").stdout == b"mine\n"
        assert a.sh("one", "cat .offload/cache/file; ls .offload/cache") == "mine\nfile\n"
        assert a.sh("two", "ls .offload/cache 2>&1; true") != "file\n"


@test
def the_environment_and_the_standard_descriptors_stay(case):
    with agents(case) as a:
        env = {**a.env, "OFFLOAD_STORE": a.store, "OFFLOAD_TASK": "t", "MINE": "x y"}
        done = a.agent(
            "one",
            "sh",
            "-c",
            'echo "$MINE $OFFLOAD_TASK $OFFLOAD_DIR ${OFFLOAD_AGENT-none} ${OFFLOAD_STORE-none}"; '
            "cat; echo error >&2",
            env=env,
            input=b"input\n",
        )
        assert done.stdout.decode() == f"x y t {a.mnt} none none\ninput\n", done
        assert done.stderr == b"error\n"


@test
def an_agent_of_an_agent(case):
    with agents(case) as a:
        inner = f"{a.program} agent run in -- sh -c 'mkdir -p .offload/cache; echo x > .offload/cache/f'"
        if a.uid:  # root's agents have a read-only /proc
            a.sh("out", inner)
            assert read(a.mount("agents/out/agents/in/cache/f")) == b"x\n"
        a.sh("out/beside", "mkdir -p .offload/cache; echo y > .offload/cache/f")
        assert read(a.mount("agents/out/agents/beside/cache/f")) == b"y\n"
        env = {**a.env, "OFFLOAD_AGENT": "out"}
        assert a.sh("beside", "cat .offload/cache/f", env=env) == "y\n"


# --- The end of a run -----------------------------------------------------------------------------


@test
def the_exit_status_is_the_command_s(case):
    with agents(case) as a:
        for script, code in (
            ("exit 0", 0),
            ("exit 7", 7),
            ("exit 255", 255),
            ("kill -TERM $$", -signal.SIGTERM),
            ("kill -KILL $$", -signal.SIGKILL),
            ("kill -SEGV $$", -signal.SIGSEGV),
        ):
            done = a.agent("one", "sh", "-c", script, check=False)
            assert done.returncode == code, (script, done)
        assert a.agent("one", "no-such-program", check=False).returncode == 127
        assert a.agent("one", "/etc/passwd", check=False).returncode == 126


@test
def signals_are_passed_on(case):
    with agents(case) as a:
        for name in ("TERM", "HUP", "INT", "USR1"):
            script = f'trap "echo got {name}; exit 3" {name}; echo ready; while :; do sleep 0.01; done'
            with a.start(
                a.program, "agent", "run", "one", "--", "sh", "-c", script, stdout=subprocess.PIPE
            ) as p:
                assert p.stdout.readline() == b"ready\n"
                p.send_signal(getattr(signal, "SIG" + name))
                assert p.stdout.read() == f"got {name}\n".encode()
            assert p.returncode == 3, p


@test
def what_the_command_leaves_running_ends_with_it(case):
    with agents(case) as a:
        a.sh("one", "sleep 1000 & sh -c 'sleep 1000 & sleep 1000 &' & echo $!")
        assert not [p for p in processes() if b"sleep\0001000" in p], processes()


@test
def orphans_are_reaped(case):
    with agents(case) as a:
        script = (
            "for i in 1 2 3; do sh -c 'true & exec true'; done; sleep 0.2; "
            "grep -l '^State:.Z' /proc/[0-9]*/status; true"
        )
        assert a.sh("one", script) == ""


@test
def everything_ends_with_the_tool(case):
    with agents(case) as a:
        with a.start(
            a.program, "agent", "run", "one", "--", "sh", "-c", "echo x; sleep 1001; true",
            stdout=subprocess.PIPE,
        ) as p:
            assert p.stdout.readline() == b"x\n"
            p.kill()
            assert p.stdout.read() == b""
        eventually(
            lambda: not [c for c in processes() if b"sleep\0001001" in c], "nothing is left", 5
        )


def processes():
    found = []
    for pid in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if pid.isdigit():
                found.append(read(f"/proc/{pid}/cmdline"))
    return found


@test
def signals_to_the_group_stay_inside(case):
    """Without a terminal. The daemon may be in the process group of whoever starts agents."""
    with agents(case) as a:
        script = f"""
            trap 'echo outside' USR1
            {a.program} agent run one -- sh -c 'trap "echo inside" USR1; kill -USR1 0; true'
            {a.program} agent run one -- sh -c 'kill -KILL 0'
            echo "$?"
        """
        done = a.run("setsid", "--wait", "sh", "-c", script)
        assert done.stdout == b"inside\n137\n", done


# --- With a terminal ------------------------------------------------------------------------------


class Terminal:
    """A shell with job control on a terminal of its own."""

    def __init__(self, a):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(a.work)
            os.environ.update(a.env, PS1="$ ", TERM="dumb")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text):
        """Reads until `text` appears; returns what came before it."""

        def there():
            if select.select([self.fd], [], [], 0)[0]:
                self.seen += os.read(self.fd, 65536)
            return text.encode() in self.seen

        try:
            eventually(there, f"{text!r} is shown", 10)
        except AssertionError as e:
            raise AssertionError(f"{e}; what is there: {self.seen!r}") from None
        before, _, self.seen = self.seen.partition(text.encode())
        return before.decode()

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def terminal(a):
    """
    Yields a Terminal, and waits for its shell at the end. Closing a terminal sends SIGCONT to the
    programs on it; a tool would hang if its sanitizer's leak check had just stopped it with
    SIGSTOP.
    """
    t = Terminal(a)
    try:
        yield t
        t.type("echo shell-is-b''ack\n")
        t.expect("shell-is-back")
    finally:
        t.close()


@test
def interrupts_of_a_terminal(case):
    with agents(case) as a, terminal(a) as t:
        script = """trap "echo got-it" INT; sh -c "echo rea''dy; exec cat"; echo a-f""ter"""
        t.type(f"offload agent run one -- sh -c '{script}'\n")
        t.expect("ready")
        t.type("\x03")
        t.expect("got-it")
        t.expect("a-fter")
        # Run tail without a shell: dash misses an interrupt that arrives while it starts a command.
        t.type("echo rea''dy >word; offload agent run one -- tail -f word\n")
        t.expect("ready")
        t.type("\x03")
        t.type("echo code=$?\n")
        t.expect("code=130")


@test
def job_control(case):
    with agents(case) as a, terminal(a) as t:
        t.type("offload agent run one -- sh -c 'echo rea''dy; read x; echo read-$x'\n")
        t.expect("ready")
        t.type("\x1a")
        t.expect("Stopped")
        t.type("jobs; echo sh''ell\n")
        t.expect("Stopped")
        t.expect("shell")
        t.type("fg\n")
        t.expect("agent run")
        t.type("line\n")
        t.expect("read-line")
        t.type("cat | offload agent run one -- sed s/a/b/\nxay\n\x04")
        t.expect("xby")
        t.type("offload agent run one -- sh -c 'kill -STOP $$; echo go''es-on'\n")
        t.expect("Stopped")
        t.type("fg\n")
        t.expect("goes-on")


@test
def a_shell_inside_has_job_control_and_gives_the_terminal_back(case):
    with agents(case) as a, terminal(a) as t:
        t.type("sh -c 'offload agent run one -- env PS1=in\"si\"de: bash --norc -i; read x; echo b''ack-$x'\n")
        t.expect("inside:")
        # No shell around tail: one stopped while it starts a command is never reported as stopped.
        t.type("echo rea''dy >word; tail -f word\n")
        t.expect("ready")
        t.type("\x1a")
        t.expect("Stopped")
        t.expect("inside:")
        t.type("fg\n")
        t.expect("tail -f word")
        t.type("\x03")
        t.expect("inside:")
        t.type("exit\n")
        t.expect("exit")
        t.type("line\n")
        t.expect("back-line")


@test
def the_size_of_a_terminal(case):
    with agents(case) as a, terminal(a) as t:
        script = "trap 'stty size; end=1' WINCH; echo rea''dy; until [ \\$end ]; do sleep 0.01; done"
        t.type(f'offload agent run one -- bash -c "{script}"\n')
        t.expect("ready")
        fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        t.expect("33 77")


@test
def nothing_is_typed_into_a_terminal_by_the_agent(case):
    with agents(case) as a, terminal(a) as t:
        script = (
            "import fcntl, termios\n"
            "try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\n    print('typed')\n"
            "except OSError as e:\n    print('errno', e.errno)\n"
        )
        write(a("type.py"), script.encode())
        t.type(f"offload agent run one -- {python_of(a)} {a('type.py')}\n")
        t.expect(f"errno {errno.EPERM}")
        # Signal the process group, which would include the shell's job.
        t.type("offload agent run one -- sh -c 'kill -KILL 0; echo al''ive'\n")
        t.expect("alive")


# --- Refusals -------------------------------------------------------------------------------------


def refused(done, *words):
    assert done.returncode == REFUSED, done
    said = done.stderr.decode()
    assert said.count("\n") == 1 and said.startswith("offload: agent: "), said
    for word in words:
        assert word in said, said
    assert not done.stdout, done


@test
def what_cannot_be_isolated_is_not_run(case):
    with agents(case) as a:
        done = a.agent("one", "echo", "ran", check=False, stdin=os.open(a.store, os.O_RDONLY))
        refused(done, "standard input is a directory")
        for name in ("..", ".", "a//b", "", "a/", "x\ny"):
            assert a.agent(name, "echo", "ran", check=False).returncode == REFUSED, name
        within = ("unshare", "-Urm", "sh", "-c")
        run_it = f'exec {a.program} agent run one -- echo ran'
        none = "echo 0 > /proc/sys/user/max_user_namespaces; "
        refused(a.run(*within, none + run_it, check=False), "user.max_user_namespaces")
        masked = "mount -t tmpfs none /proc/tty; exec unshare -Ur sh -c "
        refused(a.run(*within, f"{masked}'{run_it}'", check=False), "/proc")
        # A store that was moved away: nobody knows what to hide.
        os.rename(a.store, a("elsewhere"))
        refused(a.agent("one", "echo", "ran", check=False), a.store)
        os.rename(a("elsewhere"), a.store)
        assert a.sh("one", "echo ran") == "ran\n"
    refused(a.agent("one", "echo", "ran", check=False, env={**a.env, "OFFLOAD_STORE": a.store}),
            "offload up")


# --- What is hidden -------------------------------------------------------------------------------


def handle_of(path):
    """Returns (type, hex bytes) of a file's handle for open_by_handle_at(); None: it has none."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount_id = ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), handle, ctypes.byref(mount_id), 0) != 0:
        return None
    size, kind = struct.unpack_from("Ii", handle.raw)
    return kind, handle.raw[8:8 + size].hex()


def writable_memory(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            if " rw-p " in line:
                return int(line.split("-")[0], 16)
    raise AssertionError("a process without memory")


def disk_of(path):
    """Returns the block device that holds a file, or None if there is none that can be opened."""
    device = os.stat(path).st_dev
    for name in os.listdir("/dev"):
        with contextlib.suppress(OSError):
            st = os.stat(f"/dev/{name}")
            if stat.S_ISBLK(st.st_mode) and st.st_rdev == device:
                os.close(os.open(f"/dev/{name}", os.O_RDONLY))
                return f"/dev/{name}"
    return None


def python_of(a):
    """Returns an interpreter that the user can run: ours may be in a private home directory."""
    for program in (sys.executable, "/usr/bin/python3"):
        if a.run("test", "-x", program, check=False).returncode == 0:
            return program
    raise Skip("this user has no python3")


def open_as(a, path):
    """Returns a directory opened by the user of `a`. Nobody else can enter that user's mount."""
    ours, theirs = socket.socketpair()
    script = (
        "import os, socket, sys\n"
        "s = socket.socket(fileno=int(sys.argv[1]))\n"
        "socket.send_fds(s, [b'.'], [os.open(sys.argv[2], os.O_RDONLY)])\n"
    )
    a.run(python_of(a), "-c", script, str(theirs.fileno()), path, pass_fds=[theirs.fileno()])
    return socket.recv_fds(ours, 1, 1)[1][0]


def bind(a, path, point):
    fd = open_as(a, path)
    os.mkdir(point)
    done = libc.mount(f"/proc/self/fd/{fd}".encode(), os.fsencode(point), None, 4096, None)
    assert done == 0, os.strerror(ctypes.get_errno())
    os.close(fd)


@contextlib.contextmanager
def mount_more(a, context):
    """Adds everything that root can mount to show the tree, store or daemon a second time."""
    for name, what in (
        ("second_mount", a.mnt),
        ("agent_mount", a.mount("agents/b")),
        ("store_mount", a.store),
        ("home_mount", a.home),
        ("journal_mount", os.path.join(a.store, "journal")),
    ):
        context[name] = a.case.path(name)
        bind(a, what, context[name])
    for name, kind in (("second_proc", "proc"), ("connections", "fusectl")):
        point = a.case.path(name)
        os.mkdir(point)
        if run("mount", "-t", kind, "none", point, check=False).returncode == 0:
            context[name] = point
    if "connections" in context:
        minor = os.minor(int(a.run("stat", "-c", "%d", a.mnt).stdout))
        context["connection"] = f"{context['connections']}/{minor}/waiting"
    disk = disk_of(a.store)
    if disk:
        context["disk"] = disk
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        points = [line.split()[4] for line in f if " - cgroup" in line]
    for point in points:
        if os.path.exists(f"{point}/cgroup.procs"):
            context["cgroup"] = f"{point}/cgroup.procs"
    try:
        yield
    finally:
        for name in ("second_mount", "agent_mount"):
            run("umount", "-l", context[name])


@test(variants=USERS)
def nothing_else_can_be_reached(case, uid):
    with agents(case, uid) as a, contextlib.ExitStack() as held:
        a.run("sh", "-c", "echo above zebra > .offload/cache/top")
        a.run("mkdir", "-p", *(f".offload/agents/{n}/cache" for n in "ab"))
        a.run("sh", "-c", "echo b giraffe > .offload/agents/b/cache/file")
        a.run(a.program, "put", "--agent", "b", input=b"%d\n" * 5000)
        log = (".offload/.offload/log", ".offload/agents/b/cache/file")
        eventually(lambda: b"agents/b/" in a.run("cat", *log).stdout, "the log tells of it")
        a.run("mkdir", a("empty"))
        os.symlink(a.store, a("store-link"))
        shutil.copy(tries.__file__, a("tries.py"))
        kind, handle = handle_of(a.store) or (0, "")
        daemon = a.mount.process.pid
        other = held.enter_context(running(a, "b", "echo x; exec sleep 1000"))
        (init,) = children_of(other.pid)
        (command,) = children_of(init)
        held.enter_context(serving(a))
        held.enter_context(
            serving(a, "--socket", a("serve.sock"), "--listen", "127.0.0.1:0")
        )
        python = python_of(a)
        context = {
            "mnt": a.mnt,
            "store": a.store,
            "store_link": a("store-link"),
            "empty": a("empty"),
            "servers": a("run", "offloadfs"),
            "server": a("serve.sock"),
            "offload": a.program,
            "ref": a.run("getfattr", "--only-values", "-n", "user.offload.ref",
                         ".offload/cache/top").stdout.decode(),
            "handle": handle,
            "handle_type": kind,
            "daemon": daemon,
            "address": writable_memory(daemon),
            "other_supervisor": other.pid,
            "other_init": init,
            "other_command": command,
        }
        fds = [open_as(a, path) for path in (a.mnt, a.store)]
        context["tree_fd"], context["store_fd"] = fds
        results = {}
        with mount_more(a, context) if ROOT else contextlib.nullcontext():
            for inside in (False, True):
                context["inside"] = inside
                context["tree"] = a.mnt if inside else a.mount("agents/a")
                command = [python, a("tries.py"), json.dumps(context)]
                if inside:
                    command = [a.program, "agent", "run", "a", "--"] + command
                done = a.run(*command, pass_fds=fds)
                results[inside] = json.loads(done.stdout)
        for fd in fds:
            os.close(fd)
        for name, (_, root_only) in tries.attempts.items():
            outside, inside = results[False][name], results[True][name]
            print(f"{name}: outside {outside!r}, inside {inside!r}")
        for name, (_, root_only) in tries.attempts.items():
            outside, inside = results[False][name], results[True][name]
            assert inside != "reached" and "Traceback" not in inside, (name, inside)
            if uid == 0 or not root_only:
                assert outside == "reached" or "not tried" in outside, (name, outside)


if __name__ == "__main__":
    main()

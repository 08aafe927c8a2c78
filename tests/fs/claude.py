# SPDX-License-Identifier: MIT
"""Simulated Claude Code sessions that call `offload hook`."""
import contextlib
import json
import os

from harness import OFFLOAD, OFFLOADFS, SLOW, mount_points, read, run, write, xattr

MOUNTED = {"mounted": True, "unmounted": False}
SETTINGS = ".claude/settings.json"


def make_repository(path):
    """Makes a folder a workspace by giving it the beginnings of a git repository."""
    os.makedirs(os.path.join(path, ".git"))
    write(os.path.join(path, ".git/HEAD"), b"ref: refs/heads/main\n")


class Chat:
    """A session of Claude Code in a workspace, with a home directory of its own."""

    def __init__(self, case):
        self.home = case.path("home")
        self.path = os.path.join(self.home, "work")
        self.mnt = os.path.join(self.path, ".offload")
        make_repository(self.path)
        binaries = [os.path.dirname(OFFLOAD), os.path.dirname(OFFLOADFS), os.environ["PATH"]]
        self.env = dict(
            os.environ,
            HOME=self.home,
            XDG_DATA_HOME=os.path.join(self.home, "data"),
            PATH=os.pathsep.join(binaries),
            LC_ALL="C.UTF-8",
        )
        for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "OFFLOAD_DIR", "OFFLOAD_STORE", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)

    def offload(self, *words, **options):
        return run(OFFLOAD, *words, cwd=self.path, env=self.env, timeout=45 * SLOW, **options)

    def sh(self, command):
        return run("sh", "-c", command, cwd=self.path, env=self.env, timeout=45 * SLOW).stdout

    def look(self, mounted):
        """Returns everything offloaded: {path in the tree: (ref, content)}."""
        if not mounted:
            self.offload("up")
        found = {}
        for tier in ("cache", "tasks"):
            for folder, _, names in os.walk(os.path.join(self.mnt, tier)):
                for path in (os.path.join(folder, name) for name in names):
                    found[os.path.relpath(path, self.mnt)] = (xattr(path, "ref"), read(path))
        if not mounted:
            self.offload("down")
        return found

    def only(self, mounted):
        """Returns path in the tree, ref and content of the one file that was offloaded."""
        found = self.look(mounted)
        assert len(found) == 1, list(found)
        ((name, (ref, content)),) = found.items()
        return name, ref, content

    def event(self, tool, given, response, **more):
        event = {
            "session_id": "0f3c-77",
            "transcript_path": os.path.join(self.home, ".claude/projects/p/0f3c-77.jsonl"),
            "cwd": self.path,
            "permission_mode": "default",
            "hook_event_name": "PostToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_response": response,
            "tool_use_id": "toolu_01",
        }
        return {**event, **more}

    def hook(self, event, *options, cwd="/", code=0):
        """Runs the hook in `cwd`; returns its answer (None: it printed none) and standard error."""
        data = event if isinstance(event, bytes) else json.dumps(event).encode()
        done = run(
            OFFLOAD,
            "hook",
            "claude-code",
            *options,
            input=data,
            check=False,
            cwd=cwd,
            env=self.env,
            timeout=45 * SLOW,
        )
        assert done.returncode == code, (done.returncode, done.stderr)
        said = done.stderr.decode()
        assert said.count("\n") <= 1, said
        return (json.loads(done.stdout) if done.stdout else None), said

    def output(self, event, *options):
        """Returns the output that replaces the tool's, or None if the hook leaves it alone."""
        answer, said = self.hook(event, *options)
        assert not said, said
        if answer is None:
            return None
        assert list(answer) == ["hookSpecificOutput"]
        specific = answer["hookSpecificOutput"]
        assert list(specific) == ["hookEventName", "updatedToolOutput"]
        assert specific["hookEventName"] == "PostToolUse"
        return specific["updatedToolOutput"]

    def bash(self, command, stdout, stderr=""):
        return self.event(
            "Bash",
            {"command": command, "description": "d"},
            {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False},
        )

    def settings(self):
        return os.path.join(self.path, SETTINGS)


@contextlib.contextmanager
def chat(case, mounted):
    c = Chat(case)
    if mounted:
        c.offload("up")
    try:
        yield c
    finally:
        if c.mnt in mount_points():
            c.offload("down")

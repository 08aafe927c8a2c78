#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The real agents against an imitation of their providers on the loopback: what their models are told
with the hook installed. OFFLOADFS_AGENTS is the directory in which npm has installed them.
"""
import contextlib
import json
import os
import signal
import subprocess
import time

import paths  # noqa: F401
from claude import Chat
from harness import SLOW, eventually, main, mount_points, read, same, stopped, test, write
from imitation import END, imitation

AGENTS = os.environ.get("OFFLOADFS_AGENTS") or ""
LONG = "sed 's/row/line/' rows.txt"
FILE = "".join(f"row {i} of a file that is read\n" for i in range(1, 901))
TIMEOUT = 150


class Agent(Chat):
    """An agent in a workspace, isolated from the settings of the user who runs the tests."""

    program = name = None
    shell, read_tool = None, None

    def __init__(self, case):
        super().__init__(case)
        self.env = {
            "HOME": self.home,
            "XDG_DATA_HOME": os.path.join(self.home, "data"),
            "PATH": self.env["PATH"],
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
        }
        git = ["git", "-C", self.path, "-c", "user.name=ann", "-c", "user.email=ann@example.org"]
        subprocess.run([*git, "init", "-q"], check=True, env=self.env)
        subprocess.run([*git, "commit", "-qm", "empty", "--allow-empty"], check=True, env=self.env)
        write(os.path.join(self.path, "rows.txt"), FILE.encode())

    def prepare(self, url):
        """Writes the settings that make the agent ask the imitation."""
        raise NotImplementedError

    def words(self):
        raise NotImplementedError

    def run(self, server):
        self.prepare(server.url)
        words = [os.path.join(AGENTS, "node_modules/.bin", self.program), *self.words()]
        with open(os.path.join(self.home, "said"), "w+b") as out:
            with subprocess.Popen(
                words,
                cwd=self.path,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process:
                try:
                    code = process.wait(timeout=100 * SLOW)
                finally:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)  # some leave helpers running
            out.seek(0)
            said = out.read().decode(errors="replace")
        assert code == 0 and server.requests, said[-2000:]
        assert END in said, said[-2000:]
        return server.results()

    def settings(self):
        """Returns the content of each file in the workspace and the home that may hold settings."""
        return {
            path: read(path)
            for folder in (self.path, self.home)
            for path in _files(folder)
            if "/.git/" not in path and "/data/" not in path and "/.offload/" not in path
        }


def _files(folder):
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".offload", "data")]
        for name in names:
            yield os.path.join(parent, name)


class ClaudeCode(Agent):
    program, name = "claude", "claude-code"

    @staticmethod
    def shell(command):
        return ("Bash", {"command": command})

    def reads(self, path):
        return ("Read", {"file_path": os.path.join(self.path, path)})

    deny = ()

    def prepare(self, url):
        self.env.update(
            ANTHROPIC_API_KEY="made-up",
            ANTHROPIC_BASE_URL=url,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
        )
        trusted = {"hasCompletedOnboarding": True}
        trusted["projects"] = {self.path: {"hasTrustDialogAccepted": True}}
        write(os.path.join(self.home, ".claude.json"), json.dumps(trusted).encode())
        allowed = {"allow": ["Bash", "Read"], "deny": list(self.deny)}
        user = os.path.join(self.home, ".claude/settings.json")
        os.makedirs(os.path.dirname(user), exist_ok=True)
        write(user, json.dumps({"permissions": allowed}).encode())

    def words(self):
        return ["-p", "go"]


class Codex(Agent):
    program = name = "codex"

    @staticmethod
    def shell(command):
        return ("exec_command", {"cmd": command})

    def prepare(self, url):
        self.env["OPENAI_API_KEY"] = "made-up"
        settings = os.path.join(self.home, ".codex/config.toml")
        os.makedirs(os.path.dirname(settings), exist_ok=True)
        write(
            settings,
            f"""model = "m"
model_provider = "imitation"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.imitation]
name = "imitation"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
[projects."{self.path}"]
trust_level = "trusted"
[features]
hooks = true
plugins = false
""".encode(),
        )

    def words(self):
        # A user confirms this once with /hooks.
        return ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "go"]


class Gemini(Agent):
    program = name = "gemini"

    @staticmethod
    def shell(command):
        return ("run_shell_command", {"command": command})

    def reads(self, path):
        return ("read_file", {"file_path": os.path.join(self.path, path)})

    def prepare(self, url):
        self.env.update(GEMINI_API_KEY="made-up", GOOGLE_GEMINI_BASE_URL=url)
        user = os.path.join(self.home, ".gemini/settings.json")
        os.makedirs(os.path.dirname(user), exist_ok=True)
        security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        write(user, json.dumps({"security": security}).encode())

    def words(self):
        return ["--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", "go"]


class Opencode(Agent):
    program = name = "opencode"

    @staticmethod
    def shell(command):
        return ("bash", {"command": command, "description": "runs it"})

    def reads(self, path):
        return ("read", {"filePath": os.path.join(self.path, path)})

    def prepare(self, url):
        self.env.update(
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
        )
        options = {"baseURL": f"{url}/v1", "apiKey": "made-up"}
        provider = {"options": options, "models": {"m": {"name": "m"}}}
        settings = {
            "model": "anthropic/m",
            "small_model": "anthropic/m",
            "provider": {"anthropic": provider},
            "permission": {"bash": "allow", "edit": "allow"},
            "share": "disabled",
            "autoupdate": False,
        }
        write(os.path.join(self.path, "opencode.json"), json.dumps(settings).encode())

    def words(self):
        return ["run", "go"]


KINDS = {kind.name: kind for kind in (ClaudeCode, Codex, Gemini, Opencode)}


def installed(name):
    return os.access(os.path.join(AGENTS, "node_modules/.bin", KINDS[name].program), os.X_OK)


THERE = {name: name for name in KINDS if installed(name)}


@contextlib.contextmanager
def ready(case, name, up=True):
    agent = KINDS[name](case)
    agent.offload("hook", "install", name, "--yes")
    if up:
        agent.offload("up")
    try:
        yield agent
    finally:
        if agent.mnt in mount_points():
            agent.offload("down")


@test(variants=THERE, timeout=TIMEOUT)
def the_model_gets_a_pointer(case, name):
    with ready(case, name) as agent:
        with imitation([[agent.shell(LONG)], [agent.shell("echo short")]]) as server:
            long, short = agent.run(server)
        assert "[offloaded] sed " in long and len(long) < 3000, long[:600]
        assert "line 900 of a file" in long, long
        ref = long.split("(ref ")[1].split(")")[0]
        found = agent.offload("slice", ref, "1-900").stdout.decode()
        # Codex passes its hooks the same shortened output as its model.
        assert "line 1 of a file" in found and (name == "codex" or "line 450 of" in found), found
        assert "short" in short and "[offloaded]" not in short


@test(variants={n: n for n in THERE if hasattr(KINDS[n], "reads")}, timeout=TIMEOUT)
def a_long_file_that_is_read_has_no_false_lines(case, name):
    with ready(case, name) as agent:
        with imitation([[agent.reads("rows.txt")]]) as server:
            (told,) = agent.run(server)
        assert "[offloaded] " in told and "rows.txt: " in told, told[:600]
        ref = told.split("(ref ")[1].split(")")[0]
        same(agent.offload("slice", ref, "17").stdout, b"row 17 of a file that is read\n")


@test(variants=THERE, timeout=TIMEOUT)
def a_command_that_fails_says_so(case, name):
    with ready(case, name) as agent:
        with imitation([[agent.shell(f"{LONG}; echo oops: it failed; exit 3")]]) as server:
            (told,) = agent.run(server)
        assert "oops: it failed" in told, told[-600:]
        assert name == "codex" or "3" in told.split("(ref")[0] or "Exit code 3" in told, told[:300]


@test(variants=THERE, timeout=TIMEOUT)
def a_daemon_that_died_or_stops_holds_nothing_up(case, name):
    with ready(case, name) as agent:
        (store,) = os.scandir(os.path.join(agent.env["XDG_DATA_HOME"], "offloadfs"))
        daemon = int(read(os.path.join(store, "lock")).split()[0])
        with stopped(daemon), imitation([[agent.shell(LONG)]]) as server:
            time.sleep(1.2)  # the kernel's attributes of the tree are no longer trusted
            (told,) = agent.run(server)
        assert "[offloaded]" not in told and "line 1 of a file" in told, told[:300]


@test(variants=THERE, timeout=TIMEOUT)
def uninstall_leaves_nothing_behind(case, name):
    agent = KINDS[name](case)
    before = agent.settings()
    agent.offload("hook", "install", name, "--yes")
    assert agent.settings() != before
    agent.offload("hook", "uninstall", name, "--yes")
    assert agent.settings() == before, set(agent.settings()) ^ set(before)


if "claude-code" in THERE:

    @test(timeout=TIMEOUT)
    def what_the_user_denied_is_not_run(case):
        with ready(case, "claude-code") as agent:
            agent.deny = ("Bash(touch:*)",)
            script = [[agent.shell("touch denied")], [agent.shell("true; touch denied")]]
            with imitation(script) as server:
                told = agent.run(server)
            assert not os.path.exists(os.path.join(agent.path, "denied")), told


if __name__ == "__main__":
    main()

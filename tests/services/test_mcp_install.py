#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload mcp install and uninstall: the server in the agents' settings."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

from harness import OFFLOAD, Skip, main, test  # noqa: E402
from mcp_client import Stdio  # noqa: E402

# For each agent: the project's file, the user's file, and the member that holds servers.
AGENTS = {
    "claude-code": (".mcp.json", ".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "opencode": ("opencode.json", ".config/opencode/opencode.json", "mcp"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", ".config/Code/User/mcp.json", "servers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
}
NAMES = {name: name for name in AGENTS}


class Place:
    """A project and a home for a test."""

    def __init__(self, case):
        self.project, self.home = case.path("project"), case.path("home")
        for folder in (self.project, self.home, os.path.join(self.project, ".offload")):
            os.mkdir(folder)

    def __call__(self, *words, code=0):
        """Runs offload mcp. Returns its standard output and keeps its standard error in `said`."""
        done = subprocess.run(
            [OFFLOAD, "mcp", *words],
            cwd=self.project,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stderr
        assert done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def file(self, agent, user=False):
        project, home, _ = AGENTS[agent]
        return pathlib.Path(self.home, home) if user else pathlib.Path(self.project, project)


def entry_of(agent, text):
    """Returns the command that the settings make the agent run."""
    if agent == "codex" and not tomllib:
        raise Skip("this Python reads no TOML")
    settings = tomllib.loads(text) if agent == "codex" else json.loads(text)
    entry = settings[AGENTS[agent][2]]["offload"]
    if agent == "opencode":
        assert entry["type"] == "local", entry
        return entry["command"]
    assert entry.get("type", "stdio") == "stdio", entry
    return [entry["command"], *entry["args"]]


@test(variants=NAMES)
def install(case, agent):
    place = Place(case)
    for options, user in (([], False), (["--project"], False), (["--user"], True)):
        file = place.file(agent, user)
        if user or not file.exists():
            printed = place("install", agent, "--print", *options)
            assert not file.exists(), "--print wrote it"
            place("install", agent, "--yes", *options)
            assert place.said.endswith(f"the server offload:\n  {OFFLOAD} mcp\n"), place.said
            assert file.read_text() == printed
        assert entry_of(agent, file.read_text()) == [OFFLOAD, "mcp"], file.read_text()
        assert "already has it" in place("install", agent, "--yes", *options)
        words = ["--task", "t", "--store", "/a b", "--agent", "x"]
        place("install", agent, "--yes", *options, *words)
        got = entry_of(agent, file.read_text())
        assert got == [OFFLOAD, "mcp", "--store", "/a b", "--agent", "x", "--task", "t"], got
        place("install", agent, "--yes", *options)
    place("uninstall", agent, "--yes")
    place("uninstall", agent, "--yes", "--user")
    assert not place.file(agent).exists() and not place.file(agent, True).exists()
    assert os.path.isdir(place.project) and os.path.isdir(place.home)
    assert "no server of offload" in place("uninstall", agent, "--yes")


@test(variants=NAMES)
def what_is_installed_serves(case, agent):
    """The installed command starts a server."""
    place = Place(case)
    store = case.path("store")
    place("install", agent, "--yes", "--store", store)
    program, command, *options = entry_of(agent, place.file(agent).read_text())
    assert (program, command, options) == (OFFLOAD, "mcp", ["--store", store])
    with Stdio(*options) as client:
        assert client.call("memory_offload", content="x\n")["memory_refs"]


@test(variants=NAMES)
def all_else_stays(case, agent):
    place = Place(case)
    file = place.file(agent)
    file.parent.mkdir(exist_ok=True)
    if agent == "codex":
        before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # z\n'
    else:
        servers = {AGENTS[agent][2]: {"other": {"command": "y"}}}
        before = json.dumps({"first": [1, {"a": None}], **servers, "last": "\u00e4"}, indent=4)
        before = before.replace("\\u00e4", "\u00e4") + "\n"
    file.write_text(before)
    file.chmod(0o640)
    place("install", agent, "--yes")
    after = file.read_text()
    assert entry_of(agent, after) == [OFFLOAD, "mcp"] and '"y"' in after, after
    assert file.stat().st_mode & 0o777 == 0o640
    place("uninstall", agent, "--yes")
    assert file.read_text() == before


@test(variants={name: name for name in AGENTS if name != "codex"})
def comments_are_not_lost(case, agent):
    """A file with comments is left alone, and the entry to paste is shown."""
    place = Place(case)
    file = place.file(agent)
    file.parent.mkdir(exist_ok=True)
    before = '{\n  // mine\n  "a": 1,\n}\n'
    file.write_text(before)
    place("install", agent, "--yes", code=2)
    assert file.read_text() == before
    assert str(file) in place.said and "comments" in place.said, place.said
    snippet = place.said[place.said.index("\n{") :]
    assert entry_of(agent, snippet) == [OFFLOAD, "mcp"]
    place("uninstall", agent, "--yes", code=2)
    assert file.read_text() == before


@test
def opencode_with_comments_has_another_name(case):
    place = Place(case)
    file = pathlib.Path(place.project, "opencode.jsonc")
    file.write_text('{"theme": "x"}\n')
    place("install", "opencode", "--yes")
    assert entry_of("opencode", file.read_text()) and not place.file("opencode").exists()


@test
def other_servers_of_that_name(case):
    place = Place(case)
    file = pathlib.Path(place.project, ".mcp.json")
    before = '{"mcpServers": {"offload": {"command": "else", "args": ["mcp"]}}}'
    file.write_text(before)
    place("install", "claude-code", "--yes", code=2)
    place("uninstall", "claude-code", "--yes", code=2)
    assert file.read_text() == before


@test
def asked_first(case):
    place = Place(case)
    place("install", "cursor", code=2)
    assert "--yes" in place.said and not place.file("cursor").exists(), place.said


@test
def names_of_agents(case):
    """--agent names the agent if no operand does, unlike in offload hook."""
    place = Place(case)
    place("install", "--agent", "codex", "--yes")
    assert entry_of("codex", place.file("codex").read_text()) == [OFFLOAD, "mcp"]
    for words in (["install"], ["install", "nobody"], ["install", "--agent", "x"], ["put"]):
        place(*words, code=2)
        assert "codex" in place.said or words == ["put"], place.said
    place("install", "cursor", "--user", "--project", code=2)


@test
def links_out_of_the_project(case):
    place = Place(case)
    outside = pathlib.Path(case.dir, "outside.json")
    outside.write_text("{}\n")
    os.symlink(outside, os.path.join(place.project, ".mcp.json"))
    place("install", "claude-code", "--yes", code=1)
    assert outside.read_text() == "{}\n" and "link" in place.said, place.said
    # The user's own settings may be behind a link.
    os.symlink(outside, os.path.join(place.home, ".claude.json"))
    place("install", "claude-code", "--yes", "--user")
    assert entry_of("claude-code", outside.read_text()) == [OFFLOAD, "mcp"]


@test
def folders_by_variables(case):
    place = Place(case)
    for agent, variable, name in (
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ):
        folder = case.path(variable)
        subprocess.run(
            [OFFLOAD, "mcp", "install", agent, "--user", "--yes"],
            env={"PATH": "/usr/bin:/bin", "HOME": place.home, variable: folder},
            cwd=place.project,
            check=True,
            capture_output=True,
        )
        assert entry_of(agent, pathlib.Path(folder, name).read_text())[1] == "mcp"


if __name__ == "__main__":
    main()

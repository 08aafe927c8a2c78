# SPDX-License-Identifier: MIT
"""Functions shared by the commands of tools/package."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / "subprojects" / "packagecache"  # libfuse's archive, from tools/bootstrap


class Failure(Exception):
    """Ends tools/package with this message."""


def say(text):
    print(f"package: {text}", flush=True)


def quietly(*command, input="", **options):
    """Runs a command; returns its output, which is shown only if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        **options,
    )
    if done.returncode != 0:
        raise Failure(f"{done.stdout}\n'{' '.join(map(str, command))}' failed ({done.returncode})")
    return done.stdout


def git(*command):
    """Runs git in the project, with times in UTC; returns its output."""
    if not (ROOT / ".git").exists():
        raise Failure(f"'{ROOT}' is not a git checkout: packages are made from its commit")
    return quietly("git", "-C", ROOT, *command, env={**os.environ, "TZ": "UTC"}).strip()


def version():
    """Returns the project's version in the commit that is checked out."""
    return re.search(r"version: '([^']+)'", git("show", "HEAD:meson.build")).group(1)


def export(commit, to):
    """Writes the files of a commit, and nothing else, into the new folder `to`."""
    to.mkdir(parents=True)
    archive = to.parent / (to.name + ".tar")
    git("archive", "-o", archive, commit)
    quietly("tar", "-xf", archive, "-C", to)
    archive.unlink()

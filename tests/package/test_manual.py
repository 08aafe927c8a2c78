#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual pages are complete and well-formed."""
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import OFFLOAD, SOURCE_ROOT, Skip, main, run, test  # noqa: E402

BUILD = pathlib.Path(OFFLOAD).parent
PROSE = sorted((SOURCE_ROOT / "docs" / "man").iterdir())


def page(name):
    path = BUILD / name
    if not path.is_file():
        raise Skip("the manual pages are not beside the program")
    return path.read_text()


def tables():
    return json.loads(run(OFFLOAD, "help", "--json").stdout)


def assert_told(text, names, where):
    told = {word.lstrip("-") for word in re.findall(r"[\w.-]+", text.replace("\\-", "-"))}
    missing = [name for name in names if name not in told]
    assert not missing, f"{where} lacks {missing}"


@test
def each_command_has_a_page_with_all_its_options(_case):
    overview = page("offload.1")
    for command in tables()["commands"]:
        name = f"offload-{command['name']}"
        text = page(name + ".1")
        assert_told(overview, [name], "offload.1")
        assert_told(text, [o["name"].lstrip("-") for o in command["options"]], name)


@test
def the_daemon_has_a_page_with_all_its_options(_case):
    daemon = tables()["daemon"]
    names = [o["name"].lstrip("-") for kind in ("flags", "words") for o in daemon[kind]]
    assert_told(page("offloadfs.8").replace("Fl ", ""), names, "offloadfs.8")


@test(variants={"config": "config", "context": "context"})
def each_setting_is_in_the_page_of_its_file(_case, file):
    names = [key["name"] for key in tables()[file]]
    assert names
    assert_told(page(f"offloadfs-{file}.5"), names, file)


@test
def the_build_makes_each_page(_case):
    page("offload.1")
    listed = set(re.findall(r"'([\w.-]+\.[1578])',", (SOURCE_ROOT / "meson.build").read_text()))
    assert listed == {path.name for path in PROSE}, listed ^ {path.name for path in PROSE}


@test
def the_pages_are_well_formed(case):
    if not shutil.which("mandoc"):
        raise Skip("mandoc is not installed")
    for prose in PROSE:
        page(prose.name)
        done = run("mandoc", "-T", "lint", "-W", "warning", BUILD / prose.name, check=False)
        said = [line for line in done.stdout.decode().splitlines() if "makewhatis" not in line]
        assert not said, said


if __name__ == "__main__":
    main()

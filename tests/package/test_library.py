#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs can be built with the installed library, which exports exactly what is documented."""
import json
import os
import pathlib
import platform
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import OFFLOAD, SANITIZED, SOURCE_ROOT, Skip, main, run, test  # noqa: E402

BUILD = pathlib.Path(OFFLOAD).parent
EXAMPLE = SOURCE_ROOT / "examples" / "library.c"
HEADERS = sorted((SOURCE_ROOT / "include" / "offloadfs").glob("*.h"))
MAP = SOURCE_ROOT / "src" / "liboffloadfs.map"
LIBRARY = BUILD / "liboffloadfs.so.0"


def program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


def built():
    if not (BUILD / "meson-private").is_dir():
        raise Skip("the programs are not in the directory of a build")


def installed(case):
    """Installs into a test directory. Returns that of the libraries, and an environment."""
    built()
    root = case.path("root")
    run(program("meson"), "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root)
    (pc,) = pathlib.Path(root).glob("**/liboffloadfs.pc")
    libraries = pc.parent.parent
    environment = {
        **os.environ,
        "PKG_CONFIG_PATH": str(pc.parent),
        "PKG_CONFIG_SYSROOT_DIR": root,
        "LD_LIBRARY_PATH": str(libraries),
    }
    return libraries, environment


def flags(environment, *options):
    command = (program("pkg-config"), *options, "--cflags", "--libs", "liboffloadfs")
    return run(*command, env=environment).stdout.decode().split()


def needed(path):
    said = run(program("readelf"), "-d", path).stdout.decode()
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said)


@test(variants={"shared": (), "static": ("--static",)}, timeout=180)
def a_program_is_built_with_the_installed_library(case, options):
    if SANITIZED:
        raise Skip("a library with a sanitizer in it wants one in the program, too")
    libraries, environment = installed(case)
    words = flags(environment, *options)
    if options:
        words.append("-static")
    else:
        own = [w for w in words if w.startswith("-l") or not w.startswith("-")]
        assert own == ["-loffloadfs"], own
    built_program = case.path("library")
    warnings = ("-Wall", "-Wextra", "-Werror")
    run(program("cc"), *warnings, EXAMPLE, "-o", built_program, *words, env=environment)
    assert ("liboffloadfs.so.0" in needed(built_program)) == (not options)
    if options:
        shutil.rmtree(libraries)
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    request = [
        {"role": "user", "content": "Count."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "\n".join(map(str, range(20000)))},
    ]
    os.mkdir(case.store)
    answer = run(
        built_program,
        env={**environment, "OFFLOAD_STORE": case.store},
        input=json.dumps({"messages": request}).encode(),
    )
    content = json.loads(answer.stdout)["messages"][-1]["content"]
    assert content.startswith("[offloaded] shell: "), content


@test
def the_documented_example_is_the_example(case):
    text = (SOURCE_ROOT / "docs" / "INTEGRATION.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```c\n(.*?)^```$", text, re.M | re.S)
    assert shown in EXAMPLE.read_text(encoding="utf-8"), shown


@test
def what_is_exported_is_what_the_headers_offer(case):
    offered = set()
    for header in HEADERS:
        text = header.read_text(encoding="utf-8")
        offered |= set(re.findall(r"^OFS_EXPORT [^(]*?(\w+)\(", text, re.M))
    mapped = set(re.findall(r"^\t(\w+);$", MAP.read_text(encoding="utf-8"), re.M))
    assert mapped == offered, mapped ^ offered
    built()
    symbols = run(program("nm"), "-D", "--defined-only", LIBRARY).stdout.decode().split("\n")
    exported = {line.split()[2].split("@")[0] for line in symbols if " T " in line}
    others = [line for line in symbols if line and " T " not in line and " A " not in line]
    assert exported == offered, exported ^ offered
    assert SANITIZED or not others, others


@test
def a_header_stands_by_itself(case):
    for header in HEADERS:
        for language in ("c", "c++"):
            compiler = program({"c": "gcc", "c++": "g++"}[language])
            text = f"#include <offloadfs/{header.name}>\n".encode()
            options = ("-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{SOURCE_ROOT}/include")
            run(compiler, "-x", language, *options, "-", input=text)


@test
def the_interface_is_the_one_that_is_written_down(case):
    if platform.machine() != "x86_64":
        raise Skip("the layouts that are written down are those of x86-64")
    program("pahole")
    run(SOURCE_ROOT / "tools" / "package", "abi")


@test
def what_the_programs_contain_is_valid_spdx(case):
    built()
    program("dpkg-query")
    done = run(SOURCE_ROOT / "tools" / "package", "sbom", BUILD)
    document = json.loads(done.stdout)
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}Z", document["creationInfo"]["created"])
    assert document["creationInfo"]["creators"] and document["documentNamespace"]
    names = [document["SPDXID"]] + [p["SPDXID"] for p in document["packages"]]
    assert len(set(names)) == len(names), names
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in names), names
    for package in document["packages"]:
        for member in ("name", "versionInfo", "downloadLocation", "licenseDeclared"):
            assert package[member], package
        assert package["licenseDeclared"] != "NOASSERTION", package
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(names), relation


if __name__ == "__main__":
    main()

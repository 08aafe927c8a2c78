#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the layers apart: who may include what, and who may call the system.

Each layer uses only those above it in LAYERS. The text of the sources is
judged, with comments and strings taken out, so nothing need be built.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# From the ground up; layers in the same row do not know each other.
LAYERS = [
    {"base"},
    {"io"},
    {"codec"},
    {"journal", "pack", "index"},
    {"store"},
    {"tree"},
    {"client"},
    {"context"},
    {"agent"},
    {"fuse"},
]

# The companion tool may use everything but the adapter; main is the daemon.
MAY_USE = {"cli": set().union(*LAYERS) - {"fuse"} | {"cli"}, "main": set().union(*LAYERS) | {"main"}}
for depth, row in enumerate(LAYERS):
    for name in row:
        MAY_USE[name] = set().union(*LAYERS[:depth]) | {name}

# A foreign library's types and codes stay in the layer that translates them.
FOREIGN = {
    r"fuse.*|cuse_.*": {"fuse", "main"},
    r"sqlite3.*": {"index"},
    r"zstd.*|zdict\.h": {"codec"},
    r"curl/.*": {"context"},
    r"openssl/.*|xxhash\.h": {"codec"},
}

# Failpoints live in src/io: a store that bypasses it is a store untested.
SYSTEM_CALLS = """
    open open64 openat openat2 creat
    pread pread64 preadv preadv2 pwrite pwrite64 pwritev pwritev2
    fsync fdatasync syncfs sync_file_range
    rename renameat renameat2 ftruncate fallocate
""".split()
MAY_CALL = {"io", "client", "agent", "cli", "fuse", "main"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(SYSTEM_CALLS))
NOISE = re.compile(r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.S | re.X)


def strip(text, includes):
    """`text` without comments and strings, keeping its lines; the names that
    #include gives in quotes stay when `includes`."""

    def blank(match):
        found = match.group(0)
        if found[0] == '"' and includes:
            return found
        return " " + "\n" * found.count("\n")

    return NOISE.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h"))


def layer_of(path):
    """The folder below src/, or the file's own name for src/main.c."""
    return path.relative_to(SRC).parts[0].removesuffix(".c").removesuffix(".h")


def foreign_owner(name):
    for pattern, owners in FOREIGN.items():
        if re.fullmatch(pattern, name):
            return owners
    return None


def check_include(path, layer, quote, name):
    """What is wrong with `path` including `name`, or None."""
    if quote == "<":
        owners = foreign_owner(name)
        if owners is not None and layer not in owners | {"cli", "main"}:
            return f"<{name}> belongs to {' and '.join(sorted(owners))}"
        if owners == {"fuse", "main"} and layer == "cli":
            return f"<{name}> belongs to fuse"
        if (SRC / name).is_file():
            return f'<{name}> is ours, write "{name}"'
        return None
    if ".." in Path(name).parts:
        return f'"{name}" climbs; name it from src/'
    if "/" not in name:
        return None if (path.parent / name).is_file() else f'"{name}" is not in this folder'
    other = name.split("/")[0]
    if other not in MAY_USE:
        return f'"{name}" is in no known layer'
    if other not in MAY_USE[layer]:
        return f'"{name}": {layer} may not use {other}'
    return None


def check_layer(layer, paths):
    for path in paths:
        text = strip(path.read_text(), includes=True)
        for match in INCLUDE.finditer(text):
            wrong = check_include(path, layer, *match.groups())
            if wrong:
                yield f"{path.relative_to(ROOT)}:{line_of(text, match.start())}: {wrong}"


def check_calls(layer, paths):
    for path in paths:
        text = strip(path.read_text(), includes=False)
        for match in CALL.finditer(text):
            yield (f"{path.relative_to(ROOT)}:{line_of(text, match.start())}: "
                   f"{match.group(1)}() is called in src/io only")


def check_public():
    """The public headers stand alone: no layer shows through."""
    for path in sources(ROOT / "include"):
        text = strip(path.read_text(), includes=True)
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            if quote == '"' or foreign_owner(name) is not None:
                yield (f"{path.relative_to(ROOT)}:{line_of(text, match.start())}: "
                       f"a public header may not include {name}")


def check_built():
    """A file that meson.build does not list is neither compiled nor run."""
    listed = re.sub(r"#[^\n]*", "", (ROOT / "meson.build").read_text())
    wanted = [p.relative_to(ROOT).as_posix() for p in sources(SRC) if p.suffix == ".c"]
    wanted += [p.relative_to(ROOT).as_posix() for p in sources(ROOT / "include")]
    for name in wanted:
        if f"'{name}'" not in listed:
            yield f"{name} is not in meson.build"
    patterns = {"unit": "test_*.c", "fuzz": "fuzz_*.c", "fs": "*.py", "posix": "*.py"}
    for folder, pattern in patterns.items():
        for path in sorted((ROOT / "tests" / folder).glob(pattern)):
            name = path.stem.removeprefix("test_").removeprefix("fuzz_")
            is_program = pattern != "*.py" or path.read_text().startswith("#!")
            if is_program and f"'{name}'" not in listed:
                yield f"{path.relative_to(ROOT)} is not in meson.build"


def checks():
    by_layer = {}
    for path in sources(SRC):
        by_layer.setdefault(layer_of(path), []).append(path)
    for layer, paths in sorted(by_layer.items()):
        if layer not in MAY_USE:
            yield f"src/{layer} is a known layer", [f"src/{layer} is in no row of LAYERS"]
            continue
        yield f"{layer} includes only what it may", list(check_layer(layer, paths))
        if layer not in MAY_CALL:
            yield f"{layer} leaves system calls to io", list(check_calls(layer, paths))
    yield "public headers stand alone", list(check_public())
    yield "every source and test is in meson.build", list(check_built())


def main():
    failed = 0
    count = 0
    for count, (name, problems) in enumerate(checks(), 1):
        print(f"{'not ok' if problems else 'ok'} {count} - {name}")
        for problem in problems:
            print(f"# {problem}")
        failed += bool(problems)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

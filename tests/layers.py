#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the structure of the sources. Usage: tests/layers.py [--graph]

- A layer includes only the layers above it in LAYERS, a folder of a layer only those above
  it in FOLDERS. Foreign libraries and system calls stay in the layers that own them.
- A struct, enum or union tag is defined once, and a file name occurs once in src/.
- No files use each other in a circle. --graph prints every circle, with the names that its
  files use of each other.
- A variable that is released at the end of its scope (OFS_CLEANUP, OFS_FREE, OFS_CLOSE)
  has an initial value.
- Every source and test is listed in meson.build.

Reads the text of the sources, without comments and strings. Nothing needs to be built.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# From the bottom up. Layers in the same row do not know each other.
LAYERS = [
    {"base"},
    {"io"},
    {"codec"},
    {"embed", "journal", "pack", "index", "remote"},
    {"store"},
    {"replica"},
    {"tree"},
    {"client"},
    {"context"},
    {"agent"},
    {"service"},
    {"fuse"},
]

# The companion tool may use everything but the FUSE adapter. "main" is the daemon.
MAY_USE = {"cli": set().union(*LAYERS) - {"fuse"} | {"cli"}, "main": set().union(*LAYERS) - {"service"} | {"main"}}
for depth, row in enumerate(LAYERS):
    for name in row:
        MAY_USE[name] = set().union(*LAYERS[:depth]) | {name}

# The order of the folders within a layer, from the bottom up. Folders in the same row do not know
# each other. "" stands for the files outside the folders. A folder in no row may use all of its
# layer and be used by all of it.
FOLDERS = {
    "tree": [{"core"}, {"expiry", "search"}, {"virtual"}, {""}],
    "context": [{"json"}, {"chat", "search", "summarizer"}, {"snapshot"}, {"steps"}, {"manage"}],
}

# Exceptions, each with its reason: sets of files that may use each other in a circle, file names
# that may occur twice, tags that may be defined twice.
CIRCLES = {}
BASENAMES = {}
TAGS = {}


# A foreign library's types and codes stay in the layer that translates them.
FOREIGN = {
    r"fuse.*|cuse_.*": {"fuse", "main"},
    r"sqlite3.*": {"index"},
    r"pcre2\.h": {"base", "service"},
    r"zstd.*|zdict\.h": {"codec"},
    r"curl/.*|archive(_entry)?\.h": {"io"},
    r"microhttpd\.h": {"service"},
    r"openssl/.*|xxhash\.h": {"codec"},
}

# Failpoints are in src/io, so system calls elsewhere would not be tested with faults.
SYSTEM_CALLS = """
    open open64 openat openat2 creat
    pread pread64 preadv preadv2 pwrite pwrite64 pwritev pwritev2
    fsync fdatasync syncfs sync_file_range
    rename renameat renameat2 ftruncate fallocate
""".split()
MAY_CALL = {"io", "client", "agent", "service", "cli", "fuse", "main"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(SYSTEM_CALLS))
NOISE = re.compile(r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.S | re.X)


TAG = re.compile(r"^[ \t]*(?:struct|enum|union)[ \t]+(\w+)[ \t]*\{", re.M)
OWNER = re.compile(r"OFS_(?:CLEANUP\([^)]*\)|FREE\b|CLOSE\b)\s[^;={(]*;")
TAG_WORD = re.compile(r"\b(?:struct|enum|union)\s+\w+")
FUNCTION = re.compile(
    r"^(?!static|typedef|extern|(?:struct|enum|union)[ \t]+\w+[ \t]*\{|#)"
    r"[a-zA-Z_][^\n;={}]*?\b(ofs_\w+)\s*\([^;{}]*\)\s*\{", re.M)
VARIABLE = re.compile(
    r"^(?!static|typedef|extern)[a-z][\w \*]*?\b(ofs_\w+)(?:\[[^\]]*\])*\s*=\s", re.M)
INLINE = re.compile(r"^static inline.*?^\}", re.M | re.S)


def strip(text, includes):
    """Returns `text` without comments and strings, keeping its lines. With `includes`, keeps the
    names in #include "...".
    """

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
    """Returns the folder below src/, or "main" for the daemon's own file."""
    if path.parent == SRC:
        return "main"
    return path.relative_to(SRC).parts[0].removesuffix(".c").removesuffix(".h")


def foreign_owner(name):
    for pattern, owners in FOREIGN.items():
        if re.fullmatch(pattern, name):
            return owners
    return None


def check_include(path, layer, quote, name):
    """Returns what is wrong with `path` including `name`, or None."""
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
    if other != layer:
        return None
    return check_folder(layer, folder_of(path.relative_to(SRC)), folder_of(Path(name)))


def folder_of(path):
    """Returns the folder within its layer of a path below src/, or "" if there is none."""
    return path.parts[1] if len(path.parts) > 2 else ""


def check_folder(layer, user, used):
    """Returns what is wrong with folder `user` of a layer using its folder `used`, or None."""
    rows = FOLDERS.get(layer)
    if rows is None or user == used:
        return None
    depth = {folder: i for i, row in enumerate(rows) for folder in row}
    if user in depth and used in depth and depth[used] >= depth[user]:
        return f"{layer}/{user or '*.c'} may not use {layer}/{used or '*.c'}"
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


# --- The graph of files ---------------------------------------------------------------------------


def uses_of_files():
    """
    Returns, for each file in src/, the files that it uses and by which names. A .c file uses
    another by its functions and variables, any file a header by including it, and a header a .c
    file by calling it from inline functions. A header's inline functions may call the .c file of
    the same name.
    """
    code = {path.relative_to(SRC).as_posix(): path for path in sources(SRC)}
    text = {name: strip(path.read_text(), includes=True) for name, path in code.items()}
    bare = {name: TAG_WORD.sub(" ", strip(t, includes=False)) for name, t in text.items()}
    owner = {}
    for name in code:
        if name.endswith(".c"):
            for pattern in (FUNCTION, VARIABLE):
                owner.update((found, name) for found in pattern.findall(bare[name]))
    uses = {name: defaultdict(set) for name in code}
    for name in code:
        for _, included in INCLUDE.findall(text[name]):
            if "/" not in included:
                included = (Path(name).parent / included).as_posix()
            if included in code:
                uses[name][included].add("#include")
        said = bare[name] if name.endswith(".c") else "\n".join(INLINE.findall(bare[name]))
        for word in set(re.findall(r"\bofs_\w+", said)):
            other = owner.get(word, name)
            if other != name and other != name[:-1] + "c":
                uses[name][other].add(word)
    return uses


def circles_of(uses):
    """Returns the maximal sets of files that use each other, directly or not (Tarjan)."""
    number, lowest, stack, circles = {}, {}, [], []

    def visit(name):
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in uses[name]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                circles.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(uses):
        if name not in number:
            visit(name)
    return sorted(circles)


def print_graph():
    """Prints every circle, with what its files use of each other."""
    uses = uses_of_files()
    for circle in circles_of(uses):
        print(f"circle of {len(circle)} files:")
        for name in circle:
            for other in circle:
                if other in uses[name]:
                    print(f"  {name} -> {other}: {', '.join(sorted(uses[name][other]))}")


def check_circles():
    for circle in circles_of(uses_of_files()):
        if frozenset(circle) not in CIRCLES:
            yield f"these files use each other (see --graph): {' '.join(circle)}"


def check_basenames():
    """A basename alone must identify a file, in discussions and in messages."""
    found = defaultdict(list)
    for path in sources(SRC):
        found[path.name].append(path.relative_to(ROOT).as_posix())
    for name, paths in sorted(found.items()):
        if len(paths) > 1 and name not in BASENAMES:
            yield f"one name, several files: {' '.join(paths)}"


def check_tags():
    """Covers tags in headers and all that begin with ofs_; others are private to a .c file."""
    found = defaultdict(set)
    for path in sources(SRC) + sources(ROOT / "include"):
        for tag in TAG.findall(strip(path.read_text(), includes=False)):
            if path.suffix == ".h" or tag.startswith("ofs_"):
                found[tag].add(path.relative_to(ROOT).as_posix())
    for tag, paths in sorted(found.items()):
        if len(paths) > 1 and tag not in TAGS:
            yield f"{tag} is defined in {' and in '.join(sorted(paths))}"


def check_owners():
    """Otherwise an early return would release an uninitialized value."""
    for path in sources(SRC):
        text = strip(path.read_text(), includes=False)
        for match in OWNER.finditer(text):
            yield (f"{path.relative_to(ROOT)}:{line_of(text, match.start())}: "
                   f"a variable with a cleanup needs an initial value")


# --- The whole tree -------------------------------------------------------------------------------


def check_public():
    """Public headers stand alone and include no header of a layer."""
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
    patterns = {"unit": "test_*.c", "fuzz": "fuzz_*.c", "fs": "*.py", "posix": "*.py",
                "remote": "*.py", "services": "*.py", "hostile": "*.py", "crash": "*.py",
                "package": "*.py"}
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
    yield "no files use each other in a circle", list(check_circles())
    yield "the name of a file occurs once", list(check_basenames())
    yield "a tag is defined once", list(check_tags())
    yield "what is given back has an initial value", list(check_owners())
    yield "public headers stand alone", list(check_public())
    yield "every source and test is in meson.build", list(check_built())


def main():
    if sys.argv[1:] == ["--graph"]:
        print_graph()
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
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

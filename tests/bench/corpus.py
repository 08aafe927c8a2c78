# SPDX-License-Identifier: MIT
"""What the benchmarks store: real tool results, variations of them, and generated text."""
import hashlib
import os
import pathlib
import random
import re
import shutil

from files import tool_results

_WORDS = 6000
_SYLLABLES = (
    "ba be bo ca ce co con da de di do en er es ex fa fi for ge ha he in is it ja ka ke la le lo "
    "ma me mi na ne no or pa pe per po pro qu ra re ri ro sa se si so st ta te ti to tra ul un va "
    "ve vi wa we ya za"
).split()


class Corpus:
    """A directory of `<category>/...` with the files to store."""

    def __init__(self, root):
        self.root = root
        self.files = 0
        self.unique = []  # one path per distinct content
        self.apparent = 0
        seen = set()
        for folder, dirs, names in os.walk(root):
            dirs.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as f:
                    data = f.read()
                self.files += 1
                self.apparent += len(data)
                digest = hashlib.sha256(data).digest()
                if digest not in seen:
                    seen.add(digest)
                    self.unique.append(path)

    def categories(self):
        return sorted(os.listdir(self.root))


def real_results(out):
    """Copies the tool results of the traces, or generates some if there are no traces."""
    tool_results(out)


def copy_directory(source, out):
    """Copies a directory. Files directly in it form the category `files`."""
    os.mkdir(out)
    for name in sorted(os.listdir(source)):
        path = os.path.join(source, name)
        if os.path.islink(path):
            continue
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(out, name), symlinks=True)
        elif os.path.isfile(path):
            os.makedirs(os.path.join(out, "files"), exist_ok=True)
            shutil.copyfile(path, os.path.join(out, "files", name))


def add_variations(root, copies):
    """
    Makes a corpus `copies` times as large. Each copy has a vocabulary of its own (words are
    replaced by others of the same length, and digits by others), so that it is as regular and
    repetitive as the original, but has little in common with other copies.
    """
    originals = sorted(p for p in pathlib.Path(root).rglob("*.*") if p.is_file())
    contents = [(p, p.read_bytes()) for p in originals]
    words = sorted({w for _, data in contents for w in re.findall(rb"[A-Za-z]{4,}", data)})
    for copy in range(2, copies + 1):
        rng = random.Random(copy)
        other = _exchange(words, rng)
        digits = bytes.maketrans(b"0123456789", bytes(rng.sample(b"0123456789", 10)))
        for path, data in contents:
            data = re.sub(rb"[A-Za-z]{4,}", lambda m: other[m[0]], data).translate(digits)
            relative = path.relative_to(root)
            target = pathlib.Path(root, relative.parts[0], f"copy-{copy}", *relative.parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def _exchange(words, rng):
    """Returns a permutation of the words that keeps their lengths and initial capitals."""
    kinds = {}
    for word in words:
        kinds.setdefault((len(word), word[:1].isupper()), []).append(word)
    other = {}
    for kind in kinds.values():
        other.update(zip(kind, rng.sample(kind, len(kind))))
    return other


def soup(size, seed):
    """
    Returns `size` bytes of lines like those that programs print, all different. Words are
    distributed as in text: a few are frequent, and most are rare.
    """
    rng = random.Random(seed)
    words = list({"".join(rng.choices(_SYLLABLES, k=rng.randrange(1, 5))) for _ in range(_WORDS)})
    words.sort()
    rng.shuffle(words)
    total, cumulative = 0.0, []
    for rank in range(len(words)):
        total += 1 / (rank + 2.7)
        cumulative.append(total)
    out, have = [], 0
    while have < size:
        chosen = rng.choices(words, cum_weights=cumulative, k=4000)
        at = 0
        while at < len(chosen):
            n = rng.randrange(3, 16)
            some = chosen[at : at + n]
            at += n
            kind = rng.randrange(4)
            if kind == 0:
                line = f"src/{some[0]}/{some[-1]}.c:{rng.randrange(2000)}: {' '.join(some)}\n"
            elif kind == 1:
                line = f"{{\"{some[0]}\": \"{' '.join(some)}\", \"id\": {rng.randrange(10**6)}}}\n"
            else:
                line = f"{' '.join(some)}.\n"
            out.append(line)
            have += len(line)
    return "".join(out).encode()[:size]


class SmallFiles:
    """
    The content of a million text files of 1 to 4 KB, all different and made on demand: a unique
    heading and a part of a pool that is much larger than a compressor's window.
    """

    def __init__(self, pool):
        self._pool = pool

    def content(self, number):
        rng = (number * 0x9E3779B97F4A7C15 + 0x1234567) & (1 << 64) - 1
        rng ^= rng >> 29
        size = 1024 + rng % 3072
        at = (rng >> 16) % (len(self._pool) - 4096)
        head = f"result {number} of {rng:016x}\n".encode()
        return head + self._pool[at : at + size - len(head)]

# SPDX-License-Identifier: MIT
"""Other ways to find lines, reimplemented briefly for comparison with search/<query>."""
import collections
import math
import re
import shutil
import sqlite3
import subprocess

WORD = re.compile(r"\w+")
RG = ("rg", "--no-config", "--no-ignore", "--hidden", "--text", "--sort", "path", "--no-heading",
      "--with-filename", "--null", "--max-columns", "1", "-inwFe")  # fmt: skip


def rankers(corpus, root, scope):
    """
    Returns {name: function of a query and n that returns the best n lines as (path, number)}.
    `corpus` has the lines of each path below `root`. Only the folder `scope` is searched, if given.
    """
    lines = _Lines({p: corpus[p] for p in corpus if not scope or p.startswith(f"{scope}/")})
    rg = f"rg, rarest word{'' if shutil.which('rg') else ' (imitated)'}"
    return {
        "BM25 over lines": lines.bm25,
        "FTS5, porter": _Fts5(lines).search,
        rg: lambda query, n: lines.rarest(query, n, root, scope),
    }


class _Lines:
    def __init__(self, corpus):
        self.places = [(path, i + 1) for path in corpus for i in range(len(corpus[path]))]
        self.texts = [line for lines in corpus.values() for line in lines]
        self._having = {}  # word -> line number -> occurrences
        self._sizes = []
        for i, text in enumerate(self.texts):
            words = WORD.findall(text.lower())
            self._sizes.append(len(words))
            for word, count in collections.Counter(words).items():
                self._having.setdefault(word, {})[i] = count

    def bm25(self, query, n, k1=1.2, b=0.75):
        scores = collections.Counter()
        mean = sum(self._sizes) / max(len(self._sizes), 1)
        for word in dict.fromkeys(WORD.findall(query.lower())):
            having = self._having.get(word, {})
            weight = math.log(1 + (len(self.texts) - len(having) + 0.5) / (len(having) + 0.5))
            for i, count in having.items():
                norm = k1 * (1 - b + b * self._sizes[i] / mean)
                scores[i] += weight * count * (k1 + 1) / (count + norm)
        return [self.places[i] for i in sorted(scores, key=lambda i: (-scores[i], i))[:n]]

    def rarest(self, query, n, root, scope):
        words = [w for w in WORD.findall(query.lower()) if w in self._having]
        if not words:
            return []
        word = min(words, key=lambda w: len(self._having[w]))
        if not shutil.which("rg"):
            found = [self.places[i] for i in self._having[word]]
            return sorted(found, key=lambda place: (place[0].split("/"), place[1]))[:n]
        command = [*RG, word, f"./{scope}"]
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=False, text=True)
        hits = [line.split("\0") for line in done.stdout.splitlines()]
        return [(path[2:], int(rest.split(":")[0])) for path, rest in hits[:n]]


class _Fts5:
    def __init__(self, lines):
        self._places = lines.places
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(line, tokenize='porter unicode61')")
        self._db.executemany("INSERT INTO t(rowid, line) VALUES (?, ?)", enumerate(lines.texts))

    def search(self, query, n):
        words = " OR ".join(f'"{word}"' for word in WORD.findall(query))
        found = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?"
        return [self._places[i] for (i,) in self._db.execute(found, (words, n))]

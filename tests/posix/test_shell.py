#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The everyday shell programs do and print the same in the mount as anywhere else."""
import os
import subprocess

from programs import Twins, program, same_directories, sh, source_tree

from files import log_text
from harness import SEAL_SOON, eventually, in_processes, main, read, run, same, test


def twins(case, m, name="cache/twin"):
    """Makes two equal source trees."""
    plain = case.path("plain")
    source_tree(plain)
    os.makedirs(os.path.dirname(m(name)), exist_ok=True)
    run("cp", "-a", plain, m(name))
    return Twins(plain, m(name))


def all_of(pair, commands):
    for command in commands:
        pair.do(command)


@test(timeout=120)
def searching(case):
    with case.mount(SEAL_SOON) as m:
        pair = twins(case, m)
        all_of(
            pair,
            [
                "grep -rn ofs_store_ src include | sort",
                "grep -rlZ fsync . | sort -z | xargs -0 sha256sum",
                "grep -rc lock src/store | sort",
                "grep -rL SPDX . | sort",
                "find . -type d | sort",
                "find . -type f -size +10k | sort",
                "find . -type f -size -2 -o -empty | sort",
                "find . -name '*.h' -newer src/offloadfs.c | sort",
                "find . -newermt 2024-02-29T12:34:56.789012344 -type f | wc -l",
                "find . -newermt 2024-02-29T12:34:56.789012345 -type f | wc -l",
                "find src -name '*.c' -exec grep -l pthread {} + | sort",
                "find src -maxdepth 1 -type f -printf '%y %m %n %s %T+ %f\\n' | sort",
                "find . -links 1 -type f | wc -l",
                "find . -perm -044 ! -perm /111 -type f | wc -l",
                "wc -l src/*/*.c",
                "wc -c $(find docs -type f | sort)",
                "head -n 3 src/*.c; tail -n 3 docs/*.md; tail -c +100 src/offloadfs.c | md5sum",
                "sort src/offloadfs.c | uniq -c | sort -rn | head",
                "awk 'length > 90 { print FILENAME, FNR }' src/*/*.c",
                "sed -n '10,20p' src/offloadfs.c; cut -c1-20 src/offloadfs.c; tac src/offloadfs.c; nl src/offloadfs.c",
                "diff -r src docs; diff -ru src/tree src/store",
                "cmp src/offloadfs.c src/offloadfs.c; cmp src/offloadfs.c docs/TESTING.md",
                "ls -R; ls -1U | sort; ls -d */*",
                "ls -lR --time-style=full-iso | grep ^-",
                "stat -c '%A %h %U %s %y %n' src/*/*.h",
                "du -a --apparent-size -b src/*/*.c",
                "file=$(mktemp -p .); test -w $file; echo $?; test -x $file; echo $?; rm $file",
            ],
        )
        m.remount()
        pair.do(f"{program('rg')} --sort path -n ofs_tree_ .; rg --files | sort")
        pair.do("rg -c --sort path . src; rg --no-mmap -l fsync | sort; rg --mmap -l fsync | sort")
        pair.compare()


@test(timeout=120)
def changing(case):
    with case.mount(SEAL_SOON) as m:
        pair = twins(case, m)
        all_of(
            pair,
            [
                "sort -o src/offloadfs.c src/offloadfs.c; sort -ru -o docs/sorted docs/*.md",
                "seq 1 5000 | tee -a src/offloadfs.c docs/new >/dev/null; tail -n 2 src/offloadfs.c",
                "seq 1 100000 | split -b 50000 - part.; cat part.* | md5sum; rm part.a[c-f]",
                "dd if=/dev/zero of=dd.out bs=1000 count=7 seek=5 2>/dev/null; stat -c %s dd.out",
                "printf XYZ | dd of=dd.out bs=1 seek=5001 conv=notrunc 2>/dev/null; od -c dd.out",
                "dd if=dd.out of=dd.sparse bs=512 conv=sparse 2>/dev/null; cmp dd.out dd.sparse",
                "dd <docs/TESTING.md of=src/offloadfs.c oflag=append conv=notrunc,fsync status=none",
                "truncate -s 10 docs/new; truncate -s +100000 docs/new; truncate -s %4096 docs/new",
                "ln src/offloadfs.c hard; ln -s src/offloadfs.c soft; ln -sfn docs soft; readlink soft",
                "ln src/offloadfs.c hard; ln -f docs/new hard; ls -l hard | cut -c1-12",
                "ln docs/new docs/other; find . -samefile docs/new | sort; find . -links 3 | sort",
                "mkfifo pipe; (echo through >pipe &); cat pipe; rm pipe; mkfifo -m 600 kept",
                "touch -d '2001-02-03 04:05:06.7' src/offloadfs.c; touch -r src/offloadfs.c docs/new",
                "touch -m -d @1 hard; touch -c none; stat -c '%y %n' src/offloadfs.c docs/new hard",
                "find . -name '*.h' -newer src/offloadfs.c -delete; find . -name '*.h' | wc -l",
                "find src/index -depth -delete; test -e src/index; echo $?",
                "find tests -name 'test_*.py' -exec chmod 700 {} +; stat -c '%a %n' tests/fs/*",
                "find src/store -name '*.c' | sort | xargs -n 3 -P 2 gzip -n; ls src/store",
                "gunzip src/store/*.gz; md5sum src/store/*",
                "mv src/store src/depot; mv -n src/offloadfs.c docs; mv -b docs/new src/offloadfs.c; ls src",
                "mkdir -p a/b/c/d; touch a/b/c/d/e; rmdir a/b/c/d; mv a b; rm -r b; ls -A",
                "echo one >f; echo two >>f; : >g; cat f f >>g; cat <g >>f; cat f g; set -C; : >f",
                "umask 027; mkdir um; : >um/f; stat -c %a um um/f; chmod g+s,o= um; stat -c %a um",
                "cp -r src copy; cp --backup=numbered src/offloadfs.c copy; ls copy; diff -r src copy",
                "patch=docs/TESTING.md; cp $patch x; echo new >>x; diff -u $patch x | tail -n 1",
                "rm -rf src docs/n*; ls -AR | md5sum",
                "shred -n 0 -z -s 5k hard && stat -c %s hard && rm -f hard",
            ],
        )
        pair.compare()
        m.crash()
        pair.compare()


@test
def du_and_df_add_up(case):
    with case.mount(SEAL_SOON) as m:
        pair = twins(case, m)
        paths = [p for p in sh("find . -type f -size +0", m("cache/twin")).decode().splitlines()]
        m.wait_sealed(*[m("cache/twin", p) for p in paths])

        apparent = int(sh("cat $(find . -type f) | wc -c", pair.plain))

        def adds_up():
            """May fail for a moment, as repacking changes st_blocks before the kernel is told."""
            said = sh("find . -type f -print0 | du -c --files0-from=- | tail -n 1", m("cache/twin"))
            blocks = sum(os.stat(m("cache/twin", p)).st_blocks for p in paths)
            return int(said.split()[0]) == (blocks + 1) // 2 and 0 < blocks * 512 < apparent / 2

        eventually(adds_up, "du says what the files' blocks add up to, which is half or less")
        row = sh("df --output=size,used,avail . | tail -n 1", m("cache"))
        size, used, free = map(int, row.split())
        assert 0 < used < size and 0 < free <= size


@test(timeout=120)
def tail_follows_what_others_append(case):
    text = log_text(20000, 1)
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/log", text[:5000])
        os.link(path, m("cache/shell/second"))
        tails = [
            subprocess.Popen(
                ["tail", "-c", "+1", "-s", "0.02", *option, name],
                stdout=subprocess.PIPE,
            )
            for option, name in (
                (["-f"], path),
                (["-F"], m("cache/shell/second")),
                (["-f"], m("refs", os.getxattr(path, "user.offload.ref").decode())),
            )
        ]
        try:

            def append(_):
                for at in range(5000, len(text), 500):
                    with open(path, "ab") as f:
                        f.write(text[at : at + 500])

            in_processes(1, append)
            m.wait_sealed(path)
            with open(path, "ab") as f:
                f.write(b"the end\n")
            for tail in tails:
                same(tail.stdout.read(len(text) + 8), text + b"the end\n")
        finally:
            for tail in tails:
                tail.kill()
                tail.wait()


@test(timeout=120)
def shells_append_to_one_log(case):
    """`echo >> log` from several processes at once, as agents do: no line is lost or torn."""
    shells, count = 4, 150
    with case.mount("seal_delay=0") as m:
        log = m.make("cache/shell/log")
        padding = "=" * 200

        def work(number):
            line = f"{number} $i {padding}"
            sh(f"for i in $(seq {count}); do echo {line} >>log; done", m("cache/shell"))

        in_processes(shells, work)
        got = read(log).decode().splitlines()
        m.crash()
        assert got == read(log).decode().splitlines()
        for number in range(shells):
            mine = [line for line in got if line.startswith(f"{number} ")]
            assert mine == [f"{number} {i} {padding}" for i in range(1, count + 1)], mine[:3]
        assert len(got) == shells * count


@test(timeout=120)
def slices_are_copied_like_files(case):
    """Programs that look a name up twice require that it is the same file."""
    text = log_text(5000, 1)
    want = b"".join(text.splitlines(keepends=True)[9:20])
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/log", text)
        by_ref = m("refs", os.getxattr(path, "user.offload.ref").decode())
        for again in (lambda: None, m.remount):
            again()
            for source in (path + ":10-20", by_ref + ":10-20", path + "#L10-L20"):
                for copy in (
                    'cp "$1" copy',
                    'cp -a "$1" copy',
                    'install -m 600 "$1" copy',
                    'rsync -a "$1" copy',
                    'tar -cf - -C / "${1#/}" | tar -xf - -O >copy',
                    'dd if="$1" of=copy status=none',
                    'cat "$1" | tee copy | cmp - "$1"',
                    'cp "$1" copy; cmp "$1" copy; diff "$1" copy',
                ):
                    run("sh", "-ec", copy, "sh", source, cwd=case.dir)
                    same(read(case.path("copy")), want, f"{copy} of {source}")
                    os.unlink(case.path("copy"))


@test(timeout=120)
def pagers_and_archivers_read_it(case):
    with case.mount(SEAL_SOON) as m:
        pair = twins(case, m, "archive/twin")
        m.remount()
        all_of(
            pair,
            [
                "cat docs/TESTING.md | head -c 100; od -A d -c docs/TESTING.md | tail -n 3",
                "base64 docs/TESTING.md | md5sum; xargs -a docs/TESTING.md -n 1 echo 2>&1 | head",
                "gzip -c docs/TESTING.md | gunzip | cmp - docs/TESTING.md",
                "python3 -m zipfile -c /dev/stdout docs | wc -c | grep -v ^0",
                "tar -cf - --format=gnu --sort=name docs | md5sum",
                "tar -C src -cf - . | tar -tf - | sort",
                "git diff --no-index --stat src docs | tail -n 1",
                "comm -12 docs/TESTING.md src/offloadfs.c; paste docs/TESTING.md src/offloadfs.c | md5sum",
            ],
        )
        same_directories(m("archive/twin"), pair.plain)


main()

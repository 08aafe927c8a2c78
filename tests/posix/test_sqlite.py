#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SQLite databases in the mount, with several processes and every journal mode."""
import os
import signal
import sqlite3
import time

from programs import start_python

from harness import SEAL_SOON, SLOW, in_processes, main, same, test

JOURNALS = {mode: mode for mode in ("delete", "truncate", "persist", "wal")}
BLOB = 3000

# A process that inserts rows until it fails, and prints each committed transaction.
WRITER = f"""
import random, sqlite3, sys, time
path, journal, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
db = sqlite3.connect(path, timeout={60 * SLOW}, isolation_level=None)
db.execute("PRAGMA journal_mode=" + journal)
for i in range(10**9):
    db.execute("BEGIN IMMEDIATE")
    rows = [(number, i, k, bytes([i % 251]) * {BLOB}) for k in range(3)]
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    db.execute("COMMIT")
    print(i, flush=True)
    time.sleep(random.random() / 50)  # or the others would never find it unlocked
"""


def connect(path, journal):
    """Returns a new connection in the given journal mode, with autocommit."""
    db = sqlite3.connect(path, timeout=60 * SLOW, isolation_level=None)
    got = db.execute(f"PRAGMA journal_mode={journal}").fetchone()[0]
    assert got == journal, f"journal mode {got}, asked for {journal}"
    return db


def check(db):
    rows = db.execute("PRAGMA integrity_check").fetchall()
    assert rows == [("ok",)], rows[:5]


def size(db, path):
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return os.path.getsize(path)


def create(path, journal):
    db = connect(path, journal)
    db.execute("CREATE TABLE t (writer, number, part, content BLOB)")
    db.execute("CREATE INDEX i ON t (writer, number, part)")
    return db


@test(timeout=120, variants=JOURNALS)
def processes_write_one_database_at_once(case, journal):
    writers, transactions = 3, 20
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("persistent/db"))
        path = m("persistent/db/data.sqlite")
        db = create(path, journal)

        def work(number):
            mine = connect(path, journal)
            for i in range(transactions):
                mine.execute("BEGIN IMMEDIATE")
                (count,) = mine.execute("SELECT count(*) FROM t").fetchone()
                mine.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (number, i, count, b"x" * BLOB))
                mine.execute("COMMIT")
                time.sleep(0.002)
            mine.close()

        in_processes(writers, work)
        check(db)
        counts = [row[0] for row in db.execute("SELECT part FROM t ORDER BY part")]
        assert counts == list(range(writers * transactions)), "a transaction was not alone"
        db.execute("DELETE FROM t WHERE number % 2")
        full = size(db, path)
        db.execute("VACUUM")
        assert size(db, path) < full, "VACUUM does not make the database smaller"
        db.close()
        for again in (m.remount, m.crash):
            again()
            db = connect(path, journal)
            check(db)
            (count,) = db.execute("SELECT count(*) FROM t").fetchone()
            assert count == writers * transactions // 2
            db.execute("UPDATE t SET content = zeroblob(10) WHERE number = 2")
            db.close()


@test(timeout=120, variants=JOURNALS)
def a_database_survives_a_killed_daemon(case, journal):
    writers = 3
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("cache/db"))
        path = m("cache/db/data.sqlite")
        create(path, journal).close()
        told = [{} for _ in range(writers)]
        for _ in range(3):
            running = [start_python(WRITER, path, journal, number) for number in range(writers)]
            for process, mine in zip(running, told):
                mine.update(dict.fromkeys([process.stdout.readline()]))
            m.kill9()
            told = [mine | finish(process) for process, mine in zip(running, told)]
            m.start()
            db = connect(path, journal)
            check(db)
            for number, mine in enumerate(told):
                compare(db, number, mine)
            db.execute("DELETE FROM t")
            told = [{} for _ in range(writers)]
            db.close()


def finish(process):
    """Waits for a writer whose database is gone. Returns the transactions that it printed."""
    said = process.communicate(timeout=60 * SLOW)[0]
    # Access to the shared mapping of WAL's index raises SIGBUS once the file is unreadable.
    assert process.returncode in (1, -signal.SIGBUS), f"a writer ended with {process.returncode}"
    return dict.fromkeys(said.splitlines(keepends=True))


def compare(db, number, told):
    """Everything that a writer printed is there, and no transaction is there in part."""
    found = {}
    for i, part, content in db.execute(
        "SELECT number, part, content FROM t WHERE writer = ? ORDER BY number, part", (number,)
    ):
        found.setdefault(i, []).append(part)
        same(content, bytes([i % 251]) * BLOB)
    assert all(parts == [0, 1, 2] for parts in found.values()), "half a transaction"
    missing = {int(line) for line in told} - set(found)
    assert not missing, f"committed, and lost: {sorted(missing)[:5]}"


main()

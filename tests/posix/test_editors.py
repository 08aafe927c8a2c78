#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Editors save as they do elsewhere, and a file's ref changes only if the file is replaced."""
import os
import pty
import select
import stat

from programs import ALICE, program, sh

from harness import ROOT, SEAL_SOON, main, read, run, same, test, write, xattr

TEXT = b"first line\nsecond line\n" + b"filler\n" * 3000
EDITED = TEXT.replace(b"second", b"changed")


class Document:
    """A file with a mode and, if root, an owner that a careless save would lose."""

    def __init__(self, m, state):
        self.path = m.make("persistent/notes/document.txt", TEXT)
        os.chmod(self.path, 0o640)
        if ROOT:
            os.chown(self.path, ALICE, ALICE)
        if state == "sealed":
            m.wait_sealed(self.path)
            m.remount()
        self.ref = xattr(self.path, "ref")
        self.before = self.identity()

    def identity(self):
        st = os.stat(self.path)
        return stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid

    def check(self, m, replaced, backup=None):
        """The file was edited, in place or replaced, and has at most a backup beside it."""
        for _ in range(2):
            same(read(self.path), EDITED)
            assert self.identity() == self.before, f"{self.identity()}, was {self.before}"
            assert (xattr(self.path, "ref") != self.ref) == replaced
            by_ref = m("refs", xattr(self.path, "ref"))
            assert os.path.samefile(by_ref, self.path)
            folder = os.path.dirname(self.path)
            kept = ["document.txt"] + ([backup] if backup else [])
            assert sorted(os.listdir(folder)) == sorted(kept), os.listdir(folder)
            if backup:
                same(read(os.path.join(folder, backup)), TEXT)
            m.crash()


STATES = {"draft": "draft", "sealed": "sealed"}


@test(variants=STATES)
def vim_writes_in_place(case, state):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, state)
        vim(document.path, "set backupcopy=yes writebackup nobackup")
        document.check(m, replaced=False)


@test(variants=STATES)
def vim_writes_a_new_file(case, state):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, state)
        vim(document.path, "set backupcopy=no writebackup nobackup")
        document.check(m, replaced=True)


@test(variants={"in_place": "yes", "new_file": "no"})
def vim_keeps_a_backup(case, copy):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, "sealed")
        vim(document.path, f"set backupcopy={copy} backup")
        document.check(m, replaced=copy == "no", backup="document.txt~")


@test
def a_file_is_edited_through_its_ref(case):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, "sealed")
        by_ref = m("refs", document.ref)
        vim(by_ref, "set writebackup backupdir=. backupdir+=" + case.dir)
        document.check(m, replaced=False)
        write(document.path, TEXT)
        nano(by_ref)
        document.check(m, replaced=False)
        same(run("sed", "-i", "s/x/y/", by_ref, check=False).stdout, b"")
        assert os.listdir(m("refs")) == []


def vim(path, settings):
    # Vim makes no backups below /tmp by default. A swap file makes it use more operations.
    sh(
        f'"$VIM" -u NONE -N -es -c "set swapfile directory=. backupskip=" -c "{settings}" '
        f'-c "%s/second/changed/" -c "wq" "{path}"',
        os.path.dirname(path),
        VIM=program("vim.tiny", "vim"),
    )


@test(variants={"plain": [], "backup": ["--backup"]})
def nano_writes_in_place(case, options):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, "sealed")
        nano(document.path, *options)
        document.check(m, replaced=False, backup="document.txt~" if options else None)


def nano(path, *options):
    """Types into nano: goes to line 2, replaces a word, saves and quits."""
    keys = b"\x1b[B" + b"\x1b[3~" * len(b"second") + b"changed" + b"\x0f\r" + b"\x18"
    editor = program("nano")
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        os.execv(editor, [editor, "--ignorercfiles", *options, path])
    shown = b""
    try:
        while b"second line" not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, keys)
        while select.select([terminal], [], [], 30)[0]:
            shown += os.read(terminal, 4096)
    except OSError:
        pass  # the end of a terminal that no process has open
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown


@test(variants=STATES)
def sed_replaces_the_file(case, state):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, state)
        sh("sed -i s/second/changed/ document.txt", os.path.dirname(document.path))
        document.check(m, replaced=True)


@test(variants=STATES)
def a_program_replaces_a_file_atomically(case, state):
    """Writes a new file beside the old one, syncs it and renames it, as careful programs do."""
    with case.mount(SEAL_SOON) as m:
        document = Document(m, state)
        folder = os.path.dirname(document.path)
        with open(document.path, "rb") as held:
            beside = os.path.join(folder, ".document.txt.tmp")
            with open(beside, "wb") as f:
                f.write(EDITED)
                os.fchmod(f.fileno(), document.before[0])
                os.fchown(f.fileno(), *document.before[1:])
                os.fsync(f.fileno())
            os.rename(beside, document.path)
            fd = os.open(folder, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
            same(held.read(), TEXT)  # a reader of the old file is not disturbed
        document.check(m, replaced=True)


@test(variants=STATES)
def a_program_rewrites_a_file_in_place(case, state):
    with case.mount(SEAL_SOON) as m:
        document = Document(m, state)
        write(document.path, EDITED)
        document.check(m, replaced=False)


main()

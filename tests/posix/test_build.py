#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A C project is built, rebuilt and run in the mount."""
import errno
import os
import re
import subprocess

from programs import program, sh

from harness import SEAL_SOON, main, raises, read, run, same, test, write

SOURCES = {
    "greet.h": b"const char *greet(void);\nint count(void);\n",
    "greet.c": b'#include "greet.h"\nconst char *greet(void) { return "hello"; }\n',
    "count.c": b'#include "greet.h"\nstatic int n;\nint count(void) { return ++n; }\n',
    "main.c": b"""\
#include <stdio.h>
#include <string.h>
#include "greet.h"
int main(int argc, char **argv)
{
	count();
	printf("%s %d\\n", greet(), count());
	fflush(stdout);
	if (argc > 1)
		getchar();
	return 0;
}
""",
    "load.c": b"""\
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	const char *(*greet)(void) = lib ? (const char *(*)(void))dlsym(lib, "greet") : NULL;
	puts(greet ? greet() : dlerror());
	return !greet;
}
""",
    "build.ninja": b"""\
rule cc
  command = $cc -MD -MF $out.d -fPIC -g -c $in -o $out
  depfile = $out.d
  deps = gcc
rule ar
  command = rm -f $out && ar rcs $out $in
rule so
  command = $cc -shared $in -o $out
rule link
  command = $cc $in -o $out -ldl
build greet.o: cc greet.c
build count.o: cc count.c
build main.o: cc main.c
build load.o: cc load.c
build libgreet.a: ar greet.o count.o
build libgreet.so: so greet.o count.o
build main: link main.o libgreet.a
build load: link load.o
""",
}


class Project:
    def __init__(self, path):
        self.path = path
        self.ninja = program("ninja", "ninja-build")
        os.makedirs(path)
        for name, text in SOURCES.items():
            write(self(name), text)
        compiler = b"cc = %s\n" % os.fsencode(program("gcc", "cc"))
        write(self("build.ninja"), compiler + SOURCES["build.ninja"])

    def __call__(self, name):
        return os.path.join(self.path, name)

    def build(self):
        """Builds. Returns the number of steps."""
        said = run(self.ninja, "-C", self.path).stdout.decode()
        if "no work to do" in said:
            return 0
        return int(re.findall(r"^\[\d+/(\d+)\]", said, re.M)[-1])

    def says(self):
        return run(self("main")).stdout

    def loads(self):
        return run(self("load"), self("libgreet.so")).stdout


@test(timeout=120)
def only_what_changed_is_built_again(case):
    with case.mount(SEAL_SOON) as m:
        project = Project(m("cache/build/project"))
        assert project.build() == 8
        same(project.says(), b"hello 2\n")
        assert project.build() == 0
        for again in (m.remount, m.crash):
            again()
            assert project.build() == 0, "times have changed without anybody changing a file"
        os.utime(project("main.c"))
        assert project.build() == 2  # the object and the program
        sh("sed -i s/hello/goodbye/ greet.c", project.path)
        assert project.build() == 4  # the object, both libraries and the program
        same(project.says(), b"goodbye 2\n")
        os.utime(project("greet.h"))
        assert project.build() == 6  # all objects that include it
        assert project.build() == 0
        sh("strip main libgreet.so; ranlib libgreet.a; nm libgreet.a | grep -q greet", project.path)
        same(project.says(), b"goodbye 2\n")


@test(timeout=120)
def programs_and_libraries_are_run_from_the_mount(case):
    with case.mount(SEAL_SOON) as m:
        project = Project(m("persistent/tools/project"))
        project.build()
        same(project.loads(), b"hello\n")
        m.wait_sealed(project("main"), project("libgreet.so"))
        m.remount()  # now they are read from the packs
        same(project.says(), b"hello 2\n")
        same(project.loads(), b"hello\n")
        running = subprocess.Popen(
            [project("main"), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            same(running.stdout.readline(), b"hello 2\n")
            assert project("main") in read(f"/proc/{running.pid}/maps").decode()
            with raises(errno.ETXTBSY):
                open(project("main"), "r+b")
            # A linker replaces the file, and a running program continues.
            os.unlink(project("main"))
            assert project.build() == 1
            m.wait_sealed(project("main"))
            same(running.communicate(b"\n", 30)[0], b"")
            assert running.returncode == 0
        finally:
            running.kill()
        same(project.says(), b"hello 2\n")


@test
def a_script_is_run_from_the_mount_unless_it_must_not_be(case):
    with case.mount() as m:
        script = m.make("cache/bin/script", b"#!/bin/sh\necho ran in $(pwd) with $1\n")
        with raises(errno.EACCES):
            subprocess.run([script])
        os.chmod(script, 0o755)
        said = run(script, "it", cwd=m("cache")).stdout.decode()
        assert said == f"ran in {m('cache')} with it\n", said
        m.remount("noexec")
        with raises(errno.EACCES):
            subprocess.run([script])


main()

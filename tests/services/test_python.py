#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package python/offloadfs: on a tree, through the tool and the server, built and installed."""
import contextlib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import types

import paths  # noqa: F401

from harness import (
    OFFLOAD,
    OFFLOADFS,
    SEAL_SOON,
    SLOW,
    SOURCE_ROOT,
    Skip,
    eventually,
    main,
    run,
    test,
    write,
)

PACKAGE = SOURCE_ROOT / "python"
sys.path.insert(0, str(PACKAGE))

import offloadfs  # noqa: E402
from offloadfs import Context, Store  # noqa: E402

LOG = "".join(f"{n} ok\n" for n in range(1, 3001)) + "3001 not ok: the frame was cut short\n"
os.environ["OFFLOAD"] = OFFLOAD
for variable in ("DIR", "STORE", "AGENT", "SERVER", "TOKEN"):
    os.environ.pop(f"OFFLOAD_{variable}", None)
for variable in ("HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
    os.environ[variable] = "/proc/nonexistent"  # cannot be created

# --- Ways to a tree -------------------------------------------------------------------------------


@contextlib.contextmanager
def by_tool(case, m, **options):
    yield lambda **more: Store(case.mnt, **options, **more)


@contextlib.contextmanager
def by_tool_at_rest(case, m, **options):
    m.unmount()
    try:
        yield lambda **more: Store(case.store, **options, **more)
    finally:
        m.start()


@contextlib.contextmanager
def served(case, *words):
    """Runs `offload serve` with these options. Yields what it prints about itself."""
    if run(OFFLOAD, "help", "serve", check=False).returncode:
        raise Skip("this build has no server")
    command = [OFFLOAD, "serve", "--json", "-d", case.mnt, *words]
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=case.dir
    )
    try:
        told = server.stdout.read1(65536)
        if not told and server.wait(20 * SLOW):
            raise Skip("this build has no server")
        yield json.loads(told)
    finally:
        server.terminate()
        server.stdout.close()
        server.wait(20 * SLOW)


@contextlib.contextmanager
def by_socket(case, m, **options):
    with served(case, "--socket", case.path("socket")) as told:
        (path,) = told["sockets"]
        yield lambda **more: Store(server=path, **options, **more)


@contextlib.contextmanager
def by_port(case, m, **options):
    write(case.path("token"), b"a-token-of-some-length\n")
    os.chmod(case.path("token"), 0o600)
    words = ["--listen", "127.0.0.1:0", "--token-file", case.path("token")]
    with served(case, *words) as told:
        (url,) = told["urls"]
        with fails(offloadfs.NotAllowed, "token"):
            Store(server=url).tasks()
        yield lambda **more: Store(
            server=url, token="a-token-of-some-length", **options, **more
        )


WAYS = {
    "tool, mounted": by_tool,
    "tool, unmounted": by_tool_at_rest,
    "server, socket": by_socket,
    "server, port": by_port,
}


@contextlib.contextmanager
def tree(case, way, **options):
    """Yields a function that makes a Store on a new tree."""
    with case.mount(SEAL_SOON) as m, way(case, m, **options) as make:
        yield make


@contextlib.contextmanager
def fails(kind, saying):
    try:
        yield
    except offloadfs.OffloadError as e:
        assert type(e) is kind and re.search(saying, str(e)), f"{type(e).__name__}: {e}"
        assert "\n" not in str(e), e
    else:
        raise AssertionError(f"no {kind.__name__}")


# --- Calls ----------------------------------------------------------------------------------------


@test(variants=WAYS)
def a_content_is_stored_and_read_back(case, way):
    with tree(case, way, task="t") as make:
        s = make()
        m = s.offload(LOG, title="test log", category="shell")
        assert m.pointer.startswith("[offloaded] test log: ") and m.id in m.pointer, m
        assert (m.title, m.category, m.task, m.new) == ("test log", "shell", "t", True), m
        assert (m.bytes, m.lines) == (len(LOG), 3001) and m.uri == f"offload://{m.id}", m
        assert not s.offload(LOG, title="test log", category="shell").new
        part = s.fetch(m.id, (3000, 3001))
        assert part.text == "".join(LOG.splitlines(True)[-2:]) and part.next is None, part
        assert s.fetch(m.id, 3).text == "3 ok\n"
        assert s.fetch(m.uri, (2999, None)).line_end == 3001
        assert s.fetch(m.path, bytes=(2, 2)).text == "ok"
        assert "".join(part.text for part in s.slices(m.id)) == LOG
        assert s.read(m.id).decode() == "".join(s.text(m.id)) == LOG
        assert s.info(m.id)["ref"] == m.id


@test(variants=WAYS)
def any_bytes_come_back(case, way):
    with tree(case, way) as make:
        s = make()
        contents = (b"", b"\xff\xfe\x00x\n", os.urandom(65536), "é\n".encode() * 70000, b"x" * 65537)
        for data in contents:
            m = s.offload(data)
            assert m.bytes == len(data) == len(s.read(m.id)), (m, len(data))
            assert s.read(m.id) == data
            lossy = data.decode(errors="replace")
            assert "".join(s.text(m.id)) == lossy


@test(variants=WAYS)
def it_is_found_kept_and_ended(case, way):
    with tree(case, way) as make:
        s = make(task="t")
        m = s.offload(LOG, title="log", category="shell")
        kept = s.offload("The reader must compare the length.\n" * 5, category="notes")
        hits = eventually(lambda: s.search("which frame was cut short?", limit=3), "it is indexed")
        assert any("3001 not ok" in hit.snippet for hit in hits), hits
        assert "3001 not ok" in s.fetch(hits[0].at).text
        found = s.grep("not ok", path=m.id)
        assert (found.matches, found.files_searched, found.complete) == (1, 1, True), found
        assert found.lines[0].endswith(":3001:3001 not ok: the frame was cut short"), found
        assert not s.grep("ok", limit=2).complete
        assert {f.id for f in s.list()} == {m.id, kept.id}
        assert [f.id for f in s.list(category="notes", task="t")] == [kept.id]
        assert len([*s.list(limit=1)]) == 1
        s.pin(m.id)
        assert s.info(m.id)["important"] is True
        s.pin(m.id, False)
        moved = s.promote(kept.id, tags=["release", "note"])
        assert moved.moved and moved.path.startswith("persistent/notes/"), moved
        assert {*moved.tags} == {"release", "note"} and moved.was == kept.path, moved
        assert [t.name for t in s.tasks()] == ["t"]
        groups = {(g.tier, g.category): g.files for g in s.usage()}
        assert groups[("long-term", "notes")] == groups[("working", "shell")] == 1, groups
        stats = s.stats(by=["task"])
        assert stats.total["results"] == 2, stats
        assert {row["task"]: row["results"] for row in stats.rows} == {"": 0, "t": 2}, stats


@test(variants=WAYS)
def failures_have_types_and_sentences(case, way):
    with tree(case, way) as make:
        s = make()
        m = s.offload("x\n" * 10)
        with fails(offloadfs.NotFound, "zzzzzz"):
            s.fetch("zzzzzz")
        with fails(offloadfs.OutOfRange, "past the end"):
            s.fetch(m.id, (11, 12))
        with fails(offloadfs.Invalid, "."):
            s.fetch(m.id, (5, 3))
        with fails(offloadfs.Invalid, "colour"):
            s.search("x", colour="red")
        with fails(offloadfs.Invalid, "category"):
            s.offload("x", category="../up")
        with fails(offloadfs.Exists, "."):
            s.offload("one", name="a") and s.offload("another", name="a")
        with fails(offloadfs.Invalid, "."):
            s.fetch("../../etc/passwd")
        with fails(offloadfs.NotFound, "nobody"):
            make(agent="nobody").fetch(m.id)


@test(variants=WAYS)
def an_agent_has_a_tree_of_its_own(case, way):
    with tree(case, way) as make:
        inner, outer = make(agent="a"), make()
        m = inner.offload(LOG)
        assert inner.read(m.id).decode() == LOG
        assert [f.id for f in inner.list()] == [m.id]
        assert [a.name for a in outer.agents()] == ["a"]


@test(variants=WAYS)
def threads_share_a_store(case, way):
    with tree(case, way) as make:
        s, problems = make(), []

        def work(n):
            try:
                text = f"{n}\n" * 2000
                m = s.offload(text, task=f"t{n}")
                assert s.read(m.id).decode() == text
            except (AssertionError, offloadfs.OffloadError) as e:
                problems.append(e)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems, problems[0]
        assert {t.name for t in s.tasks()} == {f"t{n}" for n in range(6)}


@test
def the_server_answers_as_the_tool_does(case):
    with case.mount(SEAL_SOON) as m, by_socket(case, m) as remote:
        here, there = Store(case.mnt), remote()
        memory = here.offload(LOG, title="log", category="shell", task="t")
        m.wait_sealed(os.path.join(case.mnt, memory.path))
        questions = [
            ("memory_fetch", {"memory_id": memory.id, "line_start": 10, "line_end": 20}),
            ("memory_fetch", {"memory_id": memory.path, "byte_offset": 5, "byte_len": 9}),
            ("memory_list", {"task": "t", "sort": "size", "reverse": True}),
            ("memory_grep", {"pattern": "1[05] ok", "context": 1, "limit": 5}),
            ("memory_usage", {}),
            ("memory_info", {"memory_id": memory.id}),
            ("tasks", {}),
            ("agents", {}),
            ("compact", {"steps": [{"tool": "shell", "observation": "did it"}]}),
            ("memory_fetch", {"memory_id": "zzzzzz"}),
            ("memory_fetch", {"memory_id": memory.id, "line_start": 9999}),
            ("memory_list", {"sort": "colour"}),
            ("memory_pin", {"memory_id": memory.id, "important": "yes"}),
            ("memory_grep", {"pattern": "("}),
        ]
        for name, args in questions:
            assert ask(here, name, args) == ask(there, name, args), (name, args)


def ask(store, name, args):
    """Returns an answer without its times, or the error."""
    try:
        answer = json.dumps(store.call(name, **args), sort_keys=True)
    except offloadfs.OffloadError as e:
        return type(e), str(e)
    return re.sub(r'"(age_seconds|used)": [^,}]*', "", answer)


@test
def the_server_of_the_tree_is_found(case):
    os.environ["XDG_RUNTIME_DIR"] = case.path("run")
    os.mkdir(case.path("run"), 0o700)
    with case.mount():
        with served(case) as told:
            s = Store(case.mnt, task="t")
            assert s._transport.server.server == told["sockets"][0], told
            assert s.read(s.offload(LOG).id).decode() == LOG
            assert [row["way"] for row in s.stats().rows] == ["http"], s.stats()
            # Does not use the server of another tree.
            assert not hasattr(Store(case.dir)._transport, "server")
        assert s.read(s.offload(LOG + "more").id).decode() == LOG + "more"
        assert {"http", "call"} <= {row["way"] for row in s.stats().rows}, s.stats()
        assert s.done().state == "done"


@test
def a_task_ends(case):
    with case.mount() as m:
        s = Store(case.mnt, task="t")
        gone, kept = s.offload(LOG), s.offload("what is kept\n" * 9, name="a.md")
        end = s.done(keep=["*.md"])
        assert (end.task, end.state, end.promoted, end.removed) == ("t", "done", 1, 1), end
        with fails(offloadfs.Expired, "its task has ended"):
            s.fetch(gone.id)
        assert s.fetch(kept.id).path.startswith("persistent/general/")
        with fails(offloadfs.NotFound, "nothing"):
            s.done("nothing")
        assert s.root == m.mnt


@test
def nothing_is_lost_where_nothing_can_be_stored(case):
    with case.mount():
        s = Store(case.mnt)

        @s.tool
        def log():
            return LOG

        pointer = log()
        assert pointer.startswith("[offloaded] log: ") and len(pointer) < len(LOG) / 2, pointer
        s._transport.program = case.path("missing")
        assert log() == LOG
        with fails(offloadfs.Unreachable, "install offloadfs"):
            s.offload(LOG)
        context = Context([{"role": "user", "content": LOG}], store=s)
        assert context.prepare() == [{"role": "user", "content": LOG}] and not context.metadata


@test
def a_full_quota_is_no_loss(case):
    with case.mount("agent_max=1"):
        s = Store(case.mnt, agent="a")
        text = "".join(f"{os.urandom(500).hex()}\n" for _ in range(3000))
        with fails(offloadfs.NoRoom, "."):
            s.offload(text)
        assert s.shorten(text) == text and [*s.list()] == []


@test
def a_folder_is_enough_to_find_the_tree(case):
    work = case.path("home", "work", "below")
    os.makedirs(work)
    os.mkdir(os.path.join(os.path.dirname(work), ".git"))
    write(os.path.join(os.path.dirname(work), ".git", "HEAD"), b"ref: refs/heads/main\n")
    os.environ.update(HOME=case.path("home"), XDG_DATA_HOME=case.path("home", "data"))
    m = Store(work).offload(LOG)
    assert Store(os.path.dirname(work)).read(m.id).decode() == LOG
    with fails(offloadfs.NotFound, "nothing was offloaded here yet"):
        Store(case.dir).fetch(m.id)


# --- Messages -------------------------------------------------------------------------------------


def openai_chat(n, text):
    call = {"name": "bash", "arguments": json.dumps({"command": f"make {n}"})}
    calls = [{"id": f"c{n}", "type": "function", "function": call}]
    yield {"role": "assistant", "content": None, "tool_calls": calls}
    yield {"role": "tool", "tool_call_id": f"c{n}", "content": text}


def openai_responses(n, text):
    call = {"type": "function_call", "call_id": f"c{n}", "name": "bash"}
    yield {"type": "reasoning", "id": f"r{n}", "summary": []}
    yield {**call, "arguments": json.dumps({"command": f"make {n}"})}
    yield {"type": "function_call_output", "call_id": f"c{n}", "output": text}


def anthropic(n, text):
    use = {"type": "tool_use", "id": f"c{n}", "name": "bash", "input": {"command": f"make {n}"}}
    result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": text}
    yield {"role": "assistant", "content": [{"type": "text", "text": "I try."}, use]}
    yield {"role": "user", "content": [result]}


FORMS = {
    f"{form.__name__}, {name}": (form, way)
    for form in (openai_chat, openai_responses, anthropic)
    for name, way in WAYS.items()
}


@test(variants=FORMS)
def messages_stay_short_and_nothing_of_them_is_lost(case, variant):
    form, way = variant
    with tree(case, way) as make:
        system = "You mend programs." if form is anthropic else None
        first = {"role": "user", "content": "Why does it fail?"}
        c = Context([first], store=make(), system=system, chat="chat-1")
        original, before = [first], []
        for n in range(4):
            turn = [*form(n, LOG.replace("ok", f"ok {n}"))]
            c.extend(turn)
            original += turn
            c.manage()
            assert c.messages[: len(before)] == before, "a prompt begins as the one before it"
            before = [*c.messages]
            assert len(json.dumps(c.messages)) < 20000 and c.metadata["tokens_saved"] > 0
        assert len(c.messages) == len(original) and "[offloaded] make 3" in json.dumps(c.messages)
        assert c.restore() == original
        assert c.system == system


@test(variants=WAYS)
def older_messages_become_a_summary(case, way):
    with tree(case, way) as make:
        first = [{"role": "system", "content": "You mend."}, {"role": "user", "content": "Mend it."}]
        c = Context(first, store=make(), chat="chat-2", max_total_tokens=3000)
        original = [*first]
        for n in range(40):
            turn = [*openai_chat(n, f"{n} words of output\n" * 30)]
            c.extend(turn)
            original += turn
            c.manage()
        assert len(c.messages) < len(original) and "<state_snapshot" in c.messages[0]["content"]
        assert c.restore() == original


@test(variants=WAYS)
def calls_become_steps(case, way):
    with tree(case, way, task="t") as make:
        s = make()
        result = {"stdout": LOG, "exit_code": 1}
        steps = [s.reduce("shell", result, {"command": f"make {n}"}) for n in range(3)]
        assert s.read(steps[0]["outcome_ref"]).decode() == LOG, steps[0]
        text = s.compact(steps)
        assert "make 2" in text and steps[0]["outcome_ref"] in text, text


# --- The package ----------------------------------------------------------------------------------


def python(*words, **options):
    options.setdefault("env", {**os.environ, "PYTHONPATH": str(PACKAGE)})
    return run(sys.executable, *words, timeout=200 * SLOW, check=False, **options)


@test(timeout=200)
def its_own_tests_pass(case):
    done = python("-W", "error", "-m", "unittest", "discover", "-s", PACKAGE / "tests")
    assert done.returncode == 0, done.stderr.decode()


@test
def its_readme_is_true(case):
    """Runs the README's Python code, with a model that answers at once."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    message = types.SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": "Mend."})
    answer = types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])
    completions = types.SimpleNamespace(create=lambda **_: answer)
    with case.mount(SEAL_SOON):
        os.environ["OFFLOAD_DIR"] = case.mnt
        messages = [{"role": "user", "content": "Why does it fail?"}]
        names = {"log": LOG, "prompt": "", "messages": messages, "TOOLS": []}
        names["client"] = types.SimpleNamespace(chat=types.SimpleNamespace(completions=completions))
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
        assert len(blocks) == 2, blocks
        for block in blocks:
            exec(block, names)
        assert names["memory"].pointer in names["prompt"]
        assert names["context"].restore()[-1] == {"role": "assistant", "content": "Mend."}


def source(case):
    """Returns a copy of the package's directory, since building writes to it."""
    return shutil.copytree(
        PACKAGE,
        case.path("package"),
        ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__"),
    )


def builder():
    """Returns a Python that can build packages without a network."""
    for program in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        code = "import build, setuptools, wheel"
        if os.access(program, os.X_OK) and not run(program, "-c", code, check=False).returncode:
            return program
    raise Skip("no Python here has build, setuptools and wheel")


@test(timeout=300)
def it_builds_installs_and_works(case):
    folder, program = source(case), builder()
    run(program, "-m", "build", "--no-isolation", folder, timeout=200 * SLOW)
    (wheel,) = glob.glob(os.path.join(folder, "dist", "*.whl"))
    (sdist,) = glob.glob(os.path.join(folder, "dist", "*.tar.gz"))
    said = run(OFFLOAD, "--version").stdout.decode().split()[1]
    assert os.path.basename(wheel) == f"offloadfs-{said}-py3-none-any.whl", "one version for all"
    listed = run("tar", "-tzf", sdist).stdout.decode()
    assert "/offloadfs/py.typed\n" in listed and "/LICENSE\n" in listed, listed
    venv = case.path("venv")
    run(program, "-m", "venv", venv, timeout=200 * SLOW)
    bin = os.path.join(venv, "bin")
    pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    run(os.path.join(bin, "python"), *pip, timeout=200 * SLOW)
    with case.mount():
        code = (
            "import offloadfs, sys\n"
            "s = offloadfs.Store(sys.argv[1])\n"
            "print(s.fetch(s.offload('a\\nb\\n').id, 2), end='')\n"
            "print(offloadfs.__file__)\n"
        )
        done = run(os.path.join(bin, "python"), "-c", code, case.mnt, cwd="/")
        said, where = done.stdout.decode().splitlines()
        assert said == "b" and where.startswith(venv), done


@test(timeout=200)
def its_types_hold(case):
    program = shutil.which("mypy")
    if not program:
        raise Skip("mypy is not installed")
    folder = source(case)
    done = run(
        program,
        "--strict",
        f"--cache-dir={case.path('cache')}",
        "offloadfs",
        cwd=folder,
        check=False,
        timeout=180 * SLOW,
    )
    assert done.returncode == 0, done.stdout.decode()


if __name__ == "__main__":
    main()

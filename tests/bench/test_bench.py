#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmarks run to their ends and report what they measured. No figure is judged."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

import flame  # noqa: E402
import observe  # noqa: E402
import harness  # noqa: E402
from harness import SLOW, Skip, main, mount_points, test  # noqa: E402

BENCH = pathlib.Path(__file__).with_name("bench.py")


def bench(case, *arguments):
    """Runs a benchmark with short rests. Returns its figures."""
    figures = case.path("figures.json")
    command = [sys.executable, BENCH, *arguments, "--rest", "0.5", "--json", figures]
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    print(done.stdout.decode(errors="replace"))
    return json.loads(pathlib.Path(figures).read_text())[arguments[0]]


@test(timeout=180)
def serve_loses_nothing(case):
    figures = bench(case, "serve", "20", "--seconds", "3")
    assert figures["errors"] == figures["lost"] == 0 < figures["kept"], figures


def draw(figures, picture):
    """Draws a file of figures with `plot`. Returns the elements of the picture by name."""
    command = [sys.executable, BENCH, "plot", figures, "-o", picture]
    done = subprocess.run([str(c) for c in command], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    elements = {}
    for element in xml.etree.ElementTree.parse(picture).iter():
        elements.setdefault(element.tag.rpartition("}")[2], []).append(element)
    return elements


def bars(elements):
    return [e for e in elements["rect"] if e.get("class") == "bar"]


def corpus(case):
    """Makes three files with two different contents."""
    folder = pathlib.Path(case.path("corpus", "shell"))
    folder.mkdir(parents=True)
    for name, text in (("a", "one\n"), ("b", "two\n"), ("c", "one\n")):
        (folder / f"{name}.txt").write_text(text * 1000)
    return folder.parent


@test(timeout=120)
def mcp_tells_of_each_call(case):
    figures = bench(case, "mcp", "--runs", "3", "--files", "5")
    assert all(0 < t for t in figures["medians"].values()), figures
    assert "memory_fetch, 20 lines" in figures["medians"], figures


@test(timeout=120)
def tools_are_timed_in_each_state(case):
    figures = bench(case, "tools", "--runs", "2", "--files", "3", "--cold", "1")
    assert set(figures["seconds"]) == {"at rest", "one after the other", "cold", "under load"}
    assert all(0 < t["median"] for by in figures["seconds"].values() for t in by.values()), figures


@test(timeout=120)
def gc_says_what_it_takes(case):
    figures = bench(case, "gc", "2000", "--tombstones", "20", "--jobs", "1")
    assert figures["dry run"]["looked"] == figures["nothing goes"]["looked"] == 2000, figures
    assert figures["nothing goes"]["removed"] == 0 < figures["a tenth goes"]["removed"], figures


@test
def storage_says_what_each_way_takes(case):
    figures = bench(case, "storage", corpus(case))
    assert (figures["files"], figures["unique"], figures["apparent"]) == (3, 2, 12000), figures
    assert figures["bytes"]["offloadfs, working"] > 0, figures
    assert figures["bytes"]["offloadfs, archived"] > 0, figures


@test
def storage_makes_variations(case):
    figures = bench(case, "storage", corpus(case), "--repeat", "3")
    assert (figures["files"], figures["apparent"]) == (9, 36000), figures


@test
def scale_makes_opens_and_walks_stores(case):
    stores = case.path("stores")
    first = bench(case, "scale", "2000", "--store", stores)
    assert first["making"]["files_per_second"] > 0, first
    again = bench(case, "scale", "2000", "--store", stores)
    assert "making" not in again, again
    assert again["walking"]["rss_max"] > 0, again
    assert again["verify"]["code"] == 0, again
    direct = bench(case, "scale", "2000", "--store", stores, "--direct")
    assert direct["making"]["files_per_second"] > 0, direct
    assert direct["wide"]["one directory"]["rm -r"] > 0, direct


@test(timeout=180)
def remote_loses_nothing_and_reads_all(case):
    small = ["--files", "200", "--mib", "4", "--rounds", "1", "--every", "200", "--idle", "0.02"]
    bound = ["--stored", "8", "--local", "2"]
    figures = bench(case, "remote", "restore", "idle", "bound", *small, *bound)
    lost = figures["restore"]["rounds"][0]["lost"]
    assert lost["files"] < lost["acknowledged"], lost
    assert figures["idle"]["writes"] == figures["idle"]["reads"] == 0, figures["idle"]
    assert figures["bound"]["phases"]["read and compare all"]["brought"] > 0, figures["bound"]


@test
def large_measures_memory(case):
    figures = bench(case, "large", "0.01")
    assert figures["size"] == 10 << 20, figures
    assert all(figures["rss"].values()), figures
    assert set(figures["seconds_slice"]) == {"start", "middle", "end"}, figures


@test
def large_has_much_of_the_same(case):
    figures = bench(case, "large", "--apparent", "0.25")
    assert figures["apparent"] >= figures["size"] == 256 << 20, figures
    assert figures["same"], figures
    assert figures["store"]["packs"] < 64 << 20, figures


@test
def age_compares_with_a_fresh_store(case):
    figures = bench(case, "age", "--days", "2", "--rate", "20")
    assert figures["made"] == 960, figures
    assert 0 < figures["left"] < figures["made"], figures
    assert set(figures["ratios"]) >= {"packs", "index", "opening", "creating"}, figures


@test
def remove_compares_with_an_empty_store(case):
    figures = bench(case, "remove", "2")
    assert figures["files"] > 100, figures
    assert figures["full"]["bytes"] > figures["empty"]["bytes"], figures


@test
def walk_searches_all_of_it(case):
    figures = bench(case, "walk", "300")
    assert set(figures["seconds"]) == {"the disk", "cache/", "the mount"}, figures


@test
def agents_are_beside_a_store_alone(case):
    figures = bench(case, "agents", "3", "--files", "30", "--runs", "1")
    assert set(figures["ratios"]) == set(figures["seconds"]) and figures["ratios"], figures
    assert all(figures["memory"].values()), figures


@test
def awake_tells_gain_and_cost(case):
    if not harness.uring_enabled():
        raise Skip("the kernel does not offer FUSE over io_uring")
    few = ("--runs", "1", "--builds", "1", "--files", "50", "--seconds", "1")
    figures = bench(case, "awake", *few)
    assert set(figures["microseconds"]) == {"at rest", "under load"}, figures
    assert figures["costs"]["build"] > 0 and set(figures["aims"]) == set(figures["costs"]), figures


@test
def search_asks_every_query(case):
    figures = bench(case, "search")
    assert figures["files"] > 1000, figures
    assert len(figures["hits"]) == 20 and figures["hits"]["error"] == 50, figures
    assert figures["median_ms"] <= figures["worst_ms"], figures


@test
def recall_asks_about_conversations_and_traces(case):
    folder = pathlib.Path(case.path("data"))
    turns = ["Hello!", "I saw a\nblue whale.", "When was that?", "In May."]
    session = [
        {"speaker": "Ann", "dia_id": f"D1:{i}", "text": text} for i, text in enumerate(turns, 1)
    ]
    asked = [
        {"question": "blue whale", "evidence": ["D1:2", "D1:4", "D"]},
        {"question": "nothing is known", "evidence": ["D9:9"]},
    ]
    talk = {"sample_id": "conv-1", "conversation": {"session_1": session}, "qa": asked}
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {"path": "notes"}}
    text = "first line\nthe bad number was 12345678 in there\n"
    result = {"type": "tool_result", "tool_use_id": "1", "content": text}
    answer = {"type": "text", "text": "It is 12345678."}
    chat = [("assistant", use), ("user", result), ("assistant", answer)]
    lines = [
        json.dumps({"type": role, "message": {"role": role, "content": [block]}})
        for role, block in chat
    ]
    for name, content in (
        ("locomo/conversations.json", json.dumps([talk])),
        ("claude-code/a.jsonl", "\n".join(lines)),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content)
    figures = bench(case, "recall", folder, "--conversations", "conv-1")
    assert figures["questions"] == 1 and len(figures["conversations"]) == 7, figures
    for name, found in figures["conversations"].items():
        assert (found["none"], found["5"]["any"]) == (0, 100), name
    (half,) = figures["traces"].values()
    for name, found in half.items():
        assert (found["questions"], found["none"], found["found"]["5"]) == (1, 0, 100), name


@test
def economy_tells_what_is_saved_and_still_seen(case):
    folder = pathlib.Path(case.path("chats"))
    folder.mkdir()
    call = {"name": "read", "arguments": '{"path": "notes"}'}
    long_result = "\n".join(f"line {i}: nothing here" for i in range(3000)) + "\nsee src/lost_file.c"
    messages = [{"role": "user", "content": "Read the notes."}]
    for i, text in enumerate(["see src/kept_file.c"] + [long_result] * 2 + ["short"] * 20):
        call_id = f"call-{i}"
        calls = [{"id": call_id, "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
    messages.append({"role": "assistant", "content": "It is src/kept_file.c and src/lost_file.c."})
    (folder / "chat.json").write_text(json.dumps({"messages": messages}))
    figures = bench(case, "context", "--economy", "--chats", str(folder))["all"]
    plain, compact, peer = figures["everything"], figures["compact"], figures["AGA"]
    assert (plain["facts"], plain["visible"], plain["using"], plain["missing"]) == (2, 2, 1, 0), plain
    assert plain["net"] == plain["cost"] > plain["sent"] * 0.1, plain
    assert compact["sent"] < plain["sent"] / 2 and compact["peak"] < plain["peak"], figures
    assert compact["facts"] == 2 and 1 <= compact["visible"], compact
    assert (peer["facts"], peer["visible"]) == (2, 1) and peer["cost"] < plain["cost"], peer


@test
def speed_compares_with_the_plain_filesystem(case):
    figures = bench(
        case, "speed", "--quick", "--no-peers", "--transports", "classic",
        "--only", "create-4k,find,rm,storage", "--other", harness.OFFLOADFS,
    )  # fmt: skip
    systems = {figures["plain"], "offloadfs, classic", "other, classic"}
    assert set(figures["systems"]) == set(figures["storage"]) == systems, figures
    measured = {"create-4k", "find, warm", "cp", "rm"}
    assert measured <= set(figures["figures"]), figures
    for figure in figures["figures"].values():
        assert set(figure["ratio"]) == systems and min(figure["ratio"].values()) > 0, figure
        assert len(figure["other"]["offloadfs, classic"]) == 1, figure
    assert figures["memory"]["create-4k"]["offloadfs, classic"]["peak"] > 0, figures
    assert len(bars(draw(case.path("figures.json"), case.path("picture.svg")))) == 4


@test
def plot_has_a_bar_for_each(case):
    systems = ["ext4", "offloadfs, io_uring", "offloadfs, classic", "bindfs", "<others & more>"]
    ratios = {name: 0.4 + 3 * number for number, name in enumerate(systems)}
    drawn = ["rg, warm", "grep, warm", "cat, warm", "rg, cold"]
    drawn += ["create-4k", "fsync-8", "write", "rm"]
    speed = {
        "plain": "ext4",
        "quick": False,
        "runs": 5,
        "machine": {"processor": "a processor", "processors": 2},
        "systems": dict.fromkeys(systems, "1.0"),
        "figures": {name: {"ratio": ratios} for name in [*drawn, "ls, cold"]},
    }
    figures = pathlib.Path(case.path("figures.json"))
    figures.write_text(json.dumps({"speed": speed}))
    elements = draw(figures, case.path("picture.svg"))
    assert len(bars(elements)) == len(drawn) * (len(systems) - 1), elements
    assert all(float(bar.get("width")) > 0 for bar in bars(elements))
    assert "ext4" in elements["title"][0].text and "rm -rf" in elements["desc"][0].text
    labels = [e.text for e in elements["text"]]
    assert labels.count("3.40") == len(drawn) and "<others & more>" in labels, labels


@test
def plot_refuses_what_is_no_figures(case):
    pathlib.Path(case.path("figures.json")).write_text('{"speed": {}}')
    done = subprocess.run(
        [sys.executable, str(BENCH), "plot", case.path("figures.json")],
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr.startswith(b"bench: "), done


@test
def profile_counts_messages(case):
    figures = bench(case, "profile", "create", "--quick", "--transport", "classic")
    assert figures["round_trip"]["classic"] > 0, figures
    assert set(figures["workloads"]) == {"create"}, figures
    found = figures["workloads"]["create"]
    assert found["unit"] == "file" and round(found["messages"]["WRITE"], 2) == 1, found
    assert 1 <= found["waited_for"] <= sum(found["messages"].values()), found
    assert set(found["seconds"]) == {figures["plain"], "classic"}, found
    assert found["cpu"]["classic"]["during"], found


@test
def profile_folds_stacks(case):
    script = (
        "fuse-ring-1  250 \n\tffff9e6 do_read<a;b> ([kernel.kallsyms])\n"
        "\t 7f1 [unknown] (/l/libz.so.1)\n\t 7f2 [unknown] (/l/libz.so.1)\n"
        "\t 7f3 main (/usr/bin/offloadfs)\n\n"
        "offloadfs  50 \n\t7f1 write (/l/libc.so.6)\n\n"
        "offloadfs  7 \n\t7f1 write (/l/libc.so.6)\n\n"
    )
    assert observe.fold(script) == {
        "requests, fuse-ring;main (offloadfs);? (libz);do_read<a,b> (kernel)": 250,
        f"{observe.OTHERS};write (libc)": 57,
    }, observe.fold(script)


@test
def a_flame_graph_is_as_wide_as_its_stacks(case):
    stacks = {
        "main (offloadfs);seal<a&b> (offloadfs);compress (libzstd)": 600,
        "main (offloadfs);seal<a&b> (offloadfs)": 100,
        "main (offloadfs);write (libc);a_name_that_is_much_too_long_for_it (kernel)": 50,
        "other": 249,
        "narrow": 1,
    }
    svg = xml.etree.ElementTree.fromstring(flame.picture(stacks, "a & b"))
    boxes = {}
    for box in svg.findall("{*}g"):
        title, rect, *label = box
        name, _, share = title.text.rpartition(": ")
        width = float(rect.get("width"))
        assert abs(width / flame.WIDTH - float(share.rstrip("%")) / 100) < 0.001, title.text
        assert all(len(e.text) * flame.CHARACTER <= width for e in label), title.text
        boxes[name] = (float(rect.get("x")), width, int(rect.get("y")))
    calls = {
        "all": ["main (offloadfs)", "other"],
        "main (offloadfs)": ["seal<a&b> (offloadfs)", "write (libc)"],
        "seal<a&b> (offloadfs)": ["compress (libzstd)"],
        "write (libc)": ["a_name_that_is_much_too_long_for_it (kernel)"],
    }
    assert set(boxes) == {*calls, *(c for called in calls.values() for c in called)}, boxes
    for caller, called in calls.items():
        x, width, y = boxes[caller]
        assert sum(boxes[c][1] for c in called) <= width, caller
        for c in called:
            assert boxes[c][2] == y - flame.ROW, c
            assert x <= boxes[c][0] and boxes[c][0] + boxes[c][1] <= x + width + 0.01, c
    assert boxes["all"][1] == flame.WIDTH


@test
def a_large_flame_graph_leaves_more_out(case):
    stacks = {f"a_long_name_of_a_function_{n} (libc);{n * 7}": 1 for n in range(490)}
    deep = {";".join(f"{n} {level} (libc)" for level in range(40)): 9 for n in range(90)}
    svg = flame.picture({**stacks, **deep}, "many")
    assert len(svg) <= flame.BYTES and len(xml.etree.ElementTree.fromstring(svg)) > 1, len(svg)


@test
def tokens_needs_no_tokenizer_for_its_speed(case):
    figures = bench(case, "tokens")
    assert figures["speed"]["mb_per_second"]["all"] > 0, figures
    assert "classes" not in figures, figures


@test
def redact_tells_what_it_finds(case):
    folder = pathlib.Path(case.path("files"))
    folder.mkdir()
    secret = "ghp_" + "x7Gq2LmZ9aRt4KpW8sYcB1nVx7Gq2LmZ9aRt"
    (folder / "one").write_text(f"a\nb {secret} c\n")
    (folder / "two").write_text("nothing\n" * 1000)
    figures = bench(case, "redact", "--files", str(folder))
    assert figures["lines"] == 1 and figures["mb_per_second"] > 0, figures


@test
def an_interrupted_benchmark_leaves_nothing(case):
    temporary = pathlib.Path(case.path("tmp"))
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, BENCH, "remove", "20", "--rest", "60"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30 * SLOW
    while not list(temporary.glob("*/store-2")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(temporary.glob("*/store-2")), "it never began"
    process.send_signal(signal.SIGINT)
    assert process.wait(30 * SLOW) != 0
    assert not list(temporary.iterdir()), list(temporary.iterdir())
    assert not mount_points(str(temporary))


if __name__ == "__main__":
    main()

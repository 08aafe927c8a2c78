#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Programs written for ReMe's working memory service: the requests of its documentation and cookbook,
and the answers that they rely on.
"""
import os
import re

import paths  # noqa: F401
from harness import main, test
from serve import Server

MOUNTED = {"mounted": True, "unmounted": False}
RESULTS = "".join(f"paper {n}: on the management of context, part {n}\n" for n in range(1, 700))
PAGE = "".join(f"<p>paragraph {n} of the page</p>\n" for n in range(1, 900))
SYSTEM = {"role": "system", "content": "You are a research assistant"}
CALL = {
    "index": 0,
    "id": "call_6596dafa2a6a46f7a217da",
    "function": {"arguments": '{"query": "readme"}', "name": "web_search"},
    "type": "function",
}
CHAT = [
    SYSTEM,
    {"role": "user", "content": "Find recent AI papers on context management"},
    {"role": "assistant", "content": "I'll search for papers", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_123", "content": RESULTS},
    {"role": "assistant", "content": "Let me read one."},
    {"role": "tool", "tool_call_id": "call_456", "content": PAGE},
    {"role": "user", "content": "What do they say?"},
    {"role": "assistant", "content": "They say much."},
]
LIMITS = {"max_total_tokens": 10000, "max_tool_message_tokens": 2000, "keep_recent_count": 1}


def served(case, mounted):
    """Returns the options for a server of the tree, mounted or not."""
    return ["-d", case.mnt] if mounted else ["--store", case.store]


class Tree:
    """A server on a tree, mounted or not."""

    def __init__(self, case, mounted):
        self.mount = case.mount() if mounted else None
        self.server = Server(case, where=served(case, mounted))

    def __enter__(self):
        return self.server.start()

    def __exit__(self, *exception):
        self.server.__exit__(*exception)
        if self.mount:
            self.mount.__exit__(*exception)
        return False


def answer_of(s, path, request):
    """Posts a request. Returns the answer after checking its common members."""
    answer = s.post(path, request)
    assert set(answer) == {"success", "answer", "messages", "metadata"}, answer
    assert isinstance(answer["success"], bool) and isinstance(answer["metadata"], dict)
    return answer


def words(s, route, /, **request):
    answer = answer_of(s, route, request)
    assert answer["success"] is True and answer["messages"] == [], answer
    return answer["answer"]


# --- context_offload ------------------------------------------------------------------------------


@test(variants=MOUNTED)
def large_results_become_files(case, mounted):
    with Tree(case, mounted) as s:
        request = {
            "messages": CHAT,
            "context_manage_mode": "compact",
            **LIMITS,
            "store_dir": "/workspace/context_store",
            "chat_id": "research_session_001",
        }
        answer = answer_of(s, "/context_offload", request)
        assert answer["success"], answer
        files = answer["metadata"]["write_file_dict"]
        assert sorted(files.values()) == sorted([RESULTS, PAGE])
        paths_of = {content: path for path, content in files.items()}
        lines = answer["answer"].splitlines()
        assert lines[:2] == [
            f"Successfully created and wrote to new file: {paths_of[content]}"
            for content in (RESULTS, PAGE)
        ], lines
        assert "/workspace/context_store" in lines[2] and len(lines) == 3, lines
        messages = answer["messages"]
        assert len(messages) == len(CHAT)
        for before, after in zip(CHAT, messages):
            if before["role"] != "tool":
                assert after == before
                continue
            content, path = before["content"], paths_of[before["content"]]
            assert after == {
                **before,
                "content": f"{content[:100]}... (detailed result is stored in {path})",
            }
            # The path shown to the model works, and so does the one that the program asked for.
            assert words(s, "/read_file", absolute_path=path) == content
            name = f"/workspace/context_store/{before['tool_call_id']}.txt"
            assert words(s, "/read_file", absolute_path=name) == content
            if mounted:
                with open(path, encoding="utf-8") as f:
                    assert f.read() == content
        # A second time there is nothing left to do.
        again = answer_of(s, "/context_offload", {**request, "messages": messages})
        assert again["messages"] == messages and again["answer"] == "No write file task."


@test
def what_is_small_or_recent_stays(case):
    with Tree(case, True) as s:
        for more in (
            {"max_total_tokens": 20000, "keep_recent_count": 1},  # the default, not exceeded
            {**LIMITS, "keep_recent_count": 10},
            {**LIMITS, "max_tool_message_tokens": 100000},
            {},
        ):
            request = {"messages": CHAT, "context_manage_mode": "compact", "store_dir": "x", **more}
            answer = answer_of(s, "/context_offload", request)
            assert answer["success"] and answer["messages"] == CHAT, more
            assert answer["answer"] == "No write file task."
            assert answer["metadata"]["write_file_dict"] == {}
        kept = answer_of(
            s,
            "/context_offload",
            {"messages": CHAT, "context_manage_mode": "compact", **LIMITS, "keep_recent_count": 3,
             "max_total_tokens": 5000},
        )["messages"]
        assert kept[3] != CHAT[3] and kept[5:] == CHAT[5:]


@test
def the_preview_has_its_length(case):
    with Tree(case, True) as s:
        text = "ä€𝄞" * 3000
        chat = [{"role": "tool", "tool_call_id": "c", "content": text}, *CHAT]
        for length in (0, 1, 50):
            answer = answer_of(
                s,
                "/context_offload",
                {"messages": chat, "context_manage_mode": "compact", **LIMITS,
                 "preview_char_length": length},
            )  # fmt: skip
            shown = answer["messages"][0]["content"]
            assert shown.startswith(text[:length] + "... (detailed result is stored in "), shown


@test
def results_without_an_id_get_names(case):
    with Tree(case, True) as s:
        chat = [{"role": "tool", "content": RESULTS}, {"role": "tool", "content": PAGE}] + CHAT[-2:]
        request = {"messages": chat, "context_manage_mode": "compact", **LIMITS, "store_dir": "a"}
        one = answer_of(s, "/context_offload", request)
        files = one["metadata"]["write_file_dict"]
        assert sorted(files.values()) == sorted([RESULTS, PAGE]), files.keys()
        assert all(re.search(r"/[0-9a-f]{32}\.txt$", path) for path in files)
        assert answer_of(s, "/context_offload", request)["messages"] == one["messages"]


@test
def another_result_of_the_same_name_keeps_both(case):
    with Tree(case, True) as s:
        for text in (RESULTS, PAGE, RESULTS):
            chat = [{"role": "tool", "tool_call_id": "call_1", "content": text}, *CHAT]
            answer = answer_of(
                s, "/context_offload", {"messages": chat, "context_manage_mode": "compact", **LIMITS}
            )
            path = answer["messages"][0]["content"].rsplit(" ", 1)[1][:-1]
            assert words(s, "/read_file", absolute_path=path) == text


@test
def a_store_dir_in_the_tree_is_used(case):
    with case.mount() as m, Server(case) as s:
        for store_dir in (m("tasks/t1/results"), "tasks/t1/more", "./cache/web/x/"):
            answer = answer_of(
                s,
                "/context_offload",
                {"messages": CHAT, "context_manage_mode": "compact", **LIMITS,
                 "store_dir": store_dir},
            )  # fmt: skip
            folder = os.path.normpath(m(store_dir))
            assert answer["metadata"]["store_dir"] == folder
            assert os.path.dirname(next(iter(answer["metadata"]["write_file_dict"]))) == folder
            assert "not in the tree" not in answer["answer"]


@test
def a_hostile_store_dir_stays_inside(case):
    with case.mount() as m, Server(case) as s:
        for store_dir in (
            "../../../etc", "/etc", "cache/../../..", m("..", "out"), "/", "~", "..", "a/../../b",
            "cache/web/../../../x", "/proc/self/root/etc",
        ):  # fmt: skip
            for call in ("../../evil", "/etc/passwd", "..", "a/b", "\n", "x" * 300):
                chat = [{"role": "tool", "tool_call_id": call, "content": RESULTS}, *CHAT]
                answer = answer_of(
                    s,
                    "/context_offload",
                    {"messages": chat, "context_manage_mode": "compact", **LIMITS,
                     "store_dir": store_dir},
                )  # fmt: skip
                assert answer["success"], answer
                for path in answer["metadata"]["write_file_dict"]:
                    assert os.path.realpath(path).startswith(m("cache") + "/"), path
        assert set(os.listdir(case.dir)) <= {"store", "mnt", "run"}, os.listdir(case.dir)


@test
def older_messages_become_a_summary(case):
    with Tree(case, True) as s:
        chat = [SYSTEM]
        for n in range(60):
            chat += [
                {"role": "user", "content": f"Question {n}: " + "what about this matter? " * 40},
                {"role": "assistant", "content": f"Answer {n}: " + "it is as it is said. " * 40},
            ]
        for path, member in (
            ("/context_offload", "context_manage_mode"),
            ("/summary_working_memory", "working_summary_mode"),
        ):
            for mode in ("compress", "auto"):
                answer = answer_of(
                    s,
                    path,
                    {"messages": chat, member: mode, "max_total_tokens": 5000,
                     "keep_recent_count": 2, "store_dir": "/workspace/context_store",
                     "chat_id": "my_chat_session", "group_token_threshold": 0},
                )  # fmt: skip
                assert answer["success"], answer["metadata"]
                messages = answer["messages"]
                assert len(messages) < 10 and messages[-2:] == chat[-2:], len(messages)
                assert messages[0]["role"] == "system"
                assert sum(map(len, answer["metadata"]["write_file_dict"].values())) > 50000


@test
def auto_compacts_and_that_may_do(case):
    with Tree(case, True) as s:
        answer = answer_of(
            s, "/context_offload", {"messages": CHAT, "context_manage_mode": "auto", **LIMITS}
        )
        assert len(answer["messages"]) == len(CHAT)
        assert "(detailed result is stored in" in answer["messages"][3]["content"]


# --- Releases: summary_working_memory -------------------------------------------------------------


@test(variants=MOUNTED)
def the_readme_runs(case, mounted):
    """The README of 0.2, "Working Memory Management"."""
    with Tree(case, mounted) as s:
        messages = [
            {"role": "system", "content": "You are a helpful assistant. First use `Grep` to ..."},
            {"role": "user", "content": "搜索下reme项目的的README内容"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "ultra large context , over 50000 tokens......" * 5000},
            {"role": "user", "content": "根据readme回答task memory在appworld的效果是多少，需要具体的数值"},
        ]
        request = {
            "messages": messages,
            "working_summary_mode": "auto",
            "compact_ratio_threshold": 0.75,
            "max_total_tokens": 20000,
            "max_tool_message_tokens": 2000,
            "group_token_threshold": 4000,
            "keep_recent_count": 1,
            "store_dir": "test_working_memory",
            "chat_id": "demo_chat_id",
        }
        answer = answer_of(s, "/summary_working_memory", request)
        # `messages = [Message(**x) for x in result.answer]`
        assert answer["answer"] == answer["messages"] and len(answer["answer"]) == 5
        said = answer["answer"][3]["content"]
        found = re.fullmatch(r"tool call=(\S+) result is stored in file path=`([^`]+)`", said)
        assert found, said
        assert answer["metadata"]["write_file_dict"] == {found[2]: messages[3]["content"]}
        assert words(
            s, "/read_working_memory", file_path=found[2], offset=0, limit=10
        ) == messages[3]["content"]
        assert words(s, "/grep_working_memory", file_path=found[2], pattern="LARGE", limit=5) == (
            f"{found[2]}:1:{messages[3]['content'][:1000]}..."
        )


@test
def the_cookbook_runs(case):
    """react_agent_with_working_memory.py, whose group_token_threshold is null."""
    readme = "".join(
        f"| Qwen3-8B w/ task memory {n} | 0.1469 -> 0.17{n} |\n" for n in range(1000)
    )
    with Tree(case, True) as s:
        request = {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "search the README"},
                {"role": "assistant", "content": "", "tool_calls": [CALL]},
                {"role": "tool", "content": readme * 4, "tool_call_id": CALL["id"]},
                {"role": "user", "content": "what is the effect of task memory?"},
            ],
            "working_summary_mode": "auto",
            "compact_ratio_threshold": 0.75,
            "max_total_tokens": 20000,
            "max_tool_message_tokens": 2000,
            "group_token_threshold": None,
            "keep_recent_count": 1,
            "store_dir": "./test_working_memory",
        }
        answer = answer_of(s, "/summary_working_memory", request)
        said = answer["answer"][3]["content"]
        path = re.search(r"file path=`([^`]+)`", said)[1]
        assert said.startswith(f"tool call={CALL['id']} result is stored in file path=`"), said
        lines = words(s, "/grep_working_memory", file_path=path, pattern="task memory 7 ")
        assert lines.splitlines()[0] == f"{path}:8:| Qwen3-8B w/ task memory 7 | 0.1469 -> 0.177 |"
        assert words(s, "/read_working_memory", file_path=path, offset=7, limit=2) == (
            "| Qwen3-8B w/ task memory 7 | 0.1469 -> 0.177 |\n"
            "| Qwen3-8B w/ task memory 8 | 0.1469 -> 0.178 |"
        )
        relative = f"./test_working_memory/{CALL['id']}.txt"
        assert words(s, "/read_working_memory", file_path=relative, offset=7, limit=1) == (
            "| Qwen3-8B w/ task memory 7 | 0.1469 -> 0.177 |"
        )
        with_preview = answer_of(
            s, "/summary_working_memory", {**request, "preview_char_length": 10}
        )["answer"][3]["content"]
        assert with_preview.endswith(f"\npreview: {readme[:10]}..."), with_preview


@test
def its_own_test_of_compaction_runs(case):
    """test_op/test_message_compact_op.py."""
    with Tree(case, True) as s:
        messages = [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "What is the weather today?"},
            {"role": "assistant", "content": "I'll check the weather for you."},
            {"role": "tool", "content": "A" * 5000, "tool_call_id": "call_001"},
            {"role": "assistant", "content": "Let me also check the forecast."},
            {"role": "tool", "content": "B" * 5000, "tool_call_id": "call_002"},
            {"role": "user", "content": "What about tomorrow?"},
            {"role": "assistant", "content": "I'll check tomorrow's weather."},
            {"role": "tool", "content": "C" * 5000, "tool_call_id": "call_003"},
            {"role": "tool", "content": "Recent result", "tool_call_id": "call_004"},
        ]
        answer = answer_of(
            s,
            "/context_offload",
            {
                "messages": messages,
                "context_manage_mode": "compact",
                "max_total_tokens": 1000,
                "max_tool_message_tokens": 100,
                "preview_char_length": 50,
                "keep_recent_count": 1,
                "store_dir": "./test_compact_storage",
            },
        )
        for at, letter in ((3, "A"), (5, "B"), (8, "C")):
            said = answer["messages"][at]["content"]
            assert re.fullmatch(
                rf"{letter}{{50}}\.\.\. \(detailed result is stored in .*/call_00\d\.txt\)", said
            ), said
        assert answer["messages"][9] == messages[9]


# --- grep and read_file ---------------------------------------------------------------------------


def offload(s, store_dir="./cache_file/"):
    return answer_of(
        s,
        "/context_offload",
        {"messages": CHAT, "context_manage_mode": "compact", **LIMITS, "store_dir": store_dir},
    )


@test(variants=MOUNTED)
def grep_tells_lines(case, mounted):
    with Tree(case, mounted) as s:
        offload(s)
        grep = lambda **request: words(s, "/grep", **request)
        assert grep(pattern="PAPER 7:", path="./cache_file/", glob="*.txt", limit=100) == (
            'Found 1 match for pattern "PAPER 7:" in path "./cache_file/" (filter: "*.txt"):\n'
            "---\n"
            "File: call_123.txt\n"
            "L7: paper 7: on the management of context, part 7\n"
            "---"
        )
        assert grep(pattern=r"(paper|paragraph) 11\b", path="./cache_file") == (
            'Found 2 matches for pattern "(paper|paragraph) 11\\b" in path "./cache_file":\n'
            "---\n"
            "File: call_123.txt\n"
            "L11: paper 11: on the management of context, part 11\n"
            "---\n"
            "File: call_456.txt\n"
            "L11: <p>paragraph 11 of the page</p>\n"
            "---"
        )
        found = grep(pattern="paper", path="./cache_file/", limit=3)
        assert found.startswith('Found 3 matches for pattern "paper" in path "./cache_file/":')
        assert len(re.findall(r"^L\d+: ", found, re.M)) == 3
        assert grep(pattern="paper 7:").startswith(
            'Found 1 match for pattern "paper 7:" in the workspace directory:\n---\nFile: '
        )
        assert grep(pattern="nowhere", path="./cache_file/", glob="*.txt") == (
            'No matches found for pattern "nowhere" in path "./cache_file/" (filter: "*.txt").'
        )
        assert grep(pattern="nowhere") == (
            'No matches found for pattern "nowhere" in the workspace directory.'
        )
        assert re.fullmatch(
            r'Failed to search for pattern "a": Search path does not exist: \S*/none', grep(
                pattern="a", path="/none")
        )
        assert re.fullmatch(
            r'Failed to search for pattern "a": Search path is not a directory: \S*/call_123.txt',
            grep(pattern="a", path="./cache_file/call_123.txt"),
        )
        assert grep(pattern="  ").startswith('Failed to search for pattern "": The \'pattern\'')
        assert grep(pattern="(").startswith('Failed to search for pattern "(": ')


@test(variants=MOUNTED)
def read_file_tells_lines(case, mounted):
    with Tree(case, mounted) as s:
        offload(s)
        name = "./cache_file/call_123.txt"
        read = lambda **request: words(s, "/read_file", absolute_path=name, **request)
        lines = RESULTS.split("\n")
        assert len(lines) == 700
        assert read() == RESULTS
        assert read(offset=0, limit=100) == (
            "Showing lines 0-99 of 700 total lines.\n\n---\n\n" + "\n".join(lines[:100])
        )
        assert read(offset=698, limit=1) == (
            "Showing lines 698-698 of 700 total lines.\n\n---\n\n" + lines[698]
        )
        assert read(offset=690) == read(offset=690, limit=50) == "\n".join(lines[690:])
        assert read(offset=699, limit=1) == ""
        assert read(limit=3).startswith("Showing lines 0-2 of 700 total lines.\n\n---\n\npaper 1:")
        failed = f'Failed to read file "{name}": '
        assert read(offset=700, limit=1) == failed + "Offset 700 is beyond file length (700 lines)"
        assert read(offset=-1, limit=1) == failed + "Offset must be a non-negative number"
        assert read(offset=0, limit=0) == failed + "Limit must be a positive number"
        assert re.fullmatch(
            r'Failed to read file "/none": File not found: \S*/none',
            words(s, "/read_file", absolute_path="/none"),
        )
        assert words(s, "/context_reload", absolute_path=name) == RESULTS
        assert words(s, "/context_reload", pattern="paper 7:", path="./cache_file").startswith(
            "Found 1 match"
        )
        later = lambda **request: words(s, "/read_working_memory", file_path=name, **request)
        assert later(offset=1, limit=2) == "\n".join(lines[1:3])
        assert later(offset=690, limit=0) == "\n".join(lines[690:-1])
        assert later(offset=5000, limit=10) == ""
        assert re.fullmatch(
            r'Failed to search for pattern "a": File does not exist: \S*/none',
            words(s, "/grep_working_memory", file_path="/none", pattern="a"),
        )
        assert words(s, "/grep_working_memory", file_path=name, pattern="a.*b") == (
            f'No matches found for pattern "a.*b" in file_path "{name}".'
        )


@test
def grep_and_read_stay_inside(case):
    with case.mount() as m, Server(case) as s:
        m.make("cache/web/x", b"inside\n")
        os.symlink("/etc", m("cache/web/link"))
        for path in (
            "/etc/passwd", "../../etc/passwd", m("../../../../../etc/passwd"), "~/.ssh/id_rsa",
            m("cache/web/link/passwd"), "cache/web/link/passwd", "/proc/self/environ",
            case.path("store/journal"), "/etc/../etc/passwd", "cache/web/../../../../etc/passwd",
        ):  # fmt: skip
            said = words(s, "/read_file", absolute_path=path)
            assert said.startswith("Failed to read file "), (path, said)
            said = words(s, "/grep", pattern=".", path=os.path.dirname(path) or "/")
            assert "root:" not in said, (path, said)
            said = words(s, "/grep_working_memory", pattern="o", file_path=path)
            assert said.startswith("Failed to search for pattern"), (path, said)
        assert words(s, "/read_file", absolute_path=m("cache/web/x")) == "inside\n"
        assert words(s, "/read_file", absolute_path="cache/web/x") == "inside\n"


# --- Errors ---------------------------------------------------------------------------------------


@test
def wrong_requests_are_refused_as_there(case):
    with Tree(case, True) as s:
        for path, body, member, kind in (
            ("/context_offload", {}, "messages", "missing"),
            ("/context_offload", {"messages": "x"}, "messages", "list_type"),
            ("/context_offload", {"messages": ["x"]}, "messages", "model_type"),
            ("/context_offload", {"messages": [], "max_total_tokens": "x"}, "max_total_tokens", "int_type"),
            ("/summary_working_memory", {"messages": [], "keep_recent_count": 1.5}, "keep_recent_count", "int_type"),
            ("/summary_working_memory", {"messages": [], "working_summary_mode": "x"}, "working_summary_mode", "enum"),
            ("/summary_working_memory", {"messages": [], "store_dir": 7}, "store_dir", "string_type"),
            ("/grep", {}, "pattern", "missing"),
            ("/grep_working_memory", {"pattern": "x"}, "file_path", "missing"),
            ("/read_file", {}, "absolute_path", "missing"),
            ("/read_working_memory", {"offset": 0}, "file_path", "missing"),
        ):  # fmt: skip
            detail = s.ask("POST", path, body, status=422)["detail"]
            assert detail[0]["loc"] == ["body", member] and detail[0]["type"] == kind, detail
            assert detail[0]["msg"]
        for number in ("20000", 20000.0, 20000, None):
            assert s.post("/context_offload", {"messages": [], "max_total_tokens": number})["success"]


@test
def a_failure_loses_no_message(case):
    with Tree(case, True) as s:
        for more, why in (
            ({"max_total_tokens": 0}, "max_total_tokens must be greater than 0"),
            ({"max_tool_message_tokens": 0}, "max_tool_message_tokens must be greater than 0"),
            ({"keep_recent_count": -2}, "keep_recent_count must be greater than 0"),
        ):
            answer = answer_of(s, "/summary_working_memory", {"messages": CHAT, **more})
            assert answer["success"] is False and answer["metadata"]["error"] == why, answer
            assert answer["answer"] == answer["messages"] == CHAT
        odd = [{"role": "narrator", "content": "x"}]
        answer = answer_of(s, "/context_offload", {"messages": odd})
        assert answer["success"] is False and answer["messages"] == odd


@test
def the_token_can_stand_in_the_address(case):
    """For programs that know only a base URL: http://reme:TOKEN@127.0.0.1:PORT."""
    import base64

    with case.mount(), Server(case, "--listen", "127.0.0.1:0") as s:
        basic = base64.b64encode(f"reme:{s.token}".encode()).decode()
        header = {"Authorization": f"Basic {basic}"}
        assert s.get("/health", tcp=True, token=False)["status"]
        answer = s.post("/context_offload", {"messages": []}, tcp=True, token=False, headers=header)
        assert answer["success"]


if __name__ == "__main__":
    main()

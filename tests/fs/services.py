# SPDX-License-Identifier: MIT
"""
Local servers that play a language model from a script and, like the real services, reject invalid
requests: OpenAI's chat completions and Anthropic's Messages.

A script is a generator. It yields lists of commands, or (words, commands), receives the texts of
their results as the model got them, and returns the model's final words.
"""
import contextlib
import http.server
import json
import subprocess
import threading
import traceback


class Service:
    """
    One chat. `problems` lists errors in requests, `requests` their bodies; `original` holds the
    messages as they would be if nothing had been taken out.
    """

    def __init__(self, script, run, on_request=None):
        """
        `run` returns the result of a command as the agent's tool must return it. `on_request`, if
        given, is called with the service and each valid request before it is answered.
        """
        self.script, self.run, self.on_request = script, run, on_request
        self.requests, self.original, self.problems = [], [], []
        self.commands, self.started = [], False

    def reply(self, path, headers, body):
        """
        Returns the response object; raises AssertionError if the service would refuse the request.
        """
        request = json.loads(body)
        self.check(path, headers, request)
        self.requests.append(request)
        if not self.started:
            self.original += request["messages"]
        elif self.commands:
            self.original += self.answers(
                [(name, self.run(command)) for name, command in self.commands]
            )
        if self.on_request:
            self.on_request(self, request)
        try:
            if not self.started:
                self.started = True
                commands, words = next(self.script), "I look."
            else:
                results = self.results_of(request)[-len(self.commands) :]
                commands, words = self.script.send(results), "I look again."
        except StopIteration as last:
            commands, words = [], last.value
        if isinstance(commands, tuple):
            words, commands = commands
        turn = len(self.requests)
        self.commands = [(f"call_{turn}_{i}", command) for i, command in enumerate(commands)]
        message, answer = self.words(words, self.commands)
        self.original.append(message)
        return answer

    def size(self, request):
        """Returns the size of a request's messages in bytes."""
        return len(json.dumps([request.get("system"), request["messages"]]))


class OpenAI(Service):
    path = "/v1"
    variable = "OPENAI_BASE_URL"

    def check(self, path, headers, request):
        assert path == "/v1/chat/completions", path
        assert headers["Authorization"] == "Bearer a-key", headers
        assert isinstance(request["model"], str) and request["tools"][0]["function"]["name"]
        messages = request["messages"]
        assert messages[0]["role"] == "system" and messages[0]["content"], messages[0]
        assert messages[1]["role"] == "user", "the first message after the system's is the user's"
        waiting = []
        for m in messages:
            if m["role"] == "tool":
                assert isinstance(m["content"], str), m
                assert m["tool_call_id"] in waiting, "a result of no call"
                waiting.remove(m["tool_call_id"])
                continue
            assert not waiting, f"calls without results: {waiting}"
            assert m["role"] in ("system", "user", "assistant"), m
            for call in m.get("tool_calls", []):
                assert call["type"] == "function" and json.loads(call["function"]["arguments"])
                waiting.append(call["id"])
            assert m.get("content") or m.get("tool_calls"), "an empty message"
        assert not waiting, f"calls without results: {waiting}"
        assert messages[-1]["role"] in ("user", "tool"), "nothing to answer"

    def results_of(self, request):
        return [m["content"] for m in request["messages"] if m["role"] == "tool"]

    def answers(self, results):
        return [{"role": "tool", "tool_call_id": name, "content": text} for name, text in results]

    def words(self, words, commands):
        message = {"role": "assistant", "content": words}
        if commands:
            message["tool_calls"] = [
                {
                    "id": name,
                    "type": "function",
                    "function": {"name": "bash", "arguments": json.dumps({"command": command})},
                }
                for name, command in commands
            ]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return message, {"object": "chat.completion", "choices": [choice]}


class Anthropic(Service):
    path = ""
    variable = "ANTHROPIC_BASE_URL"

    def check(self, path, headers, request):
        assert path == "/v1/messages", path
        assert headers["x-api-key"] == "a-key" and headers["anthropic-version"] == "2023-06-01"
        assert isinstance(request["max_tokens"], int) and request["tools"][0]["input_schema"]
        known = {"model", "max_tokens", "tools", "system", "messages", "cache_control"}
        assert set(request) <= known, f"unknown members: {set(request) - known}"
        assert isinstance(request["system"], str) and request["system"]
        messages = request["messages"]
        waiting = []
        for i, m in enumerate(messages):
            assert m["role"] == ("assistant" if i % 2 else "user"), f"message {i} is {m['role']}'s"
            assert m["content"], f"message {i} is empty"
            blocks = m["content"]
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            assert results == waiting, f"message {i} has results of {results}, not of {waiting}"
            assert all(b["type"] == "tool_result" for b in blocks[: len(results)]), "not first"
            waiting = [b["id"] for b in blocks if b["type"] == "tool_use"]
            assert not waiting or m["role"] == "assistant", "a call by the user"
            for b in blocks:
                assert b["type"] in ("text", "tool_use", "tool_result"), b
                assert b["type"] != "text" or b["text"].strip(), "an empty text"
        assert not waiting, f"calls without results: {waiting}"
        assert messages[-1]["role"] == "user", "nothing to answer"

    def results_of(self, request):
        blocks = [b for m in request["messages"] for b in m["content"] if isinstance(b, dict)]
        return [b["content"] for b in blocks if b["type"] == "tool_result"]

    def answers(self, results):
        blocks = [
            {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in results
        ]
        return [{"role": "user", "content": blocks}]

    def words(self, words, commands):
        blocks = [{"type": "text", "text": words}]
        blocks += [
            {"type": "tool_use", "id": name, "name": "bash", "input": {"command": command}}
            for name, command in commands
        ]
        reason = "tool_use" if commands else "end_turn"
        answer = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": reason}
        return {"role": "assistant", "content": blocks}, answer


@contextlib.contextmanager
def serving(service):
    """Serves on the loopback interface; yields the environment that a client needs."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                code, answer = 200, service.reply(self.path, self.headers, body)
            except Exception as e:
                service.problems.append(traceback.format_exc())
                code, answer = 400, {"error": {"message": str(e)}}
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    name = service.variable.split("_")[0]
    try:
        yield {
            service.variable: f"http://127.0.0.1:{server.server_port}{service.path}",
            f"{name}_API_KEY": "a-key",
            f"{name}_MODEL": "a-script",
            "no_proxy": "127.0.0.1",
        }
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def result_of(command, cwd, env):
    """Returns what the tool of the examples answers to a command."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode(errors="replace") + f"[exit {done.returncode}]\n"

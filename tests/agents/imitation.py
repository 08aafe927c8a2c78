# SPDX-License-Identifier: MIT
"""
A stand-in for models: a service on the loopback that speaks the protocols of Anthropic, OpenAI and
Google as far as their agents need. It calls the tools that a script names, turn by turn, and
remembers all requests.
"""
import contextlib
import http.server
import json
import threading

END = "That is all."


class Imitation(http.server.ThreadingHTTPServer):
    """`script` is a list of turns, each a list of (tool, arguments). After the last it says END."""

    daemon_threads = True

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.turn = 0
        self.requests = []  # (path, body) of requests that offer tools
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_calls(self, path, body):
        with self.lock:
            self.requests.append((path, body))
            calls = self.script[self.turn] if self.turn < len(self.script) else []
            ids = [f"call_{self.turn}_{i}" for i in range(len(calls))]
            self.turn += 1
        return list(zip(ids, calls))

    def results(self):
        """Returns the results of the calls in the last request, in order."""
        return _results(self.requests[-1][1])


@contextlib.contextmanager
def imitation(script):
    with Imitation(script) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def _texts(content):
    if isinstance(content, list):
        return "\n".join(part.get("text") or f"<{part.get('type')}>" for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def _results(body):
    out = []
    for message in body.get("messages") or ():
        if message["role"] == "tool":
            out.append(_texts(message["content"]))
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                out.append(_texts(block.get("content") or ""))
    items = body.get("input") or ()
    for item in items if isinstance(items, list) else ():
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            out.append(_texts(item["output"]))
    for content in body.get("contents") or ():
        for part in content.get("parts") or ():
            if "functionResponse" in part:
                response = part["functionResponse"]["response"]
                out.append(response.get("output") or response.get("error") or json.dumps(response))
    return out


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args):  # pylint: disable=arguments-differ
        pass

    def _reply(self, data, kind="application/json"):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events):
        lines = "".join(
            (f"event: {event['type']}\n" if "type" in event else "")
            + f"data: {json.dumps(event)}\n\n"
            for event in events
        )
        self._reply(lines.encode(), "text/event-stream")

    def do_HEAD(self):
        self._reply(b"")

    def do_GET(self):
        self._reply({"data": [], "models": []})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(body)
        except ValueError:
            body = {}
        path = self.path.split("?")[0]
        if "count_tokens" in path or "countTokens" in path:
            self._reply({"input_tokens": 10, "totalTokens": 10})
        elif path.endswith("/messages"):
            self._anthropic(path, body)
        elif path.endswith("/responses"):
            self._openai(path, body)
        elif "enerateContent" in path:
            self._google(path, body)
        else:
            self._reply({})

    def _calls(self, path, body):
        """Returns the calls to make now. Requests without tools are for titles and the like."""
        return self.server.next_calls(path, body) if body.get("tools") else []

    def _anthropic(self, path, body):
        calls = self._calls(path, body)
        blocks = [
            {"type": "tool_use", "id": i, "name": name, "input": arguments}
            for i, (name, arguments) in calls
        ] or [{"type": "text", "text": END}]
        stop = "tool_use" if calls else "end_turn"
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model") or "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        }
        if not body.get("stream"):
            self._reply({**message, "content": blocks, "stop_reason": stop})
            return
        events = [{"type": "message_start", "message": message}]
        for i, block in enumerate(blocks):
            if block["type"] == "text":
                start = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": i, "content_block": start})
            events.append({"type": "content_block_delta", "index": i, "delta": delta})
            events.append({"type": "content_block_stop", "index": i})
        delta = {"stop_reason": stop, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}})
        events.append({"type": "message_stop"})
        self._events(events)

    def _openai(self, path, body):
        calls = self._calls(path, body)
        items = [
            {
                "type": "function_call",
                "id": f"fc_{i}",
                "call_id": i,
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
            for i, (name, arguments) in calls
        ] or [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": END, "annotations": []}],
            }
        ]
        usage = {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        }
        response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
        events = [{"type": "response.created", "response": response}]
        for i, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": i, "item": item})
            events.append({"type": "response.output_item.done", "output_index": i, "item": item})
        done = {**response, "status": "completed", "output": items, "usage": usage}
        events.append({"type": "response.completed", "response": done})
        self._events(events)

    def _google(self, path, body):
        calls = self._calls(path, body)
        parts = [
            {"functionCall": {"id": i, "name": name, "args": arguments}}
            for i, (name, arguments) in calls
        ] or [{"text": END}]
        chunk = {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": 5,
                "totalTokenCount": 15,
            },
        }
        if "stream" in path:
            self._events([chunk])
        else:
            self._reply(chunk)

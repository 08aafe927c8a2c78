#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Search by meaning, with a small static model and with an imitated endpoint."""
import http.server
import json
import os
import re
import struct
import threading
import time

from harness import OFFLOAD, SEAL_SOON, eventually, main, read, run, test

# The words of a line share one direction.
MEANINGS = (
    ("car", "automobile", "vehicle", "driving"),
    ("doctor", "physician", "medicine", "hospital"),
    ("money", "salary", "wage", "income"),
    ("the", "a", "of", "is", "was", "in", "to", "for", "and"),
)
DIMS = len(MEANINGS)


def vectors():
    """Maps each word to its vector."""
    return {
        word: [float(i == k) for i in range(DIMS)]
        for k, words in enumerate(MEANINGS[:-1])
        for word in words
    } | {word: [0.05] * DIMS for word in MEANINGS[-1]}


def write_model(folder):
    """Writes a static model in the format of model2vec."""
    os.makedirs(folder, exist_ok=True)
    words = vectors()
    rows = [[0.0] * DIMS] + list(words.values())
    data = b"".join(struct.pack(f"<{DIMS}f", *row) for row in rows)
    tensors = {
        "embeddings": {
            "dtype": "F32",
            "shape": [len(rows), DIMS],
            "data_offsets": [0, len(data)],
        }
    }
    head = json.dumps(tensors).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)
    tokenizer = {
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [],
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: i for i, word in enumerate(["[UNK]", *words])},
        },
    }
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump(tokenizer, f)
    return folder


NOTES = {
    "garage.txt": "The automobile was brought in.\nIts brakes are gone.\n",
    "clinic.txt": "A physician was called at night.\nAll is well.\n",
    "pay.txt": "The wage was paid late.\n",
    "other.txt": "Nothing of this kind.\n",
}


def write_notes(m):
    for name, text in NOTES.items():
        with open(m("persistent", name), "w", encoding="utf-8") as f:
            f.write(text)


def state(m):
    with open(m(".offload/status.json"), encoding="utf-8") as f:
        return json.load(f)["search"]


def has_vectors(m, files=len(NOTES)):
    def ready():
        time.sleep(0.5)  # a report is not renewed while it is read constantly
        now = state(m)
        return now["files"] >= files and now["caught_up"] and now["meaning"]["caught_up"]

    eventually(ready, "all texts have vectors")


_asked = 0


def search(m, query):
    """Returns the lines of a fresh answer, not one kept from before."""
    global _asked
    _asked += 1
    blanks = f"{_asked:b}".replace("0", " ").replace("1", "\t")
    return os.fsdecode(read(m("search", query + blanks))).splitlines()


def first(m, query):
    lines = search(m, query)
    return lines[0].partition(":")[0] if lines else None


# --- A static model -------------------------------------------------------------------------------


@test
def what_means_the_same_is_found(case):
    model = write_model(case.path("model"))
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        has_vectors(m)
        assert first(m, "car") == "persistent/garage.txt", search(m, "car")
        assert first(m, "doctor") == "persistent/clinic.txt"
        assert first(m, "money") == "persistent/pay.txt"
        assert search(m, "zebra") == []


@test
def words_that_are_there_stay_first(case):
    model = write_model(case.path("model"))
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        with open(m("persistent", "exact.txt"), "w", encoding="utf-8") as f:
            f.write("My car has broken down.\n")
        has_vectors(m, len(NOTES) + 1)
        hits = search(m, "car broken")
        assert hits[0].startswith("persistent/exact.txt:1: "), hits
        assert any("garage.txt" in hit for hit in hits), hits
        assert [hit for hit in search(m, '"car has broken"') if "garage" in hit] == []


@test
def why_tells_both_ways(case):
    model = write_model(case.path("model"))
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        has_vectors(m)
        lines = search(m, "why:yes vehicle brakes")
        assert lines[0].startswith("persistent/garage.txt:1-2: "), lines
        why = r"\t[\d.]+; by words no\. 1: brake; by meaning no\. 1: 0\.\d\d"
        assert re.fullmatch(why, lines[1]), lines
        done = run(OFFLOAD, "search", "--dir", m.mnt, "--why", "--json", "vehicle")
        hit = json.loads(done.stdout)[0]
        assert hit["path"] == "persistent/garage.txt" and "by meaning no. 1" in hit["why"], hit


@test
def filters_hold_for_meaning_too(case):
    model = write_model(case.path("model"))
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        os.makedirs(m("archive/web"))
        with open(m("archive/web/page.txt"), "w", encoding="utf-8") as f:
            f.write("Every vehicle is driving.\n")
        has_vectors(m, len(NOTES) + 1)
        assert first(m, "car tier:archive") == "archive/web/page.txt"
        assert first(m, "car tier:long-term") == "persistent/garage.txt"


@test
def vectors_outlive_the_daemon_and_are_made_anew_by_another_model(case):
    model = write_model(case.path("model"))
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        has_vectors(m)
    done = run(OFFLOAD, "search", "--store", case.store, "car", check=False)
    assert b"garage" not in done.stdout, "without the setting words alone are looked for"
    with open(os.path.join(case.store, "config.ini"), "w", encoding="utf-8") as f:
        f.write(f"embed_model = {model}\n")
    done = run(OFFLOAD, "search", "--store", case.store, "car")
    assert done.stdout.startswith(b"persistent/garage.txt:"), done
    # The same words in another order make a different model.
    global MEANINGS
    MEANINGS = MEANINGS[::-1]
    write_model(model)
    MEANINGS = MEANINGS[::-1]
    with case.mount(SEAL_SOON) as m:
        has_vectors(m)
        search(m, "car")


@test
def a_model_that_is_none_leaves_the_words(case):
    model = write_model(case.path("model"))
    with open(os.path.join(model, "model.safetensors"), "wb") as f:
        f.write(b"\xff" * 64)
    with case.mount(SEAL_SOON, f"embed_model={model}") as m:
        write_notes(m)
        eventually(lambda: first(m, "automobile") == "persistent/garage.txt", "words are found")
        eventually(lambda: "safetensors" in state(m)["meaning"]["trouble"], "it is told")


# --- An endpoint ----------------------------------------------------------------------------------


class Endpoint:
    """An imitated endpoint, which answers with the vectors of the static model."""

    def __init__(self):
        self.asked, self.keys, self.answer, self.wait = [], set(), None, threading.Event()
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                endpoint.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.wait.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def serve(self, request):
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        assert request.path == "/v1/embeddings"
        self.keys.add(request.headers["Authorization"])
        self.asked += body["input"]
        answer = self.answer or self.right
        code, data = answer(body["input"])
        try:
            request.send_response(code)
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            pass  # the client gave up waiting

    @staticmethod
    def right(texts):
        known = vectors()
        data = []
        for i, text in enumerate(texts):
            some = [known[w] for w in re.findall(r"\w+", text.lower()) if w in known]
            some = some or [[0.0] * DIMS]
            data.append({"index": i, "embedding": [sum(row) for row in zip(*some)]})
        return 200, json.dumps({"data": data[::-1]}).encode()

    def hang(self, _texts):
        self.wait.wait(60)
        return 500, b""


@test
def an_endpoint_makes_vectors(case):
    os.environ["OFFLOAD_EMBED_KEY"] = "a-key"
    os.environ["no_proxy"] = "127.0.0.1"
    with Endpoint() as endpoint, case.mount(
        SEAL_SOON, "embed_model=words", f"embed_url={endpoint.url}"
    ) as m:
        write_notes(m)
        has_vectors(m)
        assert first(m, "car") == "persistent/garage.txt", search(m, "car")
        assert endpoint.keys == {"Bearer a-key"}
        assert "a-key" not in os.fsdecode(read(m(".offload/config.ini")))
        texts = len(endpoint.asked)
        assert texts >= len(NOTES) + 1
    assert set(NOTES.values()) <= {text for text in endpoint.asked}


@test
def an_endpoint_that_hangs_or_lies_leaves_the_words(case):
    os.environ["no_proxy"] = "127.0.0.1"
    with Endpoint() as endpoint:
        with case.mount(SEAL_SOON, "embed_model=words", f"embed_url={endpoint.url}") as m:
            write_notes(m)
            has_vectors(m)
        lies = (
            lambda texts: (200, b'{"data": []}'),
            lambda texts: (200, b"<html>no</html>"),
            lambda texts: (200, b'{"data": [{"index": 7, "embedding": [1, 2]}]}'),
            lambda texts: (200, b'{"data": [{"index": 0, "embedding": ["x", null, {}, 1e999]}]}'),
            lambda texts: (500, b'{"error": {"message": "out of\\norder"}}'),
            lambda texts: (302, b""),
            endpoint.hang,
        )
        for lie in lies:
            endpoint.answer = lie
            with case.mount(SEAL_SOON, "embed_model=words", f"embed_url={endpoint.url}") as m:
                begin = time.monotonic()
                assert first(m, "automobile") == "persistent/garage.txt"
                took = time.monotonic() - begin
                assert lie != endpoint.hang or took < 30, took
                eventually(lambda m=m: state(m)["meaning"]["trouble"], "what is wrong is told")
                trouble = state(m)["meaning"]["trouble"]
                assert "127.0.0.1" in trouble and "\n" not in trouble, trouble


if __name__ == "__main__":
    main()

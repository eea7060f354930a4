#!/usr/bin/env python3
"""Records the sessions of this folder: runs the program against a made-up model, and exports what it wrote down.

    crates/history/tests/recorded/record.py PROGRAM FOLDER

Everything in the sessions is made up. README.md says what they are for.
"""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BOUND = 60


def picture():
    """A PNG of 2 by 2 red pixels."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\xff\0\0" * 2 for _ in range(2))
    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def words(text):
    return [{"type": "text", "text": text}]


def call(name, number, **arguments):
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


def stream(parts, tokens, stops=True, declined=False):
    """The events of an answer; without an end where it does not stop."""
    yield "message_start", {"message": {"id": "msg_made_up", "model": "made-up-1", "role": "assistant",
                                        "content": [], "usage": {"input_tokens": tokens, "output_tokens": 1}}}
    for index, part in enumerate(parts):
        if part["type"] == "text":
            yield "content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}}
            for word in re.findall(r"\S+\s*", part["text"]):
                yield "content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": word}}
        else:
            yield "content_block_start", {"index": index, "content_block": dict(part, input={})}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            yield "content_block_delta", {"index": index, "delta": delta}
        if stops:
            yield "content_block_stop", {"index": index}
    if stops:
        called = any(part["type"] == "tool_use" for part in parts)
        reason = "refusal" if declined else "tool_use" if called else "end_turn"
        yield "message_delta", {"delta": {"stop_reason": reason},
                                "usage": {"output_tokens": 20}}
        yield "message_stop", {}


class Model:
    """Gives the answers one after the other; summaries where it is asked for those."""

    def __init__(self):
        self.answers, self.lock, self.gone = [], threading.Lock(), threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.answer(self, body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler, body):
        if "You condense the conversation" in json.dumps(body.get("system", "")):
            answer = words("The numbers were printed.")
        else:
            with self.lock:
                answer = self.answers.pop(0) if self.answers else words("That is all.")
        if isinstance(answer, tuple) and isinstance(answer[0], int):
            status, text = answer
            data = json.dumps({"type": "error", "error": {"type": "api_error", "message": text}}).encode()
            handler.send_response(status)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
            return
        how, parts = answer if isinstance(answer, tuple) else ("whole", answer)
        stalls, cut = how == "stall", how == "cut"
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for kind, data in stream(parts, len(json.dumps(body)) // 4, not (stalls or cut), how == "declined"):
            handler.wfile.write(f"event: {kind}\ndata: {json.dumps(dict(data, type=kind))}\n\n".encode())
            handler.wfile.flush()
        if stalls:
            self.gone.wait(BOUND)


class World:
    """A home, a workspace and a model of its own."""

    def __init__(self, program, place):
        self.program, self.home, self.model = program, Path(place), Model()
        self.ws = self.home / "ws"
        self.ws.mkdir()
        self.config("")

    def config(self, more, window=16000):
        folder = self.home / ".config/agentx"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(
            "model: small\nmodels:\n  small: {provider: anthropic, id: made-up-1, "
            f"context_window: {window}, max_output_tokens: 1000}}\ntools: {{disabled: [fetch, web_search]}}\n" + more)

    def start(self, *args, **more):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "AGENTX_TRUST_FOLDER": "1",
               "AGENTX_DATA": str(self.home / "data"), "ANTHROPIC_BASE_URL": self.model.url,
               "ANTHROPIC_API_KEY": "sk-ant-made-up"}
        return subprocess.Popen([self.program, *args], cwd=self.ws, env=env, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def run(self, *args):
        out, _ = self.start(*args).communicate(timeout=BOUND)
        return out

    def prompt(self, text, *args):
        """A prompt to its end; the id of its session."""
        out = self.run("run", "--output-format", "json", "-q", *args, text)
        result = next(line for line in out.splitlines() if line.startswith("{"))
        return json.loads(result)["session_id"]

    def chat(self, *steps):
        """A chat: each step waits for a text and types a line, or sends a signal."""
        chat = self.start("chat")
        said = listen(chat)
        for wanted, what in steps:
            wait(lambda: wanted in "".join(said), f"{wanted!r} in {''.join(said)!r}")
            said.clear()
            if isinstance(what, str):
                chat.stdin.write(what + "\n")
                chat.stdin.flush()
            elif what is not None:
                chat.send_signal(what)
        chat.stdin.close()
        chat.wait(BOUND)
        return self.latest()

    def latest(self):
        return self.ids()[0]

    def ids(self):
        return [row["session_id"] for row in json.loads(self.run("sessions", "list", "--json"))]

    def broken(self, text, event, *args, how=signal.SIGKILL):
        """A prompt that a signal ends where `event` is on record."""
        running = self.start("run", "--output-format", "stream-json", "--view", "environment", *args, text)
        running.stdin.close()
        session = None
        for line in running.stdout:
            if not line.startswith("{"):
                continue
            frame = json.loads(line)
            session = session or frame.get("session_id")
            if event in line:
                break
        running.send_signal(how)
        running.stdout.close()
        running.wait(BOUND)
        self.model.gone.set()
        return session


def listen(process):
    said = []
    def read():
        while piece := process.stdout.read(1):
            said.append(piece)
    threading.Thread(target=read, daemon=True).start()
    return said


def wait(done, what):
    end = time.monotonic() + BOUND
    while not done():
        if time.monotonic() > end:
            sys.exit(f"waited in vain for {what}")
        time.sleep(0.02)


def tools(world):
    (world.ws / "notes.txt").write_text("a needle in it\n")
    world.model.answers = [
        words("I look.") + [call("grep", 1, pattern="needle"), call("read", 2, path="notes.txt")],
        [call("write", 3, path="made.txt", content="made up\n"), call("bash", 4, command="echo done; exit 3")],
        [call("nosuch", 5, a=1), call("read", 6)],
        words("All is done."),
    ]
    return world.prompt("Find the needle.", "--yes")


def refused(world):
    world.model.answers = [[call("bash", 1, command="touch made")], words("Then not.")]
    return world.prompt("Make a file.")


def asked(world):
    world.model.answers = [[call("bash", 1, command="touch made")], [call("bash", 2, command="touch other")],
                           words("One of two.")]
    return world.chat(("", "Make two files."), ("touch made", "y"), ("touch other", "n"), ("One of two", None))


def interrupted(world):
    world.model.answers = [("stall", words("I begin to ")), words("As you wish.")]
    session = world.broken("Tell me a story.", "text_chunk", how=signal.SIGINT)
    return world.prompt("Rather not.", "--resume", session)


def killed_in_an_answer(world):
    world.model.answers = [("stall", words("Half of ")), words("The whole of it."), words("More.")]
    session = world.broken("Tell me all.", "text_chunk")
    return world.prompt("And more?", "--resume", session)


def killed_in_a_tool(world):
    command = "echo begun; exec sleep 300"
    world.model.answers = [[call("bash", 1, command=command)], words("I see."), words("More.")]
    session = world.broken("Do it.", "begun\\n", "--yes")
    return world.prompt("And now?", "--yes", "--resume", session)


def left_in_an_answer(world):
    world.model.answers = [words("One."), ("stall", words("Half of "))]
    session = world.prompt("First.")
    return world.broken("Tell me all.", "text_chunk", "--resume", session)


def left_in_a_tool(world):
    world.model.answers = [[call("bash", 1, command="echo begun; exec sleep 20")]]
    return world.broken("Do it.", "begun\\n", "--yes")


def condensed(world):
    world.config("condense: {at: 60, keep: 2}\n", window=5000)
    world.model.answers = [[call("bash", number, command="seq 1 300")] for number in range(5)]
    return world.prompt("Print them all.", "--yes")


def condensed_and_taken_back(world):
    world.model.answers = [[call("bash", 1, command="seq 1 300")], words("One."),
                           [call("bash", 2, command="seq 1 300")], words("Two."), words("Three."), words("Four.")]
    world.config("approval: auto\n")
    return world.chat(("", "First."), ("One.", "Second."), ("Two.", "Third."), ("Three.", "/compact"),
                      ("ondensed", "/compact undo"), ("", "Fourth."), ("Four.", None))


def pictures(world):
    (world.ws / "red.png").write_bytes(picture())
    world.model.answers = [[call("read", 1, path="red.png")], words("It is red.")]
    return world.prompt("What colour is it?", "--yes")


def forked(world):
    world.model.answers = [words("One."), words("Two."), words("Another two.")]
    session = world.prompt("First.")
    world.prompt("Second.", "--resume", session)
    return world.prompt("Another second.", "--resume", re.search(r"ses_\w+", world.run("fork", session, "--at", "12"))[0])


def rewound(world):
    (world.ws / "kept.txt").write_text("before\n")
    write = [call("write", 1, path="made.txt", content="after\n")]
    world.model.answers = [words("One."), write, words("Two."), words("Another two.")]
    session = world.prompt("First.", "--yes")
    world.prompt("Second.", "--yes", "--resume", session)
    world.run("rewind", session, "--to", "2", "--both", "--yes")
    return world.prompt("Another second.", "--resume", world.latest())


def background(world):
    world.model.answers = [[call("bash", 1, command="(sleep 0.3; echo late) & echo early")], words("It runs."),
                           [call("bash", 2, command="sleep 1")], words("It ended.")]
    world.config("approval: auto\n")
    return world.chat(("", "Start it."), ("It runs.", "!echo mine"), ("mine", "Did it end?"), ("It ended.", None))


def script(world):
    folder = world.ws / ".agentx/tools"
    folder.mkdir(parents=True)
    (folder / "twice.yaml").write_text(
        "name: twice\ndescription: Asks twice.\ntype: luau\n"
        "capabilities: {models: [\"*\"]}\nparams: {type: object, properties: {of: {type: string}}}\n"
        "lua: |\n  function invoke(ctx, args)\n    local first = ctx.generate('small', 'First ' .. args.of)\n"
        "    local second = ctx.generate('small', 'Second ' .. args.of)\n    return first .. ' ' .. second\n  end\n")
    world.model.answers = [[call("twice", 1, of="all")], words("One."), words("Two."), words("Both.")]
    return world.prompt("Twice, please.", "--yes")


def failing(world):
    world.model.answers = [(529, "Overloaded"), ("cut", words("Half an ")), words("A whole answer."),
                           (401, "invalid x-api-key"), words("It works again.")]
    session = world.prompt("Answer me.")
    world.prompt("Again.", "--resume", session)
    return world.prompt("Once more.", "--resume", session)


def declined(world):
    world.model.answers = [("declined", words("I would ")), words("This I do.")]
    session = world.prompt("Do what is declined.")
    return world.prompt("Do something else.", "--resume", session)


def declined_after_a_tool(world):
    world.config("approval: auto\n")
    world.model.answers = [[call("bash", 1, command="echo one")], ("declined", words("I would ")), words("This I do.")]
    session = world.prompt("Do what is declined.")
    return world.prompt("Do something else.", "--resume", session)


def stray(world):
    world.model.answers = [(400, "Something is wrong."), words("One."), (400, "Something is wrong."),
                           (400, "Something is wrong."), words("Two.")]
    session = world.prompt("First.")
    return world.prompt("Second.", "--resume", session)


def ruled(world):
    world.config("approval: auto\nrules:\n- {effect: ask, tool: bash, argument: 'touch *'}\n"
                 "- {effect: deny, tool: bash, argument: 'rm *'}\n")
    world.model.answers = [[call("bash", 1, command="touch made")], [call("bash", 2, command="test -v 'x[$(rm made)]'")],
                           words("One of two.")]
    return world.chat(("", "Make it and remove it."), ("touch made", "y"), ("One of two", None))


def setting(world):
    world.config("params: {temperature: 0.3}\n")
    world.model.answers = [(400, "Unsupported parameter: 'temperature' is not supported with this model."), words("One."),
                           words("Two.")]
    session = world.prompt("First.")
    return world.prompt("Second.", "--resume", session)


SESSIONS = [tools, refused, asked, interrupted, killed_in_an_answer, killed_in_a_tool, left_in_an_answer,
            left_in_a_tool, condensed,
            condensed_and_taken_back, pictures, forked, rewound, background, script, failing, declined,
            declined_after_a_tool, stray, ruled, setting]


def main():
    program, folder = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    for make in [make for make in SESSIONS if len(sys.argv) < 4 or make.__name__ in sys.argv[3:]]:
        with tempfile.TemporaryDirectory(prefix="agentx") as place:
            world = World(program, place)
            session = make(world)
            document = (folder / f"{make.__name__}.json").absolute()
            said = world.run("sessions", "export", session, "--format", "json", "-o", str(document))
            said += world.run("replay", session)
            print(f"{make.__name__}: {session} {said.strip()}", flush=True)


if __name__ == "__main__":
    main()

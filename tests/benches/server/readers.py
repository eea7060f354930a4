#!/usr/bin/env python3
"""Measures the memory of a server while a member with a full queue asks for much of it at once.

    tests/benches/server/readers.py target/release/agentx

The member's agent waits for the operator; 64 messages of 100 kB wait behind it, as far as the server takes them. Then 80 requests at once ask
for pages of events, states and contexts. One line tells the peak in MiB. Only Linux; needs the package cryptography; nothing is asserted.
"""

import base64
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from flood import resident

MESSAGES, LENGTH, REQUESTS = 64, 100_000, 80


def letters(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def public_key(key):
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return "ed25519:" + letters(key.public_key().public_bytes(*raw))


class Member:
    def __init__(self, url, key):
        self.url, self.token = url, None
        challenge = self.ask("/auth/challenge", {})[1]
        text = "agentx.v1 challenge\n{origin}\n{nonce}\n{expires_at_ms}\n".format(**challenge)
        self.token = self.ask("/auth/token", {
            "public_key": public_key(key), "nonce": challenge["nonce"], "expires_at_ms": challenge["expires_at_ms"],
            "signature": letters(key.sign(text.encode())),
        })[1]["token"]

    def ask(self, path, body=None):
        """The status and the body of an answer."""
        request = urllib.request.Request(self.url + "/v1" + path, None if body is None else json.dumps(body).encode())
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def fill(member):
    """A session whose agent waits for a decision, with as many messages behind it as the server takes."""
    session = member.ask("/sessions", {"config": member.ask("/agent")[1]})[1]["session_id"]
    messages = f"/sessions/{session}/messages"
    member.ask(messages, {"content": "run touch made-up"})
    while not member.ask(f"/sessions/{session}/state")[1]["pending_approvals"]:
        time.sleep(0.05)
    taken = collections.Counter(member.ask(messages, {"content": "x" * LENGTH})[0] for _ in range(MESSAGES))
    return session, taken


def measure(server, url, key):
    member = Member(url, key)
    session, taken = fill(member)
    paths = [f"/sessions/{session}/{what}" for what in ("events?view=environment", "state", "context", "events")]
    before, peak, done = resident(server.pid), [0.0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident(server.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(REQUESTS) as pool:
        answers = list(pool.map(lambda number: member.ask(paths[number % len(paths)])[0], range(REQUESTS)))
    done.set()
    watcher.join()
    print(f"messages {dict(taken)}, answers {dict(collections.Counter(answers))}")
    print(f"{REQUESTS} requests: before {before:.1f} MiB, peak {peak[0]:.1f} MiB")


def main():
    program, key = os.path.abspath(sys.argv[1]), Ed25519PrivateKey.generate()
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "AGENTX_DATA": home + "/data", "RUST_LOG": "off"}
        trust = [program, "identity", "trust", public_key(key), "--name", "reader", "--as", "member"]
        subprocess.run(trust, env=environment, check=True, capture_output=True)
        server = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--json"],
            env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            port = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())[1]
            measure(server, f"http://127.0.0.1:{port}", key)
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main()

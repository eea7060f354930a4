#!/usr/bin/env python3
"""Measures the memory of a server while strangers hold connections open, and 30 seconds after they are gone.

    tests/benches/server/flood.py target/release/agentx [--at-most MIB] [KIND ...]

Each kind opens 4,096 connections from 17 loopback addresses and more, sends what is named below, and holds them. One line per kind
tells the peak and what is left in MiB, and as a multiple of the idle server. With `--at-most` it does not wait for what is left, and
fails if a peak is further above the idle server. Only Linux.
"""

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

CONNECTIONS = 4096
PER_ADDRESS = 250
SETTLE_SECONDS = 30
UPGRADE = (
    "GET /v1/socket HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
CHUNKED = "POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"


def frame(length):
    """The beginning of a text frame with one byte less than it claims."""
    return b"\x81\xfe" + struct.pack(">H", length) + b"\0\0\0\0" + b"x" * (length - 1)


def head(length):
    """A request whose head never ends."""
    return lambda host: f"GET / HTTP/1.1\r\nHost: {host}\r\nx: ".encode() + b"y" * length


def body(length):
    """A request without a token whose body lacks its last bytes."""
    start = "POST /v1/sessions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    return lambda host: start.format(host=host, length=length).encode() + b"z" * (length - 500)


def delivery(length):
    """A delivery to the webhook below, with a signature that is only found to be wrong at its end, which does not come."""
    start = (
        "POST /v1/hooks/ci HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n"
        "X-Hub-Signature-256: sha256={signature}\r\n\r\n"
    )
    return lambda host: start.format(host=host, length=length, signature="00" * 32).encode() + b"z" * (length - 500)


def handshake(length):
    """The beginning of a TLS handshake message of 60 KiB, in records of 4 KiB."""
    message = b"\x01\x00\xf0\x00" + b"\0" * length
    pieces = [message[begin:begin + 4096] for begin in range(0, length, 4096)]
    records = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(piece)) + piece for piece in pieces)
    return lambda host: records[:length]


KINDS = {
    "idle": lambda host: b"",
    "head of 8 KiB": head(7_900),
    "head of 16 KiB": head(15_900),
    "frame of 15 KiB": lambda host: UPGRADE.format(host=host).encode() + frame(15_000),
    "frame of 64 KiB": lambda host: UPGRADE.format(host=host).encode() + frame(65_000),
    "body of 4 KiB": body(4_000),
    "body of 64 KiB": body(65_500),
    "delivery of 256 KiB": delivery(262_000),
    "TLS of 12 KiB": handshake(12_000),
    "TLS of 64 KiB": handshake(60_000),
    "chunks of 64 KiB": lambda host: CHUNKED.format(host=host).encode() + b"z" * 60_000,
}


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def connect(number, port):
    connection = socket.socket()
    connection.bind((f"127.0.{1 + number // PER_ADDRESS}.{1 + number % PER_ADDRESS}", 0))
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    return connection


def send(connections, data):
    """Sends as much as is taken within eight seconds."""
    rest = {connection: memoryview(data) for connection in connections}
    end = time.monotonic() + 8
    while rest and time.monotonic() < end:
        before = sum(map(len, rest.values()))
        for connection in list(rest):
            try:
                rest[connection] = rest[connection][connection.send(rest[connection]):]
            except BlockingIOError:
                continue
            except OSError:
                rest[connection] = b""
            if not rest[connection]:
                del rest[connection]
        if before == sum(map(len, rest.values())):
            time.sleep(0.01)


def measure(kind, server, port, idle, at_most):
    peak, done = [0.0], threading.Event()

    def watch():
        while not done.wait(0.02):
            peak[0] = max(peak[0], resident(server.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    connections = [connect(number, port) for number in range(CONNECTIONS)]
    send(connections, KINDS[kind](f"127.0.0.1:{port}"))
    time.sleep(2)
    done.set()
    watcher.join()
    for connection in connections:
        connection.close()
    above = peak[0] - idle
    if at_most:
        print(f"{kind:<16} peak {peak[0]:6.1f} MiB, {above:.1f} MiB above the idle server, of {at_most:.0f} MiB allowed", flush=True)
        return above <= at_most
    time.sleep(SETTLE_SECONDS)
    after = resident(server.pid)
    print(f"{kind:<16} peak {peak[0]:6.1f} MiB, {SETTLE_SECONDS} s after {after:6.1f} MiB, {after / idle:.2f}x idle", flush=True)
    return True


def main():
    program, kinds, at_most = os.path.abspath(sys.argv[1]), sys.argv[2:], None
    if kinds[:1] == ["--at-most"]:
        at_most, kinds = float(kinds[1]), kinds[2:]
    with tempfile.TemporaryDirectory() as home:
        settings = os.path.join(home, "settings.yaml")
        with open(settings, "w") as file:
            file.write("webhooks:\n  ci:\n    secret: made-up-secret\n    prompt: Look at it.\n")
        environment = {"PATH": os.environ["PATH"], "HOME": home, "AGENTX_DATA": home, "AGENTX_CONFIG": settings, "RUST_LOG": "off"}
        server = subprocess.Popen(
            [program, "serve", "--listen", "127.0.0.1:0", "--json"],
            env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        try:
            port = int(re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())[1])
            time.sleep(1)
            idle = resident(server.pid)
            print(f"idle server      {idle:6.1f} MiB", flush=True)
            kept = [measure(kind, server, port, idle, at_most) for kind in kinds or KINDS]
        finally:
            server.terminate()
            server.wait(10)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())

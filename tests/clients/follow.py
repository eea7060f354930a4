"""A client that knows nothing of AgentX but docs/PROTOCOL.md: it says who it is, says something in a session, follows it to the
end of the run, and leaves in the middle to come back after the last event that it has.

  follow.py key FILE                           makes a key and prints the public one
  follow.py run URL FILE SESSION VIEW WORDS    prints what it sees, a frame a line
"""

import asyncio
import base64
import json
import sys
from urllib.parse import urlsplit

import websockets
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PATIENCE = 30
LEAVE_AFTER = 25


def letters(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def public_key(key):
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return "ed25519:" + letters(key.public_key().public_bytes(*raw))


def make_key(path):
    key = Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    with open(path, "wb") as file:
        file.write(key.private_bytes(*pem))
    print(public_key(key))


def read_key(path):
    with open(path, "rb") as file:
        return serialization.load_pem_private_key(file.read(), None)


class Connection:
    """One connection, from its first frame to its end."""

    def __init__(self, url, key):
        self.url, self.key, self.frames, self.events = url, key, 0, []

    async def __aenter__(self):
        address = self.url.replace("http", "ws", 1) + "/v1/socket"
        self.socket = await websockets.connect(address, subprotocols=["agentx.v1"], max_size=None)
        assert self.socket.subprotocol == "agentx.v1", self.socket.subprotocol
        hello = await self.read()
        assert hello["event"] == "hello" and hello["payload"]["protocol"] == 1, hello
        challenge = hello["payload"]
        # Nothing is signed for another place than the one that was dialled.
        assert urlsplit(challenge["origin"]).netloc == urlsplit(self.url).netloc, challenge
        text = "agentx.v1 challenge\n{origin}\n{nonce}\n{expires_at_ms}\n".format(**challenge)
        signature = letters(self.key.sign(text.encode()))
        await self.ask(
            "authenticate",
            {"public_key": public_key(self.key), "signature": signature, "client": "follow.py"},
        )
        return self

    async def __aexit__(self, *_):
        await self.socket.close()

    async def read(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE))

    async def next_event(self):
        """The next event of a session; what is said about the connection is not one."""
        while True:
            frame = self.events.pop(0) if self.events else await self.read()
            if "seq" in frame:
                return frame
            assert frame["event"] not in ("refused", "unsubscribed", "bye"), frame

    async def ask(self, kind, payload):
        """Sends a frame and waits for its answer; events that come before it are kept."""
        self.frames += 1
        asked = f"f{self.frames}"
        await self.socket.send(json.dumps({"type": kind, "id": asked, "payload": payload}))
        while True:
            frame = await self.read()
            if frame["event"] in ("accepted", "refused") and frame["payload"].get("id") == asked:
                assert frame["event"] == "accepted", frame
                return frame["payload"]
            self.events.append(frame)


def place(frame):
    return frame["seq"], frame.get("index", -1)


def ends(frame, view):
    if view == "environment":
        return frame["event"] == "stream_end" and frame["payload"]["stop_reason"] == "end_turn"
    return frame["event"] == "run_finished"


async def follow(url, key, session, view, words):
    last, said, seen = (0, -1), False, 0
    while True:
        async with Connection(url, key) as connection:
            # Of the last event there may be more to come, where what it means is several events.
            after = last[0] if view == "environment" else max(last[0] - 1, 0)
            resumed = last
            await connection.ask("subscribe", {"session_id": session, "after_seq": after, "view": view})
            if not said:
                message = {"session_id": session, "content": words, "idempotency_key": "follow.py-" + view}
                first = await connection.ask("user_message", message)
                again = await connection.ask("user_message", message)
                assert first["seq"] == again["seq"], (first, again)
                said = True
            while True:
                frame = await connection.next_event()
                if place(frame) <= resumed:
                    continue
                if view == "environment":
                    assert frame["seq"] == last[0] + 1, (last, frame)
                else:
                    assert place(frame) > last, (last, frame)
                last, seen = place(frame), seen + 1
                print(json.dumps(frame, ensure_ascii=False, separators=(",", ":")), flush=True)
                if ends(frame, view):
                    return
                if seen == LEAVE_AFTER:
                    break


if __name__ == "__main__":
    if sys.argv[1] == "key":
        make_key(sys.argv[2])
    else:
        url, path, session, view, words = sys.argv[2:7]
        asyncio.run(follow(url, read_key(path), session, view, words))

// The connection: nothing twice, nothing missing, over cuts, several tabs and a server whose log went back.
import { IDBFactory, IDBKeyRange } from "fake-indexeddb";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { pause } from "../src/connection/backoff";
import { Feed, type EventPage } from "../src/connection/feed";
import { KEPT_SESSIONS, merged, openLog, type SessionLog } from "../src/connection/log";
import { browserName } from "../src/connection/login";
import { Cut, Refusal, Socket, type ClientRequest, type ConnectionState } from "../src/connection/socket";
import { packed, unpacked } from "../src/connection/packed";
import type { Accepted, Frame, RuntimeFrame } from "../src/protocol";
import { conversation, frames, goldenNotices } from "./frames";

beforeEach(() => {
  vi.stubGlobal("IDBKeyRange", IDBKeyRange);
});

const log = () => openLog(new IDBFactory());

/** A server with a session, as far as a feed sees it. */
class FakeSocket {
  ready = true;
  asked: ClientRequest[] = [];
  refusal: Refusal | null = null;
  isRefusedOnce = false;

  async request(frame: ClientRequest): Promise<Accepted> {
    this.asked.push(frame);
    const { refusal } = this;
    if (refusal && frame.type === "subscribe") {
      if (this.isRefusedOnce) this.refusal = null;
      throw refusal;
    }
    return { id: "1" };
  }

  subscribedAfter(): (number | undefined)[] {
    return this.asked.flatMap((frame) => (frame.type === "subscribe" ? [frame.payload.after_seq] : []));
  }
}

/** The past of a session, as a server gives it in pages. */
class FakePast {
  frames: RuntimeFrame[] = [];
  asked: number[] = [];
  failures = 0;

  head = async () => this.frames.at(-1)?.seq ?? 0;

  page = async (_: string, after: number, limit: number): Promise<EventPage> => {
    this.asked.push(after);
    if (this.failures-- > 0) throw new Error("the server is away");
    const items = this.frames.filter((frame) => frame.seq > after).slice(0, limit);
    return { items, next_after_seq: items.at(-1)?.seq === (await this.head()) ? null : (items.at(-1)?.seq ?? null) };
  };
}

function reader(session: SessionLog, socket: FakeSocket, past = new FakePast()) {
  const seen: RuntimeFrame[] = [];
  const tail: RuntimeFrame[] = [];
  const told: string[] = [];
  const feed = new Feed("ses_1", socket as unknown as Socket, session, past, {
    frames: (entries) => seen.push(...unpacked(entries)),
    tail: (frames) => tail.push(...frames),
    restarted: () => {
      seen.length = 0;
      told.push("restarted");
    },
    subscribed: () => undefined,
    caughtUp: () => told.push("caught up"),
    ended: (problem) => told.push(problem.code),
  });
  return { feed, seen, tail, told };
}

/** Sends what a server sends to a subscriber. */
async function serve(feed: Feed, all: RuntimeFrame[], after: number): Promise<void> {
  const head_seq = all.at(-1)?.seq ?? 0;
  await feed.onSubscribed({ session_id: "ses_1", view: "runtime", after_seq: after, head_seq, role: "own" });
  for (const frame of all.filter((one) => one.seq > after)) await feed.onEvent(frame);
  await feed.onCaughtUp();
}

describe("a feed", () => {
  const all = conversation();

  test("begins at the beginning, and comes back with an overlap of one event", async () => {
    const socket = new FakeSocket();
    const { feed, seen, told } = reader(await log(), socket);
    await feed.open();
    await serve(feed, all.slice(0, 10), 0);
    for (let cut = 10; cut <= all.length; cut++) {
      await feed.subscribe();
      await serve(feed, all.slice(0, cut), (socket.subscribedAfter().at(-1) ?? 0) as number);
    }
    expect(seen).toEqual(all);
    expect(socket.subscribedAfter().slice(0, 2)).toEqual([0, 9]);
    expect(told).not.toContain("restarted");
  });

  test("may be cut between two events of one fact", async () => {
    const pairs = all.flatMap((frame) => [frame, { ...frame, index: 1 }]) as RuntimeFrame[];
    const socket = new FakeSocket();
    const { feed, seen } = reader(await log(), socket);
    await feed.open();
    await serve(feed, pairs.slice(0, 7), 0);
    await feed.subscribe();
    await serve(feed, pairs, socket.subscribedAfter().at(-1) as number);
    expect(seen).toEqual(pairs);
  });

  test("reads what is stored without a server, and continues after it", async () => {
    const stored = await log();
    const first = reader(stored, new FakeSocket());
    await first.feed.open();
    await serve(first.feed, all.slice(0, 12), 0);
    await first.feed.close();
    const socket = new FakeSocket();
    socket.ready = false;
    const { feed, seen } = reader(stored, socket);
    await feed.open();
    expect(seen).toEqual(all.slice(0, 12));
    socket.ready = true;
    await feed.subscribe();
    await serve(feed, all, socket.subscribedAfter().at(-1) as number);
    expect(seen).toEqual(all);
  });

  test.each([
    ["has another event at that place", (frames: RuntimeFrame[]) => frames.map((frame) => ({ ...frame, at: 1 }))],
    ["is shorter", (frames: RuntimeFrame[]) => frames.slice(0, 3)],
  ])("begins anew when the server's log went back and %s", async (_, change) => {
    const stored = await log();
    const socket = new FakeSocket();
    const { feed, seen, told } = reader(stored, socket);
    await feed.open();
    await serve(feed, all.slice(0, 12), 0);
    const other = change(all) as RuntimeFrame[];
    await feed.subscribe();
    await serve(feed, other, socket.subscribedAfter().at(-1) as number);
    expect(told).toContain("restarted");
    // Frames of the subscription that was given up count no longer.
    expect(seen).toEqual([]);
    expect(socket.subscribedAfter().at(-1)).toBe(0);
    await serve(feed, other, 0);
    expect(seen).toEqual(other);
  });

  test("says when the session is gone, and forgets it", async () => {
    const stored = await log();
    await stored.append("ses_1", all);
    const socket = new FakeSocket();
    socket.refusal = new Refusal({ code: "no_session", detail: "there is none" });
    const { feed, told } = reader(stored, socket);
    await feed.open();
    expect(told).toEqual(["no_session"]);
    expect(await stored.read("ses_1")).toEqual([]);
  });
});

describe("a feed of a long session", () => {
  const words = (count: number) => Array.from({ length: count }, () => ({ event: "text_delta", payload: { text: "w" } }) as const);
  const all = frames(words(12_000));

  async function opened(stored: SessionLog, frames: RuntimeFrame[]) {
    const socket = new FakeSocket();
    const past = new FakePast();
    past.frames = frames;
    const read = reader(stored, socket, past);
    await read.feed.open();
    return { ...read, socket, past, after: socket.subscribedAfter().at(-1) as number };
  }

  test("has its end first, and then everything once, in order", async () => {
    const { feed, seen, tail, told, past, after } = await opened(await log(), all);
    expect(after).toBe(all.length - 1000);
    const more = frames(words(12_010));
    await serve(feed, more, after);
    expect(tail).toEqual(more.slice(after));
    expect(past.asked).toEqual([0, 4000, 8000]);
    expect(told).toEqual(["caught up"]);
    expect(seen).toEqual(more);
  });

  test("goes on from what is stored, after comparing its end", async () => {
    const stored = await log();
    await stored.append("ses_1", all.slice(0, 3000));
    const { feed, seen, past, told, after } = await opened(stored, all);
    await serve(feed, all, after);
    expect(past.asked[0]).toBe(2999);
    expect(seen).toEqual(all);
    expect(told).toEqual(["caught up"]);
    await feed.close();
    expect(unpacked(await stored.read("ses_1"))).toEqual(all);
  });

  test("begins anew if the server has another event where its own end is", async () => {
    const stored = await log();
    await stored.append("ses_1", all.slice(0, 3000));
    const other = all.map((frame) => ({ ...frame, at: frame.at + 1 }));
    const { feed, seen, told, socket, after } = await opened(stored, other);
    await serve(feed, other, after);
    expect(told).toEqual(["restarted"]);
    await serve(feed, other, socket.subscribedAfter().at(-1) as number);
    expect(seen).toEqual(other);
  });

  test("asks again for a page that did not come", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const { feed, seen, past, after } = await opened(await log(), all);
    past.failures = 2;
    const served = serve(feed, all, after);
    await vi.advanceTimersByTimeAsync(5000);
    await served;
    vi.useRealTimers();
    expect(seen).toEqual(all);
  });

  test("drops the end of a subscription that was cut", async () => {
    const { feed, seen, socket, past, after } = await opened(await log(), all);
    const notice = { session_id: "ses_1", view: "runtime", head_seq: all.length, role: "own" } as const;
    await feed.onSubscribed({ ...notice, after_seq: after });
    for (const frame of all.slice(after, after + 100)) await feed.onEvent(frame);
    await feed.subscribe();
    await serve(feed, all, socket.subscribedAfter().at(-1) as number);
    expect(past.asked).toEqual([0, 4000, 8000]);
    expect(seen).toEqual(all);
  });

  test("believes the server, not its list, about the end", async () => {
    const socket = new FakeSocket();
    const past = new FakePast();
    past.frames = all;
    const { feed, seen } = reader(await log(), socket, past);
    socket.refusal = new Refusal({ code: "refused", detail: "the session is shorter" });
    socket.isRefusedOnce = true;
    await feed.open();
    expect(socket.subscribedAfter()).toEqual([11_000, 0]);
    await serve(feed, all.slice(0, 20), 0);
    expect(seen).toEqual(all.slice(0, 20));
  });
});

describe("packed frames", () => {
  const output = (text: string, channel: string) => ({ event: "tool_output", payload: { tool_call_id: "c", channel, text } });
  const kinds = [
    ...Array.from({ length: 30 }, (_, at) => ({ event: "text_delta", payload: { text: `w${at} ` } })),
    ...Array.from({ length: 3 }, () => ({ event: "thinking_delta", payload: { text: "" } })),
    ...["stdout", "stdout", "stderr", "progress", "progress"].map((channel) => output("x\n", channel)),
    { event: "text_delta", payload: { text: "newer", language: "en" } },
    { event: "text_delta", payload: { text: "end" } },
  ] as Parameters<typeof frames>[0];

  test("are the same again, and much less", () => {
    const all = [...frames(kinds), ...frames(kinds, 100, "agt_2"), ...frames(kinds, 900)];
    const backwards = frames(kinds, 2000).map((frame, at) => ({ ...frame, at: frame.at - 5 * at }));
    const indexed = frames(kinds, 3000).flatMap((frame) => [frame, { ...frame, index: 1 }]) as RuntimeFrame[];
    for (const some of [all, backwards, indexed]) {
      expect(JSON.stringify(unpacked(packed(some)))).toBe(JSON.stringify(some));
    }
    expect(packed(all).length).toBeLessThan(all.length / 3);
  });

  test("of a run that somebody else has are never changed", () => {
    const [run] = packed(frames(kinds.slice(0, 10)));
    const before = JSON.stringify(run);
    const both = packed([run as RuntimeFrame, ...frames(kinds.slice(0, 10), 11)]);
    expect(JSON.stringify(run)).toBe(before);
    expect(unpacked(both)).toHaveLength(20);
  });
});

describe("the log", () => {
  const all = conversation();

  test("keeps frames once, though tabs store them in other batches", async () => {
    const stored = await log();
    await stored.append("ses_1", all.slice(0, 9));
    await stored.append("ses_1", all.slice(4, 15));
    await stored.append("ses_1", all.slice(9));
    await stored.append("ses_2", all.slice(0, 1));
    expect(unpacked(await stored.read("ses_1"))).toEqual(all);
    expect(unpacked(merged([all.slice(5), all.slice(0, 7)]))).toEqual(all);
    const inOrder = [packed(all.slice(0, 7)), packed(all.slice(7))];
    expect(unpacked(merged(inOrder))).toEqual(all);
  });

  test("keeps the sessions that were read last", async () => {
    const stored = await log();
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let number = 0; number < KEPT_SESSIONS + 3; number++) {
      vi.setSystemTime(1_000_000 + number);
      await stored.append(`ses_${number}`, all.slice(0, 1));
    }
    vi.useRealTimers();
    expect((await stored.kept()).length).toBe(KEPT_SESSIONS);
    expect(await stored.read("ses_2")).toEqual([]);
    expect(await stored.read("ses_3")).toHaveLength(1);
  });

  test("keeps what was typed and not accepted, in order", async () => {
    const stored = await log();
    const input = (key: string, at: number) => ({ key, at, session: "ses_1", client: "tab-1", text: key, mode: "queue" }) as const;
    await stored.keepUnsent(input("b", 2));
    await stored.keepUnsent(input("a", 1));
    expect((await stored.unsent()).map((one) => one.key)).toEqual(["a", "b"]);
    await stored.dropUnsent("a");
    expect((await stored.unsent()).map((one) => one.key)).toEqual(["b"]);
    await stored.clear();
    expect(await stored.unsent()).toEqual([]);
  });

  test("is absent where the browser stores nothing, and nothing fails", async () => {
    const nowhere = await openLog({ open: () => { throw new Error("private"); } } as unknown as IDBFactory);
    await nowhere.append("ses_1", all);
    expect(await nowhere.read("ses_1")).toEqual([]);
  });
});

/** A WebSocket whose other end is the test. */
class FakeWebSocket {
  readyState = 1;
  sent: { id: string; type: string }[] = [];
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  constructor(readonly protocols: string[]) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.readyState = 3;
  }

  says(frame: unknown): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

function connected(isSignedOut = false) {
  vi.stubGlobal("WebSocket", { OPEN: 1 });
  const opened: FakeWebSocket[] = [];
  const states: ConnectionState[] = [];
  const events: Frame[] = [];
  const socket = new Socket(
    {
      url: "ws://x/v1/socket",
      client: "tab-1",
      token: () => "secret",
      isSignedOut: async () => isSignedOut,
      open: (_, protocols) => {
        const made = new FakeWebSocket(protocols);
        opened.push(made);
        return made as unknown as WebSocket;
      },
    },
    { state: (state) => states.push(state), ready: () => undefined, event: (frame) => events.push(frame), notice: () => undefined },
  );
  return { socket, opened, states, events };
}

const hello = goldenNotices().find((notice) => notice.event === "hello");
const person = { person: "own_2", visitor: false };

describe("the socket", () => {
  test("brings its token as a subprotocol, and its name in the first frame", async () => {
    const { socket, opened, states } = connected();
    socket.start();
    expect(opened[0]?.protocols).toEqual(["agentx.v1", "agentx.bearer.secret"]);
    opened[0]?.says(hello);
    expect(opened[0]?.sent[0]).toMatchObject({ type: "authenticate", payload: { client: "tab-1" } });
    opened[0]?.says({ event: "accepted", payload: { id: opened[0].sent[0]?.id, result: person } });
    await vi.waitFor(() => expect(states).toEqual(["connecting", "online"]));
    socket.stop();
  });

  test("comes back after a cut, and lets nobody wait for an answer that cannot come", async () => {
    vi.useFakeTimers();
    const { socket, opened, states } = connected();
    socket.start();
    opened[0]?.says(hello);
    opened[0]?.says({ event: "accepted", payload: { id: opened[0].sent[0]?.id, result: person } });
    await vi.advanceTimersByTimeAsync(0);
    const asked = socket.request({ type: "ping", payload: {} });
    opened[0]?.onclose?.({ code: 1006 });
    await expect(asked).rejects.toThrow(Cut);
    await vi.advanceTimersByTimeAsync(300);
    expect(opened).toHaveLength(2);
    expect(states.slice(-2)).toEqual(["offline", "connecting"]);
    socket.stop();
    vi.useRealTimers();
  });

  test("waits as long as the server says", async () => {
    vi.useFakeTimers();
    const { socket, opened } = connected();
    socket.start();
    opened[0]?.says(hello);
    opened[0]?.says({ event: "bye", payload: { code: 1001, reason: "restart", retry_after_ms: 9000 } });
    opened[0]?.onclose?.({ code: 1001 });
    await vi.advanceTimersByTimeAsync(8900);
    expect(opened).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(opened).toHaveLength(2);
    socket.stop();
    vi.useRealTimers();
  });

  test("counts a connection as dead on which nothing comes", async () => {
    vi.useFakeTimers();
    const { socket, opened } = connected();
    socket.start();
    opened[0]?.says(hello);
    await vi.advanceTimersByTimeAsync(2 * 15_000 + 1000);
    expect(opened.length).toBeGreaterThan(1);
    socket.stop();
    vi.useRealTimers();
  });

  test("does not try again with a token that counts no longer", async () => {
    const { socket, opened, states } = connected(true);
    socket.start();
    opened[0]?.onclose?.({ code: 1006 });
    await vi.waitFor(() => expect(states.at(-1)).toBe("signed_out"));
    expect(opened).toHaveLength(1);
  });
});

test("the pause doubles up to half a minute, with a random part", () => {
  expect([0, 1, 2, 3, 20].map((failures) => pause(failures, () => 1))).toEqual([250, 500, 1000, 2000, 30_000]);
  expect(pause(3, () => 0)).toBe(1000);
});

test("a browser has a name that the server takes", () => {
  const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36";
  expect(browserName(chrome)).toBe("Chrome-Linux");
  expect(browserName("something else")).toBe("browser");
  expect(browserName(chrome)).toMatch(/^[\w.-]{1,64}$/);
});

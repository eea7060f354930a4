// A made-up server for the page: it serves `dist`, signs everybody in, and sends scripted sessions. Nothing in
// it is measured or tested; it stands where the real server could not be brought into a state on purpose.
import http from "node:http";
import fs from "node:fs";
import { WebSocketServer } from "ws";

const dist = new URL("../dist", import.meta.url).pathname;
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  png: "image/png",
  webmanifest: "application/manifest+json",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A session of the made-up server. */
export class Session {
  frames = [];
  /** What clients asked for, in order. */
  received = [];
  readers = new Set();

  constructor(id, { role = "own", people = [], wheel = null, state = {}, answers = {}, info = {} } = {}) {
    Object.assign(this, { id, role, people, wheel, state, answers });
    const usage = { input_tokens: 0, output_tokens: 0 };
    const at = Date.now() * 1000;
    this.info = { session_id: id, owner: "own_local", title: "", workspace: "/w", model: "m", status: null, usage };
    Object.assign(this.info, { created_at: at, updated_at: at, messages: 0, cost: 0 }, info);
  }

  get lastSeq() {
    return this.frames.at(-1)?.seq ?? 0;
  }

  /** Adds an event, and sends it to those who read. */
  say(event, payload = {}, agent = "agt_1", at = Date.now() * 1000) {
    const id = agent ? { agent_state_id: agent } : {};
    const seq = this.lastSeq + 1;
    const frame = { seq, index: 0, at, source: "agent", session_id: this.id, ...id, event, payload };
    this.frames.push(frame);
    const text = this.readers.size > 0 ? JSON.stringify(frame) : "";
    for (const reader of this.readers) reader.send(text);
  }
}

/** Starts the server. `more` answers further requests: a path, in which `{id}` is a number, and what it gives. */
export function serve(sessions, { port = 5293, person = { person: "own_local", visitor: false }, more = {} } = {}) {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const server = http.createServer(async (request, response) => {
    const url = new URL(request.url, "http://x");
    const json = (value, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (url.pathname === "/v1/auth/page") {
      return json({ token: "t", id: "x", person, expires_at_ms: Date.now() + 1e9 });
    }
    const given = more[url.pathname] ?? more[url.pathname.replace(/\d+$/, "{id}")];
    if (given !== undefined) {
      if (typeof given !== "function") return json(given);
      let text = "";
      for await (const part of request) text += part;
      return json(given(url, { method: request.method, body: text ? JSON.parse(text) : null }) ?? null);
    }
    if (url.pathname === "/v1/me") return json(person);
    if (url.pathname === "/v1/sessions") {
      return json({ items: sessions.map((one) => ({ ...one.info, last_seq: one.lastSeq })) });
    }
    const [, id, what] = /^\/v1\/sessions\/([^/]+)\/?(.*)$/.exec(url.pathname) ?? [];
    const session = byId.get(id);
    if (id && !session) return json({ code: "no_session", detail: "there is no such session" }, 404);
    if (what === "events") return json(page(session, url.searchParams));
    if (what === "state") return json({ last_seq: session.lastSeq, pending_approvals: [], queued: [], ...session.state });
    if (what in (session?.answers ?? {})) return json(session.answers[what]);
    if (what === "") return json({ ...session.info, last_seq: session.lastSeq, role: session.role });
    if (url.pathname.startsWith("/v1")) return json({ code: "not_found", detail: "no such path" }, 404);
    file(url.pathname, response);
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => "agentx.v1" });
  sockets.on("connection", (socket) => connected(socket, byId, person));
  server.listen(port, "127.0.0.1");
  return {
    address: `http://127.0.0.1:${port}`,
    cut: () => sockets.clients.forEach((client) => client.terminate()),
    close: () => (sockets.clients.forEach((client) => client.terminate()), server.close()),
  };
}

function page(session, query) {
  const after = Number(query.get("after_seq") ?? 0);
  const limit = Number(query.get("limit") ?? 1000);
  const from = session.frames.findIndex((frame) => frame.seq > after);
  const items = from < 0 ? [] : session.frames.slice(from, from + limit);
  const isEnd = items.at(-1)?.seq === session.lastSeq || items.length === 0;
  return { items, next_after_seq: isEnd ? null : items.at(-1).seq };
}

function file(path, response) {
  const name = dist + (path === "/" ? "/index.html" : path);
  if (!fs.existsSync(`${name}.gz`)) {
    response.writeHead(404);
    return response.end();
  }
  const type = TYPES[name.split(".").pop()];
  response.writeHead(200, { "content-type": type, "content-encoding": "gzip", "content-security-policy": POLICY });
  response.end(fs.readFileSync(`${name}.gz`));
}

function connected(socket, byId, person) {
  const tell = (event, payload) => socket.send(JSON.stringify({ event, payload }));
  const origin = { nonce: "n", origin: "o", expires_at_ms: 1, visitors: false };
  tell("hello", { protocol: 1, server: "agentx 0.1.0", ...origin, heartbeat_ms: 15000 });
  socket.on("message", (text) => {
    const { type, id, payload } = JSON.parse(text);
    const accept = (more = {}) => tell("accepted", { id, ...more });
    if (type === "authenticate") {
      socket.client = payload.client;
      return accept({ result: person });
    }
    const session = byId.get(payload?.session_id);
    session?.received.push({ type, payload });
    if (type === "unsubscribe") session?.readers.delete(socket);
    if (type !== "subscribe") return accept({ seq: session?.lastSeq ?? 0 });
    if (!session) {
      const problem = { code: "no_session", detail: "there is no such session, or it is not shared with you" };
      return tell("refused", { id, problem });
    }
    const after_seq = payload.after_seq ?? 0;
    const head_seq = session.lastSeq;
    const session_id = session.id;
    tell("subscribed", { session_id, view: "runtime", after_seq, head_seq, role: session.role });
    accept();
    const me = { seat: { person: person.person, client: socket.client }, role: session.role, driving: !session.wheel };
    tell("presence", { session_id, people: [...session.people, me] });
    const seat = session.wheel === null ? me.seat : session.wheel.seat;
    tell("wheel", { session_id, epoch: 1, ...session.wheel, seat });
    for (const frame of session.frames) if (frame.seq > after_seq) socket.send(JSON.stringify(frame));
    tell("caught_up", { session_id, seq: head_seq });
    session.readers.add(socket);
    socket.on("close", () => session.readers.delete(socket));
    session.onReader?.();
  });
}
